"""Gang scheduling with a clock of its own: nothing waits for ever, limits hold, shares are kept."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.controller.queues import Ticket
from pcg.controller.scheduler import Scheduler


@dataclass
class Clock:
    """Islands that do one program after another."""

    scheduler: Scheduler
    seconds: dict[tuple[str, str], float]
    now: float = 0.0
    free: dict[str, float] = field(default_factory=dict)
    ends: list[Any] = field(default_factory=list)
    order: list[Ticket] = field(default_factory=list)
    used: Counter = field(default_factory=Counter)
    number: Any = field(default_factory=itertools.count)
    end_of: dict[int, float] = field(default_factory=dict)

    def launch(self) -> None:
        for t in self.scheduler.launch():
            self.order.append(t)
            start = max([self.now, *(self.free.get(i, 0.0) for i in t.islands)])
            for island in t.islands:
                begin = max(self.now, self.free.get(island, 0.0))
                self.free[island] = start + self.seconds[t.program, island]
                heapq.heappush(self.ends, (self.free[island], next(self.number), t, island, self.free[island] - begin))
                queue = self.scheduler.queues[island]
                assert queue.in_flight <= queue.cap
                assert queue.memory is None or queue.used <= queue.memory

    def step(self) -> Ticket:
        """The next end of a program on an island."""
        self.now, _, t, island, seconds = heapq.heappop(self.ends)
        self.used[t.client, island] += seconds
        self.scheduler.finished(t, island, seconds)
        return t

    def run(self) -> None:
        self.launch()
        while self.ends:
            self.step()
            self.launch()


@st.composite
def runs(draw: st.DrawFn) -> list[tuple[str, str, tuple[str, ...], int, list[int]]]:
    count = draw(st.integers(1, 25))
    found = []
    for i in range(count):
        islands = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True))
        after = draw(st.lists(st.integers(0, i - 1), max_size=2)) if i else []
        found.append(
            (
                draw(st.sampled_from(["x", "y", "z"])),
                draw(st.sampled_from("pq")),
                tuple(islands),
                draw(st.integers(0, 4)),
                after,
            )
        )
    return found


@settings(max_examples=150, deadline=None)
@given(runs(), st.sampled_from(["fifo", "stride"]), st.integers(1, 3), st.booleans())
def test_every_run_is_launched_after_what_it_reads(work: list, policy: str, cap: int, limited: bool) -> None:
    s = Scheduler(policy, cap)
    for name in "abc":
        s.add_island(name, 5 if limited else None)
    seconds = {(p, i): 1.0 + "pq".index(p) for p in "pq" for i in "abc"}
    clock = Clock(s, seconds)
    tickets: list[Ticket] = []
    for client, program, islands, nbytes, after in work:
        tickets.append(s.submit(client, program, islands, dict.fromkeys(islands, nbytes), [tickets[i] for i in after]))
        if len(tickets) % 3 == 0:
            clock.launch()
    clock.run()
    assert len(clock.order) == len(work) and not s.clients()
    place = {id(t): i for i, t in enumerate(clock.order)}
    for t, (*_, after) in zip(tickets, work, strict=True):
        assert all(place[id(tickets[i])] < place[id(t)] for i in after)
    for name in "abc":
        assert s.queues[name].in_flight == s.queues[name].used == 0
    for client in "xyz":  # programs of a client that share an island keep their order
        own = [t for t in clock.order if t.client == client]
        for a, b in itertools.combinations(own, 2):
            if set(a.islands) & set(b.islands):
                assert a.number < b.number


@pytest.mark.parametrize("weights", [(1, 1, 1, 1), (1, 2, 4, 8)])
@pytest.mark.parametrize("cap", [1, 8])
def test_shares_are_as_weights_say(weights: tuple[int, ...], cap: int) -> None:
    s = Scheduler("stride", cap)
    s.add_island("a")
    seconds = {}
    for i, w in enumerate(weights):
        s.set_weight(f"c{i}", w)
        seconds[f"p{i}", "a"] = [1.0, 3.0, 0.5, 2.0][i]  # programs of unlike length: time is shared, not launches
    clock = Clock(s, seconds)

    def submit(i: int) -> None:
        s.submit(f"c{i}", f"p{i}", ["a"], {})

    for i in range(len(weights)):
        for _ in range(12):
            submit(i)
    clock.launch()
    while clock.now < 6000:
        submit(int(clock.step().client[1:]))
        clock.launch()
    total = sum(clock.used.values())
    for i, w in enumerate(weights):
        assert clock.used[f"c{i}", "a"] / total == pytest.approx(w / sum(weights), rel=0.02)


def test_idle_time_is_not_saved_up() -> None:
    s = Scheduler("stride", 1)
    s.add_island("a")
    clock = Clock(s, {("p", "a"): 1.0})
    for _ in range(100):
        s.submit("early", "p", ["a"], {})
    clock.launch()
    for _ in range(50):
        clock.step()
        clock.launch()
    for _ in range(50):
        s.submit("late", "p", ["a"], {})
    first = len(clock.order)
    clock.run()
    turns = [t.client for t in clock.order[first : first + 40]]
    assert 18 <= turns.count("late") <= 22


def test_fifo_is_the_order_of_submission() -> None:
    s = Scheduler("fifo", 2)
    s.add_island("a")
    clock = Clock(s, {("p", "a"): 1.0})
    for i in range(20):
        s.submit(f"c{i % 3}", "p", ["a"], {})
    clock.run()
    assert [t.number for t in clock.order] == list(range(20))


def test_what_is_wrong_is_said() -> None:
    s = Scheduler()
    s.add_island("a", 10)
    with pytest.raises(MemoryError, match="program p needs 11 bytes per device of island a; allowed: 10 or less"):
        s.submit("c", "p", ["a"], {"a": 11})
    with pytest.raises(ValueError, match="weight 0 of client 'c'; allowed: more than 0"):
        s.set_weight("c", 0)
    with pytest.raises(ValueError, match="0 programs in flight; allowed: 1 or more"):
        Scheduler(cap=0)
    with pytest.raises(ValueError, match="policy 'best'; allowed: fifo, stride"):
        Scheduler("best").add_island("a")
    s.submit("c", "p", ["a"], {"a": 8})
    list(s.launch())
    waits = s.submit("c", "p", ["a"], {"a": 8})
    assert not list(s.launch())
    assert s.why_waiting(waits) == "8 bytes per device on island a, 2 of 10 are free"
    s.withdraw(waits)
    assert not s.clients() and s.why_waiting(waits) == ""


def test_an_island_that_is_removed_takes_its_waiting_runs_along() -> None:
    s = Scheduler(cap=1)
    s.add_island("a")
    s.add_island("b")
    first = s.submit("c", "p", ["a"], {})
    assert list(s.launch()) == [first]
    both, other = s.submit("c", "p", ["a", "b"], {}), s.submit("d", "p", ["b"], {})
    assert s.remove_island("a") == [both]
    assert list(s.launch()) == [other]
    s.finished(first, "a", 1.0)  # of an island that is gone: nothing happens
    assert s.forget("d") == []
