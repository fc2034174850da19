"""A cluster that stays up, and its clients in other processes: numbers, faults, quotas, and who may connect."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pcg
from pcg.api.cluster_server import Server
from pcg.api.connect import ConnectedCluster
from pcg.controller.errors import ResourceError
from pcg.controller.faults import Cancelled, ClusterUnavailable, IslandFailed, NodeError, QuotaExceeded, RunError
from pcg.controller.queues import Ticket
from pcg.runtime.cluster import messages, state
from pcg.runtime.cluster.failures import Failure
from pcg.runtime.cluster.messages import MessageError, Query, Release, Submit
from pcg.runtime.cluster.wire import Wire, prove
from pcg.tools import pcg_cluster
from support import training_client
from support.training_client import begin, five, on_islands, on_one_device

#: Seconds until a fault must be known.
SOON = 5.0
KEY = b"the key of these tests"


def until(wanted: Callable[[], bool], seconds: float = SOON) -> None:
    """Wait for something, for some seconds at most."""
    end = time.monotonic() + seconds
    while not wanted():
        assert time.monotonic() < end
        time.sleep(0.01)


def tool(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pcg.tools.pcg_cluster", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where files of clusters are."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv(state.KEY, raising=False)
    return tmp_path / "pcg"


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[pcg.Controller, Server]]:
    """A cluster in this process, of two islands of two devices."""
    with pcg.Controller(2, devices=jax.devices()[:4]) as controller:
        server = Server(controller, "127.0.0.1:0", KEY)
        yield controller, server
        server.stop(now=True)
        server.close()


@pytest.fixture
def server(shared: tuple[pcg.Controller, Server]) -> Iterator[Server]:
    controller, server = shared
    yield server
    until(lambda: not controller.clients)
    assert not controller.dispatcher.store.entries and not controller.resources.slices
    assert {i.name for i in controller.resources.islands} == {"island0", "island1"}


@pytest.fixture
def cluster(server: Server) -> Iterator[ConnectedCluster]:
    with ConnectedCluster(server.address, KEY) as found:
        yield found


def test_two_processes_share_a_cluster_and_one_is_killed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both train as on one device; what the killed one had is freed; then the cluster is killed, too."""
    began = tool("start", "--islands", "2", "--devices", "4")
    assert began.returncode == 0, began.stderr
    address = began.stdout.strip()
    file = state.files()[0]
    assert (file.path.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    other = subprocess.Popen(
        [sys.executable, "-m", "support.training_client"], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(training_client.__file__).parents[1])},
    )  # fmt: skip
    try:
        with pcg.connect() as cluster:
            assert cluster.address == address and cluster.islands == {"island0": 2, "island1": 2}
            client = cluster.client("me", devices=5, queued=100)
            program = on_islands(client)
            losses, w, v = five(program, *begin(0))
            wanted = on_one_device(0)
            np.testing.assert_allclose(losses, wanted[0], rtol=1e-5)
            np.testing.assert_allclose(w.result(), wanted[1], rtol=1e-5)

            theirs = client.lookup("parameters", seconds=60)
            wanted = on_one_device(1)
            np.testing.assert_allclose(json.loads(other.stdout.readline()), wanted[0], rtol=1e-5)
            assert theirs["w"].slice.island == "island0"
            _, mixed, _ = program(theirs["w"], v, begin(0)[2])
            np.testing.assert_allclose(theirs["v"].result(), wanted[2], rtol=1e-5)

            with jax.enable_x64(True):
                wide = client.request(1, shared=True).function(lambda x: x * 2)(np.full(4, 2.0**40 + 1))
                assert wide.dtype == np.float64 and (wide.result() == 2.0**41 + 2).all()

            until(lambda: {c["name"]: c for c in cluster.status()["clients"]}["other"]["programs"] > 10)
            found = json.loads(tool("status", "--json").stdout)
            clients = {c["name"]: c for c in found["clients"]}
            assert (clients["other"]["weight"], clients["other"]["slices"]) == (3, 3)
            assert clients["me"]["quota"] == {"devices": 5, "bytes": None, "queued": 100}
            assert clients["me"]["programs"] == 7 and clients["me"]["bytes"] > 0
            assert [i["state"] for i in found["islands"]] == ["up", "up"]
            assert found["islands"][1]["utilisation"] > 0

            os.kill(other.pid, signal.SIGKILL)
            start_of_fault = time.monotonic()
            until(lambda: [c["name"] for c in cluster.status()["clients"]] == ["me"])
            with pytest.raises(Cancelled, match="client other is closed"):
                theirs["w"].result()
            assert time.monotonic() - start_of_fault < SOON
            with pytest.raises(ResourceError, match="nothing is published by the name 'parameters'"):
                client.lookup("parameters")
            del theirs, mixed
            status = cluster.status()
            mine = status["clients"][0]
            assert sum(i["bytes"] for i in status["islands"]) == mine["bytes"] and mine["slices"] == 3
            value, *_ = program(w, v, begin(0)[2])
            assert np.isfinite(float(value))

            waiting = threading.Thread(target=lambda: errors.append(failure(lambda: client.lookup("never", 60))))
            errors: list[Exception] = []
            waiting.start()
            time.sleep(0.1)
            os.kill(file.pid, signal.SIGKILL)
            said = rf"cluster {re.escape(address)}: its process ended"
            waiting.join(SOON)
            assert isinstance(errors[0], ClusterUnavailable) and re.match(said, str(errors[0]))
            for call in (value.result, lambda: program(w, v, begin(0)[2]), cluster.status):
                with pytest.raises(ClusterUnavailable, match=said) as caught:
                    call()
                assert caught.value.address == address
    finally:
        other.kill()
        other.wait()
        with contextlib.suppress(ProcessLookupError):
            os.kill(file.pid, signal.SIGKILL)
    until(lambda: not file.is_up)
    left_over = rf"cluster {re.escape(address)}: its process {file.pid} is gone; .* is left over from it"
    for where in (None, address):
        with pytest.raises(ClusterUnavailable, match=left_over):
            pcg.connect(where)
    assert pcg_cluster.main(["stop"]) == 0 and not state.files()


