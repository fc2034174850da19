"""A baseline as a plan of the search: a choice per node of its graph."""

from __future__ import annotations

from collections.abc import Collection

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry_of
from pcg.layout import SpecError
from pcg.planning.workspace import OnMesh
from pcg.rewrite.refine_mesh import rewrite
from pcg.search.warm_start import choices_of


def plan_of_baseline(
    on: OnMesh, model: CostModel, placed: ir.Operation
) -> tuple[list[int], Collection[tuple[int, int]]]:
    """Choices of the nodes on `on`, and the operands that are redistributed apart, of a baseline's layouts.

    Args:
      model: costs on the mesh of `on`.
      placed: a copy of the program with the layouts, which changes.

    Raises:
      PcgError: it has no spelling on the mesh, or is another program.
    """
    try:
        for symbol in shardings.meshes_of(placed):
            rewrite(placed, on.mesh, symbol)
        built = on.graph(model)
        known, apart = choices_of(built, on.func, entry_of(placed))
        return built.quotient(model).discrete().completed(known), apart
    except (SpecError, ValueError) as error:
        raise PcgError(f"its layouts are none of the search's: {error}", placed) from None
