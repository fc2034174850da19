"""Terms: variables, and operators with parameters on terms.  Ill-typed ones cannot be built."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from weakref import WeakValueDictionary

from pcg.substitute.errors import TermError
from pcg.substitute.operators import OPERATORS
from pcg.substitute.tensor_type import TensorType

#: Of an operator: a dimension, a degree, a size, or the name of a function.
Parameter = int | str
VARIABLE = "variable"


@dataclass(frozen=True, eq=False)
class Term:
    """A variable, whose name is its only parameter, or an operator on operands.  Built by `variable` and `apply`.

    Equal terms are one object, so that a term that is used often is looked at once.
    """

    operator: str
    parameters: tuple[Parameter, ...]
    operands: tuple[Term, ...]
    type: TensorType

    def __reduce__(self) -> tuple[object, ...]:
        return term_of, (self.operator, self.parameters, self.operands, self.type)

    def __str__(self) -> str:
        """The text of a pattern (`pcg.substitute.pattern`), without what is inside where that is long."""
        texts: dict[Term, str] = {}
        for term in subterms(self):
            if term.operator == VARIABLE:
                texts[term] = str(term.parameters[0])
                continue
            parameters = f"[{', '.join(map(repr, term.parameters))}]" if term.parameters else ""
            operands = ", ".join(texts[o] for o in term.operands)
            texts[term] = f"{term.operator}{parameters}({operands if len(operands) <= _LONG else '...'})"
        return texts[self]


#: Characters of the operands of a term that are shown.
_LONG = 2000
_terms: WeakValueDictionary[tuple[object, ...], Term] = WeakValueDictionary()


def term_of(operator: str, parameters: tuple[Parameter, ...], operands: tuple[Term, ...], type: TensorType) -> Term:
    """The term of these, whose type is known."""
    key = operator, parameters, operands, type
    found = _terms.get(key)
    if found is None:
        found = _terms[key] = Term(operator, parameters, operands, type)
    return found


def variable(name: str, type: TensorType) -> Term:
    """An input of a program."""
    return term_of(VARIABLE, (name,), (), type)


def apply(operator: str, parameters: tuple[Parameter, ...] = (), operands: tuple[Term, ...] = ()) -> Term:
    """The operator on operands.

    Raises:
      TermError: there is no such operator, or it cannot have such parameters or operands.
    """
    return term_of(operator, parameters, operands, type_of(operator, parameters, tuple(o.type for o in operands)))


def type_of(operator: str, parameters: tuple[Parameter, ...], operands: tuple[TensorType, ...]) -> TensorType:
    """The type of what an operator computes of operands of such types.

    Raises:
      TermError: as of `apply`.
    """
    if any(type(p) not in (int, str) for p in parameters):
        return _type_of(operator, parameters, operands)  # to a cache True is 1
    found = _type_or_error(operator, parameters, operands)
    if isinstance(found, str):
        raise TermError(found)
    return found


@lru_cache(maxsize=1 << 16)
def _type_or_error(
    operator: str, parameters: tuple[Parameter, ...], operands: tuple[TensorType, ...]
) -> TensorType | str:
    try:
        return _type_of(operator, parameters, operands)
    except TermError as error:
        return str(error)


def _type_of(operator: str, parameters: tuple[Parameter, ...], operands: tuple[TensorType, ...]) -> TensorType:
    op = OPERATORS.get(operator)
    if op is None:
        raise TermError(f"operator {operator!r} is not defined; allowed: {', '.join(sorted(OPERATORS))}")
    if len(operands) != op.arity:
        raise TermError(f"{operator} has {len(operands)} operands; allowed: {op.arity}")
    if len(parameters) != len(op.parameters):
        raise TermError(f"{operator} has {len(parameters)} parameters; allowed: {', '.join(op.parameters) or 'none'}")
    for name, value in zip(op.parameters, parameters, strict=True):
        if type(value) is not (str if name in op.named else int):
            allowed = "a name" if name in op.named else "an integer"
            raise TermError(f"parameter {name!r} of {operator} is {value!r}; allowed: {allowed}")
    try:
        return op.type_of(parameters, operands)
    except TermError as error:
        raise TermError(f"{operator}: {error}") from None


def subterms(*terms: Term) -> Iterator[Term]:
    """Every term in these, once, operands before what uses them."""
    seen: set[Term] = set()
    stack = [(t, False) for t in reversed(terms)]
    while stack:
        term, ready = stack.pop()
        if ready:
            yield term
        elif term not in seen:
            seen.add(term)
            stack.append((term, True))
            stack.extend((o, False) for o in reversed(term.operands))


def variables(*terms: Term) -> dict[str, TensorType]:
    """Names and types of the variables in terms, in order of their first use."""
    return {str(t.parameters[0]): t.type for t in subterms(*terms) if t.operator == VARIABLE}
