"""State that is stacked over layers, layer by layer: arguments, results, and what is computed between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir import emit, shardings
from pcg.ir.errors import PcgError
from pcg.ir.locations import argument_names
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import entry
from pcg.layout import ShardSpec
from pcg.lower.collectives import CollectiveBuilder
from pcg.lower.local import MeshContext, local_form_of
from pcg.lower.neutral import scalar
from pcg.rewrite.layers.rows import Layers, layers_read
from pcg.rewrite.layers.signature import unstack_arguments, write_signature
from pcg.rewrite.layers.stacks import block_of
from pcg.rewrite.layers.unroll import kept_layers
from pcg.rewrite.microbatches import is_placed
from pcg.rewrite.normalize import erase_unused
from pcg.rules import rule_for
from pcg.rules.factor import Assignment
from pcg.rules.regions import REDUCERS
from pcg.rules.registry import shape
from pcg.search.roles import state_of


@dataclass
class LayerContext(MeshContext):
    """The context of a local form where the parts are layers: which layer it is is known."""

    layer: int = field(kw_only=True)

    def per_device(self, numbers: Sequence[int], element: ir.Type | None = None) -> ir.Value:
        return scalar(numbers[self.layer], element or ir.IntegerType.get_signless(32))


@dataclass
class Unstack(Transformation):
    """Replace state that is stacked over layers by an argument and a result for each layer."""

    shorten: bool = option(False, "leave out all layers but the first and the last one: after pcg-unroll{shorten}")

    def run(self, module: ir.Operation) -> None:
        func = entry(module)
        if func is None:
            return
        if is_placed(func):
            raise PcgError("the program has layouts already; state is unstacked only before they are chosen", func)
        with module.context:
            for count in _counts(func):
                self._unstack(func, count)

    def _unstack(self, func: ir.Operation, count: int) -> None:
        """Unstack state of so many layers."""
        pairs = state_of(func)
        arguments, names = func.regions[0].blocks[0].arguments, argument_names(func)
        returned = func.regions[0].blocks[0].operations[-1].operation.operands
        state = {
            r: a for r, a in pairs.items()
            if shape(arguments[a])[:1] == (count,) and returned[r].type == arguments[a].type
            and [*pairs.values()].count(a) == 1
        }  # fmt: skip
        layers = Layers(func, count, state)
        for family in layers.families.values():
            if not family.is_read_by_layer:
                continue
            for value in family.arguments:
                spec = shardings.get(value)
                if spec is not None and spec.dims[0]:
                    family.obstacles.append((value, func))
            for value, op in family.obstacles:
                what = f"argument {names[value.arg_number]} stays stacked over {count} layers, and so do those"
                why = "its layers are split over devices" if op == func else f"'{op.name}' reads or yields all layers"
                self.remark(op, f"{what} that are updated with it ({len(family.arguments)} arguments): {why}")
        found = [a.arg_number for a in arguments if layers.is_unstacked(a)]
        if not found:
            return
        _Rewriting(layers, kept_layers(count, self.shorten)).run()
        self.statistics["arguments unstacked"] += len(found)
        self.remark(func, f"{len(found)} arguments of {count} layers become one for each layer")


def _counts(func: ir.Operation) -> list[int]:
    """The sizes, above 1, of dimension 0 of state, of which a slice reads one index of some value."""
    block = func.regions[0].blocks[0]
    state = {shape(block.arguments[i])[:1] for i in state_of(func).values()}
    found: set[int] = set()
    for op in [o.operation for o in block.operations]:
        if op.name == "stablehlo.slice" and (count := shape(op.operands[0])[:1]) in state and count and count[0] > 1:
            found.update(count if layers_read(op, count[0]) is not None else ())
    return sorted(found)


@dataclass
class _Rewriting:
    """Rewrites a function, layer by layer."""

    layers: Layers
    kept: Sequence[int]
    """The layers that there will be."""
    _rows: dict[ir.Value, dict[int, ir.Value]] = field(default_factory=dict)
    """Stacked value -> layer -> its rows."""

    def run(self) -> None:
        layers, func = self.layers, self.layers.func
        block = func.regions[0].blocks[0]
        old, (*ops, last) = list(block.arguments), [o.operation for o in block.operations]
        arguments = [len(self.kept) if layers.is_unstacked(a) else 0 for a in old]
        results = [arguments[layers.state[r]] if r in layers.state else 0 for r in range(len(last.operands))]
        returned = list(last.operands)  # a value may be returned layer by layer, and as a tensor, too
        rows = unstack_arguments(func, arguments, layers.count)
        self._rows = {
            a: dict(zip(self.kept, r, strict=True)) for a, r, n in zip(old, rows, arguments, strict=True) if n
        }  # fmt: skip
        replaced: list[ir.Operation] = []
        for op in ops:
            with ir.InsertionPoint(op), op.location:
                if self._rewrite(op):
                    replaced.append(op)
        values = [
            [self._rows[v][i] for i in self.kept] if n else [now]
            for v, now, n in zip(returned, last.operands, results, strict=True)
        ]  # fmt: skip
        with ir.InsertionPoint(last), last.location:
            ir.Operation.create(last.name, operands=[v for each in values for v in each])
        last.erase()
        for op in reversed(replaced):
            if not any(list(r.uses) for r in op.results):
                op.erase()
        erase_unused(block)
        write_signature(func, arguments, results)

    def _rewrite(self, op: ir.Operation) -> bool:
        """Compute an op layer by layer; whether it is one of those that are."""
        layers = self.layers
        if (strategy := layers.strategy(op)) is not None:
            self._by_layer(op, strategy)
            return True
        if len(op.results) == 1 and op.results[0] in layers.concatenated:
            self._rows[op.results[0]] = dict(enumerate(op.operands))
            return True
        layer = layers_read(op, layers.count) if len(op.operands) and layers.is_unstacked(op.operands[0]) else None
        if layer is None:
            return False
        row = self._rows[op.operands[0]].get(layer)
        if row is None:
            raise PcgError(f"layer {layer} is read, which is left out", op)
        start, limit = list(op.attributes["start_indices"]), list(op.attributes["limit_indices"])
        first = layer * row.type.shape[0]
        start[0], limit[0] = start[0] - first, limit[0] - first
        op.results[0].replace_all_uses_with(block_of(row, start, limit))
        return True

    def _by_layer(self, op: ir.Operation, a: Assignment) -> None:
        layers, rule = self.layers, rule_for(op)
        each = [self._form(op, a, i) for i in self.kept]
        for k, (result, parts) in enumerate(zip(op.results, map(list, zip(*each, strict=True)), strict=True)):
            if partial := rule.result_spec(k, a).partial:
                total = parts[0]
                for part in parts[1:]:
                    total = emit.create(REDUCERS[partial[0][1]], [total, part], result.type)
                result.replace_all_uses_with(total)
                continue
            self._rows[result] = dict(zip(self.kept, parts, strict=True))
            if result in layers.read_as_tensors:
                if len(parts) < layers.count:
                    raise PcgError("all layers are read as one tensor; allowed with shorten: each by itself", op)
                full = emit.concatenate(parts, 0)
                for use in list(result.uses):
                    reader = use.owner.operation
                    row = reader.parent.operation == layers.func and layers_read(reader, layers.count) is not None
                    if layers.strategy(reader) is None and not row:
                        reader.operands[use.operand_number] = full

    def _form(self, op: ir.Operation, a: Assignment, layer: int) -> list[ir.Value]:
        """The op of one layer."""
        rule, mesh = rule_for(op), self.layers.mesh
        operands = [self._row(v, rule.operand_spec(i, a), layer) for i, v in enumerate(op.operands)]
        types = [self._type(r, rule.result_spec(i, a)) for i, r in enumerate(op.results)]
        collectives = CollectiveBuilder(mesh)
        context = LayerContext(op, operands, types, rule, a, collectives, layer=layer)
        return list(local_form_of(op)(context))

    def _type(self, value: ir.Value, spec: ShardSpec) -> ir.Type:
        if not any(spec.dims):
            return value.type
        return emit.resized(value, 0, value.type.shape[0] // self.layers.count)

    def _row(self, value: ir.Value, want: ShardSpec, layer: int) -> ir.Value:
        """The rows of one layer of a value; all of it where it is wanted replicated."""
        if want.is_replicated:
            return value
        if value in self._rows:
            return self._rows[value][layer]
        a = self.layers.generation(value)
        if a is not None:
            return self._form(value.owner.operation, a, layer)[0]
        size = value.type.shape[0] // self.layers.count
        return emit.slice_dim(value, 0, layer * size, (layer + 1) * size)
