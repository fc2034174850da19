"""A cluster of two heterogeneous groups: shares of the batch, stages, and what is chosen among them."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pcg
from pcg.frontend import jax_program
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.stages import has_stages
from pcg.machine import Cluster, DeviceKind, Group, Level, Machine
from pcg.passes.pcg_choose_groups import ChooseGroupsPass
from pcg.passes.pipeline import Pipeline
from pcg.runtime import jax_compat
from pcg.simulate import simulate_processes
from support.close import assert_close


def cluster(fast: float = 6e8, slow: float = 2e8, memory: float = 1e9, network: float = 1e9, link: float = 10e9) -> Cluster:
    """Two groups of two devices of so many FLOP/s, without overheads, so that small programs are large enough."""
    kinds = tuple(
        DeviceKind(name, {"f32": rate}, rate, rate, memory, kernel_overhead=0.0, collective_overhead=0.0)
        for name, rate in (("fast", fast), ("slow", slow))
    )
    level = Level("link", "gpus", (2,), "switch", link, 1e-7)
    groups = (Group("fast", "fast", (level,)), Group("slow", "slow", (level,)))
    return Cluster("mixed", kinds, groups, Level("network", "groups", (2,), "switch", network, 1e-6))


def step(params, x, y):
    def loss(p):
        h = jax.nn.relu(x @ p["up"])
        return jnp.mean((jnp.tanh(h @ p["down"]) - y) ** 2)

    value, gradient = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value


def arguments(batch: int = 96, width: int = 32, hidden: int = 64):
    r = np.random.default_rng(0)
    params = {"up": r.normal(size=(width, hidden)), "down": r.normal(size=(hidden, width))}
    return jax.tree.map(lambda a: a.astype(np.float32), (params, r.normal(size=(batch, width)), r.normal(size=(batch, width))))


def deep_step(weights, x, y):
    def loss(ws):
        h = x
        for w in ws:
            h = jnp.tanh(h @ w)
        return jnp.mean((h - y) ** 2)

    value, gradient = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda p, g: p - 0.1 * g, weights, gradient), value


def chosen(on: Cluster, *args, step=step, **options) -> tuple[ChooseGroupsPass, object]:
    text = jax.jit(step).lower(*args).as_text()
    module = load_module(text, make_context(), "<test>")
    p = ChooseGroupsPass(machine=Machine.of(on), **options)
    Pipeline(["pcg-normalize", "pcg-reassociate", p]).run(module)
    return p, module


@pytest.fixture(scope="module")
def shared():
    return chosen(cluster(), *arguments())


def test_a_shared_batch_beats_either_group_and_all_as_the_slowest(shared):
    p, module = shared
    assert p.chosen.strategy == "shared" and has_stages(module)
    best = {s: min(q.seconds for q in p.tried if q.strategy == s) for s in ("slowest", "alone", "shared", "staged")}
    assert best["shared"] < 0.9 * min(best["alone"], best["slowest"])
    shares = dict(re.findall(r"(fast|slow) (\d+)", p.chosen.name))
    assert int(shares["fast"]) + int(shares["slow"]) == 96 and int(shares["fast"]) > 2 * int(shares["slow"])


def test_the_choice_is_never_worse_than_any_strategy(shared):
    p, _ = shared
    assert p.chosen.seconds == min(q.seconds for q in p.tried if not q.failure)
    assert {q.strategy for q in p.tried} == {"slowest", "alone", "shared", "staged"}


def test_the_simulator_of_processes_agrees(shared):
    """Process by process, in their own order of messages, the shared batch is faster than the best group too."""
    p, module = shared
    text = str(module)
    lowered = load_module(text, make_context(), "<test>")
    Pipeline("pcg-lower-processes").run(lowered)
    found = simulate_processes(lowered.operation, Machine.of(cluster()), devices={n: n for n in range(4)})
    assert found.seconds < min(q.seconds for q in p.tried if q.strategy in ("alone", "slowest"))
    assert found.seconds == pytest.approx(p.chosen.seconds, rel=0.35)


def test_its_processes_compute_the_step():
    args = arguments()
    programs = pcg.processes.lower(step, cluster(), *args)
    assert programs.processes == (0, 1, 2, 3)
    crossing = [m for m in programs.messages if (m.sender < 2) != (m.receiver < 2)]
    assert crossing
    got, want = programs.emulate(*args), step(*args)
    jax.tree.map(lambda a, b: assert_close(a, b, 2e-4), got, want)


def test_with_a_slow_network_the_better_group_works_alone():
    args = arguments()
    p, module = chosen(cluster(network=1e5), *args)
    assert p.chosen.name.startswith("fast alone") and not has_stages(module)
    programs = pcg.processes.lower(step, cluster(network=1e5), *args)
    assert programs.processes == (0, 1)
    got, want = programs.emulate(*args), step(*args)
    jax.tree.map(lambda a, b: assert_close(a, b, 2e-4), got, want)


def deep_arguments():
    r = np.random.default_rng(0)
    weights = [r.normal(size=(48, 48)).astype(np.float32) / 7 for _ in range(6)]
    return weights, *(r.normal(size=(8, 48)).astype(np.float32) for _ in range(2))


def test_stages_hold_only_their_weights_and_compute_the_step():
    args = deep_arguments()
    on = cluster(network=1e6)
    p, module = chosen(on, *args, step=deep_step, strategies=("staged",))
    assert p.chosen.strategy == "staged"
    weights = re.findall(r"%arg[0-5]: tensor<48x48xf32> {dist.spec = #dist.shard_spec<@(fast|slow)", str(module))
    assert len(weights) == 6 and set(weights) == {"fast", "slow"}
    assert weights in (sorted(weights), sorted(weights, reverse=True))  # the first layers on one, the last on the other
    Pipeline("pcg-lower-processes,pcg-emulate-processes").run(module)
    text = module.operation.get_asm(print_generic_op_form=True, assume_verified=True)
    flat = jax.tree.leaves(args)
    got = jax_compat.plain_function(text, jax_program.trace(deep_step, args, {}).results)(*flat)
    for a, b in zip(got, jax.tree.leaves(deep_step(*args)), strict=True):
        assert_close(a, b, 2e-4)


@pytest.mark.exhaustive
def test_a_model_that_fits_no_group_is_staged_where_the_network_is_slow():
    on = cluster(memory=54e3, network=1e6)
    p, _ = chosen(on, *deep_arguments(), step=deep_step)
    by_strategy = {s: [q for q in p.tried if q.strategy == s] for s in ("slowest", "alone", "shared", "staged")}
    assert all("no plan fits" in q.failure or "needs" in q.failure for q in by_strategy["alone"])
    assert p.chosen.strategy == "staged" and p.chosen.peak <= 54e3
    assert all(q.failure or q.seconds > p.chosen.seconds for q in by_strategy["slowest"])


def test_one_process_runs_the_best_single_mesh():
    args = arguments()
    done = pcg.compile(step, cluster(network=1e5, slow=1e8), devices=[*jax.devices()] * 4)
    lowered = done.lower(*args)
    assert lowered.compilation.mesh.size == 2  # the fast group alone


def test_the_same_input_gives_the_same_choice(shared):
    again, module = chosen(cluster(), *arguments())
    assert [str(q) for q in again.tried] == [str(q) for q in shared[0].tried]
    assert str(module) == str(shared[1])


def test_errors():
    args = arguments(batch=8)
    with pytest.raises(PcgError, match="option 'strategies': unknown strategy 'best'; allowed: slowest, alone, shared, staged"):
        chosen(cluster(), *args, strategies=("best",))
    with pytest.raises(PcgError, match="no strategy for the groups has a plan; all devices as the slowest: no plan fits"):
        chosen(cluster(memory=1e3), *args, strategies=("slowest", "alone"))
    with pytest.raises(pcg.layout.MeshError, match="meshes and cluster are both a cluster"):
        pcg.processes.lower(step, cluster(), *args, cluster=cluster())
