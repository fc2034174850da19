"""A program that is compiled per argument structure and shapes, as `jax.jit` does."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

try:
    import jax
except ImportError as error:  # pragma: no cover (the test environment has jax)
    raise ImportError("pcg.compile needs jax: pip install 'pcg[jax]' (pcg-opt works without)") from error

from pcg.driver.program import Program, ProgramError
from pcg.frontend import jax_program
from pcg.runtime import jax_compat
from pcg.runtime.call_tree import SignatureError


class Runnable(Protocol):
    """What is compiled for one set of shapes."""

    def call(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run it with dynamic arguments."""


E = TypeVar("E", bound=Runnable)


class ByShapes(ABC, Generic[E]):
    """A function, or a module, with what was compiled of it for each argument structure and set of shapes.

    Subclasses trace the function, build what runs, and may note which is in use.
    """

    def __init__(
        self, function: Callable[..., Any] | None, program: Program | None, static_argnums: Sequence[int],
        donate_argnums: Sequence[int],
    ) -> None:  # fmt: skip
        self._function = function
        self._program = program
        self._static_argnums = tuple(static_argnums)
        self._donate_argnums = tuple(donate_argnums)
        self._signature = _signature(function)
        self._executables: dict[Any, E] = {}
        self._last: E | None = None
        self.__name__ = getattr(function, "__name__", program.name if program else "program")
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function

    @abstractmethod
    def _trace(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], static: Mapping[int, Any], donate: Sequence[int]
    ) -> Program:
        """The function, traced for dynamic arguments of these shapes."""

    @abstractmethod
    def _build(self, program: Program, donate: Sequence[int]) -> E:
        """What runs a program; `donate` are numbers of its dynamic positional arguments."""

    def _use(self, executable: E, static: Mapping[int, Any]) -> None:
        """Remember what was called last."""
        self._last = executable

    def lower(self, *args: Any, **kwargs: Any) -> E:
        """Compile for arguments of these shapes (arrays or `jax.ShapeDtypeStruct`), without running.

        Raises:
          PcgError: the program cannot be placed; at the op's location.
        """
        args, kwargs = self._bind(args, kwargs)
        return self._executable(args, kwargs)

    @property
    def executable(self) -> E:
        """The compilation in use.

        Raises:
          RuntimeError: a function that was neither called nor lowered has no shapes yet.
        """
        if self._last is None:
            if self._program is None:
                raise RuntimeError(
                    f"{self.__name__} has not been compiled yet: call it, or .lower(...) it with arrays or shapes"
                )
            return self._module_executable()
        return self._last

    # -- compiling -----------------------------------------------------------------------------

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Keyword arguments that could be positional become positional, so that a call has one form."""
        if self._signature is None:
            if kwargs and self._program is not None:
                raise SignatureError(f"{self.__name__} is called with positional arguments; got {sorted(kwargs)}")
            return tuple(args), dict(kwargs)
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise SignatureError(f"{self.__name__}{self._signature}: {error}") from None
        return bound.args, bound.kwargs

    def _dynamic(self, args: Sequence[Any]) -> tuple[Any, ...]:
        static = self._static_positions(len(args))
        return tuple(a for i, a in enumerate(args) if i not in static) if static else tuple(args)

    def _static_positions(self, count: int) -> frozenset[int]:
        return frozenset(i % count if -count <= i < 0 else i for i in self._static_argnums if i < count)

    def _executable(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> E:
        if self._program is not None:
            return self._module_executable()
        statics = self._static_positions(len(args))
        static = {i: args[i] for i in statics}
        dynamic = self._dynamic(args)
        names = jax_program.parameter_names(self._function, len(args))  # type: ignore[arg-type]
        names = [n for i, n in enumerate(names) if i not in statics]
        flat, tree = jax.tree.flatten((dynamic, kwargs))
        paths = jax_program.leaf_names(names, dynamic, kwargs)
        avals = [jax_program.abstract(n, x) for n, x in zip(paths, flat, strict=True)]
        context = jax_compat.trace_context()
        types = tuple((a.shape, a.dtype, a.weak_type) for a in avals)
        key = (tree, types, tuple(sorted(static.items())), context)
        try:
            found = self._executables.get(key)
        except TypeError:
            bad = next((v for v in static.values() if not _hashable(v)), None)
            raise ProgramError(f"static argument {bad!r:.60} is not hashable") from None
        if found is None:
            found = self._executables[key] = self._compile(dynamic, kwargs, static)
        self._use(found, static)
        return found

    def _compile(self, args: tuple[Any, ...], kwargs: dict[str, Any], static: Mapping[int, Any]) -> E:
        assert self._function is not None
        if jax_compat.any_traced((args, kwargs)) or jax_compat.is_traced_here():
            raise ProgramError(
                f"{self.__name__} is compiled inside of another jax transformation; call .lower with shapes before"
            )
        count = len(args) + len(static)
        donate = tuple(i % count for i in self._donate_argnums)
        program = self._trace(args, kwargs, static, donate)
        dynamic = [i for i in range(count) if i not in static]
        return self._build(program, [dynamic.index(i) for i in donate if i in dynamic])

    def _module_executable(self) -> E:
        assert self._program is not None
        if not self._executables:
            self._executables[()] = self._build(self._program, sorted(self._program.donated))
        self._use(self._executables[()], {})
        return self._executables[()]


def numbers(argnums: int | Sequence[int]) -> tuple[int, ...]:
    """Numbers of arguments, of which one may be alone."""
    return (argnums,) if isinstance(argnums, int) else tuple(argnums)


def _signature(function: Callable[..., Any] | None) -> inspect.Signature | None:
    try:
        return None if function is None else inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
