"""A controller that clients in other processes use: listens, and says what is under way.  Imports jax."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from multiprocessing import AuthenticationError
from typing import Any

from pcg.api.cluster_session import Session
from pcg.api.controller import Controller
from pcg.runtime.cluster.messages import Devices, Welcome, version
from pcg.runtime.cluster.wire import Wire, parse_address, prove

#: Seconds over which the use of islands is shown.
WINDOW = 5.0
#: Seconds between two looks at what runs.
_LOOK = 0.02
#: Seconds that what was submitted may take when the cluster is stopped.
_DRAIN = 30.0


class Server:
    """Clients of a controller, at an address.

    Args:
      address: `host:port`; with port 0 a free one is taken.
      key: what clients must have.

    Raises:
      ValueError: an address that is none.
      OSError: nothing can listen there.
    """

    def __init__(self, controller: Controller, address: str, key: bytes) -> None:
        self.controller, self._key = controller, key
        host, port = parse_address(address)
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        self._listening = socket.create_server((host, port), family=family)
        self.address = f"{host}:{self._listening.getsockname()[1]}"
        self.lock = threading.Lock()
        self.stopping = ""
        self.stopped = threading.Event()
        """When somebody wants it to end."""
        self.now = False
        """Whether at once."""
        self._sessions: set[Session] = set()
        self._since = time.time()
        self._busy: dict[str, deque[tuple[float, bool]]] = {}
        for work in (self._accept, self._watch):
            threading.Thread(target=work, name=f"pcg cluster {work.__name__}", daemon=True).start()

    # -- clients ---------------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                own, peer = self._listening.accept()
            except OSError:
                return  # it was closed
            threading.Thread(target=self._admit, args=(own, peer), name="pcg cluster admits", daemon=True).start()

    def _admit(self, own: socket.socket, peer: Any) -> None:
        """Talk to a client that has the key."""
        try:
            prove(own, self._key, first=True)
            wire = Wire(own)
            wire.send(Welcome(version(), self.devices()))
        except (AuthenticationError, OSError, EOFError):
            own.close()
            return
        session = Session(self, wire, f"{peer[0]}:{peer[1]}")
        with self.lock:
            self._sessions.add(session)
        session.start()

    def gone(self, session: Session) -> None:
        """A session has given back what it had."""
        with self.lock:
            self._sessions.discard(session)

    def devices(self) -> tuple[Devices, ...]:
        """The islands that are there."""
        found = []
        for island in self.controller.resources.islands:
            try:
                own = self.controller.backend.devices(island.name, range(island.size))
            except (KeyError, IndexError):
                continue  # it has just left
            found.append(Devices(island.name, tuple((str(d.platform), int(d.id)) for d in own)))
        return tuple(found)

    # -- what is under way -----------------------------------------------------------------------

    def _watch(self) -> None:
        while not self.stopped.is_set():
            now = time.monotonic()
            for name, use in self.controller.dispatcher.islands().items():
                seen = self._busy.setdefault(name, deque())
                seen.append((now, use.busy))
                while seen[0][0] < now - WINDOW:
                    seen.popleft()
            time.sleep(_LOOK)

    def status(self) -> dict[str, Any]:
        """Islands and clients, as JSON can have them.

        `utilisation`: share of the last seconds in which programs were in flight.  Bytes are per device, of results;
        those of a client are added over islands.
        """
        controller = self.controller
        use = controller.dispatcher.islands()
        there = {island.name: island for island in controller.resources.islands}
        islands = []
        for name, island in there.items():
            own, seen = use.get(name), list(self._busy.get(name, ()))
            islands.append({
                "name": name, "devices": island.size, "kind": island.kind, "state": "up",
                "in_flight": own.in_flight if own else 0, "waiting": own.waiting if own else 0,
                "utilisation": round(sum(b for _, b in seen) / len(seen), 3) if seen else 0.0,
                "devices_used": round(controller.resources.utilization(name) * island.size),
                "bytes": own.nbytes if own else 0, "bytes_limit": own.limit if own else None,
            })  # fmt: skip
        for name, cause in dict(controller.failures).items():
            if name not in there:
                islands.append({"name": name, "state": f"gone: {cause}"})
        slices = controller.resources.slices
        clients = []
        with self.lock:
            known = [(session, name) for session in self._sessions for name in list(session.clients)]
        for session, name in sorted(known, key=lambda c: c[1]):
            mine, quota = controller.dispatcher.use(name), controller.dispatcher.quota(name)
            own_slices = [s for s in slices if s.client == name]
            clients.append({
                "name": name, "from": session.peer, "weight": controller.dispatcher.scheduler.weights.get(name, 1.0),
                "quota": {"devices": controller.resources.quota(name), "bytes": quota.nbytes, "queued": quota.queued},
                "slices": len(own_slices), "devices": sum(s.size for s in own_slices),
                "programs": session.runs.get(name, 0), "queued": mine.queued, "bytes": sum(mine.nbytes.values()),
                "handles": mine.handles,
            })  # fmt: skip
        return {
            "address": self.address, "pid": os.getpid(), "version": version(),
            "seconds": round(time.time() - self._since, 1), "islands": islands, "clients": clients,
        }  # fmt: skip

    # -- the end ---------------------------------------------------------------------------------

    def stop(self, now: bool) -> None:
        """Have `wait` return."""
        self.now = self.now or now
        self.stopping = "it is being stopped"
        self.stopped.set()

    def close(self, cause: str = "it was stopped") -> None:
        """Tell all clients that it ends; what was submitted is done before, unless it is to end at once."""
        self.stopping = self.stopping or "it is being stopped"
        self._listening.close()
        if not self.now:
            _briefly(self.controller.dispatcher.drain, _DRAIN)
            end = time.monotonic() + _DRAIN
            while time.monotonic() < end and any(s.open for s in self._all()):
                time.sleep(0.01)
        for session in self._all():
            session.end(cause)
        end = time.monotonic() + _DRAIN
        while time.monotonic() < end and self._all():
            time.sleep(0.01)
        self.controller.backend.close()

    def _all(self) -> list[Session]:
        with self.lock:
            return list(self._sessions)


def _briefly(work: Callable[[], None], seconds: float) -> None:
    """Do something, and go on if it takes too long."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
