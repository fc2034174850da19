"""How a program is called: its arguments as trees, or as a flat list, checked and in order.  Imports jax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from pcg.driver.program import Leaf, Program, ProgramError
from pcg.runtime import jax_compat
from pcg.runtime.inputs import np_dtype
from pcg.runtime.structure import difference


class SignatureError(ProgramError):
    """A call does not fit the argument structure, shapes or dtypes that a program was compiled for."""


class CallTree:
    """The calling convention of `program`."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.takes_tree = program.in_tree is not None
        self.has_keywords = self.takes_tree and bool(jax.tree.unflatten(program.in_tree, program.inputs)[1])

    def packed(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call as `flatten` takes them: keywords, if the program has any, come last as a dict."""
        return (*args, kwargs) if kwargs or self.has_keywords else tuple(args)

    def in_tree(self, flat: Sequence[Any]) -> tuple[Any, ...]:
        """Flat arguments as the positional arguments of `jitted`: keywords, if any, come last as a dict."""
        if not self.takes_tree:
            return tuple(flat)
        args, kwargs = jax.tree.unflatten(self.program.in_tree, flat)
        return (*args, kwargs) if kwargs else tuple(args)

    def flatten(self, packed: Sequence[Any]) -> list[Any]:
        program = self.program
        if not self.takes_tree:
            if len(packed) != len(program.inputs):
                wanted = ", ".join(f"{x.name}: {x}" for x in program.inputs[:8])
                more = ", ..." if len(program.inputs) > 8 else ""
                raise SignatureError(
                    f"{program.name} takes {len(program.inputs)} arguments ({wanted}{more}), got {len(packed)}"
                )
            return list(packed)
        expected = self.in_tree(program.inputs)
        flat, tree = jax.tree.flatten(tuple(packed))
        if tree != jax.tree.structure(expected, is_leaf=lambda x: isinstance(x, Leaf)):
            raise SignatureError(difference(program.name, expected, tuple(packed)))
        return flat

    def check(self, flat: Sequence[Any]) -> None:
        for x, leaf in zip(flat, self.program.inputs, strict=True):
            try:
                aval = jax.typeof(x)
            except (TypeError, ValueError):
                text = f"argument {leaf.name} is {x!r:.60} of type {type(x).__name__}; expected {leaf}"
                raise SignatureError(text) from None
            shape, dtype = aval.shape, aval.dtype
            wanted = leaf.shape[: len(leaf.shape) - leaf.key_rank] if leaf.key else leaf.shape
            if tuple(shape) != wanted or not _same_dtype(dtype, leaf):
                kind = f"key<{leaf.key}>[{','.join(map(str, wanted))}]" if leaf.key else str(leaf)
                raise SignatureError(
                    f"argument {leaf.name} is {dtype}[{','.join(map(str, shape))}]; {self.program.name} was compiled"
                    f" for {kind}"
                )

    def unflatten(self, out: Sequence[Any]) -> Any:
        if self.program.out_tree is not None:
            return jax.tree.unflatten(self.program.out_tree, out)
        return out[0] if len(out) == 1 else tuple(out)

    def check_donated(self, flat: Sequence[Any]) -> None:
        """Refuse arrays that cannot be donated: with several devices, XLA's own check ends the process.

        Raises:
          RuntimeError: an argument was donated before, or deleted.
          SignatureError: a donated array is passed as two arguments.
        """
        if not self.program.donated or len(flat) != len(self.program.inputs):
            return
        for i in self.program.donated:
            if isinstance(flat[i], jax.Array) and flat[i].is_deleted():
                raise RuntimeError(
                    f"Array has been deleted with shape={flat[i].dtype}{list(flat[i].shape)}: argument"
                    f" {self.program.arguments[i].name} was donated to an earlier call; pass what that returned"
                )
        if len(set(map(id, flat))) < len(flat):
            first: dict[int, int] = {}
            for i, x in enumerate(flat):
                j = first.setdefault(id(x), i)
                if j != i and isinstance(x, jax.Array) and not self.program.donated.isdisjoint((i, j)):
                    one, other = (self.program.arguments[k].name for k in (j, i))
                    raise SignatureError(f"arguments {one} and {other} are one array, which is donated; pass a copy")

    def result(self, out: list[Any]) -> Any:
        """The result of a call, from the tensors of the program's results."""
        return self.unflatten([returned(x, leaf) for x, leaf in zip(out, self.program.results, strict=True)])


def tensor(x: Any, leaf: Leaf) -> Any:
    """The tensor behind an argument."""
    if leaf.empty:
        return jax.numpy.zeros(leaf.shape, bool)
    return jax.random.key_data(x) if leaf.key else x


def returned(x: Any, leaf: Leaf) -> Any:
    """A result, from the tensor of it."""
    if leaf.key:
        return jax.random.wrap_key_data(x, impl=leaf.key)
    if leaf.empty:
        return np.zeros(leaf.shape, jax.dtypes.float0)
    return jax_compat.weakened(x) if leaf.weak else x


def _same_dtype(dtype: Any, leaf: Leaf) -> bool:
    if leaf.empty or dtype == jax.dtypes.float0:
        return leaf.empty and dtype == jax.dtypes.float0
    if leaf.key:
        return jax_compat.is_key(dtype) and jax_compat.key_impl(dtype) == leaf.key
    return not jax_compat.is_key(dtype) and np.dtype(dtype) == np_dtype(leaf.dtype)
