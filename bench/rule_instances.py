"""Op instances on which the factor rules of pcg and of Shardy are compared: one program each, whose last op it is.

`tools/op_samples.py` has one program per op; here are more where a rule has cases: dimension numbers, groups,
windows, sizes that share a divisor, indices that pick rows or windows, the custom calls that JAX makes.
"""

from __future__ import annotations

from pcg.tools import op_samples


def _main(arguments: str, result: str, body: str, count: int = 1, other: str = "") -> str:
    """`@main(arguments) -> result` whose last op is named `%r` in `body`; `%z` is zero, `%s` a scalar index."""
    names = [f"%x{i}: {t}" for i, t in enumerate(filter(None, (a.strip() for a in arguments.split(";"))))]
    returned = "%r" if count == 1 else ", ".join(f"%r#{i}" for i in range(count))
    kinds = result if count == 1 else f"({result})"
    return f"{other}func.func @main({', '.join(names)}) -> {kinds} {{\n{body}\n  return {returned} : {result}\n}}\n"


_ZERO = "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
_ONE = "  %z = stablehlo.constant dense<1.0> : tensor<f32>\n"
_IZERO = "  %zi = stablehlo.constant dense<0> : tensor<i32>\n"
_MINUS_INF = "  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"


def _slice(a: str, ranges: str, r: str) -> str:
    return _main(f"tensor<{a}xf32>", f"tensor<{r}xf32>", f"  %r = stablehlo.slice %x0 [{ranges}] : "
                 f"(tensor<{a}xf32>) -> tensor<{r}xf32>")  # fmt: skip


def _pad(a: str, low: str, high: str, interior: str, r: str) -> str:
    body = f"  %r = stablehlo.pad %x0, %z, low = [{low}], high = [{high}], interior = [{interior}] : "
    body += f"(tensor<{a}xf32>, tensor<f32>) -> tensor<{r}xf32>"
    return _main(f"tensor<{a}xf32>", f"tensor<{r}xf32>", _ZERO + body)


def _reshape(a: str, r: str) -> str:
    return _main(f"tensor<{a}xf32>", f"tensor<{r}xf32>",
                 f"  %r = stablehlo.reshape %x0 : (tensor<{a}xf32>) -> tensor<{r}xf32>")  # fmt: skip


def _broadcast(a: str, dims: str, r: str) -> str:
    body = f"  %r = stablehlo.broadcast_in_dim %x0, dims = [{dims}] : (tensor<{a}>) -> tensor<{r}>"
    return _main(f"tensor<{a}>", f"tensor<{r}>", body)


def _dot(a: str, b: str, r: str, numbers: str, element: str = "f32") -> str:
    ta, tb, tr = (f"tensor<{s}x{element}>" for s in (a, b, r))
    tr = f"tensor<{r}{'x' if r else ''}{element}>"
    return _main(f"{ta}; {tb}", tr, f"  %r = stablehlo.dot_general %x0, %x1, {numbers} : ({ta}, {tb}) -> {tr}")


def _conv(a: str, b: str, r: str, numbers: str, window: str, feature: int = 1, batch: int = 1) -> str:
    ta, tb, tr = (f"tensor<{s}xf32>" for s in (a, b, r))
    body = f"  %r = stablehlo.convolution(%x0, %x1) dim_numbers = {numbers}, window = {{{window}}} "
    body += f"{{batch_group_count = {batch} : i64, feature_group_count = {feature} : i64}} : ({ta}, {tb}) -> {tr}"
    return _main(f"{ta}; {tb}", tr, body)


def _gather(a: str, i: str, r: str, numbers: str, sizes: str) -> str:
    ta, ti, tr = f"tensor<{a}xf32>", f"tensor<{i}xi32>", f"tensor<{r}xf32>"
    body = f'  %r = "stablehlo.gather"(%x0, %x1) {{dimension_numbers = #stablehlo.gather<{numbers}>, '
    body += f"slice_sizes = array<i64: {sizes}>}} : ({ta}, {ti}) -> {tr}"
    return _main(f"{ta}; {ti}", tr, body)


