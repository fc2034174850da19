"""What the arguments of a program are: state that comes back as a result, and data."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.rules import traits
from pcg.rules.traits import Trait

#: Result attribute: number of the argument whose layout the result keeps (a training step's state).
STATE = "pcg.state"
#: Attribute of a barrier of one value: by which reduction the value may be partial.
PARTIAL = "pcg.partial"
#: Argument attribute of a constant that the program closed over: neither state nor data.
CONSTANT = "pcg.constant"
#: Argument attributes of donated memory.
_DONATED = ("tf.aliasing_output", "jax.buffer_donor")


def state_of(func: ir.Operation) -> dict[int, int]:
    """Result number -> argument number for results that are the next value of an argument.

    Taken from `pcg.state` result attributes, else from donation (`tf.aliasing_output`), else from
    the signature: the longest common prefix of argument and result types, if it has at least two.
    """
    func = func.operation
    attrs = func.attributes
    kind = ir.FunctionType(ir.TypeAttr(attrs["function_type"]).value)
    inputs, results = kind.inputs, kind.results  # a new list each time that they are asked for
    if "res_attrs" in attrs:
        said = {i: int(ir.IntegerAttr(a[STATE]).value) for i, a in enumerate(attrs["res_attrs"]) if STATE in a}
        if said:
            return said
    if "arg_attrs" in attrs:
        donated = {
            int(ir.IntegerAttr(a["tf.aliasing_output"]).value): i
            for i, a in enumerate(attrs["arg_attrs"])
            if "tf.aliasing_output" in a
        }
        if donated:
            return {r: i for r, i in donated.items() if results[r] == inputs[i]}
    prefix = 0
    for a, b in zip(inputs, results, strict=False):
        if a != b:
            break
        prefix += 1
    return {i: i for i in range(prefix)} if prefix >= 2 else {}


def data_of(func: ir.Operation, state: dict[int, int]) -> Sequence[int]:
    """Arguments that are data: not state; without state, those that are not the second operand of a contraction."""
    block = func.operation.regions[0].blocks[0]
    attrs = func.operation.attributes
    own = list(attrs["arg_attrs"]) if "arg_attrs" in attrs else []
    arguments = [i for i in range(len(block.arguments)) if not own or CONSTANT not in own[i]]
    if state:
        held = set(state.values())
        return [i for i in arguments if i not in held and _rank(block.arguments[i]) > 0]
    return [i for i in arguments if _rank(block.arguments[i]) > 0 and not _is_weight(block.arguments[i])]


def donated_of(func: ir.Operation) -> list[int]:
    """Numbers of donated arguments: the program may overwrite their memory."""
    attrs = func.operation.attributes
    if "arg_attrs" not in attrs:
        return []
    return [i for i, own in enumerate(attrs["arg_attrs"]) if any(name in own for name in _DONATED)]


def _rank(value: ir.Value) -> int:
    return value.type.rank if isinstance(value.type, ir.RankedTensorType) else 0


def _is_weight(value: ir.Value) -> bool:
    for _ in range(4):
        uses = list(value.uses)
        for use in uses:
            name, i = use.owner.operation.name, use.operand_number
            # The second operand of the deprecated `dot` is not taken for a weight.
            contracts = traits.has(name, Trait.CONTRACTION) and name != "stablehlo.dot"
            if (contracts and i == 1) or (name == "stablehlo.gather" and i == 0):
                return True
        if len(uses) != 1 or len(uses[0].owner.operation.results) != 1:
            return False
        if not traits.has(uses[0].owner.operation.name, Trait.FORWARDS):
            return False
        value = uses[0].owner.operation.results[0]
    return False
