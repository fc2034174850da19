"""Properties of operators: equations between patterns of terms, and when they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pcg.substitute.pattern import Hole, Pattern, parse
from pcg.substitute.tensor_type import TensorType


class Binding:
    """What the names of a property stand for: types of its variables, values of its parameters."""

    def __init__(self, types: Mapping[str, TensorType], parameters: Mapping[str, int | str]) -> None:
        self.types, self.parameters = types, parameters

    def type(self, name: str) -> TensorType:
        """The type of a variable."""
        return self.types[name]

    def number(self, name: str) -> int:
        """The value of an integer parameter."""
        return int(self.parameters[name])


@dataclass(frozen=True)
class Property:
    """`left` equals `right` wherever both can be built, are of one type, and `where` holds."""

    left: str
    right: str
    source: str
    """Where it is published, as ``TASO 13``; ``ours`` if nowhere."""
    domain: str
    """Letters for the sizes of the dimensions of each variable, as ``x: r m k; y: r k n``."""
    where: Callable[[Binding], bool] | None = None
    """Conditions that types do not say."""
    let: Mapping[str, Callable[[Binding], int | None]] = field(default_factory=dict)
    """Parameters that follow from others, in the order in which they are found; None: there is none."""

    @cached_property
    def sides(self) -> tuple[Pattern | Hole, Pattern | Hole]:
        """Both patterns."""
        return parse(self.left), parse(self.right)

    @cached_property
    def shapes(self) -> dict[str, tuple[str, ...]]:
        """Of each variable the letters of its dimensions."""
        return {
            name.strip(): tuple(letters.split())
            for name, _, letters in (part.partition(":") for part in self.domain.split(";") if part)
        }

    def holds(self, binding: Binding) -> bool:
        """Whether its condition does."""
        return self.where is None or self.where(binding)

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"
