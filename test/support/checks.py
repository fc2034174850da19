"""Running the check of pcg-run on a function and a layout, also with its lowered program replaced."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

import pcg
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.passes.pipeline import Pipeline
from pcg.runtime import check
from pcg.runtime.compare import Comparison
from pcg.runtime.executable import Executable
from pcg.runtime.inputs import random_inputs


def text_of(function: Any, args: Sequence[Any]) -> str:
    """A function as StableHLO text; arguments are leaves or trees."""
    return jax.jit(function).lower(*args).as_text()


def compiled(text: str, mesh: str, strategy: str = "search", in_shardings: Any = None, out_shardings: Any = None) -> Executable:
    """A module on forced CPU devices."""
    more = {} if in_shardings is None else {"in_shardings": tuple(in_shardings)}
    more |= {} if out_shardings is None else {"out_shardings": tuple(out_shardings)}
    return pcg.compile(text, mesh, strategy=strategy, **more).lower()


def with_lowered(executable: Executable, text: str) -> Executable:
    """The same program with `text` as what each device runs."""
    c = executable.compilation
    module = load_module(text, make_context(), "<edited>")
    other = dataclasses.replace(c, modules={**c.modules, "local": module}, _texts={})
    return Executable(other, list(executable.jax_mesh.devices.flat))


def unsharded(executable: Executable, text: str) -> check.Unsharded:
    """The reference of a program; may be used for several checks of it."""
    program = executable.program
    return check.Unsharded(check.text_of(load_module(text, make_context(), "<program>")), program.arguments, program.results)


def inputs_of(text: str, arguments: Sequence[Any]) -> Any:
    """What makes the inputs of a program from a seed, as pcg-run does."""
    module = load_module(text, make_context(), "<program>")
    Pipeline("sdy-import,pcg-normalize").run(module)
    return lambda seed: random_inputs(module, arguments, seed)


def checked(
    executable: Executable, one: check.Unsharded, inputs: Sequence[np.ndarray], seed: int = 0
) -> list[Comparison]:
    """What `pcg-run --check` finds for these inputs."""
    run = check.on_mesh(executable)
    return check.Check(one, run, lambda: check.on_mesh(check.widened(executable)))(inputs, seed=seed)


def differs_in_double(executable: Executable, one: check.Unsharded, inputs: Sequence[np.ndarray]) -> list[str]:
    """The results that the check finds wrong in double precision alone."""
    run = check.on_mesh(executable)
    return check.Check(one, run, lambda: check.on_mesh(check.widened(executable))).differs_in_double(inputs)


def wrong(rows: Sequence[Comparison]) -> list[str]:
    """The results that do not agree, in words."""
    return [str(r) for r in rows if not r.agrees]
