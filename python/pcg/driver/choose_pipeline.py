"""The shape of the pipeline that a training step runs as, where it is not given.  Needs no jax."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pcg.driver.compile_pipeline import prepared
from pcg.driver.decide import run
from pcg.driver.program import Program
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.passes.pcg_choose_pipeline import ChoosePipelinePass
from pcg.passes.pipeline import uncollected
from pcg.planning.choose_pipeline import best_by_groups
from pcg.planning.pipeline_estimates import Configuration, Shape

#: How many shapes are planned with all layers, beside the best, where it does not fit, and which share of the memory of
#: the one before each needs at most.  Choices: a plan of all layers may take minutes.
_INSTEAD, _LESS = 3, 0.99


@dataclass(frozen=True)
class ChosenPipeline:
    """A shape, and the best ones of other numbers of groups."""

    best: Configuration
    others: tuple[Configuration, ...]
    meshes: tuple[Mesh, ...]
    """Of the groups."""
    instead: tuple[tuple[Configuration, tuple[Mesh, ...]], ...] = ()
    """Shapes for the case that the plan of all layers does not fit, with their meshes: each the fastest of those that
    need less memory than the one before by estimate."""

    def in_order(self) -> Iterator[ChosenPipeline]:
        """This one, and what to try instead of it, one after another."""
        yield self
        for best, meshes in self.instead:
            yield replace(self, best=best, meshes=meshes)


@uncollected()
def choose_pipeline(
    program: Program, machine: Machine, devices: int, device_ids: Sequence[int] = (), *, groups: int = 0,
    shape: Shape | None = None, microbatches: int = 0, schedule: str = "", chunks: int = 0, objective: str = "makespan",
    engine: str = "search", memory_limit: int | None = None,
) -> ChosenPipeline:  # fmt: skip
    """The shape of the least estimated time of a step.

    Args:
      program: a training step.
      machine: what is planned for.
      devices: how many.
      device_ids: their numbers on the machine's cluster; empty: 0, 1, ..., or those that it takes for so many.
      groups, microbatches, schedule, chunks: what is fixed; 0 or "": it is chosen.
      shape: axes of the mesh of each group, if they are fixed.
      objective: "makespan" or "span".
      engine: how the layouts of a stage are found, as in pcg-place-stages.
      memory_limit: bytes per device.

    Raises:
      PcgError: there is none; at the op's location.
    """
    chosen = ChoosePipelinePass(
        devices=devices, groups=groups, microbatches=microbatches, schedule=schedule, chunks=chunks,
        objective=objective, engine=engine, memory_limit=memory_limit, machine=machine,  # type: ignore[arg-type]
    )  # fmt: skip
    chosen.shape, chosen.device_ids = shape, tuple(device_ids)
    run(prepared(program, machine, []), [chosen], [], {})
    best, *others = best_by_groups(chosen.candidates)
    ranked = [(c, chosen.estimator.meshes(c.shape)) for c in [best, *_instead(chosen.candidates)]]
    return ChosenPipeline(best, tuple(others), ranked[0][1], tuple(ranked[1:]))


def _instead(found: Sequence[Configuration]) -> list[Configuration]:
    """Of shapes from the fastest one on, those that need less memory than all before, a few."""
    instead: list[Configuration] = []
    least = found[0].memory
    for c in found:
        if c.memory < least * _LESS:
            instead.append(c)
            least = c.memory
    return instead[:_INSTEAD]
