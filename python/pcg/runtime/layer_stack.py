"""Arrays that are stacked over layers, of which each group of devices has its layers.  Imports jax.

Where the groups of devices have equally many layers each, in order, and equal meshes, a stacked array is one
`jax.Array` on the devices of all of them: split along dimension 0 over the groups, and in each as its layers are.  It is
put together of the layers, and taken apart, without copies between groups.  Otherwise it is on the devices of the group
that has the first layer, and its layers are copied from and to the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from pcg.driver.pipelined import Value
from pcg.runtime.fragments import Group

#: The leading axis of the mesh of all groups; with underscores behind it if a group has an axis of that name.
AXIS = "group"


class LayerStack:
    """A tensor [L n, ...] of L layers.

    Args:
      layers: of shape [n, ...] each, in order, without partial sums.
      groups: by number.
    """

    def __init__(self, layers: Sequence[Value], groups: Sequence[Group]) -> None:
        self.layers = layers
        runs = [(g, len(list(found))) for g, found in itertools.groupby(v.group for v in layers)]
        self.groups = tuple(groups[g] for g, _ in runs)
        """Of the layers, in order."""
        first = self.groups[0]
        equal = {(n, groups[g].mesh.axes) for g, n in runs}
        self.spec = layers[0].spec
        self.in_place = len({g for g, _ in runs}) == len(runs) and len(equal) == 1 and not self.spec.dims[0]
        """Whether each group has its part of the array."""
        self.shape = (layers[0].shape[0] * len(layers), *layers[0].shape[1:])
        self._own = [g.sharding(self.spec) for g in self.groups]
        self._placed = [groups[v.group].sharding(v.spec) for v in layers]
        self.sharding = self._over_groups() if self.in_place and len(self.groups) > 1 else first.sharding(self.spec)
        """Of the array that `assemble` returns."""
        size = runs[0][1] if self.in_place else len(layers)
        self._parts = [list(range(i, i + size)) for i in range(0, len(layers), size)]
        """The layers that are put together on each group."""

    def _over_groups(self) -> NamedSharding:
        mesh, dims = self._own[0].mesh, self._own[0].spec
        name = AXIS
        while name in mesh.axis_names:
            name += "_"
        devices = np.stack([own.mesh.devices for own in self._own])
        kinds = (jax.sharding.AxisType.Auto, *mesh.axis_types)
        over = jax.sharding.Mesh(devices, (name, *mesh.axis_names), axis_types=kinds)
        return NamedSharding(over, PartitionSpec(name, *dims[1:]))

    # -- programs ------------------------------------------------------------------------------

    def _aval(self, count: int, sharding: Any) -> jax.ShapeDtypeStruct:
        shape = (self.layers[0].shape[0] * count, *self.shape[1:])
        group = self.groups[0].aval(self.layers[0].shape, self.layers[0].element, self.spec)
        return jax.ShapeDtypeStruct(shape, group.dtype, sharding=sharding)

    @cached_property
    def _join(self) -> list[jax.stages.Compiled]:
        """By group: its layers as one array."""
        programs = []
        for own, part in zip(self._own, self._parts, strict=False):
            placed = self._placed if self.in_place else [own] * len(self.layers)
            avals = [self._aval(1, placed[i]) for i in part]
            joined = jax.jit(lambda *rows: jax.numpy.concatenate(rows), out_shardings=own)
            programs.append(joined.lower(*avals).compile())
        return programs

    @cached_property
    def _split(self) -> list[jax.stages.Compiled]:
        """By group: its part of the array as its layers; only where each group has its part."""
        programs = []
        for own, part in zip(self._own, self._parts, strict=True):
            split = jax.jit(lambda x, n=len(part): jax.numpy.split(x, n), out_shardings=[self._placed[i] for i in part])
            programs.append(split.lower(self._aval(len(part), own)).compile())
        return programs

    # -- arrays --------------------------------------------------------------------------------

    def assemble(self, layers: Sequence[jax.Array]) -> jax.Array:
        """The array of its layers, each on its group."""
        if not self.in_place:
            return self._join[0](*(jax.device_put(x, self._own[0]) for x in layers))
        parts = [join(*(layers[i] for i in part)) for join, part in zip(self._join, self._parts, strict=True)]
        if len(parts) == 1:
            return parts[0]
        shards = [s.data for x in parts for s in x.addressable_shards]
        return jax.make_array_from_single_device_arrays(self.shape, self.sharding, shards)

    def take_apart(self, x: Any) -> list[jax.Array]:
        """The layers of an array, each on its group; `x` may be anywhere."""
        if self.in_place and isinstance(x, jax.Array) and x.sharding.is_equivalent_to(self.sharding, x.ndim):
            shards = {s.device: s.data for s in x.addressable_shards}
            layers: list[jax.Array] = []
            for own, part, split in zip(self._own, self._parts, self._split, strict=True):
                shape = (self.layers[0].shape[0] * len(part), *self.shape[1:])
                arrays = [shards[d] for d in own.mesh.devices.flat]
                layers += split(jax.make_array_from_single_device_arrays(shape, own, arrays))
            return layers
        rows = _rows(x, len(self.layers)) if isinstance(x, jax.Array) else np.split(np.asarray(x), len(self.layers))
        return [jax.device_put(row, placed) for row, placed in zip(rows, self._placed, strict=True)]


_rows = jax.jit(jax.numpy.split, static_argnums=1)
