"""Where the stages of a pipeline end: `pcg.stage_boundary`.  Imports jax."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import jax
from jax.extend import core as jex_core
from jax.extend import source_info_util
from jax.extend.mlir.dialects import stablehlo as hlo
from jax.interpreters import ad, batching
from jax.interpreters import mlir as jax_mlir

from pcg.rules.custom_call import STAGE_BOUNDARY

source_info_util.register_exclusion(__file__)

_DIVIDED: ContextVar[bool] = ContextVar("pcg_divided", default=False)


def stage_boundary(x: Any) -> Any:
    """End a stage of the pipeline at this point of the forward pass; the values do not change.

    What is computed from the result belongs to the next stage.  With any such mark in a program the stages end where
    the marks are, in program order, and there must be one less than stages.  Without `pipeline=` in `pcg.compile`, and
    outside of it, a mark has no effect.

    Args:
      x: an array, or a tree of them: what goes to the next stage.  Of several arrays only the last one has the mark.

    Returns:
      `x`.
    """
    leaves, tree = jax.tree.flatten(x)
    for i in reversed(range(len(leaves))):
        if isinstance(leaves[i], jax.core.Tracer):
            leaves[i] = _boundary_p.bind(leaves[i])
            break
    return jax.tree.unflatten(tree, leaves)


_boundary_p = jex_core.Primitive("pcg_stage_boundary")
_boundary_p.def_impl(lambda x: x)
_boundary_p.def_abstract_eval(lambda x: x)
# Its derivative has no mark: the backward pass of a stage is where its forward pass is.
ad.primitive_jvps[_boundary_p] = lambda primals, tangents: (_boundary_p.bind(*primals), *tangents)
batching.primitive_batchers[_boundary_p] = lambda args, dims: (_boundary_p.bind(*args), dims[0])


def _lower(ctx: Any, x: Any) -> Sequence[Any]:
    if not _DIVIDED.get():
        return [x]
    return list(hlo.CustomCallOp([x.type], [x], STAGE_BOUNDARY).results)


jax_mlir.register_lowering(_boundary_p, _lower)


@contextmanager
def dividing() -> Iterator[None]:
    """A context in which marks are lowered."""
    token = _DIVIDED.set(True)
    try:
        yield
    finally:
        _DIVIDED.reset(token)
