"""The values of terms, by the definitions of their operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pcg.substitute.entries import Array, Entries
from pcg.substitute.operators import OPERATORS
from pcg.substitute.term import VARIABLE, Term, subterms


def evaluate(terms: Sequence[Term], inputs: Mapping[str, Array], on: Entries) -> list[Array]:
    """The value of each term for the values of its variables, which have the shapes of their types."""
    values: dict[Term, Array] = {}
    for term in subterms(*terms):
        if term.operator == VARIABLE:
            values[term] = inputs[str(term.parameters[0])]
        else:
            operands = tuple(values[o] for o in term.operands)
            types = tuple(o.type for o in term.operands)
            values[term] = OPERATORS[term.operator].value_of(term.parameters, types, operands, on)
    return [values[t] for t in terms]


def indices(*terms: Term) -> set[str]:
    """Names of the variables whose values name rows of a table."""
    where = {"embedding": 0, "scatter_add": 1}
    found: set[Term] = {t.operands[where[t.operator]] for t in subterms(*terms) if t.operator in where}
    for term in reversed(list(subterms(*terms))):
        if term in found:
            found.update(term.operands)
    return {str(t.parameters[0]) for t in found if t.operator == VARIABLE}
