"""Arrays that are stacked over layers, of which each group of devices has its layers.  Imports jax.

Where the layers divide evenly over groups with equal meshes, a stacked array is one `jax.Array` on the devices of all
of them: split along dimension 0 over the groups, in the order of their first layers, and in each as its layers are.  A
layer that is on the group that has its part of the array comes from there without copies between groups; others (of
stages that do not begin with a layer, of several stages per group) are copied.  Where the layers do not divide evenly,
or meshes differ, the array is on the group that has the first layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from pcg.driver.pipelined import Value
from pcg.runtime.fragments import Group

#: The leading axis of the mesh of all groups; with underscores behind it if a group has an axis of that name.
AXIS = "group"


@dataclass(frozen=True)
class Part:
    """The part of an array that a group has."""

    layers: range
    sharding: NamedSharding


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
        self.copied = frozenset(i for i, v in enumerate(layers) if v.group != self.homes[i])
        """The layers that are copied between groups."""
        self.parts = {
            g: Part(range(i * size, (i + 1) * size), groups[g].sharding(first.spec)) for i, g in enumerate(numbers)
        }  # fmt: skip
        """By group, in order."""
        self.placed = tuple(groups[v.group].sharding(v.spec) for v in layers)
        """The sharding of each layer."""
        self._dtype = groups[first.group].aval(first.shape, first.element, first.spec).dtype
        self.shape = (first.shape[0] * len(layers), *first.shape[1:])
        self.sharding = self._over_groups() if len(numbers) > 1 else self.parts[numbers[0]].sharding
        """Of the array."""

    def _over_groups(self) -> NamedSharding:
        every = [part.sharding for part in self.parts.values()]
        mesh, dims = every[0].mesh, every[0].spec
        name = AXIS
        while name in mesh.axis_names:
            name += "_"
        devices = np.stack([own.mesh.devices for own in every])
        kinds = (jax.sharding.AxisType.Auto, *mesh.axis_types)
        over = jax.sharding.Mesh(devices, (name, *mesh.axis_names), axis_types=kinds)
        return NamedSharding(over, PartitionSpec(name, *dims[1:]))

    def type(self, count: int, sharding: NamedSharding) -> jax.ShapeDtypeStruct:
        """Of so many layers."""
        shape = (self.layers[0].shape[0] * count, *self.shape[1:])
        return jax.ShapeDtypeStruct(shape, self._dtype, sharding=sharding)

    def at_home(self, layer: int) -> NamedSharding:
        """The sharding of a layer on the group that has its part of the array: its own if it is on that group."""
        return self.parts[self.homes[layer]].sharding if layer in self.copied else self.placed[layer]

    def parts_of(self, x: Any) -> dict[int, jax.Array]:
        """By group: its part of the array; `x` may be anywhere."""
        if not isinstance(x, jax.Array) or not x.sharding.is_equivalent_to(self.sharding, x.ndim):
            x = jax.device_put(x, self.sharding)
        shards = {s.device: s.data for s in x.addressable_shards}
        found = {}
        for group, part in self.parts.items():
            arrays = [shards[d] for d in part.sharding.mesh.devices.flat]
            type_ = self.type(len(part.layers), part.sharding)
            found[group] = jax.make_array_from_single_device_arrays(type_.shape, part.sharding, arrays)
        return found

    def of_parts(self, parts: Mapping[int, jax.Array]) -> jax.Array:
        """The array of its parts, by group."""
        if len(parts) == 1:
            return next(iter(parts.values()))
        shards = [s.data for group in self.parts for s in parts[group].addressable_shards]
        return jax.make_array_from_single_device_arrays(self.shape, self.sharding, shards)


class LayerStacks:
    """Several tensors, which one program per group makes of their layers, or takes apart."""

    def __init__(self, stacks: Sequence[LayerStack]) -> None:
        self.stacks = tuple(stacks)
        self._on: dict[int, list[LayerStack]] = {}
        """By group: the stacks that have a part there."""
        for stack in stacks:
            for group in stack.parts:
                self._on.setdefault(group, []).append(stack)

    def _types(self, group: int) -> tuple[list[list[jax.ShapeDtypeStruct]], list[jax.ShapeDtypeStruct]]:
        """The layers of each part on a group, and the parts."""
        rows, parts = [], []
        for stack in self._on[group]:
            part = stack.parts[group]
            rows.append([stack.type(1, stack.at_home(i)) for i in part.layers])
            parts.append(stack.type(len(part.layers), part.sharding))
        return rows, parts

    @cached_property
    def _join(self) -> dict[int, jax.stages.Compiled]:
        def join(rows: list[list[jax.Array]]) -> list[jax.Array]:
            return [jax.numpy.concatenate(x) for x in rows]

        programs = {}
        for group in self._on:
            rows, parts = self._types(group)
            programs[group] = jax.jit(join, out_shardings=[x.sharding for x in parts]).lower(rows).compile()
        return programs

    @cached_property
    def _split(self) -> dict[int, jax.stages.Compiled]:
        programs = {}
        for group in self._on:
            rows, parts = self._types(group)
            programs[group] = _splitting(rows).lower(parts).compile()
        return programs

    def assemble(self, layers: Sequence[Sequence[jax.Array]]) -> list[jax.Array]:
        """The arrays of their layers, each on its group."""
        rows = dict(zip(self.stacks, layers, strict=True))
        parts: dict[LayerStack, dict[int, jax.Array]] = {stack: {} for stack in self.stacks}
        for group, stacks in self._on.items():
            here = [[_on(rows[s][i], s, i, s.at_home(i)) for i in s.parts[group].layers] for s in stacks]
            for stack, part in zip(stacks, self._join[group](here), strict=True):
                parts[stack][group] = part
        return [stack.of_parts(parts[stack]) for stack in self.stacks]

    def take_apart(self, arrays: Sequence[Any]) -> list[list[jax.Array]]:
        """The layers of arrays, each on its group; the arrays may be anywhere."""
        parts = {stack: stack.parts_of(x) for stack, x in zip(self.stacks, arrays, strict=True)}
        rows: dict[LayerStack, dict[int, jax.Array]] = {stack: {} for stack in self.stacks}
        for group, stacks in self._on.items():
            for stack, found in zip(stacks, self._split[group]([parts[s][group] for s in stacks]), strict=True):
                layers = stack.parts[group].layers
                rows[stack].update((i, _on(x, stack, i, stack.placed[i])) for i, x in zip(layers, found, strict=True))
        # Groups come in the order of the first stack, layers of another one may lie in another order.
        return [[rows[stack][i] for i in range(len(stack.layers))] for stack in self.stacks]


def _splitting(rows: Sequence[Sequence[jax.ShapeDtypeStruct]]) -> Any:
    def split(parts: list[jax.Array]) -> list[list[jax.Array]]:
        return [jax.numpy.split(x, len(own)) for x, own in zip(parts, rows, strict=True)]

    return jax.jit(split, out_shardings=[[x.sharding for x in own] for own in rows])


def _on(x: jax.Array, stack: LayerStack, layer: int, sharding: NamedSharding) -> jax.Array:
    """A layer with a sharding, copied if its group does not have its part of the array."""
    return jax.device_put(x, sharding) if layer in stack.copied else x
