"""Plans timed before they are written, against the same plans lowered and simulated."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.zoo import ZOO
from pcg.ir import shardings
from pcg.ir.clone import clone_module
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine, mapping
from pcg.passes.pipeline import Pipeline
from pcg.planning.evaluate import Context, evaluate
from pcg.planning.search import Search
from pcg.planning.target import cost_model
from pcg.planning.workspace import OnMesh, Workspace
from pcg.search.commit import commit
from pcg.search.table import Tables
from pcg.solve.ilp import completed
from support.training import mlp

ROOT = Path(__file__).parents[3]
MACHINE = Machine.of(Cluster.preset("summit", nodes=2).take(8))
#: Overlap fractions of searches that find unlike plans.
FRACTIONS = ((0.0, 0.0), (0.5, 0.5), (0.9, 0.9))


def on_mesh(text: str, axes: dict[str, int]) -> OnMesh:
    module = load_module(text, make_context(), "step")
    Pipeline("prepare").run(module)
    assert MACHINE.cluster is not None
    shardings.set_mesh(module, mapping.device_mappings(MACHINE.cluster, Mesh.of(axes))[0].mesh)
    return Workspace(module.operation).on()


def found(on: OnMesh, gradient: float, other: float) -> list[int]:
    """The plan of a search."""
    search = Search(
        machine=MACHINE, memory_limit=2**50, effort="quick", progress=False, gradient_overlap=gradient, final_overlap=other,
        branch_overlap=other, other_overlap=other,
    )  # fmt: skip
    search.find(on)
    assert search.outcome is not None
    return search.outcome.choice


def both(on: OnMesh, choice: Any) -> tuple[float, float]:
    """Seconds before lowering, and of the lowered program."""
    model = cost_model(on.module, MACHINE, on.mesh)
    copy = clone_module(on.module).operation
    with on.module.context:
        before = on.timer(model).seconds(choice)
        commit(entry_of(copy), on.graph_of(copy, model), choice, Tables.on(on.mesh))
        return before, evaluate(copy, Context(MACHINE)).seconds


def zoo(name: str) -> str:
    step, args = ZOO[name].shapes(8)
    return jax.jit(step, donate_argnums=(0, 1)).lower(*args).as_text()


PROGRAMS = {
    "mlp": lambda: zoo("mlp"),
    "dlrm": lambda: zoo("dlrm"),
    "candle_uno": lambda: zoo("candle_uno"),
    "scanned": lambda: zoo("gpt3_1.3b"),
    "transformer": lambda: (ROOT / "examples/transformer_step.mlir").read_text(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_of_the_lowered_program(name: str) -> None:
    """The times differ by a few percent, and the times of plans relative to each other by less."""
    on = on_mesh(PROGRAMS[name](), {"d0": 4, "d1": 2})
    ratios = [before / after for before, after in (both(on, found(on, *f)) for f in FRACTIONS)]
    assert all(0.92 < r < 1.02 for r in ratios), ratios
    assert max(ratios) / min(ratios) < 1.07, ratios


def test_collectives_are_those_of_the_lowered_program() -> None:
    """Bytes that a device sends, by kind and axes."""
    on = on_mesh(zoo("mlp"), {"d0": 4, "d1": 2})
    model = cost_model(on.module, MACHINE, on.mesh)
    choice = found(on, 0.5, 0.5)
    copy = clone_module(on.module).operation
    with on.module.context:
        graph = on.timer(model).task_graph(choice)
        commit(entry_of(copy), on.graph_of(copy, model), choice, Tables.on(on.mesh))
        step = evaluate(copy, Context(MACHINE))
    assert graph is not None
    assert sum(t.bytes for t in graph.tasks if t.communicates) == pytest.approx(
        sum(e.bytes * e.times for e in step.events if e.kind == "collective")
    )


def test_branches_and_nested_loops() -> None:
    def step(w: Any, x: Any) -> Any:
        def outer(h: Any, w: Any) -> Any:
            def inner(h: Any, _: Any) -> Any:
                return jnp.tanh(h @ w), None

            h, _ = jax.lax.scan(inner, h, None, length=2)
            return jax.lax.cond(h.sum() > 0, lambda h: h @ w.T, lambda h: h * 2, h), None

        return jax.lax.scan(outer, x, w)[0]

    shapes = np.zeros((3, 512, 512), np.float32), np.zeros((1024, 512), np.float32)
    on = on_mesh(jax.jit(step).lower(*shapes).as_text(), {"d0": 4, "d1": 2})
    before, after = both(on, found(on, 0.0, 0.0))
    assert before == pytest.approx(after, rel=0.25)  # of the branches here all are counted


def test_no_plan() -> None:
    """A choice that a layout of the program rules out takes for ever."""
    on = on_mesh(zoo("mlp"), {"d0": 4, "d1": 2})
    model = cost_model(on.module, MACHINE, on.mesh)
    with on.module.context:
        timer = on.timer(model)
        choice = found(on, 0.0, 0.0)
        nodes = timer.built.graph.nodes
        n = next(n for n, node in enumerate(nodes) if node.kind == "op" and node.seconds[choice[n]] > 0)
        nodes[n].seconds[choice[n]] = math.inf
        assert timer.seconds(choice) == math.inf


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_plan(data: st.DataObject) -> None:
    """Whatever is chosen for every op has a time, and where it can be lowered nearly that of the lowered program."""
    weights = {"first": np.zeros((256, 1024), np.float32), "second": np.zeros((1024, 256), np.float32)}
    x = np.zeros((512, 256), np.float32)
    on = on_mesh(jax.jit(mlp).lower(weights, weights, x, x).as_text(), {"d0": 4, "d1": 2})
    model = cost_model(on.module, MACHINE, on.mesh)
    built = on.graph(model)
    tables = [built.graph.nodes[n].table for _, n in built.ops]
    ops = {n: data.draw(st.integers(0, len(t) - 1)) for (_, n), t in zip(built.ops, tables, strict=True)}
    try:
        before, after = both(on, completed(on.network(model), ops))
    except PcgError:
        return
    assert 0.6 < before / after < 1.6
