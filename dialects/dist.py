"""`dist`: process meshes, how tensors are laid out on them, and the collectives that move them.

A layout is an attribute, never a type: an annotated program computes what it computed before.
`dist.spec` annotates function arguments and results, `dist.specs` the results of an op (`unit` for
a result whose layout is unknown), `dist.operand_specs` what an op needs of its operands.  Only
`pcg.ir.shardings` reads and writes them.  Numbered constraints: docs/reference/semantics.md.
"""

from functools import partial
from typing import Any

from torch_mlir import ir
from torch_mlir.dialects import ext

from pcg.dialects import checks
from pcg.layout.mesh import Mesh, MeshError


class Dist(ext.Dialect, name="dist"):
    """Process meshes, shard specs and collectives."""


class ProcessMeshAttr(Dist.Attribute, name="process_mesh"):
    """Named axes with sizes, major to minor, over logical devices.

    `#dist.process_mesh<["data", "model"], [2, 4], []>`.  The last list maps the position in the mesh
    (row-major) to a logical device; empty means 0, 1, 2, ...
    """

    names: ir.ArrayAttr
    sizes: ir.ArrayAttr
    device_ids: ir.ArrayAttr


class ShardSpecAttr(Dist.Attribute, name="shard_spec"):
    """The layout of one tensor: axes that split each dimension, and axes over which it is partial.

    `#dist.shard_spec<@mesh, [["data"], []], {model = "sum"}>`: dimension 0 is split over `data`;
    devices along `model` hold partial sums of the value.  An axis named nowhere replicates.  Axes of one
    dimension are listed major to minor.  Reductions: sum, max, min, prod, and, or.
    """

    mesh: ir.FlatSymbolRefAttr
    dims: ir.ArrayAttr
    partial: ir.DictAttr


class MeshOp(Dist.Operation, name="mesh"):
    """Declares a process mesh under a symbol.

    `"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()`
    """

    sym_name: ir.StringAttr
    value: ProcessMeshAttr

    @staticmethod
    def verify_invariants(op) -> bool:
        value = checks.entry(op.attributes, "value")
        if not isinstance(value, ProcessMeshAttr):
            return True
        try:  # D1, D2, D3
            read_mesh(value)
        except MeshError as error:
            return checks.fail(op, str(error))
        return True


def read_mesh(attr: ProcessMeshAttr) -> Mesh:
    """The mesh an attribute denotes.

    Raises:
      MeshError: names are not strings, counts differ, or the mesh itself is ill formed.
    """
    names = checks.strings(attr.names.maybe_downcast())
    try:
        sizes, devices = (list(a.maybe_downcast()) for a in (attr.sizes, attr.device_ids))
    except TypeError:  # locations, which the bindings do not give
        raise MeshError(f"sizes {attr.sizes} and device ids {attr.device_ids} are not integers") from None
    if names is None:
        raise MeshError(f'axis names {attr.names} are not strings; write e.g. ["data", "model"]')
    for what, items in (("sizes", sizes), ("device ids", devices)):
        if not all(isinstance(i, ir.IntegerAttr) for i in items):
            raise MeshError(f"{what} {[str(i) for i in items]} are not integers")
    if len(names) != len(sizes):
        raise MeshError(f"mesh has {len(names)} axis names but {len(sizes)} sizes; one size per axis is needed")
    axes = zip(names, (s.value for s in sizes), strict=True)
    return Mesh.of(axes, [d.value for d in devices] or None)


class ConstraintOp(Dist.Operation, name="constraint", traits=[ext.Pure]):
    """The user's demand that a value has layout `spec` here; the identity on the value."""

    input: ext.Operand[Any]
    spec: ShardSpecAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(checks.tensor_operand, checks.spec_fits)


class ReshardOp(Dist.Operation, name="reshard", traits=[ext.Pure]):
    """Redistributes a value to layout `spec`, by the cheapest collectives."""

    input: ext.Operand[Any]
    spec: ShardSpecAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(checks.tensor_operand, checks.spec_fits)


class AllReduceOp(Dist.Operation, name="all_reduce", traits=[ext.Pure]):
    """Partial over `axes` by `kind` -> replicated."""

    input: ext.Operand[Any]
    axes: ir.ArrayAttr
    kind: ir.StringAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(checks.tensor_operand, checks.axes_distinct, checks.kind_known)


class AllGatherOp(Dist.Operation, name="all_gather", traits=[ext.Pure]):
    """`axes`, the minor-most axes of `dim`, stop splitting it: every device gets all their shards."""

    input: ext.Operand[Any]
    dim: ir.IntegerAttr
    axes: ir.ArrayAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(checks.tensor_operand, checks.dim_in_range, checks.axes_distinct)


