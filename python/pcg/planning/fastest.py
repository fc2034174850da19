"""The fastest plan of a program, memory aside, for who compares programs, and for the search that goes on with one."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.search.build import Builder
from pcg.search.built import Built
from pcg.search.choices import Annotated
from pcg.search.optimize import optimize
from pcg.search.outcome import Outcome
from pcg.search.quotient import Quotient
from pcg.search.read_structure import StructureReader
from pcg.search.roles import state_of
from pcg.search.table import Tables
from pcg.solve.effort import Effort


@dataclass(frozen=True)
class Fastest:
    """The fastest plan of a function, memory aside, and what it is a plan of."""

    func: ir.Operation
    effort: Effort
    built: Built
    quotient: Quotient
    outcome: Outcome

    @classmethod
    def of(cls, func: ir.Operation, model: CostModel, effort: Effort, *, memory: bool = True) -> Fastest:
        """That of `func` with the costs of `model`; without `memory` nobody is to ask how much the plan needs."""
        state = state_of(func)
        structure = StructureReader.read(func, state, Annotated(), memory=memory)
        built = Builder(model, Tables.on(model.mesh)).build(func, state, structure)
        quotient = built.quotient(model)
        return cls(func, effort, built, quotient, optimize(quotient, effort=effort))
