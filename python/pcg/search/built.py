"""The graph of a function on a mesh: its structure, with what each node may be and what that takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pcg.cost import CostModel
from pcg.search.graph import Edge, Graph
from pcg.search.memory import Lifetimes
from pcg.search.quotient import Quotient
from pcg.search.structure import Structure


@dataclass(frozen=True)
class Exchange:
    """A node whose op's local form sends something: `seconds` of that per strategy, and `rest`, of all else.

    `unmasked` is `rest` without the masks of its operands, where these are in it.
    """

    node: int
    seconds: np.ndarray
    rest: np.ndarray
    unmasked: np.ndarray | None = None

    @property
    def in_all(self) -> np.ndarray:
        """Seconds of the op per strategy."""
        return self.rest + self.seconds


@dataclass
class Built(Structure):
    """The graph of a function and how to find one in the other."""

    graph: Graph = field(default_factory=Graph)
    masked: list[Edge] = field(default_factory=list)
    """Those of `free_reads` where the reader has strategies that take partial sums: it masks the value."""
    unmasked: dict[int, np.ndarray] = field(default_factory=dict)
    """Seconds of nodes without the masks of their operands, where these are in them."""
    exchanges: list[Exchange] = field(default_factory=list)

    @cached_property
    def lifetimes(self) -> Lifetimes:
        """When values are alive."""
        return Lifetimes(self.live_ranges, self.constants, self.resharded, self.written_over)

    @cached_property
    def cautious(self) -> Lifetimes:
        """When values are alive if all have memory of their own.

        Where hardly any plan fits, those that are found with this count need less once they are lowered: all that may
        have to be sent, and then is in memory, is in small shards.  Measured: GPT-3 13B on 48 V100 takes 74 s a step,
        91 s with the other count; Mixtral on 192 V100 168 s, 231 s.
        """
        return Lifetimes(self.alone, self.constants)

    def quotient(self, model: CostModel, known: Sequence[int] = (), *, cautious: bool = False) -> Quotient:
        """The decisions by class, with the costs of `model`; `known`: the class of each node where that is known.

        Memory is counted by `lifetimes` or, if `cautious`, by that.
        """
        lifetimes = self.cautious if cautious else self.lifetimes
        return Quotient(self.graph, model, lifetimes, self.arguments, self.data, known)

    def rule_reason(self, node: int) -> str:
        """Why the op of `node` can only run replicated; empty if it can be split."""
        return self.works[node].rule.reason if node in self.works else ""


def unmasked_of(exchanges: Sequence[Exchange]) -> dict[int, np.ndarray]:
    """Seconds per strategy without the masks of operands, of the nodes where these are counted."""
    return {x.node: x.unmasked + x.seconds for x in exchanges if x.unmasked is not None}
