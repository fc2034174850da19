"""`pcg.compile`: a program for one device, run on a mesh."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

try:
    import jax
except ImportError as error:  # pragma: no cover (the test environment has jax)
    raise ImportError("pcg.compile needs jax: pip install 'pcg[jax]' (pcg-opt works without)") from error

from pcg.compiler import Options, compile_program, load_program
from pcg.frontend import jax_program
from pcg.frontend.program import Program, ProgramError, module_source
from pcg.layout import Mesh
from pcg.layout.strategy import StrategyError, factorise
from pcg.passes.base import Bytes
from pcg.plan import Plan
from pcg.runtime import jax_compat, placement
from pcg.runtime.executable import Executable, SignatureError

STRATEGIES = ("auto", "propagate")


def compile(
    program: Callable[..., Any] | str | bytes | Path,
    mesh: Any,
    *,
    strategy: str | Plan | Path = "auto",
    donate_argnums: int | Sequence[int] = (),
    static_argnums: int | Sequence[int] = (),
    in_shardings: Any = None,
    out_shardings: Any = None,
    memory_limit: int | str | None = None,
    devices: Sequence[Any] | None = None,
    **search: Any,
) -> Compiled:
    """Make `program`, written for one device, run on `mesh`.

    Args:
      program: any function that jax can trace, with trees of arrays as arguments and results; or a
        StableHLO module as text, bytes or path, which is called with a flat list of arrays.
      mesh: a dict of axis sizes, `"data=2,model=4"`, a number of devices, a `pcg.Mesh`, or a
        `jax.sharding.Mesh`.  A number is factorised as the strategies in the program need it
        (`pcg.shard_op(..., strategy=((2,1),(1,4)))` on 8 devices: `d0=2,d1=4`).
      strategy: "auto" searches over all placements; "propagate" spreads those that the program and
        `in_shardings` give; a `Plan` (or the path of a saved one) is taken as it is.
      donate_argnums: arguments whose buffers the results may take over, as in `jax.jit`.
      static_argnums: arguments that are compile-time constants, as in `jax.jit`.
      in_shardings, out_shardings: layouts that are fixed: a tree of NamedSharding, PartitionSpec or
        `ShardSpec`, a prefix of the arguments (results); None leaves the choice to pcg.
      memory_limit: bytes per device that the plan may need, also as text ("16GiB").
      devices: jax devices to use; default all of `jax.devices()` that the mesh needs.
      search: further options of the pass `pcg-search` or `dist-propagate` (`machine=...`, `engine="bfs"`).

    Returns:
      A callable with the signature of `program`.  It compiles when it is first called with new
      shapes, and its results are jax Arrays with NamedShardings on the mesh.

    Raises:
      MeshError: not a mesh, or larger than the number of devices.
      ProgramError: `program` is neither a function nor a module.
    """
    ours, placed = placement.resolve_mesh(mesh, devices)
    counted = isinstance(mesh, int)
    if isinstance(strategy, Path) or (isinstance(strategy, str) and strategy.endswith(".json")):
        strategy = Plan.load(strategy)
    if not isinstance(strategy, Plan) and strategy not in STRATEGIES:
        raise ValueError(f"strategy {strategy!r}; expected 'auto', 'propagate', a Plan, or the path of a saved plan")
    source = module_source(program)
    limit = None if memory_limit is None else int(Bytes(memory_limit))
    options = _Settings(
        strategy, _numbers(donate_argnums), _numbers(static_argnums), in_shardings, out_shardings, limit, search
    )
    if source is None:
        assert callable(program)
        return Compiled(program, None, ours, placed, options, counted=counted)
    if options.static_argnums:
        raise ProgramError("static_argnums is for functions; a StableHLO module has no static arguments")
    loaded = load_program(source[0], path=source[1], donated=frozenset(options.donate_argnums))
    return Compiled(None, loaded, ours, placed, options)


class _Settings:
    """The options of `compile`, read once."""

    def __init__(
        self, strategy: str | Plan, donate_argnums: tuple[int, ...], static_argnums: tuple[int, ...],
        in_shardings: Any, out_shardings: Any, memory_limit: int | None, search: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.strategy = strategy
        self.donate_argnums = donate_argnums
        self.static_argnums = static_argnums
        self.in_shardings = in_shardings
        self.out_shardings = out_shardings
        self.memory_limit = memory_limit
        self.search = dict(search)


class Compiled:
    """A program on a mesh: called like the program, compiled per argument structure and shapes.

    `plan`, `cost`, `explain()`, `as_text(stage)`, `input_shardings` and `output_shardings` are those
    of the shapes it was last called or lowered with.
    """

    def __init__(
        self,
        function: Callable[..., Any] | None,
        program: Program | None,
        mesh: Mesh,
        devices: Sequence[Any],
        settings: _Settings,
        *,
        counted: bool = False,
    ) -> None:
        self.mesh = mesh
        self._counted = counted
        self._function = function
        self._program = program
        self._devices = list(devices)
        self._settings = settings
        self._signature = _signature(function)
        self._executables: dict[Any, Executable] = {}
        self._last: Executable | None = None
        self._fast: Callable[..., Any] | None = None
        self.__name__ = getattr(function, "__name__", program.name if program else "program")
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<pcg.Compiled {self.__name__} on {self.mesh}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fast = self._fast
        if fast is not None and not kwargs:
            try:
                return fast(*args)
            except (ValueError, TypeError):
                # Other shapes, or arrays that lie elsewhere: the slow path places or recompiles.
                pass
        args, kwargs = self._bind(args, kwargs)
        executable = self._executable(args, kwargs)
        return executable.call(self._dynamic(args), kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Executable:
        """Compile for arguments of these shapes (arrays or `jax.ShapeDtypeStruct`), without running.

        Raises:
          PcgError: the program cannot be placed; at the op's location.
        """
        if self._program is not None and not args and not kwargs:
            return self._module_executable()
        args, kwargs = self._bind(args, kwargs)
        return self._executable(args, kwargs)

    # -- what it is ----------------------------------------------------------------------------

    @property
    def executable(self) -> Executable:
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

    @property
    def plan(self) -> Plan:
        """The placement, as a document that can be saved, read and given back as `strategy`."""
        return self.executable.plan

    @property
    def cost(self) -> Any:
        """Estimated time, communication and memory per device."""
        return self.executable.cost

    @property
    def input_shardings(self) -> Any:
        """NamedShardings in the structure of the positional arguments."""
        return self.executable.input_shardings

    @property
    def output_shardings(self) -> Any:
        """NamedShardings in the structure of the results."""
        return self.executable.output_shardings

    def as_text(self, stage: str = "pcg") -> str:
        """The program at `stage`: stablehlo, plan, pcg, collectives, local or sdy."""
        return self.executable.as_text(stage)

    def explain(self) -> str:
        """What was sharded how, what it costs, what was rejected and why."""
        return self.executable.explain()

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
        return frozenset(i % count if -count <= i < 0 else i for i in self._settings.static_argnums if i < count)

    def _executable(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Executable:
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
        key = (tree, tuple((a.shape, a.dtype) for a in avals), tuple(sorted(static.items())))
        try:
            found = self._executables.get(key)
        except TypeError:
            bad = next((v for v in static.values() if not _hashable(v)), None)
            raise ProgramError(f"static argument {bad!r:.60} is not hashable") from None
        if found is None:
            found = self._executables[key] = self._compile(dynamic, kwargs, static)
        self._use(found, static)
        return found

    def _compile(self, args: tuple[Any, ...], kwargs: dict[str, Any], static: Mapping[int, Any]) -> Executable:
        assert self._function is not None
        count = len(args) + len(static)
        donate = tuple(i % count for i in self._settings.donate_argnums)
        mesh = jax_compat.jax_mesh(self.mesh, self._devices)
        remesh = self._factorise if self._counted else None
        program = jax_program.trace(
            self._function, args, kwargs, static=static, donate_argnums=donate, mesh=mesh, remesh=remesh
        )
        dynamic = [i for i in range(count) if i not in static]
        return self._build(program, [dynamic.index(i) for i in donate if i in dynamic])

    def _factorise(self, matrices: Sequence[tuple[int, ...]]) -> jax.sharding.Mesh:
        """The mesh that strategies in the program need, when the user gave a number of devices."""
        try:
            self.mesh = factorise(len(self._devices), matrices)
        except StrategyError as error:
            raise ProgramError(f"{self.__name__}: {error}") from None
        return jax_compat.jax_mesh(self.mesh, self._devices)

    def _module_executable(self) -> Executable:
        assert self._program is not None
        if not self._executables:
            self._executables[()] = self._build(self._program, sorted(self._program.donated))
        self._use(self._executables[()], {})
        return self._executables[()]

    def _build(self, program: Program, donate: Sequence[int]) -> Executable:
        s = self._settings
        in_tree = program.in_tree or jax.tree.structure(((0,) * len(program.arguments), {}))
        out_tree = program.out_tree or jax.tree.structure((0,) * len(program.results))
        given = _split_keywords(s.in_shardings, in_tree)
        options = Options(
            strategy=s.strategy,  # type: ignore[arg-type]
            memory_limit=s.memory_limit,
            in_specs=placement.flat_shardings(given, in_tree, program.arguments, self.mesh, "in_shardings"),
            out_specs=placement.flat_shardings(s.out_shardings, out_tree, program.results, self.mesh, "out_shardings"),
            search=s.search,
        )
        compilation = compile_program(program, self.mesh, options, devices=self._devices)
        return Executable(compilation, self._devices, donate)

    def _use(self, executable: Executable, static: Mapping[int, Any]) -> None:
        """Remember `executable`; calls go straight to it as long as it is the only one."""
        self._last = executable
        simple = len(self._executables) == 1 and not static and not executable.needs_x64
        self._fast = executable.jitted if simple else None


def _numbers(given: int | Sequence[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


def _split_keywords(given: Any, in_tree: Any) -> Any:
    """`in_shardings` as a prefix of `(args, kwargs)`: a dict after the positional ones is for keywords."""
    if given is None:
        return None
    args, kwargs = jax.tree.unflatten(in_tree, range(in_tree.num_leaves))
    if not isinstance(given, list | tuple) or placement.is_sharding(given):
        return ((given,) * len(args), given if kwargs else None)
    if kwargs and len(given) == len(args) + 1:
        return (tuple(given[:-1]), given[-1])
    return (tuple(given), None)


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
