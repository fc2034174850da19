"""The layouts of a baseline, by its name; and which baselines suit a program."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch_mlir import ir

from pcg.baselines.annotate import annotate_program
from pcg.baselines.layouts import choose_layouts, read_program
from pcg.baselines.plans import ModelTraits
from pcg.baselines.recipe import PLANS, SYNONYMS, RecipeError, recipe, roles
from pcg.baselines.tensor import experts, tables
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import entry_of
from pcg.planning.target import planned_mesh
from pcg.search.roles import state_of

#: Share of the state that must be embedding tables for plans that split these to be tried.  A choice.
MANY_TABLES = 0.1


def suitable(func: ir.Operation) -> ModelTraits:
    """Which kinds of baseline suit a program."""
    program = read_program(func, state_of(func))
    state = {i: math.prod(shape) for i, shape in enumerate(program.shapes) if i not in program.data}
    found = tables(program.weight_uses)
    many = sum(state.get(a, 0) for a in found) > MANY_TABLES * sum(state.values())
    stacks = frozenset(program.shapes[a][t.stack] for a, t in found.items() if t.stack is not None)
    counts = frozenset(program.shapes[a][d] for a, d in experts(program.weight_uses).items())
    return ModelTraits(many, stacks, counts)


@dataclass
class Baseline(Transformation):
    """Annotate the arguments of a program with the layouts of a baseline, to be propagated from there."""

    plan: str = option("data", "The plan.", (*PLANS, *SYNONYMS))
    model: tuple[str, ...] = option((), "Axes of tensor parallelism; default: model, tensor, tp or mp, else the last.")
    experts: tuple[str, ...] = option((), "Axes of experts; default: expert, experts or ep, else the last data axis.")
    zero: tuple[str, ...] = option((), "Axes over which ZeRO splits state; default: all data axes.")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.splits_more = False
        """Whether ZeRO splits anything: any state, gradient or update that is used in larger parts."""

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError where there is no mesh, or the axes named are not its."""
        module = module.operation
        mesh = planned_mesh(module)
        func = entry_of(module)
        try:
            scheme = recipe(self.plan)
            who = roles(scheme, mesh, self.model, self.experts, self.zero)
            program = read_program(func, state_of(func))
            layouts = choose_layouts(program, scheme, who, mesh)
        except RecipeError as error:
            raise PcgError(str(error), func) from None
        arguments = func.regions[0].blocks[0].arguments
        annotated = {i: s for i, a in enumerate(arguments) if (s := shardings.get(a)) is not None}
        self.statistics["redistributions"] = annotate_program(program, layouts, mesh, annotated)
        self.splits_more = not layouts.used == layouts.kept == layouts.split
        state = [i for i in layouts.kept if i not in layouts.data]
        split = sum(any(layouts.used[i].dims) for i in state)
        kept = sum(any(layouts.kept[i].dims) for i in state)
        self.statistics["state split"] = kept
        self.remark(
            func,
            f"plan={self.plan}: {len(layouts.data)} arguments are data, {len(state)} state, of which {split} are used"
            f" and {kept} kept in parts",
        )
