"""Plans: shortest, legal, and cheap to find."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.layout import Mesh, ShardSpec
from pcg.reshard import (
    AllGather,
    AllReduce,
    AllToAll,
    Mask,
    Permute,
    ReduceScatter,
    ReshardError,
    Slice,
    UniformLink,
    at_once,
    cost,
    direct,
    permutation,
    plan,
    steps_cost,
)
from support.layoutpairs import layouts

MESH = Mesh.parse("data=2,model=4")
BYTES = 64 * 64 * 4
parse = ShardSpec.parse


def steps(src: str, dst: str, shape=(64, 64), mesh=MESH):
    return plan(parse(src), parse(dst), shape, 4, mesh)


def wire(src: str, dst: str, shape=(64, 64), mesh=MESH):
    return cost(parse(src), parse(dst), shape, 4, mesh)[1]


@pytest.mark.parametrize("src,dst,want", [
    ("[-, -]", "[-, -]", ()),
    ("[-, -] sum(model)", "[-, -]", (AllReduce(("model",), "sum"),)),
    ("[-, -] max(model)", "[-, -] max(model)", ()),
    ("[-, -] sum(model, data)", "[-, -]", (AllReduce(("data", "model"), "sum"),)),
    ("[-, -] sum(model)", "[model, -]", (ReduceScatter(0, ("model",), "sum"),)),
    ("[data, -] sum(model)", "[data, model]", (ReduceScatter(1, ("model",), "sum"),)),
    ("[data, -] sum(model)", "[-, -]", (AllReduce(("model",), "sum"), AllGather(0, ("data",)))),
    ("[-, -]", "[data+model, -]", (Slice(0, ("data", "model")),)),
    ("[data+model, -]", "[-, -]", (AllGather(0, ("data", "model")),)),
    ("[data+model, -]", "[data, -]", (AllGather(0, ("model",)),)),
    ("[model, -]", "[-, model]", (AllToAll(1, 0, ("model",)),)),
    ("[data+model, -]", "[model+data, -]", (Permute(parse("[model+data, -]")),)),
])  # fmt: skip
def test_plans_one_expects(src, dst, want):
    assert steps(src, dst) == want


@pytest.mark.parametrize("src,dst,want", [
    ("[-, -] sum(model)", "[-, -]", 2 * 3 / 4 * BYTES),
    ("[-, -] sum(data, model)", "[-, -]", 2 * 7 / 8 * BYTES),
    ("[-, -] sum(model)", "[-, model]", 3 / 4 * BYTES),
    ("[data, model]", "[data, -]", 3 / 4 * BYTES / 2),
    ("[-, model]", "[model, -]", 3 / 4 * BYTES / 4),
    ("[-, -]", "[data, model]", 0),
])  # fmt: skip
def test_wire_bytes(src, dst, want):
    assert wire(src, dst) == pytest.approx(want)


def test_slicing_first_makes_the_reduction_smaller():
    assert steps("[-, -] sum(model)", "[data, -]") == (Slice(0, ("data",)), AllReduce(("model",), "sum"))


def test_axes_swap_places_in_equal_sizes_with_one_permute():
    mesh = Mesh.parse("a=2,b=2")
    assert steps("[a, b]", "[b, a]", mesh=mesh) == (Permute(parse("[b, a]")),)


def test_major_axis_leaves_without_gathering_the_minor_one():
    assert wire("[data+model, -]", "[model, -]") < wire("[data+model, -]", "[-, -]") / 3


def test_uneven_shards_take_the_same_steps():
    for shape in ((4, 64), (64, 6), (5, 7)):
        assert steps("[model, -]", "[-, model]", shape) == (AllToAll(1, 0, ("model",)),)


def test_only_equal_cuts_of_uneven_shards_are_exchanged():
    mesh = Mesh.parse("a=2,b=4,c=2")
    assert steps("[a, -]", "[c, -]", (7, 4), mesh) == (Permute(parse("[c, -]")),)
    assert steps("[a+b, -]", "[b+a, -]", (16, 4), mesh) == (Permute(parse("[b+a, -]")),)
    assert not any(isinstance(s, Permute) for s in steps("[a+b, -]", "[b+a, -]", (17, 4), mesh))


def test_a_whole_value_becomes_one_of_the_partial_sums():
    mask = Mask(("model",), "sum")
    assert steps("[-, -]", "[-, -] sum(model)") == (mask,)
    assert steps("[data, -]", "[-, data] sum(model)") == (AllToAll(1, 0, ("data",)), mask)
    assert steps("[model, -]", "[-, -] sum(model)") == (AllGather(0, ("model",)), mask)
    assert steps("[-, -] max(model)", "[-, -] sum(model)") == (AllReduce(("model",), "max"), mask)
    assert wire("[-, -]", "[-, -] sum(data, model)") == 0
    assert cost(parse("[-]"), parse("[-] sum(model)"), (64,), 4, MESH)[0] > 0


@pytest.mark.parametrize("src,dst,text", [
    ("[-]", "[-, -]", "2 dimensions"),
    ("[-, -]", "[data, data]", r"axis 'data' is used twice in \[data, data\]"),
    ("[data, -] sum(data)", "[-, -]", r"axis 'data' is used twice in \[data, -\] sum\(data\)"),
    ("[-, -]", "[pipe, -]", "unknown axis 'pipe'"),
])  # fmt: skip
def test_impossible_goals_are_refused(src, dst, text):
    with pytest.raises(ReshardError, match=text):
        steps(src, dst)


@pytest.mark.parametrize(("step", "spec"), [
    (AllGather(2, ("data",)), "[data, -]"), (AllGather(-1, ("data",)), "[-, data]"), (Slice(2, ("data",)), "[-, -]"),
    (Slice(-1, ("data",)), "[-, -]"), (ReduceScatter(2, ("data",), "sum"), "[-, -] sum(data)"),
    (AllToAll(2, 0, ("data",)), "[data, -]"), (AllToAll(0, -1, ("data",)), "[-, data]"),
], ids=str)  # fmt: skip
def test_a_step_along_no_dimension_is_refused(step, spec):
    with pytest.raises(ReshardError, match="has no dimension (2|-1)"):
        step.apply(parse(spec))


def test_different_kinds_of_partial_are_reduced_apart():
    src, dst = parse("[-, -] max(data) sum(model)"), parse("[-, -]")
    assert set(plan(src, dst, (64, 64), 4, MESH, UniformLink(1e-6))) == {
        AllReduce(("data",), "max"), AllReduce(("model",), "sum"),
    }  # fmt: skip
    free = plan(src, dst, (64, 64), 4, MESH, UniformLink(0))
    kinds = {s.axes: s.kind for s in free if isinstance(s, AllReduce | ReduceScatter)}
    assert kinds == {("data",): "max", ("model",): "sum"}


def test_the_link_decides():
    """Where `data` is slow, the reduction over both axes is split so that little crosses it."""

    def link(axes, sent, kind):
        return 1e-9 + sent * (100 if "data" in axes else 1)

    found = plan(parse("[-, -] sum(data, model)"), parse("[model, -]"), (64, 64), 4, MESH, link)
    assert found == (ReduceScatter(0, ("model",), "sum"), AllReduce(("data",), "sum"))


def test_the_straight_way_costs_what_its_steps_do():
    """An all-to-all over reordered axes costs as one, not by another name."""
    mesh, shape = Mesh.parse("a=2,b=2,c=2"), (64, 64)

    def link(axes, sent, kind):
        return 1e-6 + sent * {"all_gather": 1e-9, "all_to_all": 1e-11}.get(kind, 1e-7)

    src, dst = parse("[-, a+b+c]"), parse("[b+a, c]")
    moves, seconds, wire = direct.search((src.dims, ()), (dst.dims, ()), shape, 64 * 64 * 4.0, mesh, link)
    assert [m[0] for m in moves] == ["all_gather", "regroup", "slice"]
    assert (seconds, wire) == pytest.approx(steps_cost(src, direct.to_steps(moves, src, (0, 1)), shape, 4, mesh, link))


def test_dimensions_alike_stand_in_for_one_another():
    """Of twelve dimensions six are split before or after: the others change the bytes and nothing else."""
    mesh = Mesh.parse("a=2,b=2,c=2")
    src, dst = "a, b, c, -, -, -", "-, -, -, a, b, c"
    more = ", -" * 6
    few = cost(parse(f"[{src}]"), parse(f"[{dst}]"), (8,) * 6, 4, mesh)
    many = cost(parse(f"[{src}{more}]"), parse(f"[{dst}{more}]"), (8,) * 6 + (2,) * 6, 4 / 2**6, mesh)
    assert many == pytest.approx(few)


@pytest.mark.parametrize("mesh", ["a=2,b=4", "a=2,b=2,c=2"])
def test_every_pair_has_a_plan_that_leads_there_at_the_stated_cost(mesh):
    mesh = Mesh.parse(mesh)
    for src in layouts(mesh, 2, True):
        for dst in layouts(mesh, 2):
            found = plan(src, dst, (16, 32), 2, mesh)
            at = src
            for step in found:
                at.local_shape((16, 32), mesh)
                at = step.apply(at)
            assert at == dst, (src, dst, found)
            assert steps_cost(src, found, (16, 32), 2, mesh) == pytest.approx(
                cost(src, dst, (16, 32), 2, mesh)
            )


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_detours_are_never_cheaper(data):
    mesh = Mesh.parse("a=2,b=2")
    specs = layouts(mesh, 2)
    a, b, c = (data.draw(st.sampled_from(specs)) for _ in range(3))
    link = UniformLink(1e-12, 1e11)

    def seconds(x, y):
        return cost(x, y, (16, 16), 4, mesh, link)[0]

    assert seconds(a, c) <= seconds(a, b) + seconds(b, c) + 1e-8  # slices are not free of steps


@pytest.mark.parametrize("src,dst", [("[a, -]", "[b, -]"), ("[a+b, -]", "[b+a, -]"), ("[a, b]", "[b, a]")])
def test_permutation_is_one_to_one_and_keeps_what_fits(src, dst):
    mesh = Mesh.parse("a=2,b=2")
    pairs = permutation(parse(src), parse(dst), mesh)
    assert sorted(s for s, _ in pairs) == sorted(t for _, t in pairs) == [0, 1, 2, 3]
    assert sum(s == t for s, t in pairs) >= 2
    for s, t in pairs:
        for x, y in zip(parse(src).dims, parse(dst).dims, strict=True):
            assert mesh.index(s, x) == mesh.index(t, y)


@pytest.mark.parametrize(("steps", "want"), [
    ([], []),
    ([AllReduce(("model",), "sum"), AllReduce(("data",), "sum")], [AllReduce(("data", "model"), "sum")]),
    ([AllReduce(("model",), "sum"), AllReduce(("data",), "max")], None),
    ([AllReduce(("model",), "sum"), AllGather(0, ("data",))], None),
    ([AllGather(0, ("model",)), AllGather(0, ("data",))], [AllGather(0, ("data", "model"))]),
    ([AllGather(0, ("model",)), AllGather(1, ("data",))], None),
    ([ReduceScatter(1, ("model",), "sum"), ReduceScatter(1, ("data",), "sum")],
     [ReduceScatter(1, ("model", "data"), "sum")]),
    ([ReduceScatter(1, ("model",), "sum"), ReduceScatter(0, ("data",), "sum")], None),
    ([AllReduce(("c",), "sum"), AllReduce(("a",), "sum"), AllReduce(("b",), "sum"), Slice(0, ("a",))],
     [AllReduce(("a", "b", "c"), "sum"), Slice(0, ("a",))]),
])  # fmt: skip
def test_collectives_in_turns_become_one(steps, want):
    assert at_once(steps) == tuple(steps if want is None else want)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_collectives_at_once_lead_where_those_in_turns_do(data):
    mesh = Mesh.parse("a=2,b=2,c=2")
    src, dst = (data.draw(st.sampled_from(layouts(mesh, 2, partial=p))) for p in (True, False))
    # Small groups cost next to nothing, so that there are turns.
    link = lambda axes, sent, name: 10.0 ** (3 * len(axes)) + sent  # noqa: E731
    turns = plan(src, dst, (64, 64), 4, mesh, link)
    found = at_once(turns)
    for step in found:
        src = step.apply(src)
    assert src == dst and len(found) <= len(turns)
    kinds = [(s.name, getattr(s, "dim", None)) for s in found]
    in_turns = ("all_reduce", "all_gather", "reduce_scatter")
    assert not any(a == b and a[0] in in_turns for a, b in itertools.pairwise(kinds))
