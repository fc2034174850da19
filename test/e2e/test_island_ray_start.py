"""The commands of docs/islands.md that take a reader to Ray on several machines, with two nodes on this one."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.pages import ROOT, blocks

SECTION = "Ray, on one machine and on several"


def commands() -> list[str]:
    found = [b.text for b in blocks(ROOT / "docs/islands.md") if b.section == SECTION]
    return [line.partition("#")[0].strip() for text in found for line in text.strip().splitlines()]


def line(start: str) -> str:
    (found,) = (c for c in commands() if c.startswith(start))
    return found


def port() -> int:
    """A free one below those that Ray gives to its processes."""
    for number in range(6400, 9000):
        with socket.socket() as own:
            if own.connect_ex(("127.0.0.1", number)) != 0:
                return number
    raise AssertionError("no free port")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Two nodes, started as the page says: the environment in which its programs run."""
    pytest.importorskip("ray", reason="Ray has no wheel for this Python")
    own = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_memory_monitor_refresh_ms": "0"}
    own.pop("RAY_AUTH_TOKEN", None)
    name, value = line("export RAY_AUTH_MODE").removeprefix("export ").split("=")
    # Ray's sockets have no room for long names; and others must not find this cluster.
    temporary = tempfile.mkdtemp(prefix="ray-")
    token = tmp_path / ".ray" / "auth_token"
    own |= {name: value, "RAY_AUTH_TOKEN_PATH": str(token), "PYTHONPATH": str(ROOT), "RAY_TMPDIR": temporary}
    number = port()
    program = str(Path(sys.executable).parent / "ray")
    generate = [program, *shlex.split(line("ray get-auth-token"))[1:]]
    unset = {k: v for k, v in own.items() if k != "RAY_AUTH_TOKEN_PATH"}
    subprocess.run(generate, env={**unset, "HOME": str(tmp_path)}, check=True, timeout=60)
    assert token.stat().st_size == 64
    small = ["--block", "--num-cpus=2", "--object-store-memory=100000000"]
    head = [*shlex.split(line("ray start --head").replace("6379", str(number))), *small, "--include-dashboard=false"]
    started, logs = [], []
    here = ""
    try:
        for i in range(2):
            if i == 1:
                command = [*shlex.split(line("ray start --address").replace("10.0.0.1:6379", here)), *small]
            else:
                command = head
            logs.append(tmp_path / f"node{i}")
            with open(logs[i], "w") as log:
                started.append(
                    subprocess.Popen([program, *command[1:]], env=own, stdout=log, stderr=log, start_new_session=True)
                )
            end = time.monotonic() + 90
            while "Ray runtime started" not in logs[i].read_text():
                assert started[i].poll() is None and time.monotonic() < end, logs[i].read_text()
                time.sleep(0.1)
            if i == 0:
                found = re.search(r"Local node IP: (\S+)", logs[0].read_text())
                assert found is not None
                here = f"{found[1]}:{number}"
        address = line("export RAY_ADDRESS").split("=")[1].replace("10.0.0.1:6379", here)
        yield {**own, "RAY_ADDRESS": address}
    finally:
        for node in reversed(started):
            node.send_signal(signal.SIGTERM)
        for node in started:
            try:
                node.wait(30)
            except subprocess.TimeoutExpired:
                node.kill()
        shutil.rmtree(temporary, ignore_errors=True)


def run(command: str, environment: dict[str, str]) -> str:
    assert command.startswith("python ")
    out = subprocess.run(
        [sys.executable, *shlex.split(command)[1:]], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip
    assert out.returncode == 0, out.stderr[-4000:]
    # Ray shows what actors print, too.
    return "\n".join(text for text in out.stdout.splitlines() if text.startswith(("losses", "left", "right")))


def test_the_page_says_what_is_tested() -> None:
    known = ("pip install 'pcg[ray]'", "python -m examples.islands_on_ray", "export RAY_AUTH_MODE=", "ray get-auth-token")
    assert all(c.startswith((*known, "ray start --", "export RAY_ADDRESS=")) for c in commands())
    assert len(commands()) == 8


@pytest.mark.slow
def test_from_one_machine_to_several(cluster: dict[str, str]) -> None:
    """The same losses on processes, on one Ray node, and on two of which each island has a process."""
    plain = {k: v for k, v in cluster.items() if k != "RAY_ADDRESS"}
    losses = run("python -m examples.islands_on_ray --backend processes", plain).splitlines()[0]
    assert re.fullmatch(r"losses( \d+\.\d{4}){5}", losses)
    first = run("python -m examples.islands_on_ray", cluster)
    assert first.splitlines()[0] == losses and "127.0.0.1" not in first
    (spread,) = (c for c in commands() if "--hosts" in c)
    out = run(spread, cluster)
    for a, b in zip(losses.split()[1:], out.splitlines()[0].split()[1:], strict=True):
        assert float(a) == pytest.approx(float(b), abs=2e-4)
    assert [len(re.findall(r"process \d+ at", text)) for text in out.splitlines()[1:3]] == [2, 2]
    out = subprocess.run(
        [str(Path(sys.executable).parent / "ray"), "status"], env=cluster, capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    assert len(re.findall(r"1 node_", out.stdout)) == 2


#: An island on both nodes, whose second one it ends, and an island on what is left.
FAILS = """
import os, signal, time, numpy as np, pcg
from pathlib import Path
from pcg.controller.faults import IslandFailed
from pcg.runtime.islands.ray_backend import RayBackend
backend = RayBackend(hosts={"both": 2}, strategy="STRICT_SPREAD", platform="cpu", patience=20)
with pcg.Controller({"both": 2}, backend=backend) as controller:
    f = controller.client().request(2, island="both").function(lambda x: x + x.sum())
    x = f(np.ones(2, np.float32))
    assert x.result().tolist() == [3, 3]
    parents = [int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in backend.workers["both"].pids]
    (second,) = [p for p in parents if b"--head" not in Path(f"/proc/{p}/cmdline").read_bytes().split(bytes(1))]
    os.kill(second, signal.SIGKILL)
    start = time.monotonic()
    try:
        while time.monotonic() < start + 30:
            x = f(x)
            x.result()
        raise AssertionError("nothing has failed")
    except IslandFailed as error:
        print("left failed", error.island, error.cause)
    print("left after", time.monotonic() - start)
    controller.add_island("one", 1)
    g = controller.client().request(1, island="one").function(lambda x: x + 1)
    print("left again", g(np.ones(2, np.float32)).result().tolist())
"""


@pytest.mark.slow
def test_a_machine_that_is_gone(cluster: dict[str, str]) -> None:
    """Its island fails within seconds; another one starts on what is left."""
    out = run(f"python -c {shlex.quote(FAILS)}", cluster)
    assert re.search("left failed both .*(died|ended|gone)", out), out
    (seconds,) = re.findall("left after ([0-9.]+)", out)
    assert float(seconds) < 10
    assert "left again [2.0, 2.0]" in out
