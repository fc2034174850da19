"""How much work a cost network is worth: in steps, not seconds, so that the same input gives the same plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """Bounds come first, good solutions with them, the proof last; each field says when to go on to the next."""

    gap: float
    """Relative gap between a solution and the bound at which nothing is left to do."""
    good: float
    """Gap that is enough where closing the rest takes long."""
    near: float
    """Gap at which the dual ascent ends."""
    patience: float
    """Share of the gap that 20 sweeps of the ascent must close."""
    work: float
    """Entries of edges that the ascent looks at, in a core of which the ILP may take long."""
    small: int
    """Choices up to which the rest is solved as an ILP in any case."""
    large: int
    """Choices up to which it is where the gap is larger than `good`."""
    nodes: int
    """Branch-and-bound nodes of the ILP."""
    entries: float
    """Entries of edges up to which what is left is solved as an ILP at all."""
    depth: int = 1
    """Whether kernel search looks for better solutions of a small core."""
    brief: bool = False
    """Whether few sweeps and a brief look at neighbourhoods come first: for plans that are compared, not used."""

    @property
    def quick(self) -> bool:
        """Whether bounds, and solutions found on the way to them, are all that is wanted: no ILP."""
        return not self.small

    @property
    def closes(self) -> bool:
        """Whether no gap is good enough but the least, however long that takes."""
        return self.good <= self.gap and not self.quick


#: An ILP of 4,000 choices takes about a second.  HiGHS took 12.7 s for 9,344 (decision 1), 20 s for 9,420 (BERT of 12
#: layers on 2x4, to prove what 2,000 sweeps prove in 1.5 s), more than 300 s for 47,670 (Keras' ResNet-50 on 2x4).
#: Where choices have much to do with each other it takes longer: 0.1 s for 1,340 entries, 1 s for 4,030, 19 s for
#: 55,600 of 2,697 choices (a contrastive loss on 2x4), more than 190 s for 741,000 of 9,671 (on three axes).
#: `work`: 1e9 entries take about 4 s.  `good` is what candidates for a mesh differ by.
EFFORTS = {
    "quick": Effort(1e-2, 1e-2, 1e-3, 1e-2, 1e9, 0, 0, 0, 0, 0),
    "default": Effort(1e-3, 1e-2, 1e-5, 1e-5, 5e9, 4000, 12000, 2000, 1e4),
    "proof": Effort(1e-5, 1e-5, 1e-5, 1e-6, 1e11, 1_000_000, 1_000_000, 1_000_000, 1e9),
}
QUICK, DEFAULT = EFFORTS["quick"], EFFORTS["default"]
