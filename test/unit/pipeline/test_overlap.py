"""Steps that overlap: their lists pass the checker, do what the data flow says, and are refused where they are wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from pcg.pipeline.check import check
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.instructions import Free, Instruction, Instructions, Run, Verdict
from pcg.pipeline.lowering import CAPACITY, lower
from pcg.pipeline.named import NAMED
from pcg.pipeline.overlap import Overlap, Update, before, newest, post_validated, predicted, two_versions
from pcg.pipeline.placement import placement
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.progress import peaks
from pcg.pipeline.schedule import Schedule
from pcg.pipeline.step import DEFERRED, Step
from support.pipelinerun import interleaved, planned, reference
from support.pipelinesteps import training_step


def schedule(name: str, devices: int = 3, microbatches: int = 6) -> Schedule:
    form, make = NAMED[name]
    chunks = 1 if form == "linear" else 2
    return make(Pipeline.uniform(placement(form, devices, chunks), microbatches, (1, 1.5, 0.7, 0.1)))


def update_of(step: Step, norm: bool = True) -> Update:
    """The update of a training step whose fragments `updateN` wait for the number `total`."""
    updates = [f for f in step.fragments if f.name.startswith("update")]
    state = {n: n.removesuffix("'") for n in step.results if n.endswith("'")}
    return Update(step, ("total",) if norm else (), frozenset(f.name for f in updates) if norm else frozenset(), state)


def validated(step: Step) -> Overlap:
    return post_validated(update_of(dataclasses.replace(step, results=(*step.results, "total"))))


@pytest.mark.parametrize("name", ["1f1b", "zb-h1", "zb-h2", "zb-v", "interleaved"])
@pytest.mark.parametrize("capacity", [1, CAPACITY])
def test_overlapping_steps_do_what_their_data_flow_says(name: str, capacity: int) -> None:
    s = schedule(name)
    kept, donated = (training_step(s.pipeline, norm=True, donate=d) for d in (False, True))
    for overlap in (
        validated(kept), two_versions(update_of(kept), (), ()),
        two_versions(update_of(_without_old(training_step(s.pipeline)), norm=False), (), ()),
        two_versions(update_of(_without_old(donated)), (), ()),
    ):  # fmt: skip
        for step in (overlap.step, overlap.finish):
            found = lower(step, s, capacity)
            check(found, peaks(found))
            assert planned(found) == reference(step) and interleaved(found, capacity) == reference(step)
            assert set(overlap.carried) >= set(overlap.finishing.values())


def _without_old(step: Step) -> Step:
    """Without what writes over parameters: microbatches read them during the update."""
    fragments = tuple(
        dataclasses.replace(f, aliases=tuple(p for p in f.aliases if p[0].startswith("state"))) for f in step.fragments
    )
    return dataclasses.replace(step, fragments=fragments)


def test_predicted_updates_wait_for_no_other_device() -> None:
    """The update of a device comes before its part of the norm of all gradients, which waits."""
    s = schedule("zb-h1")
    step = training_step(s.pipeline, norm=True, tied=False, donate=False)
    found = lower(validated(step).step, s)
    own = [w.fragment for w in found.lists[0] if isinstance(w, Run) and w.microbatch is None]
    assert own == ["prepare0", "norm0", "update0", "total"]
    single = [w.fragment for w in lower(step, s).lists[0] if isinstance(w, Run) and w.microbatch is None]
    assert single == ["prepare0", "norm0", "total", "update0"]


def test_the_verdict_is_behind_the_first_forward_passes() -> None:
    s = schedule("1f1b")
    overlap = validated(training_step(s.pipeline, norm=True, donate=False))
    for device, own in enumerate(lower(overlap.step, s).lists):
        place = next(n for n, w in enumerate(own) if isinstance(w, Verdict))
        runs = [w.fragment for w in own[:place] if isinstance(w, Run)]
        assert runs == [f"prepare{device}", *[f"F{device}"] * (3 - device)]
        assert before(f"gradient{device}") in own[place].buffers
        assert predicted("total" if device == 0 else f"total@{device}") in own[place].buffers
        freed = [n for n, w in enumerate(own) if isinstance(w, Free) and w.buffer.endswith("(step before)")]
        assert freed and min(freed) > place


def test_two_versions_of_parameters_and_one_of_other_state() -> None:
    s = schedule("1f1b")
    step = two_versions(update_of(training_step(s.pipeline, norm=True, donate=False)), (), ()).step
    assert [f.name for f in step.fragments if f.kind == DEFERRED] == ["update0", "update1", "update2"]
    for own in lower(step, s).lists:
        runs = [step.fragment[w.fragment].kind for w in own if isinstance(w, Run)]
        assert runs.index("deferred") < min(runs.index("B"), runs.index("W")) and "F" in runs[: runs.index("deferred")]
    plain = two_versions(update_of(training_step(s.pipeline, donate=False), norm=False), (), ())
    assert newest("parameter1") in plain.step.buffer and newest("state1") not in plain.step.buffer
    assert plain.carried["parameter1"] == newest("parameter1") and plain.carried[newest("parameter1")] == "parameter1'"
    assert not plain.finish.fragments
    counter = two_versions(update_of(training_step(s.pipeline, donate=False), norm=False), ("parameter1",), ())
    assert counter.carried["parameter1"] == "parameter1'"


def _edited(found: Instructions, edit: Callable[[list[Instruction]], None]) -> Instructions:
    """The same with another list of device 0, in an order that fits."""
    own = list(found.lists[0])
    edit(own)
    order = list(found.order)
    if len(own) < len(found.lists[0]):
        order.remove(0)
    return dataclasses.replace(found, lists=(tuple(own), *found.lists[1:]), order=tuple(order))


def test_lists_with_a_wrong_verdict_are_refused() -> None:
    s = schedule("1f1b")
    found = lower(validated(training_step(s.pipeline, norm=True, donate=False)).step, s)
    check(found)
    own = found.lists[0]
    place = next(n for n, w in enumerate(own) if isinstance(w, Verdict))
    backward = next(n for n, w in enumerate(own) if isinstance(w, Run) and w.fragment == "B0")
    freed = next(n for n, w in enumerate(own) if isinstance(w, Free) and w.buffer == before("gradient0"))

    def moved(a: int, b: int) -> Callable[[list[Instruction]], None]:
        return lambda found: found.insert(b, found.pop(a))

    for edit, message in (
        (lambda found: found.pop(place), "is there until the verdict on the step before, so it is not freed"),
        (moved(backward, place), "it runs before the verdict on the step before"),
        (moved(freed, place), "is there until the verdict on the step before, so it is not freed"),
        (lambda found: found.insert(place, found[place]), "a verdict with"),
    ):
        with pytest.raises(PipelineError, match=message):
            check(_edited(found, edit))
    with pytest.raises(PipelineError, match=r"the verdict on the step before needs gradient0; allowed: arguments"):
        dataclasses.replace(found.step, verdict=("gradient0",))
