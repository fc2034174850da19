"""Models as lists of stages, so that two systems divide them at the same places.

- mlp: residual blocks of two products, squared error;
- translator: a transformer encoder and decoder, unrolled, one embedding for source, target and output, so that three
  stages may read it; all decoder stages read what the encoder ends with.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

import pcg
from examples import layers, training
from examples.training import Tree, f32, i32

LOSS = "loss"


@dataclass(frozen=True)
class Stage:
    """A part of the forward pass."""

    parameters: tuple[str, ...]
    """Names of the parameters that it reads; several stages may read one."""
    reads: tuple[str, ...]
    """Names of data, and of values that stages before it write."""
    writes: tuple[str, ...]
    run: Callable[..., tuple[jax.Array, ...]]
    """Of a dict of its parameters, and what it reads."""


@dataclass(frozen=True)
class Staged:
    """Stages, of which the last one writes the loss, and shapes of parameters and data by name."""

    stages: tuple[Stage, ...]
    parameters: Mapping[str, Tree]
    data: Mapping[str, jax.ShapeDtypeStruct]
    """The first dimension is that of examples."""

    def loss(self, params: Mapping[str, Tree], data: Mapping[str, jax.Array]) -> jax.Array:
        """The mean over examples, with `pcg.stage_boundary` between the stages."""
        values = dict(data)
        for n, stage in enumerate(self.stages):
            out = stage.run({p: params[p] for p in stage.parameters}, *(values[r] for r in stage.reads))
            values |= zip(stage.writes, out, strict=True)
            live = self.live(n + 1)
            if live:
                values |= pcg.stage_boundary({name: values[name] for name in live})
        return values[LOSS]

    def live(self, stage: int) -> list[str]:
        """Values that stages before `stage` write, and it or later ones read."""
        written = {w for s in self.stages[:stage] for w in s.writes}
        return sorted(written & {r for s in self.stages[stage:] for r in s.reads})

    def first_reader(self, parameter: str) -> int:
        return next(n for n, s in enumerate(self.stages) if parameter in s.parameters)

    def step(self, params: Tree, velocity: Tree, data: Tree) -> tuple[Tree, Tree, jax.Array]:
        """A training step with momentum."""
        value, grads = jax.value_and_grad(self.loss)(params, data)
        return *training.momentum(params, velocity, grads, 0.1), value

    @property
    def arguments(self) -> tuple[Tree, Tree, Tree]:
        """Shapes of the arguments of `step`."""
        return dict(self.parameters), dict(self.parameters), dict(self.data)

    def values(self, seed: int = 0) -> tuple[Tree, Tree, Tree]:
        """Arguments of `step`; integers are below 16."""
        rng = np.random.default_rng(seed)

        def draw(d: jax.ShapeDtypeStruct) -> np.ndarray:
            if d.dtype == jnp.int32:
                return rng.integers(0, 16, d.shape, np.int32)
            return rng.standard_normal(d.shape, np.float32)

        data, shapes = {n: draw(d) for n, d in self.data.items()}, dict(self.parameters)
        return training.materialise(shapes, seed), training.zeros(shapes), data


def mlp(stages: int, batch: int, blocks: int = 8, width: int = 128) -> Staged:
    """Data are [batch, width]; `stages` divides `blocks`."""
    shape = {"up": f32(width, 2 * width), "bias_up": f32(2 * width), "down": f32(2 * width, width)}

    def run(last: bool, params: Mapping[str, Tree], x: jax.Array, *target: jax.Array) -> tuple[jax.Array, ...]:
        for p in params.values():
            x = x + jax.nn.gelu(x @ p["up"] + p["bias_up"]) @ p["down"]
        return (jnp.mean((x - target[0]) ** 2),) if last else (x,)

    names = [f"block{i}" for i in range(blocks)]
    each = blocks // stages
    found = tuple(
        Stage(
            tuple(names[s * each : (s + 1) * each]),
            ("input" if s == 0 else f"x{s - 1}", *(["target"] if s == stages - 1 else [])),
            (LOSS if s == stages - 1 else f"x{s}",),
            functools.partial(run, s == stages - 1),
        )
        for s in range(stages)
    )
    return Staged(found, dict.fromkeys(names, shape), {"input": f32(batch, width), "target": f32(batch, width)})


def translator(
    stages: int, batch: int, blocks: int = 4, width: int = 64, heads: int = 4, length: int = 16, vocabulary: int = 128
) -> Staged:
    """Source, target and labels are [batch, length] of int32; `stages` is even, its half divides `blocks`."""
    norms = ("self", "cross", "mlp")
    products = {f"{n}_{k}": f32(width, width) for n in ("self", "cross") for k in "qkvo"}
    shape = {"up": f32(width, 4 * width), "bias_up": f32(4 * width), "down": f32(4 * width, width)}
    shape |= products | {k: v for n in norms for k, v in layers.norm_shapes(n, width).items()}
    encoder = {k: v for k, v in shape.items() if "cross" not in k}

    def attention(p: Tree, name: str, x: jax.Array, memory: jax.Array, causal: bool) -> jax.Array:
        q, k, v = (
            (y @ p[f"{name}_{n}"]).reshape(*y.shape[:2], heads, width // heads)
            for n, y in zip("qkv", (x, memory, memory), strict=True)
        )
        return layers.attend(q, k, v, causal).reshape(x.shape) @ p[f"{name}_o"]

    def block(p: Tree, x: jax.Array, memory: jax.Array | None) -> jax.Array:
        y = layers.norm(x, p, "self")
        x = x + attention(p, "self", y, y, memory is not None)
        if memory is not None:
            x = x + attention(p, "cross", layers.norm(x, p, "cross"), memory, False)
        return x + jax.nn.gelu(layers.norm(x, p, "mlp") @ p["up"] + p["bias_up"]) @ p["down"]

    def run(stage: int, params: Mapping[str, Tree], *values: jax.Array) -> tuple[jax.Array, ...]:
        decodes = stage >= half
        x, *rest = values
        if stage in (0, half):
            x = params["table"][x]
        memory = rest.pop(0) if decodes else None
        for name, p in params.items():
            if name != "table":
                x = block(p, x, memory)
        return (training.cross_entropy(x @ params["table"].T, rest[0]),) if stage == stages - 1 else (x,)

    half = stages // 2
    each = blocks // half
    found = []
    for s in range(stages):
        first, decodes, last = s in (0, half), s >= half, s == stages - 1
        kind, at = ("decoder" if decodes else "encoder"), s % half * each
        names = [f"{kind}{i}" for i in range(at, at + each)]
        found.append(Stage(
            (*(["table"] if first or last else []), *names),
            (("target" if decodes else "source") if first else f"x{s - 1}", *([f"x{half - 1}"] if decodes else []),
             *(["labels"] if last else [])),
            (LOSS if last else f"x{s}",),
            functools.partial(run, s),
        ))  # fmt: skip
    parameters: dict[str, Tree] = {"table": f32(vocabulary, width)}
    parameters |= {f"encoder{i}": encoder for i in range(blocks)} | {f"decoder{i}": shape for i in range(blocks)}
    return Staged(tuple(found), parameters, dict.fromkeys(("source", "target", "labels"), i32(batch, length)))


MODELS: dict[str, Callable[..., Staged]] = {"mlp": mlp, "translator": translator}
