"""How often a `stablehlo.while` runs, where its text says so."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.shardings import CONSTRAINTS
from pcg.ir.walk import defining_op

#: Trip count of a loop whose bound is not a constant.  A choice: more than once, so that its body counts for more.
ASSUMED_ITERATIONS = 10
#: How often an op runs per step at most, as it is counted: a nest of loops that says more counts as this.  At a
#: nanosecond each that is thirty years; the product of the trip counts itself may be beyond any float.
MOST_RUNS = 10**18
#: On an op: how often it runs in a step (see `runs_of`).
RUNS = "pcg.runs"


def assumed_iterations(op: ir.Operation, runs: float = 1) -> int:
    """Iterations of a `stablehlo.while` as they are counted where it runs `runs` times per step itself.

    `ASSUMED_ITERATIONS` where its text does not say; so many that `runs` times them is not above `MOST_RUNS`.
    """
    count = trip_count(op)
    return min(ASSUMED_ITERATIONS if count is None else count, max(1, int(MOST_RUNS // max(1, runs))))


def trip_count(op: ir.Operation) -> int | None:
    """Iterations of a counted loop (`i = a; while i < b: ...; i += c`), or None if it is not of that form."""
    op = op.operation
    cond, body = (r.blocks[0] for r in op.regions)
    compare = defining_op(cond.operations[-1].operands[0])
    if compare is None or compare.name != "stablehlo.compare":
        return None
    left, right = compare.operands
    if not isinstance(left, ir.BlockArgument) or left.owner != cond:
        return None
    if "LT" not in str(compare.attributes["comparison_direction"]):
        return None
    i = left.arg_number
    limit = _constant(right, op, cond)
    start = _constant(op.operands[i], op, None)
    step = defining_op(body.operations[-1].operands[i])
    if limit is None or start is None or step is None or step.name != "stablehlo.add":
        return None
    a, b = step.operands
    if not isinstance(a, ir.BlockArgument):
        a, b = b, a
    by = _constant(b, op, body)
    if not isinstance(a, ir.BlockArgument) or a.owner != body or a.arg_number != i or not by or by < 0:
        return None
    return max(0, -(-(limit - start) // by))


def _constant(value: ir.Value, loop: ir.Operation, block: ir.Block | None) -> int | None:
    """The integer a scalar value always has; a loop-invariant carried value counts as its initial value."""
    for _ in range(8):
        if isinstance(value, ir.BlockArgument):
            if block is None or value.owner != block:
                return None
            j = value.arg_number
            carried = loop.regions[1].blocks[0].operations[-1].operands[j]
            body_block = loop.regions[1].blocks[0]
            if not (isinstance(carried, ir.BlockArgument) and carried.owner == body_block and carried.arg_number == j):
                return None
            value, block = loop.operands[j], None
            continue
        op = value.owner.operation
        if op.name == "stablehlo.constant":
            t = op.results[0].type
            if t.rank or not isinstance(t.element_type, ir.IntegerType):
                return None
            return int(np.array(op.attributes["value"]).reshape(-1)[0])
        if op.name in ("stablehlo.convert", "stablehlo.reshape") or op.name in CONSTRAINTS:
            value = op.operands[0]
            continue
        return None
    return None


def set_runs(op: ir.Operation, count: int) -> None:
    """Say how often an op runs (see `runs_of`)."""
    if count > 1:
        op.attributes[RUNS] = emit.i64(count)


def result_runs(func: ir.Operation) -> list[int]:
    """How often each result of a function leaves it in a step."""
    if "res_attrs" not in func.attributes:
        return [1] * len(func.regions[0].blocks[0].operations[-1].operands)
    own = (ir.DictAttr(a) for a in func.attributes["res_attrs"])
    return [int(ir.IntegerAttr(a[RUNS]).value) if RUNS in a else 1 for a in own]


def runs_of(op: ir.Operation) -> int:
    """How often an op runs beside others of its block that run once: as often as there are microbatches."""
    return int(ir.IntegerAttr(op.attributes[RUNS]).value) if RUNS in op.attributes else 1
