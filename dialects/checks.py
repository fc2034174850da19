"""Checks that the verifiers of `dist` and `pcg` share.

Verifiers run *before* the declared shape of an op (attribute kinds, operand counts) is checked, so
each check returns True when what it looks at is missing or of the wrong kind: that is then reported
by the declaration itself.  The numbers (D1, P1, ...) are those of docs/reference/semantics.md.
"""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from pcg.layout.spec import REDUCTIONS


def verifier(*checks: Callable[[ir.Operation], bool]) -> Callable[[ir.Operation], bool]:
    """All of these checks, in order, until one fails."""
    return lambda op: all(check(op) for check in checks)


def fail(op: ir.Operation, message: str) -> bool:
    """Emit an error at the op, in MLIR's wording; returns False."""
    op.location.emit_error(f"'{op.name}' op {message}")
    return False


def attribute(op: ir.Operation, name: str, kind: type) -> ir.Attribute | None:
    """Attribute `name` if present and of `kind`."""
    found = entry(op.attributes, name)
    return found if isinstance(found, kind) else None


def entry(attributes: ir.OpAttributeMap | ir.DictAttr, name: str) -> ir.Attribute | None:
    """What is there under `name`; None too where it is a location, which the bindings cannot give (TypeError)."""
    try:
        return attributes[name] if name in attributes else None
    except TypeError:
        return None


def item(array: ir.ArrayAttr, i: int) -> ir.Attribute | None:
    """Entry `i`; None where it is a location, see `entry`."""
    try:
        return array[i]
    except TypeError:
        return None


def strings(attr: ir.Attribute | None) -> list[str] | None:
    """The strings of an array of strings; None if it is something else."""
    if not isinstance(attr, ir.ArrayAttr):
        return None
    try:
        items = list(attr)
    except TypeError:  # a location, see `entry`
        return None
    return [s.value for s in items] if all(isinstance(s, ir.StringAttr) for s in items) else None


def tensor_operand(op: ir.Operation) -> bool:
    """P1: one operand and one result, of the same ranked tensor type with static shape."""
    if len(op.operands) != 1 or len(op.results) != 1:
        return True
    have, want = op.operands[0].type, op.results[0].type
    if not isinstance(have, ir.RankedTensorType) or not have.has_static_shape:
        return fail(op, f"moves a {have}; allowed: ranked tensors of static shape")
    if have != want:
        return fail(op, f"result type {want} differs from operand type {have}; the op is the identity on the value")
    return True


def static_tensors(op: ir.Operation) -> bool:
    """P1 for microbatches, whose size along one dimension differs: ranked tensors of static shape, and of one rank."""
    types = [v.type for v in (*op.operands, *op.results)]
    for type_ in types:
        if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
            return fail(op, f"moves a {type_}; allowed: ranked tensors of static shape")
    if len({type_.rank for type_ in types}) > 1:
        return fail(op, f"operand {types[0]} and result {types[-1]} differ in rank; allowed: one rank")
    return True


def dim_in_range(op: ir.Operation, name: str = "dim") -> bool:
    """P2: `name` is a dimension of the operand."""
    dim = attribute(op, name, ir.IntegerAttr)
    if dim is None or len(op.operands) != 1 or not isinstance(op.operands[0].type, ir.RankedTensorType):
        return True
    rank = op.operands[0].type.rank
    if not 0 <= dim.value < rank:
        allowed = f"0 to {rank - 1}" if rank else "none, the tensor has rank 0"
        return fail(op, f"{name} {dim.value} is out of range; allowed: {allowed}")
    return True


def axes_distinct(op: ir.Operation) -> bool:
    """P3: `axes` is a non-empty list of distinct axis names."""
    attr = attribute(op, "axes", ir.ArrayAttr)
    if attr is None:
        return True
    axes = strings(attr)
    if axes is None:
        return fail(op, f'axes {attr} are not axis names; write strings, e.g. ["data"]')
    if not axes:
        return fail(op, "has no axes; at least one is needed")
    for i, axis in enumerate(axes):
        if axis in axes[:i]:
            return fail(op, f'axes name "{axis}" twice; each axis may be used once')
    return True


def kind_known(op: ir.Operation) -> bool:
    """P4: `kind` is a reduction."""
    kind = attribute(op, "kind", ir.StringAttr)
    if kind is not None and kind.value not in REDUCTIONS:
        return fail(op, f'reduction kind "{kind.value}" is unknown; allowed: {", ".join(REDUCTIONS)}')
    return True


def microbatches_positive(op: ir.Operation) -> bool:
    """P5: `microbatches` is at least 1."""
    count = attribute(op, "microbatches", ir.IntegerAttr)
    if count is not None and count.value < 1:
        return fail(op, f"microbatches {count.value} is not positive; at least 1 is needed")
    return True


def spec_error(spec: ir.Attribute, rank: int | None) -> str:
    """D4-D6: why a `#dist.shard_spec` is ill formed by itself (the mesh is not looked up); empty if it is not."""
    dims, partial = spec.dims.maybe_downcast(), spec.partial.maybe_downcast()
    seen: set[str] = set()
    for d in range(len(dims)):
        dim = item(dims, d)
        axes = strings(dim)
        if axes is None:
            return f'dimension {d} of {spec} is {dim}; allowed: a list of axis names, e.g. ["data"] or []'
        for axis in axes:
            if axis in seen:
                return f'axis "{axis}" is used twice in {spec}; each axis may be used once'
            seen.add(axis)
    for axis in (named if isinstance(named, str) else named.name for named in partial):
        kind = entry(partial, axis)
        if axis in seen:
            return f'axis "{axis}" is used twice in {spec}; each axis may be used once'
        if not isinstance(kind, ir.StringAttr) or kind.value not in REDUCTIONS:
            return f'axis "{axis}" is partial by {kind} in {spec}; allowed: {", ".join(REDUCTIONS)}'
    if rank is not None and len(dims) != rank:
        return f"{spec} has {len(dims)} dimensions, the tensor has {rank}"
    return ""


def spec_fits(op: ir.Operation) -> bool:
    """D7: the op's `spec` is well formed and has the tensor's rank."""
    spec = entry(op.attributes, "spec")
    if spec is None or len(op.operands) != 1:
        return True
    type_ = op.operands[0].type
    if not hasattr(spec, "partial") or not isinstance(type_, ir.RankedTensorType):
        return True
    if why := spec_error(spec, type_.rank):
        return fail(op, f"spec: {why}")
    return True
