"""Measurements as at the speed that the machine had at first."""

from __future__ import annotations

import functools
from typing import Any

import jax
import pytest

from pcg.runtime import calibrate, overheads, probes, speed
from pcg.runtime.calibrate import Calibration
from pcg.runtime.probes import Probe
from pcg.runtime.speed import Speed


class Machine:
    """A machine that takes `slow` times as long as at first for everything: a clock that programs do not have to run for.

    An iteration of a probe takes a nanosecond for each of its sizes, and a call a tenth of a millisecond more.
    """

    def __init__(self) -> None:
        self.slow = 1.0
        self.changes: list[float] = []
        """What it becomes, by measurement."""

    def timed(self, call: Any, *args: Any) -> float:
        if self.changes:
            self.slow = self.changes.pop(0)
        of, (iterations,) = (call.func, call.args) if isinstance(call, functools.partial) else (call, args or (1,))
        return self.slow * (1e-4 + 1e-9 * iterations * getattr(of, "size", 1.0))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine()
    for module in (calibrate, overheads, speed):
        monkeypatch.setattr(module, "timed", found.timed)

    def program(self: Calibration, probe: Probe) -> Any:
        def call(iterations: int) -> None:
            assert iterations >= 1

        call.size = probe.size  # type: ignore[attr-defined]
        return call

    monkeypatch.setattr(Calibration, "_program", program)
    return found


def test_slowness_is_the_median_since_then_over_that_of_the_beginning(machine: Machine) -> None:
    looked = Speed(functools.partial(lambda n: None, 1))
    for slow in (2.0, 2.0, 9.0):
        machine.slow = slow
        looked.look()
    assert looked.slowness(looked.looks - 3) == pytest.approx(2.0)
    assert looked.slowness(looked.looks - 1) == pytest.approx(9.0)
    assert looked.typical == 1.0 and looked.found == pytest.approx([2.0, 9.0])


@pytest.mark.parametrize("slow", [0.5, 1.0, 3.0])
def test_what_is_measured_later_takes_what_it_took_at_first(machine: Machine, slow: float) -> None:
    work = Calibration(jax.devices()[:1], 3)
    wanted = [p for p in probes.compute(["f32"], 1 << 18, 3, cpu=True) if p.row[0] in ("reduce", "sort")]
    first = work.measure(wanted)
    assert work.speed.found == pytest.approx([1.0] * len({p.row for p in wanted}))
    machine.slow = slow
    for (probe, before), (_, after) in zip(first, work.measure(wanted), strict=True):
        assert before == pytest.approx(1e-9 * (probe.size - 1.0), rel=1e-6) == pytest.approx(after, rel=1e-6)


def test_a_short_pause_of_the_machine_changes_nothing(machine: Machine) -> None:
    work = Calibration(jax.devices()[:1], 5)
    probe = next(p for p in probes.compute(["f32"], 1 << 18, 3, cpu=True) if p.row[0] == "sort")
    ((_, before),) = work.measure([probe])
    machine.changes = [1.0] * 12 + [50.0] * 2 + [1.0]
    ((_, after),) = work.measure([probe])
    assert not machine.changes and after == pytest.approx(before, rel=1e-6)


def test_starting_a_program_is_measured_at_the_speed_of_the_beginning(machine: Machine) -> None:
    work = Calibration(jax.devices()[:1], 1)
    assert work.speed.typical == 1.0
    machine.slow = 4.0
    one, more = overheads.dispatch(work.devices, 1, work.speed)
    assert one == pytest.approx(1e-4, rel=1e-2) and more == 0.0


def test_a_profile_is_of_the_speed_that_the_machine_mostly_had(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for slow in (1.0, 3.0):
        machine.slow = 1.0
        work = Calibration(jax.devices()[:1], 3)
        assert work.speed.looks
        machine.slow = slow
        work.speed._seconds += [slow * work.speed._first] * 99
        monkeypatch.setattr(overheads, "fresh", lambda *_: calibrate.Curve.through([(1.0, 1.0), (2.0, 2.0)]))
        found.append(work.profile(["f32"], 1 << 16, 2, ["sort"]))
    least, most = (p.rates["sort", "f32"].flops[0][1].seconds for p in found)
    assert most == pytest.approx([3.0 * s for s in least], rel=1e-6)
    assert found[1].dispatch == pytest.approx(3.0 * found[0].dispatch, rel=1e-6)
