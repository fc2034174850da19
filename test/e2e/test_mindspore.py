"""MindSpore's published example of sharding propagation: one configured op, and what follows from it.

FFN Dense(64,64)-ReLU-Dense(64,64) with bias, batch 64, on 8 devices; the first MatMul is configured ((2,1),(1,4)).
"""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from examples import moe, rnn
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.passes.pipeline import Pipeline
from support.close import assert_close

RNG = np.random.default_rng(0)
ARGS = [RNG.normal(size=s).astype(np.float32) for s in ((64, 64), (64, 64), (64,), (64, 64), (64,))]


def ffn(x, w1, b1, w2, b2):
    h = pcg.shard_op(jnp.matmul, strategy=((2, 1), (1, 4)))(x, w1)
    h = jax.nn.relu(h + b1)
    return h @ w2 + b2


@pytest.fixture(scope="module")
def step():
    return pcg.compile(ffn, 8, strategy="propagate", engine="bfs", strategies=True)


def shapes(text):
    """Operand and result shapes of the products in a lowered program."""
    found = re.findall(r"stablehlo.dot_general.*: \(tensor<(\w+)xf32>, tensor<(\w+)xf32>\) -> tensor<(\w+)xf32>", text)
    return [tuple(tuple(map(int, t.split("x"))) for t in f) for f in found]


def test_derived_strategies(step):
    remarks = [text for name, _, text in step.lower(*ARGS).compilation.remarks if name == "dist-propagate"]
    found = re.findall(r"'stablehlo\.(dot_general|add|maximum)' op has strategy (\S+)", "\n".join(remarks))
    assert found == [
        ("dot_general", "((2,1),(1,4))"),
        ("add", "((2,4),(4))"),
        ("maximum", "((2,4))"),
        ("dot_general", "((2,4),(4,1))"),
        ("add", "((2,4),(4))"),
    ]
    assert str(step.mesh) == "d0=2,d1=4"


def test_lowered_as_published(step):
    """Without reduce_scatter: one all-reduce in groups of four, then a local slice."""
    module = load_module(step.lower(*ARGS).as_text("pcg"), make_context(), "ffn")
    Pipeline("dist-fuse-collectives{reduce-scatter=false},pcg-lower-spmd").run(module)
    text = str(module)
    assert shapes(text) == [((32, 64), (64, 16), (32, 16)), ((32, 16), (16, 64), (32, 64))]
    assert re.findall(r"stablehlo\.(all_\w+|reduce_scatter|collective_\w+)", text) == ["all_reduce"]
    assert "dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>" in text
    tail = text[text.index("all_reduce") :]
    assert re.search(r"dynamic_slice .*\(tensor<32x64xf32>, .*-> tensor<32x16xf32>", tail)
    assert "dynamic_slice" not in text[: text.index("all_reduce")]


def test_ours_is_one_reduce_scatter(step):
    """The same layouts, by default, with half the bytes: 3/4 of a 32x64 shard instead of twice that."""
    low = step.lower(*ARGS)
    text = low.as_text("local")
    assert shapes(text) == [((32, 64), (64, 16), (32, 16)), ((32, 16), (16, 64), (32, 64))]
    assert re.findall(r"stablehlo\.(all_\w+|reduce_scatter|collective_\w+)", text) == ["reduce_scatter"]
    assert "dynamic_slice" not in text
    assert low.cost.communication_bytes == 32 * 64 * 4 * 3 / 4


def test_results(step):
    assert_close(step(*ARGS), jax.jit(ffn)(*ARGS), 1e-4)


@pytest.mark.parametrize("strategy", ["dataflow", "priority", "global", "search", "auto"])
def test_the_configured_op_is_kept_by_every_engine(strategy):
    step = pcg.compile(ffn, 8, strategy=strategy)
    text = step.lower(*ARGS).as_text("local")
    assert shapes(text)[0] == ((32, 64), (64, 16), (32, 16))
    assert_close(step(*ARGS), jax.jit(ffn)(*ARGS), 1e-4)


def test_gradients_run_under_it():
    def loss(x, *parameters):
        return jnp.mean(ffn(x, *parameters) ** 2)

    gradient = jax.grad(loss, argnums=(1, 2, 3, 4))
    step = pcg.compile(gradient, 8, strategy="propagate", engine="bfs")
    for a, b in zip(step(*ARGS), jax.jit(gradient)(*ARGS), strict=True):
        assert_close(a, b, 1e-3)


@pytest.mark.parametrize("model", [moe, rnn], ids=["moe", "rnn"])
def test_breadth_first_on_models(model):
    """Loops, gathers and sorts, from the batch alone."""
    fn, args = model.make("small")
    batch = (*(None,) * (len(args) - 1), P("data"))
    step = pcg.compile(fn, {"data": 2, "model": 4}, strategy="propagate", engine="bfs", in_shardings=batch)
    for a, b in zip(jax.tree.leaves(step(*args)), jax.tree.leaves(jax.jit(fn)(*args)), strict=True):
        assert_close(a, b, 1e-3)


def test_unknown_engine():
    with pytest.raises(pcg.PcgError, match="option 'engine' is 'dfs'; expected one of global, dataflow, bfs, priority"):
        pcg.compile(ffn, 8, strategy="propagate", engine="dfs").lower(*ARGS)
