"""`pcg.compile(..., pipeline=...)`: a training step as a pipeline on groups of devices."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from pcg.api.by_shapes import ByShapes
from pcg.api.steps import Steps
from pcg.driver.choose_pipeline import ChosenPipeline, choose_pipeline
from pcg.driver.compile_pipeline import compile_pipeline
from pcg.driver.pipelined import PipelineProgram
from pcg.driver.program import Program, ProgramError
from pcg.frontend import jax_program
from pcg.frontend.boundary import dividing
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.pipeline.automatic import OBJECTIVES
from pcg.pipeline.check import check
from pcg.pipeline.errors import MemoryLimitError, PipelineError
from pcg.pipeline.instructions import Instructions, Run
from pcg.pipeline.lowering import lower
from pcg.pipeline.named import AUTO, NAMED, named
from pcg.pipeline.overlap import SYNCHRONOUS, UPDATES
from pcg.pipeline.progress import memory
from pcg.pipeline.schedule import Schedule
from pcg.planning.target import limit_of
from pcg.runtime import jax_compat
from pcg.runtime.pipeline import PipelineExecutable
from pcg.search.outcome import DoesNotFit


@dataclass(frozen=True)
class PipelineOptions:
    """How `pcg.compile` makes a pipeline of a training step.

    Raises:
      PipelineError: an option is none of what is allowed.
    """

    microbatches: int = 0
    """The batch is divided into so many, which follow each other through the stages; 0: as many as are fastest."""
    axis: str = "stage"
    """Axis of the mesh along which the groups of devices lie; each group has a mesh of the other axes."""
    schedule: str = "auto"
    """As in `pcg-schedule`: "1f1b", "zb-h1", ..., or "auto": the best that is found within the memory limit."""
    chunks: int = 0
    """Stages of each group; 0: two where the schedule needs several, else one."""
    objective: str = ""
    """What "auto" minimises: "makespan", the time of a step, or "span", that of its busiest group; default: span where
    steps follow each other without a barrier."""
    updates: str = SYNCHRONOUS
    """How steps of `Pipelined.steps` follow each other: "synchronous"; "post-validated", the same numbers without
    waiting for norms of all gradients; "2bw", gradients of parameters that are one version old."""
    confirmations: int = 2
    """Post-validation: steps in a row with the same clip and checks, before those of the next step are predicted."""

    def __post_init__(self) -> None:
        count = self.microbatches
        if isinstance(count, bool) or not isinstance(count, int) or count == 1 or count < 0:
            raise PipelineError(f"microbatches {count!r}; allowed: 2 or more, 0 for the best number")
        if self.schedule not in (AUTO, *NAMED):
            raise PipelineError(f"schedule {self.schedule!r}; allowed: {', '.join((AUTO, *NAMED))}")
        if isinstance(self.chunks, bool) or not isinstance(self.chunks, int) or self.chunks < 0:
            raise PipelineError(f"chunks {self.chunks!r}; allowed: 1 or more, 0 for what the schedule needs")
        if not self.objective:
            object.__setattr__(self, "objective", "makespan" if self.updates == SYNCHRONOUS else "span")
        if self.objective not in OBJECTIVES:
            raise PipelineError(f"objective {self.objective!r}; allowed: {', '.join(OBJECTIVES)}")
        if self.updates not in UPDATES:
            raise PipelineError(f"updates {self.updates!r}; allowed: {', '.join(UPDATES)}")
        if isinstance(self.confirmations, bool) or not isinstance(self.confirmations, int) or self.confirmations < 1:
            raise PipelineError(f"confirmations {self.confirmations!r}; allowed: 1 or more")
        if self.chunks > 1 and self.form == "linear":
            raise PipelineError(f"{self.chunks} chunks with {self.schedule}; allowed: 1, or a schedule of several")

    @classmethod
    def of(cls, options: PipelineOptions | Mapping[str, Any] | int | str) -> PipelineOptions:
        """Options as such, as a dict, as a number of microbatches, or "auto".

        Raises:
          PipelineError: an unknown option, or none of these.
        """
        if isinstance(options, cls):
            return options
        if isinstance(options, Mapping):
            known = [f.name for f in fields(cls)]
            if unknown := [k for k in options if k not in known]:
                raise PipelineError(f"pipeline option {unknown[0]!r}; allowed: {', '.join(known)}")
            return cls(**options)
        if options == AUTO:
            return cls()
        if isinstance(options, int):
            return cls(options)
        raise PipelineError(
            f"pipeline {options!r:.60}; allowed: pcg.PipelineOptions, a dict of them, microbatches, or 'auto'"
        )

    @property
    def form(self) -> str:
        """The placement of stages on groups."""
        if self.schedule == AUTO:
            return "linear" if self.chunks < 2 else "v"
        return NAMED[self.schedule][0]


class Pipelined(ByShapes[PipelineExecutable]):
    """A training step as a pipeline: called like the function, compiled per argument structure and shapes."""

    def __init__(
        self, function: Callable[..., Any] | None, program: Program | None, mesh: Mesh, devices: Sequence[Any],
        options: PipelineOptions, *, is_open: bool = False, engine: str = "search", machine: Machine | None = None,
        memory_limit: int | None = None, static_argnums: Sequence[int] = (), donate_argnums: Sequence[int] = (),
    ) -> None:  # fmt: skip
        super().__init__(function, program, static_argnums, donate_argnums)
        self.options, self.mesh = options, mesh
        self.chosen: ChosenPipeline | None = None
        """The shape that was chosen for what was compiled last; None where all of it was given."""
        self._devices = list(devices)
        self._groups = (mesh,) if is_open else mesh.along(options.axis)
        self._is_open = is_open
        self._engine, self._limit = engine, memory_limit
        self._machine = machine or Machine.of_platform(self._devices[0].platform, mesh.size)

    def __repr__(self) -> str:
        return f"<pcg.Pipelined {self.__name__} on {self.mesh}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self._bind(args, kwargs)
        return self._executable(args, kwargs).call(self._dynamic(args), kwargs)

    def steps(self, *state: Any, batches: Iterable[Any], **more: Any) -> Steps:
        """Train: an iterator over the results that are not state, with the state after them as `.state`.

        Args:
          state: the arguments of the function that a step returns the next values of, in its order or by name.
          batches: the other arguments of each step: one, or a tuple of them.

        Raises:
          PipelineError: an argument that is not state, or a batch that does not fit.
        """
        if self._signature is None:
            raise PipelineError("steps of a module; allowed: of a function, whose parameters have names")
        try:
            initial = self._signature.bind_partial(*state, **more).arguments
        except TypeError as error:
            raise PipelineError(f"steps of {self.__name__}{self._signature}: {error}") from None
        kinds = {p.kind for p in self._signature.parameters.values()}
        if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
            raise PipelineError(f"steps of {self.__name__}{self._signature}; allowed: a function without * and **")
        static = self._static_positions(len(self._signature.parameters))
        return Steps(self._signature, self._executable, static, initial, batches, self.options.confirmations)

    def _trace(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], static: Mapping[int, Any], donate: Sequence[int]
    ) -> Program:
        assert self._function is not None
        with dividing():
            mesh = jax_compat.jax_mesh(self._groups[0], self._devices[: self._groups[0].size])
            return jax_program.trace(self._function, args, kwargs, static=static, donate_argnums=donate, mesh=mesh)

    def _build(self, program: Program, donate: Sequence[int]) -> PipelineExecutable:
        if program.callbacks:
            raise ProgramError(f"{program.name} calls Python functions, which a pipeline cannot; take them out")
        o, form = self.options, self.options.form
        if not self._is_open and o.microbatches:
            chunks = o.chunks or (1 if form == "linear" else 2)
            return self._plan(program, self._groups, o.microbatches, form, chunks, o.schedule, None)
        most, tried = limit_of(self._limit, self._machine), []
        for chosen in self._choose(program).in_order():
            best, self.chosen = chosen.best, chosen
            m, limit = best.method, None if most is None else int(most - best.kept)
            try:
                return self._plan(
                    program, chosen.meshes, best.microbatches, m.placement, m.chunks, m.schedule, limit
                )  # fmt: skip
            except (MemoryLimitError, DoesNotFit) as error:
                tried.append(f"{best}: {error}")
        self.chosen = None
        raise MemoryLimitError(
            "plans of all layers need more memory than those of few layers said; tried " + "; ".join(tried)
        )

    def _plan(
        self, program: Program, groups: Sequence[Mesh], microbatches: int, form: str, chunks: int, name: str,
        limit: int | None,
    ) -> PipelineExecutable:  # fmt: skip
        """The pipeline of a shape, whose programs need at most `limit` bytes for one microbatch."""
        found = compile_pipeline(program, groups, microbatches, form, chunks, self._engine, self._machine, limit)
        found = replace(found, updates=self.options.updates)
        executable = PipelineExecutable(found, self._devices, self._schedule(found, name))
        if self._limit is not None:
            check(executable.steady, self._limit)
        return executable

    def _choose(self, program: Program) -> ChosenPipeline:
        """The shape of the pipeline, as far as it is open."""
        o, fixed = self.options, self._groups[0]
        return choose_pipeline(
            program, self._machine, self.mesh.size, self.mesh.device_ids or (),
            groups=0 if self._is_open else len(self._groups),
            axes=None if self._is_open else tuple(fixed.axes), microbatches=o.microbatches,
            schedule="" if o.schedule == AUTO else o.schedule, chunks=o.chunks, objective=o.objective,
            engine=self._engine, memory_limit=self._limit,
        )  # fmt: skip

    def _schedule(self, program: PipelineProgram, name: str) -> Schedule:
        """The schedule, with as much memory for activations as the limit leaves.

        Raises:
          PipelineError: the limit is too small; it says what would fit.
        """
        problem = program.problem()
        if self._limit is not None:
            free = named(problem, AUTO, self.options.objective)
            step = program.step()
            overlap = program.overlap(step)
            fixed, once = _besides_activations(lower(overlap.step if overlap else step, free), free)
            least = max(max(f + m for f, m in zip(fixed, problem.least_memory, strict=True)), once)
            if least > self._limit:
                raise MemoryLimitError(
                    f"memory limit {self._limit} of each device: parameters, state, gradients and one microbatch need"
                    f" {least:.0f} bytes; allowed: {least:.0f} or more, or more stages, or more microbatches"
                )
            problem = problem.with_limit([self._limit - f for f in fixed])
        return named(problem, name, self.options.objective)

    def as_text(self) -> str:
        """The module of placed fragments that is in use, with transfers between the groups."""
        return self.executable.program.text

    def explain(self) -> str:
        """The stages, the schedule with its bounds, and the memory of each group."""
        from pcg.viz.pipeline import explain

        executable = self.executable
        own = executable.instructions
        return explain(executable.program, executable.schedule, executable.steady, own, self.chosen)


def _besides_activations(instructions: Instructions, schedule: Schedule) -> tuple[list[float], float]:
    """(by group, bytes besides activations while microbatches run; the most bytes before and after them)."""
    fixed, once = [], 0.0
    for device, own in enumerate(instructions.lists):
        during = 0.0
        for what, used in zip(own, memory(instructions, device), strict=False):  # one more: after the last one
            if isinstance(what, Run) and what.microbatch is not None:
                during = max(during, float(used))
            elif isinstance(what, Run):
                once = max(once, float(used))
        fixed.append(max(during - schedule.peaks()[device], 0.0))
    return fixed, once
