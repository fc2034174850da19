"""Programs on islands that are parts of this process's devices.  Imports jax.

One thread puts the work of all islands into the queues of their devices, in an order in which each value exists as a
future of jax before it is read.  Devices run what they get in that order, and wait for the data themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from pcg.controller.faults import RunError
from pcg.controller.stream_use import exchanges, last_slot, most_bytes, taken_over
from pcg.controller.streams import Call, Collect, Copy, Dispatch, Free, IslandProgram, Receive, Send, order
from pcg.layout import Mesh
from pcg.runtime import jax_compat
from pcg.runtime.islands.backend import Function, Unfinished
from pcg.runtime.islands.computation import Node, computation, copier, sharding_of
from pcg.runtime.islands.embedded_run import EmbeddedRun
from pcg.runtime.islands.exchange import Receiver, Sender, receiver_of, sender_of
from pcg.runtime.islands.future import Placed
from pcg.runtime.islands.island_queue import Island, wait_for

Act = Callable[[list[Any]], None]


class EmbeddedBackend:
    """Islands that are disjoint parts of this process's devices."""

    def __init__(self) -> None:
        self.islands: dict[str, Island] = {}
        self.exchanged: Counter[str] = Counter()
        self.on_failure: Callable[[str, str], None] | None = None  # this process would be gone, too

    def add_island(self, name: str, devices: Sequence[Any]) -> None:
        self.islands[name] = Island(name, devices)

    def remove_island(self, name: str) -> None:
        del self.islands[name]

    def mesh(self, island: str, mesh: Mesh, numbers: Sequence[int]) -> Any:
        return jax_compat.jax_mesh(mesh, self.devices(island, numbers))

    def devices(self, island: str, numbers: Sequence[int]) -> list[Any]:
        own = self.islands[island].devices
        return [own[i] for i in numbers]

    def load(
        self, program: IslandProgram, functions: Mapping[str, Function], outputs: Sequence[Placed],
        constants: Sequence[Any],
    ) -> EmbeddedProgram:  # fmt: skip
        on = {
            name: (mesh, self.devices(island, mesh.device_ids or range(mesh.size)))
            for name, (island, mesh) in program.slices.items()
        }
        shardings = [sharding_of(v, *on[v.slice]) for v in program.values]
        return EmbeddedProgram(program, functions, shardings, self.islands, outputs, constants, self.exchanged)

    def close(self) -> None:
        self.islands.clear()


