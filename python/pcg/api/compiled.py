"""A program on a mesh that is compiled per argument structure and shapes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from pcg.api.by_shapes import ByShapes
from pcg.driver.compile import choose_mesh, compile_program
from pcg.driver.decide import BASELINES, Options
from pcg.driver.plan import Plan
from pcg.driver.program import Program, ProgramError
from pcg.frontend import jax_program
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine
from pcg.planning import ahead
from pcg.rules.strategy import StrategyError, factorise
from pcg.runtime import agreement, jax_compat, placement
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


class Compiled(ByShapes[Executable]):
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
        super().__init__(function, program, options.static_argnums, options.donate_argnums)
        self.mesh = mesh
        self.cluster = cluster
        """The machine that the mesh lies on; None: what its devices are taken for."""
        self._user_mesh = mesh
        self._all_devices = all_devices
        self._open_mesh = open_mesh
        self._devices = list(devices)
        self._options = options
        self._fast: Callable[..., Any] | None = None
        self._context: Any = None
        self._alone = False

    def __repr__(self) -> str:
        return f"<pcg.Compiled {self.__name__} on {self.mesh}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fast = self._fast
        if fast is not None and not kwargs and self._is_like_last(leaves := jax.tree.leaves(args)):
            if self._options.donate_argnums:
                self.executable.call_tree.check_donated(leaves)
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

    # -- what it is ----------------------------------------------------------------------------

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

    def _trace(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], static: Mapping[int, Any], donate: Sequence[int]
    ) -> Program:
        assert self._function is not None
        self._set_mesh(self._user_mesh)
        mesh = jax_compat.jax_mesh(self.mesh, self._devices)
        remesh = self._factorise if self._open_mesh else None
        o = self._options
        searches = self.cluster is None and Options(strategy=o.strategy, search=o.search).searches_ahead
        return jax_program.trace(
            self._function, args, kwargs, static=static, donate_argnums=donate, mesh=mesh, remesh=remesh,
            traced_to=ahead.expect if searches else lambda equations: None,
        )  # fmt: skip

    def _factorise(self, matrices: Sequence[tuple[int, ...]]) -> jax.sharding.Mesh:
        """The mesh that strategies in the program need, when the user gave a number of devices."""
        try:
            self.mesh = factorise(len(self._devices), matrices)
        except StrategyError as error:
            raise ProgramError(f"{self.__name__}: {error}") from None
        return jax_compat.jax_mesh(self.mesh, self._devices)

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

        def decided() -> Executable:
            if o.memory_limit is None or self.cluster is not None or o.strategy not in ("auto", "search"):
                return build(options)
            return within(build, options, o.memory_limit)

        def planned(plan: Plan) -> Executable:
            machine = {k: v for k, v in options.search.items() if k == "machine"}
            return build(dataclasses.replace(options, strategy=plan, memory_limit=None, search=machine))

        processes = agreement.processes_of(self._devices)
        if processes is None:
            return decided()
        ins, outs = options.in_specs, options.out_specs
        texts = agreement.option_texts(strategy=o.strategy, in_shardings=ins, out_shardings=outs)
        return processes.compile(decided, planned, texts)

    def _use(self, executable: Executable, static: Mapping[int, Any]) -> None:
        """Remember `executable`; once it is compiled, calls go straight to it as long as it is the only one."""
        super()._use(executable, static)
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
