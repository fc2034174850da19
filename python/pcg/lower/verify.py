"""What lowering may count on: layouts that are complete and fit together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.identities import check_partial
from pcg.ir.mesh_names import mesh_name_of
from pcg.ir.shardings import CONSTRAINTS
from pcg.ir.stages import PHASE, inputs_of, stage_mesh, stage_module, stages_of
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import functions, walk
from pcg.layout import Mesh, ShardSpec, SpecError
from pcg.lower.redistribution_ops import DIST_COLLECTIVES, PCG_OPERATORS, dist_step
from pcg.reshard import AllGather, AllReduce, Mask, ReshardError, ReshardStep, Slice, permutation
from pcg.rules import CONTROL_FLOW, TERMINATORS, RuleError, rule_for
from pcg.rules.manual import computations, is_manual


@dataclass
class VerifyLayouts(Transformation):
    """Check V1 to V11 of the semantics page; see the pass `dist-verify`."""

    complete: bool = option(True, "Demand a layout of every value; without, ops with unknown ones are skipped.")

    def __getstate__(self) -> dict[str, Any]:
        # Another process needs nothing of the program that was checked last.
        return {k: v for k, v in super().__getstate__().items() if k in ("complete", "statistics", "remarks")}

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError at the first op that breaks a constraint."""
        module = module.operation
        self.meshes = shardings.meshes_of(module)
        bodies = computations(module)
        for func in functions(module):
            if ir.StringAttr(func.attributes["sym_name"]).value in bodies or not len(func.regions[0].blocks):
                continue
            if stages_of(func):
                self._stages(func)
            elif self._is_annotated(func):
                self._function(func)

    def _is_annotated(self, func: ir.Operation) -> bool:
        if self.meshes and self.complete:
            return True
        names = (shardings.SPECS, shardings.OPERAND_SPECS, "spec")
        if any(n in op.attributes for op in walk(func) for n in names):
            return True
        signature = [d for n in ("arg_attrs", "res_attrs") if n in func.attributes for d in func.attributes[n]]
        return any(shardings.SPEC in d for d in signature)

    def _function(self, func: ir.Operation) -> None:
        symbol = ir.StringAttr(func.attributes["sym_name"]).value
        self.mesh: Mesh | None = None
        self.symbol = ""
        self._checked: set[tuple] = set()
        self._lists: dict[tuple, tuple[ShardSpec | None, ...]] = {}
        self.specs: dict[ir.Value, ShardSpec | None] = {}
        block = func.regions[0].blocks[0]
        if not self.meshes:
            raise PcgError(f"function '{symbol}' has layouts, but the module has no dist.mesh", func)  # V1
        for i, argument in enumerate(block.arguments):
            what = f"argument {i} of function '{symbol}'"
            attr = _signature_attr(func, "arg_attrs", i)
            self.specs[argument] = self._attr(func, what, attr, argument.type)
        results = []
        kind = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
        for i, type_ in enumerate(kind.results):
            what = f"result {i} of function '{symbol}'"
            results.append(self._attr(func, what, _signature_attr(func, "res_attrs", i), type_))
        self._block(block, results)

    # -- V10, V11: programs of stages ----------------------------------------------------------

    def _stages(self, func: ir.Operation) -> None:
        """Each stage as a program of its own, and that they fit together."""
        for stage in stages_of(func):
            symbol = stage_mesh(stage)
            if symbol not in self.meshes:  # V1
                declared = ", ".join("@" + n for n in self.meshes) or "none"
                raise PcgError(f"stage on @{symbol}; declared meshes: {declared}", stage)
            ins = shardings.boundary_specs(stage, shardings.IN_SPECS)
            for i, (value, spec) in enumerate(zip(inputs_of(stage), ins, strict=True)):
                where, have = mesh_name_of(value), shardings.get(value)
                if where is not None and where != symbol:  # V10
                    raise PcgError(f"input {i} of the stage on @{symbol} is on @{where}; pcg.transfer moves it", stage)
                self._equal(stage, f"input {i}", have, spec)  # V10
            VerifyLayouts(complete=self.complete).run(stage_module(stage, self.meshes[symbol]).operation)  # V10
        for op in func.regions[0].blocks[0].operations:
            op = op.operation
            if op.name == "pcg.transfer":
                for what, value in (("operand", op.operands[0]), ("result", op.results[0])):
                    self._transferred(op, what, value)
            elif op.name == "func.return":
                wanted = shardings.function_result_specs(func)
                for i, (value, want) in enumerate(zip(op.operands, wanted, strict=True)):
                    self._equal(op, f"operand {i}", shardings.get(value), want)  # V9

    def _transferred(self, op: ir.Operation, what: str, value: ir.Value) -> None:
        """V11: both sides of a transfer are whole."""
        spec, name = shardings.get(value), mesh_name_of(value)
        if spec is None or name is None:
            if self.complete:  # V4
                raise PcgError(f"{what} 0 of '{op.name}' has no layout; every tensor needs one", op)
            return
        if name not in self.meshes:  # V1
            raise PcgError(f"{what} 0 of '{op.name}' is on @{name}; declared meshes: {', '.join(self.meshes)}", op)
        try:  # V2, V3
            spec.check(self.meshes[name], tuple(value.type.shape))
        except SpecError as error:
            raise PcgError(f"{what} 0 of '{op.name}' has layout {spec} on @{name}: {error}", op) from None
        if spec.partial:
            raise PcgError(f"{what} 0 of '{op.name}' is partial ({spec}); allowed: no partial axes", op)

    # -- V1 to V4: single layouts --------------------------------------------------------------

    def _attr(self, op, what: str, attr: ir.Attribute | None, type_: ir.Type) -> ShardSpec | None:
        """The layout an attribute gives a value, checked."""
        if not isinstance(type_, ir.RankedTensorType):
            return None
        if attr is None or isinstance(attr, ir.UnitAttr):
            if self.complete:  # V4
                raise PcgError(f"{what} has no layout; every tensor needs one", op)
            return None
        try:
            spec = shardings.from_attr(attr)
            symbol = shardings.mesh_symbol(attr)
        except ValueError as error:
            raise PcgError(f"{what}: {error}", op) from None
        key = (attr, type_)
        if key in self._checked:
            return spec
        if symbol not in self.meshes:  # V1
            declared = ", ".join("@" + n for n in self.meshes)
            raise PcgError(f"{what} has a layout on @{symbol}; declared meshes: {declared}", op)
        if self.symbol and symbol != self.symbol:  # V1
            raise PcgError(f"{what} is on @{symbol}, others are on @{self.symbol}; allowed: one mesh per function", op)
        self.symbol, self.mesh = symbol, self.meshes[symbol]
        try:  # V2, V3
            spec.check(self.mesh, tuple(type_.shape))
            check_partial(spec, type_)
        except SpecError as error:
            raise PcgError(f"{what} ({type_}) has layout {spec}: {error}", op) from None
        self._checked.add(key)
        return spec

    def _array(self, op: ir.Operation, name: str, what: str, values: Sequence[ir.Value]) -> Sequence[ShardSpec | None]:
        attr = op.attributes[name] if name in op.attributes else None
        types = [v.type for v in values]
        key = (attr, *types)
        if key not in self._lists:
            if attr is not None and (not isinstance(attr, ir.ArrayAttr) or len(attr) != len(types)):  # V5
                have = len(attr) if isinstance(attr, ir.ArrayAttr) else str(attr)
                raise PcgError(f"'{op.name}' has {len(types)} {what}s but {have} entries in {name}", op)
            pairs = zip([None] * len(types) if attr is None else attr, types, strict=True)
            found = [self._attr(op, f"{what} {i} of '{op.name}'", a, type_) for i, (a, type_) in enumerate(pairs)]
            self._lists[key] = tuple(found)
        return self._lists[key]

    # -- ops -----------------------------------------------------------------------------------

    def _block(self, block: ir.Block, wanted: Sequence[ShardSpec | None]) -> None:
        for op in block.operations:
            op = op.operation
            name = op.name
            if name in TERMINATORS:
                self._terminator(op, wanted)
                continue
            values = list(op.results)
            results = self._results(op, values)
            self.specs.update(zip(values, results, strict=True))
            if name in CONTROL_FLOW:
                self._control_flow(op, results)
            elif name in PCG_OPERATORS or name in DIST_COLLECTIVES:
                self._move(op, results[0])
            elif name in CONSTRAINTS:
                wanted_spec = self._attr(op, "spec", op.attributes["spec"], op.results[0].type)
                self._equal(op, "result 0", results[0], wanted_spec)
            elif not name.startswith("pcg."):
                self._ordinary(op, results)

    def _results(self, op: ir.Operation, values: Sequence[ir.Value]) -> Sequence[ShardSpec | None]:
        if op.name in CONSTRAINTS and shardings.SPECS not in op.attributes:
            return [self._attr(op, "spec", op.attributes["spec"], values[0].type)]
        return self._array(op, shardings.SPECS, "result", values)

    def _operands(self, op: ir.Operation) -> Sequence[ShardSpec | None]:
        """What the op gets: `dist.operand_specs` where a reshard is still to be inserted."""
        if shardings.OPERAND_SPECS in op.attributes:
            return self._array(op, shardings.OPERAND_SPECS, "operand", op.operands)
        return [self.specs.get(v) for v in op.operands]

    def _ordinary(self, op: ir.Operation, results: Sequence[ShardSpec | None]) -> None:
        """V6: the op's rule has a strategy with these layouts."""
        known = [*self._operands(op), *results]
        if any(s is None for s in known):
            pairs = zip((*op.operands, *op.results), known, strict=True)
            if any(s is None and isinstance(v.type, ir.RankedTensorType) for v, s in pairs):
                return
            known = [s or ShardSpec.replicated(0) for s in known]
        if all(s.is_replicated for s in known if s is not None) and not is_manual(op):
            return
        rule = rule_for(op)
        count = len(op.operands)
        try:
            rule.infer(known[:count], known[count:], self.mesh)  # type: ignore[arg-type]
        except RuleError as error:
            because = f" ({rule.reason})" if rule.reason else ""
            raise PcgError(
                f"'{op.name}' with operands {_list(known[:count])} and results {_list(known[count:])}: "
                f"{error}; its rule is {rule}{because}", op,
            ) from None

    def _move(self, op: ir.Operation, result: ShardSpec | None) -> None:
        """V7: the operator makes its result's layout of its operand's."""
        source = self.specs.get(op.operands[0])
        if source is None or result is None or self.mesh is None:
            return
        try:
            if op.name == "pcg.replicate":
                made = source
                if used := [a for a in _axes(op) if a in source.used_axes]:
                    raise ReshardError(f"{source} already uses axis {used[0]!r}")
            elif op.name == "dist.permute":
                permutation(source, result, self.mesh)
                made = result
            else:
                for axis in _axes(op) if "axes" in op.attributes else ():
                    if axis not in self.mesh.names:
                        known = ", ".join(map(repr, self.mesh.names))
                        raise ReshardError(f"unknown axis {axis!r}; the mesh has {known}")
                made = _step(op, result).apply(source)
        except ReshardError as error:
            raise PcgError(f"'{op.name}': {error}", op) from None
        if made != result:
            raise PcgError(f"'{op.name}' makes {made} of {source}, but its result has layout {result}", op)

    def _control_flow(self, op: ir.Operation, results: Sequence[ShardSpec | None]) -> None:
        """V8: carries and branch results keep one layout; predicates are replicated."""
        scalar: list[ShardSpec | None] = [ShardSpec.replicated(0)]
        if op.name == "stablehlo.while":
            for i, (have, want) in enumerate(zip(self._operands(op), results, strict=True)):
                self._equal(op, f"init {i}", have, want)
            for region, wanted in zip(op.regions, (scalar, results), strict=True):
                block = region.blocks[0]
                self.specs.update(zip(block.arguments, results, strict=True))
                self._block(block, wanted)
            return
        self._equal(op, "predicate", self._operands(op)[0], scalar[0])
        for region in op.regions:
            self._block(region.blocks[0], results)

    def _terminator(self, op: ir.Operation, wanted: Sequence[ShardSpec | None]) -> None:
        have = self._operands(op)
        for i, (h, w) in enumerate(zip(have, wanted, strict=True)):
            self._equal(op, f"operand {i}", h, w)
            fragment = op.name == "func.return" and PHASE in op.parent.attributes
            if op.name == "func.return" and h is not None and h.partial and not fragment:  # V9
                raise PcgError(f"operand {i} of '{op.name}' is partial ({h}); allowed: no partial axes", op)

    def _equal(self, op: ir.Operation, what: str, have: ShardSpec | None, want: ShardSpec | None) -> None:
        if have is not None and want is not None and have != want:
            raise PcgError(f"{what} of '{op.name}' has layout {have}; allowed: {want}", op)


def _signature_attr(func: ir.Operation, where: str, i: int) -> ir.Attribute | None:
    attrs = func.attributes
    if where not in attrs:
        return None
    own = attrs[where][i]
    return own[shardings.SPEC] if shardings.SPEC in own else None


def _axes(op: ir.Operation) -> tuple[str, ...]:
    return tuple(ir.StringAttr(a).value for a in op.attributes["axes"])


def _step(op: ir.Operation, result: ShardSpec) -> ReshardStep:
    """The redistribution step that a moving operator is."""
    if op.name in DIST_COLLECTIVES:
        return dist_step(op, result)
    if op.name == "pcg.reduce":
        return AllReduce(_axes(op), ir.StringAttr(op.attributes["kind"]).value)
    if op.name == "pcg.mask":
        return Mask(_axes(op), ir.StringAttr(op.attributes["kind"]).value)
    dim = ir.IntegerAttr(op.attributes["dim"]).value
    return Slice(dim, _axes(op)) if op.name == "pcg.partition" else AllGather(dim, _axes(op))


def _list(specs: Sequence[ShardSpec | None]) -> str:
    return ", ".join(map(str, specs)) or "none"
