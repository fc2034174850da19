"""What programs in `dist` and `pcg` may say: anything else is an error at its place, never an internal one."""

from __future__ import annotations

import pytest
from torch_mlir import ir

from pcg.ir.check import DEEPEST
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.inline import MOST_OPS, Inliner
from pcg.ir.parse import load_module, parse_text
from pcg.ir.walk import walk
from pcg.passes.pipeline import Pipeline
from support.filekinds import opt

MESH = '"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()\n'
SPEC = '#dist.shard_spec<@mesh, [["x"], []], {}>'
PARTIAL = '#dist.shard_spec<@mesh, [[], []], {x = "sum"}>'
T = "tensor<8x4xf32>"


def program(argument="", op="", result="", function="", mesh=MESH):
    return (
        f"{mesh}func.func @main(%a: {T} {{{argument}}}) -> ({T} {{{result}}}) {f'attributes {{{function}}}' if function else ''} {{\n"
        f"  %0 = stablehlo.tanh %a {{{op}}} : {T}\n  return %0 : {T}\n}}\n"
    )


def moved(op):
    return f"{MESH}func.func @main(%a: {T}) -> {T} {{\n  %0 = {op} : ({T}) -> {T}\n  return %0 : {T}\n}}\n"


LOWERED = """module attributes {{pcg.mesh = {mesh}, pcg.in_specs = {ins}, pcg.out_specs = ["[-]"]{more}}} {{
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
    return %a : tensor<4xf32>
  }}
}}"""

