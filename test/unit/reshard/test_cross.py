"""Transfers between meshes, run by numpy: every element arrives once, nothing crosses needlessly, senders share."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pcg
from pcg.layout import Mesh, ShardSpec, SpecError
from pcg.reshard import ReshardError, cross_mesh_plan
from pcg.reshard.cross import assign_senders, same_split, shards

parse = ShardSpec.parse


def mesh_on(text: str, ids) -> Mesh:
    return Mesh.of(Mesh.parse(text).axes, list(ids))


def window(start, lengths):
    return tuple(slice(a, a + n) for a, n in zip(start, lengths, strict=True))


def execute(src, src_mesh, dst, dst_mesh, shape):
    """Do what the plan says; checks coverage exactly once, the value, and that nobody gives what it does not hold."""
    found = cross_mesh_plan(src, src_mesh, dst, dst_mesh, shape, 4)
    whole = np.arange(math.prod(shape)).reshape(shape)
    have = {d: whole[tuple(slice(*b) for b in box)] for d, box in shards(src, src_mesh, shape)}
    want = {d: whole[tuple(slice(*b) for b in box)] for d, box in shards(dst, dst_mesh, shape)}
    got = {d: np.full(w.shape, -1) for d, w in want.items()}
    times = {d: np.zeros(w.shape, int) for d, w in want.items()}
    for p in found.pieces + found.kept:
        lengths = [b - a for a, b in zip(p.start, p.stop, strict=True)]
        assert p.elements == math.prod(lengths) > 0
        box = have[p.sender][window(p.source, lengths)]
        assert box.shape == tuple(lengths)
        got[p.receiver][window(p.target, lengths)] = box
        times[p.receiver][window(p.target, lengths)] += 1
    for d, w in want.items():
        np.testing.assert_array_equal(got[d], w)
        assert (times[d] == 1).all()
    assert all(p.sender == p.receiver for p in found.kept)
    assert all(p.sender != p.receiver for p in found.pieces)
    # A device must receive what it needs and does not hold, and need not receive more.
    need = sum(w.size - np.isin(w, have.get(d, ())).sum() for d, w in want.items())
    assert found.bytes == 4 * need == sum(found.wire_bytes_by_sender.values()) == sum(found.wire_bytes_by_receiver.values())
    # A piece for each distinct source shard that a destination needs and does not hold, and no other.
    distinct = {box for _, box in shards(src, src_mesh, shape)}
    mine = dict(shards(src, src_mesh, shape))
    count = sum(
        all(max(a[0], b[0]) < min(a[1], b[1]) for a, b in zip(box, s, strict=True)) and mine.get(d) != s
        for d, box in shards(dst, dst_mesh, shape) for s in distinct
    )  # fmt: skip
    assert len(found.pieces) == count
    # Devices with the same shard differ by no more than one piece.
    for s in distinct:
        sent = [found.wire_bytes_by_sender.get(d, 0) for d, box in mine.items() if box == s]
        largest = max((4 * p.elements for p in found.pieces if mine[p.sender] == s), default=0)
        assert max(sent) <= sum(sent) / len(sent) + largest * (1 - 1 / len(sent))
    return found


def specs(mesh: Mesh, rank: int):
    return st.permutations(mesh.names).flatmap(
        lambda order: st.lists(st.integers(-1, rank - 1), min_size=len(order), max_size=len(order)).map(
            lambda at: ShardSpec.of([[a for a, c in zip(order, at, strict=True) if c == d] for d in range(rank)])
        )
    )


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_two_meshes(data):
    texts = ["a=1", "a=2", "a=4", "a=6", "a=3,b=2", "a=2,b=2", "a=2,b=2,c=2", "a=5"]
    meshes = []
    for _ in range(2):
        mesh = Mesh.parse(data.draw(st.sampled_from(texts)))
        ids = data.draw(st.permutations(range(12)))[: mesh.size]
        meshes.append(Mesh.of(mesh.axes, ids))
    rank = data.draw(st.integers(0, 3))
    shape = data.draw(st.tuples(*[st.integers(0, 13)] * rank))
    src, dst = (data.draw(specs(m, rank)) if rank else parse("[]") for m in meshes)
    execute(src, meshes[0], dst, meshes[1], shape)


def test_six_devices_to_four():
    found = execute(parse("[a, b]"), Mesh.parse("a=3,b=2"), parse("[c, -]"), mesh_on("c=4", range(6, 10)), (12, 8))
    assert found.bytes == 12 * 8 * 4 and not found.kept
    assert len(found.pieces) == 12  # rows 0-3,4-7,8-11 against 0-2,3-5,6-8,9-11 are 6 cuts, each in two columns


def test_replicas_share_the_sending():
    found = execute(parse("[-]"), Mesh.parse("a=4"), parse("[b]"), mesh_on("b=8", range(4, 12)), (64,))
    assert found.wire_bytes_by_sender == {d: 2 * 8 * 4 for d in range(4)}
    found = execute(parse("[a, -]"), Mesh.parse("a=2,b=3"), parse("[-, c]"), mesh_on("c=3", range(6, 9)), (4, 6))
    assert set(found.wire_bytes_by_sender.values()) == {4 * 4} and len(found.wire_bytes_by_sender) == 6


def test_what_a_device_holds_stays():
    src = Mesh.parse("a=4")
    assert not execute(parse("[a]"), src, parse("[b]"), Mesh.parse("b=4"), (16,)).pieces
    assert not execute(parse("[-]"), src, parse("[b]"), Mesh.parse("b=2"), (16,)).pieces
    found = execute(parse("[a]"), src, parse("[b]"), mesh_on("b=4", [3, 2, 1, 0]), (16,))
    assert len(found.pieces) == 4 and found.bytes == 64
    found = execute(parse("[a]"), src, parse("[b]"), Mesh.parse("b=2"), (16,))
    assert [(p.sender, p.receiver) for p in found.pieces] == [(1, 0), (2, 1), (3, 1)]
    assert [(p.receiver, p.start) for p in found.kept] == [(0, (0,))]


def test_uneven_shards():
    found = execute(parse("[a]"), Mesh.parse("a=8"), parse("[b]"), mesh_on("b=3", [8, 9, 10]), (17,))
    assert 7 not in found.wire_bytes_by_sender  # blocks of three rows: the last two devices hold two rows and none


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 12), max_size=7), st.integers(1, 3))
@example([3, 3, 2, 2, 2], 2)
@example([5, 5, 4, 4, 3, 3, 3], 3)
def test_dealing_is_exact(loads, senders):
    def top(choice):
        return max(sum(x for x, s in zip(loads, choice, strict=True) if s == k) for k in range(senders))

    want = min(top(c) for c in itertools.product(range(senders), repeat=len(loads)))
    assert top(assign_senders(loads, senders)) == want


@pytest.mark.parametrize(
    "spec, found",
    [
        # The first axis of the other mesh has too few devices; two of its axes stand for one.
        ("[b, -]", "[d, -]"), ("[a, b]", "[c, d]"), ("[a+b, -]", "[c+d, -]"), ("[e, -]", "[c+d, -]"),
        # Taken by the same name, and then no longer free.
        ("[s, a]", "[s, c]"), ("[a, s]", "[c, s]"), ("[-, -]", "[-, -]"),
        # Nothing has as many shards, or what has is taken.
        ("[t, -]", None), ("[a, e]", None),
    ],
)  # fmt: skip
def test_a_layout_with_as_many_shards_on_another_mesh(spec, found):
    mesh, other = Mesh.parse("a=2,b=4,e=8,s=5,t=7"), Mesh.parse("c=2,d=4,s=5")
    assert same_split(ShardSpec.parse(spec), mesh, other) == (found and ShardSpec.parse(found))


def test_errors_say_which_layout():
    a, b = Mesh.parse("a=2"), mesh_on("b=2", [2, 3])
    with pytest.raises(ReshardError, match=r"source layout \[-\] sum\(a\) is partial"):
        cross_mesh_plan(parse("[-] sum(a)"), a, parse("[b]"), b, (4,), 4)
    with pytest.raises(ReshardError, match=r"destination layout \[b\] has 1 dimensions, the tensor has 2"):
        cross_mesh_plan(parse("[a, -]"), a, parse("[b]"), b, (4, 4), 4)
    with pytest.raises(SpecError, match="'a'"):
        cross_mesh_plan(parse("[a]"), a, parse("[a]"), b, (4,), 4)


def test_it_is_public():
    assert pcg.reshard.cross_mesh_plan is cross_mesh_plan
