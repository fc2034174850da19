"""Applying one rule at one place, or wherever it matches."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import defining_op, functions, walk
from pcg.rewrite.substitutions.emit import emit_destination
from pcg.rewrite.substitutions.match import Match, exact, matches
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.substitute.library import for_programs, known
from pcg.substitute.schema import Schema

#: Rules that are used only where they are named.  Partial sums pass through sums as they are, so that no plan is faster
#: because two products are one; and programs have many places for that.
_BY_NAME = frozenset({"one-contraction"})


@dataclass
class ApplySubstitutions(Transformation):
    """Apply a rule where it matches."""

    rule: str = option("", "the rule, by name; `pcg-substitutions verify` lists them")
    at: int = option(-1, "only the match of this number, in program order from 0; default: all")
    exact: bool = option(False, "refuse a rule that changes rounding")

    def run(self, module: ir.Operation) -> None:
        schema = known().get(self.rule)
        if schema is None:
            names = ", ".join(s.name for s in for_programs())
            raise PcgError(f"rule '{self.rule}' is not known; allowed: {names}, and generated ones", module)
        if self.exact and not exact(schema):
            raise PcgError(f"rule '{self.rule}' changes rounding, which 'exact' does not allow", module)
        number = 0
        for func in functions(module):
            for op in list(walk(func)):
                found = next(matches(schema, op), None) if op.name != "func.func" else None
                if found is None:
                    continue
                if self.at in (-1, number):
                    self._apply(found)
                number += 1
        if self.at >= number:
            raise PcgError(f"rule '{self.rule}' matches {number} times; at={self.at}; allowed: less than that", module)
        self.statistics["matches"] += number

    def _apply(self, match: Match) -> None:
        self.remark(match.op, f"{match.schema.name}: {match.rule}; proved from {match.schema.proof}")
        value = emit_destination(match)
        match.op.results[0].replace_all_uses_with(value)
        erase_unused([match.op])
        self.statistics["applied"] += 1


def erase_unused(ops: list[ir.Operation]) -> None:
    """Erase ops whose results nothing reads, and what only they read."""
    work = dict.fromkeys(ops)
    while work:
        op, _ = work.popitem()
        if traits.has(op.name, Trait.UNREPEATABLE) or any(list(r.uses) for r in op.results):
            continue
        operands = dict.fromkeys(d for v in op.operands if (d := defining_op(v)) is not None)
        op.erase()
        work.update(operands)


def rules_for(names: tuple[str, ...], *, only_exact: bool) -> list[Schema]:
    """The rules that programs are optimised with: those of `names`, or all but `_BY_NAME`.

    If `only_exact`, only those that change no rounding.

    Raises:
      PcgError: there is no rule of such a name.
    """
    every = {s.name: s for s in for_programs()}
    for name in names:
        if name not in every:
            raise PcgError(f"rule '{name}' is not known; allowed: {', '.join(every)}")
    found = [s for s in every.values() if (s.name in names if names else s.name not in _BY_NAME)]
    return [s for s in found if not only_exact or exact(s)]
