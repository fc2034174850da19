"""Curves of measurements, profiles, and their text."""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcg.machine import Cluster, ClusterError
from pcg.machine.curve import Curve, between
from pcg.machine.profile import CLASSES, Profile, Rates, Reordering, class_of
from pcg.machine.profile_text import default_path, dumps, load, loads

_POSITIVE = st.floats(1e-9, 1e12)
_POINTS = st.lists(st.tuples(_POSITIVE, st.floats(1e-8, 1e3)), min_size=1, max_size=8)


def profile(**changes) -> Profile:
    square, thin = Curve((1e6, 1e9), (1e-4, 2e-2)), Curve((1e5, 1e8), (1e-4, 1e-2))
    stream = Curve((1e4, 1e7), (1e-5, 1e-3))
    kept = {
        "name": "cpu", "devices": 8, "kernel": 2e-6, "dispatch": 3e-4, "argument": 1e-5,
        "rates": {
            ("contraction", "f32"): Rates(((2.0, thin), (32.0, square))),
            ("elementwise", "f32"): Rates(((4.0, Curve((1e5,), (1e-5,))),), stream),
            ("transcendental", "f32"): Rates(((0.1, Curve((1e5,), (4e-4,))),)),
            ("transpose", "f32"): Rates((), Curve((1e4, 1e7), (1e-5, 1e-3))),
            ("reorder", "f32"): Rates((), Curve((1e4, 1e7), (1e-5, 1e-2))),
            ("regroup", "f32"): Rates((), Curve((1e4, 1e7), (2e-5, 4e-3))),
        },
        "collectives": {
            ("all_reduce", 2): Curve((1e3, 1e6), (1e-4, 1e-3), True),
            ("all_reduce", 8): Curve((1e3, 1e6), (4e-4, 4e-3), True),
        },
        "fresh": Curve((1e6, 1e8), (1e-4, 1e-1)),
        "waits": {2: Curve((1e-3, 1e-2), (1e-5, 1e-4)), 8: Curve((1e-3, 1e-2), (2e-4, 2e-3))},
        "provenance": {"device": "a \"processor\"", "date": "2026-01-01"},
    }  # fmt: skip
    return Profile(**{**kept, **changes})


# -- curves ----------------------------------------------------------------------------------------


@given(_POINTS, st.booleans())
def test_a_fitted_curve_rises_and_meets_its_knots(points, floor):
    curve = Curve.through(points, floor)
    assert all(a < b for a, b in itertools.pairwise(curve.sizes))
    assert all(a <= b for a, b in itertools.pairwise(curve.seconds))
    for size, seconds in zip(curve.sizes, curve.seconds, strict=True):
        assert curve(size) == pytest.approx(seconds, rel=1e-9)


def test_sizes_that_rounding_sets_apart_are_one():
    curve = Curve.through([(1.0000000000000003e-09, 2.0), (1e-09, 0.5)])
    assert curve.sizes == (1e-9,)
    assert curve.seconds == pytest.approx((1.0,))


@given(_POINTS, st.booleans(), st.lists(st.floats(0, 1e13), min_size=2, max_size=10))
def test_more_never_takes_less(points, floor, sizes):
    curve = Curve.through(points, floor)
    found = curve(np.array(sorted(sizes)))
    assert np.all(np.diff(found) >= -1e-12 * found[1:])


def _rounded(point):
    """A size as curves tell it from others: those a rounding error apart are one."""
    return math.log(point[0])


@given(st.lists(st.tuples(_POSITIVE, st.floats(1e-8, 1e3)), min_size=1, max_size=8, unique_by=_rounded))
def test_measurements_that_rise_are_kept(points):
    times = sorted(t for _, t in points)
    rising = list(zip(sorted(s for s, _ in points), times, strict=True))
    curve = Curve.through(rising)
    assert curve.sizes == tuple(s for s, _ in rising)
    assert curve.seconds == pytest.approx(times, rel=1e-9)


def test_beyond_the_ends_the_rates_of_the_ends_hold():
    curve = Curve((10.0, 100.0), (1.0, 2.0))
    assert curve(1000.0) == pytest.approx(20.0)
    assert curve(1.0) == pytest.approx(0.1)
    assert curve(0.0) == 0.0
    assert curve(np.sqrt(1000.0)) == pytest.approx(np.sqrt(2.0))  # the middle, in logarithms
    floored = dataclasses.replace(curve, floor=True)
    assert (floored(1.0), floored(0.0)) == (pytest.approx(1.0), pytest.approx(1.0))
    assert floored(1000.0) == pytest.approx(20.0)


def test_out_of_order_times_are_averaged():
    curve = Curve.through([(1.0, 1.0), (2.0, 4.0), (3.0, 1.0), (4.0, 8.0), (4.0, 8.0)])
    assert curve.sizes == (1.0, 2.0, 3.0, 4.0)
    assert curve.seconds == pytest.approx((1.0, 2.0, 2.0, 8.0))


