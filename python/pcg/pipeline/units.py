"""A training step as a chain of units, such as layers, and what it takes on groups of devices."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from pcg.pipeline.partition import SLACK, partition
from pcg.pipeline.problem import Pipeline


@dataclass(frozen=True)
class Unit:
    """A part of the forward pass, with its part of the backward pass and of the state, on a group of devices.

    Times are of one microbatch, in seconds; bytes are those of one device.
    """

    forward: float
    backward: float
    weight: float
    activation: float
    """Bytes of a microbatch from its F to its B."""
    residual: float
    """Bytes from its B to its W; more than `activation` where B rematerialises what W reads."""
    state: float
    """Bytes of parameters, optimizer state and sums of gradients."""
    crossing: float
    """Bytes of a microbatch that go on to the next unit."""
    once: float = 0.0
    """Seconds of a step besides its microbatches: reductions of gradients, the update."""
    repeat: int = 1
    """How many of it there are, one after another."""

    @property
    def work(self) -> float:
        return self.forward + self.backward + self.weight


@dataclass(frozen=True)
class Chain:
    """Units in the order of the forward pass, on a group of devices, for steps of `microbatches`."""

    units: tuple[Unit, ...]
    microbatches: int
    workspace: float
    """The most bytes that any program needs besides what it reads."""
    planned: float = 0.0
    """Bytes that the plan of one of each unit needs, as its search counts them; 0: it was not searched for."""

    @property
    def length(self) -> int:
        return sum(u.repeat for u in self.units)

    @property
    def work(self) -> float:
        """Seconds of all units, of one microbatch."""
        return sum(u.work * u.repeat for u in self.units)

    def spread(self, devices: int, microbatches: int) -> Chain:
        """What no plan on so many times the devices takes less than: all is divided evenly, and nothing is sent.

        Ops on smaller operands are not more efficient, so `microbatches` are a multiple of those of this chain.
        """
        share = self.microbatches / (microbatches * devices)
        units = tuple(
            Unit(
                u.forward * share, u.backward * share, u.weight * share, u.activation * share, u.residual * share,
                u.state / devices, 0.0, u.once / devices, u.repeat,
            )
            for u in self.units
        )  # fmt: skip
        return Chain(units, microbatches, 0.0)

    def planned_with(self, share: float) -> float:
        """Bytes that a plan of one of each unit needs whose state takes a share of what it takes in this one."""
        return self.planned - (1 - share) * sum(u.state for u in self.units)


@dataclass(frozen=True)
class Transfer:
    """Copies between two groups: seconds of a size, in bytes per device."""

    latency: float
    per_byte: float

    def seconds(self, size: float) -> float:
        return self.latency + self.per_byte * size if size else 0.0


@dataclass(frozen=True)
class Divided:
    """A chain in stages."""

    problem: Pipeline
    """Without limits of memory."""
    state: tuple[float, ...]
    """By group: bytes of parameters, optimizer state and sums of gradients on a device."""
    fixed: tuple[float, ...]
    """By group: bytes on a device besides activations: state, and workspace of a program."""
    once: float
    """Seconds before and after the microbatches, on the group that needs most."""


def divide(
    chains: Sequence[Chain], groups: Sequence[int], transfer: Transfer, split: bool = True, slack: float = SLACK
) -> Divided:
    """A chain in stages, balanced as `partition` does it.

    Args:
      chains: the same units on each group of devices.
      groups: the group of each stage.
      split: whether W may be run some time after its B; else it is part of it.
      slack: as of `partition`.

    Raises:
      PipelineError: there are fewer units than stages.
    """
    units = [[u for u in chain.units for _ in range(u.repeat)] for chain in chains]
    rows = [units[g] for g in groups]
    before = [0.0, *(max(u.crossing for u in column) for column in zip(*units, strict=True))][:-1]
    first = partition([[u.work for u in row] for row in rows], before, len(groups), slack)
    ends = itertools.pairwise((0, *first, len(units[0])))
    stages = [row[a:b] for row, (a, b) in zip(rows, ends, strict=True)]
    state, once = [0.0] * len(chains), [0.0] * len(chains)
    for group, own in zip(groups, stages, strict=True):
        state[group] += sum(u.state for u in own)
        once[group] += sum(u.once for u in own)
    latency = max((transfer.seconds(before[b]) for b in first), default=0.0)
    least = max(chain.work for chain in chains) * 1e-9 or 1e-12
    forward, backward, weight, activation, residual = (
        [sum(getattr(u, name) for u in own) for own in stages]
        for name in ("forward", "backward", "weight", "activation", "residual")
    )
    inner = 0.0
    if not split:
        backward = [b + w for b, w in zip(backward, weight, strict=True)]
        inner = max(residual)
        weight = residual = [0.0] * len(stages)
    activation = [max(a, r, 1.0) for a, r in zip(activation, residual, strict=True)]
    problem = Pipeline(
        tuple(groups), chains[0].microbatches, tuple(max(t, least) for t in forward),
        tuple(max(t, least) for t in backward), tuple(weight), latency, tuple(activation), tuple(residual),
    )  # fmt: skip
    fixed = tuple(s + chain.workspace + inner for s, chain in zip(state, chains, strict=True))
    return Divided(problem, tuple(state), fixed, max(once))
