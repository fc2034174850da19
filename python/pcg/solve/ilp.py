"""The core of a cost network as an integer linear program, solved by HiGHS.

One binary per choice; per edge, continuous variables over *groups* of choices that cost the same
against every choice of the other side, tied by the marginalisation constraints of the local
polytope.  HiGHS runs single-threaded with node limits instead of time limits: the same input gives
the same plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pcg.solve import neighbourhoods
from pcg.solve.bucket_elimination import EliminationOrder, exact_order
from pcg.solve.effort import DEFAULT, Effort
from pcg.solve.layers import Layers
from pcg.solve.mip import Rows
from pcg.solve.network import Network, narrowed, widened
from pcg.solve.reduce import Reduction, reduce
from pcg.solve.stop import NEVER, Stop
from pcg.solve.trws import Bounded, ascend

#: Sweeps of the ascent of a core whose ILP is quick, and the first ones of another.  Measured on meshes for a U-Net:
#: solutions near those of 40 sweeps cost -0.65 to 0.36% more than what 150 sweeps find.
_SWEEPS, _FIRST = 400, 40
#: Sweeps after which a good gap is enough, and the first ones where no rough one is: as many as look at so many
#: entries, within limits.  On Keras' ResNet-50 on 2x4 150 leave a gap of 0.7%, and 75 of 1.4% on three axes.
_USUAL, _USUAL_ENTRIES = (50, 150), 5e9
#: Share of a good gap that is enough before, where the bound is that of another network.  A choice.
_EARLY = 0.5
#: Entries of edges that are looked at in about a second, which is spent on a gap that is good enough as well.
_CHEAP = 2.5e8
#: Sums that exact elimination of what is left may compare, and those where a gap is good enough.  Measured: 1.75e8 take
#: 0.5 s (a contrastive loss on 2x4, 2,697 choices in 214 decisions), where HiGHS takes 19 s.
_EXACT, _EXACT_IF_GOOD = 3e8, 2e7
#: What is forbidden costs in an ILP.  Chosen: costs are scaled so that this is the largest number that HiGHS sees.
_HIGHS = 1e10


@dataclass(frozen=True)
class Limit:
    """`sum of weights[i][x[i]]` may be at most `most`."""

    weights: dict[int, np.ndarray]
    most: float


@dataclass(frozen=True)
class Solution:
    """`x[i]` is the choice of variable i; `bound` is a proven lower bound on the cost of any solution."""

    x: list[int]
    cost: float
    bound: float
    variables: int
    """Binary variables of the ILP that was left after simplification (0: solved without)."""


@dataclass(frozen=True)
class Searched:
    """A solution, and what is known about where better ones may be."""

    solution: Solution
    layers: Layers
    found: Bounded | None
    """Of the innermost core; None if nothing was left of it."""

    def near(self, per_node: float) -> list[np.ndarray]:
        """Per node the choices that good solutions have, some `per_node` of those that are not eliminated."""
        return self.layers.near(self.found, per_node)


def solve(
    network: Network,
    starts: Iterable[Sequence[int]] = (),
    *,
    effort: Effort = DEFAULT,
    progress: Callable[[str], None] = lambda _: None,
    cutoff: float = np.inf,
    floor: float = -np.inf,
    reduction: Reduction | None = None,
    stop: Stop = NEVER,
) -> Solution:
    """A cheapest solution of `network`, never costlier than any of `starts`.

    Exact up to the relative gap of `effort`, unless its work does not suffice; the returned `bound` tells.  Once it is
    proved that any solution costs more than `cutoff`, the best so far is returned.  `floor`: a bound that is known.
    `reduction`: of the network, to go on from.  `stop`: asked now and then whether to return the best so far.
    """
    return searched(
        network, starts, effort=effort, progress=progress, cutoff=cutoff, floor=floor, reduction=reduction, stop=stop
    ).solution


def searched(
    network: Network, starts: Iterable[Sequence[int]] = (), *, effort: Effort = DEFAULT,
    progress: Callable[[str], None] = lambda _: None, cutoff: float = np.inf, floor: float = -np.inf,
    reduction: Reduction | None = None, stop: Stop = NEVER, rough: float = 0.0,
) -> Searched:  # fmt: skip
    """`solve`, with what it knows about other solutions; `starts` may be computed after the network is simplified.

    `rough`: a gap that is enough where the ascent takes long.
    """
    known: list[list[int]] | None = None
    layers, found = Layers(reduction), None
    constant = 0.0
    core = network
    bound = floor
    best: list[int] | None = None
    if reduction is not None:
        constant, core = reduction.constant, reduction.core
    for _ in range(8):
        reduction = reduce(core)
        constant += reduction.constant
        core, found = layers.add(reduction), None
        known = [list(s) for s in starts] if known is None else known
        size = sum(map(len, core.unary))
        if not core.unary:
            break
        progress(f"bounding {len(core.unary)} decisions, {size} choices")
        projected = [layers.project(s) for s in known]
        guess = min([first_guess(core), *projected], key=core.cost)
        found = _bounded(core, guess, constant, effort, cutoff, floor - constant, stop, rough)
        bound = max(bound, constant + found.bound)
        best = layers.lift(found.x)
        if bound > cutoff:
            return Searched(Solution(best, network.cost(best), bound, 0), layers, found)
        if stop() or effort.quick:
            return Searched(_best(network, Solution(best, network.cost(best), bound, 0), known), layers, found)
        core = layers.open(found.open(found.cost))
        left = sum(map(len, core.unary))
        apart = _apart(found, constant, floor - constant)
        if apart <= (effort.good if left > effort.small else effort.gap) or left > 0.7 * size:
            break
    count = 0
    if found is not None and apart > effort.gap and (order := _order(core, apart, effort)) is not None:
        progress(f"eliminating {len(core.unary)} decisions, {left} choices")
        inner = layers.inside(found.x)
        x_core = min(inner, order.run(core.flat, core.flat.unary, np.array(inner)).tolist(), key=core.cost)
        best = layers.lift(layers.outside(x_core))
        bound = max(bound, constant + core.cost(x_core))
    elif found is not None and apart > effort.gap and _is_solvable(core, apart, effort):
        count = left
        progress(f"solving an ILP of {len(core.unary)} decisions, {count} choices")
        x_core, ilp_bound = _branch_and_bound(core, layers.inside(found.x), effort.gap, effort.nodes, stop=stop)
        best = layers.lift(layers.outside(x_core))
        bound = max(bound, constant + ilp_bound)
    if best is None or found is None:
        best = layers.lift([])
        bound = network.cost(best)
    return Searched(_best(network, Solution(best, network.cost(best), bound, count), known or ()), layers, found)


def _order(core: Network, apart: float, effort: Effort) -> EliminationOrder | None:
    """An order in which what is left, with a gap of so much, is eliminated."""
    return exact_order(core.flat, _EXACT if effort.closes or apart > effort.good else _EXACT_IF_GOOD)


def _is_solvable(core: Network, apart: float, effort: Effort) -> bool:
    """Whether what is left, with a gap of so much, is solved as an ILP."""
    left, entries = sum(map(len, core.unary)), core.flat.entries
    return left <= (effort.large if apart > effort.good else effort.small) and entries <= effort.entries


def _apart(found: Bounded, constant: float, floor: float) -> float:
    """The relative gap to the bound, or to the one known before, of a network that costs `constant` besides."""
    return (found.cost - max(found.bound, floor)) / max(abs(found.cost + constant), 1e-300)


def _bounded(
    core: Network, guess: list[int], constant: float, effort: Effort, cutoff: float, floor: float, stop: Stop,
    rough: float,
) -> Bounded:  # fmt: skip
    """A bound and a good solution of the core.

    Ascent and neighbourhoods in turn, the ascent twice as long each time: on a deep network of few entries, as a
    transformer of 12 layers, the bound closes in only when costs have gone through all of it several times.  Where a
    rough bound is enough few sweeps come first: near what they find is what rounding finds after many more.
    """
    cost, size = core.cost(guess), sum(map(len, core.unary))
    entries = core.flat.entries
    usual = int(np.clip(_USUAL_ENTRIES / entries, *_USUAL)) if entries else _USUAL[1]
    costly = usual * entries >= _CHEAP
    rough = rough if costly else 0.0
    near = max(effort.near, rough)
    near = max(near, near * abs(constant + cost) / cost) if cost > 0 else near

    def ascent(x: list[int], sweeps: int, since: Bounded | None = None) -> Bounded:
        return ascend(
            core, x, sweeps=sweeps, patience=effort.patience, cutoff=cutoff - constant, gap=near, since=since, stop=stop
        )

    def is_within(found: Bounded, gap: float) -> bool:
        return constant + found.bound > cutoff or _apart(found, constant, floor) <= max(gap, rough) or stop()

    if size <= DEFAULT.small:
        found = ascent(guess, _SWEEPS)
        if not effort.depth or is_within(found, effort.gap if floor == -np.inf else effort.good):
            return found
        return _kernel_search(core, found)
    inside = floor > -np.inf  # the bound is that of another network
    briefly = effort.brief and costly or rough > 0 or inside
    sweeps = done = _FIRST if briefly else usual
    found = ascent(guess, sweeps)
    while not is_within(found, near if briefly else effort.gap):
        long = done >= usual
        found = neighbourhoods.search(core, found, stop, done, brief=briefly and not (inside and long))
        if inside:
            enough = effort.good if long else _EARLY * effort.good
        else:
            enough = effort.good if effort.quick or long and done * entries >= _CHEAP else effort.gap
        if is_within(found, enough) or found.stalled or done * entries >= effort.work:
            break
        found = ascent(found.x, sweeps, found)
        done, sweeps = done + sweeps, 2 * sweeps
    return found


def _kernel_search(core: Network, found: Bounded) -> Bounded:
    """A better solution from the choices that lift the bound least: the rest is set aside, not ruled out.

    Kernel search (Angelelli, Mansini & Speranza 2010) by reduced costs: networks of ever more choices are solved.
    """
    for share in (0.003, 0.02, 0.1):
        if found.cost <= found.bound * (1 + 1e-9):
            break
        masks = found.open(found.level + share * (found.cost - found.level))
        for m, k in zip(masks, found.x, strict=True):
            m[k] = True  # a variable whose every choice lifts the bound keeps the one it has
        inner = solve(core.restrict(masks), effort=replace(DEFAULT, depth=0))
        x = core.icm(widened(masks, inner.x))
        if (cost := core.cost(x)) < found.cost:
            found = replace(found, x=x, cost=cost)
    return found


def _best(network: Network, found: Solution, starts: Sequence[Sequence[int]]) -> Solution:
    best, cost = found.x, found.cost
    for s in starts:
        if (c := network.cost(s)) < cost - network.noise:
            best, cost = list(s), c
    return Solution(best, cost, min(found.bound, cost), found.variables)


def first_guess(core: Network) -> list[int]:
    """A good solution of the core: iterated conditional modes from the cheapest choices and from greedy elimination."""
    flat = core.flat
    first = flat.icm([int(np.argmin(u)) for u in core.unary], core.noise)
    second = flat.icm(flat.greedy(), core.noise)
    return min((first, second), key=flat.energy).tolist()  # type: ignore[no-any-return]


def completed(network: Network, known: Mapping[int, int]) -> list[int]:
    """A solution of `network` with the choices that are `known`: exact elimination, then greedy on the core."""
    if not known:
        return _eliminated(network)
    out = [known.get(n, 0) for n in range(len(network.unary))]
    open_ = [n for n in range(len(out)) if n not in known]
    rest = network.conditioned(out, open_)
    for n, k in zip(open_, _eliminated(rest), strict=True):
        out[n] = k
    return out


def _eliminated(network: Network) -> list[int]:
    found = reduce(network)
    return found.expand(first_guess(found.core) if found.core.unary else [])


def _groups(rows: np.ndarray, noise: float) -> np.ndarray:
    """Group index per row; rows that are equal but for `noise` share one."""
    _, inverse = np.unique(np.rint(rows / noise), axis=0, return_inverse=True)
    return inverse.reshape(-1)


def merge(
    network: Network, pool: Sequence[Sequence[int]], limits: Sequence[Limit], start: Sequence[int]
) -> list[int] | None:
    """The cheapest solution that takes every choice from some solution in `pool` and keeps `limits`.

    `start` is a solution in the pool that keeps them.  None if HiGHS finds nothing.
    """
    masks = []
    for i, u in enumerate(network.unary):
        mask = np.zeros(len(u), dtype=bool)
        mask[sorted({x[i] for x in pool})] = True
        masks.append(mask)
    rows = [Limit({i: w[masks[i]] for i, w in x.weights.items()}, x.most) for x in limits]
    x, _ = _branch_and_bound(network.restrict(masks), narrowed(masks, start), 1e-2, 100, rows)
    return widened(masks, x)


def _normalised(core: Network) -> tuple[list[np.ndarray], list[tuple[int, int, np.ndarray]]]:
    """Its costs with what a side of an edge costs whatever the other does moved into the unary costs."""
    unary = [u.copy() for u in core.unary]
    edges: list[tuple[int, int, np.ndarray]] = []
    for i, row in enumerate(core.pair):
        for j, m in row.items():
            if i < j:
                rows = m.min(axis=1)
                m = m - rows[:, None]
                cols = m.min(axis=0)
                unary[i] += rows
                unary[j] += cols
                m = m - cols[None, :]
                if m.any():
                    edges.append((i, j, m))
    return unary, edges


def _branch_and_bound(
    core: Network, guess: list[int], gap: float, max_nodes: int, limits: Sequence[Limit] = (),
    stop: Stop = NEVER,
) -> tuple[list[int], float]:
    """A solution no costlier than `guess`, and a bound on all."""
    unary, edges = _normalised(core)
    # HiGHS has absolute tolerances, from 1e-7, and takes 1e20 for infinite: what is forbidden costs 1e10 there.
    scale = _HIGHS / core.forbidden
    offset = sum(float(u.min()) for u in unary)
    first = np.concatenate([[0], np.cumsum([len(u) for u in unary])]).astype(int)
    cost = [scale * np.minimum(u - u.min(), core.forbidden) for u in unary]
    count = columns = int(first[-1])
    rows = Rows()
    for i in range(len(unary)):
        rows.add(dict.fromkeys(range(first[i], first[i + 1]), 1.0), 1.0, 1.0)
    for i, j, m in edges:
        gi, gj = _groups(m, core.noise), _groups(m.T, core.noise)
        shape = int(gi.max()) + 1, int(gj.max()) + 1
        small = np.zeros(shape)
        small[gi[:, None], gj[None, :]] = m
        y = count + np.arange(small.size).reshape(shape)
        count += small.size
        cost.append(scale * np.minimum(small, core.forbidden).reshape(-1))
        for node, group, sums in ((i, gi, y), (j, gj, y.T)):
            for g, own in enumerate(sums.tolist()):
                members = (first[node] + np.flatnonzero(group == g)).tolist()
                rows.add({**dict.fromkeys(own, 1.0), **dict.fromkeys(members, -1.0)}, 0.0, 0.0)
    for limit in limits:
        weights = {int(first[i] + k): float(v) / limit.most for i, w in limit.weights.items() for k, v in enumerate(w)}
        rows.add(weights, -np.inf, 1.0)
    start = np.zeros(count)
    start[[first[i] + k for i, k in enumerate(guess)]] = 1.0
    solved = rows.minimise(
        np.concatenate(cost), np.zeros(count), np.ones(count), columns, gap=gap, nodes=max_nodes, start=start, stop=stop
    )
    if solved.values is None:
        return guess, offset
    x = [int(np.argmax(solved.values[first[i] : first[i + 1]])) for i in range(len(unary))]
    x = min((x if limits else core.icm(x), guess), key=core.cost)
    return x, offset + max(0.0, solved.bound) / scale