@pytest.mark.parametrize(
    ("sizes", "seconds", "says"),
    [
        ((), (), "0 sizes and 0 times; allowed: one or more"),
        ((1.0,), (1.0, 2.0), "1 sizes and 2 times"),
        ((1.0, 1.0), (1.0, 2.0), "sizes of a curve are 1 and then 1; allowed: rising ones"),
        ((1.0, 2.0), (2.0, 1.0), "times of a curve are 2 and then 1"),
        ((0.0,), (1.0,), "the size 0; allowed: finite numbers above 0"),
        ((1.0,), (float("nan"),), "the time nan"),
    ],
)
def test_a_curve_is_checked(sizes, seconds, says):
    with pytest.raises(ClusterError, match=says):
        Curve(sizes, seconds)


@given(st.floats(0.1, 1000), st.floats(1, 1e10))
def test_between_two_curves_is_between_them(at, size):
    low, high = Curve((1.0,), (2.0,)), Curve((1.0,), (1.0,))
    found = between(((1.0, low), (100.0, high)), at, size)
    assert high(size) * (1 - 1e-9) <= found <= low(size) * (1 + 1e-9)
    if at <= 1:
        assert found == pytest.approx(low(size))
    if at >= 100:
        assert found == pytest.approx(high(size))


# -- costs -----------------------------------------------------------------------------------------


def test_every_op_has_a_class():
    assert {class_of(f"stablehlo.{n}") for n in ("dot_general", "tanh", "add", "while")} == {
        "contraction", "transcendental", "elementwise",
    }  # fmt: skip
    assert class_of("chlo.erf") == "transcendental" and class_of("chlo.top_k") == "sort"
    assert {class_of(f"stablehlo.{n}") for n in ("transpose", "pad", "gather", "reduce_window")} <= set(CLASSES)


def test_numbers_and_arrays_cost_the_same():
    p = profile()
    flops, touched = np.array([1e6, 1e7, 1e9]), np.array([1e5, 1e6, 1e7])
    both = p.seconds("stablehlo.dot_general", "f32", flops, touched)
    assert isinstance(both, np.ndarray)
    for i in range(3):
        one = p.seconds("stablehlo.dot_general", "f32", float(flops[i]), float(touched[i]))
        assert isinstance(one, float) and one == pytest.approx(both[i])
    assert p.seconds("stablehlo.dot_general", "f64", 1.0, 1.0) is None
    assert p.seconds("stablehlo.sort", "f32", 1.0, 1.0) is None


def test_columns_that_share_sets_of_a_cache_take_longer_to_read():
    free, aligned = Curve((1e4, 1e7), (1e-5, 1e-2)), Curve((1e4, 1e7), (4e-5, 4e-2))
    p = profile()
    p = replace(p, rates={**p.rates, ("reorder", "f32"): Rates((), free), ("reorder_aligned", "f32"): Rates((), aligned)})

    def extra(stride: int) -> float:
        parts = {"stablehlo.add": 100.0}
        found = p.fused("stablehlo.add", "f32", parts, 6e5, Reordering(transposed=2e5, stride=stride))
        return found - p.fused("stablehlo.add", "f32", parts, 0.0, Reordering())

    base = free(6e5)
    assert extra(0) == extra(256) == extra(4096 + 64) == pytest.approx(base)
    assert extra(1024) == extra(3 * 1024) == pytest.approx(2 * base)  # half of the way from 256 to 4096 bytes
    assert extra(4096) == extra(1 << 20) == pytest.approx(4 * base)


def test_turning_around_a_collective_is_a_class_of_its_own():
    p = profile()
    assert p.seconds("pcg.layout", "f32", 0.0, 1e6) == p.seconds("stablehlo.transpose", "f32", 0.0, 1e6)
    measured = replace(p, rates={**p.rates, ("layout", "f32"): Rates((), Curve((1.0,), (2.0,)))})
    assert measured.seconds("pcg.layout", "i32", 0.0, 1e6) == pytest.approx(2e6)


