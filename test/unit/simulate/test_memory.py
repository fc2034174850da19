"""Which values share memory, what is alive when, and offsets."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.simulate.memory import Liveness, assign_buffers, best_fit, boxes, packed
from pcg.simulate.peak import peak_values
from pcg.simulate.result import of_run
from pcg.simulate.schedule import ScheduleOptions, run
from pcg.simulate.task_graph import Task, TaskGraph


class Build:
    """A program with arguments, and tasks that write one value each."""

    def __init__(self, *arguments: float, donated: tuple[int, ...] = ()) -> None:
        self.p = TaskGraph(donated=frozenset(donated))
        self.p.arguments = tuple(self.p.value(size) for size in arguments)

    def task(self, size: float, *reads: int, over: tuple[int, ...] = (), must: bool = False, bodies=(), iterations=1) -> int:
        v = self.p.value(size)
        kind = "loop" if bodies else "compute"
        task = Task("t", kind, 1.0, reads=reads, writes=(v,), over={v: over} if over else {}, must=must)
        task.bodies, task.iterations = tuple(bodies), iterations
        self.p.tasks.append(task)
        return v

    def peak(self, *results: int, aliases=None) -> float:
        self.p.results, self.p.aliases = results, aliases or {}
        return run(self.p, ScheduleOptions()).peak


def test_arguments_stay_and_values_die_at_their_last_reader():
    b = Build(100)
    x = b.task(10, 0)
    y = b.task(20, x)
    z = b.task(5, y)
    assert b.peak(z) == 100 + 10 + 20


def test_constants_are_there_from_beginning_to_end():
    b = Build(100)
    x = b.task(10, 0)
    y = b.task(20, x)
    b.p.constants = 1000.0
    b.p.results = (y,)
    for options in (ScheduleOptions(), ScheduleOptions(packed=True)):
        done = run(b.p, options)
        assert done.peak == 100 + 10 + 20 + 1000
        assert ("constants", 1000.0) in [(h.name, h.bytes) for h in peak_values(done)]
    # They are no part of what a step asks its host for.
    assert of_run(done, "step").allocations == (20, 10)


def test_an_elementwise_kernel_writes_over_what_dies():
    b = Build(100)
    x = b.task(10, 0)
    y = b.task(10, x, over=(x,))
    assert b.peak(y) == 110
    b = Build(100)
    x = b.task(10, 0)
    y = b.task(10, x, over=(x,))
    z = b.task(1, x, y)
    assert b.peak(z) == 121  # x is read later


def test_nothing_writes_over_an_argument_that_is_not_donated():
    b = Build(10)
    assert b.peak(b.task(10, 0, over=(0,))) == 20
    b = Build(10, donated=(0,))
    assert b.peak(b.task(10, 0, over=(0,)), aliases={0: 0}) == 10


def test_a_donated_argument_is_there_until_its_last_reader_and_again_for_its_result():
    b = Build(10, donated=(0,))
    x = b.task(4, 0)
    y = b.task(30, x)
    z = b.task(10, y)
    assert b.peak(z, aliases={0: 0}) == 40  # 30 beside the new value; the old one was gone
    b = Build(10, donated=(0,))
    y = b.task(30, 0)
    w = b.task(1, 0, y)
    z = b.task(10, w)
    assert b.peak(z, aliases={0: 0}) == 41


def test_an_update_in_place_copies_what_is_still_read():
    b = Build()
    x = b.task(10)
    y = b.task(10, x, over=(x,), must=True)
    assert b.peak(y) == 10
    b = Build()
    x = b.task(10)
    y = b.task(10, x, over=(x,), must=True)
    z = b.task(1, x, y)
    b.p.results = (z,)
    assert assign_buffers(b.p).copied == {1: 10}
    assert b.peak(z) == 21


def test_a_writer_over_memory_waits_for_its_earlier_readers():
    b = Build()
    x = b.task(10)
    b.task(1, x)
    b.task(10, x, over=(x,), must=True)
    assert assign_buffers(b.p).after == {2: [1]}


def body(*sizes: float) -> TaskGraph:
    """A body with one carry of size 10, which goes through temporaries of these sizes."""
    b = Build(10)
    v = 0
    for size in sizes:
        v = b.task(size, v)
    b.p.results = (b.task(10, v),)
    b.p.inner = "loop"
    return b.p


def test_a_loop_holds_its_carry_once_and_the_temporaries_of_an_iteration():
    b = Build()
    x = b.task(10)
    y = b.task(10, x, over=(x,), must=True, bodies=[body(7, 8)], iterations=5)
    assert b.peak(y) == 10 + 15
    b = Build(10)  # the first value is still needed: the loop has a copy
    y = b.task(10, 0, over=(0,), must=True, bodies=[body(7, 8)], iterations=5)
    assert b.peak(y) == 20 + 15


def test_what_a_loop_hands_on_unchanged_stays_where_it_is():
    inner = Build(10)
    inner.task(3, 0)
    inner.p.inner, inner.p.results = "loop", (0,)
    b = Build(10)  # an argument that stays, read again behind the loop
    y = b.task(10, 0, over=(0,), must=True, bodies=[inner.p], iterations=5)
    b.p.tasks[-1].passed = {y: 0}
    b.task(1, 0)
    z = b.task(2, y)
    assert b.peak(z) == 10 + 3
    assert assign_buffers(b.p).buffer[y] == assign_buffers(b.p).buffer[0]


def test_a_donated_argument_is_not_written_over_while_what_a_loop_hands_on_is_read():
    b = Build(10, donated=(0,))
    y = b.task(10, 0, over=(0,), must=True, bodies=[body()], iterations=5)
    b.p.tasks[-1].passed = {y: 0}
    new = b.task(10, 0, over=(0,))
    last = b.task(1, y, new)
    assert b.peak(new, last, aliases={0: 0}) == 10 + 10 + 1


def test_a_carry_that_is_read_after_its_new_value_is_made_is_copied():
    b = Build(10)
    new = b.task(10, 0)
    b.task(1, 0, new)
    b.p.inner, b.p.results = "loop", (new,)
    placed = assign_buffers(b.p)
    assert placed.buffer[new] >= 0 and placed.final_copies == 10


def test_results_that_are_arguments_or_twice_the_same_are_copies():
    b = Build(10)
    assert b.peak(0) == 20
    b = Build(10)
    x = b.task(5, 0)
    assert b.peak(x, x) == 20


def test_what_is_alive_is_named():
    b = Build(100)
    x = b.task(10, 0)
    y = b.task(20, x)
    b.p.results = (y,)
    done = run(b.p, ScheduleOptions())
    assert done.liveness.values(done.liveness.peak_event) == [(0, 100), (y, 20), (x, 10)]


def alive(*found: tuple[float, int, int], events: int = 0) -> Liveness:
    """Buffers of one value each, with the numbers of the values."""
    at = [0.0] * events
    return Liveness(at, 0.0, 0, {i: (size, [(s, e, i)]) for i, (size, s, e) in enumerate(found)}, [])


def test_offsets_leave_gaps():
    assert best_fit([(4, 0, 2), (4, 2, 4)]) == 4
    assert best_fit([(4, 0, 3), (4, 2, 4)]) == 8
    # The small one lies between the large ones' times and below neither: 3 + 4 although only 6 are alive at once.
    assert best_fit([(4, 0, 2), (3, 1, 5), (3, 4, 6)]) == 7
    assert best_fit([]) == 0


def test_results_have_allocations_of_their_own():
    """From the beginning: what is needed before goes there if it is no larger, and not at the same time."""
    assert packed(alive((4, 0, 2), (4, 3, 6), events=6), [], []) == 4  # neither is a result
    assert packed(alive((4, 0, 2), (4, 3, 6), events=6), [1], []) == 4
    assert packed(alive((5, 0, 2), (4, 3, 6), events=6), [1], []) == 9
    assert packed(alive((4, 0, 4), (4, 3, 6), events=6), [1], []) == 8
    # Of two that fit one goes there; the other into the smaller of two results that holds it.
    assert packed(alive((4, 0, 2), (3, 1, 3), (4, 3, 6), events=6), [2], []) == 7
    assert packed(alive((3, 0, 2), (4, 1, 3), (3, 3, 6), (9, 3, 6), events=6), [2, 3], []) == 12


def test_nothing_goes_where_an_argument_is_but_between_it_and_its_new_value():
    taken = Liveness([0.0] * 6, 0.0, 0, {0: (4.0, [(0, 2, 0), (4, 6, 2)]), 1: (3.0, [(2, 4, 1)])}, [])
    assert packed(taken, [0], []) == 4
    assert packed(alive((4, 0, 2), (3, 2, 4), events=6), [0], []) == 7  # no result is there later


def test_what_a_loop_needs_inside_fits_one_by_one():
    """It is several buffers, no block."""
    found = Liveness([0.0] * 6, 0.0, 0, {0: (2.0, [(3, 6, 0)]), 1: (2.0, [(4, 6, 1)])}, [(4.0, 1, 2)])
    body = boxes(alive((2, 0, 3), (2, 1, 4), events=4), [])
    assert body == [(2, 0, 0.75), (2, 0.25, 1)]
    assert packed(found, [0, 1], [body]) == 4
    assert packed(found, [0, 1], [[(4.0, 0, 1)]]) == 8
    # One after the other in one place, in a loop in a loop, too.
    turns = boxes(alive((2, 0, 2), (2, 2, 4), events=4), [])
    outer = boxes(Liveness([0.0] * 4, 0.0, 0, {}, [(2.0, 1, 3)]), [turns])
    assert outer == [(2, 0.25, 0.5), (2, 0.5, 0.75)]
    assert packed(Liveness([0.0] * 6, 0.0, 0, {}, [(2.0, 1, 2)]), [], [outer]) == 2


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=12))
@settings(max_examples=200, deadline=None)
def test_offsets_take_at_least_what_is_alive_and_at_most_all(found: list[tuple[int, int, int]]):
    spans = [(float(size), s, s + n) for size, s, n in found]
    most = max(sum(size for size, s, e in spans if s <= t < e) for t in range(16))
    top = best_fit(spans)
    assert most <= top <= sum(size for size, _, _ in spans)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=12),
    st.sets(st.integers(0, 11)),
)
@settings(max_examples=200, deadline=None)
def test_a_program_takes_what_is_its_own_and_at_least_what_is_alive(found: list[tuple[int, int, int]], own: set[int]):
    spans = [(size, s, 16 if i in own else s + n) for i, (size, s, n) in enumerate(found)]
    top = packed(alive(*spans, events=16), own, [])
    most = max(sum(size for size, s, e in spans if s <= t < e) for t in range(16))
    assert max(most, sum(size for i, (size, _, _) in enumerate(spans) if i in own)) <= top
    assert top <= sum(size for size, _, _ in spans)


def test_offsets_of_nested_lifetimes_are_perfect():
    spans = [(float(i), i, 20 - i) for i in range(1, 9)]
    assert best_fit(spans) == sum(s for s, _, _ in spans)
    assert all(best_fit(p) == 36 for p in itertools.islice(itertools.permutations(spans), 5))
