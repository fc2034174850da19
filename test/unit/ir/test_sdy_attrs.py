"""The grammar of Shardy's attributes."""

import pytest

from pcg.ir.sdy_attrs import (
    SdyDim,
    SdyMesh,
    SdySharding,
    SdySyntaxError,
    parse_manual_axes,
    parse_mesh,
    parse_per_value,
    parse_sharding,
)  # fmt: skip


def test_sharding():
    text = '#sdy.sharding<@mesh, [{"x", ?}p1, {}, {?}], replicated={"z"}, unreduced={"u", "v"}>'
    dims = (SdyDim(("x",), True, 1), SdyDim(()), SdyDim((), True))
    assert parse_sharding(text) == SdySharding("mesh", dims, ("z",), ("u", "v"))


def test_sub_axes():
    text = '#sdy.sharding<@mesh, [{"x":(1)2, "y", ?}p1, {"x":(4)2}], replicated={"x":(2)2}, unreduced={"z":(2)4}>'
    dims = (SdyDim(("x:(1)2", "y"), True, 1), SdyDim(("x:(4)2",)))
    assert parse_sharding(text) == SdySharding("mesh", dims, ("x:(2)2",), ("z:(2)4",))
    with pytest.raises(SdySyntaxError, match='manual over a part of axis "x"; allowed: whole axes'):
        parse_manual_axes('#sdy<manual_axes{"x":(1)2}>')


def test_inlined_mesh():
    assert parse_mesh(parse_sharding('#sdy.sharding<mesh<["x"=2]>, [{"x"}]>').mesh) == SdyMesh((("x", 2),))


def test_per_value():
    assert [s.mesh for s in parse_per_value("#sdy.sharding_per_value<[<@a, [{}]>, <@b, []>]>")] == ["a", "b"]
    assert parse_per_value("#sdy.sharding_per_value<[]>") == []
    assert len(parse_per_value("#sdy.sharding<@a, [{}]>")) == 1


def test_mesh():
    assert parse_mesh('#sdy.mesh<["x"=2, "y"=4], device_ids=[1, 0]>') == SdyMesh((("x", 2), ("y", 4)), (1, 0))
    assert parse_mesh("#sdy.mesh<[], device_ids=[0]>") == SdyMesh((), (0,))


def test_manual_axes():
    assert parse_manual_axes('#sdy<manual_axes{"x", "y"}>') == ("x", "y")
    assert parse_manual_axes("#sdy<manual_axes{}>") == ()


def test_fully_open():
    assert parse_sharding("#sdy.sharding<@m, [{?}, {?}]>").is_fully_open
    assert not parse_sharding("#sdy.sharding<@m, [{?}, {}]>").is_fully_open
    assert not parse_sharding("#sdy.sharding<@m, []>").is_fully_open


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('#sdy.sharding<@m, [{"x":2}]>', r"expected '\('"),
        ('#sdy.sharding<@m, [{"x":(2)}]>', "expected a size"),
        ("#sdy.sharding<@m, [{}", "expected"),
        ("#sdy.sharding<@m, [{}], frozen={}>", "unknown 'frozen'"),
        ("#sdy.sharding<@m, [{}]> x", "unexpected 'x'"),
        ("#foo<1>", "is not a #sdy.sharding"),
    ],
)
def test_errors(text, error):
    with pytest.raises(SdySyntaxError, match=error):
        parse_sharding(text)