def failure(call: Callable[[], Any]) -> Exception:
    """What a call raises."""
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def test_start_and_stop(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One that serves in the foreground; errors are one line; a stop waits for what was submitted."""
    command = [sys.executable, "-m", "pcg.tools.pcg_cluster", "start", "--foreground", "--devices", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip()
        assert pcg_cluster.main(["start"]) == 2
        assert f"cluster {address} is up; 'pcg-cluster stop' stops it" in capfd.readouterr().err
        assert pcg_cluster.main(["start", "--address", address]) == 2
        assert pcg_cluster.main(["status"]) == 0
        shown = capfd.readouterr().out
        assert address in shown and "island0" in shown and "no clients" in shown
        with pcg.connect(address) as cluster:
            f = cluster.client().request(2).function(lambda x: jnp.tanh(x @ x))
            y = f(jnp.eye(256))
            assert pcg_cluster.main(["stop"]) == 0
            assert process.wait(SOON) == 0 and not state.files()
            with pytest.raises(ClusterUnavailable, match=f"cluster {address}: it was stopped"):
                y.result()
    assert pcg_cluster.main(["stop"]) == 2
    assert "no cluster: there is no file" in capfd.readouterr().err


@pytest.mark.parametrize(
    "options, says",
    [
        (["--cluster", "preset:none"], "none"),
        (["--islands", "3", "--devices", "4"], "3 islands of 4 devices; allowed: a divisor of their number"),
        (["--cluster", "preset:dgx-a100", "--islands", "2"], "--islands 2 with --cluster"),
        (["--restarts", "2"], "restarts=2 with backend 'embedded'; allowed: 0, and above with backend 'processes'"),
        (["--address", "here"], "address 'here'; allowed: host:port"),
    ],
)
def test_what_cannot_start_says_why(folder: Path, options: list[str], says: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert pcg_cluster.main(["start", *options]) == 2
    found = capfd.readouterr().err
    assert found.startswith("pcg-cluster start: error: ") and says in found and found.count("\n") == 1
    assert not list(folder.glob("*"))


def test_left_over_files(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ClusterUnavailable, match=r"no cluster: there is no file in .*; 'pcg-cluster start' starts one"):
        pcg.connect()
    with pytest.raises(ClusterUnavailable, match="cluster 127.0.0.1:1: its key is not known: no file in"):
        pcg.connect("127.0.0.1:1")
    with pytest.raises(ValueError, match="address 'here'; allowed: host:port"):
        pcg.connect("here")
    file = state.write("127.0.0.1:1", KEY)
    with pytest.raises(ClusterUnavailable, match="cluster 127.0.0.1:1: it cannot be reached"):
        pcg.connect()
    state.write("127.0.0.1:2", KEY)
    with pytest.raises(ClusterUnavailable, match="several are up, say which address: 127.0.0.1:1, 127.0.0.1:2"):
        pcg.connect()
    # The number of the process is in use, by one that started at another time.
    text = json.loads(file.path.read_text())
    file.path.write_text(json.dumps({**text, "started": "1"}))
    assert [f.is_up for f in state.files()] == [False, True]
    assert pcg_cluster.main(["status", "--address", "127.0.0.1:1"]) == 2
    assert f"its process {os.getpid()} is gone; {file.path} is left over" in capfd.readouterr().err
    file.path.chmod(0o644)
    with pytest.raises(ClusterUnavailable, match="has mode 644, so others may have its key; allowed: 600"):
        pcg.connect()


# -- who may connect, and what it may say ------------------------------------------------------------


class Evil:
    """What runs something where it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)

    def __init__(self, path: str) -> None:
        self.path = path


