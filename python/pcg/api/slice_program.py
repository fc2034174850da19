"""Functions on slices, and programs that call several: traced, lowered to islands, cached by shapes and placements."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.extend import source_info_util

from pcg.api.block import OPEN as open_blocks
from pcg.api.block import Block
from pcg.api.block import current as open_block
from pcg.api.lowered import Lowered
from pcg.api.lowering import Lowering
from pcg.api.on_slice import OnSlice
from pcg.controller.errors import PlacementChanged
from pcg.driver.program import ProgramError
from pcg.frontend import jax_program, slice_calls
from pcg.frontend.annotate import shard
from pcg.runtime import jax_compat
from pcg.runtime.islands.future import Placed, ShardedFuture
from pcg.runtime.islands.short_path import Front
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


class _Called:
    """What has a function as its `__call__`, another one at times, which is called without a method around it."""

    __slots__ = ("__call__",)
    __call__: Callable[..., Any]


class SliceFunction(_Called):
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
        self._program = SliceProgram(lowering, self._traced, name=self.__name__, front=self)
        self.__call__ = self.call

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """A call, whatever its arguments."""
        if (block := open_block()) is not None:
            return block.record(self._traced, args, kwargs, numbers=True)
        if jax_compat.is_traced_here():
            return self._traced(*args, **kwargs)
        return as_called(self._program.call(*args, **kwargs))

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Compile for arguments of these shapes, without running."""
        return self._program.lower(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<function {self.__name__} on slice {self.slice}>"


def as_called(out: Any) -> Any:
    """What a program of one call returns: futures, or arrays where Python runs a function call by call."""
    if getattr(_mode, "call_by_call", False):
        return jax.tree.map(lambda x: x.array(), out, is_leaf=lambda x: isinstance(x, ShardedFuture))
    return out


class SliceProgram(_Called):
    """A function that calls functions on slices, run as one program.

    Args:
      front: what users call, if that is not this.
    """

    def __init__(
        self, lowering: Lowering, function: Callable[..., Any], donate_argnums: Sequence[int] = (),
        static_argnums: Sequence[int] = (), name: str = "", front: SliceFunction | None = None,
    ) -> None:  # fmt: skip
        self._lowering, self._function = lowering, function
        self._donate, self._static = tuple(donate_argnums), tuple(static_argnums)
        self.__name__ = name or getattr(function, "__name__", "program")
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function
        self._known: dict[Any, Lowered | None] = {}
        self.last: Lowered | None = None
        """What was called or lowered last."""
        caller = front or self
        self._caller = caller
        self._front = Front(lowering.client, caller.__wrapped__, self.__name__, caller.call, open_blocks)
        self._quick_for: Lowered | None = None
        """What the short path, which is the `__call__` of who is called, is for."""
        self.__call__ = self.call

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """A call, whatever its arguments."""
        if (block := open_block()) is not None:
            return block.record(self._function, args, kwargs, numbers=not self._static)
        lowered, flat = self._lowered(args, kwargs)
        if lowered is None:
            return self._call_by_call(args, kwargs)
        own = self._lowering
        futures = own.dispatcher.submit(own.client, lowered.loaded, flat, own.deadline)
        if lowered is not self._quick_for and not kwargs and all(type(a) is ShardedFuture for a in args):
            self._shorten(lowered, args)
        return jax.tree.unflatten(lowered.out_tree, futures)

    def _shorten(self, lowered: Lowered, args: Sequence[ShardedFuture]) -> None:
        """Calls with arguments that are where these are take the short path from now on, if there is one."""
        if lowered.quick is None:
            (slice, version), *_ = lowered.slices
            own = self._lowering
            lowered.quick = own.dispatcher.quick(
                self._front, lowered.loaded, args, slice.virtual, version, lowered.out_tree
            )  # fmt: skip
        if lowered.quick is not None:
            self._caller.__call__, self._quick_for = lowered.quick, lowered

    def run_into(self, args: Sequence[Any], futures: Sequence[ShardedFuture]) -> None:
        """Run, with `futures` as the results."""
        lowered, flat = self._lowered(tuple(args), {})
        assert lowered is not None, "a block that needs a value"
        self._lowering.dispatcher.submit(
            self._lowering.client, lowered.loaded, flat, self._lowering.deadline, futures
        )

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


class NewProgram:
    """What `client.program()` returns: a decorator, and the context of a block that becomes a program."""

    def __init__(self, program: Callable[..., SliceProgram], known: dict[Any, Any], numbered: bool) -> None:
        self._program, self._known, self._numbered = program, known, numbered
        self._block: Block | None = None

    def __call__(self, function: Callable[..., Any]) -> SliceProgram:
        return self._program(function)

    def __enter__(self) -> Block:
        if self._numbered:
            raise ProgramError("donate_argnums and static_argnums are for functions; a block has no arguments")
        self._block = Block(lambda f, name: self._program(f, name=name), self._known)
        return self._block.__enter__()

    def __exit__(self, *about: Any) -> None:
        assert self._block is not None
        self._block.__exit__(*about)


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
