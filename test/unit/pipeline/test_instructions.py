"""Instructions of devices: that they do the step in its schedule's time, in the memory that they say."""

from __future__ import annotations

import dataclasses
import functools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.pipeline.automatic import automatic
from pcg.pipeline.check import check
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.instructions import Free, Instance, Instruction, Instructions, Receive, Run, Send, global_order
from pcg.pipeline.lowering import CAPACITY, lower
from pcg.pipeline.named import NAMED
from pcg.pipeline.placement import placement
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.progress import memory, peaks, planned_peaks
from pcg.pipeline.schedule import Schedule
from pcg.pipeline.step import Buffer, Fragment, Step, Transfer
from support.pipelinerun import interleaved, planned, reference
from support.pipelinesteps import training_step

SIZES = ((1, 1, 2), (2, 1, 3), (4, 1, 9), (2, 2, 4), (4, 2, 8), (2, 3, 4))
CASES = [
    (name, *size)
    for name, (form, _) in NAMED.items()
    for size in SIZES
    if (size[1] == 1) == (form == "linear") and (name == "zb-vpp" or size[1] < 3 or form == "interleaved")
]


@functools.cache
def schedule(name: str, devices: int, chunks: int, microbatches: int, transfer: float = 0.1) -> Schedule:
    form, make = NAMED[name]
    return make(Pipeline.uniform(placement(form, devices, chunks), microbatches, (1, 1.5, 0.7, transfer)))


def linear(microbatches: int = 6, capacity: int = 2, **options: bool) -> Instructions:
    """ZB-H1 on three devices."""
    s = schedule("zb-h1", 3, 1, microbatches)
    return lower(training_step(s.pipeline, **options), s, capacity)


@pytest.mark.parametrize("name, devices, chunks, microbatches", CASES)
def test_named_schedules(name: str, devices: int, chunks: int, microbatches: int) -> None:
    s = schedule(name, devices, chunks, microbatches)
    for options in ({}, {"donate": False, "skip": True}, {"tied": False, "prepare": False, "norm": True}):
        for capacity in (1, CAPACITY):
            step = training_step(s.pipeline, **options)
            found = lower(step, s, capacity)
            check(found, peaks(found))
            assert peaks(found) == tuple(counted(found, d) for d in range(devices))
            assert planned_peaks(found) == counted_in_order(found)
            expected = reference(step)
            assert planned(found) == expected and interleaved(found, microbatches) == expected
            if capacity == CAPACITY:
                assert seconds(found, s.pipeline) <= s.makespan * (1 + 1e-9)


def counted(found: Instructions, device: int) -> int:
    """The peak of a device another way: from where each value is first and last mentioned, and, for those in flight,
    from what their sends have to wait for."""
    step, own = found.step, found.lists[device]
    begin: dict[Instance, int] = dict.fromkeys(found.places[device], 0)
    end: dict[Instance, int] = dict.fromkeys(found.places[device], 0)
    over: dict[Instance, int] = {}
    for place, what in enumerate(own):
        if isinstance(what, Run):
            f = step.fragment[what.fragment]
            over |= {step.instance(old, what.microbatch): place for old, _ in f.aliases}
            used = [step.instance(n, what.microbatch) for n in (*f.reads, *f.writes, *f.accumulates)]
        elif isinstance(what, Free):
            continue
        else:
            used = [(what.buffer, what.microbatch)]
        for instance in used:
            begin.setdefault(instance, place + isinstance(what, Receive))
            end[instance] = max(place, begin[instance])
    end |= {instance: place - 1 for instance, place in over.items()}
    end |= dict.fromkeys(found.results[device], len(own))
    size = [0] * (len(own) + 1)
    for instance, first in begin.items():
        for place in range(first, end[instance] + 1):
            size[place] += step.buffer[instance[0]].bytes
    for name, first, last in in_flight(found, device):
        for place in range(first, last + 1):
            size[place] += step.buffer[name].bytes
    for place, what in enumerate(own):
        if isinstance(what, Run):
            size[place] += step.fragment[what.fragment].workspace
    return max(size)


