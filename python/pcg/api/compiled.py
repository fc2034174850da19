"""A program on a mesh that is compiled per argument structure and shapes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

try:
    import jax
except ImportError as error:  # pragma: no cover (the test environment has jax)
    raise ImportError("pcg.compile needs jax: pip install 'pcg[jax]' (pcg-opt works without)") from error

from pcg.driver.compile import choose_mesh, compile_program
from pcg.driver.decide import BASELINES, Options
from pcg.driver.plan import Plan
from pcg.driver.program import Program, ProgramError
from pcg.frontend import jax_program
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine
from pcg.rules.strategy import StrategyError, factorise
from pcg.runtime import jax_compat, placement
from pcg.runtime.call_tree import SignatureError
from pcg.runtime.executable import Executable
from pcg.runtime.fit import within


@dataclass(frozen=True)
class CompileOptions:
    """The options of `pcg.compile`, read once; for their meaning see there."""

    strategy: str | Plan
    donate_argnums: tuple[int, ...]
    static_argnums: tuple[int, ...]
    in_shardings: Any
    out_shardings: Any
    memory_limit: int | None
    search: Mapping[str, Any]
    refine: bool | None


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
        options: CompileOptions,
        *,
        open_mesh: bool = False,
        cluster: Cluster | None = None,
        all_devices: Sequence[Any] | None = None,
    ) -> None:
        self.mesh = mesh
        self.cluster = cluster
        """The machine that the mesh lies on; None: what its devices are taken for."""
        self._user_mesh = mesh
        self._all_devices = all_devices
        self._open_mesh = open_mesh
        self._function = function
        self._program = program
        self._devices = list(devices)
        self._options = options
        self._signature = _signature(function)
        self._executables: dict[Any, Executable] = {}
        self._last: Executable | None = None
        self._fast: Callable[..., Any] | None = None
        self._context: Any = None
        self._alone = False
        self.__name__ = getattr(function, "__name__", program.name if program else "program")
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<pcg.Compiled {self.__name__} on {self.mesh}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fast = self._fast
        if fast is not None and not kwargs and self._is_like_last(leaves := jax.tree.leaves(args)):
            if self._options.donate_argnums:
                self.executable.check_donated(leaves)
            try:
                return fast(*args)
            except (ValueError, TypeError):
                # Other shapes, or arrays that lie elsewhere: the slow path places or recompiles.
                pass
        if self._function is not None and jax.config.jax_disable_jit:
            return self._function(*args, **kwargs)
        args, kwargs = self._bind(args, kwargs)
        executable = self._executable(args, kwargs)
        result = executable.call(self._dynamic(args), kwargs)
        if self._alone and executable.is_compiled:
            self._context = jax_compat.trace_context()
            self._fast = executable.direct
        return result

    def _is_like_last(self, leaves: Sequence[Any]) -> bool:
        """Whether the arguments and jax's settings would be traced to the same program, as far as XLA cannot tell."""
        return not any(map(jax_compat.is_weak, leaves)) and jax_compat.trace_context() == self._context

    def lower(self, *args: Any, **kwargs: Any) -> Executable:
        """Compile for arguments of these shapes (arrays or `jax.ShapeDtypeStruct`), without running.

        Raises:
          PcgError: the program cannot be placed; at the op's location.
        """
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
        """The plan, as a document that can be saved, read and passed as `strategy`."""
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

    def explain(self, tensor: str | int | None = None, *, verbose: bool = False, format: str = "text") -> str:
        """What was sharded how, what it costs, what was rejected, and why.

        With `tensor` the same as `why(tensor)`.  `verbose`: every collective and every layout by itself, instead of
        those that take longest, equal ones as one.

        `format="html"`: a page about substitutions, with the parts of the program that were rewritten before and after
        and their layouts.  The program is planned again without substitutions for that.

        Raises:
          ValueError: another format.
          ImportError: igraph, which a page needs, is not installed.
        """
        return self.executable.explain(tensor, verbose=verbose, format=format)

    def simulate(self, machine: Any = None, **options: Any) -> Any:
        """One step of the program on the machine that it was planned for, or on another.

        Per device a stream that computes and one that communicates, with what overlaps and what waits; memory by
        liveness over that schedule.

        Args:
          machine: a `pcg.Cluster`, a `pcg.machine.Machine`, or text as for `pcg-opt --cluster`.
          options: of `pcg.simulate.simulate`: `overlap=False` for devices that do one thing at a time, ...

        Returns:
          A `pcg.simulate.Simulation`: printed a table, `write_trace(path)` writes a trace for ui.perfetto.dev.

        Raises:
          ClusterError: the mesh does not fit on the machine.
        """
        if isinstance(machine, str):
            machine = Cluster.parse(machine)
        return self.executable.simulate(Machine.of(machine) if isinstance(machine, Cluster) else machine, **options)

    def lint(self, budget: int | None = None) -> Any:
        """What the annotated layouts cost, what others would, and which to change first.

        Annotated are the constraints in the program (`pcg.shard`, `with_sharding_constraint`), `in_shardings` and
        `out_shardings`; the plan in use does not matter.

        Args:
          budget: how many variants of the annotations are estimated at most (default 300).

        Returns:
          A `pcg.viz.lint.Lint`: printed it is the report; `excess` is by how much the annotations make a step
          longer, `advice.changes` what to change, `findings` what is questionable about single annotations.
        """
        return self.executable.lint(budget)

    def why(self, tensor: str | int) -> str:
        """Why one tensor is sharded as it is.

        Per axis of its layout the chain of tensors from it to the annotation that the axis comes from, or who chose it;
        then each redistribution of it, with the two decisions that force it.

        Args:
          tensor: name of an argument (`"params['up']"`) or of a result (`"result[0]"`), number of a flat argument,
            a source line (`"model.py:12"`: what is computed there), or a value as `as_text()` names it (`"%12"`).

        Raises:
          ValueError: there is no such tensor.
        """
        return self.executable.why(tensor)

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
        return frozenset(i % count if -count <= i < 0 else i for i in self._options.static_argnums if i < count)

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

    def _compile(self, args: tuple[Any, ...], kwargs: dict[str, Any], static: Mapping[int, Any]) -> Executable:
        assert self._function is not None
        if jax_compat.any_traced((args, kwargs)) or jax_compat.is_traced_here():
            raise ProgramError(
                f"{self.__name__} is compiled inside of another jax transformation; call .lower with shapes before"
            )
        count = len(args) + len(static)
        donate = tuple(i % count for i in self._options.donate_argnums)
        self._set_mesh(self._user_mesh)
        mesh = jax_compat.jax_mesh(self.mesh, self._devices)
        remesh = self._factorise if self._open_mesh else None
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

    def _set_mesh(self, mesh: Mesh) -> None:
        """Use `mesh`, and the jax devices that it names."""
        if mesh != self.mesh:
            self.mesh, self._devices = placement.resolve_mesh(mesh, self._all_devices)

    def _choose_mesh(self, program: Program, options: Options) -> None:
        """On a cluster: the mesh, if the user left it open, and where it lies, if it does not say."""
        assert self.cluster is not None
        free = self._open_mesh and self.mesh == self._user_mesh
        mesh = Mesh(self.mesh.axes) if self._open_mesh else self.mesh
        if not mesh.device_ids:
            count = self.mesh.size if free else None
            self._set_mesh(choose_mesh(program, self.cluster, None if free else mesh, options, count))

    def _build(self, program: Program, donate: Sequence[int]) -> Executable:
        o = self._options
        in_tree = program.in_tree or jax.tree.structure(((0,) * len(program.inputs), {}))
        out_tree = program.out_tree or jax.tree.structure((0,) * len(program.results))
        ins = _split_keywords(o.in_shardings, in_tree)
        options = Options(
            strategy=o.strategy,  # type: ignore[arg-type]
            memory_limit=o.memory_limit,
            in_specs=placement.flat_shardings(ins, in_tree, program.inputs, self.mesh, "in_shardings"),
            out_specs=placement.flat_shardings(o.out_shardings, out_tree, program.results, self.mesh, "out_shardings"),
            search=o.search if self.cluster is None else {"machine": Machine.of(self.cluster), **o.search},
            refine=o.refine,
        )
        if self.cluster is not None and not isinstance(o.strategy, Plan) and o.strategy not in BASELINES:
            self._choose_mesh(program, options)

        def build(options: Options) -> Executable:
            compilation = compile_program(program, self.mesh, options, devices=self._devices)
            return Executable(compilation, self._devices, donate)

        if o.memory_limit is None or self.cluster is not None or o.strategy not in ("auto", "search"):
            return build(options)
        return within(build, options, o.memory_limit)

    def _use(self, executable: Executable, static: Mapping[int, Any]) -> None:
        """Remember `executable`; once it is compiled, calls go straight to it as long as it is the only one."""
        self._last = executable
        alone = len(self._executables) == 1 and not static
        weak = any(leaf.weak for leaf in executable.program.inputs)
        self._alone = alone and not weak and not executable.needs_x64 and not executable.calls_host
        self._fast = None


def _split_keywords(shardings: Any, in_tree: Any) -> Any:
    """`in_shardings` as a prefix of `(args, kwargs)`: a dict after the positional ones is for keywords."""
    if shardings is None:
        return None
    args, kwargs = jax.tree.unflatten(in_tree, range(in_tree.num_leaves))
    if not isinstance(shardings, list | tuple) or placement.is_sharding(shardings):
        return ((shardings,) * len(args), shardings if kwargs else None)
    if kwargs and len(shardings) == len(args) + 1:
        return (tuple(shardings[:-1]), shardings[-1])
    return (tuple(shardings), None)


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
