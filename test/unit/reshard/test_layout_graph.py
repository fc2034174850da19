"""Which layouts the graph of redistributions reaches."""

import itertools
import math

import pytest

from pcg.layout import Mesh
from pcg.reshard import layout_graph
from pcg.reshard.layout_graph import UNEVEN, LayoutGraph, graph_of, unlimited


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


@pytest.mark.parametrize("limits", [(UNEVEN, 8), (8, UNEVEN, 4), (UNEVEN, UNEVEN)], ids=str)
@pytest.mark.parametrize("mesh", ["a=2,b=2,c=2", "a=2,b=4", "a=3,b=3"])
def test_uneven_splits_have_the_steps_that_their_blocks_allow(limits, mesh, monkeypatch):
    """Where axes have one size, the graph of even splits has the same; else permutations are fewer."""
    mesh = Mesh.parse(mesh)

    def steps():
        graph = LayoutGraph(limits, mesh)
        waiting = [graph.node((((),) * len(limits), ()))]
        found = {}
        while waiting:
            n = waiting.pop()
            if graph.states[n] not in found:
                edges = graph.edges(n)
                found[graph.states[n]] = {(graph.states[after], graph.hops[hop]) for after, hop in edges}
                waiting += [after for after, _ in edges]
        return found

    shared = steps()
    free = unlimited(limits, mesh)
    assert (UNEVEN in free) == (len(set(mesh.sizes)) > 1)
    # Each block compared with those that a permutation may leave it with.
    monkeypatch.setattr(layout_graph, "unlimited", lambda limits, mesh: tuple(n and mesh.size for n in limits))
    layout_graph.graph_of.cache_clear()
    assert steps() == shared
    layout_graph.graph_of.cache_clear()
