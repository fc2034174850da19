"""Rules: two programs with the same inputs and results, of which either may replace the other where both can be."""

from __future__ import annotations

from dataclasses import dataclass

from pcg.substitute.errors import TermError
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import VARIABLE, Term, subterms, variables


@dataclass(frozen=True)
class Rule:
    """A substitution: `source` may be replaced by `destination`, result by result."""

    name: str
    source: tuple[Term, ...]
    destination: tuple[Term, ...]

    def __post_init__(self) -> None:
        if len(self.source) != len(self.destination) or not self.source:
            raise TermError(
                f"{len(self.source)} results for {len(self.destination)}; allowed: as many, and one at least"
            )
        types: dict[object, TensorType] = {}
        for t in subterms(*self.source, *self.destination):
            if t.operator == VARIABLE and types.setdefault(t.parameters[0], t.type) != t.type:
                first = types[t.parameters[0]]
                raise TermError(f"variable {t.parameters[0]} is {first} and {t.type}; allowed: one type")
        inputs, used = variables(*self.source), variables(*self.destination)
        if unbound := [n for n in used if n not in inputs]:
            raise TermError(f"the destination reads {', '.join(unbound)}; allowed: inputs of the source")
        for i, (s, d) in enumerate(zip(self.source, self.destination, strict=True)):
            if s.type != d.type:
                raise TermError(
                    f"result {i} is {s.type} of the source and {d.type} of the destination; allowed: equal types"
                )

    def __str__(self) -> str:
        return "; ".join(f"{s} => {d}" for s, d in zip(self.source, self.destination, strict=True))
