"""Which physical devices the slices of a program have, and on which island they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.dialects.dist import ProcessMeshAttr, read_mesh
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import body
from pcg.layout import Mesh
from pcg.layout.mesh import MOST_DEVICES
from pcg.rewrite.islands import nodes

#: `left=podA:0-3+6`: slice, island, and its devices there.
_ITEM = re.compile(r"([^=:]+)=([^=:]+):(\d+(?:-\d+)?(?:\+\d+(?:-\d+)?)*)")


@dataclass
class AssignIslands(Transformation):
    """Give each slice its island and its devices."""

    slices: tuple[str, ...] = option((), "slice=island:devices of each slice, devices as in 0-3+6, row-major")
    assignment: Mapping[str, tuple[str, Sequence[int]]] = field(default_factory=dict)
    """Slice -> (island, devices), for Python callers."""

    def run(self, module: ir.Operation) -> None:
        assigned = {**dict(map(_parse, self.slices)), **self.assignment}
        named = [s.partition("=")[0] for s in self.slices]
        if twice := [n for i, n in enumerate(named) if n in named[:i]]:
            raise PcgError(f"slice @{twice[0]} is named twice; allowed: once", module)
        declared = [op.operation for op in body(module).operations if op.operation.name == "dist.mesh"]
        names = [nodes.symbol(op) for op in declared]
        if unknown := assigned.keys() - set(names):
            known = ", ".join("@" + n for n in names) or "none"
            raise PcgError(f"the module has no slice @{min(unknown)}; its slices: {known}", module)
        for op, name in zip(declared, names, strict=True):
            if name not in assigned:
                raise PcgError(f"slice @{name} has no island and devices; write slices={name}=island:0-3,...", op)
            island, devices = assigned[name]
            mesh = read_mesh(ProcessMeshAttr(op.attributes["value"]))
            _check(op, name, mesh, devices)
            with op.context:
                op.attributes["value"] = shardings.mesh_to_attr(Mesh(mesh.axes, tuple(devices)))
                op.attributes[nodes.ISLAND] = ir.StringAttr.get(island)
        self.statistics["slices"] += len(names)


def _parse(text: str) -> tuple[str, tuple[str, Sequence[int]]]:
    if not (m := _ITEM.fullmatch(text)):
        raise PcgError(f"cannot read slice '{text}'; write slice=island:0-3+6")
    devices: list[int] = []
    for part in m[3].split("+"):
        first, _, last = part.partition("-")
        begin, end = int(first), int(last or first)
        if end < begin or end - begin >= MOST_DEVICES:
            raise PcgError(f"devices {part} of slice '{m[1]}'; allowed: from the lower to the higher number")
        devices += range(begin, end + 1)
    return m[1], (m[2], devices)


def _check(op: ir.Operation, name: str, mesh: Mesh, devices: Sequence[int]) -> None:
    if len(devices) != mesh.size:
        raise PcgError(f"slice @{name} of mesh {mesh} has {len(devices)} devices; it needs {mesh.size}", op)
    if twice := [d for i, d in enumerate(devices) if d in devices[:i]]:
        raise PcgError(f"slice @{name} has device {twice[0]} twice; allowed: distinct devices", op)
