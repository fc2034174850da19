"""Unity's algorithm as an engine of pcg-search and of `pcg.compile`."""

from __future__ import annotations

import jax
import pytest
from torch_mlir import ir

import pcg
from bench.zoo import ZOO
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.passes.pcg_search import SearchPass
from pcg.passes.pipeline import Pipeline
from support.training import SLOW_DEVICES, assert_trees_close

MODELS = ("mlp", "dlrm", "transformer_residual")


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    found = {}
    for name in MODELS:
        step, args = ZOO[name].make_tiny()
        found[name] = jax.jit(step).lower(*args).as_text()
    return found


def search(text: str, **options: object) -> tuple[ir.Module, SearchPass]:
    context = make_context()
    module = load_module(text, context, "test")
    Pipeline("sdy-import,pcg-normalize").run(module)
    with context, ir.Location.unknown():
        shardings.set_mesh(module, Mesh.parse("data=2,model=2"))
        made = SearchPass(machine=SLOW_DEVICES, **options)  # type: ignore[arg-type]
        made.run(module.operation)
    return module, made


@pytest.mark.parametrize("name", MODELS)
def test_a_training_step(texts: dict[str, str], name: str) -> None:
    _, exact = search(texts[name])
    _, unity = search(texts[name], algorithm="unity")
    assert exact.outcome is not None and unity.outcome is not None
    assert unity.outcome.seconds >= exact.outcome.bound * (1 - 1e-9)
    assert unity.outcome.bound <= exact.outcome.seconds
    # The graph is split and backward ops follow the forward ones, so it need not be the best; but it is no bad one.
    assert unity.outcome.seconds <= 1.1 * exact.outcome.seconds
    pure = {a.name: a.seconds for a in unity.outcome.alternatives}
    assert unity.outcome.seconds <= min(pure.values(), default=1.0) * (1 + 1e-9)


def test_the_same_input_gives_the_same_plan(texts: dict[str, str]) -> None:
    assert str(search(texts["dlrm"], algorithm="unity")[0]) == str(search(texts["dlrm"], algorithm="unity")[0])


def test_the_cache_changes_nothing(texts: dict[str, str]) -> None:
    assert str(search(texts["mlp"], algorithm="unity")[0]) == str(
        search(texts["mlp"], algorithm="unity", ablation=("cache",))[0]
    )


def test_disjoint_branches_are_estimated_beside_the_plan(texts: dict[str, str]) -> None:
    plain, _ = search(texts["dlrm"], algorithm="unity")
    module, made = search(texts["dlrm"], algorithm="unity", disjoint=True)
    assert str(module) == str(plain)
    assert made.outcome is not None
    seconds = {a.name: a.seconds for a in made.outcome.alternatives}
    assert 0 < seconds["branches on disjoint devices (estimated only)"] < seconds["replication"]


def test_a_memory_limit_is_kept(texts: dict[str, str]) -> None:
    _, free = search(texts["mlp"], algorithm="unity")
    assert free.outcome is not None
    limit = int(0.96 * free.outcome.peak_bytes)
    _, tight = search(texts["mlp"], algorithm="unity", memory_limit=limit)
    assert tight.outcome is not None
    assert tight.outcome.peak_bytes <= limit
    assert tight.outcome.seconds >= free.outcome.seconds
    with pytest.raises(PcgError, match=r"no plan fits in 100 B per device; the smallest one found needs \d"):
        search(texts["mlp"], algorithm="unity", memory_limit=100)


def test_options_are_checked(texts: dict[str, str]) -> None:
    with pytest.raises(PcgError, match="option 'ablation': cannot leave out 'memo'; allowed: split, cache, dp"):
        search(texts["mlp"], algorithm="unity", ablation=("memo",))
    with pytest.raises(PcgError, match="option 'algorithm' is 'dp'; expected one of exact, unity"):
        search(texts["mlp"], algorithm="dp")
    with pytest.raises(PcgError, match="options 'ablation' and 'disjoint' are for algorithm=unity"):
        search(texts["mlp"], ablation=("dp",))
    with pytest.raises(ValueError, match="algorithm 'exact' and strategy 'unity' are given"):
        step, args = ZOO["mlp"].make_tiny()
        pcg.compile(step, {"x": 2}, strategy="unity", algorithm="exact")(*args)


def test_the_plan_computes_what_one_device_does() -> None:
    step, args = ZOO["mlp"].make_tiny()
    compiled = pcg.compile(step, {"data": 2, "model": 2}, strategy="unity", machine=SLOW_DEVICES)
    assert_trees_close(compiled(*args), jax.jit(step)(*args), rtol=1e-4)
    assert any(value.spec.used_axes for value in compiled.plan.arguments)
