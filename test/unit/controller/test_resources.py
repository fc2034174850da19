"""The resource manager: slices, quotas, and devices that come and go while slices are in use."""

from __future__ import annotations

import random
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pcg.controller.errors import ResourceError
from pcg.controller.island import Island, islands_of
from pcg.controller.resources import ResourceManager
from pcg.layout import Mesh
from pcg.machine import Cluster

POD = Island("pod", (4, 4, 2), (True, True, False), "TPU", 32 * 2**30)
NODE = Island("node", (8,), kind="GPU", memory=80 * 2**30)


def refused(manager, *arguments, **options):
    """What the error says."""
    with pytest.raises(ResourceError) as error:
        manager.request(*arguments, **options)
    return str(error.value)


# -- what is requested ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, axes",
    [
        (6, (("device", 6),)),
        (np.int64(6), (("device", 6),)),
        ([2, 3], (("x", 2), ("y", 3))),
        ((1, 2, 1, 2), (("d0", 1), ("d1", 2), ("d2", 1), ("d3", 2))),
        ({"data": 2, "model": 4}, (("data", 2), ("model", 4))),
        (Mesh.of({"data": 2}).refined({}), (("data", 2),)),
        (Mesh.of({"data": 4}).refined({"data": (2, 2)}), (("data.0", 2), ("data.1", 2))),
    ],
)
def test_shapes(shape, axes):
    found = ResourceManager([POD]).request(shape)
    assert found.mesh.axes == axes and len({*found.devices}) == found.size


@pytest.mark.parametrize(
    "shape, text",
    [
        (0, "axis 'device' has size 0"),
        (True, "axis 'device' has size True"),
        (2.5, "axis 'device' has size 2.5"),
        ([], "at least one axis"),
        ({"a b": 2}, "axis name 'a b' is not an identifier"),
        ("2x2", "axis 'x' has size '2'"),
        (Mesh.of({"x": 2}, [1, 0]), "mesh x=2 of a slice has device ids; allowed: none"),
    ],
)
def test_shapes_that_are_none(shape, text):
    assert text in refused(ResourceManager([POD]), shape)


def test_what_is_wanted_of_devices():
    manager = ResourceManager([POD, NODE])
    assert manager.request(2, kind="GPU").island == "node"
    assert manager.request(2, memory=40e9).island == "node"
    assert manager.request(2, island="node").island == "node"
    # Others may need the memory of the larger ones.
    assert manager.request(2).island == "pod"
    assert refused(manager, 2, kind="CPU") == (
        "slice of 2 devices: island 'pod' has devices of kind 'TPU', not 'CPU';"
        " island 'node' has devices of kind 'GPU', not 'CPU'"
    )
    assert "has 34359738368 bytes of memory per device, not 1e+12" in refused(manager, 2, memory=1e12)
    assert "topology 'ring' of a slice; allowed: any, box, torus" in refused(manager, 2, topology="ring")
    assert "memory -1 of a slice's devices; allowed" in refused(manager, 2, memory=-1)


def test_the_text_of_a_refusal():
    manager = ResourceManager([Island("pod", (16, 16, 8), (True,) * 3)])
    manager.request((16, 16, 2))
    manager.fail("pod", [5])
    assert refused(manager, (8, 16, 16), topology="box") == (
        "slice 8x16x16 (box): island 'pod' is 16x16x8 with 1535 of 2047 devices free, largest free box 15x16x6"
    )
    assert refused(ResourceManager([]), 1) == "slice of 1 devices: there is no island"
    many = ResourceManager([Island(f"i{n}", (1,)) for n in range(9)])
    assert refused(many, 2).endswith("; and 5 islands more")


def test_topologies():
    manager = ResourceManager([Island("pod", (4, 4), (True, False))])
    ring = manager.request((4,), topology="torus")
    assert ring.devices == (0, 4, 8, 12)
    assert "largest free box 4x3" in refused(manager, (4, 4), topology="torus")
    refused(manager, (12,), topology="box")
    both = manager.request({"x": 12}, topology="any")
    assert both.placement.box is not None and {*both.devices} == {*range(16)} - {*ring.devices}


