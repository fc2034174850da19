"""Which floats of a program carry rounding errors, and which are exact however they are computed.

Positions in a queue counted by a cumulative sum of a mask, one-hot rows, what `floor` yields: floats that hold integers
are the same in any order of summation.  If they erred, `position < capacity` would change where nothing can change it.
"""

from __future__ import annotations

import enum
import re

from torch_mlir import ir

from pcg.emulate.widen import is_float
from pcg.rules import traits
from pcg.rules.registry import BRANCHES
from pcg.rules.traits import Trait


class RoundingState(enum.IntEnum):
    """What is known of a value; of several, the largest."""

    INTEGRAL = 0
    """It holds integers, which sums and products keep."""
    FIXED = 1
    """It depends on no float argument and is no sum: the same anywhere."""
    INEXACT = 2
    """It carries rounding errors."""


#: Of ops that sum: what is no integer comes out inexact.
SUMS = Trait.CONTRACTION | Trait.SCALAR_BODY
_SPLAT = re.compile(r"dense<([-+0-9.eE]+)>")


class Exactness:
    """The state of every float in a block, in its loops and branches too; its arguments are inexact."""

    def __init__(self, block: ir.Block) -> None:
        self.states = {a: RoundingState.INEXACT for a in block.arguments if is_float(a.type)}
        self._block(block)

    def of(self, value: ir.Value) -> RoundingState:
        """The state of a value; integers and booleans are integral."""
        return self.states.get(value, RoundingState.INTEGRAL)

    def _block(self, block: ir.Block) -> None:
        for op in block.operations:
            op = op.operation
            if op.name == "stablehlo.while":
                self._loop(op)
            elif op.name in BRANCHES:
                for region in op.regions:
                    self._block(region.blocks[0])
                    self._join(op.results, _returned(region.blocks[0]))
            else:
                state = self._op(op)
                self.states.update({r: state for r in op.results if is_float(r.type)})

    def _loop(self, op: ir.Operation) -> None:
        """Iterate until the states of the carried values are a fixed point."""
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

    def _op(self, op: ir.Operation) -> RoundingState:
        name = op.name
        from_integers = name == "stablehlo.convert" and not is_float(op.operands[0].type)
        if from_integers or traits.has(name, Trait.YIELDS_INTEGERS):
            return RoundingState.INTEGRAL
        if name == "stablehlo.constant":
            found = _SPLAT.search(str(op.attributes["value"]))
            return RoundingState.INTEGRAL if found and float(found[1]).is_integer() else RoundingState.FIXED
        state = max((self.of(v) for v in op.operands if is_float(v.type)), default=RoundingState.INTEGRAL)
        if not traits.has(name, SUMS | Trait.KEEPS_INTEGERS):
            state = max(state, RoundingState.FIXED)
        return RoundingState.INEXACT if traits.has(name, SUMS) and state == RoundingState.FIXED else state


def _returned(block: ir.Block) -> list[ir.Value]:
    return list(block.operations[-1].operation.operands)
