"""The program that the destination of a rule is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch_mlir import ir

from pcg.ir import emit, shardings, stablehlo
from pcg.ir.walk import defining_op
from pcg.rewrite.substitutions.match import PRECISION, Match
from pcg.rewrite.substitutions.view import FUNCTIONS, View, joined_dimension
from pcg.rules.values import splat
from pcg.substitute.operators.operator import NONE
from pcg.substitute.pattern import Hole, Name, Pattern

_FUNCTIONS = {name: op for op, name in FUNCTIONS.items()}


def emit_destination(match: Match) -> ir.Value:
    """Compute what the destination of a rule is, before the op whose result it may replace, and return it."""
    with ir.InsertionPoint(match.op), match.op.location:
        emitter = _Emitter(match)
        found = emitter.of(match.schema.destination)
        return emitter.like(found, View(match.op.results[0], match.groups))


@dataclass
class _Emitter:
    match: Match

    def of(self, pattern: Pattern | Hole) -> View:
        if isinstance(pattern, Hole):
            return self._plain(self.match.views[pattern.name])
        parameters = [self.match.parameters[p.name] if isinstance(p, Name) else p for p in pattern.parameters]
        operands = pattern.operands
        if pattern.operator == "add":
            return self._add(operands[0], operands[1])
        if pattern.operator == "scale":
            return self._scale(self.of(operands[0]), self.match.views[_name(operands[1])])
        if pattern.operator == "unmerge" and isinstance(operands[0], Hole):
            return self._unmerge(parameters, self.match.views[operands[0].name])
        return getattr(self, f"_{pattern.operator}")(parameters, *(self.of(o) for o in operands))

    def _plain(self, view: View) -> View:
        """The view of a value that is there, whose sign and parts are those of the view."""
        if view.skipped:
            op = view.value.owner.operation
            dim = joined_dimension(op)
            value = emit.concatenate(list(op.operands)[view.skipped :], dim)
            view = replace(view, value=value, skipped=0)
        if view.negated:
            view = View(emit.create("stablehlo.negate", [view.value], view.value.type), view.groups)
        return view

    # -- operators -----------------------------------------------------------------------------

    def _add(self, x: Pattern | Hole, y: Pattern | Hole) -> View:
        negated = isinstance(y, Pattern) and y.operator == "neg"
        left = self.of(x)
        right = self.of(y.operands[0]) if negated and isinstance(y, Pattern) else self.of(y)
        left, right = self._aligned(left, right)
        return View(emit.binary("subtract" if negated else "add", left.value, right.value), left.groups)

    def _mul(self, _: Sequence[int | str], x: View, y: View) -> View:
        x, y = self._aligned(x, y)
        return View(emit.binary("multiply", x.value, y.value), x.groups)

    def _neg(self, _: Sequence[int | str], x: View) -> View:
        return View(emit.create("stablehlo.negate", [x.value], x.value.type), x.groups)

    def _scale(self, x: View, number: View) -> View:
        return View(emit.binary("multiply", x.value, _everywhere(number.value, x.value.type)), x.groups)

    def _unary(self, parameters: Sequence[int | str], x: View) -> View:
        if parameters[0] == "relu":
            return View(emit.binary("maximum", x.value, _zeros(x.value.type)), x.groups)
        return View(emit.create(_FUNCTIONS[str(parameters[0])], [x.value], x.value.type), x.groups)

    def _matmul(self, parameters: Sequence[int | str], x: View, y: View) -> View:
        if _sizes(x, 1) != _sizes(y, 0):
            x, y = _flat(x), _flat(y)
        (rows, k), (l, columns) = x.groups, y.groups
        free = [sorted(rows), sorted(columns)]
        shape = [v.value.type.shape[d] for v, dims in zip((x, y), free, strict=True) for d in dims]
        like = next((o for o in self.match.ops if o.name == "stablehlo.dot_general"), None)
        attributes = {n: like.attributes[n] for n in PRECISION if like is not None and n in like.attributes}
        numbers = stablehlo.DotDimensionNumbers.get([], [], list(k), list(l))
        value = emit.create(
            "stablehlo.dot_general", [x.value, y.value], emit.tensor(shape, x.value.type.element_type),
            dot_dimension_numbers=numbers, **attributes,
        )  # fmt: skip
        groups = tuple(free[0].index(d) for d in rows), tuple(len(rows) + free[1].index(d) for d in columns)
        product = View(value, groups)
        return product if parameters[0] == NONE else self._unary(parameters, product)

    def _concat(self, parameters: Sequence[int | str], x: View, y: View) -> View:
        axis = int(parameters[0]) - 1
        others = [g for g in range(len(x.groups)) if g != axis]
        if len(x.groups[axis]) != 1 or len(y.groups[axis]) != 1 or any(_sizes(x, g) != _sizes(y, g) for g in others):
            x, y = _flat(x), _flat(y)
        y = _in_order(y, x)
        (dim,) = x.groups[axis]
        values = [x.value]
        last = defining_op(y.value)
        same = last is not None and last.name == "stablehlo.concatenate" and not list(y.value.uses)
        if last is not None and same and joined_dimension(last) == dim:
            values += list(last.operands)  # one of several
        else:
            values.append(y.value)
            last = None
        found = View(emit.concatenate(values, dim), x.groups)
        if last is not None and all(last.results[0] != v.value for v in self.match.views.values()):
            last.erase()
        return found

    def _slice(self, parameters: Sequence[int | str], x: View) -> View:
        axis, start, size = (int(p) for p in parameters)
        group = x.groups[axis - 1]
        inner = math.prod(x.value.type.shape[d] for d in group[1:])
        if not group or start % inner or size % inner:
            x, inner = _flat(x), 1
            group = x.groups[axis - 1]
        dim, start, size, value = group[0], start // inner, size // inner, x.value
        op = defining_op(value)
        while op is not None and op.name == "stablehlo.slice" and _only(op, dim):
            # A part of a part is a part: compilers would find that out as well, costs would be counted twice.
            start += list(ir.DenseI64ArrayAttr(op.attributes["start_indices"]))[dim]
            value = op.operands[0]
            op = defining_op(value)
        return View(emit.slice_dim(value, dim, start, start + size), x.groups)

    def _transpose(self, parameters: Sequence[int | str], x: View) -> View:
        groups = list(x.groups)
        i, j = (int(p) - 1 for p in parameters)
        groups[i], groups[j] = groups[j], groups[i]
        return View(x.value, tuple(groups))

    def _merge(self, parameters: Sequence[int | str], x: View) -> View:
        dim = int(parameters[0]) - 1
        return View(x.value, (*x.groups[:dim], x.groups[dim] + x.groups[dim + 1], *x.groups[dim + 2 :]))

    def _unmerge(self, parameters: Sequence[int | str], x: View) -> View:
        group, size = int(parameters[0]) - 1, int(parameters[1])
        if x.skipped:
            op = x.value.owner.operation
            along, parts = joined_dimension(op), list(op.operands)[x.skipped :]
            if x.groups[group] == (along,) and all(v.type.shape[along] % size == 0 for v in parts):
                found = [self._unmerge(parameters, View(v, x.groups)) for v in parts]
                return View(emit.concatenate([v.value for v in found], along), found[0].groups)
        x = self._plain(x)
        if len(x.groups[group]) != 1:
            x = _flat(x)
        (dim,) = x.groups[group]
        shape = list(x.value.type.shape)
        shape[dim : dim + 1] = shape[dim] // size, size
        groups = [tuple(d + (d > dim) for d in g) for g in x.groups]
        return View(_reshaped(x.value, shape, self.match.op), (*groups[: group + 1], (dim + 1,), *groups[group + 1 :]))

    def _zeros(self, parameters: Sequence[int | str]) -> View:
        element = self.match.op.results[0].type.element_type
        return View(_zeros(emit.tensor([int(p) for p in parameters], element)), ((0,), (1,)))

    def _scatter_add(self, _: Sequence[int | str], table: View, indices: View, rows: View) -> View:
        like = next(o for o in self.match.ops if o.name == "stablehlo.scatter")
        types = [v.type for v in like.operands]
        rank, window = types[0].rank, types[2].rank - types[0].rank + 1
        groups = ((0,), tuple(range(1, rank)))
        first = _of_type(table, types[0].shape, groups)
        second = _of_type(indices, types[1].shape, (tuple(range(types[1].rank)),))
        third = _of_type(
            rows, types[2].shape, (tuple(range(window)), tuple(range(window, types[2].rank)))
        )  # fmt: skip
        new = like.clone()
        for i, value in enumerate((first, second, third)):
            new.operands[i] = value
        return View(new.results[0], groups)

    # -- forms ---------------------------------------------------------------------------------

    def _aligned(self, x: View, y: View) -> tuple[View, View]:
        """Both with the same order of dimensions."""
        if any(_sizes(x, g) != _sizes(y, g) for g in range(len(x.groups))):
            x, y = _flat(x), _flat(y)
        return x, _in_order(y, x)

    @staticmethod
    def like(found: View, wanted: View) -> ir.Value:
        """The value as `wanted` has it."""
        return _of_type(found, wanted.value.type.shape, wanted.groups)


def _name(pattern: Pattern | Hole) -> str:
    assert isinstance(pattern, Hole), "a number is a variable"
    return pattern.name


def _sizes(view: View, group: int) -> list[int]:
    return [view.value.type.shape[d] for d in view.groups[group]]


def _in_order(view: View, other: View) -> View:
    """The view transposed, so that each of its groups has the dimensions that the group of `other` has."""
    order = [0] * view.value.type.rank
    for own, theirs in zip(view.groups, other.groups, strict=True):
        for d, e in zip(own, theirs, strict=True):
            order[e] = d
    return View(_transposed(view.value, order), other.groups)


def _transposed(value: ir.Value, order: Sequence[int]) -> ir.Value:
    if list(order) == list(range(len(order))):
        return value
    type_ = emit.tensor([value.type.shape[d] for d in order], value.type.element_type)
    return emit.create("stablehlo.transpose", [value], type_, permutation=emit.i64s(order))


def _flat(view: View) -> View:
    """The view with one dimension for each group."""
    value = _transposed(view.value, [d for group in view.groups for d in group])
    if list(value.type.shape) != list(view.shape):
        value = emit.reshape(value, view.shape)
    return View(value, tuple((g,) for g in range(len(view.groups))))


def _reshaped(value: ir.Value, shape: Sequence[int], before: ir.Operation) -> ir.Value:
    """The value in another shape, where that is there already, that; all parts of a value are then parts of one."""
    for use in value.uses:
        op = use.owner.operation
        there = op.name == "stablehlo.reshape" and list(op.results[0].type.shape) == list(shape)
        there = there and shardings.SPECS not in op.attributes
        if there and op.parent == before.parent and op.is_before_in_block(before):
            return op.results[0]
    return emit.reshape(value, shape)


def _of_type(view: View, shape: Sequence[int], groups: Sequence[Sequence[int]]) -> ir.Value:
    """The value with dimensions of `shape`, of which `groups` are those of the view."""
    wanted = [[shape[d] for d in group] for group in groups]
    if any(_sizes(view, g) != sizes for g, sizes in enumerate(wanted)):
        value = _transposed(view.value, [d for group in view.groups for d in group])
        sizes = [n for group in wanted for n in group]
        value = emit.reshape(value, sizes) if list(value.type.shape) != sizes else value
        at, split = 0, []
        for group in wanted:
            split.append(tuple(range(at, at + len(group))))
            at += len(group)
        view = View(value, tuple(split))
    order = [0] * len(shape)
    for own, theirs in zip(view.groups, groups, strict=True):
        for d, e in zip(own, theirs, strict=True):
            order[e] = d
    return _transposed(view.value, order)


def _only(op: ir.Operation, dim: int) -> bool:
    """Whether a slice takes a part of `dim` alone, without strides."""
    shape = op.operands[0].type.shape
    limits = list(ir.DenseI64ArrayAttr(op.attributes["limit_indices"]))
    starts = list(ir.DenseI64ArrayAttr(op.attributes["start_indices"]))
    strides = list(ir.DenseI64ArrayAttr(op.attributes["strides"]))
    return strides[dim] == 1 and all(
        (starts[d], limits[d], strides[d]) == (0, n, 1) for d, n in enumerate(shape) if d != dim
    )


def _everywhere(number: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
    """A number in all elements."""
    if not number.type.shape:
        return emit.broadcast(number, type_)
    if number.type == type_:
        return number
    scalar = ir.DenseElementsAttr.get_splat(emit.tensor([], type_.element_type), _splat_attribute(number))
    constant = emit.create("stablehlo.constant", [], emit.tensor([], type_.element_type), value=scalar)
    return emit.broadcast(constant, type_)


def _splat_attribute(value: ir.Value) -> ir.Attribute:
    """The element of a constant whose elements are all the same."""
    op = defining_op(value)
    assert op is not None and splat(value) is not None
    return ir.DenseElementsAttr(op.attributes["value"]).get_splat_value()


def _zeros(type_: ir.RankedTensorType) -> ir.Value:
    element = type_.element_type
    zero = ir.IntegerAttr.get(element, 0) if isinstance(element, ir.IntegerType) else ir.FloatAttr.get(element, 0.0)
    value = ir.DenseElementsAttr.get_splat(type_, zero)
    return emit.create("stablehlo.constant", [], type_, value=value)