def test_scattered_devices_where_no_box_is_free():
    manager = ResourceManager([Island("pod", (3, 3))])
    manager.fail("pod", [1, 3, 5, 7])
    refused(manager, (2,), topology="box")
    slice = manager.request((2, 2))
    assert slice.placement.box is None and {*slice.devices} < {0, 2, 4, 6, 8}


# -- who has what --------------------------------------------------------------------------------


def test_shared_slices_lie_where_the_fewest_are():
    manager = ResourceManager([Island("pod", (4, 2))])
    first = manager.request((2, 2), shared=True)
    second = manager.request((2, 2), shared=True)
    third = manager.request((4, 2), shared=True)
    assert not {*first.devices} & {*second.devices} and {*third.devices} == {*range(8)}
    assert manager.utilization() == 1.0
    refused(manager, 1)
    manager.release(third)
    manager.release(first)
    alone = manager.request((2, 2))
    assert {*alone.devices} == {*range(8)} - {*second.devices}
    assert {*manager.request((2, 2), shared=True).devices} == {*second.devices}


def test_quotas():
    manager = ResourceManager([POD])
    manager.set_quota("a", 8)
    first = manager.request(6, client="a")
    assert refused(manager, (2, 2), client="a") == "slice 2x2: client 'a' has 6 devices and would have 10; allowed: 8"
    manager.request(2, client="a", shared=True)
    manager.request(16, client="b")
    manager.set_quota("a", devices=1)
    assert first.devices
    manager.release(first)
    refused(manager, 1, client="a")
    manager.set_quota("a", None)
    manager.request(6, client="a")
    for bad in (-1, True):
        with pytest.raises(ResourceError, match="allowed: 0 or more"):
            manager.set_quota("a", bad)


def test_lost_slices_count():
    manager = ResourceManager([NODE])
    manager.set_quota("a", 8)
    lost = manager.request(8, client="a")
    manager.fail("node", [0])
    assert lost.lost
    refused(manager, 1, client="a")
    manager.release(lost)
    manager.request(7, client="a")


def test_released_slices():
    manager = ResourceManager([NODE])
    slice = manager.request(8)
    manager.release(slice)
    for use in (manager.release, manager.physical, lambda s: s.devices, lambda s: s.island):
        with pytest.raises(ResourceError, match=r"slice 1 \(device=8\)"):
            use(slice)
    other = ResourceManager([NODE]).request(8)
    with pytest.raises(ResourceError, match="allowed: a slice that was requested here"):
        manager.physical(other)
    assert manager.slices == () and manager.request(8).devices == tuple(range(8))


# -- while programs run --------------------------------------------------------------------------


def test_an_island_that_is_added_is_used_and_one_that_is_removed_is_left():
    manager = ResourceManager([POD])
    first = manager.request((4, 4, 2), topology="box")
    refused(manager, (4,))
    before = manager.version
    manager.add(Island("new", (4, 4, 4), (True,) * 3, "TPU"))
    second = manager.request((4,))
    assert second.island == "new" and manager.version > before and first.version == before
    manager.remove("pod")
    assert first.island == "new" and first.version == manager.version > second.version
    assert not {*first.devices} & {*second.devices} and first.placement.box is not None
    assert manager.physical(first) == first.placement
    assert [i.name for i in manager.islands] == ["new"]


def test_a_failure_leaves_other_slices_where_they_are():
    manager = ResourceManager([POD])
    slices = [manager.request((2, 2, 2), topology="box", client="a") for _ in range(2)]
    before = [s.placement for s in slices]
    device = slices[0].devices[0]
    manager.fail("pod", [device])
    assert slices[1].placement is before[1]
    assert slices[0].version == manager.version > before[0].version and device not in slices[0].devices
    assert manager.islands[0].out_of_service == {device}


