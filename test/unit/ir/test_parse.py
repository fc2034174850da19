"""Reading programs: every form, names and lines in locations, and the errors."""

import base64
import io
import re

import pytest
from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo

from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.locations import describe, operation_name, user_frame
from pcg.ir.parse import load_module
from pcg.ir.walk import entry, walk

PLAIN = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
SDY = """module @m {
  sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[1, 0, 2, 3, 4, 5, 6, 7]>
  func.func @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
    // sdy.reshard in a comment, and "sdy.return" in a string, are left alone
    %0 = stablehlo.custom_call @f(%arg0) {backend_config = "sdy.return %x"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {?}]> : tensor<8x4xf32> loc("c")
    %2:2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, []>] manual_axes={"x", "y"} (%arg1: tensor<4x4xf32> loc("b")) {
      %c = stablehlo.constant dense<1.0> : tensor<f32>
      %3 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, []>] manual_axes={} () {
        %d = stablehlo.constant dense<1.0> : tensor<f32>
        sdy.return %d : tensor<f32>
      } : () -> tensor<f32>
      sdy.return %arg1, %c : tensor<4x4xf32>, tensor<f32>
    } : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<f32>)
    return %2#0 : tensor<8x4xf32>
  }
}
"""


def load(source, name=None, **kwargs):
    return load_module(source, make_context(), name, **kwargs)


def names(module):
    return [op.name for op in walk(module.operation)]


DAMAGED = (
    "TUzvUg1NTElSMjQuMC4wZ2l0AAEnCQEFCQ0LAQMTAwMXBQULGwcDHwNnTQsBRgsPCwsTGwsLCxMTCwsPEwsPEwsTCwsTExMTIwsLCwsPCxMTAw"
    "eVjakBCxMTBxcXAsYDBREBA0cFEwUVFwEDAwMFDQ8RSQUXBQsFGRcBBQcDAxcZBRsFHQEDHQMDBUcNBwEDIwMDBUsFHxcBBwcNCQUhFwERBxcB"
    "ExEXARULFwEJEQMHNwM5AzsDBSMFJQUnBSkBA0EJBxcBCxUXAQ0LI2Rpc3Quc2hhcmRfc3BlYzxAbWVzaCwgW1sieCJdXSwge30+ACNkaXN0Ln"
    "Byb2Nlc3NfbWVzaDxbIngiXSwgWzJdLCBbXT4AI2Rpc3Quc2hhcmRfc3BlYzxAbWVzaCwgW1sieCIsICJ4Il1dLCB7fT4AGwMhBRsDEQULBQMB"
    "AwEFAwMDAwR/BQFQCQEHBG8DAQ0DARMLBVEnFQMHBCsDBQsDAzMACUdDNQUDAQMBBwRFAwMFUC0HBwQZAwMHAwcvAAcEMQMBBgMBBQEA7gIrGR"
    "UTFxELDxkNEwsVBRkPCw8VCwsRYnVpbHRpbgBkaXN0AGZ1bmMAc3RhYmxlaGxvAG1vZHVsZQBtZXNoAHJldHVybgBjdXN0b21fY2FsbAAtAGRp"
    "c3Quc3BlYwBib2R5AHN5bV9uYW1lAHZhbHVlAGRpc3QuZW5naW5lAHNlYXJjaABtYWluAHByaXZhdGUAZGlzdC5zcGVjcwBpbl9zcGVjcwBvdX"
    "Rfc3BlY3MAZGlzdC5tYW51YWwACDkJBQEBDTcfAUMlARMBAT1/AQEBAQENASkBAQdX"
)


def test_text_bytes_and_paths(tmp_path):
    path = tmp_path / "model.mlir"
    path.write_text(PLAIN)
    expected = names(load(PLAIN))
    for source in (PLAIN.encode(), path, str(path)):
        assert names(load(source)) == expected


def test_raw_and_portable_bytecode():
    context = make_context()
    module = load_module(PLAIN, context)
    raw = io.BytesIO()
    module.operation.write_bytecode(raw)
    portable = _stablehlo.serialize_portable_artifact_str(str(module), _stablehlo.get_current_version())
    for data in (raw.getvalue(), portable, b"\x10\0\0\0table" + len(portable).to_bytes(4, "little") + portable + b"tail"):
        assert names(load(data)) == names(module)


