"""Redistributions among devices that share processors: one collective in place of several over some axes each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pcg.machine import Machine
from pcg.machine.curve import Curve
from pcg.machine.profile import COLLECTIVES, Profile
from support.lowercheck import check, mesh_op, spec

#: Small groups take next to nothing, so in turns a redistribution seems to take less.
SECONDS = {2: 1e-6, 4: 1e-4, 8: 1e-2}


def machine(shared: bool) -> Machine:
    """One whose eight devices share processors or do not."""
    links = {(kind, n): Curve((1.0,), (s,), True) for kind in COLLECTIVES for n, s in SECONDS.items()}
    waits = {8: Curve((1e-3,), (1e-3,))} if shared else {}
    found = Machine.default()
    profile = Profile("cpu", 8, 0.0, 0.0, 0.0, {}, links, waits=waits)
    return replace(found, device=replace(found.device, profile=profile))


def program(src: str, dst: str, shape: str = "16x8") -> str:
    types = f"tensor<{shape}xf32>"
    return f"""
{mesh_op(a=2, b=2, c=2)}
func.func @main(%x: {types} {{dist.spec = {src}}}) -> ({types} {{dist.spec = {dst}}}) {{
  %0 = stablehlo.negate %x {{dist.specs = [{src}]}} : {types}
  return %0 : {types}
}}
"""


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        (spec("a+b+c,-"), spec("-,-")),
        (spec("-,c+a+b"), spec("-,-")),
        (spec("b+c,a"), spec("-,a")),
    ],
)
@pytest.mark.parametrize("devices", [False, True])
def test_a_gather_over_several_axes_is_one(src: str, dst: str, devices: bool) -> None:
    text = program(src, dst)
    (apart, _), (shared, _) = (check(text, devices=devices, machine=machine(s)) for s in (False, True))
    assert apart["all_gather"] > 1 and shared == {"all_gather": 1}


@pytest.mark.parametrize("dst", ["-,-", "a+b,-"])
@pytest.mark.parametrize("devices", [False, True])
def test_a_sum_over_several_axes_is_one(dst: str, devices: bool) -> None:
    text = f"""
{mesh_op(a=2, b=2, c=2)}
func.func @main(%x: tensor<16x8xf32> {{dist.spec = {spec("-,a+b+c")}}},
    %y: tensor<8x24xf32> {{dist.spec = {spec("a+b+c,-")}}}) -> (tensor<16x24xf32> {{dist.spec = {spec(dst)}}}) {{
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
    {{dist.specs = [{spec("-,-", a="sum", b="sum", c="sum")}]}}
    : (tensor<16x8xf32>, tensor<8x24xf32>) -> tensor<16x24xf32>
  return %0 : tensor<16x24xf32>
}}
"""
    (apart, _), (shared, _) = (check(text, rtol=1e-5, devices=devices, machine=machine(s)) for s in (False, True))
    assert sum(shared.values()) < sum(apart.values())
    assert max(shared.values()) == 1
