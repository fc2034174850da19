"""Islands, boxes and the allocator of one island, beside searches through all boxes one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcg.controller.boxes import Box, Fit, fits
from pcg.controller.errors import ResourceError
from pcg.controller.grid import Grid
from pcg.controller.island import Island, islands_of
from pcg.machine import Cluster

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)


@st.composite
def islands(draw):
    shape = draw(SHAPES)
    return Island("pod", shape, tuple(draw(st.booleans()) for _ in shape))


@st.composite
def grids(draw):
    """A grid of which any devices are used, shared or out of service."""
    grid = Grid(draw(islands()))
    states = draw(st.lists(st.sampled_from("....usxo"), min_size=grid.island.size, max_size=grid.island.size))
    for device, state in enumerate(states):
        if state == "o":
            grid.serve([device], False)
        elif state in "us":
            grid.occupy([device], shared=state == "s")
        elif state == "x":
            grid.occupy([device], shared=True)
            grid.occupy([device], shared=True)
    return grid


def places(island, sizes):
    """All boxes of these sizes, as sets of coordinates."""
    starts = [
        range(n) if wrapped else range(n - size + 1)
        for n, size, wrapped in zip(island.shape, sizes, island.wrapped, strict=True)
    ]
    if any(size > n for size, n in zip(sizes, island.shape, strict=True)):
        return
    for start in itertools.product(*starts):
        cells = itertools.product(
            *([(s + i) % n for i in range(size)] for s, size, n in zip(start, sizes, island.shape, strict=True))
        )
        yield start, [*cells]


def some_box_is_free(grid, sizes, shared=False):
    blocked = grid.blocked(shared)
    return any(not any(blocked[c] for c in cells) for _, cells in places(grid.island, sizes))


@given(grids(), st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple), st.booleans())
def test_a_box_is_found_if_there_is_one(grid, axes, shared):
    """In some rotation; all its devices are free, next to one another, and follow the axes."""
    island = grid.island
    wanted = tuple(n for n in axes if n > 1)
    wanted += (1,) * (len(island.shape) - len(wanted))
    exists = len(wanted) == len(island.shape) and any(
        some_box_is_free(grid, sizes, shared) for sizes in set(itertools.permutations(wanted))
    )
    (group,) = fits(island, axes, "box") or ((),)
    found = grid.best(group, shared)
    assert (found is not None) == exists
    if found is not None:
        devices = found.box.devices(island.shape)
        assert len(set(devices.tolist())) == math.prod(axes) == len(devices)
        assert not grid.blocked(shared).reshape(-1)[devices].any()
        positions = np.stack(np.unravel_index(devices, island.shape), axis=-1).reshape(*axes, len(island.shape))
        for axis, size in enumerate(axes):
            for a, b in zip(range(size - 1), range(1, size), strict=True):
                apart = np.abs(positions.take(b, axis=axis) - positions.take(a, axis=axis))
                apart = np.minimum(apart, np.array(island.shape) - apart) if any(island.wrapped) else apart
                assert (apart.sum(axis=-1) == 1).all()


@given(grids(), st.data())
def test_no_place_is_better(grid, data):
    """The score of the best place is the least, with places and neighbours counted one by one."""
    island = grid.island
    sizes = tuple(data.draw(st.integers(1, n)) for n in island.shape)
    blocked = grid.blocked()

    edges = [e for e in (max(island.shape) // 4, max(island.shape) // 2) if e > 1]
    cubes = [[{*cells} for _, cells in places(island, [min(e, n) for n in island.shape])] for e in edges]
    cubes = [free for every in cubes if (free := [c for c in every if not any(blocked[x] for x in c)])]

    def score(cells):
        lost = sum(sum(not c.isdisjoint(cells) for c in free) / len(free) for free in cubes)
        total = 0
        for cell in cells:
            for d, n in enumerate(island.shape):
                if island.wrapped[d] and sizes[d] == n:
                    continue
                for step in (-1, 1):
                    at = list(cell)
                    at[d] += step
                    beyond = not 0 <= at[d] < n and not island.wrapped[d]
                    at[d] %= n
                    # A box that is one short of a ring has the same neighbour on both sides, and itself never.
                    if beyond or tuple(at) not in cells:
                        total += -1 if beyond or blocked[tuple(at)] else 1
        return 0, pytest.approx(lost), total

    scores = [score(cells) for _, cells in places(island, sizes) if not any(blocked[c] for c in cells)]
    found = grid.best([Fit(sizes, tuple(range(len(sizes))))])
    assert (found.score if found else None) == min(scores, default=None, key=lambda s: (s[1].expected, s[2]))


@given(grids(), st.booleans())
def test_the_largest_box(grid, shared):
    sizes = grid.largest(shared)
    every = [s for s in itertools.product(*(range(1, n + 1) for n in grid.shape)) if some_box_is_free(grid, s, shared)]
    assert math.prod(sizes) == max(map(math.prod, every), default=0)
    assert sizes in every or not every


@given(grids(), st.integers(1, 30), st.booleans())
def test_near_devices_are_found_if_there_are_so_many(grid, count, shared):
    found = grid.nearest(count, shared)
    assert (found is not None) == (grid.free(shared) >= count)
    if found is not None:
        assert len({*found.tolist()}) == count
        assert not grid.blocked(shared).reshape(-1)[found].any()


@given(grids(), st.integers(1, 8))
def test_shared_devices_are_those_with_the_fewest_slices(grid, count):
    load = np.sort(grid.load[~grid.blocked(shared=True)])
    found = grid.nearest(count, shared=True)
    if found is not None:
        assert grid.load.reshape(-1)[found].max() == load[count - 1]
    boxes = [g for g in (grid.best(group, True) for group in fits(grid.island, (count,), "box")) if g is not None]
    for best in boxes:
        least = min(
            sum(int(grid.load[c]) for c in cells)
            for fit in fits(grid.island, (count,), "box")[0]
            for _, cells in places(grid.island, fit.sizes)
            if not any(grid.blocked(True)[c] for c in cells)
        )
        assert grid.load.reshape(-1)[best.box.devices(grid.shape)].sum() == least


@given(islands(), st.integers(1, 60))
def test_boxes_of_a_number_are_all_there_are(island, count):
    """Compact ones first."""
    groups = fits(island, count, "any")
    found = [fit.sizes for group in groups for fit in group]
    every = {s for s in itertools.product(*(range(1, n + 1) for n in island.shape)) if math.prod(s) == count}
    assert len(found) == len(every) and {*found} == every
    surfaces = [sum(count // n for n in sizes) for sizes in found]
    assert surfaces == sorted(surfaces)


@given(islands(), st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple))
def test_a_torus_is_of_full_rings(island, axes):
    for shape in (axes, math.prod(axes)):
        for fit in itertools.chain(*fits(island, shape, "torus")):
            for n, most, wrapped in zip(fit.sizes, island.shape, island.wrapped, strict=True):
                assert n == 1 or (n == most and wrapped)


def test_places_beside_what_is_used_are_best():
    grid = Grid(Island("pod", (8, 8), (True, True)))
    grid.occupy(Box((2, 2), Fit((2, 2), (0, 1))).devices(grid.shape))
    found = grid.best(fits(grid.island, (2, 2), "box")[0])
    assert found.box.start in {(0, 2), (2, 0), (2, 4), (4, 2)}


def test_a_box_may_go_around():
    grid = Grid(Island("pod", (4, 2), (True, False)))
    grid.serve([2, 3, 4, 5], False)
    found = grid.best(fits(grid.island, (2, 2), "box")[0])
    assert found.box == Box((3, 0), Fit((2, 2), (0, 1)))
    assert found.box.devices(grid.shape).tolist() == [6, 7, 0, 1]


def test_devices_follow_the_axes():
    """A mesh that lies rotated, one that has axes for two dimensions, and one with two axes in a dimension."""
    island = Island("pod", (4, 2))
    (fit,) = fits(island, (2, 4), "box")[0]
    assert Box((0, 0), fit).devices(island.shape).reshape(2, 4).tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]]
    (fit,) = fits(island, (8,), "any")[0]
    assert fit == Fit((4, 2), (0, 1)) and not fits(island, (8,), "box")
    (fit,) = fits(island, (2, 2, 2), "any")[0]
    assert Box((0, 0), fit).devices(island.shape).tolist() == [*range(8)]


def test_of_levels_few_outer_blocks_are_used():
    """Two nodes of eight: a mesh of 2x4 lies in one of them."""
    nodes = Island("nodes", (2, 8), levels=(0, 1))
    assert fits(nodes, (2, 4), "any")[0] == (Fit((1, 8), (0, 1)),)
    assert fits(nodes, 8, "any")[0] == (Fit((1, 8), (0, 1)),)
    grid = Grid(nodes)
    grid.occupy([2, 5, 7, 8, 9])
    assert grid.nearest(6).tolist() == [*range(10, 16)]
    assert {d // 8 for d in grid.nearest(5).tolist()} in ({0}, {1})


def test_islands_of_clusters():
    (pod,) = islands_of(Cluster.preset("tpu-v4", chips=(4, 4, 6)))
    assert pod.shape == (4, 4, 6) and pod.wrapped == (True, True, False) and pod.levels == (0, 0, 0)
    assert pod.kind == "TPU-v4" and pod.memory == 32 * 2**30
    (nodes,) = islands_of(Cluster.preset("summit", nodes=4).with_failed([7]))
    assert nodes.shape == (4, 2, 3) and nodes.levels == (0, 1, 2) and not any(nodes.wrapped)
    assert nodes.out_of_service == {7}


def test_islands_are_numbered_as_their_cluster():
    """The number of a device is its place in the grid, row by row, from the first of its group."""
    cluster = Cluster.preset("mixed-v100-ascend910").with_failed([20])
    for index, island in enumerate(islands_of(cluster)):
        for number in range(island.size):
            place = tuple(map(int, np.unravel_index(number, island.shape)))
            assert cluster.coordinates(island.first + number) == (index, *place)
    assert [i.out_of_service for i in islands_of(cluster)] == [frozenset(), {4}]


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"shape": ()}, r"shape is \(\); allowed: one or more positive integers"),
        ({"shape": (2, 0)}, r"shape is \(2, 0\)"),
        ({"shape": (2**9, 2**9)}, "has 262144 devices; allowed: up to 65536"),
        ({"shape": (2, 2), "wrapped": (True,)}, "wrapped has 1 entries; allowed: 2"),
        ({"shape": (2, 2), "levels": (1, 0)}, r"levels are \(1, 0\); allowed: the outermost first"),
        ({"shape": (2,), "memory": 0}, "memory is 0 bytes; allowed: above 0"),
        ({"shape": (2,), "out_of_service": frozenset({2})}, "device 2 does not exist; devices are 0 to 1"),
    ],
)
def test_islands_that_are_none(arguments, text):
    with pytest.raises(ResourceError, match=text):
        Island("pod", **arguments)
