"""Training steps as pipelines on CPU devices: the numbers of one device, whatever the schedule; memory; errors."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pcg
from bench.pipelined_models import MODELS, bits_equal, trained
from pcg.api.pipelined import Pipelined
from pcg.ir.errors import PcgError
from pcg.layout import Mesh, MeshError
from pcg.machine import Cluster, DeviceKind, Group, Level
from pcg.pipeline.instructions import Run, global_order
from pcg.pipeline.progress import peaks, planned_peaks
from support.training import SLOW_DEVICES, assert_trees_close, assert_updates_close

#: Adam divides by the square root of what may be nearly zero: of the largest change of a parameter in five steps.
UPDATES = 2e-3
LOSSES = 1e-5
STEPS = 5


@functools.cache
def model(name: str) -> Any:
    """(step, arguments, what jax gives on one device after five steps)."""
    sizes = {"resnet": {"blocks": 4, "width": 8, "size": 4}, "gpt": {"layers": 2, "hidden": 32}}
    step, args = MODELS[name](**sizes.get(name, {"layers": 4}))
    return step, args, trained(jax.jit(step), args, STEPS)


@functools.cache
def pipelined(name: str, stages: int, devices: int, schedule: str, microbatches: int) -> Any:
    step, _, _ = model(name)
    mesh = {"stage": stages, "data": devices} if devices > 1 else {"stage": stages}
    options = pcg.PipelineOptions(microbatches, schedule=schedule)
    return pcg.compile(step, mesh, pipeline=options, machine=SLOW_DEVICES)


def check(name: str, stages: int, devices: int, schedule: str, microbatches: int) -> Any:
    """Train for five steps, and compare; returns what came out."""
    return trains(name, pipelined(name, stages, devices, schedule, microbatches))


def trains(name: str, program: Any, most: float = 1.1) -> Any:
    """What five steps of a model give, which must be what they give on one device, in as much memory as planned.

    At any speed of the others no group needs more than `most` times as much.
    """
    _, args, want = model(name)
    got = trained(program, args, STEPS)
    np.testing.assert_allclose(got[2], want[2], rtol=LOSSES)
    assert_updates_close(got[0], want[0], args[0], UPDATES, 1e-6)
    assert_trees_close(got[1], want[1], 1e-3, 1e-6)
    executable = program.executable
    there = executable.counted(*args)
    assert planned_peaks(executable.instructions) == there
    assert all(a <= b <= most * a for a, b in zip(there, peaks(executable.instructions), strict=True))
    return got


def test_a_decoder_with_dropout_and_tied_embeddings(tmp_path: Any) -> None:
    """Schedules of one placement give the same bits: each parameter's gradient is summed in the order of microbatches.

    So do threads that wait for messages.
    """
    first = check("gpt", 2, 2, "1f1b", 4)
    assert bits_equal(check("gpt", 2, 2, "zb-h1", 4), first)
    _, args, _ = model("gpt")
    executable = pipelined("gpt", 2, 2, "zb-h1", 4).executable
    by_messages, measured = executable.run_by_messages(*args)
    assert bits_equal(by_messages, executable(*args))
    runs = sorted(e.about[0] for e in measured.events)
    assert len(runs) == len(set(runs))
    assert {"Run forward0 of microbatch 0", "Run weight0 of microbatch 3", "Run update1"} <= set(runs)
    page = tmp_path / "step.html"
    executable.write_timeline(page, measured)
    assert "zb-h1, planned" in (text := page.read_text()) and "zb-h1, measured" in text


@pytest.mark.parametrize(
    ("name", "stages", "devices", "schedule", "microbatches"),
    [
        ("resnet", 4, 1, "zb-v", 4),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in (
            ("gpt", 4, 2, "zb-h2", 8), ("bert", 2, 4, "auto", 4), ("resnet", 2, 4, "gpipe", 4),
            ("decoder", 4, 2, "zb-h1", 8),
        )),
        *(pytest.param(*case, marks=pytest.mark.exhaustive) for case in (
            ("gpt", 2, 4, "interleaved", 4), ("gpt", 4, 2, "zb-v", 16), ("bert", 4, 2, "zb-h1", 8),
            ("bert", 8, 1, "1f1b", 8), ("resnet", 8, 1, "zb-h1", 16), ("resnet", 4, 2, "auto", 8),
            ("decoder", 2, 4, "interleaved", 4), ("decoder", 8, 1, "auto", 8),
        )),
    ],
)  # fmt: skip
def test_pipelines_train_as_one_device_does(
    name: str, stages: int, devices: int, schedule: str, microbatches: int
) -> None:
    check(name, stages, devices, schedule, microbatches)


# -- small programs ----------------------------------------------------------------------------------


def step(params: Any, x: Any) -> Any:
    def loss(p: Any) -> Any:
        h = x
        for w in p:
            h = jnp.tanh(h @ w)
        return jnp.mean(h**2), h[:, :3]

    (value, h), grads = jax.value_and_grad(loss, has_aux=True)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value, h


def arguments(width: int = 4, dtype: Any = np.float32, batch: int = 8) -> Any:
    rng = np.random.default_rng(0)
    params = [rng.standard_normal((width, width)).astype(dtype) for _ in range(4)]
    return params, rng.standard_normal((batch, width)).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.float32, 1e-5), (jnp.bfloat16, 2e-2), (np.float64, 1e-12), (np.float16, 2e-3)]
)
def test_values_of_each_example_are_returned_in_order(dtype: Any, tolerance: float) -> None:
    with jax.enable_x64(dtype == np.float64):
        args = arguments(dtype=dtype)
        program = pcg.compile(step, {"stage": 2}, pipeline=4)
        for got, want in zip(jax.tree.leaves(program(*args)), jax.tree.leaves(jax.jit(step)(*args)), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_allclose(np.asarray(got, np.float64), np.asarray(want, np.float64), atol=tolerance)


def test_results_are_arguments_of_the_next_step_without_being_placed_again() -> None:
    params, x = arguments()
    program = pcg.compile(step, {"stage": 2, "data": 2}, pipeline={"microbatches": 2, "schedule": "1f1b"})
    new, _, _ = program(params, x)
    devices = [{d.id for d in p.sharding.device_set} for p in new]
    assert devices[0] == {0, 1}
    assert devices[-1] == {2, 3}
    again, _, _ = program(new, x)
    assert [{d.id for d in p.sharding.device_set} for p in again] == devices


def test_donated_arguments_are_gone_after_the_step() -> None:
    params, x = arguments()
    want = jax.tree.leaves(jax.jit(step)(params, x))
    options = {"microbatches": 2, "schedule": "zb-h1"}
    program = pcg.compile(step, {"stage": 2}, pipeline=options, donate_argnums=0)
    fresh = [jnp.asarray(p) for p in params]
    got = program(fresh, x)
    assert all(p.is_deleted() for p in fresh)
    for a, b in zip(jax.tree.leaves(got), want, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    again = program(got[0], x)
    assert all(p.is_deleted() for p in got[0])
    assert not any(p.is_deleted() for p in again[0])
    with pytest.raises(RuntimeError, match=r"params\[0\] was donated to an earlier call"):
        program(got[0], x)
    # What is donated does not live on beside what replaces it, and gradients become new parameters in any case.
    kept = pcg.compile(step, {"stage": 2}, pipeline=options)
    assert sum(len(f.aliases) for f in program.executable.step.fragments) == len(params) + 1  # and the loss
    assert peaks(program.executable.instructions) <= peaks(kept.lower(params, x).instructions)


def test_a_pipeline_is_no_part_of_another_function() -> None:
    program = pcg.compile(step, {"stage": 2}, pipeline=2)
    program.lower(*arguments())
    with pytest.raises(ValueError, match="is a pipeline, which cannot be part of another jax function"):
        jax.jit(program)(*arguments())


SIZES = {
    "dicts": [{"data": 4}, {"data": 2}, {"data": 2}],
    "texts": ["data=3,model=2", 1],
    "devices": [Mesh.of({"data": 2}, [6, 1]), Mesh.of({"data": 4}, [0, 2, 4, 7])],
}


@pytest.mark.parametrize(
    ("groups", "schedule"),
    [
        ("dicts", "zb-h1"), ("devices", "zb-v"), ("texts", "interleaved"), ("texts", "auto"),
        *(pytest.param(g, s, marks=pytest.mark.exhaustive) for g in SIZES for s in ("1f1b", "gpipe", "zb-h2")),
    ],
)  # fmt: skip
def test_groups_of_several_sizes(groups: str, schedule: str) -> None:
    """They train as one device does, each on its devices, and those of more devices have more of the work."""
    options = {"microbatches": 4, "schedule": schedule}
    program = pcg.compile(model("gpt")[0], SIZES[groups], pipeline=options, machine=SLOW_DEVICES)
    # Interleaved, one device has room in its channels for two values of six devices' batch.
    trains("gpt", program, 1.25 if schedule == "interleaved" else 1.1)
    executable = program.executable
    sizes = [m.size for m in executable.program.meshes]
    used = [[d.id for d in g.placed.user_mesh.devices.flat] for g in executable.groups]
    assert used == [list(m.device_ids or ()) for m in program.groups] and list(map(len, used)) == sizes
    assert len({d for own in used for d in own}) == sum(sizes)
    work = executable.schedule.pipeline.work
    if len(executable.program.placement) == len(sizes):  # two layers in six stages cannot be even
        assert max(work) < 1.6 * min(work)  # of equal work per group the factor is that of the sizes, 2 to 6


@pytest.mark.slow
@settings(max_examples=20)
@given(st.data())
def test_random_groups(data: Any) -> None:
    """Any meshes on any devices, with sizes that do not divide the batch or the layers, compute a step."""
    free = list(data.draw(st.permutations(range(8))))
    groups = []
    for _ in range(data.draw(st.integers(1, 4))):
        size = data.draw(st.integers(1, min(4, len(free))))
        axes = {"data": 2, "model": 2} if size == 4 and data.draw(st.booleans()) else {"data": size}
        groups.append(Mesh.of(axes, [free.pop() for _ in range(size)]))
        if not free:
            break
    schedule = data.draw(st.sampled_from(["gpipe", "1f1b", "zb-h1", "auto"]))
    options = {"microbatches": data.draw(st.sampled_from([2, 3, 4])), "schedule": schedule}
    args = arguments(data.draw(st.sampled_from([4, 5])), batch=12)
    program = pcg.compile(step, groups, pipeline=options, machine=SLOW_DEVICES)
    for got, want in zip(jax.tree.leaves(program(*args)), jax.tree.leaves(jax.jit(step)(*args)), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-5)


def test_groups_that_cannot_be_are_named() -> None:
    for groups, message in (
        ([{"data": 8}, {"data": 2}], "2 groups: data=8; data=2 need 10 devices, but there are 8"),
        ([Mesh.of({"x": 2}, [1, 2]), Mesh.of({"x": 2}, [3, 2])], "device 2 is in groups 0 and 1; allowed: in one"),
        ([], "no groups of devices; allowed: one mesh or more"),
        ([{"data": 2}, 1.5], "mesh 1.5 of type float; expected a dict of axis sizes"),
    ):
        with pytest.raises(MeshError, match=message):
            pcg.compile(step, groups, pipeline=4)
    with pytest.raises(pcg.PipelineError, match="2 meshes without pipeline=; allowed: with it, or one mesh"):
        pcg.compile(step, [{"data": 2}, {"data": 2}])


def test_groups_are_jax_meshes() -> None:
    """On the devices of the meshes, also where these are not the first ones."""
    d = jax.devices()
    groups = [jax.sharding.Mesh(np.array(d[5:7]), ("data",)), jax.sharding.Mesh(np.array(d[2:3]), ("data",))]
    program = pcg.compile(step, groups, pipeline={"microbatches": 2, "schedule": "1f1b"})
    params, x = arguments()
    for got, want in zip(jax.tree.leaves(program(params, x)), jax.tree.leaves(jax.jit(step)(params, x)), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)
    assert [m.device_ids for m in program.groups] == [(5, 6), (2,)]
    with pytest.raises(MeshError, match="mesh data=2 has .*; allowed: "):
        pcg.compile(step, groups, pipeline=2, devices=d[:3])
    one = pcg.compile(step, Mesh.of({"stage": 2}, [7, 3]), pipeline=2)
    one(params, x)
    assert [list(g.placed.user_mesh.devices.flat) for g in one.executable.groups] == [[d[7]], [d[3]]]


def test_slower_devices_get_less_of_the_step() -> None:
    """Two groups of as many devices, of which one kind takes twice as long."""
    kinds = tuple(DeviceKind(n, {"f32": r}, r, r, 1e9, kernel_overhead=0.0) for n, r in (("fast", 2e9), ("slow", 1e9)))
    level = Level("bus", "devices", (2,), "switch", 1e9, 1e-7)
    network = Level("network", "groups", (2,), "switch", 1e9, 1e-6)
    cluster = Cluster("unlike", kinds, (Group("a", "fast", (level,)), Group("b", "slow", (level,))), network)
    params, x = arguments(8, batch=64)
    options = {"microbatches": 4, "schedule": "1f1b"}
    program = pcg.compile(step, {"stage": 2, "data": 2}, pipeline=options, cluster=cluster)
    for got, want in zip(jax.tree.leaves(program(params, x)), jax.tree.leaves(jax.jit(step)(params, x)), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-5)
    compiled = program.executable.program
    assert [compiled.values[n].group for n in compiled.arguments[:4]] == [0, 0, 0, 1]


@pytest.mark.parametrize("strategy", ["dataflow", "auto"])
def test_layouts_that_the_program_demands_are_kept_inside_of_stages(strategy: str) -> None:
    def demanding(params: Any, x: Any) -> Any:
        def loss(p: Any) -> Any:
            h = pcg.shard(x, (None, "model"))
            for w in p:
                h = jnp.tanh(h @ w)
            return jnp.mean(pcg.shard(h, (None, "model")) ** 2)

        value, grads = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    args = arguments()
    options = {"microbatches": 4, "schedule": "1f1b"}
    program = pcg.compile(demanding, {"stage": 2, "model": 2}, pipeline=options, strategy=strategy)
    for got, want in zip(jax.tree.leaves(program(*args)), jax.tree.leaves(jax.jit(demanding)(*args)), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)
    specs = {str(v.spec) for v in program.executable.program.values.values()}
    assert "[-, model]" in specs


def test_dispatches_are_noted() -> None:
    program = pcg.compile(step, {"stage": 2}, pipeline={"microbatches": 4, "schedule": "zb-h1"})
    executable = program.lower(*arguments())
    found = executable.dispatched(*arguments())
    assert [d.what for d in found] == [what for _, what in global_order(executable.instructions)]
    assert all(a.start <= a.end <= b.start for a, b in itertools.pairwise(found))
    forward = [d for d in found if isinstance(d.what, Run) and d.what.writes]
    assert forward and all(d.done is not None for d in forward)


def test_what_a_pipeline_is_made_of_is_explained() -> None:
    program = pcg.compile(step, {"stage": 2}, pipeline={"microbatches": 4, "schedule": "zb-h1"})
    program.lower(*arguments())
    text = program.explain()
    assert "2 stages on 2 groups, 4 microbatches" in text
    assert "Schedule zb-h1: makespan" in text
    assert "pcg.stage" in program.as_text()


@pytest.mark.parametrize(
    ("mesh", "options"), [(2, "auto"), ({"stage": 2, "data": 2}, {"schedule": "1f1b"}), (4, {"microbatches": 4})]
)
def test_what_is_not_given_is_chosen(mesh: Any, options: Any) -> None:
    args = arguments(batch=16)
    program = pcg.compile(step, mesh, pipeline=options)
    for got, want in zip(jax.tree.leaves(program(*args)), jax.tree.leaves(jax.jit(step)(*args)), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)
    best = program.chosen.best
    assert program.executable.program.microbatches == best.microbatches
    assert len(program.executable.program.placement) == best.stages
    assert f"Chosen by estimates of few layers: {best}" in program.explain()
    if isinstance(mesh, dict):
        assert (best.shape, best.method.schedule) == (((("data", 2),),) * 2, "1f1b")


def test_a_published_scheme_inside_of_stages() -> None:
    args = arguments()
    program = pcg.compile(step, {"stage": 2, "model": 2}, pipeline=4, strategy="megatron")
    for got, want in zip(jax.tree.leaves(program(*args)), jax.tree.leaves(jax.jit(step)(*args)), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)
    state = [v for n, v in program.executable.program.values.items() if n in program.executable.program.arguments]
    assert any("model" in str(v.spec) for v in state)


def test_options_that_cannot_be_are_named() -> None:
    with pytest.raises(pcg.PipelineError, match=r"schedule 'zb-h3'; allowed: auto, gpipe"):
        pcg.PipelineOptions(4, schedule="zb-h3")
    with pytest.raises(pcg.PipelineError, match="microbatches 1; allowed: 2 or more"):
        pcg.compile(step, {"stage": 2}, pipeline=1)
    with pytest.raises(pcg.PipelineError, match="pipeline option 'micro'; allowed: microbatches, "):
        pcg.compile(step, {"stage": 2}, pipeline={"micro": 4})
    with pytest.raises(pcg.PipelineError, match="pipeline 'best'; allowed: pcg.PipelineOptions, .* or 'auto'"):
        pcg.compile(step, {"stage": 2}, pipeline="best")
    with pytest.raises(pcg.PipelineError, match="3 chunks with 1f1b; allowed: 1, "):
        pcg.PipelineOptions(4, schedule="1f1b", chunks=3)
    with pytest.raises(pcg.PipelineError, match="in_shardings with pipeline=; allowed: without it"):
        pcg.compile(step, {"stage": 2}, pipeline=4, in_shardings=(None, None))
    with pytest.raises(pcg.PipelineError, match="strategy 'unity' with pipeline=; allowed: auto, "):
        pcg.compile(step, {"stage": 2}, pipeline=4, strategy="unity")
    with pytest.raises(MeshError, match="mesh data=2 has no axis 'stage'; its axes: data"):
        pcg.compile(step, {"data": 2}, pipeline=4)
    with pytest.raises(PcgError, match="a batch of 8 does not divide into 3 microbatches"):
        pcg.compile(step, {"stage": 2}, pipeline=3)(*arguments())


def test_a_memory_limit_is_kept_or_what_fits_is_named() -> None:
    params, x = arguments(8, batch=256)
    free = pcg.compile(step, {"stage": 2}, pipeline={"microbatches": 8, "schedule": "gpipe"})
    most = max(peaks(free.lower(params, x).instructions))
    limit = int(most * 0.9)
    with pytest.raises(pcg.PipelineError, match="gpipe needs"):
        pcg.compile(step, {"stage": 2}, pipeline={"microbatches": 8, "schedule": "gpipe"}, memory_limit=limit)(params, x)
    kept = pcg.compile(step, {"stage": 2}, pipeline=8, memory_limit=limit)
    assert max(peaks(kept.lower(params, x).instructions)) <= limit
    assert max(kept.executable.counted(params, x)) <= limit
    with pytest.raises(pcg.PipelineError, match=r"memory limit 1000 of each device: .* allowed: \d+ or more"):
        pcg.compile(step, {"stage": 2}, pipeline=8, memory_limit=1000)(params, x)


def test_a_shape_that_does_not_fit_after_all_is_replaced_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates that say too little of gpipe: what was chosen does not fit, so 1F1B is run; and the error without it."""
    args = arguments(8, batch=256)
    chosen = {}
    for schedule in ("gpipe", "1f1b"):
        planned = pcg.compile(step, {"stage": 2}, pipeline={"microbatches": 8, "schedule": schedule})
        most = max(peaks(planned.lower(*args).instructions))
        free = pcg.compile(step, {"stage": 2}, pipeline={"schedule": schedule})
        free.lower(*args)
        assert free.chosen is not None and free.chosen.best.method.schedule == schedule
        chosen[schedule] = replace(free.chosen, best=replace(free.chosen.best, microbatches=8, kept=0.0)), most
    (first, needed), (second, less) = chosen["gpipe"], chosen["1f1b"]
    assert less < needed
    both = replace(first, instead=((second.best, second.meshes),))
    monkeypatch.setattr(Pipelined, "_choose", lambda self, program: both)
    program = pcg.compile(step, 2, pipeline="auto", memory_limit=(less + needed) // 2)
    for got, want in zip(jax.tree.leaves(program(*args)), jax.tree.leaves(jax.jit(step)(*args)), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-5)
    assert program.executable.schedule.name == "1f1b" and "few layers: 2 groups" in program.explain()
    assert program.chosen is not None and program.chosen.best == second.best
    with pytest.raises(pcg.PipelineError, match="need more memory .* tried 2 groups .*gpipe.*; 2 groups .*1f1b"):
        pcg.compile(step, 2, pipeline="auto", memory_limit=1000)(*args)
