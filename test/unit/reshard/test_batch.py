"""Costs of many redistributions at once equal those of one at a time."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.cost import CostModel, Timing
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Cluster, Machine
from pcg.reshard import planner
from pcg.reshard.batch import TensorCosts
from pcg.reshard.layouts import Layouts


def specs(mesh, rank):
    """Every way to give each axis a dimension, to leave it idle, or to leave the value partial over it."""
    for places in itertools.product(range(-2, rank), repeat=len(mesh.axes)):
        dims = [tuple(a for a, p in zip(mesh.names, places, strict=True) if p == d) for d in range(rank)]
        yield ShardSpec.of(dims, [(a, "sum") for a, p in zip(mesh.names, places, strict=True) if p == -2])


def alone(a, b, shape, mesh, link):
    try:
        return planner.cost(a, b, shape, 4.0, mesh, link)[0]
    except planner.ReshardError:
        return np.inf


MESHES = ["a=8", "a=2,b=4", "a=3,b=2", "a=2,b=2,c=2", "a=3,b=3", "a=4,b=1"]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(MESHES), st.lists(st.integers(1, 24), min_size=1, max_size=3), st.booleans(), st.data())
def test_they_are_the_planners(text, sizes, late, data):
    mesh, shape = Mesh.parse(text), tuple(sizes)
    model = CostModel(Machine.default(), mesh)
    link = model.link_at(Timing.DEFERRED if late else Timing.CRITICAL)
    every = list(specs(mesh, len(shape)))
    src, dst = (data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=8)) for _ in range(2))
    found = TensorCosts(shape, 4.0, Layouts.on(mesh), link).matrix(src, dst)
    want = np.array([[alone(a, b, shape, mesh, link) for b in dst] for a in src])
    np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-15)


def test_what_is_no_layout_is_refused_and_leaves_the_shared_graph_as_it_is():
    """The graph is that of all tensors with such limits: what is put into it, all of them meet."""
    mesh = Mesh.parse("a=2,b=4")
    link = CostModel(Machine.of(Cluster.preset("summit", nodes=2).take(8)), mesh).link
    good, ill = ShardSpec.parse("[a, b]"), ShardSpec.parse("[a, a]")
    for src, dst in ((good, ill), (ill, good)):
        with pytest.raises(planner.ReshardError, match="axis 'a' is used twice"):
            TensorCosts((8, 8), 4.0, Layouts.on(mesh), link).matrix([src], [dst])
        with pytest.raises(planner.ReshardError, match="axis 'a' is used twice"):
            planner.cost(src, dst, (8, 8), 4.0, mesh, link)
    np.testing.assert_array_equal(TensorCosts((8, 8), 4.0, Layouts.on(mesh), link).matrix([good], [good]), 0.0)
    every = list(specs(mesh, 2))
    assert np.isfinite(TensorCosts((8, 8), 4.0, Layouts.on(mesh), link).matrix(every, every)).all()


def test_asking_again_for_more_gives_the_same():
    mesh, shape = Mesh.parse("a=2,b=4"), (8, 12)
    model = CostModel(Machine.default(), mesh)
    every = list(specs(mesh, 2))
    costs = TensorCosts(shape, 4.0, Layouts.on(mesh), model.link)
    first = costs.matrix(every[:3], every[5:7])
    whole = costs.matrix(every, every)
    np.testing.assert_array_equal(whole[:3, 5:7], first)
    np.testing.assert_array_equal(np.diag(whole), 0.0)
    costs.forget()
    np.testing.assert_array_equal(costs.matrix(every, every), whole)


@pytest.mark.parametrize("ids", [None, [0, 4, 1, 5, 2, 6, 3, 7]])
def test_the_place_on_a_cluster_counts(ids):
    cluster = Cluster.preset("summit", nodes=2)
    mesh = Mesh.of([("a", 2), ("b", 4)], ids or range(8))
    model = CostModel(Machine(cluster.kinds[0], cluster=cluster), mesh)
    every = list(specs(mesh, 2))[:12]
    found = TensorCosts((64, 64), 4.0, Layouts.on(mesh), model.link).matrix(every, every)
    want = np.array([[alone(a, b, (64, 64), mesh, model.link) for b in every] for a in every])
    np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-15)


def test_many_meshes_one_after_another():
    """What is kept for a mesh may go, with the numbers of its layouts; costs that still have them stay as they are."""
    first = Mesh.parse("a=2,b=4")
    link = CostModel(Machine.default(), first).link
    every = {rank: list(specs(first, rank)) for rank in (2, 3)}
    costs = {rank: TensorCosts((8,) * rank, 4.0, Layouts.on(first), link) for rank in (2, 3)}
    before = {rank: costs[rank].matrix(every[rank], every[rank]) for rank in (2, 3)}
    for n in range(2, 40):
        mesh = Mesh.of({"a": n})
        TensorCosts((n, n), 4.0, Layouts.on(mesh), CostModel(Machine.default(), mesh).link).matrix(
            list(specs(mesh, 2)), list(specs(mesh, 2))
        )
    for rank in (3, 2):  # numbered in another order
        fresh = TensorCosts((8,) * rank, 4.0, Layouts.on(first), link)
        np.testing.assert_array_equal(fresh.matrix(every[rank], every[rank]), before[rank])
        np.testing.assert_array_equal(costs[rank].matrix(every[rank], every[rank]), before[rank])


@pytest.mark.parametrize("mesh", ["a=2,b=4", "a=2,b=2,c=2", "a=8"])
@pytest.mark.parametrize("shape", [(8, 8), (12, 5, 8), (7,)], ids=str)
def test_a_row_either_way(mesh, shape):
    mesh = Mesh.parse(mesh)
    link = CostModel(Machine.of(Cluster.preset("summit", nodes=2).take(8)), mesh).link
    every = list(specs(mesh, len(shape)))
    layouts = Layouts.on(mesh)
    costs, numbers = TensorCosts(shape, 4.0, layouts, link), layouts.numbers(every)
    want = TensorCosts(shape, 4.0, layouts, link).matrix(every, every)
    for n in range(0, len(every), 7):
        np.testing.assert_array_equal(costs.row(int(numbers[n]), numbers, into=True), want[n])
        np.testing.assert_allclose(costs.row(int(numbers[n]), numbers, into=False), want[:, n], rtol=1e-12)
