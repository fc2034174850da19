"""Uneven data parallelism as a rewrite: one program, whose ops work on shares of the batch of different sizes.

A sharding splits a dimension equally, so that faster devices would wait.  Here the program itself is rewritten: every
op that has the batch becomes one op per group of devices on the group's share, and partial sums (a gradient: a sum over
the batch) are reduced where a replicated value is needed.  The factor rules decide that, as they do for one more mesh
axis; the local forms are those of the per-device lowering with blocks of the sizes of the shares.  The program computes
the same; nothing else here knows of meshes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from torch_mlir import ir

from pcg.ir import emit, mesh_names
from pcg.ir.clone import clone_mapped
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import defining_op, walk
from pcg.lower.local import local_form_of
from pcg.lower.neutral import neutral
from pcg.rewrite.uneven_layouts import (
    GROUP_AXIS,
    CannotShare,
    ShareContext,
    UnevenLayout,
    UnevenPartial,
    UnevenSplit,
    UnevenStrategy,
    joined_layout,
    local_type,
    strategy_by_factor,
)  # fmt: skip
from pcg.rules import traits
from pcg.rules.custom_call import has_side_effect
from pcg.rules.factor import Assignment, FactorRule
from pcg.rules.regions import REDUCERS
from pcg.rules.registry import CONTROL_FLOW, TERMINATORS, rule_for, shape
from pcg.rules.traits import Trait


class UnevenRewriter:
    """Splits the batch of `func` among groups.

    Args:
      func: the entry function; `batch` of its argument numbers have the batch in dimension 0.
      sizes: the share of each group; they add up to the batch.
      names: symbol of the mesh of each group, which its ops get as `dist.mesh`.
    """

    def __init__(self, func: ir.Operation, batch: Sequence[int], sizes: Sequence[int], names: Sequence[str]) -> None:
        self.func, self.sizes, self.names = func, tuple(sizes), tuple(names)
        self.block = func.regions[0].blocks[0]
        split = UnevenSplit(0, self.sizes)
        self.layouts: dict[ir.Value, UnevenLayout] = {self.block.arguments[i]: split for i in batch}
        #: Per group: value of the program -> the group's own.  Replicated values of the outer block have no entry.
        self.env: list[dict[ir.Value, ir.Value]] = [{} for _ in sizes]
        self.strategies: dict[ir.Operation, UnevenStrategy] = {}
        #: The layouts of the carried values of each loop that is split.
        self._loops: dict[ir.Operation, tuple[UnevenLayout, ...]] = {}
        self._combined: dict[ir.Value, ir.Value] = {}
        self._slices: dict[tuple[ir.Value, int, tuple[int, ...], int], ir.Value] = {}
        #: Ops that were shared, and (op, why) of those that could not be though part of their operands was.
        self.shared = 0
        self.kept: list[tuple[ir.Operation, str]] = []
        #: Bytes of partial sums that were reduced, and of shares that were gathered.
        self.summed = 0.0
        self.gathered = 0.0

    def run(self) -> None:
        """Rewrite the function."""
        *ops, last = (op.operation for op in self.block.operations)
        with ir.InsertionPoint(ops[0] if ops else last):
            for argument in [a for a in self.block.arguments if a in self.layouts]:
                for g in range(len(self.sizes)):
                    self.env[g][argument] = self._slice(argument, cast(UnevenSplit, self.layouts[argument]), g)
        done = []
        for op in ops:
            with ir.InsertionPoint(op), op.location:
                if self._share(op):
                    done.append(op)
                else:
                    self._keep(op)
        with ir.InsertionPoint(last), last.location:
            self._keep(last)
        for op in reversed(done):
            op.erase()
        self._drop_dead(last)

    # -- one op --------------------------------------------------------------------------------

    def _share(self, op: ir.Operation) -> bool:
        """Replace an op of the outer block by one per group, if that can be; whether it was."""
        try:
            if not self._infer(op, inside=False):
                return False
            for g in range(len(self.sizes)):
                self._emit(op, g)
        except CannotShare as why:
            for g in range(len(self.sizes)):
                for r in op.results:
                    self.env[g].pop(r, None)
            for inner in walk(op):
                for region in inner.regions:
                    self.layouts.update((a, None) for b in region.blocks for a in b.arguments)
                self.layouts.update(dict.fromkeys(inner.results))
            self._loops.pop(op, None)
            if str(why):
                self.kept.append((op, str(why)))
            return False
        self.shared += 1
        return True

    def _keep(self, op: ir.Operation) -> None:
        """An op on replicated values: combine those of its operands that are not."""
        for inner in list(walk(op)):
            for i, v in enumerate(inner.operands):
                if self.layouts.get(v) is not None:
                    with ir.InsertionPoint(op):
                        inner.operands[i] = self._combine(v)
                elif v in self.env[0]:  # a loop's result that every group has
                    inner.operands[i] = self.env[0][v]

    def _infer(self, op: ir.Operation, inside: bool) -> bool:
        """Choose the strategy of an op, and the layouts of its results; False if its operands are replicated.

        Raises:
          CannotShare: it needs operands replicated that are not; `inside` a loop also where some operands would have to
            be combined.
        """
        states = [self.layouts.get(v) for v in op.operands]
        if op.name == "stablehlo.while":
            if any(has_side_effect(inner) for inner in walk(op)):
                raise CannotShare("an op in it has a side effect, which every group would repeat")
            return self._infer_loop(op, states)
        used = op.operands if not len(op.regions) else [v for inner in walk(op) for v in inner.operands]
        if not any(self.layouts.get(v) is not None for v in used):
            self.layouts.update(dict.fromkeys(op.results))
            return False
        if op.name in CONTROL_FLOW or any(self.layouts.get(v) is not None for v in used if v not in set(op.operands)):
            raise CannotShare("its regions read shares")
        choice = self._choose(op, states, inside)
        lacking = [s is not None and s != n for s, n in zip(states, choice.needs, strict=True)]
        if inside and any(lacking):
            raise CannotShare("inside a loop shares are not combined")
        self.strategies[op] = choice
        self.layouts.update(zip(op.results, choice.results, strict=True))
        return True

    def _choose(self, op: ir.Operation, states: Sequence[UnevenLayout], inside: bool) -> UnevenStrategy:
        """The strategy of an op that combines the fewest bytes."""
        rule = rule_for(op)
        if rule.reason:
            raise CannotShare(rule.reason)
        found: list[tuple[float, UnevenStrategy]] = []
        why = ""
        for i, state in enumerate(states):
            if isinstance(state, UnevenSplit):
                try:
                    choice = strategy_by_factor(op, rule, i, state)
                except CannotShare as reason:
                    why = why or str(reason)
                    continue
                pairs = zip(op.operands, states, choice.needs, strict=True)
                found.append((math.fsum(tensor_bytes(v.type) for v, s, n in pairs if s not in (None, n)), choice))
        if found:
            return min(found, key=lambda x: x[0])[1]
        if not why:
            return self._linear(op, rule, states, inside)
        raise CannotShare(why)

    def _linear(
        self, op: ir.Operation, rule: FactorRule, states: Sequence[UnevenLayout], inside: bool
    ) -> UnevenStrategy:
        """The strategy of an op that is linear in its partial operands, if its results have no more bytes than these.

        Inside a loop a replicated value may be used as a partial one: the first group has it, the others the neutral
        element.  So gradients are accumulated into what starts as zeros.
        """
        partial = frozenset(i for i, s in enumerate(states) if s is not None)
        kinds = {s.kind for s in states if isinstance(s, UnevenPartial)}
        for k, linear in enumerate(rule.linear):
            fits = partial <= linear.operands if inside else partial == linear.operands
            if fits and kinds == {linear.kind}:
                before = sum(tensor_bytes(op.operands[i].type) for i in linear.operands)
                if sum(tensor_bytes(r.type) for r in op.results) > before:
                    raise CannotShare("")  # no reason to remark: fewer bytes are reduced before it
                assignment = Assignment(((),) * len(rule.factors), ((GROUP_AXIS, k),))
                partial_sum = UnevenPartial(linear.kind)
                needs = tuple(partial_sum if i in linear.operands else None for i in range(len(states)))
                return UnevenStrategy(rule, assignment, None, self.sizes, needs, (partial_sum,) * len(op.results))
        # Most ops need sums over the batch reduced.
        raise CannotShare("inside a loop a sum over the batch is needed reduced" if inside else "")

    # -- creating ops --------------------------------------------------------------------------

    def _emit(self, op: ir.Operation, g: int) -> None:
        """An op for group `g` at the insertion point."""
        if op in self._loops:
            results = self._emit_loop(op, g)
        elif (strategy := self.strategies.get(op)) is not None and any(s is not None for s in strategy.needs):
            operands = [self._at(v, n, g) for v, n in zip(op.operands, strategy.needs, strict=True)]
            types = [local_type(r.type, s, g) for r, s in zip(op.results, strategy.results, strict=True)]
            context = ShareContext(
                op, operands, types, strategy.rule, strategy.assignment, g, strategy.factor, strategy.sizes
            )
            results = list(local_form_of(op)(context))
            self._label(results, set(operands), g)
        else:
            results = list(clone_mapped(op, dict(self.env[g])).results)
        self.env[g].update(zip(op.results, results, strict=True))

    def _at(self, value: ir.Value, need: UnevenLayout, g: int) -> ir.Value:
        """What group `g` has of a value in the layout `need`."""
        have = self.layouts.get(value)
        if have == need and (have is not None or value in self.env[g]):
            return self.env[g][value]
        if need is None:
            return value if have is None else self._combine(value)
        here = self.env[g].get(value, value) if have is None else self._combine(value)
        if isinstance(need, UnevenPartial):
            return here if g == 0 else self._neutral(here.type, need.kind, g)
        return self._slice(here, need, g)

    def _slice(self, value: ir.Value, to: UnevenSplit, g: int) -> ir.Value:
        """The share of group `g` of a replicated value."""
        key = (value, to.dim, to.sizes, g)
        outer = isinstance(value, ir.BlockArgument) or value.owner.operation.parent == self.func
        if outer and key in self._slices:
            return self._slices[key]
        defining = defining_op(value)
        type_ = local_type(value.type, to, g)
        if defining is not None and defining.name == "stablehlo.constant" and defining.attributes["value"].is_splat:
            splat = ir.DenseElementsAttr.get_splat(type_, defining.attributes["value"].get_splat_value())
            share = emit.create("stablehlo.constant", [], type_, value=splat)
        elif defining is not None and defining.name == "stablehlo.broadcast_in_dim":
            dims, source = list(defining.attributes["broadcast_dimensions"]), defining.operands[0]
            if to.dim in dims and shape(source)[dims.index(to.dim)] > 1:
                source = self._slice(source, UnevenSplit(dims.index(to.dim), to.sizes), g)
            share = emit.broadcast(source, type_, dims)
        else:
            share = emit.slice_dim(value, to.dim, sum(to.sizes[:g]), sum(to.sizes[: g + 1]))
        self._mark(share.owner, g)
        if outer and self._at_top():
            self._slices[key] = share
        return share

    def _at_top(self) -> bool:
        return ir.InsertionPoint.current.block == self.block

    def _neutral(self, type_: ir.Type, kind: str, g: int) -> ir.Value:
        """The neutral element of a kind of reduction."""
        scalar = neutral(type_.element_type, kind)
        self._label([scalar], set(), g)
        everywhere = emit.broadcast(scalar, type_)
        self._mark(everywhere.owner, g)
        return everywhere

    def _combine(self, value: ir.Value) -> ir.Value:
        """A value of the outer block, replicated, from all groups; dist-propagate-meshes decides on which mesh."""
        if value in self._combined:
            return self._combined[value]
        state = self.layouts[value]
        parts = [env[value] for env in self.env]
        if isinstance(state, UnevenPartial):
            if state.kind not in REDUCERS:
                raise CannotShare(f"terms of a {state.kind} cannot be combined")
            found = parts[0]
            for part in parts[1:]:
                found = emit.create(REDUCERS[state.kind], [found, part], value.type)
            self.summed += tensor_bytes(value.type)
        else:
            assert state is not None
            found = emit.concatenate(parts, state.dim)
            self.gathered += tensor_bytes(value.type)
        self._combined[value] = found
        return found

    def _mark(self, op: ir.Operation, g: int) -> None:
        """Annotate an op of the outer block with the mesh of group `g`."""
        if self._at_top():
            mesh_names.set_op_mesh(op, self.names[g])

    def _label(self, values: Sequence[ir.Value], known: set[ir.Value], g: int) -> None:
        """Annotate the ops that compute `values` from the `known` ones with the mesh of group `g`."""
        if not self._at_top():
            return
        todo = list(values)
        while todo:
            value = todo.pop()
            if value in known or isinstance(value, ir.BlockArgument):
                continue
            known.add(value)
            op = value.owner.operation
            if mesh_names.ON not in op.attributes:
                mesh_names.set_op_mesh(op, self.names[g])
                todo += list(op.operands)

    def _drop_dead(self, last: ir.Operation) -> None:
        """Erase ops without uses: those of abandoned attempts, shares and combined values that were not needed."""
        for op in reversed([o.operation for o in self.block.operations]):
            if op != last and not any(len(list(r.uses)) for r in op.results) and _pure(op):
                op.erase()

    # -- loops ---------------------------------------------------------------------------------

    def _infer_loop(self, op: ir.Operation, states: Sequence[UnevenLayout]) -> bool:
        """The layout of each carried value of a loop, the same before and after an iteration.

        Raises:
          CannotShare: some value inside would have to be combined.
        """
        carries = list(states)
        cond, body = (r.blocks[0] for r in op.regions)
        for _ in range(2 * len(carries) + 2):
            for block in (cond, body):
                self.layouts.update(zip(block.arguments, carries, strict=True))
                for inner in block.operations:
                    if inner.operation.name not in TERMINATORS:
                        self.strategies.pop(inner.operation, None)
                        self._infer(inner.operation, inside=True)
            if any(self.layouts.get(v) is not None for v in cond.operations[-1].operation.operands):
                raise CannotShare("the trip count of the loop depends on shares")
            ends = [self.layouts.get(v) for v in body.operations[-1].operation.operands]
            merged = [joined_layout(a, b) for a, b in zip(carries, ends, strict=True)]
            if merged == carries:
                break
            carries = merged
        if not any(c is not None for c in carries) and not self._reads_shares(op):
            self._loops.pop(op, None)
            self.layouts.update(dict.fromkeys(op.results))
            return False
        self._loops[op] = tuple(carries)
        self.layouts.update(zip(op.results, carries, strict=True))
        return True

    def _reads_shares(self, op: ir.Operation) -> bool:
        return any(self.layouts.get(v) is not None for inner in walk(op) for v in inner.operands)

    def _emit_loop(self, op: ir.Operation, g: int) -> list[ir.Value]:
        carries = self._loops[op]
        operands = [self._at(v, c, g) for v, c in zip(op.operands, carries, strict=True)]
        types = [local_type(r.type, c, g) for r, c in zip(op.results, carries, strict=True)]
        attributes = {n: op.attributes[n] for n in op.attributes if not n.startswith("dist.")}
        new = ir.Operation.create(op.name, types, operands, attributes, regions=2)
        self._mark(new, g)
        for i, (old_region, new_region) in enumerate(zip(op.regions, new.regions, strict=True)):
            old = old_region.blocks[0]
            block = new_region.blocks.append(*types, arg_locs=[a.location for a in old.arguments])
            self.env[g].update(zip(old.arguments, block.arguments, strict=True))
            *ops, last = (o.operation for o in old.operations)
            with ir.InsertionPoint(block):
                for inner in ops:
                    with inner.location:
                        self._emit(inner, g)
                with last.location:
                    needs = carries if i else (None,) * len(last.operands)
                    ends = [self._at(v, c, g) for v, c in zip(last.operands, needs, strict=True)]
                    ir.Operation.create(last.name, operands=ends, loc=last.location)
        return list(new.results)


def _pure(op: ir.Operation) -> bool:
    """Whether an op without uses can be erased."""
    names = [inner.name for inner in walk(op)]
    return not any(n == "stablehlo.custom_call" or traits.has(n, Trait.HOST_IO) for n in names)