def test_a_lost_slice_says_why_and_is_placed_when_something_fits():
    manager = ResourceManager([POD])
    slice = manager.request({"x": 4, "y": 4, "z": 2}, topology="box", client="a")
    manager.fail("pod", [3])
    why = "devices of island 'pod' failed; slice 4x4x2 (box): island 'pod' is 4x4x2 with 31 of 31 devices free, largest"
    assert slice.lost.startswith(why)
    with pytest.raises(ResourceError, match=r"slice 1 \(x=4,y=4,z=2\) of client 'a' has no devices: devices of island"):
        manager.physical(slice)
    lost_at = slice.version
    other = manager.request(1, client="b")
    manager.restore("pod", [3])
    assert slice.lost
    before = manager.version
    manager.release(other)
    assert not slice.lost and slice.version == manager.version > before >= lost_at
    assert slice.devices == tuple(range(32))


def test_what_comes_back_of_a_cluster():
    """Spare devices are put into service by hand."""
    manager = ResourceManager(islands_of(Cluster.preset("tpu-v4", chips=(2, 2, 2)).with_failed([0])))
    refused(manager, 8)
    manager.restore("slice", [0])
    assert manager.request(8).size == 8


def test_islands_and_devices_that_there_are_not():
    manager = ResourceManager([POD])
    with pytest.raises(ResourceError, match="there is an island 'pod' already"):
        manager.add(POD)
    for use in (manager.remove, manager.utilization, lambda n: manager.fail(n, [0]), lambda n: manager.restore(n, [0])):
        with pytest.raises(ResourceError, match="there is no island 'none'; there are: 'pod'"):
            use("none")
    version = manager.version
    for bad in (-1, 32, True, "0"):
        with pytest.raises(ResourceError, match="does not exist; devices are 0 to 31"):
            manager.fail("pod", [0, bad])
    assert manager.version == version and manager.islands == (POD,)
    with pytest.raises(ResourceError, match="already"):
        ResourceManager([POD, POD])


def test_many_threads():
    manager = ResourceManager([Island("pod", (8, 8), (True, True))])
    errors = []

    def client(name):
        rng = np.random.default_rng(ord(name))
        try:
            for _ in range(40):
                try:
                    slice = manager.request(tuple(rng.integers(1, 5, 2).tolist()), client=name, topology="box")
                except ResourceError:
                    continue
                assert len({*slice.devices}) == slice.size
                manager.release(slice)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=client, args=(n,)) for n in "abcd"]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors and manager.utilization() == 0 and manager.slices == ()