def test_nobody_without_the_key_is_listened_to(server: Server, tmp_path: Path, folder: Path, monkeypatch: Any) -> None:
    with pytest.raises(ClusterUnavailable, match=f"cluster {server.address}: it has another key"):
        ConnectedCluster(server.address, b"wrong")
    host, port = server.address.split(":")
    data = pickle.dumps(Evil(str(tmp_path / "ran")))
    for said in (data, len(data).to_bytes(4, "big") + data, b"GET / HTTP/1.1\r\n\r\n"):
        with socket.create_connection((host, int(port))) as own:
            own.settimeout(SOON)
            own.sendall(said)
            with contextlib.suppress(ConnectionError):
                while own.recv(4096):
                    pass
    silent = socket.create_connection((host, int(port)))  # says nothing, and is in nobody's way
    monkeypatch.setenv(state.KEY, KEY.hex())
    with pcg.connect(server.address) as cluster:  # as from another machine
        assert cluster.islands == {"island0": 2, "island1": 2}
    silent.close()
    assert not (tmp_path / "ran").exists()
    with socket.create_server(("127.0.0.1", 0)) as other:
        monkeypatch.setattr("pcg.runtime.cluster.wire.HANDSHAKE", 1.0)
        where = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(ClusterUnavailable, match=f"cluster {where}: it does not answer as a cluster does"):
            ConnectedCluster(where, KEY)


