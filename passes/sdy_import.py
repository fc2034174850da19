"""The sdy-import pass."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.sdy_attrs import (
    SdyMesh,
    SdySharding,
    SdySyntaxError,
    parse_manual_axes,
    parse_mesh,
    parse_per_value,
    parse_sharding,
)  # fmt: skip
from pcg.ir.walk import body, entry, functions, walk
from pcg.layout import Mesh, MeshError, ShardSpec, SpecError, refine
from pcg.passes.base import Pass
from pcg.rewrite.refine_mesh import rewrite, wanted_by_layouts
from pcg.rules.manual import MANUAL, REPEATS

_ATTR = "sdy.sharding"
_MHLO = "mhlo.sharding"
#: A spec, the open dimensions, and the priorities of all dimensions (empty: all 0).
Found = tuple[ShardSpec, list[int], list[int]]
#: Dimensions of an argument, result or constraint that propagation and search may split further.
_HARMLESS_MHLO = ("{replicated}", "{manual}", "{maximal", "")


@dataclass
class SdyImportPass(Pass):
    """Translate Shardy annotations (`sdy.*`) into `dist.*`.

    The meshes of the program become one `dist.mesh @mesh` (meshes without axes are dropped).  If the
    module has a `dist.mesh` already (`--mesh`), that one is used and must have every axis named.
    `sdy.sharding` on arguments and results of the entry function becomes `dist.spec`; everywhere else,
    as `sdy.sharding_constraint` and `sdy.reshard`, it becomes `dist.constraint`.

    Open dimensions: a sharding whose dimensions are all open and empty demands nothing and is dropped.
    Otherwise the axes that are named are fixed, and `dist.open = [dims]` lists the open dimensions, which
    may be split further.  Priorities (`{"x"}p1`) become `dist.priorities`, one number per dimension, where some are
    not 0; they say when `dist-propagate{engine=priority}` spreads a dimension, which is fixed all the same.
    `unreduced` axes become partial sums; arguments and results of the entry function may have none.  With
    sub-axes (`"x":(1)2`) the mesh is refined so that they are axes, as by `dist-refine-mesh`.  A
    `sdy.manual_computation` becomes a custom call `@dist.manual` of a private function (the body), with attributes
    `in_specs` and `out_specs`; along mesh axes that it leaves automatic all devices run it alike (`repeats` is how many
    do).  With Shardy off, `mhlo.sharding` other than replicated is refused.

    Before:
    ```mlir
    sdy.mesh @mesh = <["x"=2, "y"=4]>
    func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x16xf32> {
      %0 = stablehlo.tanh %a : tensor<8x16xf32>
      %1 = sdy.sharding_constraint %0 <@mesh, [{?}, {"y"}]> : tensor<8x16xf32>
      return %1 : tensor<8x16xf32>
    }
    ```
    After:
    ```mlir
    "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
    func.func @main(%a: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>}) -> tensor<8x16xf32> {
      %0 = stablehlo.tanh %a : tensor<8x16xf32>
      %1 = "dist.constraint"(%0) {dist.open = [0], spec = #dist.shard_spec<@mesh, [[], ["y"]], {}>}
        : (tensor<8x16xf32>) -> tensor<8x16xf32>
      return %1 : tensor<8x16xf32>
    }
    ```
    """

    name = "sdy-import"

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError for annotations that cannot be kept: unknown axes, overlapping sub-axes, uneven sizes."""
        self.module = module = module.operation
        self._bodies: set[str] = _called_in_manual(module)
        self._refine = False
        self._meshes(module)
        main = entry(module)
        for func in functions(module):
            self._signature(func, main is not None and func == main)
        self._regions(module)
        for op in self._declared:
            op.erase()
        if self._refine:
            assert self.mesh is not None
            rewrite(module, wanted_by_layouts(module, self.mesh), self.symbol)
        self._close(module)

    # -- meshes --------------------------------------------------------------------------------

    def _meshes(self, module: ir.Operation) -> None:
        """Read the meshes; declare the one that the program uses."""
        self._known: dict[str, SdyMesh] = {}
        self._declared: list[ir.Operation] = []
        given = shardings.meshes_of(module)
        self.symbol: str
        self.mesh: Mesh | None
        self.symbol, self.mesh = next(iter(given.items()), (shardings.MESH, None))
        first = ""
        for op in body(module).operations:
            op = op.operation
            if op.name != "sdy.mesh":
                continue
            self._declared.append(op)
            symbol = ir.StringAttr(op.attributes["sym_name"]).value
            mesh = self._read(op, parse_mesh, op.attributes["mesh"])
            self._known[symbol] = mesh
            self.statistics["meshes"] += 1
            if not mesh.axes:
                continue
            if len(given) > 1:
                names = ", ".join("@" + n for n in given)
                raise PcgError(f"mesh @{symbol} and the meshes {names}; allowed beside a sdy.mesh: one dist.mesh", op)
            try:
                made = Mesh.of(mesh.axes, mesh.device_ids).origin
            except MeshError as error:
                raise PcgError(str(error), op) from None
            if given:
                for axis in made.names:
                    if axis not in self.mesh.parts:  # type: ignore[union-attr]
                        raise PcgError(f"mesh @{symbol} has axis {axis!r}; {self._allowed_axes()}", op)
                continue
            if self.mesh is None:
                self.mesh, first = made, symbol
            elif made != self.mesh:
                raise PcgError(
                    f"mesh @{symbol} ({made}) differs from @{first} ({self.mesh}); allowed: one mesh per program", op
                )
        if not given and self.mesh is not None:
            shardings.set_mesh(module, self.mesh)

    def _allowed_axes(self) -> str:
        return "allowed: " + ", ".join(map(repr, self.mesh.parts)) if self.mesh else "the program has no mesh with axes"

    def _read(self, op: ir.Operation, parse, attr: ir.Attribute):
        try:
            return parse(str(attr))
        except SdySyntaxError as error:
            raise PcgError(str(error), op) from None

    # -- shardings -----------------------------------------------------------------------------

    def _spec(self, where, type_: ir.Type, s: SdySharding) -> Found | None:
        """The spec, the open dimensions and the priorities; None when nothing is demanded."""
        mesh = self._known.get(s.mesh)
        if mesh is None:
            if not s.mesh.startswith("mesh<"):
                raise PcgError(f"unknown mesh @{s.mesh}; declared: {', '.join('@' + k for k in self._known)}", where)
            mesh = self._read(where, parse_mesh, s.mesh)
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
        self._refine |= not spec.used_axes.issubset(self.mesh.names)
        self.statistics["shardings"] += 1
        priorities = [d.priority or 0 for d in s.dims]
        return spec, [i for i, d in enumerate(s.dims) if d.open], priorities if any(priorities) else []

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
                found = self._spec(place, types[i], self._read(place, parse_sharding, own[_ATTR]))
                if found and is_entry and found[0].partial:
                    axes = ", ".join(map(repr, found[0].partial_axes))
                    raise PcgError(f"{what} is unreduced over {axes}; allowed: whole values", place)
                attrs = {own[k].name: own[k].attr for k in range(len(own))}
                del attrs[_ATTR]
                if found and is_entry:
                    attrs[shardings.SPEC] = shardings.to_attr(found[0], self.symbol)
                    attrs.update(_freedom(found))
                elif found and blocks:
                    if where == "arg_attrs":
                        start = ir.InsertionPoint.at_block_begin(blocks[0])
                        self._constrain(blocks[0].arguments[i], found, start, func)
                    else:
                        for block in blocks:
                            last = list(block.operations)[-1].operation
                            self._constrain_operand(last, i, found)
                every[i] = ir.DictAttr.get(attrs)
                changed = True
            if changed:
                func.attributes[where] = ir.ArrayAttr.get(every)

    def _constraint(self, value: ir.Value, found: Found, ip, loc: ir.Location) -> ir.Operation:
        attrs: dict[str, ir.Attribute] = {"spec": shardings.to_attr(found[0], self.symbol)}
        attrs.update(_freedom(found))
        return ir.Operation.create("dist.constraint", [value.type], [value], attrs, loc=loc, ip=ip)

    def _constrain(self, value: ir.Value, found: Found, ip, at: ir.Operation) -> None:
        """Constrain `value` for all its uses."""
        new = self._constraint(value, found, ip, at.location)
        value.replace_all_uses_except(new.results[0], [new])

    def _constrain_operand(self, op: ir.Operation, i: int, found: Found) -> None:
        new = self._constraint(op.operands[i], found, ir.InsertionPoint(op), op.location)
        op.operands[i] = new.results[0]

    # -- ops -----------------------------------------------------------------------------------

    def _regions(self, op: ir.Operation) -> None:
        """Translate everything inside `op`, outer ops first."""
        for region in op.regions:
            for block in region.blocks:
                for inner in list(block.operations):
                    inner = inner.operation
                    nested = len(inner.regions) > 0 and inner.name != "sdy.manual_computation"
                    self._op(inner)
                    if nested:
                        self._regions(inner)

    def _op(self, op: ir.Operation) -> None:
        name, attrs = op.name, op.attributes
        if name.startswith("sdy."):
            if name in ("sdy.sharding_constraint", "sdy.reshard"):
                sharding = self._read(op, parse_sharding, attrs["sharding"])
                found = self._spec(op, op.results[0].type, sharding) if not self._in_manual(op) else None
                self._forward(op, found)
            elif name == "sdy.propagation_barrier":
                self._forward(op, None)
            elif name == "sdy.sharding_group":
                self.remark(op, "sharding group dropped: its members may get different shardings")
                op.erase()
            elif name == "sdy.manual_computation":
                self._manual(op)
            elif name == "sdy.return":
                raise PcgError("'sdy.return' outside of sdy.manual_computation", op)
            elif name != "sdy.mesh":
                raise PcgError(f"'{name}' is not supported; allowed: meshes, shardings and manual computations", op)
            return
        if _ATTR in attrs:
            shardings_ = self._read(op, parse_per_value, attrs[_ATTR])
            # An op without results has one sharding all the same, which says where it runs: on one device.
            if len(shardings_) != max(len(op.results), 1):
                raise PcgError(f"has {len(shardings_)} shardings for {len(op.results)} results", op)
            del op.attributes[_ATTR]
            for value, s in zip(op.results, shardings_ if not self._in_manual(op) else [], strict=False):
                if (found := self._spec(op, value.type, s)) is not None:
                    self._constrain(value, found, ir.InsertionPoint.after(op), op)
        if _MHLO in attrs:
            self._refuse_mhlo(op, f"'{name}'", attrs[_MHLO])
            del op.attributes[_MHLO]

    def _forward(self, op: ir.Operation, found: Found | None) -> None:
        """Replace an identity op by a constraint, or by its operand."""
        value = op.operands[0]
        if found is not None:
            value = self._constraint(value, found, ir.InsertionPoint(op), op.location).results[0]
        op.results[0].replace_all_uses_with(value)
        op.erase()

    def _refuse_mhlo(self, where, what: str, attr: ir.Attribute) -> None:
        text = attr.value if isinstance(attr, ir.StringAttr) else str(attr)
        if not text.startswith(_HARMLESS_MHLO[:3]) and text:
            raise PcgError(
                f"{what} has the GSPMD sharding {text!r}; allowed: Shardy's (leave jax_use_shardy_partitioner on)",
                where,
            )

    # -- shard_map -----------------------------------------------------------------------------

    def _in_manual(self, op: ir.Operation) -> bool:
        """Whether an op is part of the per-device body of a manual computation, or of a function called there."""
        parent = op.parent
        while parent is not None and parent.operation.name != "func.func":
            parent = parent.operation.parent
        return parent is not None and ir.StringAttr(parent.operation.attributes["sym_name"]).value in self._bodies

    def _manual(self, op: ir.Operation) -> None:
        """`sdy.manual_computation` -> a `@dist.manual` custom call of its body."""
        axes = self._read(op, parse_manual_axes, op.attributes["manual_axes"])
        ins, outs = (
            self._read(op, parse_per_value, op.attributes[k]) for k in ("in_shardings", "out_shardings")
        )
        used = [self._known.get(s.mesh) for s in (*ins, *outs)]
        if self.mesh is None:
            raise PcgError("is manual over a mesh that the program does not declare", op)
        whole = [(n, k) for n, k in self.mesh.origin.axes if k > 1]
        for m in used:
            # Bodies number their devices by their own mesh.
            if m is not None and m.axes and [a for a in Mesh.of(m.axes).origin.axes if a[1] > 1] != whole:
                raise PcgError(
                    f"is written for the mesh {Mesh.of(m.axes).origin}, the program is placed on "
                    f"{self.mesh.origin}; allowed: the same axes in the same order", op,
                )
        over = {a.partition(".")[0] for a in axes}
        free = [(n, k) for n, k in whole if n not in over]
        if free and not self._in_manual(op):
            self.remark(
                op, f"is manual over {', '.join(map(repr, axes)) or 'no axis'} and automatic over "
                f"{', '.join(repr(n) for n, _ in free)}: {math.prod(k for _, k in free)} devices run it alike",
            )
        callee = self._outline(op)
        attrs = {
            "call_target_name": ir.StringAttr.get(MANUAL),
            "called_computations": ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(callee)]),
            "has_side_effect": ir.BoolAttr.get(False),
            shardings.IN_SPECS: self._manual_specs(op, [v.type for v in op.operands], ins, over),
            shardings.OUT_SPECS: self._manual_specs(op, [v.type for v in op.results], outs, over),
        }
        if free:
            i64 = ir.IntegerType.get_signless(64)
            attrs[REPEATS] = ir.IntegerAttr.get(i64, math.prod(k for _, k in free))
        new = ir.Operation.create(
            "stablehlo.custom_call", [r.type for r in op.results], list(op.operands), attrs,
            loc=op.location, ip=ir.InsertionPoint(op),
        )
        for old, result in zip(op.results, new.results, strict=True):
            old.replace_all_uses_with(result)
        op.erase()
        self.statistics["manual computations"] += 1

    def _outline(self, op: ir.Operation) -> str:
        """Move the body to a private function at the end of the module; returns its name."""
        block = op.regions[0].blocks[0]
        last = list(block.operations)[-1].operation
        taken = {ir.StringAttr(f.attributes["sym_name"]).value for f in functions(self.module)}
        name = next(n for i in itertools.count() if (n := f"shard_map_{i}") not in taken)
        kind = ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in last.operands])
        func = ir.Operation.create(
            "func.func", regions=1, loc=op.location, ip=ir.InsertionPoint(body(self.module)),
            attributes={
                "sym_name": ir.StringAttr.get(name), "sym_visibility": ir.StringAttr.get("private"),
                "function_type": ir.TypeAttr.get(kind),
            },
        )
        self._bodies.add(name)
        block.append_to(func.regions[0])
        ir.Operation.create("func.return", operands=list(last.operands), loc=last.location, ip=ir.InsertionPoint(last))
        last.erase()
        self._regions(func)
        return name

    def _manual_specs(
        self, op: ir.Operation, types: Iterable[ir.Type], ss: list[SdySharding], over: set[str]
    ) -> ir.ArrayAttr:
        """The layouts of operands or results over the axes `over` that a computation is manual over."""
        found = []
        for type_, s in zip(types, ss, strict=True):
            made = self._spec(op, type_, s)
            spec = made[0] if made else ShardSpec.replicated(len(s.dims))
            own = [[a for a in d if a.partition(".")[0].partition(":")[0].strip('"') in over] for d in spec.dims]
            found.append(shardings.to_attr(ShardSpec.of(own, spec.partial), self.symbol))
        return ir.ArrayAttr.get(found)

    def _close(self, module: ir.Operation) -> None:
        """Unknown dialects are no longer needed, unless something else uses them."""
        context = module.context
        if context.allow_unregistered_dialects and all(context.is_registered_operation(o.name) for o in walk(module)):
            context.allow_unregistered_dialects = False


def _called_in_manual(module: ir.Operation) -> set[str]:
    """Functions that bodies of manual computations call, and those that these call."""
    named = {ir.StringAttr(f.attributes["sym_name"]).value: f for f in functions(module)}
    work = [op for op in walk(module) if op.name == "sdy.manual_computation"]
    found: set[str] = set()
    while work:
        for op in walk(work.pop()):
            if op.name == "func.call":
                symbol = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
                if symbol in named and symbol not in found:
                    found.add(symbol)
                    work.append(named[symbol])
    return found


def _freedom(found: Found) -> dict[str, ir.Attribute]:
    """Open dimensions and priorities as attributes, where there are any."""
    return {n: _dims(x) for n, x in zip((shardings.OPEN, shardings.PRIORITIES), found[1:], strict=True) if x}


def _dims(dims: list[int]) -> ir.Attribute:
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get([ir.IntegerAttr.get(i64, d) for d in dims])
