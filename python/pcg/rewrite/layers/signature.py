"""The arguments and results of a function, some of them layer by layer; which those were before is recorded."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.locations import argument_names
from pcg.search.roles import STATE

#: On a function: for each argument, or result, that it had first, the number of arguments that it became; 0: it stays.
STACKED_ARGUMENTS = "pcg.stacked_arguments"
STACKED_RESULTS = "pcg.stacked_results"
_INFO = "jax.result_info"
_ALIAS = "tf.aliasing_output"


def stacked(func: ir.Operation, name: str, count: int) -> list[int]:
    """The counts that an attribute of a function holds; `count` zeros where it has none."""
    attrs = func.attributes
    return list(ir.DenseI64ArrayAttr(attrs[name])) if name in attrs else [0] * count


def unstack_arguments(func: ir.Operation, counts: Sequence[int], layers: int) -> list[list[ir.Value]]:
    """Add the new arguments of a function, `counts[i]` of its `layers` (0: one) for argument i, behind the old ones;
    returns them.

    An argument that stays is replaced where it is read; those that do not are for the caller to replace.
    """
    block = func.regions[0].blocks[0]
    names, old = argument_names(func), list(block.arguments)
    rows: list[list[ir.Value]] = []
    for value, name, count in zip(old, names, counts, strict=True):
        if not count:
            rows.append([block.add_argument(value.type, value.location)])
            value.replace_all_uses_with(rows[-1][0])
            continue
        type_ = emit.resized(value, 0, value.type.shape[0] // layers)
        rows.append([block.add_argument(type_, ir.Location.name(f"{name}[{i}]")) for i in range(count)])
    return rows


def write_signature(func: ir.Operation, arguments: Sequence[int], results: Sequence[int]) -> None:
    """Remove the old arguments of a function, which nothing reads any more, and write its types and attributes."""
    block = func.regions[0].blocks[0]
    for _ in arguments:
        block.erase_argument(0)
    last = block.operations[-1].operation
    kind = ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in last.operands])
    attrs = func.attributes
    attrs["function_type"] = ir.TypeAttr.get(kind)
    first, then = _positions(arguments), _positions(results)
    if "arg_attrs" in attrs:
        attrs["arg_attrs"] = _argument_attributes(attrs["arg_attrs"], first, then)
    if "res_attrs" in attrs:
        attrs["res_attrs"] = _result_attributes(attrs["res_attrs"], first, then)
    for name, counts in ((STACKED_ARGUMENTS, arguments), (STACKED_RESULTS, results)):
        attrs[name] = emit.i64s(_composed(stacked(func, name, len(counts)), counts))


def _positions(counts: Sequence[int]) -> list[range]:
    """The new numbers of each old argument or result."""
    found, start = [], 0
    for count in counts:
        found.append(range(start, start + max(1, count)))
        start += max(1, count)
    return found


def _composed(before: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Counts of what first `before` describes, then `counts`; what became several does so once."""
    found, at = [], 0
    for n in before:
        found.append(n or counts[at])
        at += max(1, n)
    return found


def _argument_attributes(own: ir.ArrayAttr, first: list[range], then: list[range]) -> ir.ArrayAttr:
    out = []
    for i, attributes in enumerate(own):
        for k in range(len(first[i])):
            new = {a.name: a.attr for a in attributes}
            if _ALIAS in new:
                target = then[ir.IntegerAttr(new.pop(_ALIAS)).value]
                if len(target) == len(first[i]):
                    new[_ALIAS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), target[k])
            out.append(ir.DictAttr.get(new))
    return ir.ArrayAttr.get(out)


def _result_attributes(own: ir.ArrayAttr, first: list[range], then: list[range]) -> ir.ArrayAttr:
    out = []
    for i, attributes in enumerate(own):
        for k in range(len(then[i])):
            new = {a.name: a.attr for a in attributes}
            if STATE in new:
                new[STATE] = emit.i64(first[ir.IntegerAttr(new[STATE]).value][k])
            if len(then[i]) > 1 and _INFO in new:
                new[_INFO] = ir.StringAttr.get(f"{ir.StringAttr(new[_INFO]).value}[{k}]")
            out.append(ir.DictAttr.get(new))
    return ir.ArrayAttr.get(out)
