"""The only reader and writer of layouts in the IR.

Where a layout lives: function arguments and results have the attribute `dist.spec`; the results of
an op share `dist.specs`, one entry per result, `unit` for unknown.  Block arguments of
`stablehlo.while` have the layouts of its results.
`dist.operand_specs` is what the chosen strategy of an op needs of each operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import TypeVar

from torch_mlir import ir

from pcg.dialects.dist import ProcessMeshAttr, ShardSpecAttr, read_mesh
from pcg.ir.errors import PcgError
from pcg.ir.walk import body
from pcg.layout import Mesh, ShardSpec

T = TypeVar("T")

SPEC = "dist.spec"
SPECS = "dist.specs"
OPERAND_SPECS = "dist.operand_specs"
OPEN = "dist.open"
PRIORITIES = "dist.priorities"
#: Layouts of the inputs and results of a `pcg.stage`.
IN_SPECS = "in_specs"
OUT_SPECS = "out_specs"
#: Symbol of the mesh when a module has one.
MESH = "mesh"
#: On a barrier: it was put in so that the redistribution behind it is done for its readers alone.
APART = "dist.apart"
#: Ops by which a user or a pass says which layout a value is to have; they are the identity on it.
CONSTRAINTS = frozenset({"dist.constraint", "dist.reshard"})


# -- attributes ------------------------------------------------------------------------------------


@lru_cache(maxsize=65536)
def spec_text(spec: ShardSpec, mesh: str) -> str:
    """A spec on the mesh with symbol `mesh`, as the IR prints it."""
    dims = ", ".join("[" + ", ".join(f'"{a}"' for a in d) + "]" for d in spec.dims)
    partial = ", ".join(f'"{a}" = "{k}"' if ":" in a else f'{a} = "{k}"' for a, k in spec.partial)
    return f"#dist.shard_spec<@{mesh}, [{dims}], {{{partial}}}>"


def _once(read: Callable[[ir.Attribute], T]) -> Callable[[ir.Attribute], T]:
    """Keep what `read` makes of an attribute with its context.

    Few attributes are on many ops.  A context has each of them once, and until its end: their hashes, which are where
    they are, tell them apart.  The attributes themselves would be references to the context, which never ended then.
    """

    name = f"pcg.{read.__name__}"

    @wraps(read)
    def known(attr: ir.Attribute) -> T:
        found = attr.context.__dict__.get(name)
        if found is None:
            found = attr.context.__dict__.setdefault(name, {})
        made: T | None = found.get(hash(attr))
        if made is None:
            made = found[hash(attr)] = read(attr)
        return made

    return known


def to_attr(spec: ShardSpec, mesh: str = MESH) -> ir.Attribute:
    """The attribute of a spec, on the mesh with symbol `mesh`; needs a current context."""
    return ir.Attribute.parse(spec_text(spec, mesh))


@_once
def from_attr(attr: ir.Attribute) -> ShardSpec:
    """The spec an attribute denotes.

    Raises:
      ValueError: the attribute is not a well-formed `#dist.shard_spec`.
    """
    own = attr.maybe_downcast()
    if not isinstance(own, ShardSpecAttr):
        raise ValueError(f"{attr} is not a #dist.shard_spec")
    try:
        dims = [[ir.StringAttr(a).value for a in ir.ArrayAttr(d)] for d in own.dims.maybe_downcast()]
        kinds = own.partial.maybe_downcast()
        partial = [(n.name, ir.StringAttr(kinds[n.name]).value) for n in _items(kinds)]
    except (ValueError, TypeError):
        raise ValueError(f'{attr} is not a shard spec; write <@mesh, [["axis"], []], {{axis = "sum"}}>') from None
    return ShardSpec.of(dims, partial)


@_once
def specs_in(attr: ir.Attribute) -> tuple[ShardSpec | None, ...]:
    """The layouts in a list of them; None where the list says `unit`."""
    return tuple(None if isinstance(a, ir.UnitAttr) else from_attr(a) for a in attr)


@_once
def mesh_symbol(attr: ir.Attribute) -> str:
    """Name of the mesh a spec attribute refers to."""
    return ir.FlatSymbolRefAttr(ShardSpecAttr(attr).mesh.maybe_downcast()).value


def _items(attrs: ir.DictAttr) -> list[ir.NamedAttribute]:
    return [attrs[i] for i in range(len(attrs))]


# -- values ----------------------------------------------------------------------------------------


def get(value: ir.Value) -> ShardSpec | None:
    """Layout of a value, None if unknown."""
    if not isinstance(value, ir.BlockArgument):
        result = value if isinstance(value, ir.OpResult) else ir.OpResult(value)
        attrs = result.owner.attributes
        if SPECS not in attrs:
            stage = stage_of(result.owner)
            return None if stage is None else boundary_specs(stage, OUT_SPECS)[_element(result.owner)]
        specs, i = specs_in(attrs[SPECS]), result.result_number
        return specs[i] if i < len(specs) else None
    op, i = value.owner.owner.operation, value.arg_number
    if op.name == "func.func":
        return _function_spec(op, "arg_attrs", i)
    if op.name == "stablehlo.while":
        return get(op.results[i])
    return boundary_specs(op, IN_SPECS)[i] if op.name == "pcg.stage" else None


def set(value: ir.Value, spec: ShardSpec | None, mesh: str = MESH) -> None:
    """Give a value a layout, or take it away (None).

    Raises:
      ValueError: the value is an argument of a region whose arguments have no layouts of their own.
    """
    if not isinstance(value, ir.BlockArgument):
        result = value if isinstance(value, ir.OpResult) else ir.OpResult(value)
        op = result.owner
        specs = result_specs(op)
        specs[result.result_number] = spec
        set_result_specs(op, specs, mesh)
        return
    op, i = value.owner.owner.operation, value.arg_number
    if op.name == "func.func":
        _set_function_spec(op, "arg_attrs", len(value.owner.arguments), i, spec, mesh)
    elif op.name == "stablehlo.while":
        set(op.results[i], spec, mesh)
    else:
        raise ValueError(f"arguments of the region of '{op.name}' have no layouts")


def result_specs(op: ir.Operation) -> list[ShardSpec | None]:
    """Layouts of the results of an op, one each."""
    op = op.operation
    count, attrs = len(op.results), op.attributes
    specs = list(specs_in(attrs[SPECS])) if SPECS in attrs else []
    return specs if len(specs) == count else (specs + [None] * count)[:count]


def set_result_specs(op: ir.Operation, specs: Sequence[ShardSpec | None], mesh: str = MESH) -> None:
    """Replace the layouts of all results; all None removes the attribute."""
    op = op.operation
    _set_or_remove(op, SPECS, specs, mesh)


def operand_specs(op: ir.Operation) -> list[ShardSpec | None] | None:
    """What the op needs of each operand; None if nothing was decided."""
    attrs = op.operation.attributes
    return list(specs_in(attrs[OPERAND_SPECS])) if OPERAND_SPECS in attrs else None


def set_operand_specs(op: ir.Operation, specs: Sequence[ShardSpec | None] | None, mesh: str = MESH) -> None:
    """Replace what the op needs of its operands; None removes it."""
    _set_or_remove(op.operation, OPERAND_SPECS, specs or (), mesh)


def set_layouts(op: ir.Operation, results: ir.ArrayAttr | None, operands: ir.ArrayAttr | None) -> None:
    """As `set_result_specs` and `set_operand_specs`, by what `list_attr` makes of the layouts."""
    for name, attr in ((SPECS, results), (OPERAND_SPECS, operands)):
        if attr is not None:
            op.attributes[name] = attr
        elif name in op.attributes:
            del op.attributes[name]


def list_attr(context: ir.Context, specs: Sequence[ShardSpec | None], mesh: str = MESH) -> ir.ArrayAttr | None:
    """The attribute of a list of layouts; None if there is none in it."""
    if all(s is None for s in specs):
        return None
    with context:
        return ir.ArrayAttr.get([ir.UnitAttr.get() if s is None else to_attr(s, mesh) for s in specs])


def _set_or_remove(op: ir.Operation, name: str, specs: Sequence[ShardSpec | None], mesh: str) -> None:
    attr = list_attr(op.context, specs, mesh)
    if attr is not None:
        op.attributes[name] = attr
    elif name in op.attributes:
        del op.attributes[name]


# -- stages ----------------------------------------------------------------------------------------


def stage_of(op: ir.Operation) -> ir.Operation | None:
    """The stage whose result a `stablehlo.get_tuple_element` takes; None for other ops."""
    op = op.operation
    if op.name != "stablehlo.get_tuple_element" or isinstance(op.operands[0], ir.BlockArgument):
        return None
    source = op.operands[0].owner.operation
    return source if source.name == "pcg.stage" else None


def _element(op: ir.Operation) -> int:
    return int(ir.IntegerAttr(op.operation.attributes["index"]).value)


def boundary_specs(stage: ir.Operation, where: str) -> list[ShardSpec | None]:
    """Layouts of the inputs (`where` is `IN_SPECS`) or results (`OUT_SPECS`) of a stage."""
    stage = stage.operation
    if where in stage.attributes:
        return list(specs_in(stage.attributes[where]))
    values = stage.operands if where == IN_SPECS else stage.results
    return [None] * ir.TupleType(values[0].type).num_types


def set_boundary_specs(stage: ir.Operation, where: str, specs: Sequence[ShardSpec | None], mesh: str) -> None:
    """Replace the layouts of the inputs or results of a stage; all None removes the attribute."""
    _set_or_remove(stage.operation, where, specs, mesh)


# -- functions -------------------------------------------------------------------------------------


def _function_spec(func: ir.Operation, where: str, i: int) -> ShardSpec | None:
    attrs = func.attributes
    if where not in attrs:
        return None
    own = attrs[where][i]
    return from_attr(own[SPEC]) if SPEC in own else None


def _set_function_spec(func: ir.Operation, where: str, count: int, i: int, spec: ShardSpec | None, mesh: str) -> None:
    with func.context:
        attrs = func.attributes
        every = list(attrs[where]) if where in attrs else [ir.DictAttr.get({})] * count
        every[i] = _with_spec(every[i], spec, mesh)
        attrs[where] = ir.ArrayAttr.get(every)


def _with_spec(attrs: ir.DictAttr, spec: ShardSpec | None, mesh: str) -> ir.DictAttr:
    own = {n.name: n.attr for n in _items(attrs) if n.name != SPEC}
    return ir.DictAttr.get(own if spec is None else own | {SPEC: to_attr(spec, mesh)})


def function_result_specs(func: ir.Operation) -> list[ShardSpec | None]:
    """Layouts of the results of a function, as its signature gives them."""
    func = func.operation
    count = len(ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results)
    return [_function_spec(func, "res_attrs", i) for i in range(count)]


def set_function_result_spec(func: ir.Operation, i: int, spec: ShardSpec | None, mesh: str = MESH) -> None:
    """Give result `i` of a function a layout, or take it away (None)."""
    func = func.operation
    count = len(ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results)
    _set_function_spec(func, "res_attrs", count, i, spec, mesh)


def set_signature_specs(
    func: ir.Operation, arguments: Sequence[ShardSpec | None], results: Sequence[ShardSpec | None], mesh: str = MESH
) -> None:
    """Give all arguments and results of a function their layouts at once (one by one is quadratic in their number)."""
    func = func.operation
    with func.context:
        attrs = func.attributes
        for where, specs in (("arg_attrs", arguments), ("res_attrs", results)):
            every = list(attrs[where]) if where in attrs else [ir.DictAttr.get({})] * len(specs)
            if every:
                changed = [_with_spec(own, spec, mesh) for own, spec in zip(every, specs, strict=True)]
                attrs[where] = ir.ArrayAttr.get(changed)


def open_dims(attrs: ir.DictAttr | ir.OpAttributeMap) -> tuple[int, ...]:
    """Dimensions that the user left open: the axes a fixed layout names there may be extended."""
    return tuple(int(ir.IntegerAttr(d).value) for d in ir.ArrayAttr(attrs[OPEN])) if OPEN in attrs else ()


def priorities(attrs: ir.DictAttr | ir.OpAttributeMap) -> tuple[int, ...]:
    """Priority of each dimension of a layout that the user gave, 0 first; empty if all are 0."""
    return tuple(int(ir.IntegerAttr(d).value) for d in ir.ArrayAttr(attrs[PRIORITIES])) if PRIORITIES in attrs else ()


def signature_priorities(func: ir.Operation, where: str, i: int) -> tuple[int, ...]:
    """Priorities of argument (`where` is arg_attrs) or result (res_attrs) `i` of a function."""
    attrs = func.operation.attributes
    return priorities(ir.DictAttr(attrs[where][i])) if where in attrs else ()


def signature_open_dims(func: ir.Operation, where: str, i: int) -> tuple[int, ...]:
    """Open dimensions of argument (`where` is arg_attrs) or result (res_attrs) `i` of a function."""
    attrs = func.operation.attributes
    return open_dims(ir.DictAttr(attrs[where][i])) if where in attrs else ()


# -- meshes ----------------------------------------------------------------------------------------


def meshes_of(module: ir.Module | ir.Operation) -> dict[str, Mesh]:
    """All meshes of a module by symbol."""
    found = {}
    for op in body(module).operations:
        op = op.operation
        if op.name == "dist.mesh":
            value = ProcessMeshAttr(op.attributes["value"])
            found[ir.StringAttr(op.attributes["sym_name"]).value] = read_mesh(value)
    return found


def mesh_of(module: ir.Module | ir.Operation) -> Mesh | None:
    """The mesh of a module, None if it declares none.

    Raises:
      PcgError: it declares several.
    """
    found = meshes_of(module)
    if len(found) > 1:
        names = ", ".join("@" + n for n in found)
        raise PcgError(
            f"the module declares the meshes {names}; allowed here: one.  Split it into stages of one mesh "
            "with --split-meshes", module.operation.location,
        )
    return next(iter(found.values()), None)


def mesh_to_attr(mesh: Mesh) -> ir.Attribute:
    """The `#dist.process_mesh` of a mesh; needs a current context."""
    names = ", ".join(f'"{n}"' for n in mesh.names)
    sizes = ", ".join(map(str, mesh.sizes))
    devices = ", ".join(map(str, mesh.device_ids or ()))
    return ir.Attribute.parse(f"#dist.process_mesh<[{names}], [{sizes}], [{devices}]>")


def erase_meshes(module: ir.Module | ir.Operation) -> None:
    """Take all declarations of meshes out of the module."""
    for op in [op.operation for op in body(module).operations]:
        if op.name == "dist.mesh":
            op.erase()


def set_mesh(module: ir.Module | ir.Operation, mesh: Mesh, name: str = MESH) -> None:
    """Declare (or redefine) mesh `name` at the top of the module, after other meshes."""
    block, context = body(module), module.operation.context
    with context, ir.Location.unknown():
        value = mesh_to_attr(mesh)
        point = ir.InsertionPoint.at_block_begin(block)
        for op in block.operations:
            op = op.operation
            if op.name != "dist.mesh":
                continue
            if ir.StringAttr(op.attributes["sym_name"]).value == name:
                op.attributes["value"] = value
                return
            point = ir.InsertionPoint.after(op)
        ir.Operation.create("dist.mesh", attributes={"sym_name": ir.StringAttr.get(name), "value": value}, ip=point)
