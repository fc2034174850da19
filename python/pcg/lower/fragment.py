"""What a group of devices runs of a pipeline's stage, as a program by itself.

Arrays outside know no partial sums: one over an axis has a dimension of the axis' size in front, split over it, that
holds the terms.  What is added up over microbatches is an argument, the sum so far, and a result, the new one.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.emit import binary, broadcast, create_op, reshape, tensor
from pcg.layout import Mesh, ShardSpec
from pcg.lower.neutral import neutral

_COMBINE = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


def outside_spec(spec: ShardSpec) -> ShardSpec:
    """The layout of the array outside that has a value of a layout, which may be partial."""
    return ShardSpec.of([*((axis,) for axis, _ in spec.partial), *spec.dims])


def outside_shape(shape: Sequence[int], spec: ShardSpec, mesh: Mesh) -> tuple[int, ...]:
    """The shape of that array."""
    return (*(mesh.axis_size(axis) for axis, _ in spec.partial), *shape)


def close_fragment(
    func: ir.Operation, in_specs: Sequence[ShardSpec], out_specs: Sequence[ShardSpec], kept: Sequence[bool],
    sums: Sequence[tuple[int, str]],
) -> None:  # fmt: skip
    """Make the function of a device take what the fragment reads, then the sums; and return results, then sums.

    Args:
      kept: of each result, whether it is returned by itself.
      sums: (number of a result, kind of reduction).
    """
    block = func.regions[0].blocks[0]
    with func.context, func.location:
        first = block.operations[0]
        for argument, spec in zip(list(block.arguments), in_specs, strict=True):
            if spec.partial:
                inner = argument.type
                argument.set_type(tensor((*(1 for _ in spec.partial), *inner.shape), inner.element_type))
                with ir.InsertionPoint(first):
                    value = reshape(argument, inner.shape)
                argument.replace_all_uses_except(value, value.owner.operation)
        last = list(block.operations)[-1].operation
        with ir.InsertionPoint(last):
            out = [
                reshape(v, (*(1 for _ in s.partial), *v.type.shape)) if s.partial else v
                for v, s in zip(last.operands, out_specs, strict=True)
            ]
            before = [block.add_argument(out[i].type, func.location) for i, _ in sums]
            new = [binary(_COMBINE[kind], b, out[i]) for b, (i, kind) in zip(before, sums, strict=True)]
            results = [v for v, keep in zip(out, kept, strict=True) if keep] + new
            create_op("func.return", results, [])
        last.erase()
        kind = ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in results])
        func.attributes["function_type"] = ir.TypeAttr.get(kind)
        for name in ("arg_attrs", "res_attrs"):
            if name in func.attributes:
                del func.attributes[name]


def start_module(types: Sequence[ir.RankedTensorType], kinds: Sequence[str]) -> ir.Module:
    """A module whose @main returns what sums of these types begin with; needs a current context and location."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        kind = ir.TypeAttr.get(ir.FunctionType.get([], list(types)))
        func = create_op("func.func", [], [], 1, sym_name=ir.StringAttr.get("main"), function_type=kind)
    with ir.InsertionPoint(func.regions[0].blocks.append()):
        found = [broadcast(neutral(t.element_type, k), t) for t, k in zip(types, kinds, strict=True)]
        create_op("func.return", found, [])
    return module