def test_a_thousand_requests_fill_a_torus():
    """Without overlap; half of what has a place is released again and again until it is full."""
    manager = ResourceManager([Island("pod", (16, 16, 8), (True,) * 3)])
    rng = random.Random(0)
    live = []
    for i in range(1000):
        shape = [rng.choice((1, 2, 4, 8)) for _ in range(rng.randint(1, 3))]
        try:
            live.append(manager.request(shape, topology="box"))
        except ResourceError:
            pass
        if i < 800 and i % 50 == 49:
            rng.shuffle(live)
            for slice in live[len(live) // 2 :]:
                manager.release(slice)
            del live[len(live) // 2 :]
        used = [d for s in live for d in s.devices]
        assert len(used) == len({*used}) == manager.utilization() * 2048
    assert manager.utilization() >= 0.85


# -- any sequence --------------------------------------------------------------------------------


class Sequences(RuleBasedStateMachine):
    """Requests, releases, failures, and islands that come and go, in any order."""

    def __init__(self):
        super().__init__()
        self.manager = ResourceManager([Island("a", (3, 4), (True, False)), Island("b", (2, 2, 2))])
        self.out = {"a": set(), "b": set()}
        self.sizes = {"a": 12, "b": 8}
        self.live = []
        self.seen = {}
        self.manager.set_quota("few", 5)

    @rule(
        shape=st.one_of(st.integers(1, 9), st.lists(st.integers(1, 4), min_size=1, max_size=3)),
        topology=st.sampled_from(["any", "box", "torus"]),
        client=st.sampled_from(["few", "many"]),
        shared=st.booleans(),
    )
    def request(self, shape, topology, client, shared):
        version = self.manager.version
        try:
            self.live.append(self.manager.request(shape, topology=topology, client=client, shared=shared))
        except ResourceError:
            pass
        assert self.manager.version == version

    @rule(data=st.data())
    def release(self, data):
        if self.live:
            self.manager.release(self.live.pop(data.draw(st.integers(0, len(self.live) - 1))))

    @rule(data=st.data(), serves=st.booleans())
    def serve(self, data, serves):
        if self.out:
            name = data.draw(st.sampled_from(sorted(self.out)))
            devices = data.draw(st.sets(st.integers(0, self.sizes[name] - 1), max_size=3))
            version = self.manager.version
            (self.manager.restore if serves else self.manager.fail)(name, devices)
            self.out[name] = self.out[name] - devices if serves else self.out[name] | devices
            assert self.manager.version == version + 1

    @rule(data=st.data())
    def come_or_go(self, data):
        name = data.draw(st.sampled_from("abc"))
        version = self.manager.version
        if name in self.out:
            self.manager.remove(name)
            del self.out[name]
        else:
            shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
            self.manager.add(Island(name, tuple(shape)))
            self.out[name], self.sizes[name] = set(), int(np.prod(shape))
        assert self.manager.version == version + 1

    @invariant()
    def devices_are_used_as_they_may_be(self):
        used = Counter()
        exclusive = set()
        for slice in self.live:
            if slice.lost:
                continue
            placement = self.manager.physical(slice)
            devices = {(placement.island, d) for d in placement.devices}
            assert len(devices) == slice.size == len(placement.devices)
            for name, device in devices:
                assert name in self.out and 0 <= device < self.sizes[name] and device not in self.out[name]
            used.update(devices)
            exclusive |= set() if slice.shared else devices
        assert all(used[d] == 1 for d in exclusive)
        in_service = sum(self.sizes[n] - len(out) for n, out in self.out.items())
        assert self.manager.utilization() == (len(used) / in_service if in_service else 0)
        assert set(self.manager.slices) == set(self.live)
        assert {i.name: {*i.out_of_service} for i in self.manager.islands} == self.out

    @invariant()
    def versions_tell_of_changes(self):
        for slice in self.live:
            before = self.seen.get(slice.number)
            now = slice.placement
            assert before is None or now == before or now.version > before.version
            assert now.version <= self.manager.version
            self.seen[slice.number] = now

    @invariant()
    def what_is_lost_fits_nowhere(self):
        for slice in self.live:
            if slice.lost:
                wanted = slice.wanted
                shape = slice.size if wanted.counted else wanted.mesh
                with pytest.raises(ResourceError):
                    self.manager.request(shape, topology=wanted.topology, shared=slice.shared)

    @invariant()
    def quotas_are_kept(self):
        assert sum(s.size for s in self.live if s.client == "few") <= 5


TestSequences = Sequences.TestCase
TestSequences.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


@given(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), min_size=1, max_size=12), st.randoms())
def test_releasing_all_leaves_everything_as_it_was(shapes, rng):
    manager = ResourceManager([Island("pod", (4, 4, 4), (True, False, True))])
    first = manager.request((3, 3, 3)).devices
    live = list(manager.slices)
    for shape in shapes:
        try:
            live.append(manager.request(shape, topology="box", shared=rng.random() < 0.3))
        except ResourceError:
            pass
    rng.shuffle(live)
    for slice in live:
        manager.release(slice)
    assert manager.utilization() == 0
    assert manager.request((3, 3, 3)).devices == first and manager.request(37, topology="any").size == 37
