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
from pcg.ir.stages import PHASE
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec
from pcg.lower.collectives import CollectiveBuilder
from pcg.lower.control_flow import lower_control_flow
from pcg.lower.local import MeshContext, local_form_of
from pcg.lower.redistribution_ops import DIST_COLLECTIVES, REDISTRIBUTION_OPS, dist_step
from pcg.lower.shards import Shards, expect, local_attributes, owner
from pcg.reshard import ReshardError, ReshardStep, plan
from pcg.rules import CONTROL_FLOW, TERMINATORS, RuleError, rule_for
from pcg.rules.collectives import NAMES as COLLECTIVES
from pcg.rules.registry import shape

#: Ops that are replaced even where all their operands and results are replicated: markers, manual computations, and
#: collectives of one device.
_NEVER_COPIED = frozenset({"stablehlo.custom_call", *COLLECTIVES})


class SpmdLowering:
    """Lowers one function."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.shards = Shards(mesh)
        self.collectives = CollectiveBuilder(mesh)
        #: Channel of each collective -> number of the op it was lowered from, in the walk of the function.
        self.sources: dict[int, int] = {}
        self._number = 0

    def function(self, func: ir.Operation) -> ir.Operation:
        """The lowered function, placed before `func`, under the same name."""
        old = func.regions[0].blocks[0]
        results = self._function_results(func)
        arguments = [self.shards.local_type(a) for a in old.arguments]
        with ir.InsertionPoint(func):
            new = ir.Operation.create(
                "func.func", regions=1, loc=func.location,
                attributes={
                    n: a for n, a in local_attributes(func).items() if n not in ("arg_attrs", "res_attrs")
                } | {"function_type": ir.TypeAttr.get(ir.FunctionType.get(arguments, results))},
            )
        block = new.regions[0].blocks.append(*arguments, arg_locs=[a.location for a in old.arguments])
        self.shards.local.update(zip(old.arguments, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            self.block(old)
        for name, types in (("arg_attrs", arguments), ("res_attrs", results)):
            if name in func.attributes:
                kept = [_kept(a, i, arguments, results, name) for i, a in enumerate(func.attributes[name])]
                if any(len(k) for k in kept) and types:
                    new.attributes[name] = ir.ArrayAttr.get(kept)
        return new

    def _function_results(self, func: ir.Operation) -> list[ir.Type]:
        terminator = func.regions[0].blocks[0].operations[-1].operation
        for i, (value, spec) in enumerate(
            zip(terminator.operands, shardings.function_result_specs(func), strict=True)
        ):
            have = self.shards.spec(value)
            if spec is not None:
                expect(terminator, f"operand {i}", have, spec)
            if have.partial and PHASE not in func.attributes:
                text = f"'func.return' op: operand {i} is partial ({have}); results must be replicated or split"
                raise PcgError(text, terminator)
        return [self.shards.local_type(v) for v in terminator.operands]

    def block(self, block: ir.Block) -> list[ir.Value]:
        """Lower the ops of a block to the insertion point; returns the global operands of its terminator."""
        for op in block.operations:
            op = op.operation
            self._number += 1
            if op.name in TERMINATORS:
                ir.Operation.create(
                    op.name, operands=[self.shards.local[v] for v in op.operands], attributes=local_attributes(op),
                    loc=op.location,
                )
                return list(op.operands)
            self.op(op)
        raise PcgError("block has no terminator", owner(block))

    def op(self, op: ir.Operation) -> None:
        """Lower one op and map its results."""
        name, number, first = op.name, self._number, self.collectives.channels
        with op.location:
            if name in CONTROL_FLOW:
                results: Sequence[ir.Value] = lower_control_flow(op, self.shards, self.block)
            elif name in REDISTRIBUTION_OPS:
                results = [self._redistributed(op)]
            elif name.startswith(("pcg.", "dist.")) or name == "func.call":
                raise PcgError(f"'{name}' op cannot be lowered to one program per device", op)
            else:
                results = self._ordinary(op)
                self._number += sum(1 for _ in walk(op)) - 1 if len(op.regions) else 0
        for channel in range(first + 1, self.collectives.channels + 1):
            self.sources.setdefault(channel, number)  # ops inside of regions came first
        self.shards.local.update(zip(op.results, results, strict=True))

    def _redistributed(self, op: ir.Operation) -> ir.Value:
        """A redistribution: what the layouts of operand and result say."""
        src, dst = self.shards.spec(op.operands[0]), self.shards.spec(op.results[0])
        value = self.shards.local[op.operands[0]]
        try:
            if op.name in DIST_COLLECTIVES:
                steps: tuple[ReshardStep, ...] = (dist_step(op, dst),)
                if (after := steps[0].apply(src)) != dst:
                    raise ReshardError(f"it makes {after} of {src}, but its result has layout {dst}")
            else:
                steps = plan(src, dst, shape(op.operands[0]), 4, self.mesh)
            for step in steps:
                value = self.collectives.take(step, value, src, shape(op.operands[0]))
                src = step.apply(src)
        except ReshardError as error:
            raise PcgError(f"'{op.name}' op: {error}", op) from None
        return value

    def _ordinary(self, op: ir.Operation) -> Sequence[ir.Value]:
        sources, made = list(op.operands), list(op.results)
        have = [self.shards.spec(v) for v in sources]
        want = [self.shards.spec(r) for r in made]
        if all(s.is_replicated for s in (*have, *want)) and op.name not in _NEVER_COPIED:
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
        types = [self.shards.local_type(r) for r in made]
        operands = [self.shards.local[v] for v in sources]
        context = MeshContext(op, operands, types, rule, assignment, self.collectives)
        context.mask_padding()
        results = list(local_form_of(op)(context))
        nested = len(op.regions)
        for result, type_ in zip(results, types, strict=True):
            if result.type != type_:
                raise PcgError(f"the local form of '{op.name}' makes {result.type}, {type_} is needed", op)
            if nested and not isinstance(result.owner, ir.Block):
                self._capture(result)
        return results

    def _same(self, op: ir.Operation) -> Sequence[ir.Value]:
        """The op as it is, run by every device on replicated operands."""
        new = clone_mapped(op, self.shards.local)
        for name in [n for n in new.attributes if n.startswith("dist.")]:
            del new.attributes[name]
        return list(new.results)

    def _capture(self, result: ir.Value) -> None:
        """Map the values of the global program that the regions of a new op use."""
        for region in result.owner.regions:
            for block in region.blocks:
                for inner in block.operations:
                    for i, v in enumerate(inner.operation.operands):
                        if v in self.shards.local:
                            inner.operation.operands[i] = self.shards.local[v]


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


def _list(specs: Sequence[ShardSpec]) -> str:
    return ", ".join(map(str, specs)) or "none"
