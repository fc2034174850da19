"""Groups of unlike meshes, or of several kinds of devices, for a pipeline: which divisions to estimate."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property

from pcg.layout import Mesh
from pcg.pipeline.heterogeneous_groups import Candidate, heterogeneous_groups
from pcg.pipeline.units import Chain
from pcg.planning.pipeline_estimates import Axes, PipelineEstimator, Shape, size_of


@dataclass(frozen=True)
class HeterogeneousMeshes:
    """Groups of the devices of an estimator, of which it has planned some meshes."""

    estimator: PipelineEstimator

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
        found = heterogeneous_groups(candidates, microbatches, self.estimator.limit)
        shapes = dict.fromkeys(tuple(axes_of[i] for i in groups) for groups in found)
        return [shape for shape in shapes if len(set(shape)) > 1]

    def _nearest(self, microbatches: int) -> dict[tuple[Axes, str], Chain]:
        """By mesh and kinds of devices: the plan in the number of microbatches that is nearest."""
        near: dict[tuple[Axes, str], tuple[float, Chain]] = {}
        for (axes, kind, m, limit), chain in self.estimator.profiles.items():
            far = abs(math.log(m / microbatches))
            if chain is not None and not limit and far < near.get((axes, kind), (math.inf, chain))[0]:
                near[axes, kind] = far, chain
        return {key: chain for key, (_, chain) in near.items()}

    def unplanned(self, size: int) -> list[Mesh]:
        """Of each kind of devices the first group of so many, on one axis, if none of that size has been planned."""
        planned = {kind for axes, kind, _, _ in self.estimator.profiles if size_of(axes) == size}
        found: dict[str, Mesh] = {}
        for mesh in self._groups(size):
            if mesh is not None and (kind := self.estimator.kind(mesh)) not in planned:
                found.setdefault(kind, mesh)
        return list(found.values())

    def _begins(self, size: int, kind: str) -> tuple[bool, ...]:
        """For each device: whether a group of it and the next ones may be, and is of this kind."""
        found = [mesh is not None and self.estimator.kind(mesh) == kind for mesh in self._groups(size)]
        return tuple(found + [False] * (size - 1))

    def _groups(self, size: int) -> list[Mesh | None]:
        """For each device: it and the next ones, if they are in one node, or are all of several."""
        ids = self.estimator.ids
        return [self._group(ids[begin : begin + size]) for begin in range(len(ids) + 1 - size)]

    def _group(self, own: Sequence[int]) -> Mesh | None:
        nodes = Counter(self._node[d] for d in own)
        if len(nodes) > 1 and any(count < self._used[node] for node, count in nodes.items()):
            return None
        return Mesh((("data", len(own)),), tuple(own))

    @cached_property
    def _node(self) -> dict[int, tuple[int, ...]]:
        """The node of each device; without a cluster there is one."""
        cluster = self.estimator.machine.cluster
        return {d: () if cluster is None else cluster.coordinates(d)[:-1] for d in self.estimator.ids}

    @cached_property
    def _used(self) -> Counter[tuple[int, ...]]:
        """How many devices of the pipeline each node has."""
        return Counter(self._node.values())
