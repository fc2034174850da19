"""Groups of devices of a pipeline: which devices each has, and how they are written."""

from __future__ import annotations

import pytest

from pcg.layout import Mesh, MeshError
from pcg.layout.groups import groups_text, one_after_another


def test_each_has_the_next_devices() -> None:
    meshes = [Mesh.of({"a": 2, "b": 2}), Mesh.of({"a": 1}), Mesh.of({"c": 3})]
    assert [m.device_ids for m in one_after_another(meshes)] == [(0, 1, 2, 3), (4,), (5, 6, 7)]
    ids = [9, 8, 7, 6, 5, 4, 3, 2]
    found = one_after_another(meshes, ids)
    assert [m.device_ids for m in found] == [(9, 8, 7, 6), (5,), (4, 3, 2)]
    assert [m.axes for m in found] == [m.axes for m in meshes]
    assert one_after_another(found) == found
    named = Mesh.of({"a": 2}, [1, 3])
    assert [m.device_ids for m in one_after_another([meshes[1], named, Mesh.of({"a": 2})])] == [(0,), (1, 3), (2, 4)]


@pytest.mark.parametrize(
    ("meshes", "message"),
    [
        ([], "no groups of devices; allowed: one mesh or more"),
        ([Mesh.of({"a": 2}, [2, 3]), Mesh.of({"a": 2}, [1, 3])], "device 3 is in groups 0 and 1; allowed: in one"),
    ],
)
def test_groups_that_cannot_be(meshes: list[Mesh], message: str) -> None:
    with pytest.raises(MeshError, match=message):
        one_after_another(meshes)


def test_text() -> None:
    two, four = Mesh.of({"a": 2}), Mesh.of({"a": 2, "b": 2})
    assert groups_text([two]) == "1 group of a=2"
    assert groups_text([two, two]) == "2 groups of a=2"
    assert groups_text([four, two, two]) == "3 groups: a=2,b=2; 2 x a=2"
