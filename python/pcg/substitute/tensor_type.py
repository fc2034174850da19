"""Types of terms: shape, degrees of parallelism, microbatches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from pcg.substitute.errors import TermError


@dataclass(frozen=True)
class TensorType:
    """A tensor as Unity's parallel computation graph has it (OSDI'22, section 3.1).

    Dimension 0 is the *replica dimension*: copies of a tensor, or partial sums of one, follow each other along it.  The
    value of a tensor is an array of this shape; along dimension d it is split evenly over ``degrees[d]`` devices.  A
    tensor of one device with data shape (2, 4) has shape (1, 2, 4) and degrees (1, 1, 1).
    """

    shape: tuple[int, ...]
    degrees: tuple[int, ...]
    microbatches: tuple[int, ...]
    """Per dimension in how many slices it is run one after another on the same devices."""

    def __post_init__(self) -> None:
        if not len(self.shape) == len(self.degrees) == len(self.microbatches):
            lengths = len(self.shape), len(self.degrees), len(self.microbatches)
            raise TermError("{} sizes, {} degrees, {} microbatches; allowed: as many of each".format(*lengths))
        for d, (size, degree, slices) in enumerate(zip(self.shape, self.degrees, self.microbatches, strict=True)):
            if size < 1 or degree < 1 or slices < 1 or size % (degree * slices):
                raise TermError(f"dimension {d} of size {size} cannot be split {degree * slices} times")

    @staticmethod
    def of(shape: tuple[int, ...], degrees: tuple[int, ...] | None = None) -> TensorType:
        """A tensor of this shape, on one device unless `degrees` say otherwise."""
        ones = (1,) * len(shape)
        return TensorType(tuple(shape), degrees if degrees is not None else ones, ones)

    @cached_property
    def rank(self) -> int:
        """How many dimensions it has, the replica dimension among them."""
        return len(self.shape)

    @cached_property
    def elements(self) -> int:
        """How many elements its value has."""
        return prod(self.shape)

    def with_dim(self, dim: int, size: int, degree: int, microbatches: int | None = None) -> TensorType:
        """The same type but for one dimension."""
        slices = self.microbatches[dim] if microbatches is None else microbatches
        return replace(
            self,
            shape=(*self.shape[:dim], size, *self.shape[dim + 1 :]),
            degrees=(*self.degrees[:dim], degree, *self.degrees[dim + 1 :]),
            microbatches=(*self.microbatches[:dim], slices, *self.microbatches[dim + 1 :]),
        )

    def dims(self, order: tuple[int, ...]) -> TensorType:
        """The type that has these dimensions of it, in this order."""
        return TensorType(
            tuple(self.shape[d] for d in order),
            tuple(self.degrees[d] for d in order),
            tuple(self.microbatches[d] for d in order),
        )

    def __str__(self) -> str:
        """As ``1x2{2}x4``: size, and degree where it is above 1, of each dimension; ``/3`` for three microbatches."""
        return "x".join(
            f"{size}" + (f"{{{degree}}}" if degree > 1 else "") + (f"/{slices}" if slices > 1 else "")
            for size, degree, slices in zip(self.shape, self.degrees, self.microbatches, strict=True)
        )
