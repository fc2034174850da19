"""Annotate a program with a random strategy for every op: legal, seldom sensible, and a hard test of the lowering."""

from __future__ import annotations

import random

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pcg.ir import shardings
from pcg.ir.walk import functions
from pcg.layout import Mesh, ShardSpec
from pcg.rules import CONTROL_FLOW, TERMINATORS, rule_for
from pcg.rules.registry import shape


def prepare(text: str) -> ir.Module:
    """Parse in the current context and inline everything into `main`."""
    module = ir.Module.parse(text)
    PassManager.parse("builtin.module(inline, symbol-dce)").run(module.operation)
    return module


def annotate(module: ir.Module, mesh: Mesh, seed: int) -> None:
    """Give every value of `module` a random layout that its op can produce."""
    shardings.set_mesh(module, mesh)
    chooser = _Chooser(mesh, random.Random(seed))
    for func in functions(module):
        block = func.regions[0].blocks[0]
        for argument in block.arguments:
            shardings.set(argument, chooser.layout(argument))
        chooser.block(block)
        for i, value in enumerate(list(block.operations)[-1].operation.operands):
            shardings.set_function_result_spec(func, i, chooser.layout(value))


class _Chooser:
    def __init__(self, mesh: Mesh, rng: random.Random) -> None:
        self.mesh, self.rng = mesh, rng

    def layout(self, value: ir.Value) -> ShardSpec:
        """A random layout without partial axes; half of them may leave some shards with padding."""
        dims = shape(value)
        uneven = self.rng.random() < 0.5
        split: list[list[str]] = [[] for _ in dims]
        for axis in self.rng.sample(self.mesh.names, len(self.mesh.names)):
            d = self.rng.randrange(-1, len(dims))
            if d >= 0 and (uneven or dims[d] % self.mesh.axes_size([*split[d], axis]) == 0) and dims[d]:
                split[d].append(axis)
        return ShardSpec.of(split)

    def block(self, block: ir.Block) -> None:
        for op in block.operations:
            op = op.operation
            if op.name in TERMINATORS:
                continue
            if op.name in CONTROL_FLOW:
                shardings.set_result_specs(op, [self.layout(r) for r in op.results])
                for region in op.regions:
                    self.block(region.blocks[0])
                continue
            rule = rule_for(op)
            held = [set((shardings.get(v) or ShardSpec(())).partial) for v in op.operands]
            a = self.rng.choice([
                a for a in rule.strategies(self.mesh, uneven=True)
                if all(held[i] >= set(rule.operand_spec(i, a).partial) for i in range(len(held)))
            ])  # fmt: skip
            shardings.set_operand_specs(op, [rule.operand_spec(i, a) for i in range(len(op.operands))])
            shardings.set_result_specs(op, [rule.result_spec(i, a) for i in range(len(op.results))])
