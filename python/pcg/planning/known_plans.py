"""Candidates as plans of one graph: what the search starts from when it takes parts of one plan into another."""

from __future__ import annotations

from collections.abc import Iterable

from pcg.ir import shardings
from pcg.ir.clone import clone_module
from pcg.ir.walk import entry_of
from pcg.layout import SpecError
from pcg.planning.attempt import Candidate
from pcg.planning.workspace import OnMesh
from pcg.rewrite.refine_mesh import rewrite
from pcg.search.built import Built
from pcg.search.warm_start import choices_of
from pcg.solve.ilp import completed
from pcg.solve.network import Network


def known_plans(
    on: OnMesh, built: Built, network: Network, candidates: Iterable[Candidate]
) -> dict[str, list[int]]:
    """Choices per node of `built`, by name, of the candidates on the mesh of `on`, in their order.

    They are those that a search has found without fitting them into a memory limit, and the first baseline.  `network`
    has a variable per node.
    """
    found: dict[str, list[int]] = {}
    baseline = None
    for c in candidates:
        if c.search is not None:
            if not c.search.fitted and c.search.outcome is not None and c.mesh == on.mesh:
                found[c.name] = c.search.outcome.choice
        elif baseline is None and c.mesh.origin == on.mesh.origin:
            baseline = c
            if choice := _of_baseline(on, built, network, c):
                found[c.name] = choice
    return found


def _of_baseline(on: OnMesh, built: Built, network: Network, baseline: Candidate) -> list[int]:
    """A baseline as a plan of the search; empty where it has no spelling on the mesh, or is another program."""
    copy = clone_module(baseline.written.module(on.module.context)).operation
    try:
        for symbol in shardings.meshes_of(copy):
            rewrite(copy, on.mesh, symbol)
        return completed(network, choices_of(built, on.func, entry_of(copy)))
    except (SpecError, ValueError):
        return []
