"""Baselines by name, on whole training steps: the numbers of one device, and the communication they are known for.

Steps run twice on eight CPU devices, against jax on one; both compute in float32 and add in different orders.
"""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from pcg.driver.decide import BASELINES
from support.close import assert_close
from support.training import assert_trees_close, mlp, train

MODELS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "transformer": (
        "bert", {"layers": 1, "heads": 4, "batch": 8},
        ("data", "zero1", "zero3", "megatron", "megatron-zero1", "megatron-zero3"),
    ),
    "scanned": ("bert", {"layers": 2, "heads": 4, "batch": 8, "scan": True}, ("zero1", "zero3", "megatron-zero3")),
    "clicks": ("unity_dlrm", {}, ("dlrm", "dlrm-rows", "megatron")),
    # One table on each device; and four on eight devices, where four have nothing to look up.
    "stacked": ("unity_dlrm", {"tables": (64,) * 8, "stacked": True}, ("dlrm-whole", "dlrm")),
    "few": ("unity_dlrm", {"tables": (64,) * 4, "stacked": True}, ("dlrm-whole",)),
    "mixture": ("moe", {}, ("experts", "experts-zero3", "experts-megatron-zero1")),
}  # fmt: skip


@pytest.mark.parametrize(("model", "plan"), [(model, plan) for model, (_, _, plans) in MODELS.items() for plan in plans])
def test_training_is_that_of_one_device(model: str, plan: str) -> None:
    module, overrides, _ = MODELS[model]
    step, args = importlib.import_module(f"examples.{module}").make("small", **overrides)
    mesh = {"data": 2, "expert": 2, "model": 2} if "experts" in plan else {"data": 2, "model": 4}
    compiled = pcg.compile(step, mesh, strategy=plan)
    got, want = train(compiled, args, 2), train(jax.jit(step), args, 2)
    assert_close(got[2], want[2], 1e-4)
    # The gradient of a key bias is zero but for rounding.
    assert_trees_close(got[:2], want[:2], 2e-3, slack=3e-6)


@pytest.mark.parametrize("plan", ["data", "zero1", "zero3", "megatron", "megatron-zero1", "megatron-zero3"])
def test_two_layers_are_those_of_one_device(plan: str) -> None:
    rng = np.random.default_rng(0)
    shapes = {"first": (32, 64), "second": (64, 32)}
    weights = {n: (rng.standard_normal(s) / 8).astype(np.float32) for n, s in shapes.items()}
    x, y = (rng.standard_normal((16, 32)).astype(np.float32) for _ in range(2))
    got = want = (weights, jax.tree.map(np.zeros_like, weights))
    step, alone = pcg.compile(mlp, {"data": 2, "model": 4}, strategy=plan), jax.jit(mlp)
    for _ in range(3):
        got, want = step(*got[:2], x, y), alone(*want[:2], x, y)
    assert_trees_close(got, want, 1e-4)


def lowered(plan: str, mesh: dict[str, int], **options: Any) -> Any:
    weights = {"first": jax.ShapeDtypeStruct((32, 64), jnp.float32), "second": jax.ShapeDtypeStruct((64, 32), jnp.float32)}
    x = jax.ShapeDtypeStruct((16, 32), jnp.float32)
    return pcg.compile(mlp, mesh, strategy=plan, **options).lower(weights, weights, x, x)


def collectives(plan: str, mesh: dict[str, int]) -> Counter[str]:
    """How often each collective is in the plan of the two layers, but for the loss, a scalar."""
    lines = lowered(plan, mesh).as_text("collectives").splitlines()
    names = [line.split('"dist.')[1].split('"')[0] for line in lines if '"dist.' in line and "(tensor<f32>)" not in line]
    return Counter(n for n in names if n not in ("mesh", "slice"))


@pytest.mark.parametrize(
    ("plan", "mesh", "want"),
    [
        ("data", {"data": 4}, {"all_reduce": 2}),  # gradients
        ("megatron", {"model": 4}, {"all_reduce": 1}),  # forwards; nobody asks for the gradient of the input
        ("zero1", {"data": 4}, {"reduce_scatter": 2, "all_gather": 2}),
        ("zero3", {"data": 4}, {"reduce_scatter": 2, "all_gather": 3}),  # the second weight is read backwards too
        ("megatron", {"data": 2, "model": 2}, {"all_reduce": 3}),
        ("megatron-zero1", {"data": 2, "model": 2}, {"all_reduce": 1, "reduce_scatter": 2, "all_gather": 2}),
    ],
)
def test_communication(plan: str, mesh: dict[str, int], want: dict[str, int]) -> None:
    assert collectives(plan, mesh) == Counter(want)


def test_state_of_zero_lies_in_parts() -> None:
    weights, moments, *_ = lowered("zero1", {"data": 4}).input_shardings
    assert all(s.is_fully_replicated for s in jax.tree.leaves(weights))
    assert not any(s.is_fully_replicated for s in jax.tree.leaves(moments))
    weights, moments, *_ = lowered("zero3", {"data": 4}).input_shardings
    assert not any(s.is_fully_replicated for s in jax.tree.leaves((weights, moments)))


def test_axes_by_name() -> None:
    weights, *_ = lowered("megatron", {"a": 2, "b": 4}, model="a").input_shardings
    assert weights["first"].spec[1] == "a"


def test_a_layout_that_is_given_stays() -> None:
    given = ({"first": P("data"), "second": None}, None, None, None)
    weights, *_ = lowered("data", {"data": 4}, in_shardings=given).input_shardings
    assert weights["first"].spec[0] == "data" and weights["second"].is_fully_replicated


def test_unknown_options_and_plans() -> None:
    with pytest.raises(ValueError, match=r"unknown option 'rows'; strategy 'data' has .*'?model"):
        lowered("data", {"data": 4}, rows=1)
    with pytest.raises(ValueError, match="expected one of .*'megatron'"):
        lowered("pipeline", {"data": 4})
    assert "zero" in BASELINES
