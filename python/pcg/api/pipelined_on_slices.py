"""`pcg.compile(step, slices, pipeline=...)`: a training step as a pipeline, each stage on a slice of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from pcg.api.node_program import NodeProgram
from pcg.api.on_slice import OnSlice
from pcg.api.pipeline_options import PipelineOptions
from pcg.api.pipelined import PlannedPipeline
from pcg.api.stacked_future import StackedFuture
from pcg.driver import divisions
from pcg.driver.pipeline_islands import StepNodes, random_keys, step_nodes
from pcg.driver.pipelined import PipelineProgram
from pcg.driver.program import Leaf, Program
from pcg.layout import Mesh
from pcg.layout.groups import one_after_another
from pcg.machine import Machine
from pcg.pipeline.check import check
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.lowering import lower
from pcg.pipeline.overlap import SYNCHRONOUS
from pcg.pipeline.schedule import Schedule
from pcg.runtime.call_tree import CallTree
from pcg.runtime.device_program import DeviceProgram
from pcg.runtime.executable import device_program
from pcg.runtime.fragments import as_list, fragment_code, start_code
from pcg.runtime.islands.future import ShardedFuture

#: Stages of `PipelinedOnSlices.as_text`.
STAGES = ("fragments", "slices", "islands", "streams")


class PipelinedOnSlices(PlannedPipeline["StepOnSlices"]):
    """A training step as a pipeline on slices: stage s runs on slice s, of whatever islands.

    Called like the function; arguments are arrays or futures, results are futures that stay on the slices.  It is
    compiled per argument structure and shapes, and lowered again where slices are placed elsewhere.

    Raises:
      PipelineError: the slices are not those of a pipeline, or an option does not go with them.
    """

    def __init__(
        self, function: Callable[..., Any] | None, program: Program | None, slices: Sequence[OnSlice],
        options: PipelineOptions, *, engine: str = "search", machine: Machine | None = None,
        memory_limit: int | None = None, static_argnums: Sequence[int] = (), donate_argnums: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self.slices = _checked(slices)
        if options.updates != SYNCHRONOUS:
            raise PipelineError(f"updates {options.updates!r} on slices; allowed: {SYNCHRONOUS!r}")
        groups = one_after_another([Mesh(s.mesh.axes) for s in slices])
        super().__init__(
            function, program, groups, slices[0].devices, options, engine=engine, machine=machine,
            memory_limit=memory_limit, static_argnums=static_argnums, donate_argnums=donate_argnums,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<pcg.Pipelined {self.__name__} on slices {', '.join(s.name for s in self.slices)}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self._bind(args, kwargs)
        return self._executable(*_abstract((args, kwargs))).call(self._dynamic(args), kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> StepOnSlices:
        """Compile for arguments of these shapes (arrays, futures or `jax.ShapeDtypeStruct`), without running.

        Raises:
          PcgError: the program cannot be placed; at the op's location.
        """
        return super().lower(*_abstract(args), **_abstract(kwargs))

    def as_text(self, stage: str = "fragments") -> str:
        """What was called last: "fragments" (the module that is planned), "slices", "islands" or "streams"."""
        return self.executable.as_text(stage)

    def _jax_mesh(self) -> Any:
        return self.slices[0].jax_mesh

    def _ready(self, program: PipelineProgram, schedule: Schedule) -> StepOnSlices:
        return StepOnSlices(program, schedule, self.slices)


class StepOnSlices:
    """A pipelined step for one argument structure and one set of shapes."""

    def __init__(self, program: PipelineProgram, schedule: Schedule, slices: Sequence[OnSlice]) -> None:
        self.program, self.schedule = program, schedule
        self.instructions = self.steady = lower(program.step(), schedule)
        check(self.instructions)
        self._tree = CallTree(p := program.program)
        nodes = step_nodes(program, self.instructions, [s.name for s in slices])
        keys = random_keys(program)
        results = [keys.get(n) or Leaf(n, program.values[n].shape, program.values[n].element) for n in program.results]
        count = len(p.inputs)
        constants = zip(p.constants, p.arguments[count:], program.stacked_arguments[count:], strict=True)
        self.nodes = NodeProgram(
            p.name, nodes.graph, _code(program, nodes, keys), {s.name: s for s in slices}, results,
            [row for one in constants for row in _layers(*one)], self._donated(),
        )  # fmt: skip

    def call(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run a step: nothing waits for it.

        Raises:
          SignatureError: the arguments do not fit; names the first that does not.
          RunError: an argument is lost.
        """
        flat = self._tree.flatten(self._tree.packed(args, kwargs))
        self._tree.check([_shape(x) for x in flat])
        program, counts = self.program.program, self.program.stacked_arguments
        pairs = zip(flat, program.inputs, counts, strict=False)
        futures = iter(self.nodes.run([value for one in pairs for value in _layers(*one)]))
        out: list[Any] = []
        for leaf, count in zip(program.results, self.program.stacked_results, strict=True):
            parts = [next(futures) for _ in range(count or 1)]
            empty = np.zeros(leaf.shape, jax.dtypes.float0) if leaf.empty else None
            out.append(empty if leaf.empty else StackedFuture(parts) if count else parts[0])
        return self._tree.unflatten(out)

    def as_text(self, stage: str = "streams") -> str:
        """The program at one of `STAGES`.

        Raises:
          ValueError: none of them.
        """
        if stage not in STAGES:
            raise ValueError(f"stage {stage!r}; allowed: {', '.join(STAGES)}")
        return self.program.text if stage == "fragments" else self.nodes.as_text(stage)

    def _donated(self) -> set[int]:
        """Positions of the arguments that a step may free, layers counted one by one."""
        program, counts = self.program.program, self.program.stacked_arguments
        found, position = set[int](), 0
        for i, count in enumerate(counts):
            if i in program.donated:
                found |= {*range(position, position + (count or 1))}
            position += count or 1
        return found


