"""Steps without a barrier on CPU devices: the trajectory of synchronous steps to the bit, or that of 2BW on one device."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pcg
from pcg.pipeline.progress import peaks, planned_peaks
from support import scaledstep
from support.scaledstep import batches, initial

STEPS = 9
MESHES: dict[str, dict[str, int]] = {"4": {"stage": 4}, "2x2": {"stage": 2, "data": 2}}


@functools.cache
def compiled(updates: str, form: str = "factor", mesh: str = "4", donate: bool = False, schedule: str = "zb-h2") -> Any:
    options = {"microbatches": 4, "schedule": schedule, "updates": updates}
    if mesh == "2x2":
        options |= {"schedule": "zb-v", "chunks": 2}
    step = scaledstep.step(form)
    donated = (0, 2) if donate else ()
    return pcg.compile(step, MESHES[mesh], pipeline=options, strategy="dataflow", donate_argnums=donated)


def trained(program: Any, **kinds: Any) -> tuple[Any, Any]:
    """(statistics, everything that came out)."""
    params, state = jax.tree.map(jnp.array, initial())
    run = program.steps(params, state=state, batches=batches(STEPS, **kinds))
    results = list(run)
    assert len(results) == STEPS
    return run.statistics, (results, run.state)


def assert_same_bits(got: Any, want: Any) -> None:
    pairs = zip(jax.tree_util.tree_leaves_with_path(got), jax.tree.leaves(want), strict=True)
    for (path, a), b in pairs:
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), jax.tree_util.keystr(path)


#: Which steps are clipped or overflow -> (predictions, rollbacks): two steps have to agree, and to be known to, before.
KINDS = {
    "nothing happens": ({}, (6, 0)),
    "a clip": ({"clipped": (5,)}, (3, 1)),
    "an overflow": ({"infinite": (5,)}, (3, 1)),
    "both in the last step": ({"clipped": (8,), "infinite": (8,)}, (6, 1)),
    "a clip, then an overflow": ({"clipped": (3,), "infinite": (8,)}, (3, 2)),
}


@pytest.mark.parametrize(("form", "mesh"), [("factor", "4"), ("select", "4"), ("factor", "2x2")])
def test_post_validated_steps_have_the_trajectory_of_synchronous_ones(form: str, mesh: str) -> None:
    for kinds, expected in KINDS.values():
        none, want = trained(compiled("synchronous", form, mesh), **kinds)
        assert (none.predicted, none.rolled_back) == (0, 0)
        found, got = trained(compiled("post-validated", form, mesh), **kinds)
        assert (found.steps, found.predicted, found.rolled_back) == (STEPS, *expected)
        assert_same_bits(got, want)
    scales = [float(trained(compiled("post-validated", form, mesh), **k)[1][1][1]["scale"]) for k, _ in KINDS.values()]
    assert scales == [8, 8, 4, 4, 4]


def test_donated_state_and_single_calls() -> None:
    """One call is a step by itself, with the same bits; donated state is not written over before the verdict."""
    kinds = {"clipped": (4,), "infinite": (6,)}
    program = compiled("post-validated", donate=True)
    _, (results, state) = trained(program, **kinds)
    params, opt_state = jax.tree.map(jnp.array, initial())
    for batch, (loss, norm) in zip(batches(STEPS, **kinds), results, strict=True):
        value, params, opt_state, size = program(params, batch, opt_state)
        assert_same_bits((value, size), (loss, norm))
    assert_same_bits((params, opt_state), state)


def test_a_clip_in_every_step_predicts_nothing() -> None:
    found, got = trained(compiled("post-validated"), clipped=range(STEPS))
    assert (found.predicted, found.rolled_back) == (0, 0)
    assert_same_bits(got, trained(compiled("synchronous"), clipped=range(STEPS))[1])


def test_state_can_be_read_between_steps() -> None:
    for updates in pcg_updates():
        params, state = initial()
        run = compiled(updates).steps(params, state=state, batches=batches(STEPS, clipped=(4,)))
        assert run.state == (params, state)
        seen = []
        for _ in run:
            seen.append(jax.tree.map(np.asarray, run.state))
        whole = trained(compiled(updates), clipped=(4,))[1][1]
        assert_same_bits(seen[-1], whole)
        if updates != "2bw":
            assert_same_bits(seen, [trained_for(n, updates) for n in range(1, STEPS + 1)])


def pcg_updates() -> tuple[str, ...]:
    from pcg.pipeline.overlap import UPDATES

    return UPDATES


def trained_for(count: int, updates: str) -> Any:
    params, state = initial()
    values = [*batches(STEPS, clipped=(4,))][:count]
    run = compiled(updates).steps(params, state=state, batches=values)
    for _ in run:
        pass
    return jax.tree.map(np.asarray, run.state)


@pytest.mark.parametrize("donate", [False, True])
def test_two_versions_train_as_the_same_delay_on_one_device(donate: bool) -> None:
    kinds = {"clipped": (5,), "infinite": (3,)}
    _, (results, state) = trained(compiled("2bw", donate=donate), **kinds)
    reference = jax.jit(scaledstep.two_versions)
    params, opt_state = initial()
    old, scale = params, opt_state["scale"]
    for batch, (loss, norm) in zip(batches(STEPS, **kinds), results, strict=True):
        before = params, opt_state["scale"]
        value, params, opt_state, size = reference(old, scale, params, batch, opt_state)
        old, scale = before
        np.testing.assert_allclose((loss, norm), (value, size), rtol=1e-5)
    assert float(state[1]["scale"]) == float(opt_state["scale"]) == 4 and int(state[1]["count"]) == STEPS - 1
    for a, b in zip(jax.tree.leaves(state), jax.tree.leaves((params, opt_state)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    # It is another trajectory than that of synchronous steps.
    other = trained(compiled("synchronous"), **kinds)[1][1]
    assert max(float(np.abs(a - b).max()) for a, b in zip(*map(jax.tree.leaves, (state[0], other[0])), strict=True)) > 1e-3


@pytest.mark.parametrize("updates", ["synchronous", "post-validated", "2bw"])
def test_planned_memory_of_steps_is_what_is_there(updates: str) -> None:
    program = compiled(updates, donate=True)
    run = program.steps(*jax.tree.map(jnp.array, initial()[:1]), state=jax.tree.map(jnp.array, initial()[1]), batches=batches(6))
    for _ in range(6):
        next(run)
    there = run.peaks(next(batches(1)))
    steady = program.executable.steady
    for planned, counted, most in zip(planned_peaks(steady), there, peaks(steady), strict=True):
        assert planned == counted <= most <= 1.1 * counted
    text = program.explain()
    if updates == "post-validated":
        assert "Updates post-validated: 2 numbers are predicted (" in text and "MiB per device more than one step" in text
    elif updates == "2bw":
        assert "Updates 2bw: 2 numbers of all groups are waited for" in text
    else:
        assert "Updates" not in text


# -- programs in which no group waits ------------------------------------------------------------------


def plain(params: Any, x: Any) -> Any:
    def loss(p: Any) -> Any:
        h = x
        for w in p:
            h = jnp.tanh(h @ w)
        return jnp.mean(h**2)

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def plain_arguments(count: int = 5) -> Any:
    rng = np.random.default_rng(0)
    params = [rng.standard_normal((4, 4)).astype(np.float32) for _ in range(4)]
    return params, [rng.standard_normal((8, 4)).astype(np.float32) for _ in range(count)]


def test_a_program_without_numbers_of_all_groups_needs_no_prediction() -> None:
    params, data = plain_arguments()
    results = []
    for updates in ("synchronous", "post-validated"):
        program = pcg.compile(plain, {"stage": 2}, pipeline={"microbatches": 4, "updates": updates}, strategy="dataflow")
        run = program.steps(params, batches=data)
        results.append(([*run], run.state))
        assert run.statistics.predicted == 0
    assert_same_bits(*results)
    assert "no number of all groups on which state depends, so nothing waits" in program.explain()
    delayed = pcg.compile(plain, {"stage": 2}, pipeline={"microbatches": 4, "updates": "2bw"}, strategy="dataflow")
    run = delayed.steps(params, batches=data)
    losses, state = [*run], run.state
    old = new = params
    for x, loss in zip(data, losses, strict=True):
        update, value = jax.jit(plain)(old, x)
        old, new = new, jax.tree.map(lambda w, p, u: w + (u - p), new, old, update)
        np.testing.assert_allclose(loss, value, rtol=1e-5)
    for a, b in zip(state, new, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_memory_limits_count_what_waits_for_the_verdict() -> None:
    def limited(updates: str, limit: int | None) -> Any:
        options = {"microbatches": 4, "schedule": "1f1b", "updates": updates}
        return pcg.compile(scaledstep.step(), {"stage": 4}, pipeline=options, strategy="dataflow", memory_limit=limit)

    params, state = initial()
    args = params, next(batches(1)), state
    least = {u: max(peaks(limited(u, None).lower(*args).steady)) for u in ("synchronous", "post-validated")}
    assert least["synchronous"] < least["post-validated"]
    limited("synchronous", least["synchronous"]).lower(*args)
    with pytest.raises(pcg.PipelineError, match=f"memory limit {least['synchronous']}|the limit is|needs"):
        limited("post-validated", least["synchronous"]).lower(*args)
    limited("post-validated", least["post-validated"]).lower(*args)


# -- errors --------------------------------------------------------------------------------------------


def test_what_steps_cannot_do_is_named() -> None:
    with pytest.raises(pcg.PipelineError, match="updates 'async'; allowed: synchronous, post-validated, 2bw"):
        pcg.PipelineOptions(4, updates="async")
    with pytest.raises(pcg.PipelineError, match="confirmations 0; allowed: 1 or more"):
        pcg.PipelineOptions(4, confirmations=0)
    assert pcg.PipelineOptions(4).objective == "makespan" and pcg.PipelineOptions(4, updates="2bw").objective == "span"
    params, data = plain_arguments()
    program = pcg.compile(plain, {"stage": 2}, pipeline=4, strategy="dataflow")
    assert [*program.steps(params, batches=[])] == []
    with pytest.raises(pcg.PipelineError, match=r"argument x is no state: no result of plain is its next value"):
        next(program.steps(params, data[0], batches=[()]))
    with pytest.raises(pcg.PipelineError, match=r"argument params\[0\] is state of plain, and comes with each batch"):
        next(program.steps(batches=[(params, data[0])]))
    with pytest.raises(pcg.PipelineError, match="a batch of 3 values; allowed: a tuple with params, x"):
        next(program.steps(batches=[(1, 2, 3)]))
    with pytest.raises(pcg.PipelineError, match="a batch of a ndarray; allowed: a tuple with params, x"):
        next(program.steps(batches=data))
    with pytest.raises(pcg.PipelineError, match=r"steps of plain\(params.*: got an unexpected keyword argument 'y'"):
        program.steps(params, y=1, batches=data)
    run = program.steps(params, batches=[data[0], data[1][:4]])
    next(run)
    with pytest.raises(ValueError, match=r"argument x is float32\[4,4\]; plain was compiled for f32\[8,4\]"):
        next(run)
