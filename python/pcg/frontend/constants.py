"""Arrays that a jax function closes over, made arguments: so they are split, counted and placed like others.

Left in the program they would be text in every module, replicated, and in no memory limit.  Small ones stay: XLA folds
them.  So do those of a jitted function inside of a loop or branch, and of one with shardings of its own.
Imports jax.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.extend import core as jex_core
from jax.extend import source_info_util

from pcg.runtime import jax_compat

#: Bytes from which a constant becomes an argument (64 KiB).  A choice: smaller ones do not matter to a memory limit.
LEAST = 1 << 16


@dataclass(frozen=True)
class Hoisted:
    """A traced function with its large constants apart.

    `values` are the constants, `names` what they are called: by the first line that reads each.  `function` takes
    them and the flat arguments, and returns the flat results.
    """

    values: tuple[Any, ...]
    names: tuple[str, ...]
    function: Callable[[Sequence[Any], Sequence[Any]], list[Any]]


def hoist(closed: Any) -> Hoisted | None:
    """`closed` with its large constants apart; None if it has none."""
    found: dict[int, tuple[Any, str]] = {}
    _collect(closed, found)
    if not found:
        return None
    numbers = {key: i for i, key in enumerate(found)}

    def function(values: Sequence[Any], flat: Sequence[Any]) -> list[Any]:
        return _evaluate(closed, flat, lambda c: values[numbers[id(c)]] if id(c) in numbers else c)

    return Hoisted(tuple(v for v, _ in found.values()), _named([where for _, where in found.values()]), function)


def _named(places: Sequence[str]) -> tuple[str, ...]:
    names: list[str] = []
    for place in places:
        name = f"closed-over constant ({place})"
        same = 1 + sum(n == name or n.startswith(f"{name} #") for n in names)
        names.append(name if same == 1 else f"{name} #{same}")
    return tuple(names)


def _is_large(value: Any) -> bool:
    if not isinstance(value, jax.Array | np.ndarray) or jax_compat.is_key(value.dtype):
        return False
    return value.size * value.dtype.itemsize >= LEAST


def _collect(closed: Any, found: dict[int, tuple[Any, str]]) -> None:
    for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        if _is_large(value) and id(value) not in found:
            found[id(value)] = value, _first_use(closed.jaxpr, var)
    for eqn in closed.jaxpr.eqns:
        if (inner := _inlined(eqn)) is not None:
            _collect(inner, found)


def _first_use(jaxpr: Any, var: Any) -> str:
    for eqn in jaxpr.eqns:
        if any(v is var for v in eqn.invars):
            place = source_info_util.summarize(eqn.source_info).split(" (")[0]
            path, _, line = place.rpartition(":")[0].rpartition(":")
            return f"{Path(path).name}:{line}" if path and line.isdigit() else place
    return "returned"


def _inlined(eqn: Any) -> Any:
    """The jaxpr that a call of a jitted function runs, if it has large constants and no shardings of its own."""
    inner = jax_compat.called(eqn)
    if inner is None:
        return None
    large = any(map(_is_large, inner.consts)) or any(_inlined(e) is not None for e in inner.jaxpr.eqns)
    return inner if large else None


def _evaluate(closed: Any, args: Sequence[Any], replace: Callable[[Any], Any]) -> list[Any]:
    """The results of a jaxpr; jitted functions with large constants are part of it."""
    jaxpr = closed.jaxpr
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, map(replace, closed.consts), strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(v: Any) -> Any:
        return v.val if isinstance(v, jex_core.Literal) else env[v]

    def run(eqns: Sequence[Any]) -> None:
        """Equations without such functions, as jax evaluates them."""
        if not eqns:
            return
        outs = [v for e in eqns for v in e.outvars if not isinstance(v, jex_core.DropVar)]
        inside = set(outs)
        needed = list(dict.fromkeys(
            v for e in eqns for v in e.invars if not isinstance(v, jex_core.Literal) and v not in inside
        ))  # fmt: skip
        part = jex_core.Jaxpr((), needed, outs, eqns, debug_info=jax_compat.no_names(jaxpr))
        env.update(zip(outs, jax.core.eval_jaxpr(part, (), *map(read, needed)), strict=True))

    waiting: list[Any] = []
    for eqn in jaxpr.eqns:
        inner = _inlined(eqn)
        if inner is None:
            waiting.append(eqn)
            continue
        run(waiting)
        waiting = []
        out = _evaluate(inner, list(map(read, eqn.invars)), replace)
        env.update((v, x) for v, x in zip(eqn.outvars, out, strict=True) if not isinstance(v, jex_core.DropVar))
    run(waiting)
    return list(map(read, jaxpr.outvars))
