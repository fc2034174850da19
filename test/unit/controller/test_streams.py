"""Programs on islands compute what they computed before any pass, and streams that do not are refused."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch_mlir import ir

from pcg.controller.streams import (
    Call,
    Copy,
    Free,
    IslandProgram,
    Receive,
    Send,
    Stream,
    StreamError,
    Value,
    order,
    peak_bytes,
)
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh, ShardSpec
from pcg.passes.pcg_assign_islands import AssignIslandsPass
from pcg.passes.pipeline import Pipeline
from pcg.passes.pipelines import Settings, lower_islands
from pcg.rewrite.islands.read import read_program
from support.islandprograms import Drawn, Islands, programs, terms

CONTEXT = make_context()
LEVELS = ("pcg-insert-transfers", "pcg-merge-transfers", "pcg-mark-last-uses")


def lowered(drawn: Drawn, *names: str) -> ir.Module:
    """The module behind some passes; by default behind all."""
    module = load_module(drawn.text(), CONTEXT)
    passes = [AssignIslandsPass(assignment=drawn.assignment), *(names or lower_islands(Settings()))]
    Pipeline(passes).run(module)
    return module


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(0, 100))
def test_streams_compute_what_the_program_does(drawn, seed):
    module = load_module(drawn.text(), CONTEXT)
    expected = terms(module)
    for i in range(len(LEVELS)):
        module = lowered(drawn, *LEVELS[: i + 1])
        assert terms(module) == expected
    program = read_program(lowered(drawn))
    program.check()
    in_order, anyhow = Islands(program), Islands(program)
    assert in_order.run(order(program)) == anyhow.run_anyhow(seed) == expected
    assert in_order.calls == len(drawn.functions)
    assert not any(in_order.channels.values())


@settings(max_examples=30, deadline=None)
@given(programs())
def test_merging_sends_each_value_once_to_an_island(drawn):
    """And never more than without merging."""
    plain, merged = (read_program(lowered(drawn, *names, "pcg-mark-last-uses", "pcg-split-islands")) for names in (LEVELS[:1], LEVELS[:2]))
    count = [sum(isinstance(i, Send) for s in p.streams.values() for i in s.instructions) for p in (plain, merged)]
    assert count[1] <= count[0]
    islands = Islands(merged)
    crossed = set()
    for island, what in order(merged):
        if isinstance(what, Send):
            message = (islands.slots[island][what.slot][0], what.peer)
            assert message not in crossed
            crossed.add(message)
        islands.do(island, what)


@settings(max_examples=30, deadline=None)
@given(programs())
def test_memory(drawn):
    """The peak is the least limit, and no device has more than what its values are together."""
    program = read_program(lowered(drawn))
    peak = max((peak_bytes(program, island) for island in program.streams), default=0)
    assume(peak)
    program.check(peak)
    with pytest.raises(StreamError, match=f"{peak} bytes on a device; the limit is {peak - 1}"):
        program.check(peak - 1)


@settings(max_examples=60, deadline=None)
@given(programs(), st.data())
def test_no_instruction_is_superfluous(drawn, data):
    """Without any one of them, or with one twice, the streams are refused."""
    program = read_program(lowered(drawn))
    places = [
        (island, n) for island, stream in program.streams.items() for n, what in enumerate(stream.instructions)
        if not isinstance(what, Call)  # which functions there are to call is not for the check to say
    ]
    assume(places)
    island, n = data.draw(st.sampled_from(places))
    found = program.streams[island].instructions
    for changed in (found[:n] + found[n + 1 :], found[: n + 1] + found[n:]):
        with pytest.raises(StreamError):
            with_stream(program, island, changed).check()


@settings(max_examples=60, deadline=None)
@given(programs(), st.data())
def test_an_order_that_is_accepted_runs(drawn, data):
    """To its end, with a value in each slot that is read.  Which one, the check does not know: slots are used again."""
    program = read_program(lowered(drawn))
    places = [(i, n) for i, stream in program.streams.items() for n in range(len(stream.instructions) - 1)]
    assume(places)
    island, n = data.draw(st.sampled_from(places))
    found = list(program.streams[island].instructions)
    found[n], found[n + 1] = found[n + 1], found[n]
    changed = with_stream(program, island, found)
    try:
        changed.check()
    except StreamError:
        return
    assert len(Islands(changed).run(order(changed))) == len(program.results)


def with_stream(program: IslandProgram, island: str, instructions) -> IslandProgram:
    stream = replace(program.streams[island], instructions=tuple(instructions))
    return replace(program, streams={**program.streams, island: stream})


# -- by hand -----------------------------------------------------------------------------------------

MESH = Mesh.of({"x": 2})
ONE = ShardSpec.of([["x"]])


def two_islands(a=(), b=(), slots=3, donated=(), results=(("a", 0, 0),), arguments=(("a", 0, 0), ("b", 1, 0))) -> IslandProgram:
    """Argument 0 and value 0 are on slice l of island a, argument 1 and value 1 on slice r of island b."""
    values = (Value((8,), "f32", "l", ONE, 16), Value((8,), "f32", "r", ONE, 16))
    number = {"a": 0, "b": 1}
    streams = {
        island: Stream(
            island, slots, tuple((n, s) for i, n, s in arguments if i == island),
            tuple((n, s) for i, n, s in results if i == island), tuple(instructions),
        )
        for island, instructions in (("a", a), ("b", b))
    }  # fmt: skip
    return IslandProgram(
        "main", {"l": ("a", MESH), "r": ("b", MESH)}, values, tuple(number[i] for i, _, _ in arguments),
        tuple(number[i] for i, _, _ in results), streams, donated,
    )  # fmt: skip


def test_an_exchange():
    program = two_islands(
        [Send(0, 0, "b", 1), Receive(1, 1, "b", 0)], [Send(0, 1, "a", 0), Receive(1, 0, "a", 1)],
        results=(("a", 0, 1), ("b", 1, 1)),
    )  # fmt: skip
    program.check(32)
    assert [i for i, _ in order(program)] == ["a", "b", "b", "a"]
    assert peak_bytes(program, "a") == 32
    assert "a: arguments (0 in slot 0), results (0 in slot 1), 3 slots\n  Send 0 of slot 0 to b" in str(program)


@pytest.mark.parametrize(
    "program, message",
    [
        (two_islands([Receive(1, 1, "b", 0), Send(0, 0, "b", 1), Free(1)], [Receive(1, 0, "a", 1), Send(0, 1, "a", 0), Free(1)]),
         "islands wait for ever: island a, instruction 0 (Receive 1 from b in slot 1); island b, instruction 0"),
        (two_islands(b=[Receive(1, 0, "a", 1)]), "island b, instruction 0 (Receive 0 from a in slot 1): it has 0 sends"),
        (two_islands([Send(0, 0, "b", 1)]), "island a, instruction 0 (Send 0 of slot 0 to b): it has 0 receives"),
        (two_islands([Send(0, 0, "b", 1), Send(0, 0, "b", 1)]), "there is another send with tag 0"),
        (two_islands([Send(0, 0, "b", 0)], [Receive(1, 0, "a", 1)]), "it receives f32[8] on r [x], and f32[8] on l [x] is sent"),
        (two_islands([Send(0, 0, "b", 0)], [Receive(1, 0, "a", 0)]), "f32[8] on l [x] is on a"),
        (two_islands([Send(0, 0, "a", 0), Receive(1, 0, "a", 0)]), "a message to itself"),
        (two_islands([Send(0, 0, "b", 1), Send(0, 1, "b", 1)], [Receive(1, 1, "a", 1), Receive(2, 0, "a", 1)]),
         "island b, instruction 0 (Receive 1 from a in slot 1): a sends 0 before it"),
        (two_islands([Free(0)]), "slot 0 has an argument that is not donated"),
        (two_islands([Free(0)], donated=(0,)), "result 0 is not in slot 0 at the end"),
        (two_islands(donated=(1,)), "island b: slot 0 is not freed"),
        (two_islands([Copy(1, 2, 0)]), "nothing is in slot 1"),
        (two_islands([Copy(0, 0, 0)]), "slot 0 is not empty"),
        (two_islands([Copy(0, 3, 0)]), "slot 3; there are 3"),
        (two_islands([Copy(0, 1, 1)]), "f32[8] on r [x] is on island b"),
        (two_islands([Copy(0, 1, 2)]), "there is no value 2; allowed: 0 to 1"),
        (two_islands([Call("f", "r", (), (), (), ())]), "slice r is not of this island"),
        (two_islands([Call("f", "l", (0,), (1,), (), ())]), "it writes 1 slots and 0 values"),
        (two_islands([Call("f", "l", (0, 0), (), (0,), ())], donated=(0,)), "it donates slot 0, which it reads 2 times"),
        (two_islands([Call("f", "l", (), (1,), (), (1,))]), "it writes a value on slice r"),
        (two_islands(results=(("b", 0, 0), ("b", 0, 0))), "result 0 is 2 times in the streams"),
        (two_islands(arguments=(("a", 0, 0), ("a", 0, 1))), "argument 0 is 2 times in the streams"),
        (two_islands(arguments=(("a", 0, 0), ("b", 2, 0))), "island b has argument 2; the program has 2"),
        (replace(two_islands(), arguments=(1, 1)), "argument 0 is on island a; its layout is on b"),
        (two_islands(donated=(2,)), "donated argument 2; the program has 2"),
        (replace(two_islands(), slices={"l": ("a", MESH)}), "value 1 is on slice r; slices: l"),
        (replace(two_islands(), values=(Value((8,), "f32", "l", ShardSpec.of([["y"]]), 16),)), "value 0: unknown axis 'y'"),
        (replace(two_islands(), streams={"b": two_islands().streams["a"]}), "the stream of island a is under b"),
    ],
    ids=lambda x: x[:40] if isinstance(x, str) else "",
)  # fmt: skip
def test_refused(program, message):
    with pytest.raises(StreamError, match=re.escape(message)):
        program.check()


def test_a_result_takes_over_a_donated_buffer():
    """Its bytes count once; what is not donated, or of another layout, is there beside the result."""
    call = Call("f", "l", (0,), (1,), (), (0,))
    keep = two_islands([call], results=(("a", 0, 1),))
    donate = two_islands([replace(call, donates=(0,))], results=(("a", 0, 1),), donated=(0,))
    assert peak_bytes(keep, "a") == 32 and peak_bytes(donate, "a") == 16
    donate.check(16)
    with pytest.raises(StreamError, match=re.escape("island a, instruction 0 (Call @f on l): 32 bytes on a device; the limit is 31")):
        keep.check(31)


@pytest.mark.parametrize(("takes", "donated", "freed"), [(None, 2, 0), ("", 0, 2), (": 1", 1, 1)])
def test_a_call_takes_over_what_it_may(takes, donated, freed):
    on = "#dist.shard_spec<@s, [[]], {}>"
    own = "" if takes is None else f"takes = array<i64{takes}>, "
    give = f"{{dist.spec = {on}, jax.buffer_donor = true}}"
    module = load_module(f"""
        "dist.mesh"() {{sym_name = "s", value = #dist.process_mesh<["x"], [2], []>}} : () -> ()
        func.func private @f(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        func.func @main(%a: tensor<4xf32> {give}, %b: tensor<4xf32> {give}) -> tensor<4xf32> {{
          %0 = call @f(%a, %b) {{{own}mesh = @s, in_specs = [{on}, {on}], out_specs = [{on}]}}
            : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          return %0 : tensor<4xf32>
        }}""", CONTEXT)
    Pipeline([AssignIslandsPass(assignment={"s": ("a", [0, 1])}), "lower-islands"]).run(module)
    program = read_program(module)
    call, *rest = program.streams["a"].instructions
    assert (len(call.donates), [type(i) for i in rest]) == (donated, [Free] * freed)
    assert peak_bytes(program, "a") == 2 * 16 + (0 if donated else 16)


def test_slices_of_other_devices_take_no_memory():
    """Peaks are per device: slices of an island add up where they have devices in common."""
    for first, peak in ((0, 32), (1, 32), (2, 16)):
        program = two_islands([Copy(0, 1, 1)], results=(("a", 0, 1),), arguments=(("a", 0, 0),))
        program = replace(program, slices={"l": ("a", MESH), "r": ("a", Mesh.of({"x": 2}, [first, first + 1]))}, results=(1,))
        program.check(peak)
        assert peak_bytes(program, "a") == peak


def test_size_does_not_depend_on_the_number_of_shards():
    text = """
    "dist.mesh"() {{sym_name = "l", value = #dist.process_mesh<["x"], [{n}], []>}} : () -> ()
    "dist.mesh"() {{sym_name = "r", value = #dist.process_mesh<["x"], [{n}], []>}} : () -> ()
    func.func private @f(tensor<4096xf32>) -> tensor<4096xf32>
    func.func @main(%x: tensor<4096xf32> {{dist.spec = #dist.shard_spec<@l, [["x"]], {{}}>}}) -> tensor<4096xf32> {{
      %0 = call @f(%x) {{mesh = @r, in_specs = [#dist.shard_spec<@r, [[]], {{}}>], out_specs = [#dist.shard_spec<@r, [["x"]], {{}}>]}} : (tensor<4096xf32>) -> tensor<4096xf32>
      return %0 : tensor<4096xf32>
    }}
    """
    found = []
    for n in (1, 2048):
        module = load_module(text.format(n=n), make_context())
        assignment = {"l": ("a", range(n)), "r": ("b", range(n))}
        Pipeline([AssignIslandsPass(assignment=assignment), *lower_islands(Settings())]).run(module)
        found.append(read_program(module))
    assert [s.instructions for s in found[0].streams.values()] == [s.instructions for s in found[1].streams.values()]
