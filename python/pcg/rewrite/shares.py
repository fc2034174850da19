"""Sharing a batch unevenly: one program, in parts of different sizes, each for a group of devices of its own.

A sharding cuts a dimension equally, so unlike devices would wait for each other.  Here the program itself is rewritten:
every op that has the batch becomes one op per group on the group's share, and what groups have only part of (a
gradient: a sum over the batch) is added up where somebody needs the whole.  The rules decide that, as they do for
one more mesh axis; the local forms are those of the per-device lowering with blocks of the sizes of the shares.  The
program computes what it did; nothing else here knows of meshes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from torch_mlir import ir

from pcg.ir import mesh_names
from pcg.ir.clone import clone_mapped
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import walk
from pcg.layout import Mesh
from pcg.lower.collectives import CollectiveBuilder
from pcg.lower.local import LocalContext, local_form_of
from pcg.lower.neutral import neutral
from pcg.rewrite.share_states import (
    AXIS,
    Choice,
    Partial,
    Split,
    State,
    Unshared,
    both,
    by_factor,
    local_type,
)  # fmt: skip
from pcg.rules import traits
from pcg.rules.custom_call import has_side_effect
from pcg.rules.factor import Assignment, FactorRule
from pcg.rules.regions import REDUCERS
from pcg.rules.registry import CONTROL_FLOW, TERMINATORS, rule_for, shape
from pcg.rules.traits import Trait

#: Why an op stays whole whose parts would exchange something.
_NEEDS_OTHERS = "its local form needs the other parts"


@dataclass
class ShareContext(LocalContext):
    """The parts are shares of the batch, each computed by a program of its own: this one is for group `group`."""

    group: int
    factor: int | None
    sizes: tuple[int, ...]

    @property
    def mesh(self) -> Mesh:
        """Raises Unshared: the programs of other groups are not there to exchange something with."""
        raise Unshared(_NEEDS_OTHERS)

    @property
    def collectives(self) -> CollectiveBuilder:
        """Raises Unshared, as `mesh` does."""
        raise Unshared(_NEEDS_OTHERS)

    def counts(self, axes: Sequence[str]) -> tuple[int, ...]:
        if axes:
            raise Unshared(_NEEDS_OTHERS)
        return ()

    def parts(self, factor: int) -> int:
        return len(self.sizes) if factor == self.factor else 1

    def per_device(self, numbers: Sequence[int], element: ir.Type | None = None) -> ir.Value:
        element = element or ir.IntegerType.get_signless(32)
        return self.constant(numbers[self.group], ir.RankedTensorType.get([], element))

    def axis_index(self, axes: Sequence[str], element: ir.Type | None = None) -> ir.Value:
        return self.per_device(range(len(self.sizes)) if axes else [0] * len(self.sizes), element)

    def blocks(self, factor: int) -> tuple[tuple[int, int], ...]:
        if factor != self.factor:
            return ((0, self.rule.factors[factor].size),) * len(self.sizes)
        return tuple((sum(self.sizes[:g]), n) for g, n in enumerate(self.sizes))

    def padded(self, factor: int) -> bool:
        return False


class Sharing:
    """Shares the batch of `func` among groups.

    Args:
      func: the entry function; `batch` of its argument numbers have the batch in dimension 0.
      sizes: the share of each group; they add up to the batch.
      names: symbol of the mesh of each group, which its ops get as `dist.mesh`.
    """

    def __init__(self, func: ir.Operation, batch: Sequence[int], sizes: Sequence[int], names: Sequence[str]) -> None:
        self.func, self.sizes, self.names = func, tuple(sizes), tuple(names)
        self.block = func.regions[0].blocks[0]
        self.states: dict[ir.Value, State] = {self.block.arguments[i]: Split(0, self.sizes) for i in batch}
        #: Per group: what stands for a value there.  Whole values of the outer block stand for themselves.
        self.env: list[dict[ir.Value, ir.Value]] = [{} for _ in sizes]
        self.choices: dict[ir.Operation, Choice] = {}
        #: The states of the carries of each loop that is shared.
        self._loops: dict[ir.Operation, tuple[State, ...]] = {}
        self._whole: dict[ir.Value, ir.Value] = {}
        self._slices: dict[tuple[ir.Value, int, tuple[int, ...], int], ir.Value] = {}
        #: Ops that were shared, and (op, why) of those that could not be though part of their operands was.
        self.shared = 0
        self.kept: list[tuple[ir.Operation, str]] = []
        #: Bytes of partial sums, and of shares, that were put together.
        self.summed = 0.0
        self.gathered = 0.0

    def run(self) -> None:
        """Rewrite the function."""
        *ops, last = (op.operation for op in self.block.operations)
        with ir.InsertionPoint(ops[0] if ops else last):
            for argument in [a for a in self.block.arguments if a in self.states]:
                for g in range(len(self.sizes)):
                    self.env[g][argument] = self._slice(argument, cast(Split, self.states[argument]), g)
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
        """Make an op of the outer block once per group, if that can be; whether it was."""
        try:
            if not self._infer(op, inside=False):
                return False
            for g in range(len(self.sizes)):
                self._emit(op, g)
        except Unshared as why:
            for g in range(len(self.sizes)):
                for r in op.results:
                    self.env[g].pop(r, None)
            for inner in walk(op):
                for region in inner.regions:
                    self.states.update((a, None) for b in region.blocks for a in b.arguments)
                self.states.update(dict.fromkeys(inner.results))
            self._loops.pop(op, None)
            if str(why):
                self.kept.append((op, str(why)))
            return False
        self.shared += 1
        return True

    def _keep(self, op: ir.Operation) -> None:
        """An op on whole values: put together those that it uses."""
        for inner in list(walk(op)):
            for i, v in enumerate(inner.operands):
                if self.states.get(v) is not None:
                    with ir.InsertionPoint(op):
                        inner.operands[i] = self._put_together(v)
                elif v in self.env[0]:  # a loop's result that every group has
                    inner.operands[i] = self.env[0][v]

    def _infer(self, op: ir.Operation, inside: bool) -> bool:
        """Decide how an op is shared, and what its results are; False if it works on whole values.

        Raises:
          Unshared: it works on whole values, though it would be given parts; `inside` a loop also where some
            operands would have to be put together.
        """
        states = [self.states.get(v) for v in op.operands]
        if op.name == "stablehlo.while":
            if any(has_side_effect(inner) for inner in walk(op)):
                raise Unshared("something in it is done besides computing, once and not by every group")
            return self._infer_loop(op, states)
        used = op.operands if not len(op.regions) else [v for inner in walk(op) for v in inner.operands]
        if not any(self.states.get(v) is not None for v in used):
            self.states.update(dict.fromkeys(op.results))
            return False
        if op.name in CONTROL_FLOW or any(self.states.get(v) is not None for v in used if v not in set(op.operands)):
            raise Unshared("it has regions that use parts")
        choice = self._choose(op, states, inside)
        lacking = [s is not None and s != n for s, n in zip(states, choice.needs, strict=True)]
        if inside and any(lacking):
            raise Unshared("inside a loop nothing is put together")
        self.choices[op] = choice
        self.states.update(zip(op.results, choice.makes, strict=True))
        return True

    def _choose(self, op: ir.Operation, states: Sequence[State], inside: bool) -> Choice:
        """The way to share an op that puts together the least."""
        rule = rule_for(op)
        if rule.reason:
            raise Unshared(rule.reason)
        found: list[tuple[float, Choice]] = []
        why = ""
        for i, state in enumerate(states):
            if isinstance(state, Split):
                try:
                    choice = by_factor(op, rule, i, state)
                except Unshared as reason:
                    why = why or str(reason)
                    continue
                pairs = zip(op.operands, states, choice.needs, strict=True)
                found.append((math.fsum(tensor_bytes(v.type) for v, s, n in pairs if s not in (None, n)), choice))
        if found:
            return min(found, key=lambda x: x[0])[1]
        if not why:
            return self._linear(op, rule, states, inside)
        raise Unshared(why)

    def _linear(self, op: ir.Operation, rule: FactorRule, states: Sequence[State], inside: bool) -> Choice:
        """Through an op that is linear in what is partial, if no more bytes come out of it than go in.

        Inside a loop a whole value will do where an addend is needed: the first group has it, the others nothing.  So
        gradients are collected into what starts as zeros.
        """
        partial = frozenset(i for i, s in enumerate(states) if s is not None)
        kinds = {s.kind for s in states if isinstance(s, Partial)}
        for k, linear in enumerate(rule.linear):
            fits = partial <= linear.operands if inside else partial == linear.operands
            if fits and kinds == {linear.kind}:
                before = sum(tensor_bytes(op.operands[i].type) for i in linear.operands)
                if sum(tensor_bytes(r.type) for r in op.results) > before:
                    raise Unshared("")  # nothing is lost: less is added up before it
                assignment = Assignment(((),) * len(rule.factors), ((AXIS, k),))
                needs = tuple(Partial(linear.kind) if i in linear.operands else None for i in range(len(states)))
                return Choice(rule, assignment, None, self.sizes, needs, (Partial(linear.kind),) * len(op.results))
        # Of sums over the batch most ops need the whole.
        raise Unshared("inside a loop a sum over the batch is needed whole" if inside else "")

    # -- making ops ----------------------------------------------------------------------------

    def _emit(self, op: ir.Operation, g: int) -> None:
        """An op for group `g` at the insertion point."""
        if op in self._loops:
            results = self._emit_loop(op, g)
        elif op in self.choices and any(s is not None for s in self.choices[op].needs):
            choice = self.choices[op]
            operands = [self._at(v, n, g) for v, n in zip(op.operands, choice.needs, strict=True)]
            types = [local_type(r.type, s, g) for r, s in zip(op.results, choice.makes, strict=True)]
            context = ShareContext(
                op, list(operands), types, choice.rule, choice.assignment, g, choice.factor, choice.sizes
            )
            results = list(local_form_of(op)(context))
            self._label(results, set(operands), g)
        else:
            results = list(clone_mapped(op, dict(self.env[g])).results)
        self.env[g].update(zip(op.results, results, strict=True))

    def _at(self, value: ir.Value, need: State, g: int) -> ir.Value:
        """What group `g` has of a value, in the state `need`."""
        have = self.states.get(value)
        if have == need and (have is not None or value in self.env[g]):
            return self.env[g][value]
        if need is None:
            return value if have is None else self._put_together(value)
        here = self.env[g].get(value, value) if have is None else self._put_together(value)
        if isinstance(need, Partial):
            return here if g == 0 else self._nothing(here.type, need.kind, g)
        return self._slice(here, need, g)

    def _slice(self, value: ir.Value, to: Split, g: int) -> ir.Value:
        """The share of group `g` of a whole value."""
        key = (value, to.dim, to.sizes, g)
        outer = isinstance(value, ir.BlockArgument) or value.owner.operation.parent == self.func
        if outer and key in self._slices:
            return self._slices[key]
        maker = None if isinstance(value, ir.BlockArgument) else value.owner.operation
        type_ = local_type(value.type, to, g)
        if maker is not None and maker.name == "stablehlo.constant" and maker.attributes["value"].is_splat:
            splat = ir.DenseElementsAttr.get_splat(type_, maker.attributes["value"].get_splat_value())
            made = self._create("stablehlo.constant", [], type_, g, value=splat)
        elif maker is not None and maker.name == "stablehlo.broadcast_in_dim":
            dims = list(maker.attributes["broadcast_dimensions"])
            source = maker.operands[0]
            if to.dim in dims and shape(source)[dims.index(to.dim)] > 1:
                source = self._slice(source, Split(dims.index(to.dim), to.sizes), g)
            attribute = maker.attributes["broadcast_dimensions"]
            made = self._create(maker.name, [source], type_, g, broadcast_dimensions=attribute)
        else:
            array = ir.DenseI64ArrayAttr.get
            start, limit = [0] * type_.rank, list(value.type.shape)
            start[to.dim] = sum(to.sizes[:g])
            limit[to.dim] = start[to.dim] + to.sizes[g]
            made = self._create(
                "stablehlo.slice", [value], type_, g, start_indices=array(start), limit_indices=array(limit),
                strides=array([1] * type_.rank),
            )
        if outer and self._at_top():
            self._slices[key] = made
        return made

    def _at_top(self) -> bool:
        return ir.InsertionPoint.current.block == self.block

    def _nothing(self, type_: ir.Type, kind: str, g: int) -> ir.Value:
        """The neutral element of a kind of sum."""
        scalar = neutral(type_.element_type, kind)
        self._label([scalar], set(), g)
        nowhere = ir.DenseI64ArrayAttr.get([])
        return self._create("stablehlo.broadcast_in_dim", [scalar], type_, g, broadcast_dimensions=nowhere)

    def _put_together(self, value: ir.Value) -> ir.Value:
        """The whole of a value of the outer block, from all groups; where it is made is for others to decide."""
        if value in self._whole:
            return self._whole[value]
        state = self.states[value]
        parts = [env[value] for env in self.env]
        if isinstance(state, Partial):
            if state.kind not in REDUCERS:
                raise Unshared(f"parts of a {state.kind} cannot be put together")
            found = parts[0]
            for part in parts[1:]:
                found = self._create(REDUCERS[state.kind], [found, part], value.type, None)
            self.summed += tensor_bytes(value.type)
        else:
            assert state is not None
            i64 = ir.IntegerType.get_signless(64)
            dim = ir.IntegerAttr.get(i64, state.dim)
            found = self._create("stablehlo.concatenate", parts, value.type, None, dimension=dim)
            self.gathered += tensor_bytes(value.type)
        self._whole[value] = found
        return found

    def _create(
        self, name: str, operands: Sequence[ir.Value], type_: ir.Type, g: int | None, **attributes: ir.Attribute
    ) -> ir.Value:
        op = ir.Operation.create(
            name, results=[type_], operands=list(operands), attributes=attributes, loc=ir.Location.current
        )
        if g is not None and self._at_top():
            mesh_names.set_op_mesh(op, self.names[g])
        return op.result

    def _label(self, values: Sequence[ir.Value], known: set[ir.Value], g: int) -> None:
        """Say of the ops that made `values` of the `known` ones that they run on the mesh of group `g`."""
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
        """Take away what nobody uses: attempts that came to nothing, parts and wholes that were not needed."""
        for op in reversed([o.operation for o in self.block.operations]):
            if op != last and not any(len(list(r.uses)) for r in op.results) and _pure(op):
                op.erase()

    # -- loops ---------------------------------------------------------------------------------

    def _infer_loop(self, op: ir.Operation, states: Sequence[State]) -> bool:
        """The state of each carry of a loop, the same before and after a trip.

        Raises:
          Unshared: something inside would have to be put together.
        """
        carries = list(states)
        cond, body = (r.blocks[0] for r in op.regions)
        for _ in range(2 * len(carries) + 2):
            for block in (cond, body):
                self.states.update(zip(block.arguments, carries, strict=True))
                for inner in block.operations:
                    if inner.operation.name not in TERMINATORS:
                        self.choices.pop(inner.operation, None)
                        self._infer(inner.operation, inside=True)
            if any(self.states.get(v) is not None for v in list(cond.operations)[-1].operation.operands):
                raise Unshared("how often a loop runs depends on parts")
            ends = [self.states.get(v) for v in list(body.operations)[-1].operation.operands]
            merged = [both(a, b) for a, b in zip(carries, ends, strict=True)]
            if merged == carries:
                break
            carries = merged
        if not any(c is not None for c in carries) and not self._uses_parts(op):
            self._loops.pop(op, None)
            self.states.update(dict.fromkeys(op.results))
            return False
        self._loops[op] = tuple(carries)
        self.states.update(zip(op.results, carries, strict=True))
        return True

    def _uses_parts(self, op: ir.Operation) -> bool:
        return any(self.states.get(v) is not None for inner in walk(op) for v in inner.operands)

    def _emit_loop(self, op: ir.Operation, g: int) -> list[ir.Value]:
        carries = self._loops[op]
        operands = [self._at(v, c, g) for v, c in zip(op.operands, carries, strict=True)]
        types = [local_type(r.type, c, g) for r, c in zip(op.results, carries, strict=True)]
        attributes = {n: op.attributes[n] for n in _names(op) if not n.startswith("dist.")}
        new = ir.Operation.create(
            op.name, results=types, operands=operands, attributes=attributes, regions=2, loc=op.location
        )
        if self._at_top():
            mesh_names.set_op_mesh(new, self.names[g])
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


def _names(op: ir.Operation) -> list[str]:
    return [a if isinstance(a, str) else a.name for a in op.attributes]


def _pure(op: ir.Operation) -> bool:
    """Whether an op that nobody uses can go."""
    names = [inner.name for inner in walk(op)]
    return not any(n == "stablehlo.custom_call" or traits.has(n, Trait.HOST_IO) for n in names)


def batch_of(func: ir.Operation, data: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """(size of the batch, those of the arguments `data` that have it in dimension 0): the size that most of them have.

    Of equally many the larger; 0 where there is none.
    """
    arguments = func.regions[0].blocks[0].arguments
    lengths: dict[int, list[int]] = {}
    for i in data:
        full = shape(arguments[i])
        if full and full[0] > 1:
            lengths.setdefault(full[0], []).append(i)
    if not lengths:
        return 0, ()
    size = max(lengths, key=lambda n: (len(lengths[n]), n))
    return size, tuple(lengths[size])


def owners(func: ir.Operation, arguments: Sequence[int], names: Sequence[str]) -> dict[int, str]:
    """Which of `names` has which argument, so that each has about as many bytes: greedily, the largest first."""
    sizes = {i: tensor_bytes(func.regions[0].blocks[0].arguments[i].type) for i in arguments}
    load = dict.fromkeys(names, 0.0)
    found = {}
    for i in sorted(sizes, key=lambda i: (-sizes[i], i)):
        found[i] = min(load, key=lambda n: (load[n], n))
        load[found[i]] += sizes[i]
    return found