def test_a_fused_kernel_takes_its_longest_part_and_its_reordering():
    p = profile()
    stream = p.rates["elementwise", "f32"].bytes
    parts = {"stablehlo.add": 100.0, "stablehlo.multiply": 100.0}
    assert p.fused("stablehlo.add", "f32", parts, 1e6, Reordering()) == pytest.approx(stream(1e6))
    heavy = {**parts, "stablehlo.tanh": 1e7}
    assert p.fused("stablehlo.add", "f32", heavy, 1e6, Reordering()) == pytest.approx(4e-2 + 1e-5 * 200 / 1e5)
    # Of 1 MB touched 0.6 MB belong to the loop that reorders 0.2 MB.
    strided = p.fused("stablehlo.add", "f32", parts, 1e6, Reordering(transposed=2e5))
    assert strided == pytest.approx(stream(4e5) + p.rates["reorder", "f32"].bytes(6e5))
    # The same in ten matrices.
    many = p.fused("stablehlo.add", "f32", parts, 1e6, Reordering(transposed=2e5, slab=2e4))
    assert many == pytest.approx(stream(4e5) + 10 * p.rates["reorder", "f32"].bytes(6e4))
    # Of 1 MB touched 0.4 MB are the reading and writing of 0.2 MB whose rows change places.
    rows = p.fused("stablehlo.add", "f32", parts, 1e6, Reordering(rows=2e5))
    assert rows == pytest.approx(stream(6e5) + p.rates["regroup", "f32"].bytes(4e5))
    alone = p.fused("stablehlo.transpose", "f32", {"stablehlo.transpose": 1.0}, 1e6, Reordering(transposed=5e5))
    assert alone == pytest.approx(p.rates["transpose", "f32"].bytes(1e6))
    # A loop over another type is like one over f32; a contraction of another type is not known.
    assert p.fused("stablehlo.add", "i32", parts, 1e6, Reordering()) == pytest.approx(stream(1e6))
    assert p.fused("stablehlo.dot_general", "f64", {"stablehlo.dot_general": 1.0}, 1e6, Reordering()) is None


def test_collectives_between_group_sizes():
    p = profile()
    assert p.link("all_reduce", 2, 1e6) == pytest.approx(1e-3)
    assert p.link("all_reduce", 4, 1e6) == pytest.approx(2e-3)
    assert p.link("all_reduce", 8, 0.0) == pytest.approx(4e-4)
    assert p.link("all_reduce", 16, 1e6) is None and p.link("permute", 2, 1e6) is None


# -- text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_a_scaled_profile_takes_so_many_times_as_long_for_everything(factor: float):
    one = profile()
    other = one.scaled(factor)
    for op, flops, touched in (("stablehlo.dot_general", 1e8, 1e6), ("stablehlo.add", 1e5, 1e6), ("stablehlo.tanh", 1e5, 1e6)):
        before, after = (p.seconds(op, "f32", flops, touched) for p in (one, other))
        assert before is not None and after == pytest.approx(factor * before)
    for p, q in zip(
        (one.kernel, one.dispatch, one.argument, one.fresh(3e6), one.collectives["all_reduce", 8](5e5)),
        (other.kernel, other.dispatch, other.argument, other.fresh(3e6), other.collectives["all_reduce", 8](5e5)),
        strict=True,
    ):
        assert q == pytest.approx(factor * p)
    # Devices wait longer, and what they do before takes longer.
    assert other.waits[8](factor * 5e-3) == pytest.approx(factor * one.waits[8](5e-3))
    assert (other.name, other.devices, other.provenance) == (one.name, one.devices, one.provenance)


def test_text_and_back():
    p = profile()
    assert loads(dumps(p)) == p
    assert loads(dumps(p)).provenance == p.provenance


