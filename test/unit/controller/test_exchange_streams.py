"""Streams of programs that exchange rows: what belongs together, and what is waited for on the host."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pcg.controller.stream_use import after_exchanges, exchanges, most_bytes
from pcg.controller.streams import Call, Collect, Dispatch, IslandProgram, StreamError
from pcg.driver.island_program import Boundary, ExchangeBoundary, lower_program
from pcg.driver.program import Leaf
from pcg.layout import Mesh, ShardSpec


def leaf(*shape: int, element: str = "f32") -> Leaf:
    return Leaf("", shape, element)


def program(shards: int = 2, tokens: int = 8) -> IslandProgram:
    """Rows of `left` go to `right` and back; then a value goes from `right` to `left` as messages do."""
    left, right = Mesh.of({"data": shards}), Mesh.of({"expert": shards})
    rows, there = ShardSpec.of([["data"], []]), ShardSpec.of([["expert"], [], []])
    by, counts = ShardSpec.of([["data"]]), ShardSpec.of([["expert"], []])
    leaves = [
        leaf(tokens, 4), leaf(tokens, element="i32"), leaf(shards, tokens, 4), leaf(shards, shards, element="i32"),
        leaf(shards, tokens, 4), leaf(tokens, 4), leaf(4), leaf(4),
    ]  # fmt: skip
    nodes: list[Any] = [
        ExchangeBoundary("r", [0, 1], [2, 3], [("l", rows), ("l", by)], [there, counts], False, False, "file.py:3"),
        Boundary("expert", "r", [2], [4, 6], [there], [there, ShardSpec.of([[]])]),
        ExchangeBoundary("l", [4, 3, 1], [5], [("r", there), ("r", counts), ("l", by)], [rows], True, False),
        Boundary("end", "l", [6], [7], [ShardSpec.of([[]])], [ShardSpec.of([[]])]),
    ]  # fmt: skip
    devices = range(shards)
    slices = {"l": ("podA", left, devices), "r": ("podB", right, devices)}
    found, _ = lower_program("main", leaves, {0: ("l", rows), 1: ("l", by)}, [0, 1], nodes, [5, 7], slices)
    return found


def changed(own: IslandProgram, island: str, kind: type, **fields: Any) -> IslandProgram:
    """With another field in the first instruction of a kind."""
    stream = own.streams[island]
    place = next(i for i, what in enumerate(stream.instructions) if isinstance(what, kind))
    new = list(stream.instructions)
    new[place] = replace(new[place], **fields)  # type: ignore[type-var]
    return replace(own, streams={**own.streams, island: replace(stream, instructions=tuple(new))})


def test_the_size_of_a_program_does_not_depend_on_shards() -> None:
    small, large = program(), program(512, 1024)
    for own in (small, large):
        own.check()
        assert exchanges(own)
    kinds = [[[type(what) for what in s.instructions] for s in own.streams.values()] for own in (small, large)]
    assert kinds[0] == kinds[1]
    assert sum(k.count(Dispatch) for k in kinds[0]) == sum(k.count(Collect) for k in kinds[0]) == 2
    first = next(what for what in small.streams["podA"].instructions if isinstance(what, Dispatch))
    assert first.source == "file.py:3"


def test_messages_behind_an_exchange_are_waited_for_on_the_host() -> None:
    own = program()
    sends = [what.tag for what in own.streams["podB"].instructions if type(what).__name__ == "Send"]
    assert after_exchanges(own) == frozenset(sends)
    assert len(sends) == 1


def test_memory_has_room_for_all_parcels() -> None:
    own = program()
    rows, received = 8 * 4 * 4 // 2, 8 * 4 * 4
    assert most_bytes(own, "podA", lambda f: 0) >= 3 * rows + rows
    assert most_bytes(own, "podB", lambda f: 0) >= 3 * received + received


def test_ends_that_do_not_belong_together() -> None:
    own = program()
    collect = next(what for what in own.streams["podB"].instructions if isinstance(what, Collect))
    wrong: list[tuple[IslandProgram, str]] = [
        (changed(own, "podA", Dispatch, tag=7), "it has 0 sends; exactly one is needed"),
        (changed(own, "podA", Dispatch, back=True), "it is given by another kind of message"),
        (changed(own, "podB", Collect, origin=collect.values[0]), r"it expects f32\[2,8,4\] .*, and it is f32\[8,4\]"),
        (changed(own, "podB", Collect, writes=collect.writes[:1]), "it reads 0 slots and writes 1"),
        (changed(own, "podA", Dispatch, reads=(1, 1)), r"slot 1 has i32\[8\] on l .*; it takes f32\[8,4\]"),
        (changed(own, "podB", Call, reads=(5,)), "nothing is in slot 5"),
    ]
    for broken, message in wrong:
        with pytest.raises(StreamError, match=message):
            broken.check()
