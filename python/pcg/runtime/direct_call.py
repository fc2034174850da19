"""The executable behind a function of `jax.jit`, to be called without what `jax.jit` does first.  Imports jax.

`jax.jit` looks at types, layouts and settings of each call.  Who knows that they are as they were need not: for a small
program that is an eighth of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
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
    try:
        call: Any = compiled._executable.unsafe_call  # type: ignore[attr-defined]
        besides = (
            call.ordered_effects, call.has_unordered_effects, call.has_host_callbacks, call.mut, call.pgle_profiler
        )  # fmt: skip
        found = DirectCall(
            call.xla_executable.execute_sharded, tuple(call.out_handler.handlers), tuple(sorted(call.kept_var_idx))
        )
    except AttributeError:
        return None
    return None if any(besides) else found
