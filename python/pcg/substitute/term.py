"""Terms: variables, and operators with parameters on terms.  Ill-typed ones cannot be built."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from pcg.substitute.errors import TermError
from pcg.substitute.operators import OPERATORS
from pcg.substitute.tensor_type import TensorType

#: Of an operator: a dimension, a degree, a size, or the name of a function.
Parameter = int | str
VARIABLE = "variable"


@dataclass(frozen=True, eq=False)
class Term:
    """A variable, whose name is its only parameter, or an operator on operands.  Built by `variable` and `apply`."""

    operator: str
    parameters: tuple[Parameter, ...]
    operands: tuple[Term, ...]
    type: TensorType
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.operator, self.parameters, self.operands, self.type)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Term)
            and self._hash == other._hash
            and self.operator == other.operator
            and self.parameters == other.parameters
            and self.type == other.type
            and self.operands == other.operands
        )

    def __str__(self) -> str:
        if self.operator == VARIABLE:
            return str(self.parameters[0])
        parameters = f"[{', '.join(map(str, self.parameters))}]" if self.parameters else ""
        return f"{self.operator}{parameters}({', '.join(map(str, self.operands))})"


def variable(name: str, type: TensorType) -> Term:
    """An input of a program."""
    return Term(VARIABLE, (name,), (), type)


def apply(operator: str, parameters: tuple[Parameter, ...] = (), operands: tuple[Term, ...] = ()) -> Term:
    """The operator on operands.

    Raises:
      TermError: there is no such operator, or it cannot have such parameters or operands.
    """
    return Term(operator, parameters, operands, type_of(operator, parameters, tuple(o.type for o in operands)))


def type_of(operator: str, parameters: tuple[Parameter, ...], operands: tuple[TensorType, ...]) -> TensorType:
    """The type of what an operator computes of operands of such types.

    Raises:
      TermError: as of `apply`.
    """
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
        if isinstance(value, bool) or isinstance(value, str) != (name in op.named):
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
