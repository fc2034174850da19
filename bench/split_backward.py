"""How models' backward parts are split into input and weight gradients: `python -m bench.split_backward`.

For each model the share of weight gradients in the FLOPs of products behind the forward part, what is kept for them,
and the products of each phase, those of loops as often as they run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from torch_mlir import ir

from examples import training
from pcg.ir.context import make_context
from pcg.ir.loops import assumed_iterations
from pcg.ir.parse import load_module
from pcg.ir.walk import entry_of
from pcg.passes.pcg_split_backward import SplitBackwardPass
from pcg.passes.pipeline import Pipeline
from pcg.rewrite.backward.phases import BACKWARD, FORWARD, ORDER, Phases, read
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.viz.table import table

Loss = Callable[[Any, Any], jax.Array]


@dataclass(frozen=True)
class Sizes:
    """Of all models."""

    layers: int = 2
    width: int = 128
    heads: int = 4
    sequence: int = 16
    batch: int = 4
    vocabulary: int = 64


def transformer(s: Sizes, scan: bool = False, checkpoint: bool = False) -> tuple[Loss, Any, Any]:
    """Pre-norm layers on vectors, squared error: loss, parameters, batch."""
    run = jax.checkpoint(layer, static_argnums=2) if checkpoint else layer

    def loss(params: Any, batch: Any) -> jax.Array:
        x, y = batch
        if scan:
            x = jax.lax.scan(lambda x, p: (run(x, p, s.heads), None), x, params)[0]
        else:
            for p in params:
                x = run(x, p, s.heads)
        return jnp.mean((x - y) ** 2)

    layers = [_layer_parameters(s, seed) for seed in range(s.layers)]
    params = jax.tree.map(lambda *leaves: np.stack(leaves), *layers) if scan else layers
    shape = (s.batch, s.sequence, s.width)
    return loss, params, (_normal(100, *shape), _normal(101, *shape))


def layer(x: jax.Array, p: Any, heads: int) -> jax.Array:
    """Attention and two products with a GELU, each behind a layer norm and beside a residual connection.

    Keys have no bias: its gradient is zero but for rounding, of which Adam would make steps.
    """
    h = training.layer_norm(x, p["scale_1"], p["bias_1"])
    q, k, v = (
        (h @ p[f"w{n}"] + p.get(f"bias_{n}", 0.0)).reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3) for n in "qkv"
    )
    weights = jax.nn.softmax(q @ k.swapaxes(2, 3) / np.sqrt(q.shape[-1]), -1)
    x = x + (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ p["wo"] + p["bias_o"]
    h = jax.nn.gelu(training.layer_norm(x, p["scale_2"], p["bias_2"]) @ p["up"] + p["bias_up"])
    return x + h @ p["down"] + p["bias_down"]


def tied_embedding(s: Sizes) -> tuple[Loss, Any, Any]:
    """A language model whose last product is with the table of embeddings."""

    def loss(params: Any, tokens: jax.Array) -> jax.Array:
        x = params["table"][tokens[:, :-1]]
        for p in params["layers"]:
            x = layer(x, p, s.heads)
        return training.cross_entropy(x @ params["table"].T, tokens[:, 1:])

    params = {"table": _normal(9, s.vocabulary, s.width), "layers": [_layer_parameters(s, i) for i in range(s.layers)]}
    tokens = np.random.default_rng(7).integers(0, s.vocabulary, (s.batch, s.sequence + 1)).astype(np.int32)
    return loss, params, tokens


def convolutions(s: Sizes) -> tuple[Loss, Any, Any]:
    """Three convolutions, the second one with stride 2, and a product."""

    def loss(params: Any, batch: Any) -> jax.Array:
        x, labels = batch
        for i, stride in enumerate((1, 2, 1)):
            w = params["kernels"][i]
            x = jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu(x + params["biases"][i])
        return training.cross_entropy(x.mean((1, 2)) @ params["head"], labels)

    kernels = [0.2 * _normal(i, 3, 3, a, 16) for i, a in enumerate((3, 16, 16))]
    params = {"kernels": kernels, "biases": [0.1 * _normal(5 + i, 16) for i in range(3)], "head": _normal(8, 16, 10)}
    labels = np.random.default_rng(3).integers(0, 10, s.batch).astype(np.int32)
    return loss, params, (_normal(9, s.batch, 16, 16, 3), labels)


def perceptron(s: Sizes) -> tuple[Loss, Any, Any]:
    """Products with tanh between them."""

    def loss(params: Any, batch: Any) -> jax.Array:
        x, y = batch
        for w, b in params:
            x = jnp.tanh(x @ w + b)
        return jnp.mean((x - y) ** 2)

    h = s.width
    params = [(_normal(i, h, h) / h**0.5, 0.1 * _normal(50 + i, h)) for i in range(s.layers + 1)]
    return loss, params, (_normal(100, s.batch, s.width), _normal(101, s.batch, s.width))


def recurrent(s: Sizes) -> tuple[Loss, Any, Any]:
    """A recurrent network: every step of its scan uses the same weights, whose gradients are sums over the steps."""

    def loss(params: Any, batch: Any) -> jax.Array:
        x, y = batch

        def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
            return jnp.tanh(x @ params["in"] + h @ params["own"] + params["bias"]), None

        last = jax.lax.scan(step, jnp.zeros((s.batch, s.width)), x.swapaxes(0, 1))[0]
        return jnp.mean((last - y) ** 2)

    h = s.width
    params = {"in": _normal(1, h, h) / 16, "own": _normal(2, h, h) / 16, "bias": _normal(3, h)}
    return loss, params, (_normal(100, s.batch, s.sequence, s.width), _normal(101, s.batch, s.width))


#: name -> from sizes to (loss of parameters and batch, parameters, batch).
MODELS: dict[str, Callable[[Sizes], tuple[Loss, Any, Any]]] = {
    "unrolled": transformer,
    "scan": lambda s: transformer(s, scan=True),
    "checkpoint": lambda s: transformer(s, checkpoint=True),
    "scan and checkpoint": lambda s: transformer(s, scan=True, checkpoint=True),
    "tied embedding": tied_embedding,
    "convolutions": convolutions,
    "perceptron": perceptron,
    "recurrent": recurrent,
}


def step_of(model: tuple[Loss, Any, Any]) -> tuple[Callable[..., Any], tuple[Any, Any, Any]]:
    """A training step with Adam, and its arguments.

    With an epsilon of 1e-3 the last bit of a small gradient does not become a step of full size.
    """
    loss, params, batch = model

    def step(params: Any, state: Any, batch: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, batch)
        return *training.adam(params, state, gradients, 1e-2, eps=1e-3), value

    return step, (params, training.zeros(training.adam_state(training.shapes_of(params))), batch)


def _layer_parameters(s: Sizes, seed: int) -> Any:
    h = s.width
    shapes = {"wq": (h, h), "wk": (h, h), "wv": (h, h), "wo": (h, h), "up": (h, 4 * h), "down": (4 * h, h)}
    biases = {"1": h, "2": h, "q": h, "v": h, "o": h, "up": 4 * h, "down": h}
    params = {name: _normal(31 * seed + i, *shape) / shape[0] ** 0.5 for i, (name, shape) in enumerate(shapes.items())}
    params |= {f"bias_{name}": 0.1 * _normal(97 * seed + i, n) for i, (name, n) in enumerate(biases.items())}
    return params | {f"scale_{n}": 1 + 0.1 * _normal(53 * seed + int(n), h) for n in "12"}


def _normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def products(op: ir.Operation) -> int:
    """How many contractions an op runs."""
    if not len(op.regions):
        return int(traits.has(op.name, Trait.CONTRACTION))
    inner = sum(products(o.operation) for r in op.regions for b in r.blocks for o in b.operations)
    return inner * (assumed_iterations(op) if op.name == "stablehlo.while" else 1)


@dataclass(frozen=True)
class Split:
    """A step behind the pass."""

    module: ir.Module
    """What the ops of `phases` are in."""
    phases: Phases
    split: SplitBackwardPass
    seconds: float
    """That the pass took."""


def split_step(step: Callable[..., Any], args: Any) -> Split:
    """A step as traced by jax, split."""
    module = load_module(jax.jit(step).lower(*args).as_text(), make_context(), "step")
    Pipeline("sdy-import,pcg-normalize").run(module)
    found = SplitBackwardPass()
    begin = time.perf_counter()
    found.run(module.operation)
    seconds = time.perf_counter() - begin
    return Split(module, read(entry_of(module)), found, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in vars(Sizes()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    args = parser.parse_args()
    sizes = Sizes(**{name: getattr(args, name) for name in vars(Sizes())})
    rows = []
    for name in args.models:
        found = split_step(*step_of(MODELS[name](sizes)))
        phases = found.phases
        counts = ["+".join(str(sum(map(products, phases.ops(p)))) for p in ORDER[:3])]
        kept = [f"{phases.residual_bytes(p) / 1e6:.3f}" for p in (BACKWARD, FORWARD)]
        rows.append(
            [name, f"{100 * phases.weight_share():.2f}", *kept, *counts, str(found.split.statistics["loops split"]),
             str(len(phases.of)), f"{found.seconds:.2f}"]
        )  # fmt: skip
    header = ["model", "weight part, %", "from backward, MB", "from forward, MB", "products F+B+W", "loops", "ops", "s"]
    print(table(header, rows, right=range(1, 8)))


if __name__ == "__main__":
    main()
