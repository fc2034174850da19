"""Paddle's published example of several meshes: two matmuls on two meshes become four programs; and what follows.

W1 is split by columns over processes 0 and 1, W2 by rows over processes 2 and 3.
"""

from __future__ import annotations

import re

import pytest

from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.passes.pipeline import Pipeline
from support.processcheck import Message, check, mesh, spec, split_with

FIRST, SECOND = mesh("first", [0, 1], x=2), mesh("second", [2, 3], x=2)
DOT = "contracting_dims = [1] x [0]"


def two_matmuls(result: str = "") -> str:
    return f"""{FIRST}{SECOND}
func.func @main(%x: tensor<4x8xf32> {{dist.spec = {spec("first", "-,-")}}},
                %w1: tensor<8x16xf32> {{dist.spec = {spec("first", "-,x")}}},
                %w2: tensor<16x6xf32> {{dist.spec = {spec("second", "x,-")}}}) -> (tensor<4x6xf32>{result}) {{
  %h = stablehlo.dot_general %x, %w1, {DOT} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y = stablehlo.dot_general %h, %w2, {DOT} : (tensor<4x16xf32>, tensor<16x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}}"""


def ops(text: str) -> list[str]:
    """Names of the ops in the function of a process, without those in reducers."""
    return [n for n in re.findall(r"^      .*?\"?((?:stablehlo|dist)\.\w+)", text, re.M) if n != "stablehlo.return"]


def test_four_programs():
    whole = check(two_matmuls(f" {{dist.spec = {spec('second', '-,-')}}}"))
    assert sorted(whole.processes) == [0, 1, 2, 3]
    # One shard each, 0 -> 2 and 1 -> 3; nothing else.
    assert whole.messages == [Message(0, 2, (0, 0), (4, 8)), Message(1, 3, (0, 8), (4, 16))]
    for n in (0, 1):
        text = whole.processes[n]
        assert "@main(%arg0: tensor<4x8xf32>" in text and "%arg1: tensor<8x8xf32>" in text
        assert re.findall(r"(dot_general|dist\.\w+|all_\w+|reduce_scatter)\W", text) == ["dot_general", "dist.send"]
    for n in (2, 3):
        text = whole.processes[n]
        assert "@main(%arg0: tensor<8x6xf32>" in text
        assert re.findall(r"(dot_general|dist\.\w+|all_\w+|reduce_scatter)\W", text) == [
            "dist.recv", "dot_general", "all_reduce",
        ]
        assert "pcg.members = array<i64: 2, 3>" in text


@pytest.mark.parametrize("engine", ["global", "bfs", "search"])
def test_other_engines(engine):
    check(two_matmuls(), engine=engine)


def test_uneven_pieces_from_six_to_four():
    """12 columns in shards of 2 on 6 devices, of 3 on 4: every second receiver's shard comes from two senders."""
    whole = check(f"""{mesh("first", range(6), x=6)}{mesh("second", range(6, 10), y=4)}
func.func @main(%x: tensor<4x12xf32> {{dist.spec = {spec("first", "-,x")}}}) -> tensor<4x12xf32> {{
  %a = stablehlo.tanh %x : tensor<4x12xf32>
  %b = "dist.constraint"(%a) {{spec = {spec("second", "-,y")}}} : (tensor<4x12xf32>) -> tensor<4x12xf32>
  %c = stablehlo.exponential %b : tensor<4x12xf32>
  return %c : tensor<4x12xf32>
}}""")
    columns = [(m.sender, m.receiver, m.start[1], m.limit[1]) for m in whole.messages]
    assert columns == [
        (0, 6, 0, 2), (1, 6, 2, 3), (1, 7, 3, 4), (2, 7, 4, 6), (3, 8, 6, 8), (4, 8, 8, 9), (4, 9, 9, 10), (5, 9, 10, 12),
    ]


def test_rows_to_columns():
    whole = check(f"""{mesh("first", [0, 1], x=2)}{mesh("second", [2, 3, 4], y=3)}
func.func @main(%x: tensor<4x6xf32> {{dist.spec = {spec("first", "x,-")}}})
    -> (tensor<4x6xf32> {{dist.spec = {spec("second", "-,y")}}}) {{
  %a = stablehlo.tanh %x : tensor<4x6xf32>
  return %a : tensor<4x6xf32>
}}""")
    assert len(whole.messages) == 6
    assert "stablehlo.concatenate" in whole.processes[2]


def test_copies_share_the_sending():
    """Two holders of the whole send one half each; nobody sends twice as much."""
    whole = check(f"""{FIRST}{SECOND}
func.func @main(%x: tensor<4x6xf32> {{dist.spec = {spec("first", "-,-")}}})
    -> (tensor<4x6xf32> {{dist.spec = {spec("second", "x,-")}}}) {{
  %a = stablehlo.tanh %x : tensor<4x6xf32>
  return %a : tensor<4x6xf32>
}}""")
    assert sorted((m.sender, m.receiver) for m in whole.messages) == [(0, 2), (1, 3)]


