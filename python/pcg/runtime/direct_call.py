"""The executable behind a function of `jax.jit`, to be called without what `jax.jit` does first.  Imports jax.

`jax.jit` looks at types, layouts and settings of each call.  Who knows that they are as they were need not: for a small
program that is an eighth of a call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax._src import config

#: Settings of jax, true as `value`, by which it looks for values that are not finite; a direct call does not.
NANS, INFS = config.debug_nans, config.debug_infs


@dataclass(frozen=True)
class DirectCall:
    """`execute([arrays[i] for i in reads]).consume_with_handlers(handlers)` is the list of results.

    The arrays have the types and the layouts that the program wants; nothing looks at that.
    """

    execute: Callable[[list[Any]], Any]
    handlers: Sequence[Any]
    reads: tuple[int, ...]
    """Numbers of the arguments that are used."""


def direct_call(compiled: jax.stages.Compiled) -> DirectCall | None:
    """How to call what jax compiled; None where a call does something besides, or this jax has it otherwise."""
    return _found(compiled) if _works() else None


def _found(compiled: jax.stages.Compiled) -> DirectCall | None:
    call: Any = compiled._executable.unsafe_call  # type: ignore[attr-defined]
    besides = call.ordered_effects, call.has_unordered_effects, call.has_host_callbacks, call.mut, call.pgle_profiler
    if any(besides):
        return None
    execute, handlers = call.xla_executable.execute_sharded, tuple(call.out_handler.handlers)
    return DirectCall(execute, handlers, tuple(sorted(call.kept_var_idx)))


@functools.cache
def _works() -> bool:
    """Whether this jax is as this module takes it to be, which no release of jax promises."""
    x = jnp.arange(2)
    compiled = jax.jit(lambda x, unused: (x + 1, x * x)).lower(x, x).compile()
    try:
        found = _found(compiled)
        out = found.execute([x]).consume_with_handlers(found.handlers) if found and found.reads == (0,) else []
    except Exception:
        return False
    return [type(y) for y in out] == [type(x)] * 2 and [y.tolist() for y in out] == [[1, 2], [0, 1]]
