"""`pcg.compile` in both processes of a job of `jax.distributed`, each with a device: results, plans, and disagreement."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from support import multicontroller

#: Seconds for both processes.
DEADLINE = 180.0


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What both processes have found."""
    folder = tmp_path_factory.mktemp("job")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    processes = []
    for rank in range(2):
        out = folder / f"{rank}.json"
        variables = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONHASHSEED": str(rank + 1)}
        with (folder / f"{rank}.txt").open("w") as log:
            command = [sys.executable, multicontroller.__file__, str(rank), str(port), str(out)]
            processes.append(subprocess.Popen(command, env=variables, stdout=log, stderr=subprocess.STDOUT))
    end = time.monotonic() + DEADLINE
    try:
        for p in processes:
            p.wait(max(end - time.monotonic(), 0.1))
    finally:
        for p in processes:  # jax ignores the polite signal
            if p.poll() is None:
                p.send_signal(signal.SIGKILL)
    texts = "\n".join((folder / f"{rank}.txt").read_text() for rank in range(2))
    files = [folder / f"{rank}.json" for rank in range(2)]
    assert all(map(Path.exists, files)), texts[-3000:]
    return [json.loads(f.read_text()) for f in files]


def test_it_trains_as_one_device_does(found: list[dict[str, Any]]) -> None:
    w, x, y = multicontroller.inputs()
    one = jax.jit(multicontroller.step)
    expected = []
    for _ in range(5):
        value, w = one(w, x, y)
        expected.append(float(value))
    expected += [float(jnp.sum(v * v)) for v in jax.tree.leaves(w)]
    for process in found:
        for kind in ("host", "local arrays", "global", "redistributed", "split", "another plan"):
            np.testing.assert_allclose(process[kind], expected, rtol=1e-5, err_msg=kind)
    noise = float(jnp.sum(multicontroller.noisy(jax.random.key(0), x) ** 2))
    np.testing.assert_allclose([p["random"] for p in found], [noise, noise], rtol=1e-5)


def test_plans_are_the_same(found: list[dict[str, Any]]) -> None:
    assert found[0]["plan"] == found[1]["plan"]


def test_where_plans_differ_the_first_ones_is_taken(found: list[dict[str, Any]]) -> None:
    plans = [json.loads(p["agreed plan"]) for p in found]
    assert plans[0] == plans[1]
    # Megatron's, of the second process, would split the weights.
    assert [a["spec"] for a in plans[0]["arguments"]] == [a["spec"] for a in json.loads(found[0]["plan"])["arguments"]]


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("body", "AgreementError: processes 0 and 1 compile different programs named <lambda>; they differ in body;"),
        ("types", "differ in arguments: z: f32[64,8] in process 0, z: f32[64,16] in process 1;"),
        ("options", "differ in in_shardings: {} in process 0, {0: ShardSpec("),
        ("devices", "differ in devices: ["),
    ],
)
def test_processes_that_compile_different_programs_both_get_an_error(
    found: list[dict[str, Any]], case: str, text: str
) -> None:
    assert found[0][case] == found[1][case]
    assert text in found[0][case]
    assert found[0][case].endswith("; allowed: the same programs in the same order in every process")


@pytest.mark.parametrize(("case", "which"), [("first fails", 0), ("second fails", 1)])
def test_an_error_in_one_process_is_one_in_both(found: list[dict[str, Any]], case: str, which: int) -> None:
    cause = "sharding of argument z (f32[1,16]): dimension 0 of size 1 is not divisible by 2 (x)"
    assert found[which][case] == f"PcgError: {cause}"
    assert found[1 - which][case].startswith(f"AgreementError: process {which}")
    assert "could not compile" in found[1 - which][case] and cause in found[1 - which][case]


def test_a_process_that_does_not_compile_is_named(found: list[dict[str, Any]]) -> None:
    for process, case in ((1, "absent"), (0, "behind")):  # who comes behind gets what the other one has got
        assert "process 0 has not compiled program '<lambda>' after 1 s" in found[process][case]
    assert found[0]["again"] == pytest.approx(found[1]["again"])


def test_arrays_and_devices_of_one_process_are_refused(found: list[dict[str, Any]]) -> None:
    for i, process in enumerate(found):
        assert process["on one"].startswith(f"MeshError: argument z is on devices of process {i} alone, ")
        assert process["pipeline"].startswith("PipelineError: pipeline= on devices of several processes; allowed: ")
    assert found[0]["no device"] == [64, 16]
    assert found[1]["no device"].startswith("MeshError: the 1 devices of the mesh belong to processes [0], this is")
