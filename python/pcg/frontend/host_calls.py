"""What a jax function calls on the host: `jax.pure_callback`, `io_callback`, `jax.debug.print` and the like.

jax lowers a callback to a custom call with a number in a list that goes with the module; the list travels beside the
program here.  Ordered ones take and return a token.  Tokens have no layout and cannot be sent to other devices, so here
an integer takes their place: each callback returns the one that it takes, and the data dependence keeps the order.
Imports jax.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jax.extend import source_info_util
from jax.extend.mlir import ir

from pcg.driver.program import ProgramError
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.runtime import jax_compat

_TOKEN = "!stablehlo.token"
#: Attribute of arguments and results that are tokens.
_MARK = "jax.token"
_ALIAS = "tf.aliasing_output"


def check(jaxpr: Any) -> int:
    """Refuse what cannot run on several devices, with the user's line; how many equations there are.

    Raises:
      ProgramError: the program stops in a debugger, or asks XLA's partitioner for a sharding.
    """
    count = 0
    for eqn in jax_compat.equations(jaxpr):
        count += 1
        if eqn.primitive.name == "inspect_sharding":
            raise ProgramError(
                f"{source_info_util.summarize(eqn.source_info)}: jax.debug.inspect_array_sharding (or"
                " visualize_array_sharding) asks XLA's partitioner, which does not run here; use Compiled.why(\"file:"
                'line") for values, and inspect results outside of the program'
            )
        if jax_compat.is_breakpoint(eqn):
            raise ProgramError(
                f"{source_info_util.summarize(eqn.source_info)}: jax.debug.breakpoint would stop one device while the"
                " others wait for it, which XLA takes for a deadlock; use jax.debug.print, or run the function itself"
            )
    return count


def without_tokens(module: Any) -> None:
    """Replace the tokens that order the callbacks of a jax module by integers; the entry has neither."""
    with module.context, ir.Location.unknown():
        number = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
        for func in [op.operation for op in module.body.operations if op.operation.name == "func.func"]:
            _retype(func, number, *_separate(func, number))
        for op in list(_walk(module.operation)):
            if traits.has(op.name, Trait.TOKEN):
                _add_up(op, number)
                continue
            for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.arguments)):
                if str(value.type) == _TOKEN:
                    value.set_type(number)


def _walk(op: Any) -> Iterator[Any]:
    """`op` and the ops inside it, outer ones first."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            for inner in list(block.operations):
                yield from _walk(inner.operation)


def _zero(number: Any, ip: Any) -> Any:
    value = ir.DenseElementsAttr.get_splat(number, ir.IntegerAttr.get(number.element_type, 0))
    return ir.Operation.create("stablehlo.constant", results=[number], attributes={"value": value}, ip=ip).result


def _add_up(op: Any, number: Any) -> None:
    """Replace an op that joins tokens by the sum of its operands, which depends on all of them."""
    *values, = op.operands
    with ir.InsertionPoint(op), op.location:
        found = values[0] if values else _zero(number, ir.InsertionPoint(op))
        for value in values[1:]:
            found = ir.Operation.create("stablehlo.add", results=[number], operands=[found, value]).result
    op.results[0].replace_all_uses_with(found)
    op.erase()


def _separate(func: Any, number: Any) -> tuple[list[int], list[int]]:
    """A public function starts its own order: it neither takes nor returns a token.  Returns which it did."""
    if "sym_visibility" in func.attributes and ir.StringAttr(func.attributes["sym_visibility"]).value == "private":
        return [], []
    block = func.regions[0].blocks[0]
    *_, last = block.operations
    kind = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
    inputs, results = ([i for i, t in enumerate(types) if str(t) == _TOKEN] for types in (kind.inputs, kind.results))
    if not inputs and not results:
        return [], []
    start = _zero(number, ir.InsertionPoint.at_block_begin(block))
    for i in reversed(inputs):
        block.arguments[i].set_type(number)
        block.arguments[i].replace_all_uses_with(start)
        block.erase_argument(i)
    kept = [v for i, v in enumerate(last.operation.operands) if i not in results]
    ir.Operation.create("func.return", operands=kept, loc=last.operation.location, ip=ir.InsertionPoint(last))
    last.operation.erase()
    return inputs, results


def _retype(func: Any, number: Any, inputs: list[int], results: list[int]) -> None:
    """Make tokens numbers in the type of a function, and take out the arguments and results of these numbers."""
    kind = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
    sides = []
    for types, gone, name in ((kind.inputs, inputs, "arg_attrs"), (kind.results, results, "res_attrs")):
        sides.append([number if str(t) == _TOKEN else t for i, t in enumerate(types) if i not in gone])
        if name in func.attributes:
            rows = [row for i, row in enumerate(ir.ArrayAttr(func.attributes[name])) if i not in gone]
            func.attributes[name] = ir.ArrayAttr.get([_renumbered(ir.DictAttr(row), results) for row in rows])
    func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*sides))


def _renumbered(row: Any, gone: list[int]) -> Any:
    """Attributes of an argument without the mark; a result that it shares memory with is numbered among those left."""
    attributes = {a.name: a.attr for a in row if a.name != _MARK}
    if _ALIAS in attributes:
        old = ir.IntegerAttr(attributes[_ALIAS])
        attributes[_ALIAS] = ir.IntegerAttr.get(old.type, old.value - sum(i < old.value for i in gone))
    return ir.DictAttr.get(attributes)
