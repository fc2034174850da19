"""Loops over layers in the backward part, split into a loop for input gradients and one for weight gradients."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.loops import trip_count
from pcg.ir.types import number_attr, tensor_bytes
from pcg.ir.walk import defining_op
from pcg.rewrite.backward.border import Border
from pcg.rewrite.backward.copies import Copies, clone_nodes
from pcg.rewrite.backward.dataflow import Dataflow, contracts, has_effect
from pcg.rewrite.backward.phases import is_gradient, stages_of
from pcg.rewrite.backward.regions import Regions, find_regions

WHILE = "stablehlo.while"


def fission(func: ir.Operation) -> int:
    """Split the loops of the backward part of a training step in two; returns how many were split.

    What a loop carries for its own sake only, stacked gradients and sums of gradients, makes the weight part of its
    body, unless input gradients outside of the loop depend on it.  The first loop computes the rest, and stacks what
    the weight part reads of it, carried values included; the second one runs the weight part in the same order, so
    that every sum has the same terms in the same order.  Loops inside of loops stay what they are.

    A loop stays as it is if its weight part contracts nothing, it has effects, its trip count is not in the program, or
    its counter does not go 0, 1, 2, ...

    Raises:
      PcgError: no forward part is found, or some ops have a stage and others do not.
    """
    flow = Dataflow(func.regions[0].blocks[0])
    loops = [i for i, node in enumerate(flow.nodes) if node.op.name == WHILE]
    if not loops:
        return 0
    regions = find_regions(flow, func)
    stages = stages_of(flow, regions.update)
    reaching = flow.reaching(regions.contracting)
    found = []
    for i in loops:
        if i in regions.backward:
            results = flow.nodes[i].results
            needed = {k for k, r in enumerate(results) if _is_needed(r, i, flow, regions, stages, reaching)}
            if (parts := read_loop(flow.nodes[i].op, needed)) is not None:
                found.append(parts)
    for parts in found:
        Fission(parts).run()
    return len(found)


def _is_needed(
    value: ir.Value, loop: int, flow: Dataflow, regions: Regions, stages: Sequence[int], reaching: set[int]
) -> bool:
    """Whether input gradients outside of the loop depend on one of its results."""
    for i in flow.users(value):
        if i in regions.contracting or i in reaching:
            return True
        if i in regions.backward and stages[i] != stages[loop] and not is_gradient(flow, value, regions):
            return True
    return False


@dataclass(frozen=True)
class LoopParts:
    """A loop, its body as a graph, and what belongs to which part; carried values by number."""

    loop: ir.Operation
    body: Dataflow
    count: int
    """Its trip count."""
    counter: int
    unchanged: list[int]
    weights: list[int]
    """Carried for weight gradients."""
    early: frozenset[int] = frozenset()
    """Nodes that only weight gradients need, and that the first loop computes."""

    @cached_property
    def arguments(self) -> list[ir.Value]:
        """The arguments of the body."""
        return list(self.body.block.arguments)

    @cached_property
    def inputs(self) -> list[int]:
        """Carried for input gradients."""
        return [k for k in range(len(self.arguments)) if k not in (*self.weights, *self.unchanged, self.counter)]

    @cached_property
    def counting(self) -> set[int]:
        """Nodes that compute the next value of the counter."""
        return self.body.slice([self.body.returned[self.counter]])

    @cached_property
    def first(self) -> set[int]:
        """Nodes of the first loop, those that count included."""
        return self.body.slice(self.body.returned[k] for k in self.inputs) | self.counting | self.early

    @cached_property
    def second(self) -> set[int]:
        """Nodes of the second loop only."""
        return self.body.slice(self.body.returned[k] for k in self.weights) - self.first

    def copies(self) -> Copies:
        """What the second loop reads of the body of the first one: values that are stacked, and nodes in both loops."""
        body = self.body
        captured = {v for node in body.nodes for v in node.inputs} - set(body.source) - set(self.arguments)
        free = [self.arguments[k] for k in (self.counter, *self.unchanged)]
        found = Copies(body, [*captured, *free], blocks=True)
        found.nodes |= self.counting
        own = {self.arguments[k] for k in self.weights}
        read = [v for i in sorted(self.second) for v in body.nodes[i].inputs]
        for v in (*read, *(body.returned[k] for k in self.weights)):
            if body.source.get(v) not in self.second and v not in own:
                found.provide(v)
        return found


def read_loop(loop: ir.Operation, needed: set[int]) -> LoopParts | None:
    """The parts of a loop of which results `needed` are needed for input gradients; None if it stays as it is."""
    count = trip_count(loop)
    cond = Dataflow(loop.regions[0].blocks[0])
    body = Dataflow(loop.regions[1].blocks[0])
    compare = defining_op(cond.returned[0])
    if not count or compare is None or any(has_effect(node.op) for node in (*cond.nodes, *body.nodes)):
        return None
    if not all(isinstance(v.type, ir.RankedTensorType) for v in loop.operands):
        return None
    counter = compare.operands[0].arg_number
    if not _counts_up(loop, counter):
        return None
    arguments, yields = list(body.block.arguments), body.returned
    unchanged = [k for k, v in enumerate(yields) if v == arguments[k]]
    tested = {v.arg_number for v in cond.arguments(cond.returned) if isinstance(v, ir.BlockArgument)}
    if not tested <= {counter, *unchanged}:
        return None
    read = [body.arguments([v]) for v in yields]
    weights = [
        k for k, a in enumerate(arguments)
        if k not in needed and k != counter and k not in unchanged
        and all(j == k for j, values in enumerate(read) if a in values)
    ]  # fmt: skip
    parts = LoopParts(loop, body, count, counter, unchanged, weights)
    if not parts.inputs or not any(contracts(body.nodes[i].op) for i in parts.second):
        return None
    return _reduced_early(parts)


def _reduced_early(parts: LoopParts) -> LoopParts:
    """The parts after the first loop got what the second one then need not keep the operands of; no contraction.

    That are sums that are carried, as gradients of biases and scales, and what is next to the border (`Border`).
    """
    best, copies = parts, parts.copies()
    for value in sorted(copies.kept, key=lambda v: -tensor_bytes(v.type)):
        slices = {k: parts.body.slice([parts.body.returned[k]]) & parts.second for k in best.weights}
        readers = [k for k, own in slices.items() if any(value in parts.body.nodes[i].inputs for i in own)]
        if any(contracts(parts.body.nodes[i].op) for k in readers for i in slices[k]):
            continue
        other = dataclasses.replace(best, weights=[k for k in best.weights if k not in readers])
        if _bytes(other.copies().kept) < _bytes(best.copies().kept):
            best = other
    first, second = set(best.first), set(best.second)
    own = {best.arguments[k] for k in best.weights}
    fixed = best.counting.union(i for i in best.second if not own.isdisjoint(best.body.nodes[i].inputs))
    Border(best.body, [0] * len(best.body.nodes), first, second, fixed).improve()
    other = dataclasses.replace(best, early=frozenset(first & best.second))
    return other if _bytes(other.copies().kept) < _bytes(best.copies().kept) else best


def _bytes(values: Iterable[ir.Value]) -> float:
    return sum(tensor_bytes(v.type) for v in values)


def _counts_up(loop: ir.Operation, counter: int) -> bool:
    """Whether the counter of a loop goes 0, 1, 2, ..."""
    step = defining_op(loop.regions[1].blocks[0].operations[-1].operands[counter])
    values = [] if step is None else [v for v in step.operands if not isinstance(v, ir.BlockArgument)]
    return _is_number(loop.operands[counter], 0) and len(values) == 1 and _is_number(values[0], 1)


def _is_number(value: ir.Value, number: int) -> bool:
    op = defining_op(value)
    if op is None or op.name != "stablehlo.constant" or value.type.rank:
        return False
    attr = op.attributes["value"]
    return isinstance(attr, ir.DenseElementsAttr) and attr.get_splat_value().value == number


class Fission:
    """Writes the two loops of one."""

    def __init__(self, parts: LoopParts) -> None:
        self.parts = parts
        self.copies = parts.copies()
        self.kept = list(self.copies.kept)

    def run(self) -> None:
        """Replace the loop by the two loops."""
        p = self.parts
        loop = p.loop
        with loop.context, loop.location, ir.InsertionPoint(loop):
            empty = [self._zeros(_stacked(v.type, p.count)) for v in self.kept]
            for_inputs, stacks = self._loop(p.first, p.inputs, empty, stacking=True)
            for_weights, _ = self._loop(p.second | self.copies.nodes, p.weights, stacks, stacking=False)
        for k in (p.counter, *p.inputs):
            loop.results[k].replace_all_uses_with(for_inputs[k])
        for k in p.weights:
            loop.results[k].replace_all_uses_with(for_weights[k])
        for k in p.unchanged:
            loop.results[k].replace_all_uses_with(loop.operands[k])
        loop.erase()

    def _loop(
        self, nodes: set[int], carried: list[int], stacks: list[ir.Value], stacking: bool
    ) -> tuple[dict[int, ir.Value], list[ir.Value]]:
        """A loop, at the insertion point, of `nodes`, which carries `carried` and `stacks`.

        It writes an element of each stack per iteration if it is `stacking`, else it reads one.  Returns the results by
        number in the old loop, and the stacks behind it.
        """
        p = self.parts
        cond = Dataflow(p.loop.regions[0].blocks[0])
        tested = cond.arguments(cond.returned)
        read = {v for i in nodes for v in p.body.nodes[i].inputs} | {p.body.returned[k] for k in carried}
        numbers = [p.counter]
        numbers += [k for k in p.unchanged if p.arguments[k] in read or cond.block.arguments[k] in tested]
        numbers += carried
        inits = [*(p.loop.operands[k] for k in numbers), *stacks]
        types = [v.type for v in inits]
        new = self._annotated(emit.create_op(WHILE, inits, types, regions=2))
        locations = [p.loop.location] * len(types)
        test, body = (region.blocks.append(*types, arg_locs=locations) for region in new.regions)
        with ir.InsertionPoint(test):
            values = {cond.block.arguments[k]: a for k, a in zip(numbers, test.arguments, strict=False)}
            clone_nodes(cond, cond.slice(cond.returned), values)
            emit.create_op("stablehlo.return", [values[v] for v in cond.returned], [])
        with ir.InsertionPoint(body):
            values = {p.arguments[k]: a for k, a in zip(numbers, body.arguments, strict=False)}
            own = list(body.arguments)[len(numbers) :]
            i = body.arguments[0]
            if not stacking:
                values |= {v: _element(s, i, v.type) for v, s in zip(self.kept, own, strict=True)}
            clone_nodes(p.body, nodes, values)
            if stacking:
                own = [_with_element(s, i, values[v]) for v, s in zip(self.kept, own, strict=True)]
            yields = [values.get(v := p.body.returned[k], v) for k in numbers]
            emit.create_op("stablehlo.return", [*yields, *own], [])
        return dict(zip(numbers, new.results, strict=False)), list(new.results)[len(numbers) :]


    def _zeros(self, type_: ir.RankedTensorType) -> ir.Value:
        """A tensor of zeros, at the insertion point."""
        element = type_.element_type
        if isinstance(element, ir.ComplexType):  # the bindings have no attribute of complex numbers
            part = self._zeros(emit.tensor(type_.shape, element.element_type))
            return self._with_attributes(emit.create("stablehlo.complex", [part, part], type_))
        scalar = emit.tensor([], element)
        value = ir.DenseElementsAttr.get_splat(scalar, number_attr(0, element))
        zero = self._with_attributes(emit.create("stablehlo.constant", [], scalar, value=value))
        return self._with_attributes(emit.broadcast(zero, type_))

    def _with_attributes(self, value: ir.Value) -> ir.Value:
        """A value whose op gets the attributes of the loop."""
        self._annotated(value.owner.operation)
        return value

    def _annotated(self, new: ir.Operation) -> ir.Operation:
        """A new op beside the loop, with the attributes of that."""
        for name in self.parts.loop.attributes:
            new.attributes[name] = self.parts.loop.attributes[name]
        return new


def _stacked(type_: ir.RankedTensorType, count: int) -> ir.RankedTensorType:
    return emit.tensor([count, *type_.shape], type_.element_type)


def _element(stack: ir.Value, i: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
    """Element `i`, of `type_`, of a stack."""
    block = emit.dynamic_slice(stack, _position(stack, i), [1, *type_.shape])
    return emit.reshape(block, type_.shape)


def _with_element(stack: ir.Value, i: ir.Value, value: ir.Value) -> ir.Value:
    """The stack with `value` as element `i`."""
    block = emit.reshape(value, [1, *value.type.shape])
    return emit.create("stablehlo.dynamic_update_slice", [stack, block, *_position(stack, i)], stack.type)


def _position(stack: ir.Value, i: ir.Value) -> list[ir.Value]:
    zero = ir.DenseElementsAttr.get_splat(i.type, number_attr(0, i.type.element_type))
    return [i] + [emit.create("stablehlo.constant", [], i.type, value=zero) for _ in range(stack.type.rank - 1)]
