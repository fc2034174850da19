"""Shardy annotations (`sdy.*`) become layouts (`dist.*`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from pcg.ir import emit, shardings
from pcg.ir.errors import PcgError
from pcg.ir.sdy_attrs import parse_per_value, parse_sharding
from pcg.ir.transformation import Transformation
from pcg.ir.walk import entry, functions, walk
from pcg.rewrite.import_manual import called_in_manual, import_manual, is_inside
from pcg.rewrite.refine_mesh import rewrite, wanted_by_layouts
from pcg.rewrite.sdy_layouts import GROUPS_BY_AXES, Found, ShardyLayouts, read

_ATTR = "sdy.sharding"
_MHLO = "mhlo.sharding"
_GROUPS = "replica_groups"
#: How GSPMD's shardings begin that demand nothing here.
_HARMLESS_MHLO = ("{replicated}", "{manual}", "{maximal")


@dataclass
class ImportSdy(Transformation):
    """Translate the meshes, shardings, constraints and manual computations of a module."""

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError for annotations that cannot be kept: unknown axes, overlapping sub-axes, uneven sizes."""
        self.module = module = module.operation
        #: Functions that run on one device: bodies of manual computations, and what they call.
        self.bodies: set[str] = called_in_manual(module)
        self.layouts = ShardyLayouts(module, self.statistics)
        main = entry(module)
        for func in functions(module):
            self._signature(func, main is not None and func == main)
        self.translate(module)
        for op in self.layouts.declared:
            op.erase()
        if self.layouts.uses_sub_axes:
            assert self.layouts.mesh is not None
            rewrite(module, wanted_by_layouts(module, self.layouts.mesh), self.layouts.symbol)
        self._close(module)

    def _signature(self, func: ir.Operation, is_entry: bool) -> None:
        """Argument and result attributes of a function."""
        symbol = ir.StringAttr(func.attributes["sym_name"]).value
        blocks = list(func.regions[0].blocks)
        kind = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
        for where, types in (("arg_attrs", kind.inputs), ("res_attrs", kind.results)):
            if where not in func.attributes:
                continue
            changed, every = False, list(func.attributes[where])
            for i, own in enumerate(every):
                what = f"{'argument' if where == 'arg_attrs' else 'result'} {i} of function '{symbol}'"
                if _MHLO in own:
                    self._refuse_mhlo(func, what, own[_MHLO])
                if _ATTR not in own:
                    continue
                place = func
                if where == "arg_attrs" and blocks:
                    place = blocks[0].arguments[i]
                    place = func if "unknown" in str(place.location) else place
                found = self.layouts.spec(place, types[i], read(place, parse_sharding, own[_ATTR]))
                if found and is_entry and found[0].partial:
                    axes = ", ".join(map(repr, found[0].partial_axes))
                    raise PcgError(f"{what} is unreduced over {axes}; allowed: no partial axes", place)
                attrs = {a.name: a.attr for a in ir.DictAttr(own) if a.name != _ATTR}
                if found and is_entry:
                    attrs[shardings.SPEC] = shardings.to_attr(found[0], self.layouts.symbol)
                    attrs.update(_freedom(found))
                elif found and blocks:
                    if where == "arg_attrs":
                        start = ir.InsertionPoint.at_block_begin(blocks[0])
                        self._constrain(blocks[0].arguments[i], found, start, func)
                    else:
                        for block in blocks:
                            last = block.operations[-1].operation
                            new = self._constraint(last.operands[i], found, ir.InsertionPoint(last), last.location)
                            last.operands[i] = new.results[0]
                every[i] = ir.DictAttr.get(attrs)
                changed = True
            if changed:
                func.attributes[where] = ir.ArrayAttr.get(every)

    def _constraint(self, value: ir.Value, found: Found, ip: ir.InsertionPoint, loc: ir.Location) -> ir.Operation:
        attrs: dict[str, ir.Attribute] = {"spec": shardings.to_attr(found[0], self.layouts.symbol)}
        attrs.update(_freedom(found))
        return ir.Operation.create("dist.constraint", [value.type], [value], attrs, loc=loc, ip=ip)

    def _constrain(self, value: ir.Value, found: Found, ip: ir.InsertionPoint, at: ir.Operation) -> None:
        """Constrain `value` for all its uses."""
        new = self._constraint(value, found, ip, at.location)
        value.replace_all_uses_except(new.results[0], [new])

    def translate(self, op: ir.Operation) -> None:
        """Translate everything inside `op`, outer ops first."""
        for region in op.regions:
            for block in region.blocks:
                for inner in list(block.operations):
                    inner = inner.operation
                    nested = len(inner.regions) > 0 and inner.name != "sdy.manual_computation"
                    self._op(inner)
                    if nested:
                        self.translate(inner)

    def _op(self, op: ir.Operation) -> None:
        name, attrs = op.name, op.attributes
        if name.startswith("sdy."):
            if name in ("sdy.sharding_constraint", "sdy.reshard"):
                sharding = read(op, parse_sharding, attrs["sharding"])
                found = self.layouts.spec(op, op.results[0].type, sharding) if not is_inside(op, self.bodies) else None
                self._forward(op, found)
            elif name == "sdy.propagation_barrier":
                self._forward(op, None)
            elif name == "sdy.sharding_group":
                self.remark(op, "sharding group dropped: its members may get different shardings")
                op.erase()
            elif name == "sdy.manual_computation":
                self.translate(import_manual(op, self.layouts, self.bodies, self.remark))
                self.statistics["manual computations"] += 1
            elif name == "sdy.return":
                raise PcgError("'sdy.return' outside of sdy.manual_computation", op)
            elif name != "sdy.mesh":
                raise PcgError(f"'{name}' is not supported; allowed: meshes, shardings and manual computations", op)
            return
        if _ATTR in attrs:
            shardings_ = read(op, parse_per_value, attrs[_ATTR])
            # An op without results has one sharding all the same, which says where it runs: on one device.
            if len(shardings_) != max(len(op.results), 1):
                raise PcgError(f"has {len(shardings_)} shardings for {len(op.results)} results", op)
            del op.attributes[_ATTR]
            for value, s in zip(op.results, shardings_ if not is_inside(op, self.bodies) else [], strict=False):
                if (found := self.layouts.spec(op, value.type, s)) is not None:
                    self._constrain(value, found, ir.InsertionPoint.after(op), op)
        if _MHLO in attrs:
            self._refuse_mhlo(op, f"'{name}'", attrs[_MHLO])
            del op.attributes[_MHLO]
        if _GROUPS in attrs and str(attrs[_GROUPS]).startswith(GROUPS_BY_AXES):
            op.attributes[_GROUPS] = self.layouts.groups(op, attrs[_GROUPS])

    def _forward(self, op: ir.Operation, found: Found | None) -> None:
        """Replace an identity op by a constraint, or by its operand."""
        value = op.operands[0]
        if found is not None:
            value = self._constraint(value, found, ir.InsertionPoint(op), op.location).results[0]
        op.results[0].replace_all_uses_with(value)
        op.erase()

    def _refuse_mhlo(self, where: Any, what: str, attr: ir.Attribute) -> None:
        text = attr.value if isinstance(attr, ir.StringAttr) else str(attr)
        if not text.startswith(_HARMLESS_MHLO) and text:
            raise PcgError(
                f"{what} has the GSPMD sharding {text!r}; allowed: Shardy's (leave jax_use_shardy_partitioner on)",
                where,
            )

    def _close(self, module: ir.Operation) -> None:
        """Unknown dialects are no longer needed, unless something else uses them."""
        context = module.context
        if context.allow_unregistered_dialects and all(context.is_registered_operation(o.name) for o in walk(module)):
            context.allow_unregistered_dialects = False


def _freedom(found: Found) -> dict[str, ir.Attribute]:
    """Open dimensions and priorities as attributes, where there are any."""
    _, *numbers = found
    names = (shardings.OPEN, shardings.PRIORITIES)
    return {n: ir.ArrayAttr.get(list(map(emit.i64, x))) for n, x in zip(names, numbers, strict=True) if x}
