"""A process of an island: `python -m pcg.runtime.islands.worker FD ISLAND RANK PROCESSES HOST`, or `serve` in an actor.

One thread reads messages, so that it notices when the controller is gone whatever else goes on; one carries them out in
the order in which they came, which is the order of the devices' queues; one waits for runs, and some fetch values.
Imports jax, when it runs.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

import jax
import numpy as np

from pcg.controller.faults import RunError
from pcg.controller.streams import Dispatch, Send
from pcg.runtime import jax_compat
from pcg.runtime.device_program import DeviceProgram
from pcg.runtime.islands.edges import Edges
from pcg.runtime.islands.exchange import sender_of
from pcg.runtime.islands.exchange_edges import arm_plans
from pcg.runtime.islands.group import join
from pcg.runtime.islands.island_queue import GANGS, Island, wait_for
from pcg.runtime.islands.pieces import Absent
from pcg.runtime.islands.protocol import (
    Answer,
    Channel,
    Count,
    Done,
    Enqueued,
    Fault,
    Fetch,
    HostArray,
    HostShards,
    Load,
    Peers,
    Run,
    Started,
    Stop,
)  # fmt: skip
from pcg.runtime.islands.stream_run import StreamRun
from pcg.runtime.islands.stream_runner import Executables, StreamRunner, message_of


class WorkerIsland(Island):
    """An island that says so before it waits for its devices: others may start only then."""

    def __init__(self, name: str, devices: Any) -> None:
        super().__init__(name, devices)
        self.before_wait: Any = None

    def gang(self, array: Any) -> None:
        if len(self._gangs) + 1 >= GANGS and self.before_wait is not None:
            self.before_wait()
        super().gang(array)


class Worker:
    """What one island keeps: programs, values, and what is under way."""

    def __init__(self, channel: Channel, name: str, host: str) -> None:
        self._channel = channel
        self._island = WorkerIsland(name, jax.devices())
        self._edges = Edges(jax.devices(), host)
        self._code: dict[int, DeviceProgram] = {}
        self._executables: Executables = {}
        self._programs: dict[int, StreamRunner | Load] = {}
        self._values: dict[int, Any] = {}
        self._awaited: set[int] = set()
        """Numbers of results of runs that are put into queues by and by, unless nobody needs them any more."""
        self._work: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._in_flight: queue.SimpleQueue[tuple[int, str, Any, dict[int, Any]]] = queue.SimpleQueue()
        self._fetching = ThreadPoolExecutor(4, "fetch")
        for target in (self._carry_out, self._wait):
            threading.Thread(target=target, name=target.__name__, daemon=True).start()
        channel.send(Started(self._edges.address, os.getpid()))

    def read(self) -> None:
        """Until the controller says so, or is gone."""
        while True:
            try:
                message = self._channel.receive()
            except (EOFError, OSError):
                return
            if isinstance(message, Stop):
                return
            self._work.put(message)

    # -- one after another -----------------------------------------------------------------------

    def _carry_out(self) -> None:
        while True:
            message = self._work.get()
            try:
                self._release(getattr(message, "released", ()))
                if isinstance(message, Run):
                    self._run(message)
                elif isinstance(message, Load):
                    self._code.update(message.new)
                    self._programs[message.key] = message
                elif isinstance(message, Peers):
                    self._edges.connect(message.addresses)
                elif isinstance(message, Fetch):
                    self._fetching.submit(self._fetch, message.request, self._values.get(message.key))
                elif callable(message):
                    message()
                elif isinstance(message, Count):
                    self._channel.send(Answer(message.request, len(self._values)))
            except (BrokenPipeError, ConnectionError):
                os._exit(0)
            except BaseException:  # of this file: the controller notices that the process is gone
                traceback.print_exc()
                os._exit(1)

    def _release(self, keys: Any) -> None:
        for key in keys:
            self._awaited.discard(key)
            for kept in (self._values, self._programs, self._code):
                kept.pop(key, None)  # type: ignore[attr-defined]
            for own in [e for e in self._executables if e[0] == key]:
                del self._executables[own]

    def _run(self, run: Run) -> None:
        notified = not run.acknowledge

        def tell() -> None:
            nonlocal notified
            if not notified:
                notified = True
                self._channel.send(Enqueued(run.run))

        self._island.before_wait = tell
        program = self._programs[run.program]
        load = program.load if isinstance(program, StreamRunner) else program
        results: list[Any]
        token = None
        try:
            if isinstance(program, Load):
                program = StreamRunner(program, self._island, self._edges, self._code, self._executables)
                self._programs[run.program] = program
            arguments = [x if isinstance(x, HostArray) else self._argument(x, run.taken) for x in run.arguments]
            if program.exchanges:
                self._begin(run, program, program.begin(arguments))
                return
            slots = program.run(run.run, arguments)
            results = [slots[slot] for _, slot in program.stream.results]
            token = self._island.newest if program.last < 0 else slots[program.last]
        except Exception as error:
            lost = _lost(error, load)
            results = [lost] * len(run.results)
            self._fail_sends(load, run.run, lost)
        self._values.update(zip(run.results, results, strict=True))
        self._in_flight.put((run.run, load.program.name, token, dict(zip(run.results, results, strict=True))))
        tell()

    def _begin(self, run: Run, program: StreamRunner, slots: list[Any]) -> None:
        """Put a run into the queues by and by; other messages are carried out meanwhile."""
        self._awaited.update(run.results)
        going = StreamRun(program, run.run, slots, lambda: self._work.put(advance))

        def advance() -> None:
            self._advance(run, program, going)

        advance()

    def _advance(self, run: Run, program: StreamRunner, going: StreamRun) -> None:
        if going.over:
            return
        self._island.before_wait = None
        token = None
        try:
            if not going.advance():
                return
            results = [going.slots[slot] for _, slot in program.stream.results]
            token = self._island.newest if program.last < 0 else going.slots[program.last]
        except Exception as error:
            lost = _lost(error, program.load)
            results = [lost] * len(run.results)
            self._fail_sends(program.load, run.run, lost, going.place)
        going.over = True
        keys = dict(zip(run.results, results, strict=True))
        self._values.update((key, x) for key, x in keys.items() if key in self._awaited)
        self._awaited.difference_update(keys)
        self._in_flight.put((run.run, program.name, token, keys))
        self._channel.send(Enqueued(run.run, dict(going.exchanged)))

    def _argument(self, key: int, taken: Any) -> Any:
        found = self._values.pop(key, None) if key in taken else self._values.get(key)
        return RunError("an argument was donated to an earlier program, or freed") if found is None else found

    def _fail_sends(self, load: Load, run: int, error: RunError, first: int = 0) -> None:
        """Whoever waits for this run's messages, from this instruction on, gets the error."""
        program = load.program
        for what in program.streams[load.island].instructions[first:]:
            if isinstance(what, Dispatch) and what.peer != load.island:
                arm_plans(self._edges, run, sender_of(program, what, self._island.devices), error)
            if isinstance(what, Send):
                message_of(load, self._island, self._edges, what)(run, what.tag, error)

    # -- beside that -----------------------------------------------------------------------------

    def _wait(self) -> None:
        """Say of each run when it is over."""
        while True:
            run, name, token, results = self._in_flight.get()
            if isinstance(token, jax.Array):
                wait_for(token, self._island)
            faults = {}
            for key, x in results.items():
                if (fault := _fault(x, name)) is not None:
                    faults[key] = fault
            del token, results
            x = None
            self._tell(Done(run, faults))

    def _fetch(self, request: int, x: Any) -> None:
        fault = RunError("it was donated to a later program, or freed") if x is None else None
        answer: Any = Fault.of(fault, "") if fault is not None else _fault(x, "")
        if answer is None:
            try:
                answer = _on_host(x)
            except Exception as error:
                answer = Fault.of(error, "")
        self._tell(Answer(request, answer))

    def _tell(self, message: Any) -> None:
        try:
            self._channel.send(message)
        except (BrokenPipeError, ConnectionError):
            os._exit(0)


