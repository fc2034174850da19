"""Which of several meshes a value or an op is on.

The mesh of a value is the one its layout names; where there is no layout (yet), `dist.mesh = @symbol` on the
op, or among the attributes of a function's argument or result, says it.  Inside a `pcg.stage` everything is on
the stage's mesh.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir

from pcg.dialects.dist import ShardSpecAttr
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.walk import walk

#: Attribute of ops, arguments and results.
ON = "dist.mesh"
#: Attributes of ops that hold layouts.
LAYOUTS = (shardings.SPECS, shardings.OPERAND_SPECS, "spec")


def mesh_name_of(value: ir.Value) -> str | None:
    """Symbol of the mesh a value is on; None if nothing says."""
    if isinstance(value, ir.BlockArgument):
        owner = value.owner.owner.operation
        if owner.name == "func.func":
            return signature_mesh(owner, "arg_attrs", value.arg_number)
        return op_mesh(owner)
    op = value.owner.operation
    if op.name == "stablehlo.get_tuple_element" and (stage := shardings.stage_of(op)) is not None:
        return op_mesh(stage)
    return op_mesh(op)


def op_mesh(op: ir.Operation) -> str | None:
    """Symbol of the mesh an op runs on: what it says itself, else that of the first layout on it or inside it.

    Raises:
      PcgError: it has layouts on several meshes.
    """
    op = op.operation
    if op.name in ("pcg.stage", "pcg.transfer", "pcg.exchange", "pcg.exchange_back"):
        return ir.FlatSymbolRefAttr(op.attributes["mesh"]).value
    found = dict.fromkeys(layout_meshes(op))
    if ON in op.attributes:
        found = {ir.FlatSymbolRefAttr(op.attributes[ON]).value: None} | found
    if len(found) > 1:
        names = " and ".join("@" + n for n in found)
        raise PcgError(f"'{op.name}' op has layouts on {names}; allowed: one mesh per op", op.location)
    return next(iter(found), None)


def layout_meshes(op: ir.Operation) -> Iterator[str]:
    """Symbols of the meshes that the layouts on an op, and on the ops in its regions, name."""
    for inner in walk(op):
        if inner.name != "func.func":
            for _, attr in layouts_at(inner):
                yield shardings.mesh_symbol(attr)


def layouts_at(op: ir.Operation) -> Iterator[tuple[str, ir.Attribute]]:
    """(what it is of, layout) of everything that an op, or the signature of a function, says."""
    attrs = op.attributes
    if op.name == "func.func":
        for where, what in (("arg_attrs", "argument"), ("res_attrs", "result")):
            for i, own in enumerate(attrs[where] if where in attrs else ()):
                if shardings.SPEC in own:
                    yield f"the layout of {what} {i}", own[shardings.SPEC]
        return
    for name in LAYOUTS:
        if name in attrs:
            for i, attr in enumerate(attrs[name] if isinstance(attrs[name], ir.ArrayAttr) else [attrs[name]]):
                if isinstance(attr, ShardSpecAttr):
                    yield f"{name} {i}" if name != "spec" else name, attr


def set_op_mesh(op: ir.Operation, name: str | None) -> None:
    """Say which mesh an op runs on, or (None) no more."""
    if name is not None:
        with op.context:
            op.attributes[ON] = ir.FlatSymbolRefAttr.get(name)
    elif ON in op.attributes:
        del op.attributes[ON]


def signature_mesh(func: ir.Operation, where: str, i: int) -> str | None:
    """Mesh of argument (`where` is arg_attrs) or result (res_attrs) `i` of a function.

    Raises:
      PcgError: its layout is on another mesh than `dist.mesh` says.
    """
    attrs = func.operation.attributes
    if where not in attrs:
        return None
    own = attrs[where][i]
    layout = shardings.mesh_symbol(own[shardings.SPEC]) if shardings.SPEC in own else None
    said = ir.FlatSymbolRefAttr(own[ON]).value if ON in own else None
    if layout is not None and said is not None and layout != said:
        what = "argument" if where == "arg_attrs" else "result"
        text = f"{what} {i} has {ON} = @{said}, but a layout on @{layout}; allowed: one mesh per value"
        raise PcgError(text, func.operation.location)
    return layout or said


def set_signature_meshes(func: ir.Operation, where: str, names: list[str | None]) -> None:
    """Say on which meshes the arguments or results of a function are; None takes it back."""
    func = func.operation
    if not names:
        return
    with func.context:
        attrs = func.attributes
        every = list(attrs[where]) if where in attrs else [ir.DictAttr.get({})] * len(names)
        for i, name in enumerate(names):
            own = {n.name: n.attr for n in every[i] if n.name != ON}
            if name is not None:
                own[ON] = ir.FlatSymbolRefAttr.get(name)
            every[i] = ir.DictAttr.get(own)
        attrs[where] = ir.ArrayAttr.get(every)


def rename(op: ir.Operation, old: str, new: str, known: dict[ir.Attribute, ir.Attribute]) -> None:
    """Move the layouts on an op, and on the ops in its regions, from the mesh called `old` to that called `new`.

    `known` are attributes that have been renamed so; ops of a program have few different ones.
    """
    for inner in walk(op):
        attributes = inner.attributes
        for name in LAYOUTS:
            if name in attributes:
                found = attributes[name]
                if found not in known:
                    known[found] = _renamed(found, old, new)
                if known[found] != found:
                    attributes[name] = known[found]


def _renamed(attribute: ir.Attribute, old: str, new: str) -> ir.Attribute:
    text = str(attribute)
    if "#dist.shard_spec" not in text:
        return attribute
    with attribute.context:
        return ir.Attribute.parse(text.replace(f"#dist.shard_spec<@{old},", f"#dist.shard_spec<@{new},"))
