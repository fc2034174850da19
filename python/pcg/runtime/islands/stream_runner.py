"""One island's part of a program, on devices of this process: each instruction becomes a function on slots.

Imports jax.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from pcg.controller.faults import RunError
from pcg.controller.stream_use import last_slot, taken_over
from pcg.controller.streams import Call, Copy, IslandProgram, Receive, Send
from pcg.driver.program import ELEMENT_DTYPES
from pcg.layout import Mesh
from pcg.runtime import jax_compat
from pcg.runtime.device_program import DeviceExecutable, DeviceProgram
from pcg.runtime.inputs import np_dtype
from pcg.runtime.islands.computation import computation, copier, sharding_of
from pcg.runtime.islands.edges import Edges
from pcg.runtime.islands.island_queue import Island
from pcg.runtime.islands.protocol import HostArray, Load

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
        self._load, self._island, self._edges, self._code = load, island, edges, code
        self._on: dict[str, tuple[Mesh, list[Any]]] = {}
        for slice, (where, mesh) in self.program.slices.items():
            numbers = mesh.device_ids or range(mesh.size)
            self._on[slice] = mesh, [island.devices[i] for i in numbers] if where == load.island else []
        values = self.program.values
        self._shardings = {
            slot: sharding_of(v := values[self.program.arguments[number]], *self._on[v.slice])
            for number, slot in self.stream.arguments
        }
        self._constants = {
            number: self._placed(load.constants[number], slot)
            for number, slot in self.stream.arguments if number in load.constants
        }  # fmt: skip
        self._executables = executables
        self.last = last_slot(self.program, load.island)
        donations = taken_over(self.program, load.island)
        acts = [self._act(what, donations.get(place, ())) for place, what in enumerate(self.stream.instructions)]
        self._acts: list[Act] = acts

    def _placed(self, x: Any, slot: int) -> Any:
        sharding = self._shardings[slot]
        if isinstance(x, HostArray):
            with jax_compat.x64(x.data.dtype.itemsize == 8):
                data = x.data if x.impl is None else jax.random.wrap_key_data(x.data, impl=x.impl)
                return jax.device_put(data, sharding)
        return x if isinstance(x, RunError) or x.sharding == sharding else jax.device_put(x, sharding)

    def run(self, run: int, arguments: Sequence[Any]) -> list[Any]:
        """Put a run into the queues; the slots as they are then.

        Args:
          arguments: of the stream, in its order: arrays of these devices, of the host, or errors.
        """
        slots: list[Any] = [None] * self.stream.slots
        for (number, slot), x in zip(self.stream.arguments, arguments, strict=True):
            slots[slot] = self._constants[number] if number in self._constants else self._placed(x, slot)
        for act in self._acts:
            act(slots, run)
        return slots

    def _act(self, what: Any, donated: Sequence[int]) -> Act:
        if isinstance(what, Call):
            return self._call(what, donated)
        if isinstance(what, Copy):
            return self._copy(what)
        if isinstance(what, Send):
            return self._send(what)
        if isinstance(what, Receive):
            return self._receive(what)
        slot = what.slot

        def free(slots: list[Any], run: int) -> None:
            slots[slot] = None

        return free

    def _call(self, what: Call, donated: Sequence[int]) -> Act:
        number, source = self._load.code[what.function]
        mesh, devices = self._on[what.slice]
        key = number, tuple(d.id for d in devices), tuple(donated)
        if key not in self._executables:
            self._executables[key] = DeviceExecutable(self._code[number], devices, key[2])
        executable = self._executables[key]
        plain = not (executable.program.constants or executable.needs_x64)
        call = executable.jitted if plain else lambda *args: executable.call(args, {})
        sizes = [self.program.values[v].nbytes for v in what.values]
        run_node = computation(call, (self.name, what.function, source), sizes, self._island, len(devices) > 1)
        gone = [s for s in what.donates if s not in what.writes]

        def act(slots: list[Any], run: int) -> None:
            out = run_node([slots[i] for i in what.reads])
            for i in gone:
                slots[i] = None
            for i, x in zip(what.writes, out, strict=True):
                slots[i] = x

        return act

    def _copy(self, what: Copy) -> Act:
        value = self.program.values[what.value]
        copy = copier(sharding_of(value, *self._on[value.slice]), value.shape)

        def act(slots: list[Any], run: int) -> None:
            slots[what.target] = copy(slots[what.source])

        return act

    def _send(self, what: Send) -> Act:
        value = self.program.values[what.value]
        if 0 in value.shape:
            return lambda slots, run: None
        edges, mesh = self._edges, self._on[value.slice][0]
        senders: dict[tuple[Any, ...], Any] = {}
        every = self._island.devices

        def act(slots: list[Any], run: int) -> None:
            x = slots[what.slot]
            own = () if isinstance(x, RunError) else jax_compat.devices_of(x)
            send = senders.get(own)
            if send is None:
                send = senders[own] = edges.sender(value, mesh, [*own, *(d for d in every if d not in own)])
            send(run, what.tag, x)

        return act

    def _receive(self, what: Receive) -> Act:
        value = self.program.values[what.value]
        mesh, devices = self._on[value.slice]
        if 0 in value.shape:
            zeros = np.zeros(value.shape, np_dtype(ELEMENT_DTYPES[value.dtype]))
            sharding = sharding_of(value, mesh, devices)
            return lambda slots, run: slots.__setitem__(what.slot, jax.device_put(zeros, sharding))
        sizes, keys = self._load.sizes, self._load.keys
        receive = self._edges.receiver(value, mesh, devices, what.peer, sizes[what.peer], keys.get(what.tag))

        def act(slots: list[Any], run: int) -> None:
            try:
                slots[what.slot] = receive(run, what.tag)
            except Exception as error:
                lost = error if isinstance(error, RunError) else RunError(f"{type(error).__name__}: {error}")
                slots[what.slot] = lost

        return act
