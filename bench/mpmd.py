"""Pipelines beside the MPMD partitioner in jaxlib: `python -m bench.mpmd`.

Both divide the same training step (forward, backward, momentum) into the same stages on groups of one device. Theirs is
`bench.mpmd_program`: forward and backward passes of stages are named computations, and the partitioner splits B from W,
orders the fragments by its schedule of a name and infers transfers. Ours has `pcg.stage_boundary` at the same places.
Per model, stages, microbatches and schedule:

- bytes that one step transfers between groups: `mpmd.transfer` in their partitioned module; `Send` in our lists of
  instructions, and what is copied before the microbatches;
- makespan and span of both orders under one clock: F, B and W of one unit each (`equal`), and what pcg estimates for
  each stage (`estimated`, microseconds), both without latency. A backward pass that is not split is BW, also where
  ours runs it as two programs and sends after the first;
- activations: the most that any device keeps, in those of one microbatch, half of which remain from B until W.

The last rows of a configuration have our schedule `auto`, with no more activations, beside their best one by makespan.
`by stage` is a step whose author adds up gradients of the shared embedding over microbatches before stages; with the
step that `jax.grad` of a microbatch yields, the partitioner transfers them once per microbatch.

No step runs here: jaxlib has no runtime for the partitioned module.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence

from bench.mpmd_partition import SCHEDULES, Partitioned, available, partitioned
from bench.mpmd_program import question
from bench.staged import MODELS, Staged
from pcg.driver.compile_pipeline import compile_pipeline
from pcg.driver.pipelined import PipelineProgram
from pcg.frontend import jax_program
from pcg.frontend.boundary import dividing
from pcg.layout import Mesh
from pcg.pipeline.instructions import Send
from pcg.pipeline.lowering import lower
from pcg.pipeline.named import AUTO, named
from pcg.pipeline.placement import placement
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.schedule import Schedule
from pcg.viz.table import table

HEADER = [
    "model", "stages", "microbatches", "schedule", "KiB theirs", "ours", "clock", "makespan theirs", "ours",
    "span theirs", "ours", "activations theirs", "ours",
]  # fmt: skip


def divided(model: Staged, microbatches: int, engine: str = "dataflow") -> PipelineProgram:
    """The step of `model` on a group of one device per stage."""
    with dividing():
        program = jax_program.trace(model.step, model.arguments, {})
    groups = Mesh((("stage", len(model.stages)),)).along("stage")
    return compile_pipeline(program, groups, microbatches, engine=engine)


def bytes_sent(program: PipelineProgram, schedule: Schedule) -> int:
    """Bytes between groups in a step: of all instructions, and of the copies before them."""
    step = program.step()
    early = sum(
        program.values[t[1]].bytes(program.meshes[program.values[t[1]].group])
        for t in program.first if isinstance(t, tuple)
    )  # fmt: skip
    lists = lower(step, schedule).lists
    return early + sum(step.buffer[i.buffer].bytes for own in lists for i in own if isinstance(i, Send))


def clocks(program: PipelineProgram) -> dict[str, Pipeline]:
    """The costs for both sides, by name."""
    equal = Pipeline.uniform(placement("linear", len(program.meshes), 1), program.microbatches, (1.0, 1.0, 1.0, 0.0))
    problem = program.problem()
    f, b, w = (tuple(t * 1e6 for t in part) for part in (problem.forward, problem.backward, problem.weight))
    return {"equal": equal, "estimated": Pipeline(problem.device, problem.microbatches, f, b, w)}


class Comparison:
    """Rows of the table, and how often ours is less, equal, or more."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.counts: dict[str, list[int]] = {}

    def add(self, name: Sequence[str], theirs: Partitioned, program: PipelineProgram, schedule: str) -> None:
        """A row per clock: their order, and our schedule of a name."""
        for clock, pipeline in clocks(program).items():
            other = Schedule.parse(pipeline, theirs.orders)
            limited = pipeline.with_limit([max(other.peaks())] * pipeline.devices) if schedule == AUTO else pipeline
            ours = named(limited, schedule, "makespan")
            sent = bytes_sent(program, ours)
            pairs = {
                "bytes": (theirs.bytes, sent), "makespan": (other.makespan, ours.makespan),
                "span": (other.span, ours.span), "activations": (max(other.peaks()), max(ours.peaks())),
            }  # fmt: skip
            for what, (a, b) in pairs.items():
                if what == "bytes" and clock != "equal":  # the same for all clocks
                    continue
                count = self.counts.setdefault(what, [0, 0, 0])
                count[0 if b < a * (1 - 1e-9) else 1 if b <= a * (1 + 1e-9) else 2] += 1
            figures = [f"{x:.4g}" for p in list(pairs.values())[1:] for x in p]
            kibibytes = [f"{n / 1024:g}" for n in (theirs.bytes, sent)]
            self.rows.append([*name, schedule, *kibibytes, clock, *figures])

    def print(self) -> None:
        print(table(HEADER, self.rows, right=[1, 2, 4, 5, *range(7, len(HEADER))]))
        for what, (less, equal, more) in self.counts.items():
            print(f"{what}: ours less in {less} rows, equal in {equal}, more in {more}")


def compare(found: Comparison, name: str, stages: int, microbatches: int, schedules: Sequence[str]) -> None:
    """Add the rows of a model; the batch has four examples per microbatch."""
    model = MODELS[name](stages, 4 * microbatches)
    program = divided(model, microbatches)
    shared = len({p for s in model.stages for p in s.parameters}) < sum(len(s.parameters) for s in model.stages)
    for by_stage in (False, True) if shared else (False,):
        row = [name + (", by stage" if by_stage else ""), str(stages), str(microbatches)]
        asked = question(model, microbatches, by_stage)
        results = {schedule: partitioned(asked, schedule) for schedule in schedules}
        for schedule, theirs in results.items():
            found.add(row, theirs, program, schedule)
        pipeline = clocks(program)["estimated"]
        best = min(results.values(), key=lambda r: Schedule.parse(pipeline, r.orders).makespan)
        found.add(row, best, program, AUTO)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--stages", default="2,4")
    parser.add_argument("--microbatches", default="4,8")
    parser.add_argument("--schedules", default="1f1b,zb-h1,zb-h2", help=f"of {', '.join(SCHEDULES)}")
    args = parser.parse_args()
    if (reason := available()) is not None:
        print(f"this jaxlib has no MPMD partitioner that can be loaded: {reason}", file=sys.stderr)
        sys.exit(1)
    found = Comparison()
    lists = (args.models.split(","), map(int, args.stages.split(",")), map(int, args.microbatches.split(",")))
    for name, stages, microbatches in itertools.product(*lists):
        compare(found, name, stages, microbatches, args.schedules.split(","))
    found.print()


if __name__ == "__main__":
    main()