@given(_POINTS, st.floats(0, 1), st.integers(1, 512))
def test_any_profile_survives_its_text(points, kernel, devices):
    curve = Curve.through(points)
    p = profile(kernel=kernel, devices=devices, rates={("gather", "bf16"): Rates((), curve)})
    assert loads(dumps(p)) == p


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("devices = 8", "devices = 0"), "is of 0 devices; allowed: 1 or more"),
        (("devices = 8", 'devices = "8"'), "devices is '8'; allowed: a whole number"),
        (("kernel = ", "kernels = "), "unknown key 'kernels' in the profile; allowed: pcg_profile"),
        (("pcg_profile = 2", "pcg_profile = 7"), "pcg_profile is 7; this pcg reads version 2"),
        (("[rates.transpose.f32]", "[rates.turning.f32]"), "unknown key 'turning' in rates; allowed: contraction"),
        (("[collectives.all_reduce.8]", "[collectives.all_reduce.x]"), "'x' is no group size"),
        (("[collectives.all_reduce.8]", "[collectives.all_reduce.1]"), "all_reduce in groups of 1; allowed: 2 or more"),
        (("[collectives.all_reduce.8]", "[collectives.shuffle.8]"), "unknown key 'shuffle' in collectives"),
        (("intensity = 32.0", "intensity = 1.0"), r"rates.contraction.f32: the intensities of rates are \[2.0, 1.0\]"),
        (("sizes = [1000.0, 1000000.0]", "sizes = [1000.0]"), "collectives.all_reduce.2: a curve has 1 sizes and 2 times"),
        (("dispatch = ", "dispatch = -"), "dispatch is -0.0003 s; allowed: 0 or more"),
        (("[made]", "[made"), "not TOML"),
        (("devices = 8", f"devices = 1{'0' * 400}"), r"is of 1000.* devices; allowed: 1 or more, up to 65536 \(line \d+\)"),
        (("devices = 8", "devices = true"), "devices is True; allowed: a whole number"),
        (("dispatch = ", f"dispatch = 1{'0' * 400} #"), r"dispatch is 1000.*; allowed: a finite number.* \(line \d+\)"),
        (("dispatch = ", "dispatch = nan #"), "dispatch is nan; allowed: a finite number"),
        (("dispatch = ", "dispatch = inf #"), "dispatch is inf; allowed: a finite number"),
        (("dispatch = ", "dispatch = false #"), "dispatch is False; allowed: a number"),
        (("sizes = [1000.0, 1000000.0]", f"sizes = [1{'0' * 400}, 2]"), r"sizes is 1000.*; allowed: a finite number"),
        (("sizes = [1000.0, 1000000.0]", "sizes = [1000.0, 1000.0]"), "sizes of a curve are 1000 and then 1000; .* rising"),
        (("sizes = [1000.0, 1000000.0]", "sizes = [1000000.0, 1000.0]"), "sizes of a curve are 1e\\+06 and then 1000"),
        (("sizes = [1000.0, 1000000.0]", "sizes = [1e-300, 1.0]"), "a curve has the size 1e-300; allowed: finite numbers"),
        (("[collectives.all_reduce.8]", "[collectives.all_reduce.\u00b2]"), "not TOML"),
        (("[collectives.all_reduce.8]", '[collectives.all_reduce."\u00b2"]'), "is no group size; allowed: 2 or more"),
        (("[collectives.all_reduce.8]", "[collectives.all_reduce.02]"), "'02' is no group size; allowed: 2 or more"),
        (("[collectives.all_reduce.8]", "[collectives.all_reduce.999999999]"), "in groups of 999999999; .* up to 65536"),
        (("pcg_profile = 2", "pcg_profile = true"), "pcg_profile is True; this pcg reads version 2"),
    ],
)
def test_a_wrong_text_is_told(change, says):
    text = dumps(profile())
    assert change[0] in text
    with pytest.raises(ClusterError, match=says) as error:
        loads(text.replace(*change, 1), "p.toml")
    assert str(error.value).startswith("p.toml: ")


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(ClusterError, match="profile '.*none.toml' cannot be read"):
        load(tmp_path / "none.toml")


# -- in a cluster --------------------------------------------------------------------------------------


def test_a_cluster_file_names_a_profile(tmp_path):
    plain = Cluster.preset("cpu", devices=8)
    (tmp_path / "measured.toml").write_text(dumps(profile()))
    text = plain.dumps().replace("\n[[groups]]", '\nprofile = "measured.toml"\n[[groups]]', 1)
    (tmp_path / "machine.toml").write_text(text)
    found = Cluster.load(tmp_path / "machine.toml")
    assert found.kinds[0].profile == profile() and found != plain
    # Written out again the profile is part of the description.
    found.save(tmp_path / "again.toml")
    (tmp_path / "measured.toml").unlink()
    assert Cluster.load(tmp_path / "again.toml") == found
    with pytest.raises(ClusterError, match=r"machine.toml: kinds.cpu.profile: profile '.*measured.toml' cannot be read"):
        Cluster.load(tmp_path / "machine.toml")


def test_detect_takes_the_profile_in_the_users_cache(tmp_path, monkeypatch):
    from pcg.machine import detect

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = default_path("cpu", 8)
    assert path.is_relative_to(tmp_path)
    path.parent.mkdir(parents=True)
    here = detect.processor()
    path.write_text(dumps(profile(provenance={"device": here})))

    def found(devices: int) -> Profile | None:
        return detect.with_profile(detect.cpu_cluster(4, 2**34, "", devices), here, "cpu").kinds[0].profile

    assert found(8) == profile()
    assert found(4) is None  # taken with eight devices at work
    path.write_text(dumps(profile(provenance={"device": "another processor"})))
    assert found(8) is None
    path.write_text("nonsense")
    with pytest.raises(ClusterError, match="cpu-8.toml: not TOML"):
        found(8)


def test_an_error_is_one_line_whatever_keys_a_file_has(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text('pcg_profile = 2\nname = "cpu"\ndevices = 2\nkernel = 1e-6\ndispatch = 1e-5\nargument = 1e-7\n[waits."a\\nb"]\nsizes = [1.0]\nseconds = [1.0]\n')
    with pytest.raises(ClusterError, match=r"waits\.a\\nb: .* is no group size") as error:
        load(path)
    assert "\n" not in str(error.value)
    path.write_text(path.read_text().replace("a\\nb", "9" * 5000))
    with pytest.raises(ClusterError, match=r"9\.\.\. \(50\d\d characters\)") as error:
        load(path)
    assert len(str(error.value)) < 500 + len(str(path))
