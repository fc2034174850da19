"""Sub-axes and refined meshes: names, both spellings of a layout, and who holds what."""

import itertools
import math

import pytest

from pcg.layout import Mesh, MeshError, ShardSpec, SpecError, refine
from pcg.machine import Machine
from pcg.machine.machine import Link

X8 = Mesh.of({"x": 8, "y": 2})
FINE = X8.refined({"x": (2, 4)})


def spec(text: str) -> ShardSpec:
    return ShardSpec.parse(text)


# -- meshes ----------------------------------------------------------------------------------------


def test_a_refined_mesh_knows_what_it_refines():
    assert str(FINE) == "x.0=2,x.1=4,y=2" and Mesh.parse(str(FINE)) == FINE
    assert FINE.origin == X8 and X8.origin is X8
    assert FINE.parts == {"x": ("x.0", "x.1"), "y": ("y",)}
    assert FINE.refined({"x": (2, 2, 2)}).sizes == (2, 2, 2, 2)
    assert FINE.refined({"x": (8,)}) == X8
    order = tuple(reversed(range(16)))
    assert Mesh.of({"x": 8, "y": 2}, order).refined({"x": (4, 2)}).device_ids == order


def test_positions_stay():
    for position in range(16):
        fine, whole = FINE.coordinates(position), X8.coordinates(position)
        assert (4 * fine["x.0"] + fine["x.1"], fine["y"]) == (whole["x"], whole["y"])
        assert FINE.index(position, ("x.0", "x.1")) == X8.index(position, ("x",))
    assert FINE.groups(("x.0", "x.1")) == X8.groups(("x",))


@pytest.mark.parametrize("parts,error", [
    ({"x": (2, 3)}, "axis 'x' of size 8 cannot be refined to 2x3"),
    ({"x": ()}, "cannot be refined to nothing"),
    ({"z": (2,)}, "unknown axis 'z'"),
])  # fmt: skip
def test_refinements_that_are_none(parts, error):
    with pytest.raises(MeshError, match=error):
        X8.refined(parts)


@pytest.mark.parametrize("text", [
    "x.0=2", "x.1=2,x.0=2", "x.0=2,y=2,x.1=2", "x=2,x.0=2,x.1=2", "x.0=2,x.2=2", "x.00=2,x.01=2",
])  # fmt: skip
def test_parts_are_all_there_and_side_by_side(text):
    with pytest.raises(MeshError, match="is a part of axis 'x', whose parts here are|is not an identifier"):
        Mesh.parse(text)


def test_a_part_has_the_link_of_its_axis_or_its_own():
    machine = Machine.default().with_axis("x", Link(1e9, 1e-5))
    assert machine.link_of("x.1") == Link(1e9, 1e-5)
    assert machine.with_axis("x.1", Link(5e9, 1e-6)).link_of("x.1") == Link(5e9, 1e-6)
    assert machine.link_of("y") == machine.link


# -- layouts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin,parts", [
    ("[x, y]", "[x.0+x.1, y]"),
    ("[x:(1)2, x:(2)4]", "[x.0, x.1]"),
    ("[x:(2)4+x:(1)2, -]", "[x.1+x.0, -]"),
    ("[x:(1)2+y+x:(2)4]", "[x.0+y+x.1]"),
    ("[-, y] sum(x)", "[-, y] sum(x.0, x.1)"),
    ("[x:(2)4] max(x:(1)2)", "[x.1] max(x.0)"),
    ("[y, -]", "[y, -]"),
])  # fmt: skip
def test_two_spellings(origin, parts):
    assert refine.to_parts(spec(origin), FINE) == spec(parts)
    assert refine.to_origin(spec(parts), FINE) == spec(origin)
    assert spec(str(spec(origin))) == spec(origin)


def test_neighbouring_parts_are_one():
    fine = X8.refined({"x": (2, 2, 2)})
    assert str(refine.to_origin(spec("[x.0+x.1, x.2]"), fine)) == "[x:(1)4, x:(4)2]"
    assert str(refine.to_origin(spec("[x.1+x.2+x.0]"), fine)) == "[x:(2)4+x:(1)2]"
    assert refine.to_parts(spec("[x:(2)4]"), fine) == spec("[x.1+x.2]")
    with pytest.raises(SpecError, match=r"x:\(1\)4 is not made of the parts of axis 'x' in mesh x.0=2,x.1=4"):
        refine.to_parts(spec("[x:(1)4]"), FINE)