class EmbeddedProgram:
    """A program on islands of this process, ready to run.

    Args:
      shardings: of each of the program's values.
      outputs: what each result is.
      constants: the last arguments, which callers do not give.
      exchanged: where to count what exchanges move.
    """

    def __init__(
        self, program: IslandProgram, functions: Mapping[str, Function], shardings: Sequence[Any],
        islands: Mapping[str, Island], outputs: Sequence[Placed], constants: Sequence[Any] = (),
        exchanged: Counter[str] | None = None,
    ) -> None:  # fmt: skip
        self.program, self.name = program, program.name
        self.islands = tuple(program.streams)
        self._islands = islands
        self._shardings = shardings
        self._functions = functions
        self._base: dict[str, int] = {}
        self._slots = 0
        for name, stream in program.streams.items():
            self._base[name] = self._slots
            self._slots += stream.slots
        self.outputs = [
            (placed, program.island_of(v), program.values[v].nbytes)
            for placed, v in zip(outputs, program.results, strict=True)
        ]
        self.nbytes = {
            name: most_bytes(program, name, lambda f: functions[f].workspace) for name in self.islands
        }  # fmt: skip
        self.donated, self.exchanges = program.donated, exchanges(program)
        self._exchanged: Counter[str] = Counter() if exchanged is None else exchanged
        self._acts = self._all()
        self._arguments = [
            (number, base + slot, shardings[program.arguments[number]])
            for base, stream in zip(self._base.values(), program.streams.values(), strict=True)
            for number, slot in stream.arguments
        ]
        first = len(program.arguments) - len(constants)
        self._constants = [jax.device_put(x, shardings[program.arguments[first + i]]) for i, x in enumerate(constants)]
        results = {n: self._base[i] + slot for i, s in program.streams.items() for n, slot in s.results}
        self._results = [results[n] for n in range(len(program.results))]
        self.direct = self._direct()
        self._last = {
            name: -1 if (slot := last_slot(program, name)) < 0 else self._base[name] + slot for name in self.islands
        }  # fmt: skip

    # -- instructions --------------------------------------------------------------------------

    def _all(self) -> list[Act]:
        """The instructions of all islands, in an order for one thread, which does both ends of a message."""
        program = self.program
        between = {}
        for stream in program.streams.values():
            for what in stream.instructions:
                if isinstance(what, Send):
                    between[what.tag] = self._slots
                    self._slots += 1
        place = dict.fromkeys(program.streams, 0)
        donations = {name: taken_over(program, name) for name in program.streams}
        acts = []
        self._act_at: dict[tuple[str, int], Act] = {}
        ends: dict[int, Sender] = {}
        self._ends: dict[int, tuple[Sender, Receiver]] = {}
        for island, what in order(program):
            base = self._base[island]
            if isinstance(what, Dispatch | Collect):  # a run of the program does not use the acts of all islands
                devices = self._islands[island].devices
                if isinstance(what, Dispatch):
                    ends[what.tag] = sender_of(program, what, devices)
                else:
                    self._ends[what.tag] = ends[what.tag], receiver_of(program, what, devices)
                place[island] += 1
                continue
            if isinstance(what, Call):
                acts.append(self._call(island, what, donations[island][place[island]]))
            elif isinstance(what, Copy):
                acts.append(self._copy(base + what.source, base + what.target, what.value))
            elif isinstance(what, Send):
                acts.append(self._copy(base + what.slot, between[what.tag], what.value))
            elif isinstance(what, Receive):
                acts.append(_move(between[what.tag], base + what.slot))
            else:
                acts.append(_free(base + what.slot))
            self._act_at[island, place[island]] = acts[-1]
            place[island] += 1
        return acts

    def _node(self, island: str, what: Call, donated: Sequence[int]) -> Node:
        function = self._functions[what.function]
        sizes = [self.program.values[v].nbytes for v in what.values]
        gang = self.program.slices[what.slice][1].size > 1
        names = self.name, function.name, function.source
        return Node(function.executable(donated), names, sizes, self._islands[island], gang)

    def _call(self, island: str, what: Call, donated: Sequence[int]) -> Act:
        base, run = self._base[island], computation(self._node(island, what, donated))
        reads = tuple(base + s for s in what.reads)
        writes = tuple(base + s for s in what.writes)
        gone = tuple(base + s for s in what.donates if s not in what.writes)

        def call(slots: list[Any]) -> None:
            out = run([slots[i] for i in reads])
            for i in gone:
                slots[i] = None
            for i, x in zip(writes, out, strict=True):
                slots[i] = x

        return call

    def _copy(self, source: int, target: int, value: int) -> Act:
        copy = copier(self._shardings[value], self.program.values[value].shape)

        def act(slots: list[Any]) -> None:
            slots[target] = copy(slots[source])

        return act

    # -- running -------------------------------------------------------------------------------

    def launch(self, arguments: list[Any]) -> tuple[Sequence[Any], Mapping[str, Any]] | Unfinished:
        slots: list[Any] = [None] * self._slots
        if self._constants:
            arguments += self._constants
        for number, slot, sharding in self._arguments:
            x = arguments[number]
            if not isinstance(x, jax.Array) or x.sharding != sharding:
                x = jax.device_put(x, sharding)
            slots[slot] = x
        del arguments
        if self.exchanges:
            run = EmbeddedRun(
                self.program, self._act_at, self._ends, self._base, slots, self._exchanged, self._ended
            )  # fmt: skip
            return run.advance() or run
        for act in self._acts:
            act(slots)
        return self._ended(slots)

    def _ended(self, slots: list[Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """What a run returns, when everything is in the queues."""
        tokens = {}
        for name, slot in self._last.items():
            island = self._islands[name]
            token = island.newest if slot < 0 else slots[slot]
            if token is not None and not isinstance(token, RunError):
                tokens[name] = (token, island)
        return [slots[i] for i in self._results], tokens

    def _direct(self) -> Node | None:
        """The only computation of the program, if all that it does is that."""
        (name, stream), *others = self.program.streams.items()
        calls = [i for i in stream.instructions if not isinstance(i, Free)]
        if others or self._constants or len(calls) != 1 or not isinstance(what := calls[0], Call):
            return None
        slot_of = dict(stream.arguments)
        taken = [slot_of[n] for n in range(len(slot_of))]
        returned = [slot for _, slot in sorted(stream.results)]
        if tuple(taken) != what.reads or tuple(returned) != what.writes:
            return None
        return self._node(name, what, taken_over(self.program, name)[stream.instructions.index(what)])

    def ready(self, token: tuple[Any, Island]) -> bool:
        array, island = token
        if array.is_deleted():
            array = island.newest  # the array was donated to what came later
            return array is None or array.is_deleted() or jax_compat.is_ready(array)
        return jax_compat.is_ready(array)

    def wait(self, token: tuple[Any, Island]) -> None:
        wait_for(*token)


def _move(source: int, target: int) -> Act:
    def move(slots: list[Any]) -> None:
        slots[target], slots[source] = slots[source], None

    return move


def _free(slot: int) -> Act:
    def free(slots: list[Any]) -> None:
        slots[slot] = None

    return free
