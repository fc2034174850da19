"""The estimator of `bench/` on programs whose work is known."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from bench.estimate import estimate
from pcg.cost import CostModel
from pcg.layout import Mesh as Axes
from pcg.machine import Machine

MACHINE = Machine.default()


def compiled(function, shapes, ins, out) -> str:
    mesh = Mesh(np.array(jax.devices()[:8]), ("x",))
    specs = [NamedSharding(mesh, s) for s in ins]
    args = [jax.ShapeDtypeStruct(s, jnp.float32) for s in shapes]
    return jax.jit(function, in_shardings=specs, out_shardings=NamedSharding(mesh, out)).lower(*args).compile().as_text()


def test_a_contraction_and_its_reduction() -> None:
    """Split along the contracted dimension: an eighth of the FLOPs, one all-reduce of the product."""
    found = estimate(compiled(jnp.matmul, [(256, 1024), (1024, 512)], [P(None, "x"), P("x")], P()), 8)
    assert found.flops == 2 * 256 * 1024 * 512 / 8
    bytes_ = 256 * 512 * 4
    model = CostModel(MACHINE, Axes.parse("x=8"))
    assert found.communication == pytest.approx(model.link(["x"], 2 * 7 / 8 * bytes_, "all_reduce"))
    moved = (256 * 128 + 128 * 512 + 256 * 512) * 4
    work = max(found.flops / MACHINE.device.peak("f32"), moved / MACHINE.device.memory_bandwidth)
    assert found.contractions == pytest.approx(work, rel=1e-6)


def test_a_convolution_in_a_loop() -> None:
    """Three times a 3x3 convolution of 16 to 16 channels, batch split: no communication."""

    def function(x, k):
        def body(_, y):
            return jax.lax.conv_general_dilated(y, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

        return jax.lax.fori_loop(0, 3, body, x)

    found = estimate(compiled(function, [(8, 32, 32, 16), (3, 3, 16, 16)], [P("x"), P()], P("x")), 8)
    assert found.flops == 3 * 2 * (32 * 32 * 16) * 9 * 16
    assert found.communication == 0.0


def test_elementwise_chains_are_read_and_written_once() -> None:
    found = estimate(compiled(lambda x: jnp.tanh(x * 2 + 1) * x, [(4096, 4096)], [P("x")], P("x")), 8)
    assert found.memory == pytest.approx(2 * 4096 * 512 * 4 / MACHINE.device.memory_bandwidth)
    assert found.seconds == found.memory