def _checked(slices: Sequence[OnSlice]) -> tuple[OnSlice, ...]:
    """Raises PipelineError unless a pipeline can run on the slices."""
    for i, slice in enumerate(slices):
        if not isinstance(slice, OnSlice):
            raise PipelineError(f"stage {i} is on {slice!r:.60}; allowed: slices of a client")
    if len(slices) < 2:
        raise PipelineError(f"a pipeline on {len(slices)} slices; allowed: two or more, one for each stage")
    first = slices[0]
    for i, slice in enumerate(slices):
        if slice.programs is not first.programs:
            raise PipelineError(
                f"slice {slice.name} is of client {slice.programs.client}, slice {first.name} of client"
                f" {first.programs.client}; allowed: slices of one client"
            )
        if slice in slices[:i]:
            other = slices.index(slice)
            raise PipelineError(f"stages {other} and {i} are on slice {slice.name}; allowed: a slice for each stage")
    return tuple(slices)


def _code(
    program: PipelineProgram, nodes: StepNodes, keys: Mapping[str, Leaf]
) -> dict[str, tuple[DeviceProgram, float]]:
    """What devices run for each function of a step, and how long by estimate."""
    values, meshes = program.values, program.meshes
    found: dict[str, tuple[DeviceProgram, float]] = {}
    for name, f in nodes.starts.items():
        found[name] = start_code(f, meshes[f.group]), 0.0
    for name, f in nodes.fragments.items():
        found[name] = fragment_code(f, meshes[f.group], values, keys), f.seconds
    for compiled, own in ((divisions.divide, nodes.divisions), (divisions.join, nodes.joins)):
        for name, how in own.items():
            source, target = values[how.source], values[how.target]
            mesh = Mesh(meshes[target.group].axes)
            found[name] = as_list(device_program(compiled(source, target, how, program.microbatches, mesh, name))), 0.0
    return found


def _layers(x: Any, leaf: Leaf, count: int) -> list[Any]:
    """An argument as the step has it: of one that is stacked over layers, its layers."""
    if leaf.empty:
        return [np.zeros(leaf.shape, bool)]
    if isinstance(x, StackedFuture):
        if len(x.layers) == count:
            return list(x.layers)
        x = x.result()
    if not count:
        return [x]
    return np.split(np.asarray(x), count)


def _abstract(tree: Any) -> Any:
    """A tree with shapes in place of futures."""
    return jax.tree.map(_shape, tree)


def _shape(x: Any) -> Any:
    if isinstance(x, ShardedFuture):
        return x.placed.aval
    return x.aval if isinstance(x, StackedFuture) else x
