"""One island's part of a program, on devices of this process: each instruction becomes a function on slots.

Imports jax.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from pcg.controller.faults import RunError
from pcg.controller.routes import Route, origins, route
from pcg.controller.stream_use import last_slot, taken_over
from pcg.controller.streams import Call, Collect, Copy, Dispatch, IslandProgram, Receive, Send
from pcg.driver.program import ELEMENT_DTYPES
from pcg.layout import Mesh
from pcg.runtime import jax_compat
from pcg.runtime.device_program import DeviceExecutable, DeviceProgram
from pcg.runtime.inputs import np_dtype
from pcg.runtime.islands.computation import Node, computation, copier, sharding_of
from pcg.runtime.islands.edges import Edges
from pcg.runtime.islands.exchange import Receiver, Sender, receiver_of, sender_of
from pcg.runtime.islands.island_queue import Island
from pcg.runtime.islands.pieces import Absent, is_here
from pcg.runtime.islands.protocol import HostArray, Load

#: Tags of copies between processes, one for each place in a stream; messages have those below.
_COPIES = 1 << 19
#: With the slots of a run, and its number.
Act = Callable[[list[Any], int], None]
#: By the number of a device program, ids of devices and arguments that are taken over.
Executables = dict[tuple[int, tuple[int, ...], tuple[int, ...]], DeviceExecutable]


class StreamRunner:
    """What a `Load` says, ready to run.  Errors in it become the results of runs.

    Args:
      code: device programs by number.
      executables: what XLA compiles of them, once for all programs and calls of the process.
    """

    def __init__(
        self, load: Load, island: Island, edges: Edges, code: Mapping[int, DeviceProgram], executables: Executables
    ) -> None:
        self.program: IslandProgram = load.program
        self.name = self.program.name
        self.stream = self.program.streams[load.island]
        self.load, self._island, self.edges, self._code = load, island, edges, code
        self.deferred: set[int] = set()
        """Tags of what is given only behind an exchange, and so is waited for before it is in a queue."""
        self.senders: dict[int, Sender] = {}
        """Of exchanges, by tag, as `receivers`."""
        self.receivers: dict[int, Receiver] = {}
        self.pulls: dict[int, Any] = {}
        """By tag of a message, how to pull it and what to do with it then."""
        self._on: dict[str, tuple[Mesh, list[Any]]] = {}
        for slice, (where, mesh) in self.program.slices.items():
            own = [island.devices[i] for i in _numbers(load, slice)] if where == load.island else []
            self._on[slice] = mesh, own
        self._several = load.processes[load.island] > 1
        values = self.program.values
        self._shardings = {
            slot: sharding_of(v := values[self.program.arguments[number]], *self._on[v.slice])
            for number, slot in self.stream.arguments
        }
        self._constants = {
            number: _on_devices(load.constants[number], self._shardings[slot])
            for number, slot in self.stream.arguments if number in load.constants
        }  # fmt: skip
        self._executables = executables
        self.last = last_slot(self.program, load.island)
        donations = taken_over(self.program, load.island)
        sources = origins(self.program, self.stream)
        self.acts: list[Act] = [
            self._act(what, donations.get(place, ()), sources[place], place)
            for place, what in enumerate(self.stream.instructions)
        ]
        """What puts each instruction into the queues; those of exchanges do nothing."""
        self.exchanges = bool(self.senders or self.receivers or self.deferred)
        """Whether a run may have to wait on the host; it is a `StreamRun` then."""

    def _placed(self, x: Any, slot: int) -> Any:
        """An argument where the stream wants it."""
        if isinstance(x, HostArray):
            return _on_devices(x, self._shardings[slot])
        sharding = self._shardings[slot]
        if isinstance(x, RunError) or x.sharding == sharding:
            return x
        return Absent(sharding, x.key) if isinstance(x, Absent) else jax.device_put(x, sharding)

    def run(self, run: int, arguments: Sequence[Any]) -> list[Any]:
        """Put a run into the queues; the slots as they are then.  Arguments as in `begin`."""
        slots = self.begin(arguments)
        for act in self.acts:
            act(slots, run)
        return slots

    def begin(self, arguments: Sequence[Any]) -> list[Any]:
        """The slots before the first instruction.

        Args:
          arguments: of the stream, in its order: arrays of these devices, of the host, or errors.
        """
        slots: list[Any] = [None] * self.stream.slots
        for (number, slot), x in zip(self.stream.arguments, arguments, strict=True):
            slots[slot] = self._constants[number] if number in self._constants else self._placed(x, slot)
        return slots

    def _act(self, what: Any, donated: Sequence[int], source: str, place: int) -> Act:
        if isinstance(what, Call):
            return self._call(what, donated)
        if isinstance(what, Copy):
            return self._copy(what, source, place)
        if isinstance(what, Send):
            return self._send(what)
        if isinstance(what, Receive):
            return self._receive(what)
        if isinstance(what, Dispatch | Collect):
            if isinstance(what, Dispatch):
                self.senders[what.tag] = sender_of(self.program, what, self._island.devices)
            else:
                self.receivers[what.tag] = receiver_of(self.program, what, self._island.devices)
            return lambda slots, run: None
        slot = what.slot

        def free(slots: list[Any], run: int) -> None:
            slots[slot] = None

        return free

    def _call(self, what: Call, donated: Sequence[int]) -> Act:
        number, source = self.load.code[what.function]
        mesh, devices = self._on[what.slice]
        gone = [s for s in what.donates if s not in what.writes]
        if is_here(devices):
            key = number, tuple(d.id for d in devices), tuple(donated)
            if key not in self._executables:
                self._executables[key] = DeviceExecutable(self._code[number], devices, key[2])
            names, sizes = (self.name, what.function, source), [self.program.values[v].nbytes for v in what.values]
            run_node = computation(Node(self._executables[key], names, sizes, self._island, len(devices) > 1))
        else:
            values = [self.program.values[v] for v in what.values]
            keys = [leaf.key or None for leaf in self._code[number].program.results]
            absent = [Absent(sharding_of(v, mesh, devices), key) for v, key in zip(values, keys, strict=True)]
            run_node = lambda arguments: absent  # noqa: E731

        def act(slots: list[Any], run: int) -> None:
            out = run_node([slots[i] for i in what.reads])
            for i in gone:
                slots[i] = None
            for i, x in zip(what.writes, out, strict=True):
                slots[i] = x

        return act

    def _copy(self, what: Copy, source: str, place: int) -> Act:
        value = self.program.values[what.value]
        mesh, target = self._on[value.slice]
        devices = self._on[source][1]
        if self._several and devices != target and 0 not in value.shape:
            path = _route(self.load, source, value.slice)
            assert path is not None
            move = self.edges.mover(value, mesh, devices, target, self.load.island, path)
            return _guarded(what.target, lambda slots, run: move(run, _COPIES + place, slots[what.source]))
        layout = sharding_of(value, mesh, target)
        copy = copier(layout, value.shape)

        def act(slots: list[Any], run: int) -> None:
            x = slots[what.source]
            slots[what.target] = Absent(layout, x.key) if isinstance(x, Absent) else copy(x)

        return act

    def _send(self, what: Send) -> Act:
        if 0 in self.program.values[what.value].shape:
            return lambda slots, run: None
        send, slot, tag = message_of(self.load, self._island, self.edges, what), what.slot, what.tag

        def act(slots: list[Any], run: int) -> None:
            send(run, tag, slots[slot])

        return act

    def _receive(self, what: Receive) -> Act:
        value = self.program.values[what.value]
        mesh, devices = self._on[value.slice]
        if 0 in value.shape:
            zeros = HostArray(np.zeros(value.shape, np_dtype(ELEMENT_DTYPES[value.dtype])))
            sharding = sharding_of(value, mesh, devices)
            return lambda slots, run: slots.__setitem__(what.slot, _on_devices(zeros, sharding))
        load = self.load
        path = _route(load, load.source_slices[what.tag], value.slice)
        key = load.keys.get(what.tag)
        pull, finish = self.edges.receiver(value, mesh, devices, what.peer, load.sizes[what.peer], key, path)
        self.pulls[what.tag] = pull, finish
        if what.tag in load.after:
            self.deferred.add(what.tag)
        return _guarded(what.slot, lambda slots, run: finish(pull(run, what.tag)))


def message_of(load: Load, island: Island, edges: Edges, what: Send) -> Callable[[int, int, Any], None]:
    """What arms what a stream sends, as (run, tag, array or error)."""
    value, source = load.program.values[what.value], load.source_slices[what.tag]
    devices = [island.devices[i] for i in _numbers(load, source)]
    return edges.sender(value, load.program.slices[value.slice][1], devices, _route(load, source, value.slice))


def _route(load: Load, source: str, target: str) -> Route | None:
    """The way of shards from slice to slice, if one of their islands has several processes."""
    islands = [load.program.slices[slice][0] for slice in (source, target)]
    if all(load.processes[island] == 1 for island in islands):
        return None
    each = [load.sizes[island] // load.processes[island] for island in islands]
    return route(_numbers(load, source), each[0], _numbers(load, target), each[1])


def _numbers(load: Load, slice: str) -> Sequence[int]:
    """The devices of a slice, by their numbers in the island."""
    mesh = load.program.slices[slice][1]
    return mesh.device_ids or range(mesh.size)


def _guarded(slot: int, compute: Callable[[list[Any], int], Any]) -> Act:
    """What fills a slot, with an error where there is one."""

    def act(slots: list[Any], run: int) -> None:
        try:
            slots[slot] = compute(slots, run)
        except Exception as error:
            slots[slot] = error if isinstance(error, RunError) else RunError(f"{type(error).__name__}: {error}")

    return act


def _on_devices(x: HostArray, sharding: NamedSharding) -> Any:
    """An array of the host on the devices of a sharding, or of those that are this process's."""
    if not is_here(jax_compat.devices_of(sharding)):
        return Absent(sharding, x.impl)
    with jax_compat.x64(x.data.dtype.itemsize == 8):
        if x.impl is None:
            return jax_compat.put(x.data, sharding)
        if sharding.is_fully_addressable:
            return jax.device_put(jax.random.wrap_key_data(x.data, impl=x.impl), sharding)
        return jax.random.wrap_key_data(jax_compat.put(x.data, sharding), impl=x.impl)
