"""Models and plans whose step time is predicted and measured: see `bench/prediction.py`.

The plans of a model truly differ: everything on every device, data parallelism over some or all of the devices, weights
split as in tensor parallelism, both at once, parameters and optimizer state kept in parts, what the search finds on two
meshes, and layouts drawn at random for every argument.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import PartitionSpec

import pcg

#: name -> (module, size, overrides): a step takes 20 ms to 1 s on two cores.
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "mlp": ("unity_mlp", "wide", {"batch": 256, "hidden": 2048}),
    "towers": ("mlp_towers", "small", {"inputs": 512, "width": 1024, "layers": 4, "batch": 128}),
    "bert": ("bert", "medium", {"hidden": 256, "ffn": 1024, "vocab": 2048, "seq": 64, "batch": 16, "masked": 16}),
    "gpt": ("gpt", "medium", {"layers": 2, "vocab": 1024}),
    "vit": ("vit", "small", {"image": 32, "hidden": 256, "ffn": 1024, "classes": 64}),
    "dlrm": ("dlrm", "medium", {"tables": (20_000,) * 8, "width": 32, "batch": 512, "bottom": (512, 256, 32)}),
    "unity_dlrm": ("unity_dlrm", "default", {"tables": (20_000,) * 4, "dense": 16, "bottom": (512, 64),
                                              "top": (1024, 1024, 8), "batch": 512}),
    "resnet": ("resnet", "small", {"image": 32, "stem": 32, "widths": (32, 64), "blocks": (2, 2), "batch": 32}),
    "lstm": ("rnn", "medium", {"seq": 16, "width": 128, "hidden": 256, "vocab": 512}),
    "moe": ("moe", "medium", {"batch": 16, "seq": 64, "hidden": 128, "ffn": 512, "experts": 8, "capacity": 24}),
    "llama": ("llama", "small", {"layers": 1, "hidden": 256, "ffn": 512, "vocab": 1024, "seq": 64, "batch": 16}),
    "candle_uno": ("candle_uno", "small", {"cell": 256, "descriptors": 512, "fingerprints": 512, "width": 512,
                                            "tower": 3, "head": 3, "batch": 256}),
    "mixtral": ("mixtral", "small", {"layers": 1, "hidden": 128, "ffn": 256, "vocab": 512, "seq": 64, "batch": 16}),
}  # fmt: skip
#: Models on which nothing about the simulator was looked at while it was made: what it is worth on others.
HELD_OUT = frozenset({"llama", "candle_uno", "mixtral"})


@dataclass(frozen=True)
class PlanSpec:
    """One way to place a model: a mesh, how the layout of each argument is chosen, and what completes the placement.

    `layout` maps (role, shape) to the mesh axes of each dimension; roles are params, state and batch.  None: the
    search decides everything.
    """

    name: str
    mesh: dict[str, int]
    layout: Callable[[str, tuple[int, ...], dict[str, int]], list[tuple[str, ...]]] | None
    strategy: str = "dataflow"


def _split(shape: tuple[int, ...], dim: int, axes: tuple[str, ...], mesh: dict[str, int]) -> list[tuple[str, ...]]:
    """`axes` on `dim`, as many of them as divide it."""
    out: list[tuple[str, ...]] = [() for _ in shape]
    if not shape:
        return out
    taken: tuple[str, ...] = ()
    size = 1
    for axis in axes:
        if shape[dim] % (size * mesh[axis]) == 0:
            taken, size = (*taken, axis), size * mesh[axis]
    out[dim] = taken
    return out


def _replicated(role: str, shape: tuple[int, ...], mesh: dict[str, int]) -> list[tuple[str, ...]]:
    return [() for _ in shape]


def split_batch(*axes: str) -> Callable[..., list[tuple[str, ...]]]:
    """The batch over `axes`, the rest whole."""

    def layout(role: str, shape: tuple[int, ...], mesh: dict[str, int]) -> list[tuple[str, ...]]:
        return _split(shape, 0, axes, mesh) if role == "batch" else [() for _ in shape]

    return layout


def tensor(data: tuple[str, ...], model: tuple[str, ...]) -> Callable[..., list[tuple[str, ...]]]:
    """The batch over `data`, the last dimension of every matrix over `model`."""

    def layout(role: str, shape: tuple[int, ...], mesh: dict[str, int]) -> list[tuple[str, ...]]:
        if role == "batch":
            return _split(shape, 0, data, mesh)
        return _split(shape, len(shape) - 1, model, mesh) if len(shape) > 1 else [() for _ in shape]

    return layout


def sharded_state(*axes: str) -> Callable[..., list[tuple[str, ...]]]:
    """The batch over `axes`, and so are parameters and optimizer state, along their largest dimension."""

    def layout(role: str, shape: tuple[int, ...], mesh: dict[str, int]) -> list[tuple[str, ...]]:
        if role == "batch" or not shape:
            return _split(shape, 0, axes, mesh)
        return _split(shape, max(range(len(shape)), key=lambda d: shape[d]), axes, mesh)

    return layout


def _random(seed: int) -> Callable[..., list[tuple[str, ...]]]:
    """Any even layout for every argument; parameters and their state have the same, drawn by shape."""

    def layout(role: str, shape: tuple[int, ...], mesh: dict[str, int]) -> list[tuple[str, ...]]:
        rng = random.Random(f"{seed} {role == 'batch'} {shape}")
        out: list[tuple[str, ...]] = [() for _ in shape]
        for axis in rng.sample(sorted(mesh), len(mesh)):
            d = rng.randrange(-1, len(shape))
            size = mesh[axis]
            for a in out[d] if d >= 0 else ():
                size *= mesh[a]
            if d >= 0 and shape[d] % size == 0:
                out[d] = (*out[d], axis)
        return out

    return layout


FLAT, TWO, FOUR = {"x": 8}, {"data": 2, "model": 4}, {"data": 4, "model": 2}
PLANS = (
    PlanSpec("replicated", FLAT, _replicated),
    PlanSpec("data 2", TWO, split_batch("data")),
    PlanSpec("data 4", FOUR, split_batch("data")),
    PlanSpec("data 8", FLAT, split_batch("x")),
    PlanSpec("tensor 8", FLAT, tensor((), ("x",)), "global"),
    PlanSpec("tensor 8, dataflow", FLAT, tensor((), ("x",))),
    PlanSpec("data 2, tensor 4", TWO, tensor(("data",), ("model",)), "global"),
    PlanSpec("data 4, tensor 2", FOUR, tensor(("data",), ("model",))),
    PlanSpec("sharded state", FLAT, sharded_state("x"), "global"),
    PlanSpec("search 8", FLAT, None, "search"),
    PlanSpec("search 2x4", TWO, None, "search"),
    PlanSpec("random 1", TWO, _random(1)),
    PlanSpec("random 2", FOUR, _random(2), "global"),
    PlanSpec("random 3", {"a": 2, "b": 2, "c": 2}, _random(3)),
)


def shapes(model: str) -> tuple[Callable[..., Any], Any]:
    """The training step of a model, and the shapes of its arguments."""
    module, size, overrides = MODELS[model]
    step, args = importlib.import_module(f"examples.{module}").shapes(size, **overrides)
    return step, args


def make(model: str) -> tuple[Callable[..., Any], Any]:
    """The training step of a model, and arguments."""
    module, size, overrides = MODELS[model]
    step, args = importlib.import_module(f"examples.{module}").make(size, **overrides)
    return step, args


def place(model: str, plan: PlanSpec, **search: Any) -> Any:
    """The model under the plan, compiled by pcg (not yet by XLA): a `pcg.runtime.executable.Executable`."""
    step, args = shapes(model)
    layout = plan.layout
    if layout is None:
        return pcg.compile(step, plan.mesh, strategy=plan.strategy, **search).lower(*args)

    def specs(role: str, tree: Any) -> Any:
        def one(leaf: Any) -> PartitionSpec:
            if leaf.dtype == "uint32":  # keys of random numbers
                return PartitionSpec()
            return PartitionSpec(*(a if a else None for a in layout(role, tuple(leaf.shape), plan.mesh)))

        return jax.tree.map(one, tree)

    given = tuple(specs(role, tree) for role, tree in zip(("params", "state", "batch"), args, strict=True))
    compiled = pcg.compile(
        step, plan.mesh, strategy=plan.strategy, in_shardings=given, out_shardings=(*given[:2], None), **search
    )
    return compiled.lower(*args)
