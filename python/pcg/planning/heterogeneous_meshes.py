"""Groups of unlike meshes, or of several kinds of devices, for a pipeline: which divisions to estimate."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property

from pcg.layout import Mesh
from pcg.machine.cluster import Cluster
from pcg.pipeline.heterogeneous_groups import Candidate, heterogeneous_groups
from pcg.pipeline.units import Chain
from pcg.planning.pipeline_estimates import Axes, Profiles, Shape, kinds_of, size_of


@dataclass(frozen=True)
class HeterogeneousMeshes:
    """The devices of a pipeline, and what meshes of them cost."""

    profiles: Profiles
    ids: Sequence[int]
    """Numbers of the devices on the cluster, in the order of the groups."""
    cluster: Cluster | None
    limit: float | None
    """Bytes per device."""

    def shapes(self, microbatches: int, sizes: Container[int]) -> list[Shape]:
        """Shapes whose groups have unlike meshes, the fastest first by the rough estimate of `heterogeneous_groups`.

        Groups have meshes that have been planned, of one of `sizes`: in as many microbatches, or else with times in
        proportion.
        """
        candidates, axes_of = [], []
        for (axes, kind), chain in self._nearest(microbatches).items():
            size = size_of(axes)
            if size in sizes:
                units = [u for u in chain.spread(1, microbatches).units for _ in range(u.repeat)]
                times, state = tuple(u.work for u in units), tuple(u.state for u in units)
                candidates.append(Candidate(size, self._begins(size, kind), times, state, chain.workspace))
                axes_of.append(axes)
        found = heterogeneous_groups(candidates, microbatches, self.limit)
        shapes = dict.fromkeys(tuple(axes_of[i] for i in groups) for groups in found)
        return [shape for shape in shapes if len(set(shape)) > 1]

    def _nearest(self, microbatches: int) -> dict[tuple[Axes, str], Chain]:
        """By mesh and kinds of devices: the plan in the number of microbatches that is nearest."""
        near: dict[tuple[Axes, str], tuple[float, Chain]] = {}
        for (axes, kind, m, limit), chain in self.profiles.items():
            far = abs(math.log(m / microbatches))
            if chain is not None and not limit and far < near.get((axes, kind), (math.inf, chain))[0]:
                near[axes, kind] = far, chain
        return {key: chain for key, (_, chain) in near.items()}

    def first(self, size: int) -> list[Mesh]:
        """Of each kind of devices the first group of so many, on one axis; those that have not been planned."""
        planned = {kind for axes, kind, _, _ in self.profiles if size_of(axes) == size}
        found: dict[str, Mesh] = {}
        for own in self._groups(size):
            kind = "" if self.cluster is None else kinds_of(self.cluster, own)
            if self._is_group(own) and not planned & {kind} and (kind or not planned):
                found.setdefault(kind, Mesh((("data", size),), tuple(own)))
        return list(found.values())

    def _groups(self, size: int) -> list[Sequence[int]]:
        """For each device: it and the next ones."""
        return [self.ids[begin : begin + size] for begin in range(len(self.ids) + 1 - size)]

    def _begins(self, size: int, kind: str) -> tuple[bool, ...]:
        """For each device: whether a group of it and the next ones may be, and is of this kind."""
        found = [
            self._is_group(own) and (self.cluster is None or kinds_of(self.cluster, own) == kind)
            for own in self._groups(size)
        ]
        return tuple(found + [False] * (len(self.ids) - len(found)))

    def _is_group(self, own: Sequence[int]) -> bool:
        """Whether devices are in one node, or are all of several."""
        if self.cluster is None:
            return True
        nodes = {self.cluster.coordinates(d)[:-1] for d in own}
        return len(nodes) == 1 or all(set(self._used[node]) <= set(own) for node in nodes)

    @cached_property
    def _used(self) -> dict[tuple[int, ...], list[int]]:
        """The devices of the pipeline in each node."""
        assert self.cluster is not None
        found: dict[tuple[int, ...], list[int]] = {}
        for d in self.ids:
            found.setdefault(self.cluster.coordinates(d)[:-1], []).append(d)
        return found
