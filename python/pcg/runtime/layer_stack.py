"""Arrays that are stacked over layers, of which each group of devices has its layers.  Imports jax.

Where the layers divide evenly over groups with equal meshes, a stacked array is one `jax.Array` on the devices of all
of them: split along dimension 0 over the groups, in the order of their first layers, and in each as its layers are.  A
layer that is on the group that has its part of the array comes from there without copies between groups; others (of
stages that do not begin with a layer, of several stages per group) are copied.  Where the layers do not divide evenly,
or meshes differ, the array is on the group that has the first layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
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
        self.layers = tuple(layers)
        first = layers[0]
        numbers = list(dict.fromkeys(v.group for v in layers))
        even = len(layers) % len(numbers) == 0 and len({groups[g].mesh.axes for g in numbers}) == 1
        if not even or first.spec.dims[0]:
            numbers = numbers[:1]
        size = len(layers) // len(numbers)
        self.homes = tuple(numbers[i // size] for i in range(len(layers)))
        """The group that has the part of the array that each layer is."""
        self._own = [groups[g].sharding(first.spec) for g in numbers]
        """Of the parts."""
        self._parts = [range(i, i + size) for i in range(0, len(layers), size)]
        """The layers in each."""
        self._placed = [groups[v.group].sharding(v.spec) for v in layers]
        self._dtype = groups[first.group].aval(first.shape, first.element, first.spec).dtype
        self.shape = (first.shape[0] * len(layers), *first.shape[1:])
        self.sharding = self._own[0] if len(numbers) == 1 else self._over_groups()
        """Of the array."""

    def _over_groups(self) -> NamedSharding:
        mesh, dims = self._own[0].mesh, self._own[0].spec
        name = AXIS
        while name in mesh.axis_names:
            name += "_"
        devices = np.stack([own.mesh.devices for own in self._own])
        kinds = (jax.sharding.AxisType.Auto, *mesh.axis_types)
        over = jax.sharding.Mesh(devices, (name, *mesh.axis_names), axis_types=kinds)
        return NamedSharding(over, PartitionSpec(name, *dims[1:]))

    @property
    def copied(self) -> tuple[int, ...]:
        """The layers that are copied between groups."""
        return tuple(i for i, (v, home) in enumerate(zip(self.layers, self.homes, strict=True)) if v.group != home)

    # -- programs ------------------------------------------------------------------------------

    def _shape(self, count: int) -> tuple[int, ...]:
        """Of so many layers."""
        return (self.layers[0].shape[0] * count, *self.shape[1:])

    def _aval(self, count: int, sharding: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self._shape(count), self._dtype, sharding=sharding)

    def _at_home(self, layer: int, own: NamedSharding) -> NamedSharding:
        """The sharding of a layer on the group that has its part of the array: its own if it is on that group."""
        return own if self.layers[layer].group != self.homes[layer] else self._placed[layer]

    @cached_property
    def _join(self) -> list[jax.stages.Compiled]:
        """By part: a program that makes it of its layers."""
        programs = []
        for own, part in zip(self._own, self._parts, strict=True):
            joined = jax.jit(lambda *rows: jax.numpy.concatenate(rows), out_shardings=own)
            programs.append(joined.lower(*(self._aval(1, self._at_home(i, own)) for i in part)).compile())
        return programs

    @cached_property
    def _split(self) -> list[jax.stages.Compiled]:
        """By part: a program that makes its layers of it."""
        programs = []
        for own, part in zip(self._own, self._parts, strict=True):
            out = [self._at_home(i, own) for i in part]
            split = jax.jit(partial(jax.numpy.split, indices_or_sections=len(part)), out_shardings=out)
            programs.append(split.lower(self._aval(len(part), own)).compile())
        return programs

    # -- arrays --------------------------------------------------------------------------------

    def assemble(self, layers: Sequence[jax.Array]) -> jax.Array:
        """The array of its layers, each on its group."""
        parts = []
        for own, part, join in zip(self._own, self._parts, self._join, strict=True):
            parts.append(join(*(jax.device_put(layers[i], self._at_home(i, own)) for i in part)))
        if len(parts) == 1:
            return parts[0]
        shards = [s.data for x in parts for s in x.addressable_shards]
        return jax.make_array_from_single_device_arrays(self.shape, self.sharding, shards)

    def take_apart(self, x: Any) -> list[jax.Array]:
        """The layers of an array, each on its group; `x` may be anywhere."""
        count = len(self.layers)
        rows: Sequence[Any]
        if not isinstance(x, jax.Array):
            rows = np.split(np.asarray(x), count)
        elif x.sharding.is_equivalent_to(self.sharding, x.ndim):
            rows = [row for part in self._by_part(x) for row in part]
        else:
            rows = _rows(x, count)
        return [jax.device_put(row, placed) for row, placed in zip(rows, self._placed, strict=True)]

    def _by_part(self, x: jax.Array) -> list[list[jax.Array]]:
        """The layers of an array that is placed as `assemble` does, by part."""
        shards = {s.device: s.data for s in x.addressable_shards}
        found = []
        for own, part, split in zip(self._own, self._parts, self._split, strict=True):
            arrays = [shards[d] for d in own.mesh.devices.flat]
            found.append(split(jax.make_array_from_single_device_arrays(self._shape(len(part)), own, arrays)))
        return found


_rows = jax.jit(jax.numpy.split, static_argnums=1)
