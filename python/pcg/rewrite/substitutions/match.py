"""Where a rule matches in a program."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from torch_mlir import ir

from pcg.ir import stablehlo
from pcg.ir.walk import defining_op
from pcg.rewrite.substitutions.view import ALTERNATIVES, Groups, View, joined_dimension, readings
from pcg.substitute.errors import RuleError, TermError
from pcg.substitute.evaluate import indices
from pcg.substitute.pattern import Hole, Name, Pattern
from pcg.substitute.prove import holds
from pcg.substitute.rounding import is_exact
from pcg.substitute.rule import Rule
from pcg.substitute.schema import Schema
from pcg.substitute.tensor_type import TensorType

#: By the operator at the root of a rule, the ops that it is.
_ROOTS = {
    "add": ("stablehlo.add", "stablehlo.subtract"), "mul": ("stablehlo.multiply",), "scale": ("stablehlo.multiply",),
    "neg": ("stablehlo.negate",), "matmul": ("stablehlo.dot_general",), "concat": ("stablehlo.concatenate",),
    "slice": ("stablehlo.slice",), "scatter_add": ("stablehlo.scatter",),
}  # fmt: skip


#: Attributes of a product that say how it is rounded.
PRECISION = ("precision_config", "algorithm")


@dataclass(frozen=True)
class Match:
    """A rule at an op: what its variables and parameters are, and the ops that it reads."""

    schema: Schema
    op: ir.Operation
    groups: Groups
    views: Mapping[str, View]
    parameters: Mapping[str, int | str]
    rule: Rule
    """The rule for the sizes of the views, which is proved."""
    ops: tuple[ir.Operation, ...]
    """The ops that are operators of the source."""

    @property
    def key(self) -> object:
        """What tells two matches apart."""
        return self.schema.name, self.groups, tuple(self.views.items()), tuple(self.parameters.items())


@dataclass(frozen=True)
class _Bound:
    views: Mapping[str, View] = field(default_factory=dict)
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    ops: tuple[ir.Operation, ...] = ()


def matches(schema: Schema, op: ir.Operation) -> Iterator[Match]:
    """Every way in which the source of a rule is what an op computes, if both sides are proved to be equal there."""
    if op.name not in _ROOTS.get(schema.source.operator, ()):
        return
    result = op.results[0]
    if not isinstance(result.type, ir.RankedTensorType) or not _plain(result.type):
        return
    seen = set()
    if _in_blocks(schema):
        if not _beside_product(op):
            return
        rank = result.type.rank
        groupings: list[Groups] = [(tuple(range(rank - 1)), (rank - 1,))] if rank else []
    else:
        groupings = _groupings(op)
    for groups in groupings:
        for bound in _of_view(schema.source, View(result, groups), _Bound()):
            match = _checked(schema, op, groups, bound)
            if match is not None and match.key not in seen:
                seen.add(match.key)
                yield match


def _in_blocks(schema: Schema) -> bool:
    """Whether a rule is of columns, whatever they are, in blocks of a size that is to be chosen."""
    return bool(schema.chosen) and schema.source.operator in ("concat", "slice")


def _beside_product(op: ir.Operation) -> bool:
    """Whether what an op moves is a product, or is an operand of one.

    Elsewhere blocks are not tried: layouts change beside products.
    """
    readers = (use.owner.operation.name for use in op.results[0].uses)
    return any("stablehlo.dot_general" in _names(v) for v in op.operands) or "stablehlo.dot_general" in readers


class Rules:
    """Rules by the ops that they may begin at."""

    def __init__(self, schemas: Sequence[Schema]) -> None:
        self._by_root: dict[str, list[tuple[Schema, list[frozenset[str]]]]] = {}
        for schema in schemas:
            # A subtraction is a sum with what is negated, so an operand need not be a negation to be taken for one.
            inner = [_before_negation(o).operator for o in schema.source.operands if isinstance(o, Pattern)]
            wanted = [frozenset(_ROOTS[name]) for name in inner if name in _ROOTS and name != "neg"]
            for name in _ROOTS.get(schema.source.operator, ()):
                self._by_root.setdefault(name, []).append((schema, wanted))

    def of(self, op: ir.Operation) -> list[Schema]:
        """Those that may match at `op`, by the ops that compute its operands."""
        rules = self._by_root.get(op.name)
        if rules is None:
            return []
        inner = frozenset[str]().union(*(_names(v, negated=True) for v in op.operands))
        return [schema for schema, wanted in rules if all(inner & names for names in wanted)]


def _before_negation(pattern: Pattern) -> Pattern:
    """What is negated, where that is an operator, too."""
    while pattern.operator == "neg" and isinstance(pattern.operands[0], Pattern):
        pattern = pattern.operands[0]
    return pattern


def _names(value: ir.Value, *, negated: bool = False) -> frozenset[str]:
    """The ops that a value may be computed by, before transposes and reshapes, of alternatives by any.

    `negated`: of a negation also those of what is negated.
    """
    while (op := defining_op(value)) is not None and op.name in ("stablehlo.transpose", "stablehlo.reshape"):
        value = op.operands[0]
    if op is None:
        return frozenset()
    if op.name == ALTERNATIVES:
        return frozenset().union(*(_names(v, negated=negated) for v in op.operands))
    below = negated and op.name == "stablehlo.negate"
    return frozenset((op.name,)) | (_names(op.operands[0], negated=True) if below else frozenset())


def _plain(type: ir.RankedTensorType) -> bool:
    """Whether a tensor has sizes that are known and elements that sums and products of numbers are defined on."""
    element = type.element_type
    number = isinstance(element, ir.FloatType) or (isinstance(element, ir.IntegerType) and element.width > 1)
    return type.has_static_shape and number and 0 not in type.shape


def _groupings(op: ir.Operation) -> list[Groups]:
    """The views of a result that are tried: the rows and columns of a product, else any outer and inner dimensions."""
    rank = op.results[0].type.rank
    if op.name == "stablehlo.dot_general":
        free = op.operands[0].type.rank - len(_contracted(op))
        return [(tuple(range(free)), tuple(range(free, rank)))]
    return [(tuple(range(d)), tuple(range(d, rank))) for d in range(rank + 1)]


def _contracted(op: ir.Operation) -> list[int]:
    return list(stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"]).lhs_contracting_dimensions)


def _of_view(pattern: Pattern | Hole, view: View, bound: _Bound) -> Iterator[_Bound]:
    if isinstance(pattern, Hole):
        known = bound.views.get(pattern.name)
        if known is None:
            yield _Bound({**bound.views, pattern.name: view}, bound.parameters, bound.ops)
        elif known == view:
            yield bound
        return
    for reading in readings(view):
        if reading.operator != pattern.operator:
            continue
        parameters = _with(bound.parameters, pattern.parameters, reading.parameters)
        if parameters is None:
            continue
        here = _Bound(bound.views, parameters, (*bound.ops, reading.op))
        orders = [reading.operands]
        if reading.operator in ("add", "mul"):
            orders.append(reading.operands[::-1])
        for operands in orders:
            found = [here]
            for part, operand in zip(pattern.operands, operands, strict=True):
                found = [b for before in found for b in _of_view(part, operand, before)]
            yield from found


def _with(
    known: Mapping[str, int | str], wanted: tuple[int | str | Name, ...], found: tuple[int | str, ...]
) -> Mapping[str, int | str] | None:
    """`known` with the parameters that are names; None where others are not what is wanted."""
    out = dict(known)
    for w, f in zip(wanted, found, strict=True):
        if isinstance(w, Name):
            if out.setdefault(w.name, f) != f:
                return None
        elif w != f:
            return None
    return out


def _checked(schema: Schema, op: ir.Operation, groups: Groups, bound: _Bound) -> Match | None:
    """The match, if the rule can be built for these sizes, and holds."""
    elements = {r.type.element_type for r in (o.results[0] for o in bound.ops)}
    elements |= {v.value.type.element_type for n, v in bound.views.items() if n not in _indices(schema)}
    if len(elements) != 1:
        return None  # what is computed in another precision is another value
    if not _one_precision(bound.ops):
        return None
    types = {name: view.type for name, view in bound.views.items()}
    known = dict(bound.parameters)
    if _in_blocks(schema):
        block = _block(op)
        if block == 1:
            return None
        known |= dict.fromkeys(schema.chosen, block)
    rule = _rule(schema, tuple(types.items()), tuple(known.items()))
    if rule is None:
        return None
    sizes = schema.sizes(types) or {}
    parameters = schema.divided({**known, **sizes})
    return Match(schema, op, groups, bound.views, parameters, rule, bound.ops)


def _block(op: ir.Operation) -> int:
    """The largest block of which all parts of a concatenation, or all slices of a value, have a number."""
    if op.name == "stablehlo.concatenate":
        return math.gcd(*(v.type.shape[joined_dimension(op)] for v in op.operands))
    value = op.operands[0]
    slices = [u.owner.operation for u in value.uses if u.owner.operation.name == "stablehlo.slice"]
    last = [list(ir.DenseI64ArrayAttr(s.attributes[n]))[-1] for s in slices for n in ("start_indices", "limit_indices")]
    return math.gcd(value.type.shape[-1], *last)


def _one_precision(ops: Sequence[ir.Operation]) -> bool:
    """Whether all products among ops are computed in one precision, the same of both operands."""
    products = [op for op in ops if op.name == "stablehlo.dot_general"]
    said = {tuple(str(op.attributes[n]) if n in op.attributes else "" for n in PRECISION) for op in products}
    for precision, algorithm in said:
        operands = set(re.findall(r"<(?:precision )?(\w+)>", precision))
        types = set(re.findall(r"[lr]hs_precision_type = (\w+)", algorithm))
        counts = set(re.findall(r"[lr]hs_component_count = (\d+)", algorithm))
        if max(len(operands), len(types), len(counts)) > 1:
            return False
    return len(said) <= 1


@lru_cache(maxsize=1 << 12)
def _rule(
    schema: Schema, types: tuple[tuple[str, TensorType], ...], bound: tuple[tuple[str, int | str], ...]
) -> Rule | None:
    """The rule for such types, if there is one and it is proved."""
    of, parameters = dict(types), dict(bound)
    sizes = schema.sizes(of)
    if sizes is None or any(parameters.get(n, s) != s for n, s in sizes.items()):
        return None
    try:
        rule = schema.rule(of, {**parameters, **sizes})
    except (RuleError, TermError):
        return None
    return rule if holds(rule) else None


@lru_cache(maxsize=1 << 10)
def _indices(schema: Schema) -> frozenset[str]:
    """Variables that name rows of a table."""
    rule = schema.example()
    return frozenset(indices(*rule.source, *rule.destination))


@lru_cache(maxsize=1 << 10)
def exact(schema: Schema) -> bool:
    """Whether a rule changes no rounding."""
    return is_exact(schema.example())