class ReduceScatterOp(Dist.Operation, name="reduce_scatter", traits=[ext.Pure]):
    """Partial over `axes` by `kind` -> split over `axes` along `dim` (as its minor-most axes)."""

    input: ext.Operand[Any]
    dim: ir.IntegerAttr
    axes: ir.ArrayAttr
    kind: ir.StringAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(
        checks.tensor_operand, checks.dim_in_range, checks.axes_distinct, checks.kind_known
    )


def _dims_differ(op: ir.Operation) -> bool:
    """D9: an all-to-all is along two dimensions."""
    split, concat = (checks.attribute(op, name, ir.IntegerAttr) for name in ("split_dim", "concat_dim"))
    if split is not None and concat is not None and split.value == concat.value:
        return checks.fail(op, f"split_dim and concat_dim are both {split.value}; they must differ")
    return True


class AllToAllOp(Dist.Operation, name="all_to_all", traits=[ext.Pure]):
    """`axes`, the minor-most axes of `concat_dim`, become the minor-most axes of `split_dim`."""

    input: ext.Operand[Any]
    split_dim: ir.IntegerAttr
    concat_dim: ir.IntegerAttr
    axes: ir.ArrayAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(
        checks.tensor_operand, partial(checks.dim_in_range, name="split_dim"),
        partial(checks.dim_in_range, name="concat_dim"), checks.axes_distinct, _dims_differ,
    )  # fmt: skip


class PermuteOp(Dist.Operation, name="permute", traits=[ext.Pure]):
    """Devices exchange whole shards: operand and result spec split the same dimensions as finely, over other axes."""

    input: ext.Operand[Any]
    result: ext.Result[Any]
    verify_invariants = checks.verifier(checks.tensor_operand)


class RegroupOp(Dist.Operation, name="regroup", traits=[ext.Pure]):
    """One all-to-all over several axes: axes leave as the minor-most of their dimensions and come to others as such."""

    input: ext.Operand[Any]
    result: ext.Result[Any]
    verify_invariants = checks.verifier(checks.tensor_operand)


class MaskOp(Dist.Operation, name="mask", traits=[ext.Pure]):
    """Replicated along `axes` -> partial by `kind`, without communication: one device keeps the value."""

    input: ext.Operand[Any]
    axes: ir.ArrayAttr
    kind: ir.StringAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(checks.tensor_operand, checks.axes_distinct, checks.kind_known)


class SliceOp(Dist.Operation, name="slice", traits=[ext.Pure]):
    """Replicated over `axes` -> split over them along `dim`, without communication: each device keeps its part."""

    input: ext.Operand[Any]
    dim: ir.IntegerAttr
    axes: ir.ArrayAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(checks.tensor_operand, checks.dim_in_range, checks.axes_distinct)


def _piece(op: ir.Operation, values: list[ir.Value]) -> bool:
    """D10, D11: who and which message; `start` and `limit` bound a box of the type of the value."""
    for name in ("peer", "tag"):
        number = checks.attribute(op, name, ir.IntegerAttr)
        if number is not None and number.value < 0:
            return checks.fail(op, f"{name} {number.value} is negative; allowed: 0, 1, 2, ...")
    if len(values) != 1:
        return True
    type_ = values[0].type
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        return checks.fail(op, f"moves a {type_}; allowed: ranked tensors of static shape")
    boxes = [checks.attribute(op, name, ir.DenseI64ArrayAttr) for name in ("start", "limit")]
    if any(b is None for b in boxes):
        return checks.fail(op, "has no box; start and limit (array<i64: ...>) are needed")
    start, limit = (list(b) for b in boxes if b is not None)
    if len(start) != len(limit) or [b - a for a, b in zip(start, limit, strict=True)] != list(type_.shape):
        return checks.fail(op, f"box from {start} to {limit} does not have the shape of {type_}")
    return True


class SendOp(Dist.Operation, name="send"):
    """Sends a piece of a tensor to process `peer`, which receives it by the `dist.recv` of the same `tag`.

    `"dist.send"(%x) {peer = 2, tag = 0, start = array<i64: 0, 4>, limit = array<i64: 8, 8>}
    : (tensor<8x4xf32>) -> ()`

    `start` and `limit` bound the piece in the global tensor.  The op may wait until the piece is received.
    """

    input: ext.Operand[Any]
    peer: ir.IntegerAttr
    tag: ir.IntegerAttr

    @staticmethod
    def verify_invariants(op) -> bool:
        return _piece(op, list(op.operands))


class RecvOp(Dist.Operation, name="recv"):
    """Receives the piece of a tensor that process `peer` sends by the `dist.send` of the same `tag`.

    `"dist.recv"() {peer = 0, tag = 0, start = array<i64: 0, 4>, limit = array<i64: 8, 8>}
    : () -> tensor<8x4xf32>`
    """

    peer: ir.IntegerAttr
    tag: ir.IntegerAttr
    result: ext.Result[Any]

    @staticmethod
    def verify_invariants(op) -> bool:
        return _piece(op, list(op.results))
