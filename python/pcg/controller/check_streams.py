"""Whether the streams of a program run it, without waiting for ever, and in how much memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NoReturn

from pcg.controller.instructions import (
    Call,
    Collect,
    Copy,
    Dispatch,
    Free,
    Instruction,
    Receive,
    Send,
    Stream,
    StreamError,
    Streams,
    Value,
)
from pcg.controller.progress import order
from pcg.layout import SpecError


def check(program: Streams, memory: int | None = None) -> None:
    """Raises StreamError, with island, place in its stream and instruction, unless

    - slices, values, streams, arguments and results are consistent, each argument and result being on one island;
    - each receive has one send, of the same value, and the other way round, as have the ends of exchanges;
    - two islands send and receive what goes from one to the other in the same order, and no island waits for ever;
    - what an instruction uses is there, on the slice that it runs on, and what it writes goes to an empty slot;
    - at the end results and arguments that are not donated are there, and nothing else;
    - no device has more than `memory` bytes, if given.
    """
    _check_values(program)
    _check_ends(program)
    _check_messages(program)
    order(program)
    for island, stream in program.streams.items():
        for _ in _Slots(program, stream).run():
            pass
        if memory is not None:
            _check_memory(program, island, memory)


def peak_bytes(program: Streams, island: str) -> int:
    """The most bytes that a device of an island has at once."""
    return max((n for _, n in _bytes(program, island)), default=0)


def _where(island: str, place: int, what: Instruction) -> str:
    return f"island {island}, instruction {place} ({what})"


def _check_values(program: Streams) -> None:
    for n, value in enumerate(program.values):
        if value.slice not in program.slices:
            raise StreamError(f"value {n} is on slice {value.slice}; slices: {', '.join(program.slices) or 'none'}")
        try:
            value.spec.check(program.slices[value.slice][1], value.shape)
        except SpecError as error:
            raise StreamError(f"value {n}: {error}") from None
    used = [*program.arguments, *program.results]
    for stream in program.streams.values():
        for what in stream.instructions:
            if isinstance(what, Call | Dispatch | Collect):
                used += what.values
                used += () if isinstance(what, Call) else [what.target if isinstance(what, Dispatch) else what.origin]
            elif not isinstance(what, Free):
                used.append(what.value)
    if bad := [n for n in used if not 0 <= n < len(program.values)]:
        raise StreamError(f"there is no value {bad[0]}; allowed: 0 to {len(program.values) - 1}")
    if bad := [n for n in program.donated if not 0 <= n < len(program.arguments)]:
        raise StreamError(f"donated argument {bad[0]}; the program has {len(program.arguments)}")


def _check_ends(program: Streams) -> None:
    """Each argument and result is on its island, once."""
    for island, stream in program.streams.items():
        if stream.island != island:
            raise StreamError(f"the stream of island {stream.island} is under {island}", island)
    for what, values in (("argument", program.arguments), ("result", program.results)):
        count: Counter[int] = Counter()
        for island, stream in program.streams.items():
            for n, _ in stream.arguments if what == "argument" else stream.results:
                if not 0 <= n < len(values):
                    raise StreamError(f"island {island} has {what} {n}; the program has {len(values)}", island)
                if (home := program.island_of(values[n])) != island:
                    raise StreamError(f"{what} {n} is on island {island}; its layout is on {home}", island)
                count[n] += 1
        for n in range(len(values)):
            if count[n] != 1:
                raise StreamError(f"{what} {n} is {count[n]} times in the streams; allowed: once")


def _check_messages(program: Streams) -> None:
    """Sends and receives are pairs, of one value, and in one order."""
    sends: dict[tuple[str, str], list[tuple[int, Send | Dispatch]]] = {}
    receives: dict[tuple[str, str], list[tuple[int, Receive | Collect]]] = {}
    tags: set[int] = set()
    for island, stream in program.streams.items():
        for place, what in enumerate(stream.instructions):
            if isinstance(what, Send | Dispatch):
                sends.setdefault((island, what.peer), []).append((place, what))
                if what.tag in tags:
                    text = f"{_where(island, place, what)}: there is another send with tag {what.tag}"
                    raise StreamError(text, island, place)
                tags.add(what.tag)
            elif isinstance(what, Receive | Collect):
                receives.setdefault((what.peer, island), []).append((place, what))
    for pair in dict.fromkeys([*sends, *receives]):
        there, here = sends.get(pair, []), receives.get(pair, [])
        source, target = pair
        own = [place for place, what in (*there, *here) if isinstance(what, Send | Receive)]
        if target == source and own:
            raise StreamError(f"island {source}, instruction {own[0]}: a message to itself", source, own[0])
        count, known = Counter(s.tag for _, s in there), Counter(r.tag for _, r in here)
        for place, receive in here:
            if count[receive.tag] != 1:
                text = f"{_where(target, place, receive)}: it has {count[receive.tag]} sends; exactly one is needed"
                raise StreamError(text, target, place)
        for place, send in there:
            if known[send.tag] != 1:
                text = f"{_where(source, place, send)}: it has {known[send.tag]} receives; exactly one is needed"
                raise StreamError(text, source, place)
        for (_, send), (place, receive) in zip(there, here, strict=True):
            if send.tag != receive.tag:
                raise StreamError(
                    f"{_where(target, place, receive)}: {source} sends {send.tag} before it; allowed: one order",
                    target, place,
                )  # fmt: skip
            if isinstance(send, Dispatch) or isinstance(receive, Collect):
                _check_exchange(program, target, place, send, receive)
                continue
            one, other = program.values[send.value], program.values[receive.value]
            if one != other:
                text = f"{_where(target, place, receive)}: it receives {other}, and {one} is sent"
                raise StreamError(text, target, place)
            if program.island_of(receive.value) != target:
                text = f"{_where(target, place, receive)}: {other} is on {program.island_of(receive.value)}"
                raise StreamError(text, target, place)


def _check_exchange(
    program: Streams, island: str, place: int, send: Send | Dispatch, receive: Receive | Collect
) -> None:
    """The ends of an exchange know the same rows, on both sides."""
    where = _where(island, place, receive)
    if not isinstance(send, Dispatch) or not isinstance(receive, Collect) or send.back != receive.back:
        raise StreamError(f"{where}: it is given by another kind of message ({send})", island, place)
    if (len(receive.reads), len(receive.writes)) != ((1, 1) if receive.back else (0, 2)):
        text = f"{where}: it reads {len(receive.reads)} slots and writes {len(receive.writes)}"
        raise StreamError(text, island, place)
    for one, other in ((send.values[0], receive.origin), (send.target, receive.values[0])):
        if program.values[one] != program.values[other]:
            text = f"{where}: it expects {program.values[other]}, and it is {program.values[one]}"
            raise StreamError(text, island, place)
    rows, result = program.values[receive.origin], program.values[receive.values[0]]
    if rows.dtype != result.dtype:
        raise StreamError(f"{where}: rows of type {rows.dtype} are to be {result.dtype}", island, place)
    for value in (rows, result):
        if not value.shape or any(value.spec.dims[1:]) or len(value.spec.dims[0]) > 1:
            raise StreamError(f"{where}: {value}; allowed: the first dimension over at most one axis", island, place)


class _Slots:
    """What is in the slots of an island while it does its stream."""

    def __init__(self, program: Streams, stream: Stream) -> None:
        self.program, self.stream, self.island = program, stream, stream.island
        self.content: dict[int, int] = {}
        """Slot -> what is in it, an index of `Streams.values`."""
        self.kept: set[int] = set()
        """Slots of arguments that are not donated."""
        self.place: int | None = None

    def run(self) -> Iterator[dict[int, int]]:
        """What is in the slots before the first instruction, and behind each one."""
        for n, slot in self.stream.arguments:
            self._define(slot, self.program.arguments[n])
            if n not in self.program.donated:
                self.kept.add(slot)
        yield dict(self.content)
        for place, what in enumerate(self.stream.instructions):
            self.place = place
            self._do(what)
            yield dict(self.content)
        self.place = None
        for n, slot in self.stream.results:
            if self.content.get(slot) != self.program.results[n]:
                self._fail(f"result {n} is not in slot {slot} at the end")
        there = self.kept | {slot for _, slot in self.stream.results}
        if extra := sorted(self.content.keys() - there):
            self._fail(f"slot {extra[0]} is not freed")

    def _fail(self, message: str) -> NoReturn:
        where = f"island {self.island}" if self.place is None else (
            _where(self.island, self.place, self.stream.instructions[self.place])
        )  # fmt: skip
        raise StreamError(f"{where}: {message}", self.island, self.place)

    def _do(self, what: Instruction) -> None:
        if isinstance(what, Call):
            self._call(what)
        elif isinstance(what, Copy):
            self._use(what.source)
            self._define(what.target, what.value)
        elif isinstance(what, Send):
            self._use(what.slot)
        elif isinstance(what, Dispatch):
            for slot, value in zip(what.reads, what.values, strict=True):
                if (found := self._use(slot)) != self.program.values[value]:
                    self._fail(f"slot {slot} has {found}; it takes {self.program.values[value]}")
        elif isinstance(what, Collect):
            for slot in what.reads:
                self._use(slot)
            if len(what.writes) != len(what.values):
                self._fail(f"it writes {len(what.writes)} slots and {len(what.values)} values")
            for slot, value in zip(what.writes, what.values, strict=True):
                self._define(slot, value)
        elif isinstance(what, Receive):
            self._define(what.slot, what.value)
        else:
            self._remove(what.slot)

    def _call(self, what: Call) -> None:
        if self.program.slices.get(what.slice, (None,))[0] != self.island:
            self._fail(f"slice {what.slice} is not of this island")
        if len(what.writes) != len(what.values):
            self._fail(f"it writes {len(what.writes)} slots and {len(what.values)} values")
        for slot in what.reads:
            if (on := self._use(slot).slice) != what.slice:
                self._fail(f"slot {slot} is on slice {on}")
        for slot in what.donates:
            if what.reads.count(slot) != 1:
                self._fail(f"it donates slot {slot}, which it reads {what.reads.count(slot)} times; allowed: once")
            self._remove(slot)
        for slot, value in zip(what.writes, what.values, strict=True):
            if (on := self.program.values[value].slice) != what.slice:
                self._fail(f"it writes a value on slice {on}")
            self._define(slot, value)

    def _use(self, slot: int) -> Value:
        if slot not in self.content:
            self._fail(f"nothing is in slot {slot}")
        return self.program.values[self.content[slot]]

    def _define(self, slot: int, value: int) -> None:
        if not 0 <= slot < self.stream.slots:
            self._fail(f"slot {slot}; there are {self.stream.slots}")
        if slot in self.content:
            self._fail(f"slot {slot} is not empty")
        if (home := self.program.island_of(value)) != self.island:
            self._fail(f"{self.program.values[value]} is on island {home}")
        self.content[slot] = value

    def _remove(self, slot: int) -> None:
        self._use(slot)
        if slot in self.kept:
            self._fail(f"slot {slot} has an argument that is not donated")
        del self.content[slot]


def _bytes(program: Streams, island: str) -> Iterator[tuple[int | None, int]]:
    """(place, bytes on the device that has most) before the stream of an island, and for each of its instructions."""
    meshes = {name: mesh for name, (own, mesh) in program.slices.items() if own == island}
    devices: dict[int, set[str]] = {}
    for name, mesh in meshes.items():
        for d in mesh.device_ids or range(mesh.size):
            devices.setdefault(d, set()).add(name)
    together = {frozenset(names) for names in devices.values()}
    """Sets of slices that have a device in common: devices of one set have the same values."""

    def most(values: Iterable[int]) -> int:
        per_slice: Counter[str] = Counter()
        for v in values:
            per_slice[program.values[v].slice] += program.values[v].nbytes
        return max((sum(per_slice[name] for name in names) for names in together), default=0)

    stream = program.streams[island]
    states = _Slots(program, stream).run()
    now = next(states)
    yield None, most(now.values())
    for place, what in enumerate(stream.instructions):
        values = [*now.values()]
        if isinstance(what, Call):
            values += _not_in_place(what, [now[s] for s in what.donates])
        elif isinstance(what, Collect):
            values += what.values
        elif not isinstance(what, Send | Dispatch | Free):
            values.append(what.value)
        yield place, most(values)
        now = next(states)


def _not_in_place(what: Call, donated: list[int]) -> list[int]:
    """What a call writes to new buffers: a result takes over the buffer of a donated argument that is like it."""
    free = Counter(donated)
    new = []
    for value in what.values:
        if free[value]:
            free[value] -= 1
        else:
            new.append(value)
    return new


def _check_memory(program: Streams, island: str, memory: int) -> None:
    for place, needed in _bytes(program, island):
        if needed > memory:
            at = f"island {island}, before its first instruction" if place is None else (
                _where(island, place, program.streams[island].instructions[place])
            )  # fmt: skip
            raise StreamError(f"{at}: {needed} bytes on a device; the limit is {memory}", island, place)