def counted_in_order(found: Instructions) -> tuple[int, ...]:
    """The peaks of devices another way: values are where slots and channels say that they are."""
    size = {b.name: b.bytes for b in found.step.buffers}
    slots = [{slot: size[name] for (name, _), slot in places.items()} for places in found.places]
    channels: list[dict[int, int]] = [{} for _ in slots]
    peaks = [sum(own.values()) for own in slots]
    for device, what in global_order(found):
        extra = 0
        if isinstance(what, Run):
            f = found.step.fragment[what.fragment]
            extra = f.workspace
            slots[device] |= {slot: size[n] for n, slot in zip(f.writes, what.writes, strict=True)}
            slots[device] |= {slot: size[n] for n, slot in zip(f.accumulates, what.accumulates, strict=True)}
        elif isinstance(what, Send):
            channels[what.peer][what.tag] = slots[device][what.slot]
        elif isinstance(what, Receive):
            slots[device][what.slot] = channels[device].pop(what.tag)
        elif isinstance(what, Free):
            del slots[device][what.slot]
        for d, (own, flying) in enumerate(zip(slots, channels, strict=True)):
            peaks[d] = max(peaks[d], sum(own.values()) + sum(flying.values()) + (extra if d == device else 0))
    return tuple(peaks)


def in_flight(found: Instructions, device: int) -> list[tuple[str, int, int]]:
    """(buffer, from, to) of what is in a channel to a device at most: from the first place of its list that the send
    does not wait for, to the receive.  By vector clocks (Fidge, Mattern, 1988)."""
    count = len(found.lists)
    at, clock = [0] * count, [[-1] * count for _ in found.lists]
    sends: dict[int, list[int]] = {}
    receives: dict[tuple[int, int], list[list[int]]] = {}
    values = []
    for d, what in global_order(found):
        before = [clock[d]]
        if isinstance(what, Send):
            done = receives.setdefault((d, what.peer), [])
            sent = sum(isinstance(w, Send) and w.peer == what.peer for w in found.lists[d][: at[d]])
            if sent >= found.capacity:
                before.append(done[sent - found.capacity])
        elif isinstance(what, Receive):
            before.append(sends[what.tag])
            if d == device:
                values.append((what.buffer, sends[what.tag][device] + 1, at[d]))
        clock[d] = [max(times) for times in zip(*before, strict=True)]
        clock[d][d] = at[d]
        if isinstance(what, Send):
            sends[what.tag] = clock[d]
        elif isinstance(what, Receive):
            receives.setdefault((what.peer, d), []).append(clock[d])
        at[d] += 1
    return values


def seconds(found: Instructions, p: Pipeline) -> float:
    """When the last F, B or W ends if channels block and values arrive some time after they are put into one."""
    step, now = found.step, [0.0] * len(found.lists)
    arrived: dict[Instance, float] = {}
    put: dict[int, float] = {}
    taken: dict[tuple[int, int], list[float]] = {}
    channel: dict[tuple[int, int], int] = {}
    last = 0.0
    times = {"F": p.forward, "B": p.backward, "W": p.weight}
    for d, what in global_order(found):
        if isinstance(what, Run):
            f = step.fragment[what.fragment]
            now[d] = max(now[d], *(arrived.get(step.instance(n, what.microbatch), 0.0) for n in f.reads))
            if f.kind in times:
                now[d] += times[f.kind][f.stage]
                last = max(last, now[d])
        elif isinstance(what, Send):
            number = channel.get((d, what.peer), 0)
            channel[d, what.peer] = number + 1
            if number >= found.capacity:
                now[d] = max(now[d], taken[d, what.peer][number - found.capacity])
            put[what.tag] = now[d]
        elif isinstance(what, Receive):
            now[d] = max(now[d], put[what.tag])
            taken.setdefault((what.peer, d), []).append(now[d])
            arrived[what.buffer, what.microbatch] = put[what.tag] + p.transfer
    return last