CASES = [
    # Of another kind, rank, mesh, axis.
    (program(argument="dist.spec = 42 : i64"), "argument 0 of function 'main': 42 : i64 is not a #dist.shard_spec"),
    (program(argument='dist.spec = #dist.shard_spec<@mesh, ["x", []], {}>'), "is not a shard spec; write"),
    (program(argument='dist.spec = #dist.shard_spec<@mesh, [["x"]], {}>'), "spec [x] has 1 dimensions, the tensor has 2"),
    (program(argument='dist.spec = #dist.shard_spec<@other, [[], []], {}>'), "has a layout on @other; declared meshes: @mesh"),
    (program(argument=f"dist.spec = {SPEC}", mesh=""), "has a layout on @mesh; declared meshes: none"),
    (program(argument='dist.spec = #dist.shard_spec<@mesh, [["z"], []], {}>'), "unknown axis 'z'; the mesh has 'x', 'y'"),
    (program(argument='dist.spec = #dist.shard_spec<@mesh, [["x"], ["x"]], {}>'), "axis 'x' is used twice"),
    (program(argument=f"dist.spec = {PARTIAL}"), "argument 0 of function 'main' has layout [-, -] sum(x), which is partial over 'x'"),
    (program(result=f"dist.spec = {PARTIAL}"), "result 0 of function 'main' has layout [-, -] sum(x), which is partial over 'x'"),
    (program(argument="dist.open = [7]"), "dist.open is [7]; allowed: a list of dimensions, 0 to 1"),
    (program(argument='dist.open = "all"'), "allowed: a list of dimensions, 0 to 1"),
    (program(argument="dist.priorities = [1]"), "dist.priorities is [1]; allowed: 2 numbers from 0"),
    (program(argument="dist.mesh = 3"), "dist.mesh is 3 : i64; declared meshes: @mesh"),
    (program(argument="tf.aliasing_output = 7 : i32"), "tf.aliasing_output is 7 : i32; allowed: 0 to 0"),
    (program(result='pcg.state = "a"'), 'pcg.state is "a"; allowed: 0 to 0'),
    (
        program(op='dist.specs = [#dist.shard_spec<@mesh, [[], []], {x = "and"}>]'),
        "has layout [-, -] and(x): partial over 'x' by 'and', which f32 has no neutral element for; allowed: sum, max, min, prod",
    ),
    (program(op="dist.specs = 3"), "'stablehlo.tanh' has 1 results but 3 : i64 entries in dist.specs"),
    (program(op="dist.specs = []"), "'stablehlo.tanh' has 1 results but 0 entries in dist.specs"),
    (program(op="dist.specs = [3]"), "result 0 of 'stablehlo.tanh': 3 : i64 is not a #dist.shard_spec"),
    (program(op=f"dist.operand_specs = [{SPEC}, {SPEC}]"), "'stablehlo.tanh' has 1 operands but 2 entries in dist.operand_specs"),
    (program(op="dist.mesh = @other"), "'stablehlo.tanh': dist.mesh is @other; declared meshes: @mesh"),
    (program(op='dist.annotated = ["argument 0"]'), 'dist.annotated has "argument 0"; allowed: [an argument or result, a layout, text]'),
    (program(op=f'dist.annotated = [["result 1", {SPEC}, "x"]]'), 'dist.annotated has ["result 1"'),
    (program(function=f'dist.annotated = [["argument 1", {SPEC}, "x"]]'), 'dist.annotated has ["argument 1"'),
    (program(function="a.b = loc(unknown)"), "an attribute has a location as value"),
    (program(function="dist.engine = 3"), "dist.engine is 3 : i64; allowed: text"),
    (program(function="dist.state = array<i64: 0, 7>"), "dist.state is array<i64: 0, 7>; allowed: array<i64: result, argument, ...>"),
    (program(function="pcg.microbatches = 0"), "pcg.microbatches of function 'main' is 0 : i64; allowed: an integer from 1"),
    # Locations as values: some ways to read them end the process.
    (program(argument="a.b = loc(unknown)"), "an attribute has a location as value"),
    (program(op="dist.specs = [loc(unknown)]"), "an attribute has a location as value"),
    (moved('"dist.constraint"(%a) {spec = #dist.shard_spec<@mesh, [[], []], {x = loc(unknown)}>}'), "is partial by None"),
    (moved('"dist.constraint"(%a) {spec = loc(unknown)}'), "expected base attribute 'dist.shard_spec'"),
    # Ops.
    (moved('"dist.constraint"(%a) {spec = #dist.shard_spec<@other, [[], []], {}>}'), "has a layout on @other; declared"),
    (moved('"pcg.partition"(%a) {dim = 0, axes = ["z"]}'), "'pcg.partition': unknown axis 'z'; the mesh has 'x', 'y'"),
    (moved('"pcg.partition"(%a) {dim = 0, axes = ["x"]}').removeprefix(MESH), "moves a value along axes; the module has no dist.mesh"),
    (moved("stablehlo.custom_call @dist.manual(%a) {in_specs = 1}"), "'stablehlo.custom_call': in_specs is 1 : i64; allowed: a list of 1 layouts"),
    (moved("stablehlo.custom_call @dist.manual(%a)"), "'@dist.manual' has no in_specs"),
    (
        moved(f"stablehlo.custom_call @dist.manual(%a) {{in_specs = [{SPEC}], out_specs = [{SPEC}], called_computations = [@nowhere]}}"),
        "'@dist.manual' calls @nowhere; allowed: one function",
    ),
    (f"{MESH}func.func @main(%a: {T}) -> {T} {{\n  {MESH}  return %a : {T}\n}}", "'dist.mesh' inside of a function"),
    (f"{MESH}func.func @main(%a: {T}) -> {T} {{\n  sdy.mesh @m = <[\"x\"=2]>\n  return %a : {T}\n}}", "'sdy.mesh' inside of a function"),
    # Functions.
    (f"{MESH}func.func private @main(%a: {T}) -> {T}", "function 'main' has no body; allowed for what the module runs: one"),
    (f'{MESH.replace("mesh"+chr(34)+", value", "main"+chr(34)+", value")}func.func @main() {{\n  return\n}}', "main"),
    # Meshes.
    (MESH.replace("[2, 4]", "[2, 1000000000000]"), "axis 'y' has size 1000000000000; sizes are at least 1, at most 65536"),
    (MESH.replace("[2, 4]", "[2]"), "mesh has 2 axis names but 1 sizes"),
    # What lowered modules say.
    (LOWERED.format(mesh="3", ins='["[-]"]', more=""), "pcg.mesh is 3 : i64; allowed: a mesh"),
    (LOWERED.format(mesh='"x"', ins='["[-]"]', more=""), "cannot read mesh axis 'x'"),
    (LOWERED.format(mesh='"x=2"', ins="[3]", more=""), "pcg.in_specs is [3]; allowed: a list of 1 layouts as text"),
    (LOWERED.format(mesh='"x=2"', ins='["[-"]', more=""), "pcg.in_specs 0: cannot read shard spec '[-'"),
    (LOWERED.format(mesh='"x=2"', ins='["[-, -]"]', more=""), "pcg.in_specs 0: spec [-, -] has 2 dimensions, the tensor has 1"),
    (LOWERED.format(mesh='"x=2"', ins='["[-] sum(x)"]', more=""), "pcg.in_specs 0: arguments are not partial"),
    (LOWERED.format(mesh='"x=2"', ins='["[-]"]', more=", pcg.device_ids = array<i64: 1>"), "allowed: one number per device"),
    (LOWERED.format(mesh='"x=2"', ins='["[-]"]', more=", pcg.global_type = 3"), "pcg.global_type is 3 : i64; allowed: the type of a function"),
    ("module attributes {pcg.processes = [0]} {}", "the module has pcg.processes but no pcg.signature"),
    ("module attributes {pcg.processes = [0], pcg.signature = () -> ()} {}", "process 0 has no program"),
    ("module attributes {mhlo.num_partitions = []} {}", "mhlo.num_partitions is []; allowed: an integer"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), CASES, ids=range(len(CASES)))
def test_refused_where_it_is(text, said, tmp_path):
    path = tmp_path / "a.mlir"
    path.write_text(text)
    for flags in (["--auto-propagate"], ["--dist-verify"], ["--pcg-emulate"]):
        run = opt([str(path), *flags])
        assert run.status == 1 and not run.raised and "internal error" not in run.err, run
        errors = [line for line in run.err.splitlines() if ": error: " in line]
        assert len(errors) == 1 and said in errors[0], run.err


