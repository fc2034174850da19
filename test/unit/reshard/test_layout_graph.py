"""Which layouts the graph of redistributions reaches."""

import itertools
import math

import pytest

from pcg.layout import Mesh
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