def test_devices_hold_the_same_under_both_spellings():
    """The blocks of `x` by numpy-like arithmetic on (pre, size, rest), against the refined mesh."""
    for pre, size in [(1, 2), (2, 2), (4, 2), (1, 4), (2, 4)]:
        name = f"x:({pre}){size}"
        fine = refine.refinement(X8, [name])
        axes = refine.part_names([name], fine)
        assert fine.axes_size(axes) == size
        for position in range(16):
            x = X8.coordinates(position)["x"]
            assert fine.index(position, axes) == x // (8 // (pre * size)) % size


@pytest.mark.parametrize("text,error", [
    ("[x:(1)4, x:(2)4]", r"x:\(1\)4 and x:\(2\)4 overlap in"),
    ("[x:(1)2, x]", r"x:\(1\)2 and x overlap"),
    ("[x:(1)2+x:(1)2, -]", r"axis 'x:\(1\)2' is used twice"),
    ("[-, -] sum(x:(1)2, x)", "overlap"),
    ("[x:(3)2, -]", r"x:\(3\)2 is not a part of axis 'x' of size 8: 3 \* 2 does not divide 8"),
    ("[x:(1)8, -]", "it is the whole axis"),
    ("[x:(0)2, -]", "pre-sizes are 1, sizes 2 at least"),
    ("[x:(2)1, -]", "pre-sizes are 1, sizes 2 at least"),
    ("[z:(1)2, -]", "unknown axis 'z'; the mesh has 'x', 'y'"),
    ("[x.0, -]", "unknown axis"),
    ("[x:(2)4+y, -]", r"dimension 0 of size 12 is not divisible by 8 \(x:\(2\)4\+y\)"),
])  # fmt: skip
def test_errors(text, error):
    with pytest.raises(SpecError, match=error):
        refine.check(spec(text), X8, (12, 16), even=True)


def test_what_fits():
    for text in ("[x:(4)2, x:(1)4]", "[y, x]", "[x:(2)2, y] sum(x:(1)2)"):
        refine.check(spec(text), X8, (12, 16), even=True)
    refine.check(spec("[x.1, x]").with_dim(1, ()), FINE, (12, 16))


# -- which mesh ------------------------------------------------------------------------------------


def test_no_finer_than_needed():
    assert refine.refinement(X8, ["x", "y"]) == X8
    assert refine.refinement(X8, ["x:(1)4"]).sizes == (4, 2, 2)
    assert refine.refinement(X8, ["x:(2)2"]).sizes == (2, 2, 2, 2)
    assert refine.refinement(FINE, ["x:(4)2"]).sizes == (2, 2, 2, 2)
    assert refine.refinement(FINE, ["x.1", "x", "x:(2)4"]) == FINE


def test_sub_axes_without_a_common_refinement():
    with pytest.raises(MeshError, match="axis 'x' of size 12 would be split after 2 and after 3; .* 2 does not divide 3"):
        refine.refinement(Mesh.of({"x": 12}), ["x:(1)2", "x:(1)3"])


@pytest.mark.parametrize("dim,size,cuts", [
    ((2, 8), 8, (2,)), ((2, 2, 4), 8, (2, 4)), ((12, 64), 8, (4,)), ((4, 6), 8, (4,)),
    ((8, 2), 8, ()), ((16, 3), 8, ()),   # the major factor takes it all
    ((3, 8), 8, ()),                     # nothing can be split under a whole factor
    ((2, 6), 8, ()), ((16,), 8, ()),     # the dimension cannot be split by the axis anyway
])  # fmt: skip
def test_reshape_cuts(dim, size, cuts):
    assert refine.reshape_boundaries(dim, size) == cuts


def test_reshape_cuts_are_cuts_of_the_axis():
    """Whatever the factors: cuts are a chain of divisors, and all but the last part fill their factor."""
    for size in (2, 4, 6, 8, 12, 16):
        for dim in itertools.product((1, 2, 3, 4, 6, 8, 12), repeat=3):
            cuts = refine.reshape_boundaries(dim, size)
            if cuts:
                mesh = refine.refine_at(Mesh.of({"x": size}), [("x", c) for c in cuts])
                taken = list(mesh.sizes)
                assert math.prod(taken) == size and all(n % k == 0 for n, k in zip(dim, taken[: len(cuts)], strict=False))
                assert all(n == k for n, k in zip(dim, taken[: len(cuts) - 1], strict=False))
