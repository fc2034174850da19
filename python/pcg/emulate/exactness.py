"""Which floats of a program carry rounding errors, and which are exact however they are computed.

Positions in a queue counted by a cumulative sum of a mask, one-hot rows, what `floor` yields: floats that hold integers
are the same in any order of summation.  To let them err would turn `position < capacity` where nothing can.
"""

from __future__ import annotations

import enum
import re

from torch_mlir import ir

from pcg.emulate.widen import is_float


class State(enum.IntEnum):
    """What is known of a value; of several, the largest."""

    INTEGRAL = 0
    """It holds integers, which sums and products keep."""
    FIXED = 1
    """It depends on no float argument and is no sum: the same anywhere."""
    INEXACT = 2
    """It carries rounding errors."""


#: Ops that sum: what is no integer comes out inexact.
SUMS = frozenset(
    "stablehlo." + n
    for n in (
        "reduce", "reduce_window", "scatter", "select_and_scatter", "map", "all_reduce", "dot", "dot_general",
        "convolution",
    )
)  # fmt: skip
#: Ops whose regions run as parts of the program.
LOOPS = frozenset({"stablehlo.while", "stablehlo.if", "stablehlo.case"})
#: Ops that yield integers whatever they are given.
_TO_INTEGERS = frozenset(
    "stablehlo." + n for n in ("iota", "floor", "ceil", "sign", "round_nearest_even", "round_nearest_afz")
)
#: Ops that yield integers of integers.
_KEEP_INTEGERS = SUMS | frozenset(
    "stablehlo." + n
    for n in (
        "add", "subtract", "multiply", "negate", "abs", "maximum", "minimum", "select", "clamp", "convert", "reshape",
        "broadcast_in_dim", "transpose", "slice", "concatenate", "pad", "reverse", "dynamic_slice", "gather",
        "dynamic_update_slice", "optimization_barrier", "sort",
    )
)  # fmt: skip
_SPLAT = re.compile(r"dense<([-+0-9.eE]+)>")


class Exactness:
    """The state of every float in a block, in its loops and branches too; its arguments are inexact."""

    def __init__(self, block: ir.Block) -> None:
        self.states: dict[ir.Value, State] = {a: State.INEXACT for a in block.arguments if is_float(a.type)}
        self._block(block)

    def of(self, value: ir.Value) -> State:
        """The state of a value; integers and booleans are integral."""
        return self.states.get(value, State.INTEGRAL)

    def _block(self, block: ir.Block) -> None:
        for op in block.operations:
            op = op.operation
            if op.name == "stablehlo.while":
                self._loop(op)
            elif op.name in LOOPS:
                for region in op.regions:
                    self._block(region.blocks[0])
                    self._join(op.results, _returned(region.blocks[0]))
            else:
                state = self._op(op)
                self.states.update({r: state for r in op.results if is_float(r.type)})

    def _loop(self, op: ir.Operation) -> None:
        """Over and over, until what comes round is what went in."""
        carried = [self.of(v) for v in op.operands]
        body = op.regions[1].blocks[0]
        while True:
            for region in op.regions:
                for argument, state in zip(region.blocks[0].arguments, carried, strict=True):
                    if is_float(argument.type):
                        self.states[argument] = state
            self._block(body)
            after = [max(a, self.of(v)) for a, v in zip(carried, _returned(body), strict=True)]
            if after == carried:
                break
            carried = after
        self.states.update({r: s for r, s in zip(op.results, carried, strict=True) if is_float(r.type)})

    def _join(self, results: ir.OpResultList, values: list[ir.Value]) -> None:
        for result, value in zip(results, values, strict=True):
            if is_float(result.type):
                self.states[result] = max(self.of(result), self.of(value))

    def _op(self, op: ir.Operation) -> State:
        name = op.name
        if name in _TO_INTEGERS or (name == "stablehlo.convert" and not is_float(op.operands[0].type)):
            return State.INTEGRAL
        if name == "stablehlo.constant":
            found = _SPLAT.search(str(op.attributes["value"]))
            return State.INTEGRAL if found and float(found[1]).is_integer() else State.FIXED
        state = max((self.of(v) for v in op.operands if is_float(v.type)), default=State.INTEGRAL)
        if name not in _KEEP_INTEGERS:
            state = max(state, State.FIXED)
        return State.INEXACT if name in SUMS and state == State.FIXED else state


def _returned(block: ir.Block) -> list[ir.Value]:
    return list(list(block.operations)[-1].operation.operands)