def test_messages_are_checked(server: Server) -> None:
    for message, says in (
        ("hello", "message of type str; allowed: Submit, Release"),
        (Query(0, Release()), "message of type Release; allowed: Join, "),
        (Release((1, "2")), "values of Release has a str; allowed: int"),
        (Submit("me", 1, (object(),), (), (), (), 1.0), "arguments of Submit has a object; allowed: int, HostArray"),
        (Query(0, messages.Join("me", "heavy", None, None, None)), "weight of Join is of type str; allowed: float"),
    ):  # fmt: skip
        with pytest.raises(MessageError, match=re.escape(says)):
            messages.check(message)
    host, port = server.address.split(":")
    own = socket.create_connection((host, int(port)))
    prove(own, KEY, first=False)
    wire = Wire(own)
    wire.receive()
    wire.send("hello")
    assert "message of type str; allowed: Submit, Release" in wire.receive().cause
    with ConnectedCluster(server.address, KEY) as cluster:
        client = cluster.client("me")
        f = client.request(2).function(lambda x: x + 1)
        program = f(jnp.zeros(4))
        loaded = f._program.last.loaded
        tell = cluster._connection.tell
        tell(Submit("me", loaded.key, (), (), (10**6,), (), 1.0))
        tell(Submit("me", 10**6, (), (), (10**6 + 1,), (), 1.0))
        wrong = messages.HostArray(np.zeros(5, np.float32))
        tell(Submit("me", loaded.key, (wrong,), (), (10**6 + 2,), (), 1.0))
        for key, says in ((0, "0 arguments and 1 results"), (1, "there is no program"), (2, r"is float32\[5\]; allowed")):
            with pytest.raises(MessageError, match=says):
                cluster._connection.query(messages.WaitFor(10**6 + key))
        assert (program.result() == 1).all()


def test_errors_keep_their_types() -> None:
    node = NodeError("p", "n", "file.py:3", ValueError("no")).because(ValueError("no"))
    for error in (
        node, IslandFailed("island0", "3 of f", "gone"), ResourceError("no place"), QuotaExceeded("too much"),
        MemoryError("needs 5"), KeyError("x"), ClusterUnavailable("a:1", "gone"), pcg.ProgramError("bad"),
    ):  # fmt: skip
        again = pickle.loads(pickle.dumps(Failure.of(error))).error()
        assert type(again) is type(error) and str(again) == str(error) and vars(again) == vars(error)
    assert str(Failure.of(node).error().__cause__) == "ValueError: no"
    assert str(Failure.of(jax.errors.JaxRuntimeError("XLA")).error()).endswith("JaxRuntimeError: XLA")


# -- programs and slices -----------------------------------------------------------------------------


def test_a_node_that_fails_says_the_users_line(cluster: ConnectedCluster) -> None:
    client = cluster.client()
    f = client.request(2).function(
        lambda x: jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct((8,), jnp.float32))(x)
    )
    after = client.request(1, island="island1").function(lambda x: x * 2)
    failed = f(jnp.ones(8))
    with pytest.raises(NodeError, match=rf"node .* \(.*{os.path.basename(__file__)}:\d+.*\): .*no_such_target") as found:
        failed.result()
    assert found.value.source.split(":")[0].endswith(os.path.basename(__file__))
    with pytest.raises(RunError, match="no_such_target"):
        after(failed).result()
    with pytest.raises(pcg.ProgramError, match="calls Python functions on the host, which is another process here"):
        client.request(1).function(lambda x: jax.pure_callback(lambda x: x, x, x))(jnp.ones(8))


def test_values(cluster: ConnectedCluster) -> None:
    """Of all kinds of types, through arrays of the host and back; the slow path; random keys; donation."""
    client = cluster.client()
    slice = client.request(2)
    f = slice.function(lambda x: x * 2)
    for dtype in ("float32", "bfloat16", "int8", "bool", "complex64"):
        x = np.ones((4, 3), jnp.dtype(dtype))
        found = f(x).result()
        assert found.dtype == jnp.dtype(jnp.result_type(x.dtype, 2)) or dtype != "bool"
        np.testing.assert_array_equal(found, np.asarray(jnp.asarray(x) * 2))
    draw = slice.function(lambda key: (jax.random.split(key)[0], jax.random.normal(key, (4,))))
    key, numbers = draw(jax.random.key(3))
    np.testing.assert_allclose(numbers.result(), jax.random.normal(jax.random.key(3), (4,)), rtol=1e-5)
    np.testing.assert_allclose(
        draw(key)[1].result(), jax.random.normal(jax.random.split(jax.random.key(3))[0], (4,)), rtol=1e-5
    )

    def halve(x: Any) -> Any:
        while jnp.max(x) > 1:
            x = x / f(jnp.ones(()))
        return x

    np.testing.assert_allclose(np.asarray(client.program(halve)(jnp.full(4, 8.0))), np.ones(4))
    give = client.program(lambda x: f(x), donate_argnums=0)
    taken = f(jnp.ones(4))
    assert (give(taken).result() == 4).all()
    with pytest.raises(RunError, match="was donated to a later program, or freed"):
        taken.result()
    with pytest.raises(RunError, match="an argument was donated to an earlier program, or freed"):
        f(taken).result()


