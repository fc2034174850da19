"""`pcg`: the operators of a parallel computation graph, and its stages.

Each moving operator is the identity on the logical value; what it changes is the value's shard spec
(the operand's to the result's).  Numbered constraints: docs/reference/semantics.md.
"""

from collections.abc import Sequence
from typing import Any

from torch_mlir import ir
from torch_mlir.dialects import ext

from pcg.dialects import checks
from pcg.dialects.dist import ShardSpecAttr


class Pcg(ext.Dialect, name="pcg"):
    """Operators that redistribute tensors in space and time, stages, transfers between meshes, and messages."""


class PartitionOp(Pcg.Operation, name="partition", traits=[ext.Pure]):
    """Replicated over `axes` -> split over them along `dim`, as its minor-most axes.

    `"pcg.partition"(%x) {dim = 0, axes = ["data"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>`
    """

    input: ext.Operand[Any]
    dim: ir.IntegerAttr
    axes: ir.ArrayAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(checks.tensor_operand, checks.dim_in_range, checks.axes_distinct)


class CombineOp(Pcg.Operation, name="combine", traits=[ext.Pure]):
    """`axes`, the minor-most axes of `dim`, stop splitting it: the value becomes replicated over them.

    `"pcg.combine"(%x) {dim = 0, axes = ["data"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>`
    """

    input: ext.Operand[Any]
    dim: ir.IntegerAttr
    axes: ir.ArrayAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(checks.tensor_operand, checks.dim_in_range, checks.axes_distinct)


class ReplicateOp(Pcg.Operation, name="replicate", traits=[ext.Pure]):
    """The value is held by every index of `axes`; inside one mesh the spec stays the same.

    Its transpose (that of the gradient) is `pcg.reduce`.
    """

    input: ext.Operand[Any]
    axes: ir.ArrayAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(checks.tensor_operand, checks.axes_distinct)


class ReduceOp(Pcg.Operation, name="reduce", traits=[ext.Pure]):
    """Partial over `axes` by `kind` -> replicated.

    `"pcg.reduce"(%x) {axes = ["model"], kind = "sum"} : (tensor<8x4xf32>) -> tensor<8x4xf32>`
    """

    input: ext.Operand[Any]
    axes: ir.ArrayAttr
    kind: ir.StringAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(checks.tensor_operand, checks.axes_distinct, checks.kind_known)


class MaskOp(Pcg.Operation, name="mask", traits=[ext.Pure]):
    """Replicated -> partial over `axes` by `kind`: one device keeps the value, the others hold the neutral element.

    The inverse of `pcg.reduce`, without communication, so that a replicated value can be added to partial ones.

    `"pcg.mask"(%x) {axes = ["model"], kind = "sum"} : (tensor<8x4xf32>) -> tensor<8x4xf32>`
    """

    input: ext.Operand[Any]
    axes: ir.ArrayAttr
    kind: ir.StringAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(checks.tensor_operand, checks.axes_distinct, checks.kind_known)


def _number(op: ir.Operation, name: str) -> int | None:
    """An integer attribute, where the op has it and it is one (IRDL says what is wrong otherwise)."""
    found = checks.attribute(op, name, ir.IntegerAttr) if name in op.attributes else None
    return None if found is None else found.value


