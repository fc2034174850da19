"""Random faults while random programs run: no wrong value, nothing waits for ever, nothing is left behind."""

from __future__ import annotations

import gc
import random
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pcg
from pcg.controller.errors import ResourceError
from pcg.controller.faults import RunError

ISLANDS = ("island0", "island1")


@dataclass(eq=False)
class Known:
    """A future, what it must be, and the islands and clients without which it may be lost."""

    future: Any
    value: np.ndarray
    islands: frozenset[str]
    client: str
    may_be_lost: bool = False


class Chaos:
    """One controller, whose clients call, read, donate and drop, and whose clients and islands come and go."""

    def __init__(self, controller: pcg.Controller, seed: int) -> None:
        self.controller, self.random = controller, random.Random(seed)
        self.programs: dict[str, tuple[Any, Any, Any]] = {}
        self.known: list[Known] = []
        self.faults = 0
        self.read = 0
        self.lost = 0

    def join(self) -> None:
        """A client with a slice on each island; both may be on one while the other is gone."""
        name = f"client{len(self.programs)}-{self.faults}"
        client = self.controller.client(name, weight=self.random.choice([1, 2, 4]), deadline=60)
        one, two = (client.request(2, island=i, shared=True) for i in ISLANDS)
        add, double = one.function(lambda x: x + 1), two.function(lambda x: x * 2 % 1024)
        across = client.program(lambda x, y: (double(add(x)), add(double(y))))
        give = client.program(lambda x: add(x), donate_argnums=0)
        self.programs[name] = add, across, give

    def call(self) -> None:
        name = self.random.choice(list(self.programs))
        add, across, give = self.programs[name]
        kind = self.random.choice(["one", "across", "across", "give"])
        if kind != "one" and len(self.known) >= 2:
            x, y = self.random.sample(self.known, 2)
        else:
            value = np.full(8, self.random.randrange(100), np.float32)
            x = y = Known(value, value, frozenset(), name)
        shared = {"islands": frozenset(ISLANDS), "client": name, "may_be_lost": x.may_be_lost or y.may_be_lost}
        try:
            if kind == "across":
                one, two = across(x.future, y.future)
                self.known.append(Known(one, (x.value + 1) * 2 % 1024, **shared))
                self.known.append(Known(two, y.value * 2 % 1024 + 1, **shared))
            elif kind == "give" and x in self.known and self.alone(x):
                self.known.remove(x)
                self.known.append(Known(give(x.future), x.value + 1, **shared))
            else:
                self.known.append(Known(add(x.future), x.value + 1, **shared))
        except RunError:
            assert shared["may_be_lost"]
        if len(self.known) > 30:
            del self.known[: self.random.randrange(1, 10)]

    def alone(self, x: Known) -> bool:
        return sum(k.future is x.future for k in self.known) == 1

    def look(self) -> None:
        if not self.known:
            return
        k = self.random.choice(self.known)
        self.read += 1
        try:
            found = k.future.result()
        except RunError:
            assert k.may_be_lost
            self.lost += 1
            self.known.remove(k)
            return
        np.testing.assert_array_equal(found, k.value)

    def fault(self) -> None:
        self.faults += 1
        kind = self.random.choice(["client", "island", "island", "donated", "error"])
        if kind == "client" and len(self.programs) > 1:
            name = self.random.choice(list(self.programs))
            del self.programs[name]
            self.controller.clients[name].close()
            for k in self.known:
                k.may_be_lost |= k.client == name or bool(k.islands)  # what it was computed from may be gone
            self.join()
        elif kind == "island":
            name = self.random.choice(ISLANDS)
            for k in self.known:
                k.may_be_lost |= name in k.islands
            self.controller.remove_island(name, "chaos")
            for _ in range(self.random.randrange(4)):
                self.call_without(name)
            self.controller.restart_island(name)
        elif kind == "donated" and self.known:
            name = self.random.choice(list(self.programs))
            x = self.programs[name][0](np.zeros(8, np.float32))
            self.programs[name][2](x)
            with pytest.raises(RunError):
                x.result()
        elif kind == "error":
            with pytest.raises((pcg.ProgramError, TypeError, ValueError)):
                self.programs[self.random.choice(list(self.programs))][0]("no array")

    def call_without(self, island: str) -> None:
        """While an island is gone its slices have no place, which is said, or are on the other one."""
        try:
            self.call()
        except ResourceError as error:
            assert island in str(error) or "no devices" in str(error)

    def run(self, faults: int) -> None:
        self.join()
        self.join()
        while self.faults < faults:
            for _ in range(self.random.randrange(2, 6)):
                self.call()
            self.look()
            if self.random.random() < 0.3:
                self.fault()
        for _ in list(self.known):
            self.look()
        self.known.clear()
        for client in list(self.controller.clients.values()):
            client.close()
        gc.collect()
        self.controller.dispatcher.drain()
        assert not self.controller.dispatcher.store.entries
        assert all(q.in_flight == 0 and not q.waiting for q in self.controller.dispatcher.scheduler.queues.values())
        assert self.controller.resources.utilization() == 0


def chaos(backend: str, seed: int, faults: int) -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with pcg.Controller(2, backend=backend) as controller:
                run = Chaos(controller, seed)
                run.run(faults)
                assert run.read > run.lost > 0
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(timeout=60 + 10 * faults)
    assert not thread.is_alive(), "it hangs"
    if failed:
        raise failed[0]


@pytest.mark.parametrize("seed", [0, 1])
def test_random_faults(seed: int) -> None:
    chaos("embedded", seed, 15)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["embedded", "processes"])
def test_more_random_faults(backend: str) -> None:
    chaos(backend, 2, 100 if backend == "embedded" else 15)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(3, 8))
def test_five_hundred_faults(seed: int) -> None:
    chaos("embedded", seed, 100)
