"""A program with its floats in double precision: the same text, computed with rounding that no longer matters.

Every value of a floating-point type becomes f64 (complex ones complex<f64>), in bodies of loops and reductions too, so
that a conversion which rounded (f32 -> bf16) now changes nothing.  Ops whose meaning is that of the bits of their type
stay as they are, between conversions: constants (a narrow constant is the number it was rounded to), bit casts (a
uniform random number made from bits is the same number), random numbers, and calls of foreign code.  Of the latter
those of LAPACK and BLAS are called by their name in double precision.  Floats that collectives reduce as integers of
the same order (`pcg.lower.ordered`) are integers of 64 bits then.

Works on programs for one device and on lowered ones for one device of many: collectives only move wider numbers.
"""

from __future__ import annotations

import re

from torch_mlir import ir

from pcg.ir.check_lowered import GLOBAL_TYPE
from pcg.ir.emit import create
from pcg.ir.errors import PcgError
from pcg.ir.walk import defining_op, functions, walk
from pcg.lower.ordered import ordered, unordered
from pcg.rules import traits
from pcg.rules.custom_call import target
from pcg.rules.traits import Trait

#: Ops that mean the bits of their operands or results.
_BITS = frozenset({
    "stablehlo.constant", "chlo.constant", "chlo.constant_like", "stablehlo.bitcast_convert", "stablehlo.rng",
    "stablehlo.custom_call",
})  # fmt: skip
#: Collectives that reduce.
_REDUCING = frozenset({"stablehlo.all_reduce", "stablehlo.reduce_scatter"})
#: LAPACK and BLAS routines of jaxlib in single precision: `lapack_spotrf_ffi`, `blas_ctrsm`.
_SINGLE = re.compile(r"^(lapack|blas)_([sc])(?=[a-z]+(_ffi)?$)")


def is_float(type_: ir.Type) -> bool:
    """Whether a tensor has real or complex floating-point elements."""
    return isinstance(type_, ir.RankedTensorType) and str(type_.element_type).startswith(("f", "bf", "complex<"))


def wide_type(type_: ir.Type) -> ir.Type:
    """The type of a value in the widened program: f64 for floats, the same for everything else."""
    if not is_float(type_):
        return type_
    element: ir.Type = ir.F64Type.get()
    if isinstance(type_.element_type, ir.ComplexType):
        element = ir.ComplexType.get(element)
    return ir.RankedTensorType.get(type_.shape, element, type_.encoding)


def wide_element(element: str) -> str:
    """`wide_type` on the name of an element type."""
    if element.startswith("complex<"):
        return "complex<f64>"
    return "f64" if element.startswith(("f", "bf")) else element


def is_wide(module: ir.Module | ir.Operation) -> bool:
    """Whether widening would change nothing: no value of the program is a float narrower than f64."""
    floats = (v.type for op in walk(module.operation) for v in _values(op) if is_float(v.type))
    return all("f64" in str(t.element_type) for t in floats)


def _values(op: ir.Operation) -> list[ir.Value]:
    """The results of an op, and the arguments of the blocks in it."""
    return [*op.results, *(a for r in op.regions for b in r.blocks for a in b.arguments)]


def stays_narrow(op: ir.Operation) -> bool:
    """Whether an op keeps its types."""
    return op.name in _BITS and not (op.name == "stablehlo.custom_call" and _SINGLE.match(target(op)))


def widen(module: ir.Module | ir.Operation) -> None:
    """Widen every float of `module`, in place; signatures change too.

    Raises:
      PcgError: a value of a quantized type, or the widened program is not valid; at the op's location.
    """
    root = module.operation
    with root.context, ir.Location.unknown():
        for op in [o for o in walk(root) if o.name in _REDUCING]:
            _widen_order(op)
        ops = list(walk(root))
        narrow = [(op, [v.type for v in op.operands]) for op in ops if stays_narrow(op)]
        for op in ops:
            if not stays_narrow(op):
                _retype(op)
        for op, takes in narrow:
            _between_conversions(op, takes)
        for func in functions(root):
            _widen_signature(func.attributes, "function_type")
        if GLOBAL_TYPE in root.attributes:
            _widen_signature(root.attributes, GLOBAL_TYPE)
        try:
            root.verify()
        except ir.MLIRError as error:
            said = next((d.message for d in getattr(error, "error_diagnostics", ())), str(error))
            raise PcgError(f"cannot be computed in double precision: {said}") from None


