"""Shardy's manual computations (`jax.shard_map`) become calls of private functions that every device runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable

from torch_mlir import ir

from pcg.ir import emit, shardings
from pcg.ir.errors import PcgError
from pcg.ir.sdy_attrs import SdySharding, parse_manual_axes, parse_per_value
from pcg.ir.walk import body, functions, walk
from pcg.layout import Mesh, ShardSpec
from pcg.rewrite.sdy_layouts import ShardyLayouts, read
from pcg.rules.manual import MANUAL, REPEATS


def called_in_manual(module: ir.Operation) -> set[str]:
    """Functions that bodies of manual computations call, and those that these call."""
    named = {ir.StringAttr(f.attributes["sym_name"]).value: f for f in functions(module)}
    work = [op for op in walk(module) if op.name == "sdy.manual_computation"]
    found: set[str] = set()
    while work:
        for op in walk(work.pop()):
            if op.name == "func.call":
                symbol = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
                if symbol in named and symbol not in found:
                    found.add(symbol)
                    work.append(named[symbol])
    return found


def is_inside(op: ir.Operation, bodies: set[str]) -> bool:
    """Whether an op is part of a function of `bodies`."""
    parent = op.parent
    while parent is not None and parent.operation.name != "func.func":
        parent = parent.operation.parent
    return parent is not None and ir.StringAttr(parent.operation.attributes["sym_name"]).value in bodies


def import_manual(
    op: ir.Operation, layouts: ShardyLayouts, bodies: set[str], remark: Callable[[ir.Operation, str], None]
) -> ir.Operation:
    """Replace a `sdy.manual_computation` by a `@dist.manual` custom call of its body, a function added to `bodies`.

    Returns the function, in which Shardy's ops are still to be translated.  Raises PcgError for another mesh.
    """
    axes = read(op, parse_manual_axes, op.attributes["manual_axes"])
    ins, outs = (read(op, parse_per_value, op.attributes[k]) for k in ("in_shardings", "out_shardings"))
    mesh = layouts.mesh
    if mesh is None:
        raise PcgError("is manual over a mesh that the program does not declare", op)
    split = [(n, k) for n, k in mesh.origin.axes if k > 1]
    for used in (layouts.known.get(s.mesh) for s in (*ins, *outs)):
        # Bodies number their devices by their own mesh.
        if used is not None and used.axes and [a for a in Mesh.of(used.axes).origin.axes if a[1] > 1] != split:
            raise PcgError(
                f"is written for the mesh {Mesh.of(used.axes).origin}, the program is placed on {mesh.origin}; "
                "allowed: the same axes in the same order", op,
            )  # fmt: skip
    over = {a.partition(".")[0] for a in axes}
    free = [(n, k) for n, k in split if n not in over]
    repeats = math.prod(k for _, k in free)
    if free and not is_inside(op, bodies):
        remark(
            op, f"is manual over {', '.join(map(repr, axes)) or 'no axis'} and automatic over "
            f"{', '.join(repr(n) for n, _ in free)}: {repeats} devices run it alike",
        )  # fmt: skip
    function = _outline(op)
    callee = ir.StringAttr(function.attributes["sym_name"]).value
    bodies.add(callee)
    attrs = {
        "call_target_name": ir.StringAttr.get(MANUAL),
        "called_computations": ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(callee)]),
        "has_side_effect": ir.BoolAttr.get(False),
        shardings.IN_SPECS: _specs(op, [v.type for v in op.operands], ins, over, layouts),
        shardings.OUT_SPECS: _specs(op, [v.type for v in op.results], outs, over, layouts),
    }
    if free:
        attrs[REPEATS] = emit.i64(repeats)
    new = ir.Operation.create(
        "stablehlo.custom_call", [r.type for r in op.results], list(op.operands), attrs,
        loc=op.location, ip=ir.InsertionPoint(op),
    )  # fmt: skip
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    op.erase()
    return function


def _outline(op: ir.Operation) -> ir.Operation:
    """Move the body to a private function at the end of the module."""
    block = op.regions[0].blocks[0]
    last = block.operations[-1].operation
    module = op
    while module.parent is not None:
        module = module.parent.operation
    taken = {ir.StringAttr(f.attributes["sym_name"]).value for f in functions(module)}
    name = next(n for i in itertools.count() if (n := f"shard_map_{i}") not in taken)
    kind = ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in last.operands])
    function = ir.Operation.create(
        "func.func", regions=1, loc=op.location, ip=ir.InsertionPoint(body(module)),
        attributes={
            "sym_name": ir.StringAttr.get(name), "sym_visibility": ir.StringAttr.get("private"),
            "function_type": ir.TypeAttr.get(kind),
        },
    )  # fmt: skip
    block.append_to(function.regions[0])
    ir.Operation.create("func.return", operands=list(last.operands), loc=last.location, ip=ir.InsertionPoint(last))
    last.erase()
    return function


def _specs(
    op: ir.Operation, types: Iterable[ir.Type], ss: list[SdySharding], over: set[str], layouts: ShardyLayouts
) -> ir.ArrayAttr:
    """The layouts of operands or results over the axes `over` that a computation is manual over."""
    found = []
    for type_, s in zip(types, ss, strict=True):
        layout = layouts.spec(op, type_, s)
        spec = layout[0] if layout else ShardSpec.replicated(len(s.dims))
        own = [[a for a in d if a.partition(".")[0].partition(":")[0].strip('"') in over] for d in spec.dims]
        found.append(shardings.to_attr(ShardSpec.of(own, spec.partial), layouts.symbol))
    return ir.ArrayAttr.get(found)
