"""Which layouts the graph of redistributions reaches."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.layout import Mesh
from pcg.reshard.layout_arrays import LayoutArrays
from pcg.reshard.layout_graph import UNEVEN, graph_of


def reached(limits, mesh):
    """All layouts on the way from replication."""
    graph = graph_of(limits, mesh)
    start = graph.node((((),) * len(limits), ()))
    found, waiting = {start}, [start]
    while waiting:
        fresh = [after for after, _ in graph.edges(waiting.pop()) if after not in found]
        found.update(fresh)
        waiting += dict.fromkeys(fresh)
    return {graph.states[n][0] for n in found}


def layouts(limits, mesh):
    """All layouts whose numbers of parts divide the limits, by trying every placement of every order of axes."""
    out = set()
    for order in itertools.permutations(mesh.names):
        for places in itertools.product(range(-1, len(limits)), repeat=len(order)):
            dims = tuple(tuple(a for a, p in zip(order, places, strict=True) if p == d) for d in range(len(limits)))
            if all(n % math.prod(map(mesh.axis_size, axes)) == 0 for n, axes in zip(limits, dims, strict=True)):
                out.add(dims)
    return out


@pytest.mark.parametrize("limits", [(8, 8), (4, 2), (1, 8), (2, 2, 2), (6, 3), (12,), (3, 1)], ids=str)
@pytest.mark.parametrize("mesh", ["a=2,b=2,c=2", "a=2,b=4", "a=2,b=3,c=2"])
def test_reaches_what_divides(limits, mesh):
    """Also where not all splits are possible, of which the graph is a part of that where they are."""
    mesh = Mesh.parse(mesh)
    limits = tuple(math.gcd(n, mesh.size) for n in limits)
    assert reached(limits, mesh) == layouts(limits, mesh)


@pytest.mark.parametrize("limits", [(UNEVEN, 8), (8, UNEVEN, 4), (UNEVEN, UNEVEN), (8, 8)], ids=str)
@pytest.mark.parametrize("mesh", ["a=2,b=2,c=2", "a=2,b=4", "a=3,b=3", "a=4,b=2,c=2"])
def test_permutes_of_uneven_dimensions_keep_their_blocks(limits, mesh):
    """[a, b] of sizes 4 and 2 becomes [b, a] where shards are equal only: ten rows are in blocks of 2, or of 3 and 1."""
    mesh = Mesh.parse(mesh)
    limits = tuple(math.gcd(n, mesh.size) if n != UNEVEN else n for n in limits)
    graph = graph_of(limits, mesh)
    waiting = [graph.node((((),) * len(limits), ()))]
    seen = set()
    while waiting:
        n = waiting.pop()
        if n in seen:
            continue
        seen.add(n)
        dims, _ = graph.states[n]
        edges = graph.edges(n)
        waiting += [after for after, _ in edges]
        found = [graph.states[after][0] for after, hop in edges if graph.hops[hop][0] == "permute"]
        want = set()
        for other in layouts([limit or mesh.size for limit in limits], mesh):
            same = []
            for one, two, limit in zip(dims, other, limits, strict=True):
                x, y = ([mesh.axis_size(a) for a in axes] for axes in (one, two))
                same.append(x == y if limit == UNEVEN else math.prod(x) == math.prod(y))
            if other != dims and all(same):
                want.add(other)
        assert set(found) == want and len(found) == len(want)
    assert len(seen) > 3 or limits[0] == 1


#: Axes of meshes, with as many dimensions as tensors have on them at most: their graphs have some hundred layouts.
MESHES = [("a=8", 5), ("b=2,a=3", 4), ("c=2,a=2,b=2", 3), ("a=2,m=4,b=2", 3), ("d=2,c=2,b=2,a=2", 1)]


@st.composite
def starts(draw):
    """A mesh, and layouts of one rank, partial over some axes by one kind of reduction or several."""
    mesh, most = draw(st.sampled_from(MESHES))
    mesh, rank = Mesh.parse(mesh), draw(st.integers(0, most))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        order = draw(st.permutations(mesh.names))
        places = [draw(st.integers(-1 - bool(found), rank - 1)) for _ in order]
        dims = tuple(tuple(a for a, p in zip(order, places, strict=True) if p == d) for d in range(rank))
        partial = sorted(a for a, p in zip(order, places, strict=True) if p == -2)
        found.append((dims, tuple((a, draw(st.sampled_from(["sum", "max"]))) for a in partial)))
    return mesh, rank, found


@settings(max_examples=60, deadline=None)
@given(starts())
def test_the_arrays_have_the_steps_of_the_graph(case):
    """All of them, and no others, from everything that can be reached."""
    mesh, rank, found = case
    graph = graph_of((mesh.size,) * rank, mesh)
    waiting, seen, steps = [graph.node(layout) for layout in found], set(), set()
    while waiting:
        n = waiting.pop()
        if n not in seen:
            seen.add(n)
            steps |= {(graph.states[n], graph.states[after], graph.hops[hop]) for after, hop in graph.edges(n)}
            waiting += [after for after, _ in graph.edges(n)]
    arrays = LayoutArrays(rank, mesh)
    every = [graph.states[n] for n in seen]
    numbers = arrays.nodes(found).tolist()
    layout = dict(zip(arrays.nodes(every).tolist(), every, strict=True))
    assert len(layout) == len(every) and [layout[n] for n in numbers] == found
    columns = (arrays.before.tolist(), arrays.after.tolist(), arrays.hop.tolist())
    have = [(layout[a], layout[b], arrays.hops[h]) for a, b, h in zip(*columns, strict=True) if a in layout]
    assert len(have) == len(set(have)) and set(have) == steps
    assert list(zip(*columns[:2], strict=True)) == sorted(zip(*columns[:2], strict=True))
    parts = [[math.prod(map(mesh.axis_size, axes)) for axes in layout[n][0]] for n in sorted(layout)]
    assert arrays.parts[sorted(layout)].tolist() == parts