def test_memory_is_what_a_person_counts() -> None:
    """Two devices, one microbatch: by hand."""
    p = Pipeline.uniform((0, 1), 1, (1, 1, 1, 0))
    step = training_step(p, tied=False, prepare=False)
    found = lower(step, Schedule.parse(p, ["F0 B0 W0", "F0 B0 W0"]))
    assert [str(i) for i in found.lists[0]] == [
        "Send labels of microbatch 0 to device 1",
        "Run F0 of microbatch 0", "Free tokens of microbatch 0",
        "Send y0 of microbatch 0 to device 1", "Free y0 of microbatch 0",
        "Receive dx1@0 of microbatch 0 from device 1",
        "Run B0 of microbatch 0", "Free kept0 of microbatch 0", "Free dx1@0 of microbatch 0",
        "Run W0 of microbatch 0", "Free rest0 of microbatch 0",
        "Run update0", "Free gradient0",
    ]  # fmt: skip
    # labels are kept; parameters 256, state 512.
    kept = 2 + 256 + 512
    assert memory(found, 0) == [
        kept + 1,
        kept + 1 + 32 + 16 + 2048, kept + 1 + 32 + 16,
        kept + 32 + 16, kept + 32 + 16 + 8,  # dx may be there at once
        kept + 32 + 8,
        kept + 32 + 8 + 64 + 4096, kept + 32 + 8 + 64, kept + 8 + 64,
        kept + 64 + 256 + 8192, kept + 64 + 256,
        kept + 256, kept + 256,
        kept,
    ]  # fmt: skip
    assert peaks(found)[0] == kept + 64 + 256 + 8192


def test_receives_wait_for_the_reader() -> None:
    """GPipe on a slow second device: activations are not received before they are needed, or the channel is full."""
    p = Pipeline((0, 1), 6, (1.0, 10.0), (1.0, 1.0), (1.0, 1.0))
    step = training_step(p, tied=False, prepare=False)
    text = ["F0 F1 F2 F3 F4 F5 " + " ".join(f"BW{i}" for i in range(6))] * 2
    for capacity, most in ((1, 4), (8, 1)):
        found = lower(step, Schedule.parse(p, text), capacity)
        check(found)
        ahead = []
        for place, what in enumerate(found.lists[1]):
            if isinstance(what, Receive) and what.buffer.startswith("y0"):
                until = next(
                    n for n, w in enumerate(found.lists[1][place:]) if isinstance(w, Run) and w.fragment == "F1" and w.microbatch == what.microbatch
                )
                ahead.append(sum(isinstance(w, Run) for w in found.lists[1][place : place + until]))
        assert max(ahead) < most


def test_backward_passes_that_are_not_split() -> None:
    s = schedule("1f1b", 3, 1, 5)
    step = training_step(s.pipeline, split=False)
    found = lower(step, s)
    check(found)
    assert planned(found) == reference(step)
    one = Pipeline.uniform((0,), 2, (1, 1, 1, 0))
    step = training_step(one, split=False)
    check(lower(step, Schedule.parse(one, ["F0 F1 B0 W0 B1 W1"])))
    with pytest.raises(PipelineError, match=r"stage 0 has BW \(BW0\), and the schedule does something else between"):
        lower(step, Schedule.parse(one, ["F0 F1 B0 B1 W0 W1"]))


def test_a_stage_without_parameters() -> None:
    """W of the schedule is nothing there."""
    s = schedule("zb-h1", 3, 1, 5)
    step = training_step(s.pipeline)
    gone = ("gradient1", "parameter1'", "state1'")
    smaller = dataclasses.replace(
        step,
        buffers=tuple(b for b in step.buffers if b.name not in gone),
        fragments=tuple(f for f in step.fragments if f.name not in ("W1", "update1")),
        results=tuple(r for r in step.results if r not in gone),
    )
    found = lower(smaller, s)
    check(found)
    assert planned(found) == reference(smaller)
    assert not any(isinstance(what, Run) and what.fragment == "W1" for what in found.lists[1])