def test_pretty_sdy_becomes_generic_where_it_stands():
    module = load(SDY, "model.mlir")
    found = [n for n in names(module) if n.startswith("sdy")]
    assert found == [
        "sdy.mesh", "sdy.sharding_constraint", "sdy.manual_computation", "sdy.manual_computation", "sdy.return", "sdy.return",
    ]  # fmt: skip
    assert module.operation.context.allow_unregistered_dialects
    lines = {op.name: describe(op.location) for op in walk(module.operation)}
    assert lines["sdy.mesh"] == "model.mlir:2"
    assert lines["stablehlo.custom_call"] == "model.mlir:5"
    assert lines["func.return"] == "model.mlir:15"
    call = next(op for op in walk(module.operation) if op.name == "stablehlo.custom_call")
    assert call.attributes["backend_config"].value == "sdy.return %x"


def test_generic_text_of_sdy_loads_too():
    module = load(SDY)
    again = load(module.operation.get_asm(print_generic_op_form=True))
    assert names(again) == names(module)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("not mlir", r"model:1:\d+: custom op 'not' is unknown"),
        ("", "model:1:1: the program is empty"),
        ("\n\nmodule {\n  foo\n}", "model:4:3: custom op 'foo' is unknown"),
        ('"foo.bar"() : () -> ()', "model:1:1: unknown operation 'foo.bar'; allowed: func, stablehlo"),
        ('sdy.mesh @m = <["x"=2]>\n"foo.bar"() : () -> ()', "model:2:1: unknown operation 'foo.bar'"),
        ("\n  sdy.all_slice %0", "model:2:3: 'sdy.all_slice' is not supported; allowed: sdy.mesh, "),
        ('sdy.mesh @m = <["x"=2', "model:1:1: '<' is not closed"),
        ("func.func @f(%a: tensor<?x4xf32>) {\n return\n}", "argument 0 of function 'f' is a tensor<?x4xf32>; allowed: "),
        (b"\xff\xfe\x00", "neither MLIR text, MLIR bytecode nor a jax.export artifact"),
        (b"ML\xefRgarbage", "model: cannot read the bytecode"),
        ("no_such_file.mlir", "no_such_file.mlir: no such file"),
    ],
)
def test_errors_say_what_and_where(source, error):
    with pytest.raises(PcgError, match=error if "\\d" in error else re.escape(error)):
        load(source, "model")


@pytest.mark.parametrize(
    "text",
    [
        r'func.func @main() attributes {a.b = "\FFx"} { return }', r'func.func @"\E3ain"() { return }',
        r'func.func @main() attributes {"a.\B2" = 1} { return }',
    ],
)  # fmt: skip
def test_strings_are_utf8(text):
    with pytest.raises(PcgError, match=r"1:\d+: the string .* is not UTF-8"):
        load_module(text, make_context(), "a.mlir")


def test_configurations_of_custom_calls_are_bytes():
    text = r'func.func @main() { stablehlo.custom_call @f() {backend_config = "\FF\00"} : () -> () return }'
    assert load_module(text, make_context())


def test_bytecode_that_mlirs_reader_does_not_survive():
    """Reading this in our own process ends it: what is damaged is read by another one."""
    data = base64.b64decode(DAMAGED)
    with pytest.raises(PcgError, match="cannot read the bytecode: "):
        load_module(data, make_context())


def test_dynamic_results_name_the_op():
    iota = "stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>"
    text = f"func.func @f(%s: tensor<1xi32>) {{\n  %0 = {iota}\n  return\n}}"
    with pytest.raises(PcgError, match=r"result 0 of 'stablehlo.dynamic_iota' is a tensor<\?xi32>"):
        load(text)
    assert load(text, static=False)


def test_locations_point_at_the_users_line():
    inner = 'loc("jit(f)/dot_general"(callsite("f"("model.py":17:15 to :18) at "<module>"("main.py":21:14))))'
    constant = f"stablehlo.constant dense<1> : tensor<i32> {inner}"
    text = f"module {{\n func.func @main() {{\n  %0 = {constant}\n  return\n }}\n}}"
    op = next(o for o in walk(load(text).operation) if o.name == "stablehlo.constant")
    assert describe(op.location) == "model.py:17 (f)"
    assert operation_name(op.location) == "jit(f)/dot_general"
    frame = user_frame(op.location)
    assert (frame.line, frame.column) == (17, 15)
    assert describe(ir.Location.unknown(op.context)) == "<unknown>"


def test_entry():
    assert ir.StringAttr(entry(load(PLAIN)).attributes["sym_name"]).value == "main"
    two = PLAIN.replace("@main", "@g").replace("func.func", "func.func private") + PLAIN.replace("@main", "@h")
    assert ir.StringAttr(entry(load(two)).attributes["sym_name"]).value == "h"
    assert entry(load(PLAIN.replace("main", "a") + PLAIN.replace("main", "b"))) is None
