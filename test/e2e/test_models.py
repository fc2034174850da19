"""The example models, trained for five steps through `pcg.compile` on eight CPU devices and by jax on one.

Tolerance. Both sides compute in float32 and differ only in the order of additions: a sum of n terms that is cut into
pieces changes by about sqrt(n) * 6e-8 of its size, here (n up to a few thousand) a few 1e-6, and five steps of training
carry that on. Optimizer states are compared relative to the largest magnitude of each leaf, within 1e-4 for SGD and
1e-3 for optimizers with a quotient; parameters relative to the largest change that training made to the leaf. Two more things may differ by what is not small against the leaf itself, because its true gradient is zero
(a key bias under softmax, a bias before batch normalisation) and what is left is noise, about 1e-8 here:
  parameters  Adam moves by noise / eps = 1e-8 / 1e-6 of a step: 2 % of the five steps are allowed;
  moments     1e-6 of the largest moment in the tree is allowed.
Adam forgives gradients that are wrong by a factor; its moments, which are compared too, do not. A misplaced shard, a
missing reduction or a twice-counted gradient is an error of 0.1 to 10.
"""

from __future__ import annotations

import importlib
from typing import Any

import jax
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from support.close import assert_close
from support.training import SLOW_DEVICES, assert_trees_close, assert_updates_close, largest, traffic, train

MESH = {"data": 2, "model": 4}
STEPS = 5
ADAPTIVE, PLAIN = 1e-3, 1e-4
#: name -> (module, overrides, tolerance)
MODELS: dict[str, tuple[str, dict[str, Any], float]] = {
    "bert": ("bert", {}, ADAPTIVE),
    "bert_layer": ("bert", {"layers": 1}, ADAPTIVE),
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


def parts(state: Any) -> list[Any]:
    """The entries of an optimizer state, each with a scale of its own."""
    return list(state.values()) if isinstance(state, dict) else [state]


def check(name: str, **options: Any) -> None:
    """Train both ways and compare; the plan must be a parallel one."""
    module, overrides, rtol = MODELS[name]
    example = importlib.import_module(f"examples.{module}")
    step, args = example.make(**overrides)
    compiled = pcg.compile(step, MESH, **options)
    moved = traffic(compiled.lower(*args))
    assert moved.counts(), "the plan is replication: nothing was tested"
    want = train(jax.jit(step), args, STEPS)
    got = train(compiled, args, STEPS)
    noise = 0.02 * STEPS * example.SIZES["small"].rate if rtol == ADAPTIVE else 0.0
    assert_updates_close(got[0], want[0], args[0], rtol, noise)
    for mine, reference in zip(parts(got[1]), parts(want[1]), strict=True):
        assert_trees_close(mine, reference, rtol, 1e-6 * largest(reference))
    assert_close(got[2], want[2], 2e-5)


@pytest.mark.parametrize("name", MODELS)
def test_searched_plan_trains_like_one_device(name: str) -> None:
    check(name, machine=SLOW_DEVICES)


@pytest.mark.parametrize("name", ["bert", "resnet", "dlrm", "gpt", "lstm"])
def test_data_parallel_by_propagation_trains_like_one_device(name: str) -> None:
    """Only the batch is annotated; everything else follows. The dropout key stays whole."""
    module, overrides, _ = MODELS[name]
    _, (_, _, batch) = importlib.import_module(f"examples.{module}").shapes(**overrides)
    split = {key: P() if key == "key" else P(("data", "model")) for key in batch}
    check(name, in_shardings=(None, None, split), strategy="dataflow")