def _region(op: str, element: str = "f32") -> str:
    t = f"tensor<{element}>"
    body = "    stablehlo.return %q : " if op == "second" else f"    %y = stablehlo.{op} %p, %q : {t}\n"
    body += t if op == "second" else f"    stablehlo.return %y : {t}"
    return f"({{\n  ^bb0(%p: {t}, %q: {t}):\n{body}\n  }})"


def _scatter(a: str, i: str, u: str, numbers: str, op: str = "add", unique: bool = False) -> str:
    ta, ti, tu = f"tensor<{a}xf32>", f"tensor<{i}xi32>", f"tensor<{u}xf32>"
    body = f'  %r = "stablehlo.scatter"(%x0, %x1, %x2) {_region(op)} {{scatter_dimension_numbers = '
    body += f"#stablehlo.scatter<{numbers}>, unique_indices = {str(unique).lower()}, indices_are_sorted = false}} : "
    return _main(f"{ta}; {ti}; {tu}", ta, body + f"({ta}, {ti}, {tu}) -> {ta}")


def _reduce(a: str, r: str, dims: str, op: str, init: str = _ZERO) -> str:
    ta, tr = f"tensor<{a}xf32>", f"tensor<{r}xf32>"
    body = f"{init}  %r = stablehlo.reduce(%x0 init: %z) applies stablehlo.{op} across dimensions = [{dims}] : "
    return _main(ta, tr, body + f"({ta}, tensor<f32>) -> {tr}")


def _argmax() -> str:
    body = _MINUS_INF + _IZERO + """  %i = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %r:2 = "stablehlo.reduce"(%x0, %i, %z, %zi) ({
  ^bb0(%p: tensor<f32>, %pi: tensor<i32>, %q: tensor<f32>, %qi: tensor<i32>):
    %g = stablehlo.compare GT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %e = stablehlo.compare EQ, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = stablehlo.compare LT, %pi, %qi : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %m = stablehlo.and %e, %l : tensor<i1>
    %n = stablehlo.or %g, %m : tensor<i1>
    %v = stablehlo.select %g, %p, %q : tensor<i1>, tensor<f32>
    %w = stablehlo.select %n, %pi, %qi : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<f32>, tensor<i32>
  }) {dimensions = array<i64: 1>} : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>)
     -> (tensor<4xf32>, tensor<4xi32>)"""
    return _main("tensor<4x8xf32>", "tensor<4xf32>, tensor<4xi32>", body, 2)


def _window(a: str, r: str, attributes: str, op: str = "add", init: str = _ZERO) -> str:
    ta, tr = f"tensor<{a}xf32>", f"tensor<{r}xf32>"
    body = f'{init}  %r = "stablehlo.reduce_window"(%x0, %z) {_region(op)} {{{attributes}}} : (' + ta
    return _main(ta, tr, body + f", tensor<f32>) -> {tr}")


def _select_and_scatter(a: str, s: str, attributes: str) -> str:
    ta, ts = f"tensor<{a}xf32>", f"tensor<{s}xf32>"
    body = f'{_ZERO}  %r = "stablehlo.select_and_scatter"(%x0, %x1, %z) ({{\n  ^bb0(%p: tensor<f32>, %q: tensor<f32>'
    body += "):\n    %y = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    body += f"    stablehlo.return %y : tensor<i1>\n  }}, {_region('add')[1:-1]}) {{{attributes}}} : "
    return _main(f"{ta}; {ts}", ta, body + f"({ta}, {ts}, tensor<f32>) -> {ta}")


def _concatenate(shapes: str, dim: int, r: str) -> str:
    types = [f"tensor<{s.strip()}xf32>" for s in shapes.split(",")]
    names = ", ".join(f"%x{i}" for i in range(len(types)))
    body = f"  %r = stablehlo.concatenate {names}, dim = {dim} : ({', '.join(types)}) -> tensor<{r}xf32>"
    return _main("; ".join(types), f"tensor<{r}xf32>", body)


