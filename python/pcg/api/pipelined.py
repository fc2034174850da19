"""`pcg.compile(..., pipeline=...)`: a training step as a pipeline on groups of devices."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from pcg.api.by_shapes import ByShapes
from pcg.api.pipeline_options import PipelineOptions
from pcg.api.steps import Steps
from pcg.driver.choose_pipeline import ChosenPipeline, choose_pipeline
from pcg.driver.compile_pipeline import compile_pipeline
from pcg.driver.pipelined import PipelineProgram
from pcg.driver.program import Program, ProgramError
from pcg.frontend import jax_program
from pcg.frontend.boundary import dividing
from pcg.layout import Mesh
from pcg.layout.groups import groups_text
from pcg.machine import Machine
from pcg.pipeline.check import check
from pcg.pipeline.errors import MemoryLimitError, PipelineError
from pcg.pipeline.instructions import Instructions, Run
from pcg.pipeline.lowering import lower
from pcg.pipeline.named import AUTO, named
from pcg.pipeline.progress import memory
from pcg.pipeline.schedule import Schedule
from pcg.planning.target import limit_of
from pcg.runtime import jax_compat
from pcg.runtime.pipeline import PipelineExecutable
from pcg.search.outcome import DoesNotFit


class PlannedStep(Protocol):
    """A pipelined step that is ready to run."""

    program: PipelineProgram
    schedule: Schedule
    instructions: Instructions
    """Of a step by itself."""
    steady: Instructions
    """Of a step between others."""

    def call(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run it with dynamic arguments."""


P = TypeVar("P", bound=PlannedStep)


class PlannedPipeline(ByShapes[P]):
    """A training step as a pipeline, planned per argument structure and shapes; subclasses run it."""

    def __init__(
        self, function: Callable[..., Any] | None, program: Program | None, groups: Sequence[Mesh],
        devices: Sequence[Any], options: PipelineOptions, *, is_open: bool = False, engine: str = "search",
        machine: Machine | None = None, memory_limit: int | None = None, static_argnums: Sequence[int] = (),
        donate_argnums: Sequence[int] = (),
    ) -> None:  # fmt: skip
        super().__init__(function, program, static_argnums, donate_argnums)
        self.options, self.groups = options, tuple(groups)
        """The mesh of each group of devices; if `is_open` one of all devices."""
        self.chosen: ChosenPipeline | None = None
        """The shape that was chosen for what was compiled last; None where all of it was given."""
        self._devices = list(devices)
        self._is_open = is_open
        self._engine, self._limit = engine, memory_limit
        self._machine = machine or Machine.of_platform(self._devices[0].platform, sum(m.size for m in groups))

    @abstractmethod
    def _ready(self, program: PipelineProgram, schedule: Schedule) -> P:
        """What runs a plan."""

    def _jax_mesh(self) -> Any:
        """The mesh of the first group, or one like it."""
        first = self.groups[0]
        return jax_compat.jax_mesh(first, [self._devices[d] for d in first.device_ids or range(first.size)])

    def _trace(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], static: Mapping[int, Any], donate: Sequence[int]
    ) -> Program:
        assert self._function is not None
        with dividing():
            mesh = self._jax_mesh()
            return jax_program.trace(self._function, args, kwargs, static=static, donate_argnums=donate, mesh=mesh)

    def _build(self, program: Program, donate: Sequence[int]) -> P:
        if program.callbacks:
            raise ProgramError(f"{program.name} calls Python functions, which a pipeline cannot; take them out")
        o, form = self.options, self.options.form
        if not self._is_open and o.microbatches:
            chunks = o.chunks or (1 if form == "linear" else 2)
            return self._plan(program, self.groups, o.microbatches, form, chunks, o.schedule, None)
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
    ) -> P:  # fmt: skip
        """The pipeline of a shape, whose programs need at most `limit` bytes for one microbatch."""
        found = compile_pipeline(program, groups, microbatches, form, chunks, self._engine, self._machine, limit)
        found = replace(found, updates=self.options.updates)
        executable = self._ready(found, self._schedule(found, name))
        if self._limit is not None:
            check(executable.steady, self._limit)
        return executable

    def _choose(self, program: Program) -> ChosenPipeline:
        """The shape of the pipeline, as far as it is open."""
        o = self.options
        ids = [d for m in self.groups for d in m.device_ids or ()]
        return choose_pipeline(
            program, self._machine, sum(m.size for m in self.groups), ids,
            shape=None if self._is_open else tuple(m.axes for m in self.groups), microbatches=o.microbatches,
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


class Pipelined(PlannedPipeline[PipelineExecutable]):
    """A training step as a pipeline: called like the function, compiled per argument structure and shapes."""

    def __repr__(self) -> str:
        return f"<pcg.Pipelined {self.__name__} on {groups_text(self.groups)}>"

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

    def _ready(self, program: PipelineProgram, schedule: Schedule) -> PipelineExecutable:
        return PipelineExecutable(program, self._devices, schedule)


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
