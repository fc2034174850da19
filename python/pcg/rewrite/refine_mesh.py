"""Sub-axes become axes of a refined mesh."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from pcg.dialects.dist import ShardSpecAttr
from pcg.ir import shardings
from pcg.ir.check import ALONG_AXES
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import walk
from pcg.layout import Mesh, MeshError, ShardSpec, SpecError, refine
from pcg.rules import rule_for

#: Attributes of ops that hold layouts, alone or in a list.
_LAYOUTS = (shardings.SPECS, shardings.OPERAND_SPECS, "spec", shardings.IN_SPECS, shardings.OUT_SPECS)
_SIGNATURE = ("arg_attrs", "res_attrs")


@dataclass
class RefineMesh(Transformation):
    """Split mesh axes where layouts use parts of them, and let every layout name the parts."""

    reshapes: bool = option(False, "also split axes where a reshape splits a dimension inside of them")
    max_axes: int = option(4, "`reshapes` makes no mesh with more axes: each makes a search many times longer")

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError for a sub-axis that its axis does not have, and where there is no common refinement."""
        module = module.operation
        meshes = shardings.meshes_of(module)
        if len(meshes) > 1:
            used = [op for op in walk(module) for _, s in layouts(op) if refine.uses_sub_axes(s)]
            if used:
                raise PcgError(f"uses a sub-axis in a module with {len(meshes)} meshes; allowed: one", used[0])
            return
        if not meshes:
            return
        symbol, old = next(iter(meshes.items()))
        new = wanted_by_layouts(module, old)
        if self.reshapes:
            new = self._by_reshapes(module, new)
        rewrite(module, new, symbol)
        self.statistics["axes refined"] += len(new.axes) - len(old.axes)

    def _by_reshapes(self, module: ir.Operation, mesh: Mesh) -> Mesh:
        """`mesh` refined for reshapes, those of the most elements first."""
        weight: Counter[tuple[tuple[str, int], ...]] = Counter()
        where: dict[tuple[tuple[str, int], ...], ir.Operation] = {}
        axes = [(axis, mesh.axes_size(parts)) for axis, parts in mesh.parts.items()]
        for op in walk(module):
            if op.name != "stablehlo.reshape":
                continue
            rule = rule_for(op)
            for dim in {d for t in (*rule.operands, *rule.results) for d in t if len(d) > 1}:
                sizes = tuple(rule.factors[f].size if rule.factors[f].splittable else 1 for f in dim)
                for axis, size in axes:
                    if split := tuple((axis, at) for at in refine.reshape_boundaries(sizes, size)):
                        weight[split] += math.prod(op.results[0].type.shape)
                        where.setdefault(split, op)
        for split, _ in weight.most_common():
            try:
                finer = refine.refine_at(mesh, split)
            except MeshError:
                continue  # is no refinement of the axes that there are already
            if finer == mesh:
                continue
            spelled = ", ".join(f"{axis} at {at}" for axis, at in split)
            if sum(n > 1 for n in finer.sizes) > self.max_axes:
                text = f"axis not split ({spelled}): mesh {finer} has more than max-axes={self.max_axes}"
                self.remark(where[split], text)
                continue
            self.remark(where[split], f"axis split for this reshape: {spelled}")
            mesh = finer
        return mesh


def layouts(op: ir.Operation) -> Iterator[tuple[str, ShardSpec]]:
    """The layouts in the attributes of an op, each with the name of the attribute."""
    attrs = op.attributes
    for name in _SIGNATURE if op.name == "func.func" else _LAYOUTS:
        if name in attrs:
            for spec in _layouts_in(attrs[name]):
                yield name, spec


def _layouts_in(attr: Any) -> Iterator[ShardSpec]:
    if isinstance(attr, ShardSpecAttr):
        yield shardings.from_attr(attr)
    elif isinstance(attr, ir.ArrayAttr):
        for item in attr:
            yield from _layouts_in(item)
    elif isinstance(attr, ir.DictAttr) and shardings.SPEC in attr:
        yield from _layouts_in(attr[shardings.SPEC])


def wanted_by_layouts(module: ir.Operation, mesh: Mesh) -> Mesh:
    """The mesh on which every layout of the module can be written.

    Raises:
      PcgError: at the op whose layout is not one of `mesh`, or does not go with those before it.
    """
    seen: set[ShardSpec] = set()
    for op in walk(module):
        for _, spec in layouts(op):
            if spec in seen or spec.used_axes.issubset(mesh.names):
                continue
            seen.add(spec)
            try:
                refine.check(spec, mesh.origin)
                mesh = refine.refinement(mesh, spec.used_axes)
            except (SpecError, MeshError) as error:
                raise PcgError(f"layout {spec}: {error}", op) from None
    return mesh


def rewrite(module: ir.Operation, mesh: Mesh, symbol: str = shardings.MESH) -> None:
    """Write every layout and list of axes of the module by the axes of `mesh`, and declare it.

    Raises:
      SpecError: a layout has no spelling on `mesh`, which has to refine the module's own.
    """
    old = shardings.meshes_of(module)[symbol]
    known: dict[ShardSpec, ir.Attribute] = {}

    def spec(attr: ir.Attribute) -> ir.Attribute:
        have = shardings.from_attr(attr)
        if have not in known:
            known[have] = shardings.to_attr(refine.to_parts(refine.to_origin(have, old), mesh), symbol)
        return known[have]

    def new(attr: Any) -> Any:
        if isinstance(attr, ShardSpecAttr):
            return spec(attr)
        if isinstance(attr, ir.ArrayAttr):
            return ir.ArrayAttr.get([new(a) for a in attr])
        if isinstance(attr, ir.DictAttr) and shardings.SPEC in attr:
            every = {attr[i].name: attr[i].attr for i in range(len(attr))}
            return ir.DictAttr.get(every | {shardings.SPEC: spec(every[shardings.SPEC])})
        return attr

    with module.context, ir.Location.unknown():
        for op in walk(module):
            attrs = op.attributes
            for name in _SIGNATURE if op.name == "func.func" else _LAYOUTS:
                if name in attrs:
                    attrs[name] = new(attrs[name])
            if op.name in ALONG_AXES and "axes" in attrs:
                axes = _strings(attrs["axes"])
                parts = refine.part_names(refine.origin_names(axes, old), mesh)
                attrs["axes"] = ir.ArrayAttr.get([ir.StringAttr.get(a) for a in parts])
        if mesh != old:
            shardings.set_mesh(module, mesh, symbol)


def _strings(attr: ir.Attribute) -> Sequence[str]:
    return [ir.StringAttr(a).value for a in ir.ArrayAttr(attr)]
