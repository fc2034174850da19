"""What every operator of terms says of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, TypeAlias

from pcg.substitute.entries import Array, Entries
from pcg.substitute.errors import TermError
from pcg.substitute.tensor_type import TensorType

#: Of one operator: its parameters, the types of its operands, and their values.
Parameters: TypeAlias = tuple[int | str, ...]
Types: TypeAlias = tuple[TensorType, ...]
Values: TypeAlias = tuple[Array, ...]
#: Functions of one argument that are applied to every element; nothing but their values is known of them.
FUNCTIONS = ("exp", "gelu", "log", "reciprocal", "relu", "rsqrt", "sigmoid", "tanh")
#: Of operators with an activation: nothing is applied.
NONE = "none"


class Operator(ABC):
    """An operator: its name, its parameters, the type of its result and its value."""

    name: ClassVar[str]
    arity: ClassVar[int]
    parameters: ClassVar[tuple[str, ...]] = ()
    named: ClassVar[frozenset[str]] = frozenset()
    """Parameters that are names, as of an activation; others are integers."""
    changes_value: ClassVar[bool] = True
    """Whether the value of the result is another than that of the operand: else only its type is."""

    @abstractmethod
    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        """The type of the result.

        Raises:
          TermError: there is none.
        """

    @abstractmethod
    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        """The value of the result; `types` are those of the operands, for which there is a result.

        It does not depend on their microbatches: slices are run one after another on the same devices.
        """


def dimension(type: TensorType, dim: int | str, least: int = 0) -> int:
    """`dim`, if `type` has such a dimension."""
    if not isinstance(dim, int) or not least <= dim < type.rank:
        raise TermError(f"dimension {dim}; allowed: {least} to {type.rank - 1} of {type}")
    return dim


def of_one_device(type: TensorType, dim: int, what: str) -> None:
    """Raise TermError if `type` is split along `dim`, over devices or in time."""
    if type.degrees[dim] != 1 or type.microbatches[dim] != 1:
        raise TermError(f"{what} is split along dimension {dim} of {type}; allowed: degree 1")


def activation(name: int | str) -> None:
    """Raise TermError unless it is one."""
    if name != NONE and name not in FUNCTIONS:
        raise TermError(f"function {name!r}; allowed: {', '.join((NONE, *FUNCTIONS))}")


def activated(name: int | str, value: Array, on: Entries) -> Array:
    """The activation of a value."""
    return value if name == NONE else on.apply(str(name), value)
