"""What experts do by hand, found by the search: counted in the collectives of the lowered program.

Nothing is annotated and nothing is run: only shapes go in. "Large" collectives are those of activations or gradients;
the scalars of a loss or the small vectors of a normalisation are not what these plans are about.
"""

from __future__ import annotations

from typing import Any

import pytest

import pcg
from bench.collectives import Traffic
from examples import bert, dlrm, megatron4, resnet
from pcg.machine import Device, Link, Machine
from support.training import traffic

MESH = {"data": 2, "model": 4}
MIB = 2**20


def lower(module: Any, size: str = "small", mesh: Any = None, compile_options: Any = None, **overrides: Any) -> Any:
    """The example, compiled for its shapes."""
    step, shapes = module.shapes(size, **overrides)
    return pcg.compile(step, mesh or MESH, **(compile_options or {})).lower(*shapes)


def argument_specs(lowered: Any) -> dict[str, Any]:
    """Layout of every argument, by name."""
    return {value.name: value.spec for value in lowered.plan.arguments}


def sizes(moved: Traffic, kind: str) -> list[int]:
    """Elements of each collective of a kind, largest first."""
    return sorted((c.elements for c in moved.collectives if c.kind == kind for _ in range(c.times)), reverse=True)


def test_small_cnn_is_data_parallel() -> None:
    """Images split over all devices, weights whole; what moves is gradients and batch statistics, no activations."""
    lowered = lower(resnet, batch=256, image=64)
    specs = argument_specs(lowered)
    assert len([a for d in specs["batch['images']"].dims[:1] for a in d]) == 2
    assert all(not any(s.dims) for name, s in specs.items() if name.startswith("params") and "conv" in name)
    moved = traffic(lowered)
    weights = sum(1 for name in specs if name.startswith("params"))
    largest_weight = 3 * 3 * 32 * 32
    assert set(moved.counts()) <= {"all_reduce"}
    assert sizes(moved, "all_reduce")[0] <= largest_weight
    assert len([n for n in sizes(moved, "all_reduce") if n > 64]) <= weights


@pytest.mark.parametrize(("layers", "bound"), [(1, 48), (4, 228)])
def test_megatron_traffic(layers: int, bound: float) -> None:
    """Batch 16 x 256 tokens, hidden 1024, on 2 x 4: at most what the best known hand-made plan moves."""
    moved = traffic(lower(megatron4, "large", layers=layers))
    assert moved.wire_bytes <= bound * MIB + 64


def test_megatron_column_row_split() -> None:
    """Large weights, small batch, no data axis: one all-reduce per block forward and one backward, and only those."""
    lowered = lower(megatron4, "large", {"model": 4}, layers=3, batch=4)
    specs = argument_specs(lowered)
    for layer in range(3):
        for name, dim in {"query": 1, "key": 1, "value": 1, "out": 0, "up": 1, "down": 0}.items():
            spec = specs[f"params[{layer}][{name!r}]"]
            assert spec.dims[dim] == ("model",) and not spec.dims[1 - dim], (layer, name, str(spec))
    moved = traffic(lowered)
    activations = 4 * 256 * 1024
    # Forward: attention and MLP of each layer. Backward: the same, but the first attention's input needs no gradient.
    assert sizes(moved, "all_reduce")[: 4 * 3 - 1] == [activations] * (4 * 3 - 1)
    assert set(moved.counts(smallest=activations // 4)) == {"all_reduce"}
    assert moved.counts(smallest=activations // 4)["all_reduce"] == 4 * 3 - 1


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


def test_optimizer_state_is_sharded_when_memory_is_the_limit() -> None:
    """Half of what the fastest plan needs: Adam's two moments end up split, more than the parameters were."""
    free = lower(bert, "medium")

    def state_bytes(lowered: Any) -> float:
        total = 0.0
        for value in lowered.plan.arguments:
            if value.name.startswith(("opt_state", "params")):
                shape = [int(n) for n in value.type.split("[")[1][:-1].split(",") if n]
                local = value.spec.local_shape(shape, lowered.mesh)
                size = 4
                for n in local:
                    size *= n
                total += size
        return total

    needed = free.cost.peak_bytes
    limit = int(needed * 0.6)
    tight = lower(bert, "medium", compile_options={"memory_limit": limit})
    assert tight.cost.peak_bytes <= limit
    assert state_bytes(tight) < state_bytes(free)
    moments = [v for v in tight.plan.arguments if v.name.startswith("opt_state['mean']['layers']") and "," in v.type]
    assert moments and all(any(v.spec.dims) for v in moments)


def test_replication_wins_where_links_are_slow() -> None:
    """On a machine whose links are hopeless, nothing moves at all."""
    hopeless = Machine(Device("fast", {}, 1e15, 1e13, 1e12), Link(bandwidth=1e6, latency=1.0))
    lowered = lower(megatron4, compile_options={"machine": hopeless})
    assert traffic(lowered).counts() == {}
