"""What a collective of a lowered program sends, over which axes, and how long that takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.cost.transfers import wire_bytes
from pcg.ir.types import tensor_bytes
from pcg.layout import Mesh
from pcg.rules.collectives import STEP_KINDS


@dataclass(frozen=True)
class CollectiveCost:
    """A collective: its kind, the mesh axes that it is over, and the bytes that one device sends in a ring.

    `joint` identifies a collective of several processes: its channel, and the members.
    """

    kind: str
    axes: tuple[str, ...]
    bytes: float
    seconds: float
    joint: tuple[int, ...] = ()


@dataclass
class CollectiveCosts:
    """Costs of the collectives of programs on the mesh of `model`."""

    model: CostModel
    _axes: dict[ir.Attribute, tuple[tuple[str, ...], int]] = field(default_factory=dict)

    def __call__(self, op: ir.Operation) -> CollectiveCost:
        """What one execution of the collective `op` costs."""
        kind = STEP_KINDS[op.name]
        attr = op.attributes["source_target_pairs" if op.name.endswith("permute") else "replica_groups"]
        if attr not in self._axes:
            groups = groups_of(attr)
            self._axes[attr] = axes_of_groups(groups, self.model.mesh), max(map(len, groups), default=1)
        axes, n = self._axes[attr]
        wire = wire_bytes(kind, n, collective_bytes(op))
        return CollectiveCost(kind, axes, wire, self.model.link(axes, wire, kind))


def collective_bytes(op: ir.Operation) -> float:
    """Bytes of a collective as `pcg.machine.collectives` counts them: of what it gathers, else of its operands."""
    values = op.results if STEP_KINDS[op.name] == "all_gather" else op.operands
    return sum(tensor_bytes(v.type) for v in values)


def element(value: ir.Value | None) -> str:
    """MLIR name of the element type of a tensor; what is none counts as f32."""
    t = None if value is None else value.type
    return str(t.element_type) if isinstance(t, ir.RankedTensorType) else "f32"


def groups_of(attr: ir.Attribute) -> list[list[int]]:
    """Replica groups, or source and target pairs, as lists of positions; padding (-1) is left out."""
    dense = ir.DenseIntElementsAttr(attr)
    rows, columns = ir.RankedTensorType(dense.type).shape
    flat = [dense[0]] * (rows * columns) if dense.is_splat else list(dense)
    return [[p for p in flat[i * columns : (i + 1) * columns] if p >= 0] for i in range(rows)]


def axes_of_groups(groups: Sequence[Sequence[int]], mesh: Mesh) -> tuple[str, ...]:
    """Mesh axes along which the members of a group differ, in mesh order."""
    varying: set[str] = set()
    for group in groups:
        first = mesh.coordinates(group[0]) if group else {}
        for position in group[1:]:
            varying |= {a for a, i in mesh.coordinates(position).items() if first[a] != i}
    return mesh.order(varying)


def channel_of(op: ir.Operation) -> int:
    """The channel of a collective; 0 if it has none."""
    attrs = op.attributes
    found = re.search(r"handle = (\d+)", str(attrs["channel_handle"])) if "channel_handle" in attrs else None
    return int(found[1]) if found else 0
