"""The compiled simplification against one node by node, to the last bit: order, costs, choices, the way back."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.solve import elimination, flat_elimination
from pcg.solve.dominance import undominated
from pcg.solve.edges import Edges
from pcg.solve.elimination import Elimination
from pcg.solve.flat_elimination import FlatElimination
from pcg.solve.network import FORBIDDEN, Network
from pcg.solve.pairwise import Pairwise


@st.composite
def networks(draw: st.DrawFn, nodes: int = 12, choices: int = 8) -> Network:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ties = draw(st.booleans())
    network = Network()
    for _ in range(draw(st.integers(1, nodes))):
        size = rng.integers(1, choices)
        network.add(rng.integers(0, 9, size) * 1e-6 if ties else rng.random(size))
    share = draw(st.floats(0, 0.6))
    pairs = [p for p in itertools.combinations(range(len(network.unary)), 2) if rng.random() < share]
    known: dict[tuple[int, ...], np.ndarray] = {}
    for i, j in draw(st.permutations(pairs)):
        shape = len(network.unary[i]), len(network.unary[j])
        m = rng.integers(0, 5, shape) * 3e-6 if ties else rng.random(shape)
        if rng.random() < 0.3:
            m[rng.random(shape) < 0.2] = FORBIDDEN
        # Some edges share a matrix, one that is not contiguous at times.
        m = known.setdefault(shape, np.asfortranarray(m)) if rng.random() < 0.3 else m
        network.connect(i, j, m)
    return network


def node_by_node(network: Network, keep: set[int]) -> Elimination:
    """The order of the compiled loop, with the steps that elimination has for others."""
    network.settle()
    e = Elimination(network.unary, network.pair, network.forbidden)

    def ready(i: int) -> bool:
        return e.alive[i] and i not in keep and len(e.pair[i]) <= 2

    changed = set(range(len(network.unary)))
    while changed:
        for i in sorted(changed - keep):
            if len(e.unary[i]) > 1:
                good = allowed = e.unary[i] < network.limit
                if allowed.sum() > 1:
                    edges = [m[allowed] for m in e.pair[i].values()]
                    nothing = np.zeros((0, int(allowed.sum())), dtype=np.int64)
                    good = allowed.copy()
                    good[allowed] = undominated(
                        e.unary[i][allowed], edges, nothing, 2 * network.limit, network.noise
                    )  # fmt: skip
                if allowed.any() and not good.all():
                    e.restrict(i, good)
        touched: set[int] = set()
        queue = [i for i in range(len(network.unary)) if ready(i)]
        for i in queue:
            if ready(i):
                neighbours = e.eliminate(i)
                touched.update(neighbours)
                queue += [j for j in neighbours if ready(j)]
        changed = {i for i in touched if e.alive[i]}
    return e


@pytest.mark.parametrize("room", [1, 1 << 14])
@given(network=networks(), data=st.data())
@settings(max_examples=200, deadline=None)
def test_it_is_the_elimination_node_by_node(room: int, network: Network, data: st.DataObject) -> None:
    keep = data.draw(st.sets(st.integers(0, len(network.unary) - 1), max_size=3))
    expected = node_by_node(network, keep)
    with pytest.MonkeyPatch.context() as patch:  # with hardly any room all arrays grow on the way
        patch.setattr(flat_elimination, "_ROOM", room)
        found = FlatElimination(network, keep)
    assert found.constant == expected.constant
    (kept, flat, edges), (kept_0, unary_0, pair_0) = found.left(), expected.left()
    pair = edges.rows()
    unary, again = flat.split(flat.unary), Pairwise.of(unary_0, Edges.of(unary_0, pair_0))
    assert kept == kept_0
    assert flat.near == again.near
    distinct = {(m.shape, m.tobytes()): m.size for i, row in enumerate(pair_0) for j, m in row.items() if i < j}
    assert len(flat.tables) == sum(distinct.values())
    for e, (i, j) in enumerate(zip(flat.ei.tolist(), flat.ej.tolist(), strict=True)):
        assert np.array_equal(flat.edge(e), pair_0[i][j])
    assert [list(row) for row in pair] == [list(row) for row in pair_0]
    for u, v in zip(unary, unary_0, strict=True):
        assert np.array_equal(u, v)
    for row, row_0 in zip(pair, pair_0, strict=True):
        assert all(np.array_equal(row[j], row_0[j]) for j in row)
    assert all(np.array_equal(found.choices[i], expected.choices[i]) for i in kept)

    x = [(i, data.draw(st.integers(0, len(u) - 1))) for i, u in zip(kept, unary, strict=True)]
    assert found.expand(x) == expected.expand(x)

    masks = [np.array(data.draw(st.lists(st.booleans(), min_size=len(u), max_size=len(u)))) for u in unary]
    around = [np.zeros(size, dtype=bool) for size in expected.sizes]
    for i, mask in zip(kept, masks, strict=True):
        mask[0] = True
        around[i][found.choices[i]] = mask
    for out in reversed(expected._trail):
        others = out.others if isinstance(out, elimination._Follows) else [j for j, _, _ in out.neighbours]
        around[out.node][:] = False
        for choices in itertools.product(*(np.flatnonzero(around[j]).tolist() for j in others)):
            at = dict(zip(others, choices, strict=True))
            around[out.node][out.best([at.get(j, 0) for j in range(len(network.unary))])] = True
    for mask, other in zip(found.respond(zip(kept, masks, strict=True)), around, strict=True):
        assert np.array_equal(mask, other)


def test_a_network_may_be_empty() -> None:
    found = FlatElimination(Network())
    kept, flat, edges = found.left()
    assert kept == [] and flat.n == 0 and len(flat.ei) == 0 and edges.rows() == []
    assert found.expand([]) == []
    assert found.respond([]) == []