ALTERNATING = f"""{FIRST}{SECOND}
func.func @main(%x: tensor<4x8xf32> {{dist.spec = {spec("first", "x,-")}}},
                %w: tensor<8x8xf32> {{dist.spec = {spec("second", "-,x")}}},
                %v: tensor<8x8xf32> {{dist.spec = {spec("first", "x,-")}}}) -> tensor<4x8xf32> {{
  %0 = stablehlo.tanh %x : tensor<4x8xf32>
  %1 = stablehlo.dot_general %0, %w, {DOT} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.dot_general %1, %v, {DOT} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = stablehlo.add %2, %0 : tensor<4x8xf32>
  %4 = stablehlo.dot_general %3, %w, {DOT} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}}"""


def test_alternating_meshes():
    whole = check(ALTERNATING)
    assert re.findall(r"index = (\d) : i64, mesh = @(\w+)", whole.split) == [
        ("0", "first"), ("1", "second"), ("2", "first"), ("3", "second"),
    ]
    # What the first stage keeps for the third does not travel.
    assert whole.split.count("pcg.transfer") == 3


GRADIENTS = f"""{FIRST}{SECOND}
func.func @main(%x: tensor<4x8xf32> {{dist.spec = {spec("first", "-,-")}}},
                %w1: tensor<8x16xf32> {{dist.spec = {spec("first", "-,x")}}},
                %w2: tensor<16x6xf32> {{dist.spec = {spec("second", "x,-")}}},
                %t: tensor<4x6xf32>) -> (tensor<8x16xf32>, tensor<16x6xf32>) {{
  %h = stablehlo.dot_general %x, %w1, {DOT} : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y = stablehlo.dot_general %h, %w2, {DOT} : (tensor<4x16xf32>, tensor<16x6xf32>) -> tensor<4x6xf32>
  %dy = stablehlo.subtract %y, %t : tensor<4x6xf32>
  %dw2 = stablehlo.dot_general %h, %dy, contracting_dims = [0] x [0]
    : (tensor<4x16xf32>, tensor<4x6xf32>) -> tensor<16x6xf32>
  %dh = stablehlo.dot_general %dy, %w2, contracting_dims = [1] x [1]
    : (tensor<4x6xf32>, tensor<16x6xf32>) -> tensor<4x16xf32>
  %dw1 = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0]
    : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  return %dw1, %dw2 : tensor<8x16xf32>, tensor<16x6xf32>
}}"""


def test_gradients_go_the_other_way():
    whole = check(GRADIENTS)
    assert re.findall(r"index = (\d) : i64, mesh = @(\w+)", whole.split) == [
        ("0", "first"), ("1", "second"), ("2", "first"),
    ]
    # h forward, dh backward, a shard each; every weight's gradient is where the weight is.
    assert [(m.sender, m.receiver) for m in whole.messages] == [(0, 2), (1, 3), (2, 0), (3, 1)]
    assert all(m.limit[1] - m.start[1] == 8 for m in whole.messages)
    assert "tensor<8x8xf32> {pcg.limit = array<i64: 8, 8>, pcg.result = 0" in whole.processes[0]
    assert "tensor<8x6xf32> {pcg.limit = array<i64: 8, 6>, pcg.result = 1" in whole.processes[2]


def test_loop_with_collectives_in_a_stage():
    text = f"""{FIRST}{SECOND}
func.func @main(%x: tensor<8x8xf32> {{dist.spec = {spec("first", "x,-")}}},
                %w: tensor<8x8xf32> {{dist.spec = {spec("second", "x,-")}}}) -> tensor<8x8xf32> {{
  %a = stablehlo.tanh %x : tensor<8x8xf32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c, %y = %a) : tensor<i32>, tensor<8x8xf32>
    attributes {{dist.mesh = @second}}
  cond {{
    %n = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.dot_general %y, %w, {DOT} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %u = stablehlo.tanh %z : tensor<8x8xf32>
    stablehlo.return %j, %u : tensor<i32>, tensor<8x8xf32>
  }}
  %b = stablehlo.add %r#1, %a : tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}}"""
    whole = check(text, rtol=1e-4)
    assert "stablehlo.while" in whole.processes[2] and "stablehlo.while" not in whole.processes[0]
    assert re.search(r"all_reduce|reduce_scatter|all_gather", whole.processes[2])


def test_a_mesh_that_contains_another_wins():
    whole = check(f"""{mesh("part", [1, 2], x=2)}{mesh("all", range(4), x=2, y=2)}
func.func @main(%a: tensor<8x8xf32> {{dist.spec = {spec("part", "x,-")}}},
                %b: tensor<8x8xf32> {{dist.spec = {spec("all", "x,y")}}}) -> tensor<8x8xf32> {{
  %0 = stablehlo.multiply %a, %b : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}}""")
    assert re.findall(r"index = 0 : i64, mesh = @(\w+)", whole.split) == ["all"]
    # Process 1 has rows 0-3 and needs their second half: it keeps it.
    assert [(m.sender, m.receiver) for m in whole.messages] == [(1, 0), (2, 3)]


