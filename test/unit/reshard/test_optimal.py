"""Plans cost what the best of all sequences of legal steps costs, found by a search that knows no goal.

The reference takes every step that `ReshardStep.apply` allows from every layout of the mesh, at the cost of `ReshardStep.wire_bytes`.
All pairs of all layouts of ranks 1-3 on the meshes of `MESHES`, partial sources included, nothing sampled; `-m exhaustive`
adds rank 4 and larger meshes, and at rank 3 on three axes the links that are alike along all of them.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator

import pytest

from pcg.cost import CostModel
from pcg.layout import Mesh, ShardSpec, refine
from pcg.machine import Machine
from pcg.machine.machine import Link
from pcg.reshard import (
    MASK_SECONDS,
    AllGather,
    AllReduce,
    AllToAll,
    Permute,
    ReduceScatter,
    Regroup,
    ReshardError,
    ReshardStep,
    Slice,
    UniformLink,
    cost,
    local_bytes,
    plan,
    steps_cost,
)

SHAPES = {1: (48,), 2: (48, 96), 3: (48, 24, 96)}
MESHES = ["a=2", "a=4", "a=2,b=2", "a=3,b=2", "a=2,b=2,c=2"]
LARGEST = "a=2,b=2,c=2", 3
#: Links that are the same along all axes of a mesh.
ALIKE = ("latency", "bandwidth", "balanced", "default")
ITEM = 4096  # large elements, so that bandwidth counts with real links


def unequal(axes, sent, kind):
    """A slow axis `a`, a fast `b`, `c` between; as many hops as axes."""
    return 1e-6 * len(axes) + sent / min({"a": 1e9, "b": 1e11, "c": 1e10, "d": 2e10}[x] for x in axes)


def far(axes, sent, kind):
    """Reductions are expensive, the axis `b` is slow to start."""
    return (1e-4 if "b" in axes else 1e-6) + sent * (4 if kind in ("all_reduce", "reduce_scatter") else 1) / 1e10


def links(mesh: Mesh):
    machine = Machine.default()
    return {
        "latency": UniformLink(1.0, 1e11),
        "bandwidth": UniformLink(1e-13, 1e11),
        "balanced": UniformLink(2e-7, 1e11),
        "default": CostModel(machine, mesh).link,
        "two kinds of link": CostModel(machine.with_axis("a", Link(5e9, 2e-5)), mesh).link,
        "unequal": unequal,
        "far": far,
    }



# -- the reference ---------------------------------------------------------------------------------


def arrangements(axes) -> list[tuple[str, ...]]:
    return [p for k in range(1, len(axes) + 1) for p in itertools.permutations(sorted(axes), k)]


def layouts(mesh: Mesh, rank: int, partial: tuple[tuple[str, str], ...] = ()) -> list[ShardSpec]:
    """Every layout whose partial axes are among `partial`."""
    found = set()
    for p in itertools.chain.from_iterable(itertools.combinations(partial, k) for k in range(len(partial) + 1)):
        free = [a for a in mesh.names if a not in {x for x, _ in p}]
        for order in [(), *arrangements(free)]:
            for cuts in itertools.combinations_with_replacement(range(len(order) + 1), max(0, rank - 1)):
                at = [0, *cuts, len(order)]
                if rank or not order:
                    found.add(ShardSpec.of([order[at[d] : at[d + 1]] for d in range(rank)], p))
    return sorted(found, key=str)


def legal(spec: ShardSpec, every: list[ShardSpec], shape, mesh: Mesh) -> Iterator[tuple[ReshardStep, ShardSpec]]:
    """Every step that can be taken from `spec` and leads to a layout that divides the tensor."""
    axes, rank = arrangements(mesh.names), range(spec.rank)
    candidates: list[ReshardStep] = [Slice(d, a) for d in rank for a in axes]
    candidates += [AllGather(d, a) for d in rank for a in axes]
    candidates += [AllToAll(d, e, a) for d in rank for e in rank for a in axes]
    for kind in {k for _, k in spec.partial}:
        candidates += [AllReduce(a, kind) for a in axes]
        candidates += [ReduceScatter(d, a, kind) for d in rank for a in axes]
    shards = spec.shards(mesh)
    candidates += [
        Permute(t) for t in every if t != spec and t.partial == spec.partial and t.shards(mesh) == shards
    ]
    candidates += [Regroup(t) for t in every if t != spec and t.partial == spec.partial]
    for step in candidates:
        try:
            after = step.apply(spec)
            after.check(mesh, shape, even=True)
        except ValueError:
            continue
        yield step, after


class Reference:
    """All layouts and all steps between them, for tensors of one shape on one mesh."""

    def __init__(self, mesh: Mesh, rank: int, partial=(), shape=None) -> None:
        self.mesh, self.shape = mesh, shape or SHAPES[rank]
        self.specs = [
            s for s in layouts(mesh, rank, partial)
            if all(n % k == 0 for n, k in zip(self.shape, s.shards(mesh), strict=True))
        ]
        number = {s: i for i, s in enumerate(self.specs)}
        self.edges = []
        for spec in self.specs:
            out: dict[tuple, None] = {}
            for step, after in legal(spec, self.specs, self.shape, mesh):
                wire = step.wire_bytes(spec, self.shape, ITEM, mesh)
                out[number[after], tuple(sorted(step.devices(spec))), wire, step.collective] = None
            self.edges.append(list(out))
        self.room = [local_bytes(s, self.shape, ITEM, mesh) for s in self.specs]

    def distances(self, src: int, link, memory: float = math.inf) -> list[float]:
        """Seconds of the cheapest way from a layout to each other."""
        cost = {e: link(e[1], e[2], e[3]) if e[2] else 1e-9 for e in itertools.chain.from_iterable(self.edges)}
        best = [math.inf] * len(self.specs)
        best[src] = 0.0
        queue = [(0.0, src)]
        while queue:
            seconds, at = heapq.heappop(queue)
            if seconds > best[at]:
                continue
            for e in self.edges[at]:
                if seconds + cost[e] < best[e[0]] and self.room[at] + self.room[e[0]] <= memory:
                    best[e[0]] = seconds + cost[e]
                    heapq.heappush(queue, (best[e[0]], e[0]))
        return best


def compare(reference: Reference, link, every: int = 1, plans: int = 1) -> int:
    """Hold `cost` against the reference for all destinations of every `every`th source; the number of pairs."""
    args = (reference.shape, ITEM, reference.mesh, link)
    pairs = 0
    number = {s: i for i, s in enumerate(reference.specs)}
    for i, src in list(enumerate(reference.specs))[::every]:
        distances = reference.distances(i, link)
        for j, (dst, want) in enumerate(zip(reference.specs, distances, strict=True)):
            if extra := {p for p in dst.partial if p not in src.partial}:
                # Nothing that moves makes a value partial: it is masked in the end.
                whole = ShardSpec.of(dst.dims, (p for p in dst.partial if p not in extra))
                want = distances[number[whole]] + MASK_SECONDS * len({k for _, k in extra})
            got = cost(src, dst, *args)
            assert got[0] == pytest.approx(want, rel=1e-8, abs=1e-15), str((src, dst))
            pairs += 1
            if (i + j) % plans == 0:
                at = src
                steps = plan(src, dst, *args)
                for step in steps:
                    at = step.apply(at)
                assert at == dst
                assert steps_cost(src, steps, *args)[0] == pytest.approx(want, rel=1e-8, abs=1e-15), str((src, dst))
    return pairs


# -- the tests ---------------------------------------------------------------------------------------


def test_the_reference_knows_every_layout():
    mesh = Mesh.parse("a=2,b=2,c=2")
    assert [len(layouts(mesh, r)) for r in (1, 2, 3)] == [16, 49, 106]


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("mesh", MESHES)
def test_every_pair(mesh, rank):
    """All sources, whole and partial over any axes, to all destinations."""
    every_pair(Mesh.parse(mesh), rank, ALIKE if (mesh, rank) == LARGEST else ())


@pytest.mark.exhaustive
def test_every_pair_where_axes_are_alike():
    mesh, rank = LARGEST
    every_pair(Mesh.parse(mesh), rank, [n for n in links(Mesh.parse(mesh)) if n not in ALIKE])


def every_pair(mesh, rank, but):
    reference = Reference(mesh, rank, tuple((a, "sum") for a in mesh.names))
    for name, link in links(mesh).items():
        assert name in but or compare(reference, link, plans=7)


@pytest.mark.parametrize("mesh", ["a=2,b=2", "a=3,b=2"])
def test_every_pair_of_mixed_reductions(mesh):
    mesh = Mesh.parse(mesh)
    reference = Reference(mesh, 2, (("a", "max"), ("b", "sum")))
    for link in links(mesh).values():
        assert compare(reference, link)


@pytest.mark.parametrize("parts", [(2, 4), (4, 2)])
def test_every_pair_of_sub_axes(parts):
    """A refined mesh, where layouts use parts of an axis; whole axes cost at most what they cost unrefined."""
    whole = Mesh.of({"a": 8})
    mesh = whole.refined({"a": parts})
    reference = Reference(mesh, 2, tuple((a, "sum") for a in mesh.names))
    for name in ("latency", "balanced", "default", "two kinds of link"):
        assert compare(reference, links(mesh)[name], plans=3)
    link, fine = links(whole)["default"], links(mesh)["default"]
    for src, dst in itertools.product(layouts(whole, 2, (("a", "sum"),)), layouts(whole, 2)):
        args = (SHAPES[2], ITEM)
        parted = (refine.to_parts(s, mesh) for s in (src, dst))
        assert cost(*parted, *args, mesh, fine)[0] <= cost(src, dst, *args, whole, link)[0] * (1 + 1e-9)


def test_a_shape_that_few_layouts_divide():
    mesh = Mesh.parse("a=2,b=2,c=2")
    reference = Reference(mesh, 3, (("a", "sum"),), shape=(4, 6, 5))
    assert len(reference.specs) < 60
    for link in links(mesh).values():
        compare(reference, link)


def test_dimensions_that_nothing_names_can_help():
    """A slow axis is spared by splitting, on the way, a dimension that neither layout splits."""
    mesh = Mesh.parse("a=8,b=2")
    src, dst = ShardSpec.parse("[a, -]"), ShardSpec.parse("[-, -]")
    found = plan(src, dst, (64, 64), 4096, mesh, unequal)
    assert found == (Slice(1, ("b",)), AllGather(0, ("a",)), AllGather(1, ("b",)))


def test_an_idle_axis_makes_a_large_reduction_smaller():
    mesh = Mesh.parse("a=4,b=2")
    src, dst = ShardSpec.parse("[-] sum(a)"), ShardSpec.parse("[-]")
    link = CostModel(Machine.default(), mesh).link
    assert plan(src, dst, (1 << 10,), 4, mesh, link) == (AllReduce(("a",), "sum"),)
    found = plan(src, dst, (1 << 24,), 4, mesh, link)
    assert found == (Slice(0, ("b",)), ReduceScatter(0, ("a",), "sum"), AllGather(0, ("b", "a")))
    assert steps_cost(src, found, (1 << 24,), 4, mesh)[1] == 1.25 * 4 * (1 << 24)  # an all-reduce alone sends 1.5


def within(reference: Reference, link, every: int) -> None:
    args = (reference.shape, ITEM, reference.mesh, link)
    whole = math.prod(reference.shape) * ITEM
    for share in (0.5, 0.75, 1.0, 1.25, 1.5):
        for i, src in list(enumerate(reference.specs))[::every]:
            for dst, want in zip(reference.specs, reference.distances(i, link, share * whole), strict=True):
                if want == math.inf:
                    if all(a in src.partial for a in dst.partial):
                        with pytest.raises(ReshardError, match="need at least"):
                            plan(src, dst, *args, memory_limit_bytes=share * whole)
                    continue
                at = src
                for step in plan(src, dst, *args, memory_limit_bytes=share * whole):
                    after = step.apply(at)
                    held = sum(local_bytes(s, reference.shape, ITEM, reference.mesh) for s in (at, after))
                    assert held <= share * whole
                    at = after
                assert at == dst
                assert cost(src, dst, *args, memory_limit_bytes=share * whole)[0] == pytest.approx(want, rel=1e-8)


@pytest.mark.parametrize("mesh", ["a=4", "a=2,b=2", "a=3,b=2"])
def test_within_a_memory_limit(mesh):
    mesh = Mesh.parse(mesh)
    within(Reference(mesh, 2, (("a", "sum"),)), links(mesh)["default"], 1)
    within(Reference(mesh, 2), UniformLink(1.0), 1)


def test_the_smallest_memory_limit_is_named_and_enough():
    mesh = Mesh.parse("a=2,b=4")
    src, dst = ShardSpec.parse("[a+b, -]"), ShardSpec.parse("[b, -]")
    args = (src, dst, (64, 64), 4, mesh, UniformLink(1.0))
    assert plan(*args) == (AllGather(0, ("a", "b")), Slice(0, ("b",)))
    with pytest.raises(ReshardError, match=r"with 100 bytes per device: .* need at least 6144"):
        plan(*args, memory_limit_bytes=100)
    assert plan(*args, memory_limit_bytes=6144) == (Permute(ShardSpec.parse("[b+a, -]")), AllGather(0, ("a",)))
    with pytest.raises(ReshardError, match="6144"):
        cost(*args, memory_limit_bytes=6143)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mesh,rank,every", [
    ("a=2,b=2,c=2", 4, 1), ("a=4,b=2,c=2", 3, 1), ("a=3,b=2,c=2", 3, 1), ("a=2,b=2,c=2,d=2", 2, 3),
])  # fmt: skip
def test_larger(mesh, rank, every):
    mesh = Mesh.parse(mesh)
    shape = SHAPES.get(rank, (48, 24, 48, 24))
    reference = Reference(mesh, rank, tuple((a, "sum") for a in mesh.names), shape)
    for link in links(mesh).values():
        compare(reference, link, every=every, plans=7)