@pytest.mark.parametrize("flags", ["--dist-propagate", "--dist-propagate=engine=priority", "--pcg-search", "--dist-measure", "--pcg-lint"])
def test_parts_of_axes_need_a_refined_mesh(flags, tmp_path):
    path = tmp_path / "a.mlir"
    path.write_text(program(argument='dist.spec = #dist.shard_spec<@mesh, [["y:(1)2"], []], {}>'))
    run = opt([str(path), flags])
    assert "names 'y:(1)2'; the mesh has 'x', 'y' (dist-refine-mesh makes axes" in run.err
    assert opt([str(path), "--dist-refine-mesh", flags]).accepted or flags == "--dist-measure"


def test_checked_again_behind_passes_of_mlir():
    """They know nothing of layouts, and may change the number of results that a list of them is about."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(program(op=f"dist.operand_specs = [{SPEC}, {SPEC}]"))
        with pytest.raises(PcgError, match="'stablehlo.tanh' has 1 operands but 2 entries in dist.operand_specs"):
            Pipeline("cse,dist-strip").run(module)


def test_unreduced_arguments_are_refused(tmp_path):
    path = tmp_path / "a.mlir"
    path.write_text(
        'sdy.mesh @m = <["x"=2]>\nfunc.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}], '
        'unreduced={"x"}>}) -> tensor<8xf32> {\n  return %a : tensor<8xf32>\n}\n'
    )
    assert "argument 0 of function 'main' is unreduced over 'x'; allowed: no partial axes" in opt([str(path), "--auto-propagate"]).err


# -- nesting -----------------------------------------------------------------------------------------


def nested(depth):
    """A conditional in a conditional in ..."""
    lines = ["func.func @main(%p: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {"]
    lines += [f'%r{i} = "stablehlo.case"(%p) ({{' for i in range(depth)]
    lines += ["stablehlo.return %x : tensor<8xf32>"]
    for i in range(depth - 1, 0, -1):
        lines += ["}) : (tensor<i32>) -> tensor<8xf32>", f"stablehlo.return %r{i} : tensor<8xf32>"]
    return "\n".join([*lines, "}) : (tensor<i32>) -> tensor<8xf32>", "return %r0 : tensor<8xf32>", "}"])


def test_regions_inside_of_each_other(tmp_path):
    path = tmp_path / "a.mlir"
    path.write_text(nested(DEEPEST + 1))
    assert f"'stablehlo.case' is nested {DEEPEST + 1} regions deep; allowed: {DEEPEST}" in opt([str(path), "--pcg-normalize"]).err
    path.write_text(nested(DEEPEST - 1))
    assert opt([str(path), "--auto-propagate", "--mesh=x=2", "--lower"]).accepted


def test_brackets_beyond_the_parsers_stack(tmp_path):
    path = tmp_path / "a.mlir"
    for text in (nested(20_000), "module {" * 20_000, f"func.func private @f({'tuple<' * 50_000}"):
        path.write_text(text)
        assert "brackets are nested more than 1000 deep" in opt([str(path)]).err
    quoted = f'module attributes {{a.b = "{"(" * 5000}"}} {{}} // {"(" * 5000}\n'
    path.write_text(quoted)
    assert opt([str(path)]).accepted


def test_walking_does_not_recurse():
    with make_context() as context, ir.Location.unknown():
        module = parse_text("module {" * 900 + "}" * 900, context)
        assert sum(1 for _ in walk(module.operation)) >= 900


def calls(count, last, twice=False):
    body = "  %0 = func.call @{0}(%x) : (tensor<8xf32>) -> tensor<8xf32>\n" * (2 if twice else 1)
    names = [f"c{i}" for i in range(count)]
    text = ""
    for name, callee in zip(names, [*names[1:], last], strict=True):
        lines = body.format(callee).replace("%0", "%1", 1)
        text += f"func.func private @{name}(%x: tensor<8xf32>) -> tensor<8xf32> {{\n{lines}  return %1 : tensor<8xf32>\n}}\n"
    end = "func.func private @end(%x: tensor<8xf32>) -> tensor<8xf32> {\n  return %x : tensor<8xf32>\n}\n"
    return text + end


def test_calls_of_calls():
    with make_context() as context, ir.Location.unknown():
        module = load_module(calls(2000, "end"), context)
        inliner = Inliner(module.operation)
        inliner.run()
        assert inliner.inlined == 2000
        with pytest.raises(PcgError, match="recursive call @c0 -> @c1 -> .* cannot be inlined"):
            module = load_module(calls(2000, "c0"), context)
            Inliner(module.operation).run()
        with pytest.raises(PcgError, match=f"become more than {MOST_OPS} ops"):
            module = load_module(calls(40, "end", twice=True), context)
            Inliner(module.operation).run()


def test_the_door_of_the_api():
    with pytest.raises(PcgError, match="has a layout on @other; declared meshes: @mesh"):
        load_module(program(argument="dist.spec = #dist.shard_spec<@other, [[], []], {}>"), make_context())
