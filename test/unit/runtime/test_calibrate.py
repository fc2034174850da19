"""Calibration: that every probe is the op it says, and that a small run makes a profile."""

from __future__ import annotations

import functools
import math
import os
import platform
import subprocess
import sys

import jax
import numpy as np
import pytest

from pcg.machine import ClusterError
from pcg.machine.profile import CLASSES, COLLECTIVES
from pcg.machine.profile_text import load
from pcg.runtime import probes
from pcg.runtime.calibrate import Calibration, _rates
from pcg.tools import pcg_calibrate
from support.close import assert_close


def rows():
    every = [*probes.compute(["f32"], 1 << 18, 2), *probes.links([2], 1 << 14, 2)]
    first = {}
    for p in every:
        first.setdefault((p.row, len([q for q in first if q[0] == p.row]) if p.row[0] == "contraction" else 0), p)
    return list(first.values())


def test_probes_cover_all_classes_and_collectives():
    every = [
        *probes.compute(["f32"], 1 << 20, 3), *probes.links([2, 4], 1 << 20, 3), *probes.inner_gathers(4, 1 << 20, 3)
    ]  # fmt: skip
    assert {p.row[0] for p in every} == {*CLASSES, "link"} - {"layout"}
    assert {p.row[1] for p in every if p.row[0] == "link"} == {*COLLECTIVES, "inner_gather"}
    assert all(p.size > 0 for p in every)
    assert all(p.intensity > 0 for p in every if p.row[2] == "flops")


@pytest.mark.parametrize("probe", [p for p in rows() if p.row[0] != "link"], ids=lambda p: " ".join(map(str, p.row)))
def test_a_probe_runs_on_its_operands(probe):
    args = [
        np.arange(math.prod(s), dtype=d).reshape(s) if np.issubdtype(d, np.integer) else np.ones(s, d)
        for s, d in probe.operands
    ]
    found = jax.jit(probe.run)(*args)
    assert np.all(np.isfinite(np.asarray(found)))


def test_the_loop_of_a_probe_runs_its_op_on_what_the_turn_before_left():
    probe = next(p for p in probes.compute(["f32"], 1 << 12, 2, cpu=True) if p.row[:1] == ("reduce",))
    x = np.random.default_rng(0).random(probe.operands[0][0], np.float32)
    made = np.asarray(jax.eval_shape(probe.run, x).shape)
    left, last = jax.jit(probe.loop)(3, x, np.zeros(made, np.float32))
    for turn in range(3):
        result = x.sum(0)
        x[0, 0] = result[turn % len(result)]
    assert_close(left, x, 1e-5)
    assert_close(last, result, 1e-5)


def test_devices_that_meet_have_worked_before():
    x, factor, one = (np.random.default_rng(i).random(s, np.float32) for i, s in enumerate([(16, 16), (16, 16), 8]))
    left, last = jax.jit(functools.partial(probes.work_and_all_reduce, 2, False))(3, x, factor / 8, one)
    for _ in range(3):
        for _ in range(2):
            x = np.array(probes.layer(x, factor / 8))
        one = 0.5 * one + x[0, :8]
        x[0, 0] = one[0]
    assert_close(left, x, 1e-4)
    assert_close(last, one, 1e-4)


def test_where_left_matrices_are_packed_their_rows_are_not_contracted():
    for cpu in (False, True):
        given = [p for p in probes.compute(["f32"], 1 << 18, 2, cpu) if p.row[0] == "contraction"]
        seen = {p.operands[0][0] == p.operands[1][0] and p.operands[0][0][0] != p.operands[0][0][1] for p in given}
        assert seen == ({False} if cpu else {False, True})
        assert {p.unrolled for p in probes.compute(["f32"], 1 << 18, 2, cpu)} == {False, cpu}


def test_contractions_have_the_flops_that_they_say():
    for p in probes.compute(["f32"], 1 << 18, 2):
        if p.row[0] == "contraction":
            text = jax.jit(p.run).lower(*[jax.ShapeDtypeStruct(s, d) for s, d in p.operands])
            assert text.cost_analysis()["flops"] == pytest.approx(p.size, rel=0.01)