def _dynamic(a: str, sizes: str, r: str) -> str:
    rank = a.count("x") + 1
    starts = ", ".join(f"%x{i + 1}" for i in range(rank))
    types = ", ".join([f"tensor<{a}xf32>", *["tensor<i32>"] * rank])
    body = f"  %r = stablehlo.dynamic_slice %x0, {starts}, sizes = [{sizes}] : ({types}) -> tensor<{r}xf32>"
    return _main(types.replace(",", ";"), f"tensor<{r}xf32>", body)


def _update(a: str, u: str, constant: bool = False) -> str:
    rank = a.count("x") + 1
    starts = ", ".join("%zi" if constant else f"%x{i + 2}" for i in range(rank))
    scalars = ["tensor<i32>"] * rank
    types = ", ".join([f"tensor<{a}xf32>", f"tensor<{u}xf32>", *scalars])
    body = f"  %r = stablehlo.dynamic_update_slice %x0, %x1, {starts} : ({types}) -> tensor<{a}xf32>"
    arguments = [f"tensor<{a}xf32>", f"tensor<{u}xf32>", *([] if constant else scalars)]
    return _main("; ".join(arguments), f"tensor<{a}xf32>", (_IZERO if constant else "") + body)


def _fft(kind: str, a: str, r: str, length: str) -> str:
    body = f"  %r = stablehlo.fft %x0, type = {kind}, length = [{length}] : (tensor<{a}>) -> tensor<{r}>"
    return _main(f"tensor<{a}>", f"tensor<{r}>", body)


def _solve(a: str, b: str, left: bool, transpose: str = "NO_TRANSPOSE") -> str:
    ta, tb = f"tensor<{a}xf32>", f"tensor<{b}xf32>"
    body = f'  %r = "stablehlo.triangular_solve"(%x0, %x1) {{left_side = {str(left).lower()}, lower = true, '
    body += f"unit_diagonal = false, transpose_a = #stablehlo<transpose {transpose}>}} : ({ta}, {tb}) -> {tb}"
    return _main(f"{ta}; {tb}", tb, body)


def _custom(name: str, operands: str, results: str, more: str = "") -> str:
    count = results.count("tensor<")
    types = operands.split("; ")
    given = ", ".join(f"%x{i}" for i in range(len(types)))
    made = "%r" if count == 1 else f"%r:{count}"
    out = results if count == 1 else f"({results})"
    body = f"  {made} = stablehlo.custom_call @{name}({given}) {{{more}}} : ({', '.join(types)}) -> {out}"
    return _main(operands, results, body, count)


def _sort(a: str, dim: int, operands: int = 1) -> str:
    t = f"tensor<{a}xf32>"
    names = ", ".join(f"%x{i}" for i in range(operands))
    block = ", ".join(f"%p{i}: tensor<f32>, %q{i}: tensor<f32>" for i in range(operands))
    made = "%r" if operands == 1 else f"%r:{operands}"
    body = f'  {made} = "stablehlo.sort"({names}) ({{\n  ^bb0({block}):\n    %y = stablehlo.compare LT, %p0, %q0 : '
    body += "(tensor<f32>, tensor<f32>) -> tensor<i1>\n    stablehlo.return %y : tensor<i1>\n  }) "
    types = ", ".join([t] * operands)
    body += f"{{dimension = {dim} : i64, is_stable = true}} : ({types}) -> {f'({types})' if operands > 1 else t}"
    return _main("; ".join([t] * operands), types, body, operands)


