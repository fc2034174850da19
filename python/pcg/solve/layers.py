"""Reductions of a network one inside of another, each of what the one before and reduced-cost fixing have left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcg.solve.network import Network, narrowed, widened
from pcg.solve.reduce import Reduction, nearest
from pcg.solve.trws import Bounded


class Layers:
    """The way from a network to its innermost core, and back.

    A layer is a reduction, and which choices of its core are open; the next one is a reduction of these.
    """

    def __init__(self, reduction: Reduction | None = None) -> None:
        self._layers: list[tuple[Reduction, list[np.ndarray]]] = []
        if reduction is not None:
            self._layers.append((reduction, [np.ones(len(u), dtype=bool) for u in reduction.core.unary]))

    def add(self, reduction: Reduction) -> Network:
        """A reduction of what is open; return its core."""
        self._layers.append((reduction, []))
        return reduction.core

    def open(self, masks: list[np.ndarray]) -> Network:
        """Leave open so much of the innermost core; return that."""
        reduction, _ = self._layers[-1]
        self._layers[-1] = (reduction, masks)
        return reduction.core.restrict(masks)

    def inside(self, x: Sequence[int]) -> list[int]:
        """A solution of the innermost core as one of what is open of it."""
        return narrowed(self._layers[-1][1], x)

    def outside(self, x: Sequence[int]) -> list[int]:
        """A solution of what is open of the innermost core as one of the core."""
        return widened(self._layers[-1][1], x)

    def lift(self, x: Sequence[int]) -> list[int]:
        """A solution of the innermost core as one of the whole network."""
        out = list(x)
        for depth, (reduction, masks) in enumerate(reversed(self._layers)):
            out = reduction.expand(widened(masks, out) if depth and masks else out)
        return out

    def project(self, x: Sequence[int]) -> list[int]:
        """A solution of the innermost core near the solution `x` of the whole network."""
        for depth, (reduction, masks) in enumerate(self._layers):
            x = reduction.project(x)
            if depth + 1 < len(self._layers):
                kept = [np.flatnonzero(m) for m in masks]
                x = nearest(kept, x, [u[m] for u, m in zip(reduction.core.unary, kept, strict=True)])
        return list(x)

    def near(self, found: Bounded | None, per_node: float) -> list[np.ndarray]:
        """Per node of the whole network, the choices that good solutions have.

        Of the innermost core `per_node` choices a node, those that lift the bound least, and those of the solution
        `found` for it; of nodes that were eliminated, what is best for some of these.  `found` is None for an empty
        core.
        """
        inner: list[np.ndarray] = []
        if found is not None:
            rises = np.sort(np.concatenate(found.rise))
            most = rises[min(int(per_node * len(found.rise)), len(rises) - 1)]
            inner = [r <= most for r in found.rise]
            for mask, k in zip(inner, found.x, strict=True):
                mask[k] = True
        for depth, (reduction, masks) in enumerate(reversed(self._layers)):
            if depth:
                inner = [_marked(len(m), m, own) for m, own in zip(masks, inner, strict=True)]
            inner = reduction.near(inner)
        return inner


def _marked(size: int, at: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """A mask of `size` choices with `marks` at some of them."""
    out = np.zeros(size, dtype=bool)
    out[at] = marks
    return out
