"""Which mesh everything runs on: the theory, without a program."""

from __future__ import annotations

import pytest

from pcg.propagate.meshes import MeshConflict, MeshProblem, propagate_meshes

APART = {"a": frozenset({0, 1}), "b": frozenset({2, 3})}


def test_nearest_annotation_wins():
    p = MeshProblem(APART)
    (x,) = p.add((), [1.0], "a")
    (w,) = p.add((), [1.0], "b")
    (h,) = p.add([x], [1.0])
    (g,) = p.add([h], [1.0])
    (y,) = p.add([g, w], [1.0])
    p.add([y], ())
    found = propagate_meshes(p)
    assert found.meshes == ("a", "b", "a", "a", "b", "b")
    assert found.distance == (0, 0, 1, 2, 1, 2)
    assert found.crossing(p) == [(g, "b")]


def test_what_comes_before_a_demand_stays_with_what_it_is_made_from():
    p = MeshProblem(APART)
    (x,) = p.add((), [1.0], "a")
    (h,) = p.add([x], [1.0])
    (g,) = p.add([h], [1.0])
    p.add([g], [1.0], "b")
    assert propagate_meshes(p).meshes == ("a", "a", "a", "b")


def test_without_a_producer_the_consumer_decides():
    p = MeshProblem(APART)
    (x,) = p.add((), [1.0])
    (h,) = p.add([x], [1.0])
    p.add([h], (), "b")
    assert propagate_meshes(p).meshes == ("b", "b", "b")


def test_both_ways():
    """An op whose only tie is a sibling that uses the same argument."""
    p = MeshProblem(APART)
    (x,) = p.add((), [1.0])
    p.add([x], [1.0], "b")
    p.add([x], [1.0])
    found = propagate_meshes(p)
    assert found.meshes == ("b", "b", "b") and found.distance == (1, 0, 2)


@pytest.mark.parametrize("devices, mesh", [({0, 1, 2, 3}, "b"), ({0}, "a")])
def test_a_mesh_that_contains_the_other_wins(devices, mesh):
    p = MeshProblem({"a": frozenset({0, 1}), "b": frozenset(devices)})
    (x,) = p.add((), [100.0], "a")
    (w,) = p.add((), [1.0], "b")
    p.add([x, w], [1.0])
    assert propagate_meshes(p).meshes[2] == mesh


@pytest.mark.parametrize("size, mesh", [(2.0, "a"), (0.5, "b")])
def test_of_disjoint_meshes_the_one_with_more_bytes(size, mesh):
    p = MeshProblem(APART)
    (x,) = p.add((), [size], "a")
    (w,) = p.add((), [1.0], "b")
    p.add([x, w], [1.0])
    assert propagate_meshes(p).meshes[2] == mesh


def test_partly_shared_devices_are_a_conflict():
    p = MeshProblem({"a": frozenset({0, 1}), "b": frozenset({1, 2})})
    (x,) = p.add((), [1.0], "a")
    (w,) = p.add((), [1.0], "b")
    p.add([x, w], [1.0])
    with pytest.raises(MeshConflict, match=r"on @a and @b, which share devices \[1\] while neither contains the other") as e:
        propagate_meshes(p)
    assert e.value.node == 2


def test_gradients_go_where_their_operands_are_anyway():
    """y = (x w1) w2; dy = y - t; dw2 = h' dy: h is on both meshes, dy on b, so dw2 is made on b."""
    p = MeshProblem(APART)
    (x,) = p.add((), [8.0], "a")
    (w1,) = p.add((), [8.0], "a")
    (w2,) = p.add((), [8.0], "b")
    (t,) = p.add((), [4.0])
    (h,) = p.add([x, w1], [8.0])
    (y,) = p.add([h, w2], [4.0])
    (dy,) = p.add([y, t], [4.0])
    (dw2,) = p.add([h, dy], [8.0])
    p.add([dw2], ())
    found = propagate_meshes(p)
    assert found.meshes[7] == "b" and found.meshes[8] == "b" and found.meshes[3] == "b"
    assert found.reassigned == 1 and found.crossing(p) == [(h, "b")]


def test_what_is_made_from_annotated_things_is_not_moved_to_save_bytes():
    """The product would move fewer bytes on b (x and w1 are small), but it is asked for on a."""
    p = MeshProblem(APART)
    (x,) = p.add((), [1.0], "a")
    (w1,) = p.add((), [1.0], "a")
    (h,) = p.add([x, w1], [100.0])
    p.add([h], [1.0], "b")
    assert propagate_meshes(p).meshes[2] == "a"


def test_nothing_annotated_is_the_first_mesh():
    p = MeshProblem(APART)
    p.add((), [1.0])
    found = propagate_meshes(p)
    assert found.meshes == ("a",) and found.distance == (None,)


@pytest.mark.parametrize("holds, mesh", [(True, "a"), (False, "b")])
def test_what_holds_decides_whatever_else_is_near(holds, mesh):
    """The way back through a boundary: the cotangent is demanded on b, the weight, after a cast, is on a."""
    p = MeshProblem(APART)
    (w,) = p.add((), [1.0], "a")
    (cast,) = p.add([w], [1.0], None, holds)
    (ct,) = p.add((), [8.0], "b", False)
    p.add([ct, cast], [8.0])
    assert propagate_meshes(p).meshes[3] == mesh
