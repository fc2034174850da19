"""Which processes the shards of a value go between."""

from __future__ import annotations

from pcg.controller.instructions import Call, Copy, Free, Receive, Send, Stream, Value
from pcg.controller.routes import origins, route, source_slices
from pcg.controller.streams import IslandProgram
from pcg.layout import Mesh, ShardSpec


def test_as_many_devices_send_one_shard_each() -> None:
    found = route((0, 1, 2, 3), 2, (3, 2, 1, 0), 2)
    assert found.aligned and found.sources == (0, 1, 2, 3)
    assert (found.senders, found.receivers) == ((0, 0, 1, 1), (1, 1, 0, 0))
    assert found.between(0, 1) == [0, 1] and found.between(1, 0) == [2, 3] and found.between(0, 0) == []


def test_other_numbers_of_devices_take_it_in_turn() -> None:
    more = route((4, 6), 2, (0, 1, 2, 3), 4)
    assert not more.aligned and more.sources == (0, 1, 0, 1)
    assert more.senders == (2, 3, 2, 3) and more.between(3, 0) == [1, 3]
    fewer = route((0, 1, 2, 3), 1, (5,), 4)
    assert (fewer.senders, fewer.receivers) == ((0,), (1,)) and not fewer.aligned


def test_every_shard_goes_once() -> None:
    for source in (1, 2, 4, 6):
        for target in (1, 2, 4, 8):
            found = route(tuple(range(source)), 1, tuple(range(target)), 2)
            pairs = {(p, q) for p in range(source) for q in range(target)}
            assert sorted(i for p, q in pairs for i in found.between(p, q)) == list(range(target))


def test_where_what_is_sent_comes_from() -> None:
    """Slots are used again, for values of other slices."""
    spec, mesh = ShardSpec.parse("[-]"), Mesh((("x", 1),))
    values = tuple(Value((2,), "f32", slice, spec, 8) for slice in ("a", "b", "c"))
    instructions = (
        Send(0, 0, "right", 2), Copy(0, 1, 1), Send(1, 1, "right", 2), Free(1), Call("f", "b", (0,), (0,), (0,), (1,)),
        Send(0, 2, "right", 2), Receive(1, 3, "right", 0), Send(1, 4, "right", 2),
    )  # fmt: skip
    left = Stream("left", 2, ((0, 0),), (), instructions)
    slices = {"a": ("left", mesh), "b": ("left", mesh), "c": ("right", mesh)}
    program = IslandProgram("p", slices, values, (0,), (), {"left": left})
    assert origins(program, left) == ["a", "a", "b", "", "", "b", "", "a"]
    assert source_slices(program) == {0: "a", 1: "b", 2: "b", 4: "a"}
