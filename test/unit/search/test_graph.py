"""Classes of nodes that are equivalent."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.layout import Mesh
from pcg.search.graph import Edge, Graph, Node
from pcg.search.table import Tables

TABLES = Tables(Mesh.parse("x=2"))
KINDS = [TABLES.of_value((4,), None), TABLES.of_value((4, 4), None)]


def refined(graph, rounds):
    """Colour refinement, word by word."""
    colour = [(n.kind, n.name, n.table.index, n.times, n.label) for n in graph.nodes]
    edges = [e for e in graph.edges if e.shape]
    for _ in range(rounds):
        colour = [
            (
                c,
                tuple(sorted((e.index, e.slot, repr(colour[e.src])) for e in edges if e.dst == n)),
                tuple(sorted((e.slot, e.index, repr(colour[e.dst])) for e in edges if e.src == n)),
            )
            for n, c in enumerate(colour)
        ]  # fmt: skip
        names = {c: i for i, c in enumerate(dict.fromkeys(map(repr, colour)))}
        colour = [names[repr(c)] for c in colour]
    return colour


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_they_are_those_of_colour_refinement(seed):
    rng = np.random.default_rng(seed)
    graph = Graph()
    n = int(rng.integers(1, 12))
    for _ in range(n):
        table = KINDS[rng.integers(0, 2)]
        graph.add(Node("op", "add", table, np.zeros(len(table)), 1.0, rng.choice(["", "a"])))
    for _ in range(int(rng.integers(0, 2 * n))):
        src, dst = rng.integers(0, n, 2)
        shape = () if rng.random() < 0.2 else (4,)
        graph.edges.append(Edge(int(src), int(rng.integers(0, 2)), int(dst), int(rng.integers(0, 2)), shape, 4.0, 1.0))
    found, want = graph.classes(rounds=n), refined(graph, n)
    pairs = set(zip(found, want, strict=True))
    assert len(pairs) == len(set(found)) == len(set(want))
    # Numbered by first appearance.
    assert list(dict.fromkeys(found)) == sorted(set(found))


def test_the_middle_layers_of_a_long_chain_are_one():
    graph = Graph()
    for _ in range(60):
        graph.add(Node("op", "tanh", KINDS[0], np.zeros(len(KINDS[0]))))
    graph.edges = [Edge(i, 0, i + 1, 0, (4,), 4.0, 1.0) for i in range(59)]
    found = graph.classes(rounds=5)
    assert len(set(found[5:-5])) == 1
    assert len(set(found)) == 11
