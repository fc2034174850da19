"""A step after passes on the program of one device, compiled by XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.passes.pipeline import Pipeline
from pcg.runtime import jax_compat


def compiled(step: Callable[..., Any], passes: str, args: Any) -> tuple[Any, int, str]:
    """What `step` yields after `passes`, its peak by XLA in bytes, and the text of the program."""
    lowered = jax.jit(step).lower(*args)
    module = load_module(lowered.as_text(), make_context(), "step")
    Pipeline(",".join(filter(None, ("sdy-import,pcg-normalize", passes)))).run(module)
    results = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in jax.tree.leaves(lowered.out_info)]
    program = jax_compat.LocalProgram(str(module), tuple(results))
    flat = jax.tree.leaves(args)
    made = jax.jit(lambda *a: jax_compat.inline_call(program, *a)).lower(*flat).compile()
    return jax.tree.unflatten(jax.tree.structure(lowered.out_info), made(*flat)), peak(made), str(module)


def peak(made: Any) -> int:
    """Bytes that XLA allocates for an executable."""
    m = made.memory_analysis()
    return m.temp_size_in_bytes + m.argument_size_in_bytes + m.output_size_in_bytes - m.alias_size_in_bytes