_1D, _2D = "[b, 0, f]x[0, i, o]->[b, 0, f]", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
_ROWS = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = "
_PUT = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = "
_CUMULATIVE = "window_dimensions = array<i64: 1, 8>, padding = dense<[[0, 0], [7, 0]]> : tensor<2x2xi64>"
_MAT, _MATS = "tensor<4x8x8xf32>", "tensor<4x8xf32>"
_BATCHED = (
    "sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n]) "
    "{i=4, j=8, k=8, l=8, m=8, n=8}, custom>"
)
_GROUPS = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
_HANDLE = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids, " + _GROUPS

#: What is special about it -> program.
MORE: dict[str, str] = {
    # reshape: factors shared by merged, split and mixed dimensions
    "reshape split": _reshape("8x64", "8x4x16"),
    "reshape merge": _reshape("8x4x16", "8x64"),
    "reshape merge all": _reshape("4x6x8", "192"),
    "reshape with ones": _reshape("4x1x6", "1x4x6x1"),
    "reshape swaps coprime sizes": _reshape("3x4", "4x3"),
    "reshape crosses boundaries": _reshape("6x4", "4x6"),
    "reshape crosses, then agrees": _reshape("3x4x8", "4x3x8"),
    "reshape common divisor": _reshape("12x5", "4x15"),
    "reshape to one dimension and back out": _reshape("2x3x4", "6x2x2"),
    # broadcast, transpose
    "broadcast scalar": _broadcast("f32", "", "4x6xf32"),
    "broadcast new minor dimension": _broadcast("4xf32", "0", "4x6xf32"),
    "broadcast size 1 kept": _broadcast("1x6xf32", "0, 1", "1x6xf32"),
    "broadcast size 1 stretched": _broadcast("1x6xf32", "0, 1", "4x6xf32"),
    "broadcast and transpose": _broadcast("6x4xf32", "1, 0", "4x6xf32"),
    "transpose 3-D": _main("tensor<2x4x6xf32>", "tensor<6x2x4xf32>",
                           "  %r = stablehlo.transpose %x0, dims = [2, 0, 1] : (tensor<2x4x6xf32>) -> "
                           "tensor<6x2x4xf32>"),
    "select scalar predicate": _main("tensor<i1>; tensor<4x6xf32>; tensor<4x6xf32>", "tensor<4x6xf32>",
                                     "  %r = stablehlo.select %x0, %x1, %x2 : tensor<i1>, tensor<4x6xf32>"),
    "clamp whole bounds": _main("tensor<4x6xf32>; tensor<4x6xf32>; tensor<4x6xf32>", "tensor<4x6xf32>",
                                "  %r = stablehlo.clamp %x0, %x1, %x2 : tensor<4x6xf32>"),
    "bitcast to wider": _main("tensor<4x6x4xi8>", "tensor<4x6xi32>",
                              "  %r = stablehlo.bitcast_convert %x0 : (tensor<4x6x4xi8>) -> tensor<4x6xi32>"),
    # contractions
    "dot two contracted": _dot("4x6x8", "6x8x2", "4x2", "contracting_dims = [1, 2] x [0, 1]"),
    "dot outer product": _dot("4", "6", "4x6", "contracting_dims = [] x []"),
    "dot inner product": _dot("8", "8", "", "contracting_dims = [0] x [0]"),
    "dot contracts major": _dot("8x4", "8x6", "4x6", "contracting_dims = [0] x [0]"),
    "dot two batches": _dot("2x3x4x8", "2x3x8x6", "2x3x4x6", "batching_dims = [0, 1] x [0, 1], "
                            "contracting_dims = [3] x [2]"),
    "dot on booleans": _dot("4x8", "8x6", "4x6", "contracting_dims = [1] x [0]", "i1"),
    "dot matrix vector": _main("tensor<4x8xf32>; tensor<8xf32>", "tensor<4xf32>",
                               "  %r = stablehlo.dot %x0, %x1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32>"),
    # convolution
    "conv 2-D same": _conv("2x8x8x4", "3x3x4x6", "2x8x8x6", _2D, "pad = [[1, 1], [1, 1]]"),
    "conv 2-D same, strided": _conv("2x8x8x4", "3x3x4x6", "2x4x4x6", _2D, "stride = [2, 2], pad = [[0, 1], [0, 1]]"),
    "conv valid": _conv("2x8x4", "3x4x6", "2x6x6", _1D, "pad = [[0, 0]]"),
    "conv 1x1": _conv("2x8x4", "1x4x6", "2x8x6", _1D, "pad = [[0, 0]]"),
    "conv patches": _conv("2x8x4", "4x4x6", "2x2x6", _1D, "stride = [4], pad = [[0, 0]]"),
    "conv dilated kernel": _conv("2x8x4", "3x4x6", "2x8x6", _1D, "pad = [[2, 2]], rhs_dilate = [2]"),
    "conv transposed": _conv("2x4x4", "3x4x6", "2x8x6", _1D, "pad = [[1, 2]], lhs_dilate = [2]"),
    "conv kernel gradient": _conv("4x8x2", "4x8x6", "2x3x6", "[f, 0, b]x[i, 0, o]->[b, 0, f]", "pad = [[1, 1]]"),
    "conv depthwise": _conv("2x8x4", "3x1x4", "2x8x4", _1D, "pad = [[1, 1]]", feature=4),
    "conv feature groups": _conv("2x8x8", "3x4x6", "2x8x6", _1D, "pad = [[1, 1]]", feature=2),
    "conv batch groups": _conv("4x8x2", "3x2x6", "2x8x6", _1D, "pad = [[1, 1]]", batch=2),
    "conv reversed window": _conv("2x8x4", "3x4x6", "2x8x6", _1D, "pad = [[1, 1]], reverse = [1]"),
    # slices, pads and updates
    "slice front": _slice("8x6", "0:4, 0:6", "4x6"),
    "slice half of many": _slice("64x6", "0:32, 0:6", "32x6"),
    "slice strided": _slice("8x6", "0:8:2, 0:6", "4x6"),
    "slice two dimensions": _slice("8x6", "2:6, 1:4", "4x3"),
    "pad low and high": _pad("4x6", "1, 0", "1, 0", "0, 0", "6x6"),
    "pad interior": _pad("4x6", "0, 0", "0, 0", "1, 0", "7x6"),
    "pad negative": _pad("8x6", "-2, 0", "-2, 0", "0, 0", "4x6"),
    "pad shift": _pad("8x6", "1, 0", "-1, 0", "0, 0", "8x6"),
    "reverse all": _main("tensor<4x6xf32>", "tensor<4x6xf32>",
                         "  %r = stablehlo.reverse %x0, dims = [0, 1] : tensor<4x6xf32>"),
    "concatenate major": _concatenate("4x6, 8x6", 0, "12x6"),
    "concatenate three": _concatenate("4x2, 4x2, 4x4", 1, "4x8"),
    "concatenate slices of one value": _main(
        "tensor<8x6xf32>", "tensor<8x6xf32>",
        "  %a = stablehlo.slice %x0 [1:8, 0:6] : (tensor<8x6xf32>) -> tensor<7x6xf32>\n"
        "  %b = stablehlo.slice %x0 [0:1, 0:6] : (tensor<8x6xf32>) -> tensor<1x6xf32>\n"
        "  %r = stablehlo.concatenate %a, %b, dim = 0 : (tensor<7x6xf32>, tensor<1x6xf32>) -> tensor<8x6xf32>"),
    "dynamic_slice of one row": _dynamic("8x6", "1, 6", "1x6"),
    "dynamic_slice whole": _dynamic("8x6", "8, 6", "8x6"),
    "dynamic_update_slice of one row": _update("8x6", "1x6"),
    "dynamic_update_slice at constants": _update("8x6", "2x6", constant=True),
    # gather and scatter
    "gather rows by column of indices": _gather("8x6", "4x1", "4x6", _ROWS + "1", "1, 6"),
    "gather rows of one": _gather("1x6", "4x1", "4x6", _ROWS + "1", "1, 6"),
    "gather points": _gather("8x6", "4x2", "4", "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], "
                             "index_vector_dim = 1", "1, 1"),
    "gather windows": _gather("8x6", "4x1", "4x2x6", "offset_dims = [1, 2], start_index_map = [0], "
                              "index_vector_dim = 1", "2, 6"),
    "gather keeps size 1": _gather("8x6", "4x1", "4x1x6", "offset_dims = [1, 2], start_index_map = [0], "
                                   "index_vector_dim = 1", "1, 6"),
    "gather first columns": _gather("8x6", "4x1", "4x3", _ROWS + "1", "1, 3"),
    "gather first row, collapsed": _gather("8x6", "4x1", "4", "collapsed_slice_dims = [0, 1], start_index_map = [0], "
                                           "index_vector_dim = 1", "1, 1"),
    "gather batched": _gather("4x8x6", "4x2x1", "4x2x6", "offset_dims = [2], collapsed_slice_dims = [1], "
                              "operand_batching_dims = [0], start_indices_batching_dims = [0], "
                              "start_index_map = [1], index_vector_dim = 2", "1, 1, 6"),
    "gather on a table of indices": _gather("8x6", "2x4x1", "2x4x6", "offset_dims = [2], collapsed_slice_dims = [0], "
                                            "start_index_map = [0], index_vector_dim = 2", "1, 6"),
    "scatter maximum": _scatter("4x6", "8x1", "8x6", _PUT + "1", "maximum"),
    "scatter overwrites": _scatter("4x6", "8x1", "8x6", _PUT + "1", "second"),
    "scatter overwrites, unique": _scatter("16x6", "8x1", "8x6", _PUT + "1", "second", True),
    "scatter subtract": _scatter("4x6", "8x1", "8x6", _PUT + "1", "subtract"),
    "scatter points": _scatter("8x6", "4x2", "4", "inserted_window_dims = [0, 1], "
                               "scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1"),
    "scatter windows": _scatter("8x6", "4x1", "4x2x6", "update_window_dims = [1, 2], "
                                "scatter_dims_to_operand_dims = [0], index_vector_dim = 1"),
    "scatter rows kept": _scatter("8x6", "4x1", "4x1x6", "update_window_dims = [1, 2], "
                                  "scatter_dims_to_operand_dims = [0], index_vector_dim = 1"),
    "scatter batched": _scatter("4x8x6", "4x2x1", "4x2x6", "update_window_dims = [2], inserted_window_dims = [1], "
                                "input_batching_dims = [0], scatter_indices_batching_dims = [0], "
                                "scatter_dims_to_operand_dims = [1], index_vector_dim = 2"),
    # reductions, windows, sorting
    "reduce all": _main("tensor<4x6xf32>", "tensor<f32>", _ZERO + "  %r = stablehlo.reduce(%x0 init: %z) applies "
                        "stablehlo.add across dimensions = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<f32>"),
    "reduce maximum": _reduce("4x6", "4", "1", "maximum", _MINUS_INF),
    "reduce multiply": _reduce("4x6", "6", "0", "multiply", _ONE),
    "reduce from another start": _reduce("4x6", "4", "1", "add", _ONE),
    "reduce two operands (argmax)": _argmax(),
    "reduce with a reducer of its own": _main(
        "tensor<4x6xf32>", "tensor<4xf32>", _ZERO + '  %r = "stablehlo.reduce"(%x0, %z) ({\n  ^bb0(%p: tensor<f32>, '
        "%q: tensor<f32>):\n    %y = stablehlo.add %p, %q : tensor<f32>\n    %w = stablehlo.maximum %y, %p : "
        "tensor<f32>\n    stablehlo.return %w : tensor<f32>\n  }) {dimensions = array<i64: 1>} : (tensor<4x6xf32>, "
        "tensor<f32>) -> tensor<4xf32>"),
    "pool overlapping, same": _window("4x8", "4x8", "window_dimensions = array<i64: 1, 3>, padding = "
                                      "dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>", "maximum", _MINUS_INF),
    "pool overlapping, strided": _window("4x8", "4x4", "window_dimensions = array<i64: 1, 3>, window_strides = "
                                         "array<i64: 1, 2>, padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>"),
    "pool valid": _window("4x8", "4x6", "window_dimensions = array<i64: 1, 3>"),
    "pool everything": _window("4x8", "4x1", "window_dimensions = array<i64: 1, 8>"),
    "cumulative sum": _window("4x8", "4x8", _CUMULATIVE),
    "cumulative maximum": _window("4x8", "4x8", _CUMULATIVE, "maximum", _MINUS_INF),
    "pool dilated": _window("4x8", "4x8", "window_dimensions = array<i64: 1, 3>, window_dilations = array<i64: 1, 2>, "
                            "padding = dense<[[0, 0], [2, 2]]> : tensor<2x2xi64>"),
    "pool dilated base": _window("4x4", "4x7", "window_dimensions = array<i64: 1, 1>, base_dilations = "
                                 "array<i64: 1, 2>"),
    "select_and_scatter overlapping": _select_and_scatter(
        "4x8", "4x4", "window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>, "
        "padding = dense<[[0, 0], [0, 1]]> : tensor<2x2xi64>"),
    "sort rows": _sort("8x6", 0),
    "sort one dimension": _sort("8", 0),
    "sort with values": _sort("4x6", 1, 2),
    # linear algebra
    "fft 2-D": _fft("FFT", "2x4x8xcomplex<f32>", "2x4x8xcomplex<f32>", "4, 8"),
    "fft of reals": _fft("RFFT", "4x8xf32", "4x5xcomplex<f32>", "8"),
    "fft to reals": _fft("IRFFT", "4x5xcomplex<f32>", "4x8xf32", "8"),
    "triangular_solve batched": _solve("4x6x6", "4x6x8", True),
    "triangular_solve right": _solve("4x6x6", "4x8x6", False),
    "triangular_solve transposed": _solve("6x6", "6x8", True, "TRANSPOSE"),
    # custom calls
    "custom_call unknown": _custom("my_kernel", "tensor<4x6xf32>", "tensor<4x6xf32>"),
    "custom_call with a rule": _custom("lapack_sgeqrf_ffi", _MAT, f"{_MAT}, {_MATS}", _BATCHED),
    "custom_call Qr": _custom("Qr", _MAT, f"{_MAT}, {_MATS}"),
    "custom_call Eigh": _custom("Eigh", _MAT, f"{_MAT}, {_MATS}"),
    "custom_call Cholesky": _custom("Cholesky", _MAT, _MAT),
    "custom_call Householder": _custom("ProductOfElementaryHouseholderReflectors", f"{_MAT}; {_MATS}", _MAT),
    "custom_call mhlo.topk": _custom("mhlo.topk", "tensor<4x8xf32>", "tensor<4x2xf32>, tensor<4x2xi32>"),
    "custom_call mhlo.erf": _custom("mhlo.erf", "tensor<4x6xf32>", "tensor<4x6xf32>"),
    "custom_call ApproxTopK": _custom(
        "ApproxTopK", "tensor<4x8xf32>; tensor<4x8xi32>; tensor<f32>; tensor<i32>", "tensor<4x2xf32>, tensor<4x2xi32>"),
    "custom_call Sharding": _custom("Sharding", "tensor<4x6xf32>", "tensor<4x6xf32>"),
    "custom_call annotate_device_placement": _custom(
        "annotate_device_placement", "tensor<4x6xf32>", "tensor<4x6xf32>"),
    "custom_call MoveToHost": _custom("MoveToHost", "tensor<4x6xf32>", "tensor<4x6xf32>"),
    # control flow, collectives, tokens
    "while": _main("tensor<i32>; tensor<4x6xf32>", "tensor<i32>, tensor<4x6xf32>", """  %r:2 = stablehlo.while(
    %a = %x0, %b = %x1) : tensor<i32>, tensor<4x6xf32>
  cond {
    %t = stablehlo.compare LT, %a, %x0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    stablehlo.return %a, %b : tensor<i32>, tensor<4x6xf32>
  }""", 2),
    "case": _main("tensor<i32>; tensor<4x6xf32>", "tensor<4x6xf32>", """  %r = "stablehlo.case"(%x0) ({
    stablehlo.return %x1 : tensor<4x6xf32>
  }, {
    stablehlo.return %x1 : tensor<4x6xf32>
  }) : (tensor<i32>) -> tensor<4x6xf32>"""),
    "if": _main("tensor<i1>; tensor<4x6xf32>", "tensor<4x6xf32>", """  %r = "stablehlo.if"(%x0) ({
    stablehlo.return %x1 : tensor<4x6xf32>
  }, {
    stablehlo.return %x1 : tensor<4x6xf32>
  }) : (tensor<i1>) -> tensor<4x6xf32>"""),
    "composite": _main("tensor<4x6xf32>", "tensor<4x6xf32>", '  %r = stablehlo.composite "my.op" %x0 {decomposition = '
                       "@body} : (tensor<4x6xf32>) -> tensor<4x6xf32>",
                       other="func.func private @body(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {\n"
                       "  return %x : tensor<4x6xf32>\n}\n"),
    "all_reduce": _main("tensor<4x6xf32>", "tensor<4x6xf32>", f'  %r = "stablehlo.all_reduce"(%x0) {_region("add")} '
                        f"{{{_HANDLE}}} : (tensor<4x6xf32>) -> tensor<4x6xf32>"),
    "all_gather": _main("tensor<4x6xf32>", "tensor<8x6xf32>", '  %r = "stablehlo.all_gather"(%x0) {all_gather_dim = '
                        f"0 : i64, {_HANDLE}}} : (tensor<4x6xf32>) -> tensor<8x6xf32>"),
    "reduce_scatter": _main("tensor<4x6xf32>", "tensor<2x6xf32>", f'  %r = "stablehlo.reduce_scatter"(%x0) '
                            f'{_region("add")} {{scatter_dimension = 0 : i64, {_HANDLE}}} : (tensor<4x6xf32>) -> '
                            "tensor<2x6xf32>"),
    "all_to_all": _main("tensor<4x6xf32>", "tensor<2x12xf32>", '  %r = "stablehlo.all_to_all"(%x0) {split_dimension = '
                        f"0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, {_GROUPS}}} : "
                        "(tensor<4x6xf32>) -> tensor<2x12xf32>"),
    "collective_permute": _main("tensor<4x6xf32>", "tensor<4x6xf32>", '  %r = "stablehlo.collective_permute"(%x0) '
                                "{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : "
                                "(tensor<4x6xf32>) -> tensor<4x6xf32>"),
    "collective_broadcast": _main("tensor<4x6xf32>", "tensor<4x6xf32>", '  %r = "stablehlo.collective_broadcast"(%x0) '
                                  f"{{{_GROUPS}}} : (tensor<4x6xf32>) -> tensor<4x6xf32>"),
    "partition_id": _main("", "tensor<ui32>", "  %r = stablehlo.partition_id : tensor<ui32>"),
    "set_dimension_size": _main("tensor<4x6xf32>; tensor<i32>", "tensor<4x?xf32, #stablehlo.bounds<?, 6>>",
                                "  %r = stablehlo.set_dimension_size %x0, %x1, dim = 1 : (tensor<4x6xf32>, "
                                "tensor<i32>) -> tensor<4x?xf32, #stablehlo.bounds<?, 6>>"),
}  # fmt: skip


def instances() -> dict[str, str]:
    """Name -> program of every instance: the samples under the name of their op, then `MORE`."""
    return {**op_samples.SAMPLES, **MORE}
