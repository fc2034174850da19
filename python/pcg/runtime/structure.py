"""Where the structure of a call's arguments differs from that which a program was compiled for.  Imports jax."""

from __future__ import annotations

from typing import Any

import jax

from pcg.driver.program import Leaf


def difference(name: str, expected: Any, got: Any, path: str = "") -> str:
    """One line: where the structure of `got` differs from that of `expected` (whose leaves are `Leaf`)."""
    found = _difference(expected, got, path)
    return f"{name}: {found or 'the argument structure differs from the one compiled for'}"


def _difference(expected: Any, got: Any, path: str) -> str | None:
    where = f"argument {path}" if path else "the arguments"
    if isinstance(expected, Leaf):
        if jax.tree_util.treedef_is_leaf(jax.tree.structure(got)):
            return None
        return f"argument {expected.name} is {_short(got)}; expected {expected}"
    if expected is None:
        return None if got is None else f"{where} is {_short(got)}; expected None"
    if isinstance(expected, dict):
        if not isinstance(got, dict):
            return f"{where} is {_short(got)}; expected a dict with keys {_keys(expected)}"
        for key in expected:
            if key not in got:
                return f"{where} lacks the key {key!r}; expected {_keys(expected)}"
        for key in got:
            if key not in expected:
                return f"{where} has the key {key!r}; expected {_keys(expected)}"
        pairs = [(expected[k], got[k], f"{path}[{k!r}]") for k in expected]
    elif isinstance(expected, list | tuple):
        if type(got) is not type(expected) or len(got) != len(expected):
            if not path:
                return f"got {len(got)} arguments; expected {len(expected)}"
            return f"{where} is {_short(got)}; expected a {type(expected).__name__} of {len(expected)}"
        at = [f"{path}[{i}]" if path else _root(e, i) for i, e in enumerate(expected)]
        pairs = list(zip(expected, got, at, strict=True))
    else:
        e, g = jax.tree.flatten(expected, is_leaf=lambda x: isinstance(x, Leaf)), jax.tree.flatten(got)
        if e[1] != g[1]:
            return f"{where} is {_short(got)}; expected the structure {e[1]}"
        pairs = [(x, y, path) for x, y in zip(e[0], g[0], strict=True)]
    return next((d for e, g, p in pairs if (d := _difference(e, g, p))), None)


def _root(expected: Any, i: int) -> str:
    """Name of positional argument `i`, from the leaves under it."""
    leaves = jax.tree.leaves(expected, is_leaf=lambda x: isinstance(x, Leaf))
    return leaves[0].name.split("[")[0].split(".")[0] if leaves else f"{i}"


def _keys(d: dict[Any, Any]) -> str:
    return ", ".join(map(repr, d)) or "none"


def _short(x: Any) -> str:
    if isinstance(x, list | tuple | dict):
        return f"a {type(x).__name__} of {len(x)}"
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return f"an array {x.dtype}[{','.join(map(str, x.shape))}]"
    return f"{x!r:.60} of type {type(x).__name__}"
