"""Functions on slices, and programs that call several: traced, lowered to islands, cached by shapes and placements."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend import source_info_util

from pcg.api.lowering import Lowered, Lowering
from pcg.api.on_slice import OnSlice
from pcg.controller.errors import PlacementChanged
from pcg.driver.program import ProgramError
from pcg.frontend import jax_program, slice_calls
from pcg.frontend.annotate import shard
from pcg.runtime import jax_compat
from pcg.runtime.islands.future import Placed, ShardedFuture
from pcg.runtime.placement import shard_spec

#: What jax raises where Python needs the value of something that is traced.
_NEEDS_VALUE = (
    jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError, jax.errors.TracerBoolConversionError,
    jax.errors.TracerIntegerConversionError,
)  # fmt: skip
_mode = threading.local()
#: How often a program is lowered again because its slices got other devices while it was lowered.
_AGAIN = 3
source_info_util.register_exclusion(__file__)  # a node's source is the user's call


class SliceFunction:
    """A function on a slice.  See `pcg.api.controller.ClientSlice.function`."""

    def __init__(
        self, lowering: Lowering, function: Callable[..., Any], slice: OnSlice, options: Mapping[str, Any]
    ) -> None:
        self.slice, self.options = slice, dict(options)
        self.__name__ = getattr(function, "__name__", "function")
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function
        layouts = self.options.pop("in_shardings", None)
        self._mark = lowering.register(self)
        self._traced = slice_calls.on_slice(_constrained(function, layouts), self._mark)
        self._program = SliceProgram(lowering, self._traced, name=self.__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        futures = self._program.quickly(args) if not kwargs else None
        if futures is not None:
            return futures
        if jax_compat.is_traced_here():
            return self._traced(*args, **kwargs)
        out = self._program(*args, **kwargs)
        if getattr(_mode, "call_by_call", False):
            return jax.tree.map(lambda x: x.array(), out, is_leaf=lambda x: isinstance(x, ShardedFuture))
        return out

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Compile for arguments of these shapes, without running."""
        return self._program.lower(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<function {self.__name__} on slice {self.slice}>"


class SliceProgram:
    """A function that calls functions on slices, run as one program."""

    def __init__(
        self, lowering: Lowering, function: Callable[..., Any], donate_argnums: Sequence[int] = (),
        static_argnums: Sequence[int] = (), name: str = "",
    ) -> None:  # fmt: skip
        self._lowering, self._function = lowering, function
        self._donate, self._static = tuple(donate_argnums), tuple(static_argnums)
        self.__name__ = name or getattr(function, "__name__", "program")
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function
        self._known: dict[Any, Lowered | None] = {}
        self.last: Lowered | None = None
        """What was called or lowered last."""
        self._quick: _Quick | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        futures = self.quickly(args) if not kwargs else None
        if futures is not None:
            return futures
        lowered, flat = self._lowered(args, kwargs)
        if lowered is None:
            return self._call_by_call(args, kwargs)
        own = self._lowering
        if self._quick is None or lowered is not self._quick.lowered:
            run = None
            if not kwargs and all(type(a) is ShardedFuture for a in args):
                run = own.dispatcher.quick(own.client, lowered.loaded, [a.placed for a in args])
            self._quick = run and _Quick(lowered, run, jax.tree_util.treedef_is_leaf(lowered.out_tree))
        futures = own.dispatcher.submit(own.client, lowered.loaded, flat, own.deadline)
        return jax.tree.unflatten(lowered.out_tree, futures)

    def quickly(self, args: Sequence[Any]) -> Any:
        """What a call returns, if it is as the one before: one computation, of futures that are where those were."""
        quick = self._quick
        if quick is None or not quick.lowered.is_current():
            return None
        futures = quick.run(args)
        if futures is None:
            return None
        return futures[0] if quick.one else jax.tree.unflatten(quick.lowered.out_tree, futures)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Compile for arguments of these shapes (arrays, futures or `jax.ShapeDtypeStruct`), without running.

        Raises:
          ProgramError: it needs the value of something that it computes.
        """
        lowered, _ = self._lowered(args, kwargs)
        if lowered is None:
            raise ProgramError(f"{self.__name__} needs values while it runs, so it is not one program")
        return lowered

    def as_text(self, stage: str = "streams") -> str:
        """What was called or lowered last: "slices", "islands" (modules) or "streams".

        Raises:
          RuntimeError: nothing was.
        """
        if self.last is None:
            raise RuntimeError(f"{self.__name__} has not been lowered yet: call it, or .lower(...) it")
        return self.last.as_text(stage)

    def _lowered(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Lowered | None, list[Any]]:
        static: tuple[Any, ...] = ()
        if self._static:
            static = tuple((i, args[i]) for i in self._static if i < len(args))
            args = tuple(a for i, a in enumerate(args) if i not in self._static)
        flat, tree = jax.tree.flatten((args, kwargs))
        kinds = tuple(x.placed if type(x) is ShardedFuture else _kind(x) for x in flat)
        key = tree, kinds, static, jax_compat.trace_context()
        known = self._known.get(key)
        if known is None or not known.is_current():
            if known is None and key in self._known:
                return None, flat
            for x in flat:
                if isinstance(x, ShardedFuture):
                    x.check()
            known = self._known[key] = self._lower_for_now(flat, tree, kinds, dict(static), len(args))
        if known is not None:
            self.last = known
        return known, flat

    def _lower_for_now(self, *what: Any) -> Lowered | None:
        """`_lower`, again where slices got other devices meanwhile."""
        for left in range(_AGAIN, -1, -1):
            try:
                return self._lower(*what)
            except PlacementChanged:
                if not left:
                    raise
        return None

    def _lower(
        self, flat: Sequence[Any], tree: Any, kinds: Sequence[Any], static: Mapping[int, Any], count: int
    ) -> Lowered | None:
        out_tree: Any = None

        def run(*leaves: Any) -> list[Any]:
            nonlocal out_tree
            args, kwargs = jax.tree.unflatten(tree, leaves)
            args = list(args)
            for i, value in sorted(static.items()):
                args.insert(i, value)
            out, out_tree = jax.tree.flatten(self._function(*args, **kwargs))
            return out

        avals = [k.aval if isinstance(k, Placed) else jax_program.abstract(f"argument {i}", x)
                 for i, (k, x) in enumerate(zip(kinds, flat, strict=True))]  # fmt: skip
        try:
            graph = slice_calls.trace(run, avals, self._lowering.default(kinds))
        except _NEEDS_VALUE:
            return None
        if not graph.nodes:
            raise ProgramError(f"{self.__name__} computes nothing on a slice")
        names = [n for n in range(count + len(static)) if n not in static]
        sizes = [t.num_leaves for t in jax.tree.structure(jax.tree.unflatten(tree, flat)[0]).children()]
        donated = {
            leaf for arg, (start, n) in zip(names, _ranges(sizes), strict=True) if arg in self._donate
            for leaf in range(start, start + n)
        }  # fmt: skip
        return self._lowering.lower(self.__name__, graph, kinds, donated, out_tree)

    def _call_by_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run the function as Python does, with a program per call; it waits where it needs a value."""
        args, kwargs = jax.tree.map(
            lambda x: x.array() if isinstance(x, ShardedFuture) else x, (list(args), dict(kwargs)),
            is_leaf=lambda x: isinstance(x, ShardedFuture),
        )  # fmt: skip
        before = getattr(_mode, "call_by_call", False)
        _mode.call_by_call = True
        try:
            return self._function(*args, **kwargs)
        finally:
            _mode.call_by_call = before

    def __repr__(self) -> str:
        return f"<program {self.__name__}>"


@dataclass(slots=True)
class _Quick:
    """How to run a program of one computation on futures that are where they were in the call before."""

    lowered: Lowered
    run: Callable[[Sequence[Any]], list[ShardedFuture] | None]
    one: bool
    """Whether the result is one array."""


def _constrained(function: Callable[..., Any], layouts: Sequence[Any] | None) -> Callable[..., Any]:
    """`function` with a constraint on the layout of its arguments, which its derivatives have as well."""
    if layouts is None:
        return function

    def constrained(*args: Any, **kwargs: Any) -> Any:
        fixed = [
            a if layout is None else jax.tree.map(lambda x, l=layout: shard(x, shard_spec(l, x.ndim, None)), a)  # type: ignore[arg-type]
            for a, layout in itertools.zip_longest(args, layouts[: len(args)])
        ]
        return function(*fixed, **kwargs)

    constrained.__name__ = getattr(function, "__name__", "function")
    return constrained


def _kind(x: Any) -> Any:
    """Shape and dtype of an array, as far as programs differ by them."""
    try:
        return x.shape, x.dtype, getattr(x, "weak_type", False)
    except AttributeError:
        return type(x)


def _ranges(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """(start, size) of parts that follow each other."""
    starts = itertools.accumulate(sizes, initial=0)
    return list(zip(starts, sizes, strict=False))