def _lost(error: Exception, load: Load) -> RunError:
    """Why a run of a program has no results here."""
    if isinstance(error, RunError):
        return error
    return RunError(f"program {load.program.name} on island {load.island}: {type(error).__name__}: {error}")


def _fault(x: Any, program: str) -> Fault | None:
    """What is wrong with a value, if something is; waits for it."""
    if isinstance(x, RunError):
        return Fault.of(x, program)
    try:
        jax.block_until_ready(x)
    except Exception as error:
        deleted = isinstance(x, jax.Array) and not jax_compat.is_key(x.dtype) and x.is_deleted()
        return None if deleted else Fault.of(error, program)
    return None


def _on_host(x: Any) -> HostArray | HostShards:
    """What this process has of a value."""
    if isinstance(x, Absent):
        return HostShards((), np.dtype(bool), ())
    impl = None
    if jax_compat.is_key(x.dtype):
        x, impl = jax.random.key_data(x), jax_compat.key_impl(x.dtype)
    if x.is_fully_addressable:
        return HostArray(np.asarray(x), impl)
    own = [(s.index, np.asarray(s.data)) for s in x.addressable_shards if s.replica_id == 0]
    return HostShards(x.shape, np.dtype(x.dtype), own, impl)


def serve(connection: Connection, island: str, rank: int, processes: int, host: str) -> None:
    """Be a process of an island, until the controller says so, or is gone.

    Args:
      connection: to the controller.
      rank: of this one of the `processes` of the island.
      host: the address of this machine, where other islands reach it.
    """
    channel = Channel(connection)
    if processes > 1:
        join(channel, rank, processes, host)
    Worker(channel, island, host).read()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the controller, which says what follows
    number, island, rank, processes, host = sys.argv[1:]
    serve(Connection(int(number)), island, int(rank), int(processes), host)
    os._exit(0)  # threads may wait for devices


if __name__ == "__main__":
    main()
