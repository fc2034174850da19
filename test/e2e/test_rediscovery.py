"""What experts do by hand, found by the search: counted in the collectives of the lowered program.

Nothing is annotated and nothing is run: only shapes go in. "Large" collectives are those of activations or gradients;
the scalars of a loss or the small vectors of a normalisation are not what these plans are about.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import pcg
from bench.collectives import Traffic
from examples import dlrm, megatron4, resnet, training
from pcg.machine import DeviceKind, Link, Machine
from support.training import traffic

MESH = {"data": 2, "model": 4}
MIB = 2**20


def lower(module: Any, size: str = "small", mesh: Any = None, compile_options: Any = None, **overrides: Any) -> Any:
    """The example, compiled for its shapes: for accelerators, unless the options say otherwise."""
    step, shapes = module.shapes(size, **overrides)
    return pcg.compile(step, mesh or MESH, **{"machine": Machine.default(), **(compile_options or {})}).lower(*shapes)


def argument_specs(lowered: Any) -> dict[str, Any]:
    """Layout of every argument, by name."""
    return {value.name: value.spec for value in lowered.plan.arguments}


def elements(value: Any) -> int:
    """Number of elements of a plan's argument, from its type."""
    return math.prod(int(n) for n in value.type.split("[")[1][:-1].split(",") if n)


def sizes(moved: Traffic, kind: str) -> list[int]:
    """Elements of each collective of a kind, largest first."""
    return sorted((c.elements for c in moved.collectives if c.kind == kind for _ in range(c.times)), reverse=True)


@pytest.mark.parametrize("mesh", [{"data": 8}, MESH], ids=str)
def test_small_cnn_is_data_parallel(mesh: dict[str, int]) -> None:
    """Images split over all devices, weights whole; one reduction per kernel and the statistics move, nothing else."""
    batch = 4096
    sizing = {"batch": batch, "image": 56, "stem": 64, "widths": (64, 128), "blocks": (1, 1), "classes": 1024}
    lowered = lower(resnet, mesh=mesh, **sizing)
    arguments = {value.name: value for value in lowered.plan.arguments}
    assert arguments["batch['images']"].spec.dims[0] == tuple(mesh)
    params = [value for name, value in arguments.items() if name.startswith("params")]
    assert not any(any(value.spec.dims) for value in params)
    moved = traffic(lowered)
    kernels = sorted((elements(v) for v in params if "," in v.type), reverse=True)
    assert sizes(moved, "all_reduce")[: len(kernels)] == kernels
    # Vectors: statistics and their gradients, a bias, the labels.
    vectors = [c.elements for c in moved.collectives if c.elements not in kernels]
    assert max(vectors) <= batch


@pytest.mark.parametrize(("layers", "bound"), [(1, 48), (4, 228)])
def test_megatron_traffic(layers: int, bound: float) -> None:
    """Batch 16 x 256 tokens, hidden 1024, on 2 x 4: at most what the best known hand-made plan moves."""
    moved = traffic(lower(megatron4, "large", layers=layers))
    assert moved.wire_bytes <= bound * MIB + 64


def test_megatron_column_row_split() -> None:
    """Large weights, few tokens: one reduction per block forward and one backward, and only those."""
    layers, batch, hidden = 3, 2, 2048
    lowered = lower(megatron4, "large", {"model": 4}, layers=layers, batch=batch, hidden=hidden, ffn=4 * hidden)
    specs = argument_specs(lowered)
    for layer in range(layers):
        for name, dim in {"query": 1, "key": 1, "value": 1, "out": 0, "up": 1, "down": 0}.items():
            spec = specs[f"params[{layer}][{name!r}]"]
            assert spec.dims[dim] == ("model",) and not spec.dims[1 - dim], (layer, name, str(spec))
    moved = traffic(lowered)
    activations = batch * 256 * hidden
    # Forward: attention and MLP of each layer. Backward: the same, but the first attention's input needs no gradient.
    expected = 4 * layers - 1
    reductions = len(sizes(moved, "all_reduce")) + len(sizes(moved, "reduce_scatter"))
    small = sum(n < activations // 4 for n in sizes(moved, "all_reduce"))
    assert reductions - small == expected
    # A reduce-scatter with a gather elsewhere is as much as an all-reduce.
    assert moved.wire_elements <= expected * 2 * 3 / 4 * activations + 64


def test_dlrm_tables_are_sharded() -> None:
    """Large tables are split by rows or columns, not copied, and no collective is as large as a table."""
    rows, width = 200_000, 64
    lowered = lower(dlrm, "medium", tables=(rows,) * 8)
    specs = argument_specs(lowered)
    tables = {name: spec for name, spec in specs.items() if "table" in name}
    assert len(tables) == 8
    for name, spec in tables.items():
        assert any(spec.dims), (name, str(spec))
    moved = traffic(lowered)
    assert max((c.elements for c in moved.collectives), default=0) < rows * width // 8


def mlp_with_adam(layers: int, width: int, batch: int) -> tuple[Any, Any]:
    """A perceptron of square layers trained with Adam: (step, shapes)."""

    def step(params: Any, opt_state: Any, data: Any) -> Any:
        def loss(weights: Any) -> jax.Array:
            x = data["x"]
            for w in weights:
                x = jnp.tanh(x @ w)
            return jnp.mean(jnp.square(x - data["y"]))

        value, grads = jax.value_and_grad(loss)(params)
        return *training.adam(params, opt_state, grads, 1e-3), value

    params = [training.f32(width, width)] * layers
    data = training.f32(batch, width)
    return step, (params, training.adam_state(params), {"x": data, "y": data})


def test_optimizer_state_is_sharded_when_memory_is_the_limit() -> None:
    """Three quarters of what the fastest plan needs: every moment is split eight ways, gradients are scattered."""
    step, shapes = mlp_with_adam(layers=4, width=2048, batch=8192)
    fastest = pcg.compile(step, {"data": 8}).lower(*shapes)
    limit = 3 * fastest.cost.peak_bytes // 4
    tight = pcg.compile(step, {"data": 8}, memory_limit=int(limit)).lower(*shapes)
    assert tight.cost.peak_bytes <= limit
    assert tight.cost.seconds >= fastest.cost.seconds
    for value in tight.plan.arguments:
        if value.name.startswith("opt_state") and "," in value.type:
            assert any(value.spec.dims), f"{value.name} is whole on every device"
    moved = traffic(tight).counts(smallest=2048 * 2048 // 8)
    assert moved["all_gather"] >= 1 and moved["reduce_scatter"] >= 1, moved


def test_replication_wins_where_links_are_slow() -> None:
    """On a machine whose links are hopeless, nothing moves at all."""
    hopeless = Machine(DeviceKind("fast", {}, 1e15, 1e13, 1e12), Link(bandwidth=1e6, latency=1.0))
    lowered = lower(megatron4, compile_options={"machine": hopeless})
    assert traffic(lowered).counts() == {}
