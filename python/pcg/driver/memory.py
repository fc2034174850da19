"""What saves memory in a compiled program: read off the module, kept in plans, written on a module again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch_mlir import ir

from pcg.driver.module_program import entry_function
from pcg.ir.walk import walk
from pcg.passes.base import Pass
from pcg.passes.pcg_accumulate import AccumulatePass
from pcg.planning.memory_plans import OWN_RESHARD, microbatches_of
from pcg.rewrite.recompute import LIMIT

#: Keys of `Plan.memory`.
MICROBATCHES, RECOMPUTE = "microbatches", "recompute"


def rewrites(memory: Mapping[str, float]) -> list[Pass]:
    """The passes that make the program that a plan is for of the normalised one."""
    passes: list[Pass] = []
    if count := memory.get(MICROBATCHES):
        passes.append(AccumulatePass(int(count)))
    return passes


def decisions(module: ir.Module) -> dict[str, float]:
    """`Plan.memory` of a module with layouts: how it was rewritten, and the bytes that recomputation brings it to."""
    function = entry_function(module)
    found: dict[str, float] = {}
    if (count := microbatches_of(function)) > 1:
        found[MICROBATCHES] = count
    if LIMIT in function.attributes:
        found[RECOMPUTE] = ir.FloatAttr(function.attributes[LIMIT]).value
    return found


def write(module: ir.Module, memory: Mapping[str, float]) -> None:
    """Note on a module, already split into its microbatches, what pcg-recompute shall bring it to."""
    if RECOMPUTE in memory:
        with module.context, ir.Location.unknown():
            entry_function(module).attributes[LIMIT] = ir.FloatAttr.get(ir.F64Type.get(), memory[RECOMPUTE])


def program_reshards(module: ir.Module, before: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The `dist.reshard` ops that a program had before the search, which may have replaced the program.

    `before` are those found then; they are still the ops where the search did not mark them.
    """
    marked = [op for op in walk(module.operation) if op.name == "dist.reshard" and OWN_RESHARD in op.attributes]
    for op in marked:
        del op.attributes[OWN_RESHARD]
    if marked:
        return marked
    return [op for op in walk(module.operation) if op.name == "dist.reshard" and op in set(before)] if before else []
