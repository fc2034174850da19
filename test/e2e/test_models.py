"""The example models, trained for five steps through `pcg.compile` on eight CPU devices and by jax on one.

Tolerance. Both sides compute in float32 and differ only in the order of additions: a sum of n terms that is cut into
pieces changes by about sqrt(n) * 6e-8 of its size, here (n up to a few thousand) a few 1e-6. Five steps of training
carry that into the parameters, and Adam divides by the size of the gradient, so an element whose gradient is itself
rounding noise moves by up to noise / eps of a step. Each leaf is compared relative to its largest magnitude; the bound
is 2e-4 for the optimizers with a quotient (Adam, Adagrad) and 2e-5 for SGD. A misplaced shard, a missing reduction
or a twice-counted gradient is an error of 0.1 to 10.
"""

from __future__ import annotations

import importlib
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from support.training import SLOW_DEVICES, assert_trees_close, traffic, train

MESH = {"data": 2, "model": 4}
STEPS = 5
ADAPTIVE, PLAIN = 2e-4, 2e-5
#: name -> (module, overrides, tolerance)
MODELS: dict[str, tuple[str, dict[str, Any], float]] = {
    "bert": ("bert", {}, ADAPTIVE),
    "bert_scan": ("bert", {"scan": True}, ADAPTIVE),
    "resnet": ("resnet", {}, PLAIN),
    "dlrm": ("dlrm", {}, PLAIN),
    "dlrm_adagrad": ("dlrm", {"optimizer": "adagrad"}, ADAPTIVE),
    "moe": ("moe", {}, ADAPTIVE),
    "moe_top1": ("moe", {"top": 1}, ADAPTIVE),
    "gpt": ("gpt", {}, ADAPTIVE),
    "lstm": ("rnn", {}, PLAIN),
    "gru": ("rnn", {"cell": "gru"}, PLAIN),
    "flax_model": ("flax_model", {}, ADAPTIVE),
    "megatron4": ("megatron4", {}, PLAIN),
    "megatron4_scan": ("megatron4", {"scan": True}, PLAIN),
}


def check(name: str, **options: Any) -> None:
    """Train both ways and compare; the plan must be a parallel one."""
    module, overrides, rtol = MODELS[name]
    step, args = importlib.import_module(f"examples.{module}").make(**overrides)
    compiled = pcg.compile(step, MESH, **options)
    moved = traffic(compiled.lower(*args))
    assert moved.counts(), "the plan is replication: nothing was tested"
    want = train(jax.jit(step), args, STEPS)
    got = train(compiled, args, STEPS)
    assert_trees_close(got[0], want[0], rtol)
    assert_trees_close(got[1], want[1], 4 * rtol)
    np.testing.assert_allclose(got[2], want[2], rtol=rtol)


@pytest.mark.parametrize("name", MODELS)
def test_searched_plan_trains_like_one_device(name: str) -> None:
    check(name, machine=SLOW_DEVICES)


@pytest.mark.parametrize("name", ["bert", "resnet", "dlrm", "gpt", "lstm"])
def test_data_parallel_by_propagation_trains_like_one_device(name: str) -> None:
    """Only the batch is annotated; everything else follows. The dropout key stays whole."""
    module, overrides, _ = MODELS[name]
    _, (_, _, batch) = importlib.import_module(f"examples.{module}").shapes(**overrides)
    split = {key: P() if key == "key" else P(("data", "model")) for key in batch}
    check(name, in_shardings=(None, None, split), strategy="propagate")