def test_values_that_nothing_reads() -> None:
    """They are freed at once: arguments first of all, results of runs and copies as soon as they are there."""
    p = Pipeline.uniform((0, 1), 1, (1, 1, 1, 0))
    buffers = (Buffer("a", 0, 1), Buffer("x", 0, 1), Buffer("y", 0, 1), Buffer("y1", 1, 1), Buffer("z", 0, 1), Buffer("end", 1, 1))
    fragments = (Fragment("F0", "F", 0, 0, ("x",), ("y", "z")), Fragment("F1", "F", 1, 1, (), ("end",)))
    step = Step(1, 2, buffers, fragments, (Transfer("y", "y1"),), ("a", "x"), ("a", "x"), ())
    found = lower(step, Schedule.parse(p, ["F0 B0 W0", "F0 B0 W0"]))
    check(found)
    assert [str(w).replace(" of microbatch 0", "") for w in found.lists[0]] == [
        "Free a", "Run F0", "Free x", "Free z", "Send y to device 1", "Free y"
    ]  # fmt: skip
    assert [str(w).replace(" of microbatch 0", "") for w in found.lists[1]] == [
        "Run F1", "Free end", "Receive y1 from device 0", "Free y1"
    ]  # fmt: skip
    assert found.slots == (3, 1)  # y goes where the donated a was


def test_what_the_schedule_does_too_soon() -> None:
    p = Pipeline.uniform((0, 1), 1, (1, 1, 1, 0))
    s = Schedule.parse(p, ["F0 B0 W0", "F0 B0 W0"])
    buffers = (Buffer("a", 1, 1), Buffer("a0", 0, 1), Buffer("b", 0, 1))
    fragments = (Fragment("W1", "W", 1, 1, (), ("a",)), Fragment("B0", "B", 0, 0, ("a0",), ("b",)))
    check(lower(Step(1, 2, buffers, fragments, (Transfer("a", "a0"),), results=("b",)), s))
    # F of stage 1 waits for the B of stage 0 in the data flow, and in the schedule that waits for the former.
    fragments = (Fragment("B0", "B", 0, 0, (), ("b",)), Fragment("F1", "F", 1, 1, ("b1",), ("c",)), Fragment("F0", "F", 0, 0, ("c0",), ("d",)))
    buffers = (Buffer("b", 0, 1), Buffer("b1", 1, 1), Buffer("c", 1, 1), Buffer("c0", 0, 1), Buffer("d", 0, 1))
    step = Step(1, 2, buffers, fragments, (Transfer("b", "b1"), Transfer("c", "c0")), results=("d",))
    with pytest.raises(PipelineError, match="device 0 never does Run F0 of microbatch 0: c0 of microbatch 0, which it reads, is not there"):
        lower(step, s)


def test_what_is_written_over_too_soon() -> None:
    p = Pipeline.uniform((0,), 1, (1, 1, 1, 0))
    buffers = tuple(Buffer(n, 0, 1) for n in ("x", "y", "z"))
    fragments = (Fragment("F", "F", 0, 0, ("x",), ("y",), aliases=(("x", "y"),)), Fragment("B", "B", 0, 0, ("x", "y"), ("z",)))
    step = Step(1, 1, buffers, fragments, (), ("x",), ("x",), ("z",))
    with pytest.raises(PipelineError, match="Run F of microbatch 0 writes over x, and Run B of microbatch 0 is after it"):
        lower(step, Schedule.parse(p, ["F0 B0 W0"]))


def changed(found: Instructions, device: int, change) -> Instructions:
    own = list(found.lists[device])
    change(own)
    lists = tuple(tuple(own) if d == device else other for d, other in enumerate(found.lists))
    return dataclasses.replace(found, lists=lists)


def place(own: list[Instruction], text: str) -> int:
    return next(n for n, what in enumerate(own) if str(what) == text)


def drop(text: str):
    return lambda own: own.pop(place(own, text))


