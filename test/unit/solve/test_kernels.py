"""The compiled loops of the solver against plain numpy."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.solve.dominance import undominated
from pcg.solve.kernels import least_of_groups
from pcg.solve.network import FORBIDDEN, Network
from pcg.solve.products import min_plus
from pcg.solve.trws import TreeReweighted

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_min_plus(seed):
    rng = np.random.default_rng(seed)
    rows, inner, cols = rng.integers(1, 14, 3)
    a, b = rng.random((rows, inner)), rng.random((inner, cols))
    a[rng.random(a.shape) < 0.2] = np.inf
    np.testing.assert_array_equal(min_plus(a, b), (a[:, :, None] + b[None, :, :]).min(axis=1))


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_least_of_groups(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 12, 2)
    costs = rng.random(shape)
    costs[rng.random(shape) < 0.2] = np.inf
    groups_i, groups_j = (np.unique(rng.integers(0, 4, n), return_inverse=True)[1] for n in rng.integers(1, 20, 2))
    rows, columns = rng.integers(0, shape[0], len(groups_i)), rng.integers(0, shape[1], len(groups_j))
    out = np.full((groups_i.max() + 1, groups_j.max() + 1), np.inf)
    least_of_groups(groups_i, rows, groups_j, columns, costs.ravel(), int(shape[1]), out)
    for i, j in np.ndindex(out.shape):
        assert out[i, j] == costs[np.ix_(rows[groups_i == i], columns[groups_j == j])].min()


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_what_is_dropped_is_never_needed(seed):
    """Whatever the neighbours choose, one of the best choices is left, and it takes no more memory at any step."""
    rng = np.random.default_rng(seed)
    n, widths = int(rng.integers(1, 6)), rng.integers(1, 4, rng.integers(0, 3))
    unary = rng.integers(0, 4, n).astype(float)
    costs = rng.integers(0, 4, (n, int(widths.sum()))).astype(float)
    costs[rng.random(costs.shape) < 0.1] = 1e6
    usage = rng.integers(0, 3, (int(rng.integers(0, 3)), n))
    starts = np.cumsum([0, *widths])
    left = undominated(unary, np.split(costs, starts[1:-1], axis=1) if len(widths) else [], usage, 1e6, 0.0)
    assert left.any()
    for states in np.ndindex(*widths):
        total = unary + costs[:, [s + k for s, k in zip(starts[:-1], states, strict=True)]].sum(axis=1)
        for s in np.flatnonzero(~left):
            if total[s] < 1e6:
                assert any(total[q] <= total[s] and (usage[:, q] <= usage[:, s]).all() for q in np.flatnonzero(left))


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_dominance_compares_the_most_that_another_choice_costs(seed):
    """With ties and forbidden pairs, which are no reason to keep a choice."""
    rng = np.random.default_rng(seed)
    n, widths = int(rng.integers(1, 8)), rng.integers(1, 5, rng.integers(0, 4))
    unary = rng.integers(0, 4, n).astype(float)
    edges = [rng.integers(0, 4, (n, w)).astype(float) for w in widths]
    for costs in edges:
        costs[rng.random(costs.shape) < 0.2] = 1e6
    left = undominated(unary, edges, np.zeros((0, n), dtype=np.int64), 1e6, 1e-9)
    want = np.ones(n, dtype=bool)
    for s in range(n - 1, -1, -1):
        for q in np.flatnonzero(want):
            more = [np.where(m[s] < 1e6, m[q] - m[s], -np.inf).max() for m in edges]
            if q != s and unary[q] - unary[s] + sum(np.where(np.isfinite(more), more, 0.0)) <= 1e-9:
                want[s] = False
                break
    np.testing.assert_array_equal(left, want)


def random_network(seed):
    rng = np.random.default_rng(seed)
    network = Network()
    for _ in range(rng.integers(1, 7)):
        network.add(rng.random(rng.integers(1, 5)))
    for i, j in itertools.combinations(range(len(network.unary)), 2):
        if rng.random() < 0.6:
            m = rng.random((len(network.unary[i]), len(network.unary[j])))
            network.connect(i, j, np.where(rng.random(m.shape) < 0.1, FORBIDDEN, m))
    network.settle()
    return network


def passed(network, unary, sweeps, to_i, to_j):
    """Message passing in numpy: the bound, that of the pass before, what choices lift it by, and a rounding."""
    n = network
    x, rise, bound = np.zeros(n.n, dtype=int), [np.zeros(0)] * n.n, -np.inf
    for sweep in range(2 * sweeps):
        forward = sweep % 2 == 0
        before, bound = bound, 0.0
        for i in range(n.n) if forward else reversed(range(n.n)):
            sides = []
            for j, e in n.near[i]:
                first = n.ei[e] == i
                mine, theirs = (to_i[e], to_j[e]) if first else (to_j[e], to_i[e])
                sides.append((j, n.edge(e) if first else n.edge(e).T, mine, theirs))
            total = n.split(unary)[i].copy()
            for _, _, mine, _ in sides:
                total += mine
            if forward:
                c = total.copy()
                for j, m, mine, _ in sides:
                    if j < i:
                        c += m[:, x[j]] - mine
                x[i] = c.argmin()
            bound += total.min()
            rise[i] = total - total.min()
            earlier = sum(j < i for j, *_ in sides)
            share = 1.0 / max(1, earlier, len(sides) - earlier) * rise[i]
            for j, m, mine, theirs in sides:
                if (j > i) == forward:
                    fresh = ((share - mine)[:, None] + m).min(axis=0)
                    bound += fresh.min()
                    theirs[:] = fresh - fresh.min()
    return bound, before, rise, x


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_message_passing_in_numpy_does_the_same(seed):
    network = random_network(seed)
    flat = network.flat
    messages = TreeReweighted(flat)
    to_i, to_j = ([np.zeros(flat.size[i]) for i in ends] for ends in (flat.ei, flat.ej))
    for sweeps in (1, 3):
        bound, x = messages.run(flat.unary, sweeps)
        want, level, rise, y = passed(flat, flat.unary, sweeps, to_i, to_j)
        assert (bound, messages.level, x.tolist()) == (want, level, y.tolist())
        np.testing.assert_array_equal(messages.rise, np.concatenate(rise))
        np.testing.assert_array_equal(messages.to_i, np.concatenate([np.zeros(0), *to_i]))
        np.testing.assert_array_equal(messages.to_j, np.concatenate([np.zeros(0), *to_j]))


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_a_choice_lifts_the_bound_by_no_more_than_it_costs(seed):
    network = random_network(seed)
    flat = network.flat
    messages = TreeReweighted(flat)
    everything = list(itertools.product(*(range(len(u)) for u in network.unary)))
    costs = np.array([network.cost(x) for x in everything])
    before = -np.inf
    for _ in range(4):
        bound, _ = messages.run(flat.unary, 1)
        assert before - 1e-9 <= messages.level <= bound + 1e-9 and bound <= costs.min() + 1e-9
        before = bound
        for i, rise in enumerate(flat.split(messages.rise)):
            for k, r in enumerate(rise):
                with_it = min(c for x, c in zip(everything, costs, strict=True) if x[i] == k)
                assert messages.level + r <= with_it + 1e-9 * network.unit + 1e-12 * network.forbidden


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_greedy_chooses_nodes_with_most_neighbours_first(seed):
    network = random_network(seed)
    network.settle()
    flat = network.flat
    chosen: dict[int, int] = {}
    for i in sorted(range(flat.n), key=lambda i: (-len(network.pair[i]), i)):
        cost = network.unary[i].copy()
        for j, _ in flat.near[i]:
            m = network.pair[i][j]
            cost += m[:, chosen[j]] if j in chosen else m.min(axis=1)
        chosen[i] = int(cost.argmin())
    assert flat.greedy().tolist() == [chosen[i] for i in range(flat.n)]
