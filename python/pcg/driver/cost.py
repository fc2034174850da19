"""What a compiled program costs, read off the program that every device runs.  Needs no jax."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.driver.compilation import Compilation
from pcg.driver.program import tensor_bytes
from pcg.ir.locations import place as where
from pcg.ir.loops import assumed_iterations
from pcg.ir.walk import entry_of
from pcg.layout import refine
from pcg.machine import Machine
from pcg.planning.evaluate import Context, step_of
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.search.outcome import ESTIMATE
from pcg.simulate import Simulation, simulate
from pcg.simulate.collectives import CollectiveCosts, channel_of


@dataclass(frozen=True)
class Collective:
    """One collective of the per-device program, executed `times` times per step.

    `bytes` is what one device sends per execution in a ring, `seconds` its estimated time.  `channel` tells it from the
    others of its program.
    """

    kind: str
    axes: tuple[str, ...]
    type: str
    bytes: float
    seconds: float
    times: int
    where: str
    channel: int = 0


@dataclass(frozen=True)
class RejectedPlan:
    """A plan that was considered and not chosen; `seconds` are by the same measure as those of the chosen one."""

    name: str
    seconds: float
    bytes: float
    fits: bool = True


@dataclass(frozen=True)
class Cost:
    """Estimates per step and per device.

    `seconds` is None where no search estimated the whole step, and by the measure `by` (see `pcg.search.outcome`), as
    are those of the alternatives; `simulated` is a simulated step of the lowered program.  `argument_bytes`,
    `result_bytes` and `peak_bytes` are per device; donated arguments are counted once.
    """

    seconds: float | None
    by: str
    simulated: float
    collectives: tuple[Collective, ...]
    argument_bytes: float
    result_bytes: float
    peak_bytes: float
    alternatives: tuple[RejectedPlan, ...] = ()
    plan: str = ""
    """What the chosen plan is called, if it is one that is always considered."""
    compile_seconds: dict[str, float] = field(default_factory=dict)

    @property
    def communication_bytes(self) -> float:
        """Bytes that one device sends per step."""
        return sum(c.bytes * c.times for c in self.collectives)

    @property
    def communication_seconds(self) -> float:
        """Estimated time of all collectives of a step, one after another."""
        return sum(c.seconds * c.times for c in self.collectives)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self) | {
            "communication_bytes": self.communication_bytes, "communication_seconds": self.communication_seconds
        }  # fmt: skip


def simulation_of(compilation: Compilation, machine: Machine | None = None, **options: Any) -> Simulation:
    """One step of `compilation` on `machine`, by default the one that it was planned for.

    `options` are those of `pcg.simulate`.  Without any, on devices that share processors, a step is what plans for them
    are chosen by, see `pcg.planning.evaluate.step_of`.
    """
    model = CostModel(machine or compilation.machine, compilation.mesh)
    local, donated = compilation.modules["local"], compilation.program.donated
    context = Context(model.machine, compilation.backend, donated)
    if context.shares_processors and not options:
        return step_of(local, model, context)
    return simulate(local, model, donated=donated, **options)


def cost_of(compilation: Compilation, machine: Machine | None = None) -> Cost:
    """The cost of `compilation` on `machine` (default: the one that it was planned for)."""
    model = CostModel(machine or compilation.machine, compilation.mesh)
    program, mesh = compilation.program, compilation.mesh
    module = compilation.modules["local"]
    main = entry_of(module.operation)
    arguments = [
        tensor_bytes(s.local_shape(x.shape, mesh), x.element)
        for s, x in zip(compilation.in_specs, program.arguments, strict=True)
    ]
    results = sum(
        tensor_bytes(s.local_shape(x.shape, mesh), x.element)
        for s, x in zip(compilation.out_specs, program.results, strict=True)
    )
    report, estimate = compilation.report, compilation.plan.estimate
    simulation = simulation_of(compilation, machine)
    return Cost(
        seconds=getattr(report, "seconds", estimate.get("seconds")),
        by=getattr(report, "by", estimate.get("by", ESTIMATE)),
        simulated=simulation.seconds,
        collectives=tuple(_collectives(main, 1, CollectiveCosts(model))),
        argument_bytes=sum(arguments),
        result_bytes=results,
        peak_bytes=simulation.peak_bytes,
        alternatives=tuple(
            RejectedPlan(a.name, a.seconds, a.peak_bytes, a.fits) for a in getattr(report, "alternatives", ())
        ),
        plan=getattr(report, "named", ""),
        compile_seconds=dict(compilation.seconds),
    )


def _collectives(op: ir.Operation, times: int, cost: CollectiveCosts) -> Iterator[Collective]:
    """Collectives inside `op`; loop bodies count their iterations, every branch of a conditional counts."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                inner = inner.operation
                if traits.has(inner.name, Trait.COLLECTIVE):
                    yield _collective(inner, times, cost)
                elif inner.name == "stablehlo.while":
                    yield from _collectives(inner, times * assumed_iterations(inner, times), cost)
                elif inner.regions:
                    yield from _collectives(inner, times, cost)


def _collective(op: ir.Operation, times: int, cost: CollectiveCosts) -> Collective:
    one, types = cost(op), " ".join(_type(v) for v in op.results)
    names, at = refine.origin_names(one.axes, cost.model.mesh), where(op.location)
    return Collective(one.kind, names, types, one.bytes, one.seconds, times, at, channel_of(op))


def _type(value: ir.Value) -> str:
    t = ir.RankedTensorType(value.type)
    return f"{t.element_type}[{','.join(map(str, t.shape))}]"
