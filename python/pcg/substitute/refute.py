"""Rules that do not hold: values of their inputs for which the two programs differ."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from pcg.substitute.entries import Array, Floats
from pcg.substitute.evaluate import evaluate, indices
from pcg.substitute.rule import Rule
from pcg.substitute.term import subterms, variables
from pcg.substitute.validate import equal

#: Differences between results that are not rounding, as a fraction of the greatest element.
_TOLERANCE = 1e-6
_TRIALS = 4
#: Elements of a tensor, at most, of a rule that is evaluated.
_ELEMENTS = 1 << 20


@dataclass(frozen=True)
class Counterexample:
    """Values of inputs, and an element of a result in which the two programs differ."""

    inputs: dict[str, Array]
    result: int
    index: tuple[int, ...]
    source: float
    destination: float

    def __str__(self) -> str:
        inputs = ", ".join(f"{name} = {array.tolist()}" for name, array in self.inputs.items())
        index = ", ".join(map(str, self.index))
        return (
            f"for {inputs}, element [{index}] of result {self.result} is {self.source:g} of the source"
            f" and {self.destination:g} of the destination"
        )


def counterexample(rule: Rule) -> Counterexample | None:
    """Inputs for which results differ, of a few that are tried: small integers, the same for the same rule."""
    types = variables(*rule.source)
    if max(t.type.elements for t in subterms(*rule.source, *rule.destination)) > _ELEMENTS:
        return None
    rows = indices(*rule.source, *rule.destination)
    random = np.random.default_rng(zlib.crc32(f"{rule.name} {[*types]}".encode()))
    on = Floats()
    for trial in range(_TRIALS):
        least = 1 if trial == 1 else -3
        inputs: dict[str, Array] = {
            name: random.integers(0, 1 << 16, type.shape)
            if name in rows
            else random.integers(least, 4, type.shape).astype(float)
            for name, type in types.items()
        }
        with np.errstate(all="ignore"):
            found = evaluate([*rule.source, *rule.destination], inputs, on)
        count = len(rule.source)
        for i, (s, d) in enumerate(zip(found[:count], found[count:], strict=True)):
            scale = max(1.0, float(np.nanmax(np.abs(s), initial=0.0)), float(np.nanmax(np.abs(d), initial=0.0)))
            differ = np.abs(s - d) > _TOLERANCE * scale  # not where either is no number
            if differ.any() and not equal(rule.source[i], rule.destination[i]):  # and not by rounding
                index = tuple(int(j) for j in np.argwhere(differ)[0])
                return Counterexample(inputs, i, index, float(s[index]), float(d[index]))
    return None