def move(text: str, before: str):
    def change(own: list[Instruction]) -> None:
        what = own.pop(place(own, text))
        own.insert(place(own, before), what)

    return change


def edit(text: str, **fields):
    def change(own: list[Instruction]) -> None:
        n = place(own, text)
        own[n] = dataclasses.replace(own[n], **fields)

    return change


def twice(text: str):
    return lambda own: own.insert(place(own, text), own[place(own, text)])


F, B, W = "Run F1 of microbatch 0", "Run B1 of microbatch 0", "Run W1 of microbatch 0"


@pytest.mark.parametrize(
    "change, says",
    [
        (move(B, F), r"device 1, instruction \d+ \(Run B1 of microbatch 0\): kept1 of microbatch 0 is not there yet"),
        (move("Free kept1 of microbatch 0", B), "kept1 of microbatch 0 was freed or written over"),
        (drop("Free kept1 of microbatch 0"), r"kept1 of microbatch 2 goes to slot \d+, which has kept1 of microbatch 0"),
        (drop("Free kept1 of microbatch 5"), "device 1, after its last instruction: kept1 of microbatch 5 was not freed"),
        (twice("Free kept1 of microbatch 0"), r"instruction \d+ \(Free kept1 of microbatch 0\): kept1 of microbatch 0 was freed"),
        (drop("Send y1 of microbatch 0 to device 2"), r"device 1, instruction \d+ \(Send y1 of microbatch 1 .*number 0 on the other side is device 2, instruction \d+ \(Receive y1@2 of microbatch 0"),
        (drop("Receive y0@1 of microbatch 3 from device 0"), "of transfers between the two, number"),
        (drop("Send dx1 of microbatch 5 to device 0"), "Receive dx1@0 of microbatch 5 from device 1.*has no instruction for it"),
        (move("Receive y0@1 of microbatch 1 from device 0", "Receive y0@1 of microbatch 0 from device 0"), r"device 0, instruction \d+ \(Send y0 of microbatch 0 to device 1\): of transfers between the two"),
        (edit("Receive y0@1 of microbatch 1 from device 0", peer=2), "is no such transfer of the step"),
        (edit("Receive y0@1 of microbatch 1 from device 0", tag=9999), "tag 9999 is no such transfer"),
        (edit("Send y1 of microbatch 1 to device 2", buffer="dx1"), "is no such transfer of the step"),
        (drop(W), r"\(Run W1 of microbatch 1\): gradient1 is not there yet"),
        (drop("Run W1 of microbatch 5"), "gradient1 has 5 microbatches of 6"),
        (twice(B), "it has run before"),
        (edit(B, microbatch=77), r"\(Run B1 of microbatch 77\): it runs once per microbatch"),
        (edit(B, fragment="B0"), r"no fragment of this device; allowed: prepare1, F1, B1, W1, update1"),
        (edit(B, reads=()), "0 slots for cast1, kept1, dx2@1"),
        (edit(F, writes=(0, 1)), "goes to slot 0, which has parameter1"),
        (edit(F, writes=(1000, 1)), r"slot 1000 of kept1 of microbatch 0; allowed: 0 to"),
        (edit("Free kept1 of microbatch 0", slot=0), r"kept1 of microbatch 0 is in slot \d+, not in slot 0"),
        (edit(W, begins=False), r"gradient1 is not there yet"),
        (edit("Run W1 of microbatch 1", begins=True), "gradient1 was written before"),
        (move("Run update1", W), "gradient1 is not there yet"),
        (move("Run update1", "Run W1 of microbatch 5"), "gradient1 has 5 microbatches of 6"),
        (move("Run prepare1", "Run B1 of microbatch 5"), "cast1 is not there yet"),
        (lambda own: own.append(Free("parameter1'", None, 0)), "parameter1' is there after the step, so it is not freed"),
        (edit("Run update1", writes=(1, 0)), r"parameter1' goes to slot 1, and is written over parameter1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(change, says: str) -> None:
    with pytest.raises(PipelineError, match=says):
        check(changed(linear(), 1, change))


def test_phases() -> None:
    """Fragments that nothing makes wait for others run before or after all microbatches all the same."""
    p = Pipeline.uniform((0,), 2, (1, 1, 1, 0))
    buffers = [Buffer("x", 0, 1), *(Buffer(n, 0, 1, n == "y") for n in ("y", "a", "b", "p"))]
    fragments = (
        Fragment("first", "prepare", 0, 0, ("p",), ("a",)), Fragment("F", "F", 0, 0, ("x",), ("y",)),
        Fragment("last", "update", 0, 0, ("p",), ("b",)),
    )  # fmt: skip
    step = Step(2, 1, tuple(buffers), fragments, (), ("x", "p"), (), ("a", "b", "y"))
    found = lower(step, Schedule.parse(p, ["F0 B0 W0 F1 B1 W1"]))
    check(found)
    assert [str(w) for w in found.lists[0]] == ["Run first", "Run F of microbatch 0", "Run F of microbatch 1", "Run last"]
    with pytest.raises(PipelineError, match=r"instruction 1 \(Run first\): a fragment of kind prepare after one of micro"):
        check(changed(found, 0, move("Run first", "Run F of microbatch 1")))
    with pytest.raises(PipelineError, match="a fragment of kind F after one of update"):
        check(changed(found, 0, move("Run last", "Run F of microbatch 1")))


def test_circles_of_waits_are_found() -> None:
    """Each of three devices receives before it sends: no two of them disagree, and nobody begins."""
    buffers, fragments, transfers = [], [], []
    for d in range(3):
        buffers += [Buffer(f"a{d}", d, 1, False), Buffer(f"copy{d}", (d + 1) % 3, 1, False), Buffer(f"b{d}", d, 1, False)]
        transfers.append(Transfer(f"a{d}", f"copy{d}"))
        fragments.append(Fragment(f"prepare{d}", "prepare", d, d, (f"copy{(d - 1) % 3}",), (f"b{d}",)))
    arguments, results = ("a0", "a1", "a2"), ("b0", "b1", "b2")
    step = Step(1, 3, tuple(buffers), tuple(fragments), tuple(transfers), arguments, (), results)
    found = lower(step, schedule("zb-h1", 3, 1, 1))
    check(found)
    assert [type(w) for w in found.lists[0]] == [Send, Receive, Run, Free]
    for d in range(3):
        found = changed(found, d, lambda own: own.insert(0, own.pop(1)))
    with pytest.raises(PipelineError, match=r"wait for each other: device 0, instruction 0 \(Receive copy2 from device 2\);"):
        check(found)


def test_order_and_limits() -> None:
    found = linear()
    with pytest.raises(PipelineError, match=r"order has \d+ instructions of device \d; allowed: as its list, \d+"):
        check(dataclasses.replace(found, order=found.order[:-1]))
    with pytest.raises(PipelineError, match=r"device 2, instruction \d+ \(Receive .*\) waits where order has it"):
        check(dataclasses.replace(found, order=tuple(sorted(found.order, reverse=True))))
    peak = peaks(found)
    check(found, max(peak))
    with pytest.raises(PipelineError, match=rf"device 1, instruction \d+ \(Run .*\): \d+ bytes, of {peak[1]} at most; the limit is {peak[1] - 1}"):
        check(found, (peak[0], peak[1] - 1, peak[2]))
    with pytest.raises(PipelineError, match="memory limits of 2 devices; allowed: one, or one per device, 3"):
        check(found, (1, 2))


@st.composite
def mutations(draw: st.DrawFn):
    """Some other instructions, by one change of one list."""
    base = draw(st.sampled_from(("zb-h1", "interleaved", "1f1b")))
    chunks = 1 + (base == "interleaved")
    s = schedule(base, 2, chunks, 4)
    found = lower(training_step(s.pipeline, tied=draw(st.booleans())), s, draw(st.integers(1, 2)))
    device = draw(st.integers(0, 1))
    size = len(found.lists[device])
    at, other = draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))
    kind = draw(st.sampled_from(("swap", "move", "drop", "twice", "slot", "begins", "microbatch")))
    order = list(found.order)

    def change(own: list[Instruction]) -> None:
        what = own[at]
        if kind == "swap":
            own[at], own[other] = own[other], own[at]
        elif kind == "move":
            own.insert(other, own.pop(at))
        elif kind == "drop":
            del own[at]
            del order[[n for n, d in enumerate(order) if d == device][at]]
        elif kind == "twice":
            own.insert(other, what)
            order.insert([n for n, d in enumerate(order) if d == device][at], device)
        elif kind == "slot" and not isinstance(what, Run):
            own[at] = dataclasses.replace(what, slot=other % found.slots[device])
        elif kind == "begins" and isinstance(what, Run):
            own[at] = dataclasses.replace(what, begins=not what.begins)
        elif kind == "microbatch":
            own[at] = dataclasses.replace(what, microbatch=other % 4)

    return dataclasses.replace(changed(found, device, change), order=tuple(order)), found


@settings(max_examples=300, deadline=None)
@given(mutations(), st.integers(0, 1000))
def test_what_passes_is_right(case: tuple[Instructions, Instructions], seed: int) -> None:
    """Instructions with a random change either fail the check or still do the step, at any speed."""
    found, before = case
    try:
        check(found)
    except PipelineError:
        assert found != before
        return
    expected = reference(found.step)
    assert planned(found) == expected and interleaved(found, seed) == expected


def costs(count: int):
    return st.lists(st.floats(0.5, 4), min_size=count, max_size=count).map(tuple)


@st.composite
def pipelines(draw: st.DrawFn) -> Schedule:
    form = draw(st.sampled_from(("linear", "interleaved", "v")))
    device = placement(form, draw(st.integers(1, 4)), 1 if form == "linear" else draw(st.integers(2, 3)))
    times = [draw(costs(len(device))) for _ in range(3)]
    p = Pipeline(device, draw(st.integers(1, 6)), *times, draw(st.floats(0, 1)))
    return automatic(p, effort="quick")


@settings(max_examples=15, deadline=None)
@given(pipelines(), st.integers(1, 3), st.sets(st.sampled_from(("donate", "tied", "skip", "norm"))), st.integers(0, 1000))
def test_any_schedule(s: Schedule, capacity: int, options: set[str], seed: int) -> None:
    step = training_step(s.pipeline, **{name: name in options for name in ("donate", "tied", "skip", "norm")})
    found = lower(step, s, capacity)
    check(found, peaks(found))
    assert peaks(found) == tuple(counted(found, d) for d in range(step.devices))
    assert planned_peaks(found) == counted_in_order(found)
    assert all(inner <= most for inner, most in zip(planned_peaks(found), peaks(found), strict=True))
    expected = reference(step)
    assert planned(found) == expected and interleaved(found, seed) == expected


def test_steps_and_schedules_that_do_not_fit() -> None:
    s = schedule("zb-h1", 3, 1, 6)
    step = training_step(s.pipeline)
    for other, says in (
        (schedule("zb-h1", 3, 1, 5), "a step of 6 microbatches on 3 devices; allowed: as the schedule, 5 on 3"),
        (schedule("zb-h1", 4, 1, 6), "a step of 6 microbatches on 3 devices; allowed: as the schedule, 6 on 4"),
    ):
        with pytest.raises(PipelineError, match=re.escape(says)):
            lower(step, other)
    two = Pipeline.uniform((0, 1, 2, 0, 1, 2), 6, (1, 1, 1, 0))
    with pytest.raises(PipelineError, match=r"fragment F3 of stage 3 on device 0; its stages: \[0\]"):
        lower(training_step(two), s)
    with pytest.raises(PipelineError, match="channels of capacity 0; allowed: 1 or more"):
        lower(step, s, 0)
