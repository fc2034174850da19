"""Adding to a program what rules make of its parts, beside what is there.

Afterwards the program is an e-graph (Willsey et al., POPL'21): a `pcg.alternatives` op says that two values are equal,
chains of them that several are, and rules match through them.  Parts that were there already are not added again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir.constants import is_readable
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import defining_op, functions, walk
from pcg.rewrite.substitutions.apply import erase_unused, rules_for
from pcg.rewrite.substitutions.emit import emit_destination
from pcg.rewrite.substitutions.match import Match, Rules, matches
from pcg.rewrite.substitutions.view import ALTERNATIVES
from pcg.rules.gather_scatter import update_kind
from pcg.substitute.applied import THEN
from pcg.substitute.pattern import Hole, Pattern
from pcg.substitute.schema import Schema
from pcg.substitute.work import flops

#: Rounds of applying all rules, and alternatives of one value and of a program, after which no more are added.  Chosen:
#: an update of a table by the gradient of a lookup takes two rounds, one more for each sum on the way.
_ROUNDS, _OF_VALUE, _OF_PROGRAM = 4, 6, 2000
#: Times the FLOPs of a part that what replaces it may have.  Unity's threshold (OSDI'22, section 6: alpha).
_ALPHA = 1.05
#: How far from what is new a rule that matches it may begin.
_REACH = 4
#: The attribute of alternatives that names the rule.
RULE = "rule"


@dataclass
class Saturate(Transformation):
    """Add to a program what rules make of its parts."""

    rules: tuple[str, ...] = option((), "the rules, by name; default: all that programs are optimised with")
    exact: bool = option(False, "only rules that change no rounding")

    def run(self, module: ir.Operation) -> None:
        for func in functions(module):
            saturation = Saturation(func, rules_for(self.rules, only_exact=self.exact))
            saturation.run()
            self.statistics["alternatives"] += len(saturation.alternatives)


@dataclass
class Saturation:
    """Applies `rules` in one function until nothing is new, or there are too many alternatives."""

    func: ir.Operation
    rules: Sequence[Schema]
    alternatives: list[ir.Operation] = field(default_factory=list)
    _class_of: dict[ir.Value, ir.Value] = field(default_factory=dict)
    """Of each value that has alternatives, or is one, the first of its class."""
    _last: dict[ir.Value, ir.Value] = field(default_factory=dict)
    """Of the first value of a class, the result of the last op that joins the class."""
    _members: dict[ir.Value, list[int]] = field(default_factory=dict)
    """Of the first value of a class, the signatures of all."""
    _signatures: dict[ir.Value, int] = field(default_factory=dict)
    _numbers: dict[object, int] = field(default_factory=dict)
    _seen: set[object] = field(default_factory=set)
    _known: set[ir.Operation] = field(default_factory=set)
    """All ops; none is erased before the end, so that a new one is never taken for one that was there."""
    _rule_of: dict[ir.Operation, str] = field(default_factory=dict)
    """Of ops that were added, the rules that did."""
    _added: list[ir.Operation] = field(default_factory=list)

    def run(self) -> None:
        """Add all alternatives."""
        # Rules begin at what the program has: what one splits others would join in every other order.
        own = new = list(walk(self.func))[1:]
        self._known.update(new)
        rules = Rules(self.rules)
        for _ in range(_ROUNDS):
            found = (m for op in new for schema in rules.of(op) for m in list(matches(schema, op)))
            added = [op for match in found for op in self._add(match)]
            if not added or len(self.alternatives) >= _OF_PROGRAM:
                break
            near = set(_around(added))
            new = [op for op in own if op in near]
        erase_unused(self._added)

    def _add(self, match: Match) -> list[ir.Operation]:
        """Add what the rule makes; the ops that are new."""
        key = match.op, match.key
        result = match.op.results[0]
        first = self._class_of.get(result, result)
        known = self._members.setdefault(first, [self._signature(result)])
        if key in self._seen or len(known) > _OF_VALUE or len(self.alternatives) >= _OF_PROGRAM:
            return []
        self._seen.add(key)
        if flops(match.rule.destination[0]) > _ALPHA * flops(match.rule.source[0]):
            return []
        value = emit_destination(match)
        fresh = self._new(value)
        value, more = self._to_the_end(match.schema, value, fresh) if _takes_one_of_many(match.schema) else (value, [])
        signature = self._signature(value)
        if signature in known:
            return []
        known.append(signature)
        last = self._last.get(first, first)
        # What it matches may be what others have added.
        before = dict.fromkeys(self._rule_of[op] for op in match.ops if op in self._rule_of)
        rule = THEN.join([*before, match.schema.name])
        self._rule_of.update(dict.fromkeys([*fresh, *more], rule))
        with ir.InsertionPoint.after(last.owner.operation), match.op.location:
            join = ir.Operation.create(
                ALTERNATIVES, results=[result.type], operands=[last, value],
                attributes={RULE: ir.StringAttr.get(rule)},
            )  # fmt: skip
        last.replace_all_uses_except(join.result, join)
        self._class_of[first] = self._class_of[value] = first
        self._last[first] = join.result
        self._known.add(join)
        self.alternatives.append(join)
        return [*fresh, *more, join]

    def _new(self, value: ir.Value) -> list[ir.Operation]:
        """The ops that `value` is computed by and that were not there before, readers first."""
        found: dict[ir.Operation, None] = {}
        work = [value]
        while work:
            op = defining_op(work.pop())
            if op is not None and op not in self._known:
                self._known.add(op)
                found[op] = None
                work += op.operands
        self._added += reversed(found)
        return list(found)

    def _to_the_end(
        self, schema: Schema, value: ir.Value, fresh: Sequence[ir.Operation]
    ) -> tuple[ir.Value, list[ir.Operation]]:
        """Apply the same rule to its own results, as to a concatenation of many, until it does not match."""
        work, more = list(fresh), list[ir.Operation]()
        while work:
            op = work.pop()
            match = next(matches(schema, op), None)
            if match is None or (op.results[0] != value and not list(op.results[0].uses)):
                continue
            inner = emit_destination(match)
            new = self._new(inner)
            if op.results[0] == value:
                value = inner
            op.results[0].replace_all_uses_with(inner)
            work, more = [*work, *new], [*more, *new]
        return value, more

    def _signature(self, value: ir.Value) -> int:
        """A number that values have in common that are computed alike; those of a class count as the first of it."""
        while (op := defining_op(value)) is not None and op.name == ALTERNATIVES:
            value = op.operands[0]
        found = self._signatures.get(value)
        if found is None:
            key: object = value
            scatters = op is not None and op.name == "stablehlo.scatter" and update_kind(op)
            comparable = op is not None and (op.name != "stablehlo.constant" or is_readable(op))
            if op is not None and comparable and len(op.results) == 1 and (scatters or not len(op.regions)):
                attributes = tuple((n, op.attributes[n]) for n in op.attributes)
                operands = [self._signature(v) for v in op.operands]
                if op.name in ("stablehlo.add", "stablehlo.multiply"):
                    operands.sort()
                key = op.name, scatters, attributes, value.type, tuple(operands)
            found = self._signatures[value] = self._numbers.setdefault(key, len(self._numbers))
        return found


def _takes_one_of_many(schema: Schema) -> bool:
    """Whether a rule splits a concatenation, which may be of many, in two."""
    work: list[Pattern | Hole] = [schema.source]
    while work:
        pattern = work.pop()
        if isinstance(pattern, Pattern):
            if pattern.operator == "concat":
                return True
            work += pattern.operands
    return False


def _around(ops: Sequence[ir.Operation]) -> Iterator[ir.Operation]:
    """Ops, and those that read their results, up to `_REACH` away."""
    level = list(ops)
    for _ in range(_REACH):
        yield from level
        level = [use.owner.operation for op in level for r in op.results for use in r.uses]
    yield from level


def rule_of(alternative: ir.Operation) -> str:
    """The rule that added an alternative; several, of which one matched what others had added, with `THEN` between."""
    return str(ir.StringAttr(alternative.attributes[RULE]).value)
