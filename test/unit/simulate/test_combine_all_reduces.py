"""Combining all-reduces: what depends on what decides, not the order in which a program was written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pcg.cost import CostModel
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.simulate.combine_all_reduces import combine_all_reduces
from pcg.simulate.task_graph import COMMUNICATION, Task, TaskGraph

MODEL = CostModel(Machine.default(), Mesh.of({"x": 2, "y": 2}))


def reduce(program: TaskGraph, value: int, axes: tuple[str, ...] = ("x",), by: str = "add") -> int:
    new = program.value(8.0)
    detail = {"axes": axes, "type": "f32[2]", "by": by}
    program.tasks.append(
        Task("all_reduce", "collective", 1.0, (COMMUNICATION,), (value,), (new,), bytes=8.0, detail=detail)
    )
    return new


def kernel(program: TaskGraph, *values: int) -> int:
    new = program.value(8.0)
    program.tasks.append(Task("add", "compute", 1.0, reads=values, writes=(new,)))
    return new


def names(program: TaskGraph) -> list[str]:
    return [f"{t.name} {t.detail.get('combined', '')}".strip() for t in program.tasks]


def test_on_cpus_readers_between_two_all_reduces_move_behind_both():
    p = TaskGraph()
    p.arguments = (p.value(8.0), p.value(8.0))
    first = reduce(p, p.arguments[0])
    updated = kernel(p, first)
    made = kernel(p, p.arguments[1])
    last = kernel(p, reduce(p, made))
    p.results = (updated, last)
    combine_all_reduces(p, 100.0, MODEL)  # what overlaps is not made to wait
    assert names(p) == ["all_reduce", "add", "add", "all_reduce", "add"]
    combine_all_reduces(p, 100.0, MODEL, cpu=True)
    assert names(p) == ["add", "all_reduce 2", "add", "add"]
    assert [t.writes[0] for t in p.tasks[2:]] == [updated, last]
    assert p.tasks[1].seconds == 2.0  # one array after the other


def test_other_axes_types_and_reductions_stay_apart():
    for key in ({"axes": ("y",)}, {"by": "maximum"}):
        p = TaskGraph()
        p.arguments = (p.value(8.0), p.value(8.0))
        p.results = (reduce(p, p.arguments[0]), reduce(p, p.arguments[1], **key))
        combine_all_reduces(p, 100.0, MODEL)
        assert names(p) == ["all_reduce", "all_reduce"]


def test_groups_do_not_wait_for_each_other():
    # a and d could be one, and b and c; both together would each need what the other makes.
    p = TaskGraph()
    p.arguments = (p.value(8.0), p.value(8.0))
    a = reduce(p, p.arguments[0])
    c = reduce(p, p.arguments[1], ("y",))
    d = reduce(p, c)
    b = reduce(p, a, ("y",))
    p.results = (d, b)
    combine_all_reduces(p, 100.0, MODEL, cpu=True)
    assert sorted(names(p)) == ["all_reduce", "all_reduce", "all_reduce 2"]
    assert in_order(p)


def in_order(p: TaskGraph) -> bool:
    known = set(p.arguments)
    for t, task in enumerate(p.tasks):
        if not known.issuperset(task.reads) or any(a >= t for a in task.after):
            return False
        known.update(task.writes)
    return True


@given(st.data())
def test_any_program_keeps_its_tasks_and_what_they_depend_on(data):
    p = TaskGraph()
    values = [p.value(8.0), p.value(8.0)]
    p.arguments = tuple(values)
    for _ in range(data.draw(st.integers(1, 12))):
        of = data.draw(st.sampled_from(values))
        kind = data.draw(st.sampled_from(["x", "y", "kernel"]))
        values.append(kernel(p, of, data.draw(st.sampled_from(values))) if kind == "kernel" else reduce(p, of, (kind,)))
        if len(p.tasks) > 1 and data.draw(st.booleans()):
            p.tasks[-1].after = (data.draw(st.integers(0, len(p.tasks) - 2)),)
    p.results = tuple(values)
    made = {v for t in p.tasks for v in t.writes}
    limit = data.draw(st.sampled_from([8.0, 16.0, 100.0]))
    combine_all_reduces(p, limit, MODEL, cpu=data.draw(st.booleans()))
    assert in_order(p)
    assert {v for t in p.tasks for v in t.writes} == made
    assert sum(len(t.writes) for t in p.tasks) == len(made)
    assert all(t.bytes <= limit for t in p.tasks)
