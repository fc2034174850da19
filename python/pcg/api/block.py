"""Programs that are written as a `with` block: calls are recorded, and run as one program when the block is left.

JAX traces functions, and the body of a block is none: so calls on slices in a block are noted with the shapes that they
return, and replayed as a function that JAX traces as any other program.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import operator
import threading
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend import source_info_util

from pcg.driver.program import ProgramError
from pcg.frontend import jax_program
from pcg.runtime import jax_compat
from pcg.runtime.islands.future import Placed, ShardedFuture

source_info_util.register_exclusion(__file__)
#: Blocks, and calls in them, that a client remembers.
MOST = 1000
_here = threading.local()
#: Those that are open, in any thread.
OPEN: set[Block] = set()


def current() -> Block | None:
    """The block that this thread is in, unless JAX traces a function of it."""
    block = getattr(_here, "block", None)
    return None if block is None or jax_compat.is_traced_here() else block


class Deferred(ShardedFuture):
    """A value of a block that has not been left yet; it is an ordinary future afterwards.

    It has a shape and a dtype, can be passed to calls and to `Block.call`, and has the operators of arrays.
    """

    __slots__ = ()
    __array_ufunc__ = None

    def __init__(self, aval: Any) -> None:
        self._value, self.placed = None, Placed(aval, None, None)

    def _found(self) -> Any:
        raise ProgramError(
            f"{self!r} is a value of a block of client.program(), which is computed when the block is left; inside of"
            " it pass values to functions on slices, or to call(jnp.mean, value)"
        )

    def check(self) -> None:
        self._found()

    def block_until_ready(self) -> ShardedFuture:
        self._found()
        raise AssertionError

    def is_ready(self) -> bool:
        return False

    @property
    def slice(self) -> Any:
        """Where it will be is decided when the block is left."""
        self._found()

    @property
    def sharding(self) -> Any:
        """How it will lie there is decided when the block is left."""
        self._found()

    def __repr__(self) -> str:
        return f"<Deferred {self.dtype}{list(self.shape)}>"

    def __getitem__(self, index: Any) -> Any:
        return _operator(_Item(index), self)


@dataclass(frozen=True)
class _Item:
    """The part of an array at an index."""

    index: Any

    def __call__(self, x: Any) -> Any:
        return x[self.index]

    def key(self) -> Any:
        return "item", repr(self.index)


def _operator(function: Callable[..., Any], *args: Any) -> Any:
    block: Block | None = getattr(_here, "block", None)
    if block is None:
        next(a for a in args if isinstance(a, Deferred)).check()
        raise AssertionError
    return block.call(function, *args)


def _add_operators() -> None:
    both = "add sub mul truediv floordiv mod pow matmul".split()
    for name in [*both, "lt", "le", "gt", "ge"]:
        function = getattr(operator, name)
        setattr(Deferred, f"__{name}__", lambda x, y, f=function: _operator(f, x, y))
        if name in both:
            setattr(Deferred, f"__r{name}__", lambda x, y, f=function: _operator(f, y, x))
    for function in (operator.neg, operator.abs):
        setattr(Deferred, f"__{function.__name__}__", lambda x, f=function: _operator(f, x))


_add_operators()


@dataclass(frozen=True)
class _Value:
    """A value of a block, by its number."""

    number: int


@dataclass
class _Call:
    """What was called: `function` of a tree of values and of what is no array."""

    function: Callable[..., Any]
    leaves: list[Any]
    tree: Any
    results: range
    source: Any


#: Of a client: programs of blocks, by what they do; and shapes of results, by what is called.
Known = dict[Any, Any]


class Block:
    """The block of a `with client.program() as block:`."""

    def __init__(self, program: Callable[[Callable[..., Any], str], Any], known: Known, name: str = "block") -> None:
        self._program, self._known, self._name = program, known, name
        self._avals: list[Any] = []
        self._inputs: dict[int, Any] = {}
        """Arrays from outside, by their numbers."""
        self._of_array: dict[int, int] = {}
        self._calls: list[_Call] = []
        self._keys: list[Any] = []
        self._deferred: list[tuple[int, weakref.ref[Deferred]]] = []
        self._numbers: weakref.WeakKeyDictionary[Deferred, int] = weakref.WeakKeyDictionary()
        self.program: Any = None
        """What ran, as `client.program` returns it; None before the block is left, and if it computes nothing."""

    def __enter__(self) -> Block:
        if getattr(_here, "block", None) is not None:
            raise ProgramError("a block of client.program() inside of another one; allowed: one after the other")
        OPEN.add(self)
        _here.block = self
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        _here.block = None
        OPEN.discard(self)
        alive = [(n, d) for n, ref in self._deferred if (d := ref()) is not None]
        if kind is not None or not alive:
            return
        numbers = tuple(n for n, _ in alive)
        key = tuple(self._keys), tuple(self._inputs), numbers
        if key not in self._known:
            while len(self._known) >= MOST:
                del self._known[next(iter(self._known))]
            replay = _replay(self._calls, len(self._avals), tuple(self._inputs), numbers)
            self._known[key] = self._program(replay, self._name)
        self.program = self._known[key]
        self.program.run_into(self._inputs.values(), [d for _, d in alive])
        self._calls.clear()
        self._inputs.clear()

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """`function` of values, as a part of the program: `block.call(jax.value_and_grad(loss), w)`.

        What it computes outside of calls on slices runs where most of what it reads is.  Python's numbers are constants
        of the program, as in `block.call(jnp.max, x, axis=0)`; write `numpy.float32(rate)` for one that changes.

        Raises:
          ProgramError: a value is of another block, or the function needs the value of something.
        """
        return self.record(function, args, kwargs)

    def record(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], numbers: bool = False
    ) -> Any:
        """`call`; with `numbers` those of Python are arguments as arrays are."""
        if getattr(_here, "block", None) is not self:
            raise ProgramError("call of a block that is not open in this thread; allowed: inside of its `with`")
        flat, tree = jax.tree.flatten((tuple(args), dict(kwargs)), is_leaf=lambda x: isinstance(x, slice))
        leaves = [self._leaf(x, numbers) for x in flat]
        types_ = tuple(self._type(x) for x in leaves)
        key = callable_key(function), tree, types_, jax_compat.trace_context()
        shapes = self._known.get(("shapes", key))
        if shapes is None:
            shapes = self._known["shapes", key] = self._shapes(function, leaves, tree)
        out_tree, avals = shapes
        first = len(self._avals)
        self._avals += avals
        results = range(first, len(self._avals))
        self._calls.append(_Call(function, leaves, tree, results, source_info_util.current()))
        self._keys.append((*key, tuple(x.number for x in leaves if isinstance(x, _Value))))
        out = []
        for n, aval in zip(results, avals, strict=True):
            deferred = Deferred(aval)
            self._deferred.append((n, weakref.ref(deferred)))
            self._numbers[deferred] = n
            out.append(deferred)
        return jax.tree.unflatten(out_tree, out)

    def as_text(self, stage: str = "streams") -> str:
        """The program that ran: "slices", "islands" or "streams".

        Raises:
          ProgramError: none has.
        """
        if self.program is None:
            raise ProgramError("the block has not run a program; it does when it is left")
        return str(self.program.as_text(stage))

    def _leaf(self, x: Any, numbers: bool) -> Any:
        """A leaf of the arguments of a call: a value of the block, or what is no array."""
        if isinstance(x, Deferred):
            number = self._numbers.get(x)
            if number is None:
                raise ProgramError(f"{x!r} is of another block, which was left by an exception or is still open")
            return _Value(number)
        scalar = type(x) in (bool, int, float, complex)
        if not numbers if scalar else not hasattr(x, "dtype"):
            return x
        if not scalar and id(x) in self._of_array:
            return _Value(self._of_array[id(x)])
        number = len(self._avals)
        self._avals.append(x.placed.aval if isinstance(x, ShardedFuture) else jax_program.abstract(f"{number}", x))
        self._inputs[number] = x  # which keeps it, and so its id
        if not scalar:
            self._of_array[id(x)] = number
        return _Value(number)

    def _type(self, leaf: Any) -> Any:
        if isinstance(leaf, _Value):
            aval = self._avals[leaf.number]
            return aval.shape, aval.dtype, getattr(aval, "weak_type", False)
        return callable_key(leaf)

    def _shapes(self, function: Callable[..., Any], leaves: Sequence[Any], tree: Any) -> tuple[Any, list[Any]]:
        values = {x.number: self._avals[x.number] for x in leaves if isinstance(x, _Value)}

        def run(values: Mapping[int, Any]) -> Any:
            return _apply(function, leaves, tree, values)

        try:
            avals, out_tree = jax.tree.flatten(jax.eval_shape(run, values))
        except jax.errors.ConcretizationTypeError as error:
            raise ProgramError(
                f"{getattr(function, '__name__', 'a function')} in a block needs a value that it computes:"
                f" {str(error).splitlines()[0]}"
            ) from None
        return out_tree, avals


def _apply(function: Callable[..., Any], leaves: Sequence[Any], tree: Any, values: Any) -> Any:
    args, kwargs = jax.tree.unflatten(tree, [values[x.number] if isinstance(x, _Value) else x for x in leaves])
    return function(*args, **kwargs)


def _replay(calls: Sequence[_Call], count: int, inputs: Sequence[int], results: Sequence[int]) -> Callable[..., Any]:
    """The calls of a block as one function of its inputs."""
    calls = list(calls)

    def block(*arrays: Any) -> list[Any]:
        values: list[Any] = [None] * count
        for n, x in zip(inputs, arrays, strict=True):
            values[n] = x
        for call in calls:
            with source_info_util.user_context(call.source.traceback, name_stack=call.source.name_stack):
                out = _apply(call.function, call.leaves, call.tree, values)
            for n, x in zip(call.results, jax.tree.leaves(out), strict=True):
                values[n] = x
        return [values[n] for n in results]

    return block


def callable_key(x: Any, seen: tuple[int, ...] = ()) -> Any:
    """What tells functions apart: code, and what it reads from outside, so that a lambda in a loop is one function.

    Objects of other types are taken not to change; the program that knows them keeps them.
    """
    if x is None or isinstance(x, bool | int | float | complex | str | bytes):
        return type(x), repr(x)
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype, hashlib.sha256(np.ascontiguousarray(x).view(np.uint8).data).digest()
    if isinstance(x, _Item):
        return x.key()
    if id(x) in seen:
        return "itself", seen.index(id(x))
    seen = *seen, id(x)
    if isinstance(x, types.FunctionType):
        if is_library(x):
            return _Same(x)
        cells = tuple(_cell(c, seen) for c in x.__closure__ or ())
        found = [(n, callable_key(x.__globals__[n], seen)) for n in _names(x.__code__) if n in x.__globals__]
        return x.__code__, cells, callable_key(x.__defaults__, seen), callable_key(x.__kwdefaults__, seen), tuple(found)
    if isinstance(x, types.MethodType):
        return callable_key(x.__func__, seen), _Same(x.__self__)
    if isinstance(x, functools.partial):
        return "partial", callable_key(x.func, seen), callable_key(x.args, seen), callable_key(x.keywords, seen)
    if isinstance(x, tuple | list):
        return type(x), tuple(callable_key(y, seen) for y in x)
    if isinstance(x, dict):
        return dict, tuple((callable_key(k, seen), callable_key(v, seen)) for k, v in x.items())
    return _Same(x)


def is_library(x: types.FunctionType) -> bool:
    """Whether a function closes over nothing, and is of an installed module, whose variables do not change."""
    file = x.__code__.co_filename
    return not x.__closure__ and ("site-packages" in file or file.startswith("<frozen"))


def _names(code: types.CodeType) -> list[str]:
    """The names of variables outside that a function may read, in functions inside of it, too."""
    inner = [n for c in code.co_consts if isinstance(c, types.CodeType) for n in _names(c)]
    return sorted({*code.co_names, *inner})


def _cell(cell: Any, seen: tuple[int, ...]) -> Any:
    try:
        return callable_key(cell.cell_contents, seen)
    except ValueError:  # not set yet
        return None


@dataclass(frozen=True, eq=False)
class _Same:
    """An object that is equal to itself alone."""

    value: Any = dataclasses.field(repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)