def test_buffers_are_freed_without_a_further_run(cluster: ConnectedCluster, server: Server) -> None:
    client = cluster.client("me")
    f = client.request(2).function(lambda x: x + 1)
    kept, dropped = f(jnp.zeros(8)), f(jnp.zeros(8))
    dropped.block_until_ready()
    assert cluster.status()["clients"][0]["handles"] == 2
    del dropped
    gc.collect()
    until(lambda: cluster.status()["clients"][0]["handles"] == 1)
    assert (kept.result() == 1).all() and kept.is_ready()


def test_slices_are_placed_again(cluster: ConnectedCluster, server: Server) -> None:
    """A program is lowered again by itself, also if its island leaves while it is lowered."""
    client = cluster.client("me")
    slice = client.request({"data": 2}, shared=True)
    assert slice.island == "island0"
    f = slice.function(lambda x: x + 1)
    before = f(jnp.zeros(8))
    cluster.remove_island("island0", "power failure")
    with pytest.raises(IslandFailed, match=r"island island0 failed \(power failure\)") as lost:
        before.result()
    assert (lost.value.island, lost.value.cause) == ("island0", "power failure")
    assert (f(jnp.zeros(8)).result() == 1).all() and slice.island == "island1"
    gone = {i["name"]: i["state"] for i in cluster.status()["islands"]}
    assert gone == {"island1": "up", "island0": "gone: power failure"}
    with pytest.raises(ResourceError, match="has 2 devices|0 of 2 devices free|is not island"):
        client.request(2)
    cluster.restart_island("island0")
    assert client.request(2).island == "island0" and cluster.islands == {"island1": 2, "island0": 2}
    cluster.remove_island("island1")
    cluster.restart_island("island1")


