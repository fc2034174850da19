"""What a lowered module says about itself, checked before emulation or simulation reads it.

A program per device has its mesh and the layouts of its signature as text; programs per process say which boxes of the
whole they take and give.  See docs/reference/semantics.md and the passes `pcg-lower-spmd` and `pcg-lower-processes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.walk import body, entry, walk
from pcg.layout import Mesh, MeshError, ShardSpec, SpecError

#: On a lowered module whose shards have padding: the type of the function before lowering.
GLOBAL_TYPE = "pcg.global_type"
_SIDES = (("pcg.in_specs", "argument"), ("pcg.out_specs", "result"))
_TABLES = ("replica_groups", "source_target_pairs")


def check_lowered(module: ir.Operation) -> None:
    """Raises PcgError for the first thing that is not what lowering writes."""
    attrs = module.attributes
    if "pcg.mesh" in attrs or any(name in attrs for name, _ in _SIDES):
        _device_program(module)
    if "pcg.processes" in attrs:
        _process_programs(module)


def _refuse(op: ir.Operation, name: str, have: Any, allowed: str) -> PcgError:
    text = " ".join(str(have).split())
    return PcgError(f"{name} is {text if len(text) < 160 else text[:150] + '...'}; allowed: {allowed}", op.location)


def _numbers(attr: ir.Attribute) -> list[int] | None:
    return list(attr) if isinstance(attr, ir.DenseI64ArrayAttr) else None


def _function_type(op: ir.Operation, name: str) -> ir.FunctionType:
    attr = op.attributes[name]
    if not isinstance(attr, ir.TypeAttr) or not isinstance(attr.value, ir.FunctionType):
        raise _refuse(op, name, attr, "the type of a function")
    for type_ in (*attr.value.inputs, *attr.value.results):
        if isinstance(type_, ir.ShapedType) and not (type_.has_rank and type_.has_static_shape):
            raise _refuse(op, name, attr, "static shapes")
    return ir.FunctionType(attr.value)


# -- per device ----------------------------------------------------------------------------------


def _device_program(module: ir.Operation) -> None:
    attrs, func = module.attributes, entry(module)
    mesh = None
    if "pcg.mesh" in attrs:
        try:
            if not isinstance(attrs["pcg.mesh"], ir.StringAttr):
                raise MeshError("text is needed")
            mesh = Mesh.parse(attrs["pcg.mesh"].value)
        except MeshError as error:
            raise _refuse(module, "pcg.mesh", attrs["pcg.mesh"], f'a mesh, as "x=2,y=4" ({error})') from None
    if "pcg.device_ids" in attrs:
        ids = _numbers(attrs["pcg.device_ids"])
        if ids is None or mesh is None or len(ids) != mesh.size or len(set(ids)) != len(ids) or min(ids) < 0:
            raise _refuse(module, "pcg.device_ids", attrs["pcg.device_ids"], "one number per device, none twice")
    if func is None or mesh is None:
        return
    local = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
    global_type = _function_type(module, GLOBAL_TYPE) if GLOBAL_TYPE in attrs else None
    totals = (global_type.inputs, global_type.results) if global_type else (None, None)
    for (name, what), have, total in zip(_SIDES, (local.inputs, local.results), totals, strict=True):
        if name in attrs:
            _layouts(module, name, what, mesh, list(have), None if total is None else list(total))
    _positions(func, lambda op: range(mesh.size))


def _layouts(
    module: ir.Operation, name: str, what: str, mesh: Mesh, local: Sequence[ir.Type], total: Sequence[ir.Type] | None
) -> None:
    attr = module.attributes[name]
    texts = [a.value for a in attr if isinstance(a, ir.StringAttr)] if isinstance(attr, ir.ArrayAttr) else []
    if not isinstance(attr, ir.ArrayAttr) or len(texts) != len(attr) or len(texts) != len(local):
        raise _refuse(module, name, attr, f"a list of {len(local)} layouts as text, one per {what}")
    if total is not None and len(total) != len(local):
        raise PcgError(f"pcg.global_type has {len(total)} {what}s; the function has {len(local)}", module.location)
    for i, (text, type_) in enumerate(zip(texts, local, strict=True)):
        try:
            spec = ShardSpec.parse(text)
            spec.check(mesh, type_.shape if isinstance(type_, ir.RankedTensorType) else ())
            if spec.partial:
                raise SpecError(f"{what}s are not partial")
        except SpecError as error:
            raise PcgError(f"{name} {i}: {error}", module.location) from None
        if total is None or not isinstance(type_, ir.RankedTensorType):
            continue
        full = total[i]
        same = isinstance(full, ir.RankedTensorType) and full.element_type == type_.element_type
        if not same or full.rank != type_.rank or spec.local_shape(full.shape, mesh) != tuple(type_.shape):
            text = f"pcg.global_type has a {full} for {what} {i}, laid out by {spec}; the function has a {type_}"
            raise PcgError(text, module.location)


def _positions(func: ir.Operation, known: Any) -> None:
    """Collectives name positions of devices that there are; `known` says which those of an op are."""
    for op in walk(func):
        for name in _TABLES:
            if name in op.attributes and isinstance(op.attributes[name], ir.DenseIntElementsAttr):
                found = np.array(op.attributes[name])
                if found.size and not set(found.flat) <= {-1, *known(op)}:
                    raise _refuse(op, f"{name} of '{op.name}'", found.tolist(), f"devices 0 to {len(known(op)) - 1}")


# -- per process ---------------------------------------------------------------------------------


def _process_programs(module: ir.Operation) -> None:
    attr = module.attributes["pcg.processes"]
    numbers = [a.value for a in attr if isinstance(a, ir.IntegerAttr)] if isinstance(attr, ir.ArrayAttr) else [-1]
    if not isinstance(attr, ir.ArrayAttr) or len(numbers) != len(attr) or min(numbers, default=0) < 0:
        raise _refuse(module, "pcg.processes", attr, "a list of numbers")
    if "pcg.signature" not in module.attributes:
        raise PcgError("the module has pcg.processes but no pcg.signature", module.location)
    kind = _function_type(module, "pcg.signature")
    found = {
        ir.StringAttr(op.operation.attributes["sym_name"]).value: op.operation
        for op in body(module).operations
        if op.operation.name == "builtin.module" and "sym_name" in op.operation.attributes
    }
    for n in numbers:
        program = found.get(f"process_{n}")
        func = None if program is None else entry(program)
        if func is None or len(func.regions[0].blocks) != 1:
            raise PcgError(f"process {n} has no program: a module @process_{n} with one function", module.location)
        own = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
        for where, key, local, total in (
            ("arg_attrs", "pcg.argument", own.inputs, kind.inputs),
            ("res_attrs", "pcg.result", own.results, kind.results),
        ):  # fmt: skip
            every = list(func.attributes[where]) if where in func.attributes else []
            if len(every) != len(local):
                raise PcgError(f"process {n}: some of its {len(local)} values have no {key}", func.location)
            for said, type_ in zip(every, local, strict=True):
                _box(func, said, key, type_, list(total))
        _positions(func, _members)


def _box(func: ir.Operation, own: ir.DictAttr, key: str, type_: ir.Type, total: Sequence[ir.Type]) -> None:
    """Which box of which argument or result of the whole program a process has; what lies beyond is padding."""
    for name in (key, "pcg.start", "pcg.limit"):
        if name not in own:
            raise PcgError(f"an argument or result of a process has no {name}", func.location)
    number = own[key].value if isinstance(own[key], ir.IntegerAttr) else -1
    if not 0 <= number < len(total):
        raise _refuse(func, key, own[key], f"0 to {len(total) - 1}" if total else "nothing")
    full = total[number]
    start, limit = _numbers(own["pcg.start"]), _numbers(own["pcg.limit"])
    shaped = isinstance(type_, ir.RankedTensorType) and isinstance(full, ir.RankedTensorType)
    fits = shaped and start is not None and limit is not None and len(start) == len(limit) == type_.rank == full.rank
    if not fits or type_.element_type != full.element_type or any(
        not 0 <= a <= b <= n or b - a > m for a, b, n, m in zip(start, limit, full.shape, type_.shape, strict=True)  # type: ignore[arg-type]
    ):
        text = f"{own['pcg.start']} to {own['pcg.limit']}"
        raise _refuse(func, f"the box of {key} {number} ({full}), held as {type_},", text, "a box inside of both")


def _members(op: ir.Operation) -> Sequence[int]:
    attrs = op.attributes
    found = _numbers(attrs["pcg.members"]) if "pcg.members" in attrs else []
    if found is None or len(set(found)) != len(found):
        raise _refuse(op, f"pcg.members of '{op.name}'", attrs["pcg.members"], "array<i64: ...>, none twice")
    return range(len(found))
