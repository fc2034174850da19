"""A staged training step as the MPMD partitioner in jaxlib takes it: `mpmd.named_computation` and `mpmd.call`.

Per microbatch there is a call of one function, with the microbatch's number (`call_counter`); in it every stage is a
named computation for its forward pass, and one with transpose count 1 for its backward pass, which `jax.vjp` of the
stage yields with the residuals between both. Sums over microbatches and the optimizer are outside of them, as they are
in a program that a user writes; the partitioner infers where they run. Outside of `jax.jit` the step computes as usual.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core as jex_core
from jax.extend.mlir import ir
from jax.interpreters import mlir as jax_mlir

from bench.staged import LOSS, Staged
from examples import training
from examples.training import Tree

Function = Callable[..., Any]


def annotated(function: Function, name: str, transposed: bool) -> Function:
    """`function` of any trees, as a named computation; `transposed`: of the backward pass."""

    def call(*args: Any) -> Any:
        leaves, tree = jax.tree.flatten(args)
        closed, shape = _closed(lambda *own: function(*jax.tree.unflatten(tree, own)), leaves)
        found = _named_p.bind(*leaves, closed=closed, name=name, transposed=transposed)
        return jax.tree.unflatten(jax.tree.structure(shape), found)

    return call


def microbatch(model: Staged) -> Function:
    """(loss, gradients of each stage's parameters) of parameters and the data of one microbatch."""

    def run(params: Mapping[str, Tree], data: Mapping[str, jax.Array]) -> tuple[jax.Array, list[Tree]]:
        values, backward = dict(data), []
        for n, stage in enumerate(model.stages):
            transposed = _Transposed(stage.run, [r not in data for r in stage.reads])
            own = {p: params[p] for p in stage.parameters}
            forward = annotated(transposed.forward, f"stage{n}", False)
            out, residuals = forward(own, *(values[r] for r in stage.reads))
            backward.append((transposed.backward, residuals))
            values |= zip(stage.writes, out, strict=True)
        cotangents: dict[str, jax.Array] = {}
        grads: list[Tree] = [None] * len(model.stages)
        for n in reversed(range(len(model.stages))):
            stage, (function, residuals) = model.stages[n], backward[n]
            known = [cotangents[w] for w in stage.writes if w != LOSS]
            grads[n], reads = annotated(function, f"stage{n}", True)(residuals, *known)
            cotangents = _sum(cotangents, dict(zip([r for r in stage.reads if r not in data], reads, strict=True)))
        return values[LOSS], grads

    return run


def step(model: Staged, microbatches: int, by_stage: bool = False) -> Function:
    """`Staged.step` with the gradients of microbatches added up in order, each of consecutive examples.

    by_stage: the gradients of a parameter that several stages read are first added up over microbatches, per stage;
    otherwise first over stages, as `jax.grad` of a microbatch's loss has them.
    """
    run = microbatch(model)

    def gradients(params: Tree, data: Tree) -> tuple[jax.Array, Any]:
        loss, grads = run(params, data)
        return loss, grads if by_stage else functools.reduce(_sum, reversed(grads))

    def train(params: Tree, velocity: Tree, data: Tree) -> tuple[Tree, Tree, jax.Array]:
        parts = [jax.tree.map(lambda d, t=t: _part(d, microbatches, t), data) for t in range(microbatches)]
        leaves, tree = jax.tree.flatten((params, parts[0]))
        closed, shape = _closed(lambda *own: gradients(*jax.tree.unflatten(tree, own)), leaves)
        total: Any = None
        for t, part in enumerate(parts):
            found = _call_p.bind(*jax.tree.leaves((params, part)), closed=closed, counter=t)
            one = jax.tree.unflatten(jax.tree.structure(shape), found)
            total = one if total is None else jax.tree.map(jnp.add, total, one)
        loss, grads = jax.tree.map(lambda x: x / microbatches, total)
        if by_stage:
            grads = functools.reduce(_sum, reversed(grads))
        return *training.momentum(params, velocity, {name: grads[name] for name in params}, 0.1), loss

    return train


@dataclass(frozen=True)
class Question:
    """What the partitioner is called with."""

    text: str
    assignment: dict[str, int]
    """The mesh, and the stage, of each name."""
    inputs: list[int | None]
    """The mesh of each argument: that of the first stage that reads it; None for data, whose mesh it infers."""
    outputs: list[int | None]


def question(model: Staged, microbatches: int, by_stage: bool = False) -> Question:
    """The step of `model`, lowered, on as many meshes of one device as there are stages."""
    lowered = jax.jit(step(model, microbatches, by_stage), keep_unused=True).lower(*model.arguments)
    text = lowered.compiler_ir("stablehlo").operation.get_asm()
    meshes = [model.first_reader(n) for n in sorted(model.parameters) for _ in jax.tree.leaves(model.parameters[n])]
    inputs = [*meshes, *meshes, *(None for _ in model.data)]
    return Question(text, {f"stage{n}": n for n in range(len(model.stages))}, inputs, [*meshes, *meshes, None])


class _Transposed:
    """The forward pass of a stage with its residuals, and the backward pass from them."""

    def __init__(self, run: Function, differentiated: list[bool]) -> None:
        self._run, self._differentiated = run, differentiated
        self._tree: Any = None

    def forward(self, params: Tree, *reads: jax.Array) -> tuple[tuple[jax.Array, ...], list[jax.Array]]:
        known = [r for r, d in zip(reads, self._differentiated, strict=True) if d]

        def of(params: Tree, known: list[jax.Array]) -> tuple[jax.Array, ...]:
            rest, own = iter(known), zip(reads, self._differentiated, strict=True)
            return self._run(params, *(next(rest) if d else r for r, d in own))

        out, transposed = jax.vjp(of, params, known)
        residuals, self._tree = jax.tree.flatten(transposed)
        return out, residuals

    def backward(self, residuals: list[jax.Array], *cotangents: jax.Array) -> tuple[Tree, list[jax.Array]]:
        """Gradients of the parameters and of what the stage reads from other stages; no cotangents: of the loss."""
        own = cotangents or (jnp.ones(()),)
        return jax.tree.unflatten(self._tree, residuals)(tuple(own))


def _part(data: jax.Array, microbatches: int, t: int) -> jax.Array:
    size = data.shape[0] // microbatches
    return data[t * size : (t + 1) * size]


def _sum(total: Mapping[str, Any], terms: Mapping[str, Any]) -> dict[str, Any]:
    return {**total, **{n: jax.tree.map(jnp.add, total[n], t) if n in total else t for n, t in terms.items()}}


def _closed(function: Function, leaves: list[Any]) -> tuple[Any, Any]:
    return jax.make_jaxpr(function, return_shape=True)(*leaves)


_named_p = jex_core.Primitive("mpmd_named_computation")
_call_p = jex_core.Primitive("mpmd_call")
_named_p.def_impl(lambda *args, closed, **_: jax.jit(jex_core.jaxpr_as_fun(closed))(*args))
_call_p.def_impl(lambda *args, closed, **_: jex_core.jaxpr_as_fun(closed)(*args))
for _p in (_named_p, _call_p):
    _p.multiple_results = True
    _p.def_abstract_eval(lambda *_, closed, **__: closed.out_avals)


def _types(ctx: Any) -> list[ir.Type]:
    return jax.tree.leaves([jax_mlir.aval_to_ir_types(ctx.module_context, a) for a in ctx.avals_out])


def _dialect(context: ir.Context) -> Any:
    """The dialect's module; imported here because another jaxlib may not have it."""
    from jaxlib.mlir.dialects import mpmd

    mpmd.register_dialect(context)
    return mpmd


def _lower_named(ctx: Any, *args: Any, closed: Any, name: str, transposed: bool) -> list[Any]:
    context = ctx.module_context.context
    mpmd = _dialect(context)
    op = mpmd.NamedComputationOp(_types(ctx), list(args), mpmd.UserOriginAttr.get(name, int(transposed), context))
    block = op.region.blocks.append(*[a.type for a in args])
    with ir.InsertionPoint(block):
        run = jax_mlir.lower_fun(jex_core.jaxpr_as_fun(closed), multiple_results=True)
        mpmd.ReturnOp(jax.tree.leaves(run(ctx, *block.arguments)))
    return list(op.results)


def _lower_call(ctx: Any, *args: Any, closed: Any, counter: int) -> list[Any]:
    own = ctx.module_context
    mpmd = _dialect(own.context)
    function = jax_mlir.lower_jaxpr_to_fun(
        own, f"microbatch{counter}", closed, closed.effects, num_const_args=0, in_avals=ctx.avals_in
    )  # fmt: skip
    op = mpmd.CallOp(_types(ctx), list(args), ir.FlatSymbolRefAttr.get(function.name.value))
    op.operation.attributes["call_counter"] = ir.IntegerAttr.get(ir.IntegerType.get_unsigned(32), counter)
    return list(op.results)


jax_mlir.register_lowering(_named_p, _lower_named)
jax_mlir.register_lowering(_call_p, _lower_call)