def test_a_small_run_makes_a_profile(tmp_path):
    path = tmp_path / "cpu.toml"
    call = [sys.executable, "-m", "pcg.tools.pcg_calibrate", "--devices", "2", "--quick", "--rounds", "1"]
    call += ["--only", "sort,window,collectives", "-o", str(path)]
    glibc = platform.libc_ver()[0] == "glibc"
    call += ["--keep-memory"] if glibc else []
    flags = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run(call, capture_output=True, text=True, env=flags)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(path)
    assert "sort f32" in done.stderr and "link 2" in done.stderr
    profile = load(path)
    assert profile.devices == 2 and profile.name == "cpu"
    assert set(profile.rates) == {("sort", "f32"), ("window", "f32"), ("layout", "f32")}
    assert set(profile.collectives) == {(k, 2) for k in COLLECTIVES}
    assert profile.provenance["device"] and profile.dispatch > 0
    assert profile.provenance.get("memory") == ("kept" if glibc else None)
    assert profile.fresh is not None and profile.fresh.seconds[-1] > profile.fresh.seconds[0]
    assert set(profile.waits) == {2}  # the devices share the processors of this host


def test_arithmetic_is_more_than_memory_traffic_on_accelerators():
    """A GPU does some 20 FLOPs in the time of a byte, processors less than one."""
    for cpu, least in ((True, 4.0), (False, 64.0)):
        every = [p for p in probes.compute(["f32"], 1 << 18, 2, cpu) if p.row[0] in ("elementwise", "transcendental")]
        by_row = {p.row: p for p in every}
        assert by_row["elementwise", "f32", "flops"].intensity == least
        assert (("transcendental", "f32", "bytes") in by_row) == (not cpu)
        for p in every:
            if p.row[2] == "flops":
                touched = 2 * 4 * math.prod(p.operands[0][0])
                assert p.size / touched == pytest.approx(p.intensity)
                x = np.full(p.operands[0][0], 0.5, np.float32)
                ops = str(jax.make_jaxpr(p.run)(x))
                assert sum(ops.count(f" {op} ") for op in ("mul", "add", "exp", "tanh")) * x.size == p.size
    rates = _rates({row: [(p, 1.0)] for row, p in by_row.items()})
    assert rates["transcendental", "f32"].flops and rates["transcendental", "f32"].bytes is not None


def test_the_loop_keeps_an_op_apart_from_what_goes_into_the_next():
    probe = next(p for p in probes.compute(["f32"], 1 << 12, 2) if p.row[:1] == ("elementwise",))
    arrays = [jax.ShapeDtypeStruct(*operand) for operand in probe.operands]
    text = jax.jit(probe.loop).lower(3, *arrays[:1] * 2 * probe.copies, *arrays[1:]).as_text()
    assert text.count("optimization_barrier") == probe.copies


def test_on_accelerators_small_ops_run_several_times_in_an_iteration():
    work = Calibration(jax.devices()[:1], 1)
    assert work.cpu
    work.cpu = False
    probe = next(p for p in probes.compute(["f32"], 1 << 14, 2) if p.row[0] == "reduce")
    assert probe.copies > 1
    ((found, seconds),) = work.measure([probe])
    assert found is probe and 0 < seconds < 1e-3


def test_convolutions_of_as_many_channels_are_one_curve():
    """By what is done with each element of a patch, which the size of the image does not change."""
    given = [p for p in probes.compute(["f32"], 1 << 24, 4, cpu=True) if p.row[0] == "convolution"]
    rates = _rates({("convolution", "f32", "flops"): [(p, 1e-12 * p.size) for p in given]})["convolution", "f32"]
    assert [len(curve.sizes) for _, curve in rates.flops] == [2, 2, 2, 2]
    for at, _ in rates.flops:
        assert sum(abs(p.intensity / at - 1) < 0.1 for p in given) in (4, 6)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--devices", "0"], "--devices: '0'; allowed: a whole number, 1 or more"),
        (["--rounds", "0"], "--rounds: '0'; allowed: a whole number, 1 or more"),
        (["--elements", "f32,f31"], "--elements 'f31'; allowed: f32"),
        (["--only", "sorting"], "--only 'sorting'; allowed: contraction"),
        (["--devices", "4096"], "--devices 4096; there are"),
        (["-o", "/no/such/folder/p.toml"], "no folder /no/such/folder"),
    ],
)
def test_wrong_options_are_told(args, says, capsys):
    try:
        status = pcg_calibrate.main(args)
    except SystemExit as stopped:
        status = stopped.code
    assert status == 2
    assert says in capsys.readouterr().err


def test_what_cannot_be_calibrated_is_told():
    with pytest.raises(ClusterError, match="no device"):
        Calibration([], 1)
    with pytest.raises(ClusterError, match="0 rounds; allowed: 1 or more"):
        Calibration(jax.devices(), 0)
