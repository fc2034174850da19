"""Shardy's meshes and shardings as a mesh and layouts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.sdy_attrs import SdyMesh, SdySharding, SdySyntaxError, parse_mesh
from pcg.ir.walk import body
from pcg.layout import Mesh, MeshError, ShardSpec, SpecError, refine

#: How the groups of a collective begin that are said by the axes of a mesh, as jax 0.12 does.
GROUPS_BY_AXES = "#stablehlo.replica_group_mesh_axes<"
_MESH_OF_GROUPS = re.compile(r'mesh = @(?:([\w$.-]+)|"([^"]+)"),')
_AXIS_OF_GROUPS = re.compile(r'#stablehlo\.axis_ref<name = "([^"]+)"(, sub_axis_info)?')
#: A spec, the open dimensions, and the priorities of all dimensions (empty: all 0).
Found = tuple[ShardSpec, list[int], list[int]]


def read(where: Any, parse: Callable[[str], Any], attr: ir.Attribute) -> Any:
    """An attribute of Shardy, parsed from its text; raises PcgError at `where`."""
    try:
        return parse(str(attr))
    except SdySyntaxError as error:
        raise PcgError(str(error), where) from None


class ShardyLayouts:
    """The meshes that a module declares, and what shardings on them are as layouts.

    Reading declares the mesh of the program as a `dist.mesh` (that of the module if it has one) and lists the
    `sdy.mesh` ops in `declared`; `statistics` counts meshes and shardings.  Raises PcgError where the meshes differ.
    """

    def __init__(self, module: ir.Operation, statistics: Counter[str]) -> None:
        self.statistics = statistics
        self.known: dict[str, SdyMesh] = {}
        self.declared: list[ir.Operation] = []
        self.uses_sub_axes = False
        present = shardings.meshes_of(module)
        self.symbol: str
        self.mesh: Mesh | None
        self.symbol, self.mesh = next(iter(present.items()), (shardings.MESH, None))
        first = ""
        for op in body(module).operations:
            op = op.operation
            if op.name != "sdy.mesh":
                continue
            self.declared.append(op)
            symbol = ir.StringAttr(op.attributes["sym_name"]).value
            mesh = read(op, parse_mesh, op.attributes["mesh"])
            self.known[symbol] = mesh
            self.statistics["meshes"] += 1
            if not mesh.axes:
                continue
            if len(present) > 1:
                names = ", ".join("@" + n for n in present)
                raise PcgError(f"mesh @{symbol} and the meshes {names}; allowed beside a sdy.mesh: one dist.mesh", op)
            try:
                declared = Mesh.of(mesh.axes, mesh.device_ids).origin
            except MeshError as error:
                raise PcgError(str(error), op) from None
            if present:
                for axis in declared.names:
                    if axis not in self.mesh.parts:  # type: ignore[union-attr]
                        raise PcgError(f"mesh @{symbol} has axis {axis!r}; {self._allowed_axes()}", op)
                continue
            if self.mesh is None:
                self.mesh, first = declared, symbol
            elif declared != self.mesh:
                text = f"mesh @{symbol} ({declared}) differs from @{first} ({self.mesh}); allowed: one mesh per program"
                raise PcgError(text, op)
        if not present and self.mesh is not None:
            shardings.set_mesh(module, self.mesh)

    def _allowed_axes(self) -> str:
        return "allowed: " + ", ".join(map(repr, self.mesh.parts)) if self.mesh else "the program has no mesh with axes"

    def groups(self, op: ir.Operation, attr: ir.Attribute) -> ir.Attribute:
        """The groups of a collective as positions in the mesh, for those over axes of a mesh."""
        text = str(attr)
        found = _MESH_OF_GROUPS.search(text)
        symbol = (found[1] or found[2]) if found else ""
        if symbol not in self.known:
            raise PcgError(f"unknown mesh @{symbol}; declared: {', '.join('@' + k for k in self.known)}", op)
        axes = _AXIS_OF_GROUPS.findall(text)
        if any(part for _, part in axes):
            raise PcgError(f"{op.name} over parts of axes, {text}; allowed: over axes", op)
        try:
            rows = Mesh.of(self.known[symbol].axes).groups([name for name, _ in axes])
        except MeshError as error:
            raise PcgError(str(error), op) from None
        return ir.DenseElementsAttr.get(np.array(rows, dtype=np.int64))

    def spec(self, where: Any, type_: ir.Type, s: SdySharding) -> Found | None:
        """The spec, the open dimensions and the priorities; None when nothing is demanded."""
        mesh = self.known.get(s.mesh)
        if mesh is None:
            if not s.mesh.startswith("mesh<"):
                raise PcgError(f"unknown mesh @{s.mesh}; declared: {', '.join('@' + k for k in self.known)}", where)
            mesh = read(where, parse_mesh, s.mesh)
        if self.mesh is None or not mesh.axes or s.is_fully_open:
            self.statistics["dropped"] += 1
            return None
        spec = ShardSpec.of([d.axes for d in s.dims], [(a, "sum") for a in s.unreduced])
        shape = list(type_.shape) if isinstance(type_, ir.RankedTensorType) else None
        replicated = s.replicated
        try:
            if any("." in name for name, _ in mesh.axes):
                theirs = Mesh.of(mesh.axes)
                spec, replicated = refine.to_origin(spec, theirs), refine.origin_names(replicated, theirs)
            refine.check(spec, self.mesh, shape)
            if replicated:
                refine.check(ShardSpec((*spec.dims, replicated), spec.partial), self.mesh)
        except SpecError as error:
            raise PcgError(f"sharding {spec}: {error}", where) from None
        self.uses_sub_axes |= not spec.used_axes.issubset(self.mesh.names)
        self.statistics["shardings"] += 1
        priorities = [d.priority or 0 for d in s.dims]
        return spec, [i for i, d in enumerate(s.dims) if d.open], priorities if any(priorities) else []
