"""Process meshes."""

from __future__ import annotations

import pytest

from pcg.layout import Mesh, MeshError

MESH = Mesh.parse("data=2,model=4")


def test_parse_and_print() -> None:
    assert MESH == Mesh((("data", 2), ("model", 4)))
    assert str(MESH) == "data=2,model=4"
    assert Mesh.parse("data:2;model:4") == MESH
    assert MESH.size == 8 and MESH.names == ("data", "model") and MESH.sizes == (2, 4)


def test_groups_are_the_replica_groups_of_a_collective() -> None:
    assert MESH.groups(["model"]) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert MESH.groups(["data"]) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert MESH.groups(["data", "model"]) == [list(range(8))]
    assert MESH.groups(["model", "data"]) == [[0, 4, 1, 5, 2, 6, 3, 7]]
    assert MESH.groups([]) == [[i] for i in range(8)]


def test_coordinates_and_index_agree() -> None:
    for p in range(8):
        c = MESH.coordinates(p)
        assert MESH.index(p, ["data", "model"]) == p
        assert MESH.index(p, ["model", "data"]) == c["model"] * 2 + c["data"]


def test_the_axes_the_other_way_round() -> None:
    other = MESH.transposed
    assert str(other) == "model=4,data=2" and other.device_ids == (0, 4, 1, 5, 2, 6, 3, 7)
    assert other.transposed == MESH
    mapped = Mesh.of({"x": 2, "y": 3, "z": 2}, range(12, 0, -1))
    assert mapped.transposed.transposed == mapped
    for at in ([0, 1, 1], [1, 2, 0]):
        x, y, z = at
        assert mapped.device_ids[x * 6 + y * 2 + z] == mapped.transposed.device_ids[z * 6 + y * 2 + x]
    with pytest.raises(MeshError):
        _ = Mesh.of({"x": 8}).refined({"x": (2, 4)}).transposed


def test_identity_device_order_is_the_default() -> None:
    assert Mesh.of({"x": 2}, [0, 1]) == Mesh.of({"x": 2})
    assert Mesh.of({"x": 2}, [1, 0]).device_ids == (1, 0)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Mesh.parse("data"), "cannot read mesh axis 'data'"),
        (lambda: Mesh.parse("data=0"), "axis 'data' has size 0"),
        (lambda: Mesh.parse("a=2,a=2"), "two axes named 'a'"),
        (lambda: Mesh(()), "at least one axis"),
        (lambda: Mesh.of({"2x": 2}), "not an identifier"),
        (lambda: Mesh.of({"x": 2}, [0]), "2 positions but 1 device ids"),
        (lambda: Mesh.of({"x": 2}, [1, 1]), "not distinct"),
        (lambda: Mesh.parse("a=1000000000000"), "axis 'a' has size 1000000000000; sizes are at least 1, at most 65536"),
        (lambda: Mesh.parse(f"a={'9' * 5000}"), "axis 'a' has size 1000.*at most 65536"),
        (lambda: Mesh.parse(f"a=-{'9' * 5000}"), "axis 'a' has size -1; sizes are at least 1"),
        (lambda: Mesh.parse("a=1000,b=1000"), "mesh a=1000,b=1000 has 1000000 positions; allowed: at most 65536"),
        (lambda: Mesh.of({"x": True}), "axis 'x' has size True"),
        (lambda: Mesh.of({"x": 2.5}), "axis 'x' has size 2.5"),
        (lambda: Mesh.of({"x": float("nan")}), "axis 'x' has size nan"),
        (lambda: Mesh.of({"x": 10**400}), r"axis 'x' has size 1000.*\(401 characters\)"),
        (lambda: Mesh.of({"x": 10**12}, [0]), "axis 'x' has size 1000000000000"),
        (lambda: Mesh.of({"x": 2}, [0, 1.5]), "device id 1.5 is not an integer"),
        (lambda: Mesh.of({"x": 2}, [False, True]), "device id False is not an integer"),
        (lambda: MESH.axis_size("seq"), "unknown axis 'seq'; the mesh has 'data', 'model'"),
    ],
)
def test_errors_name_the_thing(make, text: str) -> None:
    with pytest.raises(MeshError, match=text):
        make()