def run(text: str, passes: str = split_with()) -> None:
    Pipeline(passes).run(load_module(text, make_context(), "<test>"))


def test_overlapping_meshes_of_which_none_contains_the_other():
    text = f"""{mesh("a", [0, 1], x=2)}{mesh("b", [1, 2], x=2)}
func.func @main(%a: tensor<8xf32> {{dist.spec = {spec("a", "x")}}},
                %b: tensor<8xf32> {{dist.spec = {spec("b", "x")}}}) -> tensor<8xf32> {{
  %0 = stablehlo.add %a, %b ON : tensor<8xf32>
  return %0 : tensor<8xf32>
}}"""
    with pytest.raises(PcgError, match=r"'stablehlo.add' op has neighbours on @a and @b, which share devices \[1\] while"):
        run(text.replace("ON", ""))
    whole = check(text.replace("ON", "{dist.mesh = @b}"))
    assert [(m.sender, m.receiver) for m in whole.messages] == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("shard_spec<@second", "shard_spec<@third", r"argument 2 of function 'main' has a layout on @third; declared meshes: @first, @second"),
        ("%y = stablehlo.dot_general %h, %w2, " + DOT, "%y = stablehlo.dot_general %h, %w2, " + DOT + " {dist.mesh = @none}",
         r"'stablehlo.dot_general': dist.mesh is @none; declared meshes: @first, @second"),
        ("%y = stablehlo.dot_general %h, %w2, " + DOT,
         f"%y = stablehlo.dot_general %h, %w2, {DOT} {{dist.mesh = @first, dist.specs = [{spec('second', '-,-')}]}}",
         r"'stablehlo.dot_general' op has layouts on @first and @second; allowed: one mesh per op"),
        ("@second, [[\"x\"], []]", "@second, [[\"q\"], []]", "unknown axis 'q'; the mesh has 'x'"),
    ],
    ids=["unknown-mesh", "unknown-mesh-of-op", "two-meshes-of-op", "unknown-axis"],
)  # fmt: skip
def test_bad_input(old, new, message):
    assert old in two_matmuls()
    with pytest.raises(PcgError, match=message):
        run(two_matmuls().replace(old, new))


def test_passes_for_one_mesh_refuse_several():
    for name in ("dist-propagate", "pcg-search", "dist-insert-reshards", "pcg-lower-spmd"):
        with pytest.raises(PcgError, match="the module declares the meshes @first, @second; allowed here: one"):
            run(two_matmuls(), name)


def lowered() -> str:
    module = load_module(two_matmuls(), make_context(), "<test>")
    Pipeline(split_with() + ",pcg-lower-processes").run(module)
    return str(module)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("peer = 0 : i64, start = array<i64: 0, 0>, tag = 0", "peer = 0 : i64, start = array<i64: 0, 0>, tag = 9",
         "deadlock: process 0 waits to give message 0 to process 2; .*process 2 waits for message 9 from process 0"),
        ("peer = 3 : i64", "peer = 2 : i64", "process 3 waits for message 1 from process 1"),
        ("pcg.members = array<i64: 2, 3>", "pcg.members = array<i64: 2, 0>", "process 2 waits for the others in"),
        ("array<i64: 0, 8>, tag = 1 : i64} : (tensor", "array<i64: 0, 7>, tag = 1 : i64} : (tensor", "does not have the shape"),
    ],
    ids=["tag", "peer", "collective", "box"],
)  # fmt: skip
def test_programs_that_do_not_fit_together(old, new, message):
    text = lowered()
    assert old in text
    with pytest.raises(Exception, match=message):
        run(text.replace(old, new, 1), "pcg-emulate-processes")


def test_shards_with_padding():
    """5 rows in blocks of 3 and 2 go to four devices in blocks of 2, 2, 1 and 0."""
    whole = check(f"""{FIRST}{mesh("second", [2, 3, 4, 5], y=4)}
func.func @main(%x: tensor<5x3xf32> {{dist.spec = {spec("first", "x,-")}}})
    -> (tensor<5x3xf32> {{dist.spec = {spec("second", "y,-")}}}) {{
  %a = stablehlo.tanh %x {{dist.specs = [{spec("first", "x,-")}]}} : tensor<5x3xf32>
  %b = "dist.constraint"(%a) {{spec = {spec("second", "y,-")}}} : (tensor<5x3xf32>) -> tensor<5x3xf32>
  %c = stablehlo.exponential %b : tensor<5x3xf32>
  return %c : tensor<5x3xf32>
}}""", engine="global")
    rows = [(m.sender, m.receiver, m.start[0], m.limit[0]) for m in whole.messages]
    assert rows == [(0, 2, 0, 2), (0, 3, 2, 3), (1, 3, 3, 4), (1, 4, 4, 5)]
    assert "-> (tensor<2x3xf32>" in whole.processes[5]
