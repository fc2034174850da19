"""List scheduling on two streams, against schedules worked out by hand."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.simulate.schedule import ScheduleOptions, run
from pcg.simulate.task_graph import COMMUNICATION, COMPUTE, Task, TaskGraph

CORE = Path(__file__).resolve().parents[3] / "python" / "pcg" / "simulate"


class Build:
    """A program, task by task: each reads the results of the tasks named, and writes one value."""

    def __init__(self) -> None:
        self.graph = TaskGraph()
        self.value: dict[str, int] = {}

    def task(self, name: str, seconds: float, *reads: str, kind: str = "compute", size: float = 0.0, **more) -> Build:
        self.value[name] = self.graph.value(size, name)
        streams = (COMMUNICATION,) if kind == "collective" else (COMPUTE,)
        self.graph.tasks.append(
            Task(name, kind, seconds, streams, tuple(self.value[r] for r in reads), (self.value[name],), **more)
        )
        return self

    def sent(self, name: str, seconds: float, *reads: str, **more) -> Build:
        return self.task(name, seconds, *reads, kind="collective", **more)


def spans(done) -> dict[str, tuple[float, float]]:
    return {t.name: (done.start[i], done.finish[i]) for i, t in enumerate(done.graph.tasks)}


def test_a_collective_runs_beside_what_does_not_need_it():
    b = Build().task("a", 1).sent("r", 5, "a").task("b", 3, "a").task("c", 1, "r", "b")
    done = run(b.graph, ScheduleOptions())
    assert spans(done) == {"a": (0, 1), "r": (1, 6), "b": (1, 4), "c": (6, 7)}
    assert (done.seconds, done.compute, done.communication, done.exposed) == (7, 5, 5, 2)


def test_without_overlap_everything_is_in_program_order():
    b = Build().task("a", 1).sent("r", 5, "a").task("b", 3, "a").task("c", 1, "r", "b")
    done = run(b.graph, ScheduleOptions(overlap=False))
    assert spans(done) == {"a": (0, 1), "r": (1, 6), "b": (6, 9), "c": (9, 10)}
    assert (done.seconds, done.exposed) == (10, 5)


def test_what_is_ready_goes_ahead_of_what_waits():
    """Program order has the reader of the collective first; compute does the rest while it waits."""
    b = Build().task("a", 1).sent("r", 4, "a").task("c", 1, "r").task("b", 3, "a")
    assert spans(run(b.graph, ScheduleOptions()))["b"] == (1, 4)
    assert spans(run(b.graph, ScheduleOptions(window=1)))["b"] == (1, 4)
    far = Build().task("a", 1).sent("r", 4, "a").task("c", 1, "r").task("d", 1, "c").task("b", 3, "a")
    assert spans(run(far.graph, ScheduleOptions(window=2)))["b"] == (1, 4)
    assert spans(run(far.graph, ScheduleOptions(window=1)))["b"] == (7, 10)


def test_collectives_wait_for_each_other():
    b = Build().task("a", 1).sent("r", 4, "a").sent("s", 2, "a").task("b", 10, "a").task("c", 1, "s", "r")
    done = run(b.graph, ScheduleOptions())
    assert spans(done)["s"] == (5, 7)
    assert spans(done)["c"] == (11, 12)
    assert done.exposed == 0


def test_gathers_are_not_far_ahead_of_their_readers():
    b = Build()
    for i in range(4):
        b.sent(f"g{i}", 1, grows=True)
    for i in range(4):
        b.task(f"d{i}", 10, f"g{i}", *([f"d{i - 1}"] if i else []))
    found = spans(run(b.graph, ScheduleOptions(ahead=1)))
    assert [found[f"g{i}"][0] for i in range(4)] == [0, 1, 11, 21]
    eager = spans(run(b.graph, ScheduleOptions(ahead=4)))
    assert [eager[f"g{i}"][0] for i in range(4)] == [0, 1, 2, 3]


def test_one_reader_of_many_gathers_does_not_block():
    b = Build().sent("g", 1, grows=True).sent("h", 1, grows=True).task("d", 1, "g", "h")
    assert run(b.graph, ScheduleOptions(ahead=1)).seconds == 3


def loop(iterations: int, body: TaskGraph) -> TaskGraph:
    outer = TaskGraph()
    outer.tasks.append(Task("while", "loop", 0.0, bodies=(body,), iterations=iterations))
    return outer


def test_a_loop_is_its_body_as_often_as_it_runs():
    b = Build().task("a", 1).sent("r", 5, "a").task("b", 3, "a").task("c", 1, "r", "b")
    b.graph.inner = "loop"
    done = run(loop(80, b.graph), ScheduleOptions())
    assert (done.seconds, done.compute, done.communication, done.exposed) == (80 * 7, 80 * 5, 80 * 5, 80 * 2)


@pytest.mark.parametrize("iterations", [1, 2, 7])
def test_a_loop_is_what_it_is_unrolled(iterations: int):
    """Iterations that depend on each other, with nothing to overlap across them."""
    body = Build().task("a", 1).sent("r", 5, "a").task("b", 3, "a").task("c", 1, "r", "b")
    body.graph.inner = "loop"
    unrolled = Build()
    last: tuple[str, ...] = ()
    for i in range(iterations):
        unrolled.task(f"a{i}", 1, *last).sent(f"r{i}", 5, f"a{i}").task(f"b{i}", 3, f"a{i}")
        unrolled.task(f"c{i}", 1, f"r{i}", f"b{i}")
        last = (f"c{i}",)
    one, other = run(loop(iterations, body.graph), ScheduleOptions()), run(unrolled.graph, ScheduleOptions())
    assert one.seconds == other.seconds
    assert (one.compute, one.communication, one.exposed) == (other.compute, other.communication, other.exposed)


def test_a_loop_with_collectives_takes_both_streams():
    body = Build().sent("x", 2).task("y", 1, "x").graph
    body.inner = "loop"
    b = Build().task("a", 1).sent("r", 10, "a")
    b.graph.tasks.append(Task("while", "loop", 0.0, bodies=(body,), iterations=3))
    done = run(b.graph, ScheduleOptions())
    assert (done.start[2], done.finish[2]) == (11, 20)
    quiet = Build().task("y", 1).graph
    quiet.inner = "loop"
    b = Build().task("a", 1).sent("r", 10, "a")
    b.graph.tasks.append(Task("while", "loop", 0.0, bodies=(quiet,), iterations=3))
    done = run(b.graph, ScheduleOptions())
    assert (done.start[2], done.finish[2]) == (1, 4)


def test_of_branches_the_slowest_counts():
    fast, slow = Build().task("x", 1).graph, Build().task("x", 2).sent("r", 3, "x").graph
    fast.inner = slow.inner = "branch"
    outer = TaskGraph()
    outer.tasks.append(Task("if", "branch", 0.0, bodies=(fast, slow)))
    done = run(outer, ScheduleOptions())
    assert (done.seconds, done.compute, done.communication) == (5, 2, 3)


def test_options_are_checked():
    with pytest.raises(ValueError, match="ahead is 0; allowed: 1 or more"):
        ScheduleOptions(ahead=0)


@st.composite
def programs(draw) -> TaskGraph:
    b = Build()
    for i in range(draw(st.integers(1, 12))):
        reads = [f"t{j}" for j in range(i) if draw(st.booleans())]
        seconds = float(draw(st.integers(0, 9)))
        sends = draw(st.booleans())
        (b.sent if sends else b.task)(f"t{i}", seconds, *reads, **({"grows": draw(st.booleans())} if sends else {}))
    return b.graph


@given(programs(), st.integers(1, 4), st.integers(1, 12))
@settings(max_examples=300, deadline=None)
def test_a_schedule_is_between_its_bounds_and_keeps_the_order_of_values(program: TaskGraph, ahead: int, window: int):
    done = run(program, ScheduleOptions(ahead=ahead, window=window))
    work, sent = done.compute, done.communication
    assert max(work, sent) <= done.seconds <= work + sent
    assert done.seconds == pytest.approx(done.exposed + work)  # one of the streams always runs
    writer = {v: t for t, task in enumerate(program.tasks) for v in task.writes}
    for t, task in enumerate(program.tasks):
        assert done.finish[t] - done.start[t] == task.seconds
        assert all(done.finish[writer[v]] <= done.start[t] for v in task.reads)
    for stream in (COMPUTE, COMMUNICATION):
        mine = sorted((done.start[t], done.finish[t]) for t, task in enumerate(program.tasks) if stream in task.streams)
        assert all(a[1] <= b[0] for a, b in zip(mine, mine[1:], strict=False))


def test_the_core_does_not_know_mlir():
    for name in ("task_graph", "schedule", "memory", "trace", "result", "combine_all_reduces", "cpu_order", "host_waits"):
        tree = ast.parse((CORE / f"{name}.py").read_text())
        names = [n for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for n in [node.module or ""]]
        names += [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
        assert not any(n.startswith(("torch_mlir", "pcg.ir")) for n in names), name
