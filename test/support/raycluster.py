"""One Ray for all processes of a test run: the first that needs it starts it, the last one ends it."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

#: What tests may take from Ray at once, whatever this machine has.
CPUS = 64
#: Seconds that the process which has started Ray waits for the others.
_OTHERS = 900


@contextmanager
def _state(path: Path) -> Iterator[dict[str, object]]:
    """What all processes know, which one may change at a time."""
    with open(path, "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        state = json.loads(file.read() or "{}")
        yield state
        file.seek(0)
        file.truncate()
        file.write(json.dumps(state))


@pytest.fixture(scope="session")
def ray_cluster(testrun_uid: str) -> Iterator[str]:
    """The address of a Ray to which this process is connected."""
    path = Path(tempfile.gettempdir()) / f"pcg-ray-{testrun_uid}"
    with _state(path) as state:
        first = "token" not in state
        token = str(state.setdefault("token", secrets.token_hex(32)))
        # Ray reads these when it is imported.
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token)
        os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_memory_monitor_refresh_ms="0")
        ray = pytest.importorskip("ray", reason="Ray has no wheel for this Python")
        quiet = {"logging_level": "ERROR", "log_to_driver": False}
        if first:
            ray.init(
                "local", num_cpus=CPUS, resources={"room": 2}, include_dashboard=False, object_store_memory=100 << 20,
                **quiet,
            )  # fmt: skip
            state["address"] = ray.get_runtime_context().gcs_address
        state["users"] = int(str(state.get("users", 0))) + 1
        address = str(state["address"])
    try:
        if not first:
            ray.init(address, **quiet)
        yield address
    finally:
        with _state(path) as state:
            left = state["users"] = int(str(state["users"])) - 1
    end = time.monotonic() + _OTHERS
    while first and left and time.monotonic() < end:
        time.sleep(0.2)
        with _state(path) as state:
            left = int(str(state["users"]))
    ray.shutdown()
    if first:
        path.unlink()
