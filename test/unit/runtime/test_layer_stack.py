"""Arrays stacked over layers, on groups of devices."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from pcg.driver.pipelined import Value
from pcg.layout import Mesh, ShardSpec
from pcg.runtime.fragments import Group
from pcg.runtime.layer_stack import AXIS, LayerStack, LayerStacks

GROUPS = [Group.of(Mesh.of({"x": 2}), jax.devices()[2 * g : 2 * g + 2]) for g in range(4)]
SPLIT, REPLICATED = ShardSpec.parse("[-, x, -]"), ShardSpec.parse("[-, -, -]")


def _stack(places: list[int], specs: list[ShardSpec] | None = None, groups: list[Group] = GROUPS) -> LayerStack:
    specs = specs or [SPLIT] * len(places)
    layers = [Value(f"w[{i}]", g, (1, 4, 2), "f32", s, False) for i, (g, s) in enumerate(zip(places, specs, strict=True))]
    return LayerStack(layers, groups)


def _take_apart(stack: LayerStack, x) -> list:
    return LayerStacks([stack]).take_apart([x])[0]


def _assemble(stack: LayerStack, layers: list):
    return LayerStacks([stack]).assemble([layers])[0]


@pytest.mark.parametrize(
    ("places", "copied"),
    [
        ([0, 0, 1, 1], ()), ([2, 2, 0, 0], ()), ([0, 1, 2, 3], ()), ([1, 1, 1, 1], ()),
        ([0, 0, 0, 1], (2,)),  # a stage that begins inside of a layer
        ([0, 1, 1, 0], (1, 3)), ([0, 1, 0, 1], (1, 2)),  # two stages per group
        ([0, 0, 1], (2,)),  # three layers are not two halves
    ],
)  # fmt: skip
def test_round_trip(places: list[int], copied: tuple[int, ...]) -> None:
    specs = [REPLICATED if i == 2 else SPLIT for i in range(len(places))]
    stack, x = _stack(places, specs), np.arange(len(places) * 8, dtype=np.float32).reshape(-1, 4, 2)
    assert stack.copied == set(copied)
    layers = _take_apart(stack, x)
    for i, (layer, g, spec) in enumerate(zip(layers, places, specs, strict=True)):
        np.testing.assert_array_equal(layer, x[i : i + 1])
        assert layer.sharding.is_equivalent_to(GROUPS[g].sharding(spec), 3)
    array = _assemble(stack, layers)
    np.testing.assert_array_equal(array, x)
    assert array.sharding.is_equivalent_to(stack.sharding, 3)
    for source in (array, jax.device_put(x, jax.devices()[7])):
        for layer, again in zip(layers, _take_apart(stack, source), strict=True):
            np.testing.assert_array_equal(layer, again)
            assert again.sharding.is_equivalent_to(layer.sharding, 3)


def test_each_group_has_its_part() -> None:
    stack = _stack([0, 0, 1, 1])
    array = _assemble(stack, _take_apart(stack, np.arange(32, dtype=np.float32).reshape(4, 4, 2)))
    assert array.sharding.mesh.shape == {AXIS: 2, "x": 2}
    for shard in array.addressable_shards:
        assert shard.data.shape == (2, 2, 2)
        assert shard.index[0].start == 2 * (shard.device.id // 2)


def test_an_axis_of_groups() -> None:
    """A group may have an axis with the name of the groups'."""
    groups = [Group.of(Mesh.of({AXIS: 2}), jax.devices()[2 * g : 2 * g + 2]) for g in range(2)]
    stack = _stack([0, 1], [ShardSpec.parse(f"[-, {AXIS}, -]")] * 2, groups)
    assert stack.sharding.mesh.axis_names == (AXIS + "_", AXIS)
    x = np.arange(16, dtype=np.float32).reshape(2, 4, 2)
    np.testing.assert_array_equal(_assemble(stack, _take_apart(stack, x)), x)


def test_meshes_that_differ() -> None:
    groups = [GROUPS[0], Group.of(Mesh.of({"x": 4}), jax.devices()[4:])]
    stack = _stack([0, 1], groups=groups)
    assert stack.homes == (0, 0) and stack.copied == {1}
    assert stack.sharding.device_set == set(jax.devices()[:2])


def test_several_stacks() -> None:
    """Of layers on different groups, in different orders; one of them was returned before, the others are new."""
    stacks = LayerStacks([_stack([0, 0, 1, 1]), _stack([1, 2]), _stack([1, 1, 1]), _stack([2, 0, 1])])
    arrays = [np.random.default_rng(i).random(s.shape, np.float32) for i, s in enumerate(stacks.stacks)]
    layers = stacks.take_apart(arrays)
    for stack, own in zip(stacks.stacks, layers, strict=True):
        for i, (layer, v) in enumerate(zip(own, stack.layers, strict=True)):
            assert layer.sharding.is_equivalent_to(stack.placed[i], 3), (i, v.group)
    first, *rest = stacks.assemble(layers)
    for array, x in zip(rest, arrays[1:], strict=True):
        np.testing.assert_array_equal(array, x)
    for own, again, x in zip(layers, stacks.take_apart([first, *arrays[1:]]), arrays, strict=True):
        np.testing.assert_array_equal(np.concatenate(own), x)
        np.testing.assert_array_equal(np.concatenate(again), x)
