"""The layouts of a plan that experts use, by its name."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.baselines.annotate import annotate
from pcg.baselines.layouts import decide, read
from pcg.baselines.recipe import PLANS, SYNONYMS, RecipeError, recipe, roles
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import entry_of
from pcg.search.roles import state_of


@dataclass
class Baseline(Transformation):
    """Give the arguments of a program the layouts of a plan that experts use, to be propagated from there."""

    plan: str = option("data", "The plan.", (*PLANS, *SYNONYMS))
    model: tuple[str, ...] = option((), "Axes of tensor parallelism; default: model, tensor, tp or mp, else the last.")
    experts: tuple[str, ...] = option((), "Axes of experts; default: expert, experts or ep, else the last data axis.")
    zero: tuple[str, ...] = option((), "Axes over which ZeRO splits state; default: all data axes.")

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError where there is no mesh, or the axes named are not its."""
        module = module.operation
        mesh = shardings.mesh_of(module)
        if mesh is None:
            raise PcgError("there is no mesh to plan for; give --mesh name=size,... or a dist.mesh", module)
        func = entry_of(module)
        try:
            scheme = recipe(self.plan)
            who = roles(scheme, mesh, self.model, self.experts, self.zero)
            program = read(func, state_of(func))
            layouts = decide(program, scheme, who, mesh)
        except RecipeError as error:
            raise PcgError(str(error), func) from None
        given = {i: s for i, a in enumerate(func.regions[0].blocks[0].arguments) if (s := shardings.get(a)) is not None}
        self.statistics["redistributions"] = annotate(program, layouts, mesh, given)
        held = [i for i in layouts.kept if i not in layouts.data]
        split = sum(any(layouts.used[i].dims) for i in held)
        kept = sum(any(layouts.kept[i].dims) for i in held)
        self.statistics["state split"] = kept
        self.remark(
            func,
            f"plan={self.plan}: {len(layouts.data)} arguments are data, {len(held)} state, of which {split} are used"
            f" and {kept} kept in parts",
        )