def _microbatches_divide(op: ir.Operation, all_: ir.Value, part: ir.Value) -> bool:
    """P6: blocks of `block` indices of dimension `dim` of `all_` go to microbatches in turn; one of them is `part`."""
    dim, count, block = (_number(op, name) for name in ("dim", "microbatches", "block"))
    if dim is None or count is None or block is None:
        return True
    if block < 1:
        return checks.fail(op, f"block {block} is not positive; at least 1 is needed")
    size = all_.type.get_dim_size(dim)
    if size % (count * block):
        blocks = "" if block == 1 else f" of blocks of {block}"
        return checks.fail(op, f"dim {dim} of size {size} is not divisible by {count} microbatches{blocks}")
    want = [n // count if d == dim else n for d, n in enumerate(all_.type.shape)]
    if list(part.type.shape) != want or part.type.element_type != all_.type.element_type:
        text = "x".join(map(str, [*want, all_.type.element_type]))
        return checks.fail(op, f"a microbatch of {all_.type} is {part.type}; allowed: tensor<{text}>")
    return True


def _pipeline_divides(op: ir.Operation) -> bool:
    return _microbatches_divide(op, op.operands[0], op.results[0])


class PipelineOp(Pcg.Operation, name="pipeline", traits=[ext.Pure]):
    """All -> one of `microbatches` parts of `dim`, which follow each other in time: a partition over a temporal axis.

    The part changes from microbatch to microbatch, and what is computed from it does so too: it runs once for each.
    Blocks of `block` indices go to the parts in turn: of 8 examples, microbatch 1 of 4 has examples 1 and 5.

    `"pcg.pipeline"(%x) {dim = 0, block = 1, microbatches = 4} : (tensor<8x4xf32>) -> tensor<2x4xf32>`
    """

    input: ext.Operand[Any]
    dim: ir.IntegerAttr
    block: ir.IntegerAttr
    microbatches: ir.IntegerAttr
    result: ext.Result[Any]
    verify_invariants = checks.verifier(
        checks.static_tensors, checks.dim_in_range, checks.microbatches_positive, _pipeline_divides
    )


class BatchOp(Pcg.Operation, name="batch", traits=[ext.Pure]):
    """Microbatches, one after another in time -> all: joined along `dim`, or accumulated by `kind`.

    Exactly one of the attributes `dim` (an i64, with `block`, as `pcg.pipeline` has them) and `kind` (a reduction) is
    present.

    `"pcg.batch"(%g) {kind = "sum", microbatches = 4} : (tensor<4x4xf32>) -> tensor<4x4xf32>`
    """

    input: ext.Operand[Any]
    microbatches: ir.IntegerAttr
    result: ext.Result[Any]

    @staticmethod
    def verify_invariants(op) -> bool:
        if not (checks.static_tensors(op) and checks.microbatches_positive(op)):
            return False
        dim, kind = (name in op.attributes for name in ("dim", "kind"))
        if dim == kind:  # P7
            have = "both dim and kind" if dim else "neither dim nor kind"
            return checks.fail(op, f"has {have}; exactly one is needed")
        for name, type_ in (("kind", ir.StringAttr),) if kind else (("dim", ir.IntegerAttr), ("block", ir.IntegerAttr)):
            if name not in op.attributes or checks.attribute(op, name, type_) is None:
                what = "a string" if name == "kind" else "an i64"
                return checks.fail(op, f"{name} is {checks.entry(op.attributes, name)}; allowed: {what}")
        if kind:
            return checks.tensor_operand(op) and checks.kind_known(op)
        return checks.dim_in_range(op) and _microbatches_divide(op, op.results[0], op.operands[0])


class TransferOp(Pcg.Operation, name="transfer", traits=[ext.Pure]):
    """Moves a value to another mesh, where its layout is the one in `dist.specs`.

    `"pcg.transfer"(%x) {mesh = @second, dist.specs = [#dist.shard_spec<@second, [["x"], []], {}>]}
    : (tensor<8x4xf32>) -> tensor<8x4xf32>`
    """

    input: ext.Operand[Any]
    mesh: ir.FlatSymbolRefAttr
    result: ext.Result[Any]

    @staticmethod
    def verify_invariants(op) -> bool:
        return checks.tensor_operand(op) and _specs_fit(op, "dist.specs", [r.type for r in op.results])


def _message(op: ir.Operation, values: Sequence[ir.Value | ir.TypeAttr]) -> bool:
    """P13, P14: which message it is, and the layout of its value where it is received."""
    tag, peer = checks.attribute(op, "tag", ir.IntegerAttr), checks.attribute(op, "peer", ir.StringAttr)
    if tag is not None and tag.value < 0:
        return checks.fail(op, f"tag {tag.value} is negative; allowed: 0, 1, 2, ...")
    if peer is not None and not peer.value:
        return checks.fail(op, "peer is empty; allowed: the name of an island")
    spec = checks.attribute(op, "spec", ShardSpecAttr)
    if spec is None or len(values) != 1:
        return True
    type_ = values[0].value if isinstance(values[0], ir.TypeAttr) else values[0].type
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        return checks.fail(op, f"moves a {type_}; allowed: ranked tensors of static shape")
    if why := checks.spec_error(spec, type_.rank):
        return checks.fail(op, f"spec: {why}")
    return True


class SendOp(Pcg.Operation, name="send"):
    """Gives a value to another island, which takes it by the `pcg.receive` of the same `tag`; does not wait for that.

    `"pcg.send"(%x) {tag = 0, peer = "podB", spec = #dist.shard_spec<@right, [["data"], []], {}>}
    : (tensor<8x4xf32>) -> ()`

    It is one op for all shards.  `spec` is the layout that the value has on the island `peer`, on a mesh there.
    """

    input: ext.Operand[Any]
    tag: ir.IntegerAttr
    peer: ir.StringAttr
    spec: ShardSpecAttr

    @staticmethod
    def verify_invariants(op) -> bool:
        return _message(op, op.operands)


class ReceiveOp(Pcg.Operation, name="receive"):
    """Takes the value that island `peer` gives by the `pcg.send` of the same `tag`, in layout `spec`; waits for it.

    `%x = "pcg.receive"() {tag = 0, peer = "podA", spec = #dist.shard_spec<@right, [["data"], []], {}>}
    : () -> tensor<8x4xf32>`
    """

    tag: ir.IntegerAttr
    peer: ir.StringAttr
    spec: ShardSpecAttr
    result: ext.Result[Any]

    @staticmethod
    def verify_invariants(op) -> bool:
        return _message(op, op.results)


class ExchangeOp(Pcg.Operation, name="exchange", traits=[ext.Pure]):
    """Gives each row to the shard of another slice that its `destination` says: what moves depends on data.

    `%r, %n = "pcg.exchange"(%x, %d) {mesh = @right,
    in_specs = [#dist.shard_spec<@left, [["data"], []], {}>, #dist.shard_spec<@left, [["data"]], {}>],
    out_specs = [#dist.shard_spec<@right, [["expert"], [], []], {}>, #dist.shard_spec<@right, [["expert"], []], {}>]}
    : (tensor<8x4xf32>, tensor<8xi32>) -> (tensor<2x8x4xf32>, tensor<2x2xi32>)`

    `%r` has the rows of each receiving shard, up to a capacity, by sending shard and then as they were there, and zeros
    behind them; `%n` how many came from each sending shard.  A negative destination is none.  With `drop` rows beyond
    the capacity are left out, else they are an error.
    """

    input: ext.Operand[Any]
    destination: ext.Operand[Any]
    mesh: ir.FlatSymbolRefAttr
    result: ext.Result[Any]
    counts: ext.Result[Any]

    @staticmethod
    def verify_invariants(op) -> bool:
        return _exchange(op, op.operands[0].type, op.operands[1].type, op.results[0].type, op.results[1].type)


class ExchangeBackOp(Pcg.Operation, name="exchange_back", traits=[ext.Pure]):
    """Gives the rows that `pcg.exchange` has distributed, or what was computed of them, back to where they came from.

    `%y = "pcg.exchange_back"(%r, %n, %d) {mesh = @left,
    in_specs = [#dist.shard_spec<@right, [["expert"], [], []], {}>, #dist.shard_spec<@right, [["expert"], []], {}>,
    #dist.shard_spec<@left, [["data"]], {}>], out_specs = [#dist.shard_spec<@left, [["data"], []], {}>]}
    : (tensor<2x8x4xf32>, tensor<2x2xi32>, tensor<8xi32>) -> tensor<8x4xf32>`

    Rows that went nowhere are zeros.
    """

    input: ext.Operand[Any]
    counts: ext.Operand[Any]
    destination: ext.Operand[Any]
    mesh: ir.FlatSymbolRefAttr
    result: ext.Result[Any]

    @staticmethod
    def verify_invariants(op) -> bool:
        return _exchange(op, op.results[0].type, op.operands[2].type, op.operands[0].type, op.operands[1].type)


def _exchange(op: ir.Operation, rows: ir.Type, destination: ir.Type, result: ir.Type, counts: ir.Type) -> bool:
    """P15: types of rows at both sides, of where they go, and of how many came."""
    for type_ in (rows, destination, result, counts):
        if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
            return checks.fail(op, f"moves a {type_}; allowed: ranked tensors of static shape")
    element = ir.RankedTensorType(rows).element_type
    if not rows.rank or list(result.shape[2:]) != list(rows.shape[1:]) or result.rank != rows.rank + 1:
        return checks.fail(op, f"rows of {rows} are {result}; allowed: [receivers, capacity, ...] of [rows, ...]")
    if result.element_type != element:
        return checks.fail(op, f"rows of {element} are {result.element_type}; allowed: one type")
    if str(destination.element_type) != "i32" or list(destination.shape) != [rows.shape[0]]:
        return checks.fail(op, f"destinations are {destination}; allowed: tensor<{rows.shape[0]}xi32>")
    if str(counts.element_type) != "i32" or counts.rank != 2 or counts.shape[0] != result.shape[0]:
        return checks.fail(op, f"counts are {counts}; allowed: tensor<{result.shape[0]}x(senders)xi32>")
    return _specs_fit(op, "in_specs", [v.type for v in op.operands], anywhere=True) and _specs_fit(
        op, "out_specs", [v.type for v in op.results]
    )


class DispatchOp(Pcg.Operation, name="dispatch"):
    """Gives rows to the shards of another slice, which takes them by the `pcg.collect` of the same `tag`; never waits.

    `"pcg.dispatch"(%x, %d) {tag = 0, peer = "podB", type = tensor<2x8x4xf32>,
    spec = #dist.shard_spec<@right, [["expert"], [], []], {}>} : (tensor<8x4xf32>, tensor<8xi32>) -> ()`

    `type` and `spec` are those of the rows there.  With `back` rows return; the second operand then says how many came
    from each shard.
    """

    input: ext.Operand[Any]
    routing: ext.Operand[Any]
    tag: ir.IntegerAttr
    peer: ir.StringAttr
    type: ir.TypeAttr
    spec: ShardSpecAttr

    @staticmethod
    def verify_invariants(op) -> bool:
        return _parcels(op)


class CollectOp(Pcg.Operation, name="collect"):
    """Takes rows that the shards of another slice dispatch; waits until each of them has ended its stream.

    `%r, %n = "pcg.collect"() {tag = 0, peer = "podA", type = tensor<8x4xf32>,
    spec = #dist.shard_spec<@left, [["data"], []], {}>, out_specs = [#dist.shard_spec<@right, [["expert"], [], []], {}>,
    #dist.shard_spec<@right, [["expert"], []], {}>]} : () -> (tensor<2x8x4xf32>, tensor<2x2xi32>)`

    `type` and `spec` are those of the rows where they come from.
    """

    tag: ir.IntegerAttr
    peer: ir.StringAttr
    type: ir.TypeAttr
    spec: ShardSpecAttr
    result: ext.Result[Any]
    counts: ext.Result[Any]

    @staticmethod
    def verify_invariants(op) -> bool:
        return _parcels(op) and _specs_fit(op, "out_specs", [r.type for r in op.results], anywhere=True)


class CollectBackOp(Pcg.Operation, name="collect_back"):
    """Takes rows that return, to where they left by their `destination`; waits as `pcg.collect` does.

    `%y = "pcg.collect_back"(%d) {tag = 1, peer = "podB", type = tensor<2x8x4xf32>,
    spec = #dist.shard_spec<@right, [["expert"], [], []], {}>,
    out_specs = [#dist.shard_spec<@left, [["data"], []], {}>]} : (tensor<8xi32>) -> tensor<8x4xf32>`
    """

    destination: ext.Operand[Any]
    tag: ir.IntegerAttr
    peer: ir.StringAttr
    type: ir.TypeAttr
    spec: ShardSpecAttr
    result: ext.Result[Any]

    @staticmethod
    def verify_invariants(op) -> bool:
        return _parcels(op) and _specs_fit(op, "out_specs", [r.type for r in op.results], anywhere=True)


def _parcels(op: ir.Operation) -> bool:
    """P13, P14 of an end of an exchange, with the type of the rows at the other end."""
    type_ = checks.attribute(op, "type", ir.TypeAttr)
    return _message(op, () if type_ is None else (type_,))


class AlternativesOp(Pcg.Operation, name="alternatives", traits=[ext.Pure]):
    """One value, computed in two ways of which the search takes one: `rewritten` follows from `original` by `rule`.

    `pcg-saturate` adds it, and no other pass takes programs that have it: `pcg-substitute` adds it itself, and what only
    the value reads that is not taken is not computed.

    `%v = "pcg.alternatives"(%a, %b) {rule = "split-contraction"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>`
    """  # noqa: E501

    original: ext.Operand[Any]
    rewritten: ext.Operand[Any]
    rule: ir.StringAttr
    result: ext.Result[Any]

    @staticmethod
    def verify_invariants(op) -> bool:
        types = [v.type for v in (*op.operands, *op.results)]
        if len(types) == 3 and len(set(types)) > 1:  # P12
            return checks.fail(op, f"is of types {_types(types)}; allowed: one type")
        return True


class YieldOp(Pcg.Operation, name="yield", traits=[ir.IsTerminatorTrait, ext.Pure]):
    """Ends a stage; its operand is the tuple of the stage's results."""

    values: ext.Operand[Any]


class StageOp(Pcg.Operation, name="stage", traits=[ir.IsIsolatedFromAboveTrait, ext.Pure]):
    """A part of the program that runs on one mesh; sees only its inputs.

    `index` orders the stages of a pipeline, `mesh` names the `dist.mesh` it runs on.  Inputs and results
    are tuples (a variadic operand could only have values of one type); the block has one argument per
    element of the inputs.  `in_specs` and `out_specs`, once known, are their layouts on `mesh`, one entry per
    element, `unit` for unknown.

    ```mlir
    %in = stablehlo.tuple %x, %w : tuple<tensor<8x4xf32>, tensor<4x2xf32>>
    %out = "pcg.stage"(%in) ({
    ^bb0(%a: tensor<8x4xf32>, %b: tensor<4x2xf32>):
      %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
      %t = stablehlo.tuple %c : tuple<tensor<8x2xf32>>
      "pcg.yield"(%t) : (tuple<tensor<8x2xf32>>) -> ()
    }) {mesh = @mesh, index = 0} : (tuple<tensor<8x4xf32>, tensor<4x2xf32>>) -> tuple<tensor<8x2xf32>>
    ```
    """

    inputs: ext.Operand[Any]
    mesh: ir.FlatSymbolRefAttr
    index: ir.IntegerAttr
    outputs: ext.Result[Any]
    body: ext.Region

    @staticmethod
    def verify_invariants(op) -> bool:
        index = checks.attribute(op, "index", ir.IntegerAttr)
        if index is not None and index.value < 0:  # P8
            return checks.fail(op, f"index {index.value} is negative; allowed: 0, 1, 2, ...")
        for what, values in (("inputs", op.operands), ("results", op.results)):
            if len(values) != 1:
                return True
            if not isinstance(values[0].type, ir.TupleType):  # P9
                return checks.fail(op, f"{what} are a {values[0].type}; allowed: a tuple")
        return all(
            _specs_fit(op, name, [tuple_.get_type(i) for i in range(tuple_.num_types)])
            for name, tuple_ in (("in_specs", op.operands[0].type), ("out_specs", op.results[0].type))
        )

    @staticmethod
    def verify_region_invariants(op) -> bool:
        blocks = list(op.regions[0].blocks)
        if len(blocks) != 1:  # P9
            return checks.fail(op, f"has {len(blocks)} blocks; exactly one is needed")
        inputs = op.operands[0].type
        have, want = [a.type for a in blocks[0].arguments], [inputs.get_type(i) for i in range(inputs.num_types)]
        if have != want:  # P9
            return checks.fail(op, f"block arguments are {_types(have)}; allowed: the inputs, {_types(want)}")
        last = list(blocks[0].operations)[-1].operation
        if last.name != "pcg.yield":  # P10
            return checks.fail(op, f"ends in '{last.name}'; allowed: 'pcg.yield'")
        if last.operands[0].type != op.results[0].type:  # P10
            return checks.fail(op, f"yields a {last.operands[0].type}, its result is a {op.results[0].type}")
        return True


def _specs_fit(op: ir.Operation, name: str, types: Sequence[ir.Type], anywhere: bool = False) -> bool:
    """P11: the layouts in attribute `name` are one per value, well formed, and (or `anywhere`) on the op's mesh."""
    specs = checks.attribute(op, name, ir.ArrayAttr)
    mesh = None if anywhere else checks.attribute(op, "mesh", ir.FlatSymbolRefAttr)
    if specs is None or (mesh is None and not anywhere):
        return True
    if len(specs) != len(types):
        return checks.fail(op, f"{name} has {len(specs)} entries; one per value is needed, {len(types)}")
    for i, type_ in enumerate(types):
        spec = checks.item(specs, i)
        if isinstance(spec, ir.UnitAttr):
            continue
        if not isinstance(spec, ShardSpecAttr):
            return checks.fail(op, f"{name} {i} is {spec}; allowed: a #dist.shard_spec, or unit for unknown")
        if why := checks.spec_error(spec, type_.rank if isinstance(type_, ir.RankedTensorType) else None):
            return checks.fail(op, f"{name} {i}: {why}")
        if mesh is not None and (symbol := str(spec.mesh)) != str(mesh):
            return checks.fail(op, f"{name} {i} is a layout on {symbol}; the op is on {mesh}")
    return True


def _types(types: Sequence[ir.Type]) -> str:
    return "(" + ", ".join(map(str, types)) + ")"
