"""Random jax functions through `pcg.compile` compute what they do on one device; `bench/fuzz_jax.py` runs more."""

import numpy as np
import pytest

from support import fuzzjax, fuzzjaxshrink
from support.fuzzjaxcases import CASES
from support.fuzzjaxprogram import Var

jax = pytest.importorskip("jax")

from support import fuzzjaxrun

SEED = 50_000
PROGRAMS = 10


def passes(case):
    out = fuzzjaxrun.run(case)
    assert not out.failure, f"{out.failure}\n{out.details}\n{fuzzjax.script(case)}"
    return out


@pytest.mark.parametrize("seed", range(SEED, SEED + PROGRAMS))
def test_results_stay(seed):
    passes(fuzzjax.generate(seed))


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(SEED + PROGRAMS, SEED + PROGRAMS + 300, 20))
def test_results_of_many_stay(first):
    for seed in range(first, first + 20):
        passes(fuzzjax.generate(seed))
        jax.clear_caches()


@pytest.mark.parametrize("name", CASES)
def test_what_fuzzing_found(name):
    passes(CASES[name][1])


def test_programs_are_what_they_say():
    """Shapes and types come out as the generator thinks; programs and settings vary."""
    families, strategies = set(), set()
    for seed in range(80):
        case = fuzzjax.generate(seed)
        families |= {s.family for s in case.program.every()}
        strategies.add(case.setting.strategy)
        with jax.enable_x64(case.setting.x64):
            names = fuzzjax.namespace(case)
            made = jax.eval_shape(names["f"], *names["args"])
        found = [(x.shape, str(x.dtype)) for x in made]
        assert found == [(v.shape, v.dtype) for v in case.program.returns], fuzzjax.script(case)
    assert len(families) >= 45 and len(strategies) >= 10, (families, strategies)


def test_cases_are_reproducible():
    a, b = fuzzjax.generate(7), fuzzjax.generate(7)
    assert a == b and a != fuzzjax.generate(8)
    assert fuzzjax.script(a) == fuzzjax.script(b)


def test_most_programs_ask_for_uneven_shards():
    def layout_of(statement):
        return eval(statement.text.format(None), {"shard": lambda _, layout, priority=0: layout})

    def asked(case):
        return any(
            isinstance(axes, str) and n % dict(case.setting.mesh).get(axes, 1)
            for s in case.program.every() if s.shard
            for n, axes in zip(s.results[0].shape, layout_of(s), strict=True)
        )  # fmt: skip

    assert sum(map(asked, map(fuzzjax.generate, range(200)))) > 120


def test_a_script_runs(capsys, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "")  # the script adds to it
    exec(compile(fuzzjax.script(fuzzjax.generate(SEED)), "script", "exec"), {})
    assert capsys.readouterr().out.endswith("done\n")


def test_a_fault_is_found(monkeypatch):
    """A lowering that forgets a sum is found within a few programs."""
    from pcg.lower.collectives import CollectiveBuilder

    monkeypatch.setattr(CollectiveBuilder, "all_reduce", lambda self, value, axes, kind: value)
    cases = map(fuzzjax.generate, range(SEED, SEED + 60))
    assert any(fuzzjaxrun.run(c).failure == "results differ" for c in cases)


def test_shrinking_keeps_only_what_matters():
    """Of a program that "fails" because it sorts, the sort is left."""

    def sorts(case):
        return any("sort" in s.text or "top_k" in s.text for s in case.program.statements)

    case = next(c for c in map(fuzzjax.generate, range(200)) if sorts(c) and len(c.program.statements) > 8)
    small = fuzzjaxshrink.shrink(case, sorts)
    assert len(small.program.statements) == 1 and sorts(small)
    s = small.setting
    assert not (s.ins or s.outs or s.donate or s.options) and len(small.program.returns) <= 2
    fuzzjaxrun.run(small)


def test_rounding_is_told_from_errors():
    want = np.array([1.0, 1e3, 2.0], np.float64)
    assert fuzzjaxrun.close(want + 1e-3, want, 1e-4, 0)  # ten times the error of one device
    assert not fuzzjaxrun.close(want + [0, 0, 0.1], want, 1e-4, 1e-5)
    assert not fuzzjaxrun.close(want, np.array([1.0, np.inf, 2.0]), 1.0, 1.0)
    assert fuzzjaxrun.same(np.array([np.nan, 1]), np.array([np.nan, 1])) and not fuzzjaxrun.same(want, want + 1e-9)
    assert Var(1, (2, 3), "float32").size == 6
