"""The factor rule of a jax function: which dimensions of its arguments and results are split together.  Imports jax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from torch_mlir import ir

from pcg.driver.module_program import entry_function
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.passes.pipeline import Pipeline
from pcg.rules import CONTROL_FLOW, FactorRule, rule_for
from pcg.rules.compose import RuledOp, compose
from pcg.rules.registry import TERMINATORS, shape


def rule_of(function: Callable[..., Any], arguments: Sequence[Any]) -> FactorRule:
    """The rule of `function` for flat `arguments`, which may be tracers; it may close over tracers too.

    The function is traced and lowered by itself.  Loops and branches in it connect nothing.
    """
    closed = jax.make_jaxpr(function)(*arguments)
    count = len(closed.consts)

    def alone(*arrays: Any) -> Any:
        return jax.core.eval_jaxpr(closed.jaxpr, arrays[:count], *arrays[count:])

    avals = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (*map(jax.typeof, closed.consts), *closed.in_avals)]
    lowered = jax.jit(alone, keep_unused=True).lower(*avals)
    text = lowered.compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=True)
    module = load_module(text, make_context(), "<operation>")
    Pipeline(["sdy-import", "pcg-normalize"]).run(module)
    block = entry_function(module).regions[0].blocks[0]
    numbers: dict[ir.Value, int] = {}
    shapes: list[tuple[int, ...]] = []

    def number(v: ir.Value) -> int:
        if v not in numbers:
            numbers[v] = len(shapes)
            shapes.append(shape(v))
        return numbers[v]

    steps: list[RuledOp] = []
    results: list[int] = []
    for arg in block.arguments:
        number(arg)
    for op in block.operations:
        op = op.operation
        operands, outs = [number(v) for v in op.operands], [number(r) for r in op.results]
        if op.name in TERMINATORS:
            results = operands
        elif op.name not in CONTROL_FLOW:
            steps.append((rule_for(op), operands, outs))
    return compose(steps, [numbers[a] for a in list(block.arguments)[count:]], results, shapes)
