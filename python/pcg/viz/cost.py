"""What a compiled program costs, read off the program that every device runs.  Needs no jax."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from torch_mlir import ir

from pcg.compiler import Compilation
from pcg.cost import CostModel
from pcg.frontend.program import element_bytes
from pcg.ir.locations import place as where
from pcg.ir.loops import UNKNOWN_TRIPS, trip_count
from pcg.layout import Mesh, refine
from pcg.machine import Machine
from pcg.viz.liveness import peak_bytes, size

_KINDS = {
    "stablehlo.all_reduce": "all_reduce", "stablehlo.all_gather": "all_gather",
    "stablehlo.reduce_scatter": "reduce_scatter", "stablehlo.all_to_all": "all_to_all",
    "stablehlo.collective_permute": "permute",
}  # fmt: skip


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
class Alternative:
    """A plan that was considered and not chosen."""

    name: str
    seconds: float
    bytes: float
    fits: bool = True


@dataclass(frozen=True)
class Cost:
    """Estimates per step and per device.

    `seconds` is None where no search estimated the whole step; `argument_bytes`, `result_bytes` and
    `peak_bytes` are per device; donated arguments are counted once.
    """

    seconds: float | None
    collectives: tuple[Collective, ...]
    argument_bytes: float
    result_bytes: float
    peak_bytes: float
    alternatives: tuple[Alternative, ...] = ()
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


def cost_of(compilation: Compilation, machine: Machine | None = None) -> Cost:
    """The cost of `compilation` on `machine` (default: the generic one)."""
    model = CostModel(machine or compilation.machine, compilation.mesh)
    program, mesh = compilation.program, compilation.mesh
    module = compilation.modules["local"]
    main = next(op.operation for op in module.body.operations if _symbol(op) == "main")
    arguments = [
        math.prod(s.local_shape(x.shape, mesh)) * element_bytes(x.element)
        for s, x in zip(compilation.in_specs, program.arguments, strict=True)
    ]
    results = sum(
        math.prod(s.local_shape(x.shape, mesh)) * element_bytes(x.element)
        for s, x in zip(compilation.out_specs, program.results, strict=True)
    )
    report, estimate = compilation.report, compilation.plan.estimate
    return Cost(
        seconds=getattr(report, "seconds", estimate.get("seconds")),
        collectives=tuple(_collectives(main, 1, model, mesh)),
        argument_bytes=sum(arguments),
        result_bytes=results,
        peak_bytes=getattr(report, "peak_bytes", estimate.get("peak_bytes")) or peak_bytes(main, program.donated),
        alternatives=tuple(
            Alternative(a.name, a.seconds, a.peak_bytes, a.fits) for a in getattr(report, "alternatives", ())
        ),
        plan=getattr(report, "named", ""),
        compile_seconds=dict(compilation.seconds),
    )


def _collectives(op: ir.Operation, times: int, model: CostModel, mesh: Mesh) -> Iterator[Collective]:
    """Collectives inside `op`; loop bodies count their trips, every branch of a conditional counts."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                inner = inner.operation
                kind = _KINDS.get(inner.name)
                if kind is not None:
                    yield _collective(inner, kind, times, model, mesh)
                elif inner.name == "stablehlo.while":
                    trips = trip_count(inner)
                    yield from _collectives(inner, times * (UNKNOWN_TRIPS if trips is None else trips), model, mesh)
                elif inner.regions:
                    yield from _collectives(inner, times, model, mesh)


def _collective(op: ir.Operation, kind: str, times: int, model: CostModel, mesh: Mesh) -> Collective:
    groups = _groups(op, kind)
    axes, n = axes_of_groups(groups, mesh), max(map(len, groups), default=1)
    operands, results = (sum(map(size, vs)) for vs in (op.operands, op.results))
    wire = {
        "all_reduce": 2 * (n - 1) / n * operands,
        "all_gather": (n - 1) / n * results,
        "reduce_scatter": (n - 1) / n * operands,
        "all_to_all": (n - 1) / n * operands,
        "permute": operands,
    }[kind]
    types, seconds = " ".join(_type(v) for v in op.results), model.link(axes, wire, kind)
    names, at = refine.origin_names(axes, mesh), where(op.location)
    return Collective(kind, names, types, wire, seconds, times, at, _channel(op))


def _channel(op: ir.Operation) -> int:
    attrs = op.attributes
    found = re.search(r"handle = (\d+)", str(attrs["channel_handle"])) if "channel_handle" in attrs else None
    return int(found[1]) if found else 0


def _groups(op: ir.Operation, kind: str) -> list[list[int]]:
    attr = op.attributes["source_target_pairs" if kind == "permute" else "replica_groups"]
    dense = ir.DenseIntElementsAttr(attr)
    rows, columns = ir.RankedTensorType(dense.type).shape
    flat = [dense[0]] * (rows * columns) if dense.is_splat else list(dense)
    return [flat[i * columns : (i + 1) * columns] for i in range(rows)]


def axes_of_groups(groups: Sequence[Sequence[int]], mesh: Mesh) -> tuple[str, ...]:
    """Mesh axes along which the members of a group differ, in mesh order."""
    varying: set[str] = set()
    for group in groups:
        first = mesh.coordinates(group[0]) if group else {}
        for position in group[1:]:
            varying |= {a for a, i in mesh.coordinates(position).items() if first[a] != i}
    return mesh.order(varying)


def _symbol(op: Any) -> str:
    attributes = op.operation.attributes
    return ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else ""


def _type(value: ir.Value) -> str:
    t = ir.RankedTensorType(value.type)
    return f"{t.element_type}[{','.join(map(str, t.shape))}]"