def _widen_signature(attributes: ir.OpAttributeMap, name: str) -> None:
    kind = attributes[name].value
    wide = ir.FunctionType.get([wide_type(t) for t in kind.inputs], [wide_type(t) for t in kind.results])
    attributes[name] = ir.TypeAttr.get(wide)


def _retype(op: ir.Operation) -> None:
    for value in _values(op):
        if "quant." in str(value.type):
            raise PcgError(f"'{op.name}' op has quantized values, which have no wider type", op.location)
        if (wide := wide_type(value.type)) != value.type:
            value.set_type(wide)
    if traits.has(op.name, Trait.MATMUL) and "algorithm" in op.attributes:
        del op.attributes["algorithm"]  # it fixes the arithmetic
    if op.name == "stablehlo.custom_call":
        op.attributes["call_target_name"] = ir.StringAttr.get(
            _SINGLE.sub(lambda m: f"{m[1]}_{'d' if m[2] == 's' else 'z'}", target(op))
        )


def _between_conversions(op: ir.Operation, takes: list[ir.Type]) -> None:
    """Narrow the widened operands of `op` to what it takes, and widen its results."""
    for i, wanted in enumerate(takes):
        value = op.operands[i]
        if value.type != wanted:
            with ir.InsertionPoint(op), op.location:
                op.operands[i] = _convert(value, wanted)
    for result in op.results:
        if (wide := wide_type(result.type)) != result.type:
            with ir.InsertionPoint.after(op), op.location:
                new = _convert(result, wide)
            result.replace_all_uses_except(new, new.owner.operation)


def _widen_order(op: ir.Operation) -> None:
    """Make a collective maximum of floats as integers one of integers of 64 bits; any other is left as it is.

    bits = bitcast(x); r = reduce(select(isnan, beyond, flipped(bits))); y = bitcast(flipped(r))
    """
    if len(op.operands) != 1:
        return
    select = _defining(op.operands[0], "stablehlo.select")
    flipped = _defining(select.operands[2], "stablehlo.xor") if select is not None else None
    bits = _defining(flipped.operands[0], "stablehlo.bitcast_convert") if flipped is not None else None
    readers = [use.owner.operation for use in op.results[0].uses]
    backs = [r for r in readers if r.name == "stablehlo.xor"]
    floats = [use.owner.operation for r in backs for use in r.results[0].uses]
    if bits is None or len(backs) != 1 or any(f.name != "stablehlo.bitcast_convert" for f in floats):
        return
    x = bits.operands[0]
    body = op.regions[0].blocks[0]
    reducer = body.operations[0].operation.name
    kind = {"stablehlo.maximum": "max", "stablehlo.minimum": "min"}.get(reducer)
    types = {f.results[0].type.element_type for f in floats}
    if kind is None or not is_float(x.type) or types - {x.type.element_type}:
        return
    with ir.InsertionPoint(op), op.location:
        wide = ordered(_convert(x, wide_type(x.type)), kind)
        i64 = wide.type.element_type
        result = ir.RankedTensorType.get(op.results[0].type.shape, i64)
        attributes = {a: op.attributes[a] for a in op.attributes}
        new = ir.Operation.create(op.name, results=[result], operands=[wide], regions=1, attributes=attributes)
        scalar = ir.RankedTensorType.get([], i64)
        block = new.regions[0].blocks.append(scalar, scalar)
        with ir.InsertionPoint(block):
            made = create(reducer, list(block.arguments), scalar)
            ir.Operation.create("stablehlo.return", operands=[made])
        y = unordered(new.result, ir.F64Type.get())
        for f in floats:
            f.results[0].replace_all_uses_with(_convert(y, f.results[0].type))
    # A collective that nothing reads would still be one.
    unread = [*floats, *backs]
    while unread:
        dead = unread.pop(0)
        if not any(True for r in dead.results for _ in r.uses):
            behind = dict.fromkeys(o for v in dead.operands if (o := defining_op(v)) is not None)
            dead.erase()
            unread += [o for o in behind if o not in unread]


def _defining(value: ir.Value, name: str) -> ir.Operation | None:
    """The op that yields `value`, if it is one of this name."""
    op = defining_op(value)
    return op if op is not None and op.name == name else None


def _convert(value: ir.Value, type_: ir.Type) -> ir.Value:
    return value if value.type == type_ else create("stablehlo.convert", [value], type_)
