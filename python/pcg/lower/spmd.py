"""From the annotated program to the program one device runs.

The function is rebuilt op by op on local shapes.  An op's strategy is read off its operand and
result layouts through its factor rule, and its local form does the rest; `dist` collectives become
StableHLO collectives.  Nothing is repaired here: layouts that do not fit are an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.clone import clone_mapped
from pcg.ir.errors import PcgError
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec, SpecError
from pcg.lower.collectives import Collectives
from pcg.lower.control_flow import lower_control_flow
from pcg.lower.local import LocalContext, local_form_of
from pcg.lower.moves import DIST_MOVES, MOVES, dist_step
from pcg.reshard import ReshardError, Step, plan
from pcg.rules import CONTROL_FLOW, TERMINATORS, RuleError, rule_for
from pcg.rules.collectives import NAMES as COLLECTIVES
from pcg.rules.registry import shape

#: Ops that stand for others even where every device runs them whole: markers, manual computations, and collectives
#: that speak of one device.
_NEVER_COPIED = frozenset({"stablehlo.custom_call", *COLLECTIVES})


class SpmdLowering:
    """Lowers one function; `values` maps its values to local ones."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.values: dict[ir.Value, ir.Value] = {}
        self.collectives = Collectives(mesh)
        #: Channel of each collective -> number of the op it was lowered from, in the walk of the function.
        self.sources: dict[int, int] = {}
        self._numbers: dict[ir.Operation, int] = {}
        self.specs: dict[ir.Value, ShardSpec] = {}
        self._types: dict[tuple[ir.Type, ShardSpec], ir.Type] = {}

    # -- values and layouts --------------------------------------------------------------------

    def spec(self, value: ir.Value) -> ShardSpec:
        """Layout of a global value; one without any is replicated."""
        found = self.specs.get(value)
        if found is None:
            found = shardings.get(value) or ShardSpec.replicated(len(shape(value)))
            self.specs[value] = found
        return found

    def value(self, value: ir.Value) -> ir.Value:
        """The local value of a global one."""
        return self.values[value]

    def local_type(self, value: ir.Value) -> ir.Type:
        """Type of one device's shard."""
        type_, spec = value.type, self.spec(value)
        found = self._types.get((type_, spec))
        if found is None:
            found = type_
            if isinstance(type_, ir.RankedTensorType) and any(spec.dims):
                if spec.rank != type_.rank:
                    raise PcgError(f"layout {spec} is not one of a value of type {type_}", _owner(value))
                try:
                    dims = spec.local_shape(type_.shape, self.mesh)
                except (SpecError, ValueError) as error:
                    raise PcgError(f"value of type {type_} has layout {spec}: {error}", _owner(value)) from None
                found = ir.RankedTensorType.get(dims, type_.element_type)
            self._types[type_, spec] = found
        return found

    def expect(self, op: ir.Operation, what: str, have: ShardSpec, want: ShardSpec) -> None:
        """Raise unless the layouts agree."""
        if have != want:
            raise PcgError(
                f"'{op.name}' op: {what} has layout {have}, {want} is needed; run dist-insert-reshards first", op
            )

    def expect_replicated(self, op: ir.Operation, what: str, have: ShardSpec) -> None:
        self.expect(op, what, have, ShardSpec.replicated(have.rank))

    @staticmethod
    def attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
        """The attributes of an op that stay: all but the layouts."""
        attrs = op.attributes
        return {n: attrs[n] for n in attrs if not n.startswith("dist.")}

    # -- ops -----------------------------------------------------------------------------------

    def function(self, func: ir.Operation) -> ir.Operation:
        """The lowered function, placed before `func`, under the same name."""
        self._numbers = {op: n for n, op in enumerate(walk(func))}
        old = func.regions[0].blocks[0]
        results = self._function_results(func)
        arguments = [self.local_type(a) for a in old.arguments]
        with ir.InsertionPoint(func):
            new = ir.Operation.create(
                "func.func", regions=1, loc=func.location,
                attributes={
                    n: a for n, a in self.attributes(func).items() if n not in ("arg_attrs", "res_attrs")
                } | {"function_type": ir.TypeAttr.get(ir.FunctionType.get(arguments, results))},
            )
        block = new.regions[0].blocks.append(*arguments, arg_locs=[a.location for a in old.arguments])
        self.values.update(zip(old.arguments, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            self.block(old)
        for name, types in (("arg_attrs", arguments), ("res_attrs", results)):
            if name in func.attributes:
                kept = [_kept(a, i, arguments, results, name) for i, a in enumerate(func.attributes[name])]
                if any(len(k) for k in kept) and types:
                    new.attributes[name] = ir.ArrayAttr.get(kept)
        return new

    def _function_results(self, func: ir.Operation) -> list[ir.Type]:
        terminator = list(func.regions[0].blocks[0].operations)[-1].operation
        for i, (value, spec) in enumerate(
            zip(terminator.operands, shardings.function_result_specs(func), strict=True)
        ):
            if spec is not None:
                self.expect(terminator, f"operand {i}", self.spec(value), spec)
            if self.spec(value).partial:
                raise PcgError(
                    f"'func.return' op: operand {i} is partial ({self.spec(value)}); results must be whole", terminator
                )
        return [self.local_type(v) for v in terminator.operands]

    def block(self, block: ir.Block) -> list[ir.Value]:
        """Lower the ops of a block to the insertion point; returns the global operands of its terminator."""
        for op in block.operations:
            op = op.operation
            if op.name in TERMINATORS:
                ir.Operation.create(
                    op.name, operands=[self.values[v] for v in op.operands], attributes=self.attributes(op),
                    loc=op.location,
                )
                return list(op.operands)
            self.op(op)
        raise PcgError("block has no terminator", _owner(block))

    def op(self, op: ir.Operation) -> None:
        """Lower one op and map its results."""
        name, first = op.name, self.collectives.channels
        if name in CONTROL_FLOW:
            results: Sequence[ir.Value] = lower_control_flow(self, op)
        elif name in MOVES:
            results = [self._move(op)]
        elif name.startswith(("pcg.", "dist.")) or name == "func.call":
            raise PcgError(f"'{name}' op cannot be lowered to one program per device", op)
        else:
            results = self._ordinary(op)
        for channel in range(first + 1, self.collectives.channels + 1):
            self.sources.setdefault(channel, self._numbers.get(op, 0))  # ops inside of regions came first
        self.values.update(zip(op.results, results, strict=True))

    def _move(self, op: ir.Operation) -> ir.Value:
        """A redistribution: what the layouts of operand and result say."""
        src, dst, value = self.spec(op.operands[0]), self.spec(op.results[0]), self.values[op.operands[0]]
        try:
            if op.name in DIST_MOVES:
                steps: tuple[Step, ...] = (dist_step(op, dst),)
                if (made := steps[0].apply(src)) != dst:
                    raise ReshardError(f"it makes {made} of {src}, but its result has layout {dst}")
            else:
                steps = plan(src, dst, shape(op.operands[0]), 4, self.mesh)
            for step in steps:
                value = self.collectives.take(step, value, src, shape(op.operands[0]), op.location)
                src = step.apply(src)
        except ReshardError as error:
            raise PcgError(f"'{op.name}' op: {error}", op) from None
        return value

    def _ordinary(self, op: ir.Operation) -> Sequence[ir.Value]:
        have = [self.spec(v) for v in op.operands]
        want = [self.spec(r) for r in op.results]
        whole = all(s.is_replicated for s in have) and all(s.is_replicated for s in want)
        if whole and op.name not in _NEVER_COPIED:
            return self._same(op)
        rule = rule_for(op)
        try:
            assignment = rule.infer(have, want, self.mesh)
        except RuleError as error:
            because = f" ({rule.reason})" if rule.reason else ""
            raise PcgError(
                f"'{op.name}' op with operands {_list(have)} and results {_list(want)}: {error}; "
                f"its rule is {rule}{because}", op
            ) from None
        types = [self.local_type(r) for r in op.results]
        operands = [self.values[v] for v in op.operands]
        context = LocalContext(op, operands, types, rule, assignment, self.mesh, self.collectives)
        context.mask_padding()
        results = list(local_form_of(op)(context))
        for result, type_ in zip(results, types, strict=True):
            if result.type != type_:
                raise PcgError(f"the local form of '{op.name}' makes {result.type}, {type_} is needed", op)
            if len(op.regions) and not isinstance(result.owner, ir.Block):
                self._capture(result)
        return results

    def _same(self, op: ir.Operation) -> Sequence[ir.Value]:
        """The op as it is, run whole by every device."""
        new = clone_mapped(op, self.values)
        for name in [n for n in new.attributes if n.startswith("dist.")]:
            del new.attributes[name]
        return list(new.results)

    def _capture(self, result: ir.Value) -> None:
        """Map what the regions of a new op still take from the global program."""
        for region in result.owner.regions:
            for block in region.blocks:
                for inner in block.operations:
                    for i, v in enumerate(inner.operation.operands):
                        if v in self.values:
                            inner.operation.operands[i] = self.values[v]


def _kept(
    attr: ir.Attribute, i: int, arguments: Sequence[ir.Type], results: Sequence[ir.Type], where: str
) -> ir.DictAttr:
    """Argument or result attributes without layouts; an alias stays only between equal local types."""
    own = ir.DictAttr(attr)
    kept = {}
    for k in range(len(own)):
        name, value = own[k].name, own[k].attr
        if name.startswith(("dist.", "sdy.", "pcg.")) or name == "mhlo.sharding":
            continue
        if name == "tf.aliasing_output" and where == "arg_attrs":
            target = ir.IntegerAttr(value).value
            if target >= len(results) or arguments[i] != results[target]:
                name, value = "jax.buffer_donor", ir.BoolAttr.get(True)
        kept[name] = value
    return ir.DictAttr.get(kept)


def _owner(value: ir.Value | ir.Block) -> ir.Operation:
    owner = value.owner
    return (owner.owner if isinstance(owner, ir.Block) else owner).operation


def _list(specs: Sequence[ShardSpec]) -> str:
    return ", ".join(map(str, specs)) or "none"
