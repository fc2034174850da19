"""What devices that share processors lose where they meet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pcg.cost import CostModel
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.machine.curve import Curve
from pcg.machine.profile import Profile
from pcg.simulate.host_waits import add_waits
from pcg.simulate.task_graph import Task, TaskGraph

#: As long as they worked, at four devices; next to nothing in pairs.
WAITS = {2: Curve((1.0, 100.0), (1e-6, 1e-4)), 4: Curve((1.0, 100.0), (1.0, 100.0))}


def model(waits=WAITS) -> CostModel:
    profile = Profile("cpu", 4, 0.0, 0.0, 0.0, {}, {}, waits=waits)
    machine = Machine.default()
    return CostModel(
        replace(machine, device=replace(machine.device, profile=profile)), Mesh.parse("data=2,model=2")
    )


def work(seconds: float) -> Task:
    return Task("add", "compute", seconds)


def meet(*axes: str, name: str = "all_reduce") -> Task:
    return Task(name, "collective", 1.0, detail={"axes": axes})


def waits(*tasks: Task, **options) -> list[float]:
    add_waits(TaskGraph(list(tasks)), model(**options))
    return [t.seconds - 1.0 for t in tasks if t.kind == "collective"]


def test_what_is_lost_goes_with_the_work_since_all_last_met():
    everywhere = meet("data", "model")
    assert waits(work(3.0), everywhere, work(5.0), work(2.0), meet("data", "model"), meet("data", "model")) == (
        pytest.approx([3.0, 7.0, 0.0])
    )


def test_pairs_that_meet_are_not_all():
    assert waits(work(3.0), meet("data"), work(4.0), meet("data", "model")) == pytest.approx([3e-6, 7.0])
    assert waits(work(3.0), meet("data", "model"), meet("data")) == pytest.approx([3.0, 0.0])


def test_all_meet_to_permute_in_pairs():
    assert waits(work(3.0), meet("data", name="permute")) == pytest.approx([3.0])


def test_an_iteration_begins_where_the_one_before_ended():
    first, last = meet("data", "model"), meet("data", "model")
    body = TaskGraph([work(2.0), first, work(3.0)], inner="loop")
    loop = Task("while", "loop", 0.0, bodies=(body,), iterations=10)
    add_waits(TaskGraph([work(50.0), loop, last]), model())
    assert first.seconds == pytest.approx(1.0 + 3.0 + 2.0)
    assert last.seconds == pytest.approx(1.0 + 3.0)


def test_a_loop_in_which_nobody_meets_is_all_of_its_turns():
    last = meet("data", "model")
    loop = Task("while", "loop", 0.0, bodies=(TaskGraph([work(2.0), meet("data")], inner="loop"),), iterations=10)
    add_waits(TaskGraph([work(5.0), loop, last]), model())
    assert last.seconds == pytest.approx(1.0 + 5.0 + 10 * 2.0)


def test_branches_begin_where_the_conditional_does():
    there, other = meet("data", "model"), meet("data", "model")
    bodies = tuple(TaskGraph([work(w), c], inner="branch") for w, c in ((1.0, there), (2.0, other)))
    add_waits(TaskGraph([work(4.0), Task("if", "branch", 0.0, bodies=bodies)]), model())
    assert (there.seconds, other.seconds) == (pytest.approx(6.0), pytest.approx(7.0))


def test_nobody_waits_for_a_processor_of_its_own():
    assert waits(work(3.0), meet("data", "model"), waits={}) == [0.0]