def test_an_island_that_leaves_while_a_program_is_lowered(
    shared: tuple[pcg.Controller, Server], cluster: ConnectedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    slice = cluster.client("me").request({"data": 2}, shared=True)
    lower, count = pcg.api.slice_program.SliceProgram._lower, []

    def counted(self: Any, *args: Any) -> Any:
        count.append(slice.version)
        return lower(self, *args)

    monkeypatch.setattr(pcg.api.slice_program.SliceProgram, "_lower", counted)
    load, island = cluster.backend.load, slice.island

    def load_without(*args: Any) -> Any:
        if len(count) == 1:
            shared[0].remove_island(island)
        return load(*args)

    monkeypatch.setattr(cluster.backend, "load", load_without)
    assert (slice.function(lambda x: x + 1)(jnp.zeros(8)).result() == 1).all()
    assert len(count) == 2 and slice.island != island
    cluster.restart_island(island)


def test_islands_of_a_cluster_restart_by_themselves() -> None:
    """A client learns where its slice is when it is somewhere: it gets an error of the run, and calls again."""
    with pcg.Controller(1, devices=jax.devices()[:2], backend="processes", restarts=1) as controller:
        server = Server(controller, "127.0.0.1:0", KEY)
        try:
            with ConnectedCluster(server.address, KEY) as cluster:
                slice = cluster.client("me").request({"data": 2})
                f = slice.function(lambda x: x + 1)
                x = f(jnp.zeros(8))
                assert (x.result() == 1).all()
                os.kill(controller.backend.workers["island0"].pids[0], signal.SIGKILL)
                until(lambda: controller.resources.version == 2 and slice.version == 2)
                with pytest.raises(RunError):
                    f(x).result()
                assert (f(jnp.zeros(8)).result() == 1).all()
        finally:
            server.stop(now=True)
            server.close()


# -- quotas ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("remote", [False, True])
def test_quotas(shared: tuple[pcg.Controller, Server], server: Server, remote: bool) -> None:
    where: Any = ConnectedCluster(server.address, KEY) if remote else shared[0]
    with contextlib.ExitStack() as stack:
        if remote:
            stack.enter_context(where)
        client = stack.enter_context(where.client("me", devices=1, nbytes=100))
        slice = client.request(1, island="island0")
        with pytest.raises(ResourceError, match="client 'me' has 1 devices and would have 2; allowed: 1"):
            client.request(1)
        f = slice.function(lambda x: x + 1)
        first, second = f(jnp.zeros(12)), f(jnp.zeros(12))
        says = "client 'me' has 96 bytes per device on island 'island0' and would have 144; allowed: 100"
        with pytest.raises(QuotaExceeded, match=says):
            f(second).result()
        del first
        gc.collect()
        if remote:
            until(lambda: where.status()["clients"][0]["handles"] == 1)
        assert (f(second).result() == 2).all()
        with pytest.raises(ValueError, match="quota queued=-1; allowed: a number, 0 or more, or None"):
            where.client("another", queued=-1)


def test_a_quota_of_programs_that_wait() -> None:
    with pcg.Controller(1, devices=jax.devices()[:1], memory=64) as controller:
        client = controller.client("me", queued=2)
        f = client.request(1).function(lambda x: x + 1)
        kept = f(jnp.zeros(8))
        waiting = [f(kept), f(kept), f(kept)]  # the first one fits
        with pytest.raises(QuotaExceeded, match="2 programs of client 'me' wait; allowed: 2"):
            f(kept)
        client.close()
        with pytest.raises(Cancelled):
            waiting[1].result()


def test_shares_of_two_connections(
    shared: tuple[pcg.Controller, Server], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the heavy one has got all that it wants, the other one has got a third of that.

    Programs take the same time by the scheduler's clock: what else this machine does must not count.
    """
    scheduler = shared[0].dispatcher.scheduler
    launch, finished = scheduler.launch, scheduler.finished
    launched: list[str] = []

    def noted() -> Iterator[Ticket]:
        for run in launch():
            launched.append(run.client)
            yield run

    monkeypatch.setattr(scheduler, "launch", noted)
    monkeypatch.setattr(scheduler, "finished", lambda run, island, _, kept=0: finished(run, island, 1e-3, kept))
    with ConnectedCluster(server.address, KEY) as one, ConnectedCluster(server.address, KEY) as two:
        clients = [one.client("light", weight=1), two.client("heavy", weight=3)]
        slices = [c.request(1, island="island0", shared=True) for c in clients]
        work = [s.function(lambda x: jax.lax.fori_loop(0, 200, lambda _, y: x @ y, x)) for s in slices]
        x = [f(f(jnp.eye(32))).block_until_ready() for f in work]
        # Both have all of their programs in the queue before the first of them runs.
        opened = threading.Event()

        def first(x: Any) -> Any:
            opened.wait(60)
            return x

        blocker = shared[0].client("first")
        wait = blocker.request(1, island="island0", shared=True).function(lambda x: jax.pure_callback(first, x, x))
        wait.lower(jnp.ones(2))
        blocked = threading.Thread(target=wait, args=(jnp.ones(2),))
        blocked.start()
        until(lambda: shared[0].dispatcher.islands()["island0"].busy)
        for f, y in zip(work, x, strict=True):
            for _ in range(90):
                f(y)
        until(lambda: {c["programs"] for c in one.status()["clients"]} == {92}, 60)
        # Not those that were launched beside the first one, of the light one, which was there earlier.
        launched.clear()
        opened.set()
        blocked.join()
        until(lambda: launched.count("heavy") == 90, 60)
        last = len(launched) - launched[::-1].index("heavy")
        assert launched[:last].count("light") == pytest.approx(30, abs=1)
        blocker.close()
