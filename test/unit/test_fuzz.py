"""Random programs under random plans compute what they did; `bench/fuzz.py` runs more of them."""

import pytest

from pcg.layout import Mesh
from support import fuzz
from support.fuzzprogram import Layouts

SEED = 20_000
PROGRAMS = 120
GROUP = 10


@pytest.mark.parametrize("first", range(SEED, SEED + PROGRAMS, GROUP))
def test_results_stay(first):
    for seed in range(first, first + GROUP):
        case = fuzz.generate(seed)
        try:
            fuzz.check(case)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}\n{case.annotated}") from error


@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_results_stay_with_ops_that_only_xla_runs(seed):
    fuzz.check(fuzz.generate(seed, exotic=True))


@pytest.mark.parametrize("seed", range(SEED, SEED + 5))
def test_results_stay_on_devices(seed):
    fuzz.check(fuzz.generate(seed, devices=True))


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(SEED + PROGRAMS, SEED + PROGRAMS + 400, 20))
def test_results_of_many_stay(first):
    for seed in range(first, first + 20):
        fuzz.check(fuzz.generate(seed, exotic=seed % 10 == 0, devices=seed % 4 == 0))


def test_half_of_the_programs_have_uneven_shards():
    assert sum(fuzz.is_uneven(fuzz.generate(seed)) for seed in range(SEED, SEED + 16)) >= 8


def test_cases_are_reproducible():
    a, b = fuzz.generate(7), fuzz.generate(7)
    assert a.annotated == b.annotated and a.annotated != fuzz.generate(8).annotated


def test_programs_are_varied():
    names = {n.name for seed in range(SEED, SEED + PROGRAMS) for n in fuzz.generate(seed).program.every()}
    assert len(names) >= 55, sorted(names)


def test_minimise_keeps_only_what_matters():
    case = next(c for c in map(fuzz.generate, range(100)) if any(n.name == "stablehlo.sort" for n in c.program.nodes))

    def has_sort(c):
        return any(n.name == "stablehlo.sort" for n in c.program.nodes)

    small = fuzz.minimise(case, has_sort)
    assert [n.name for n in small.program.nodes if n.name != "stablehlo.constant"] == ["stablehlo.sort"]
    assert len(small.program.returns) == 1
    assert small.layouts == Layouts() and fuzz.failure(small) == ""


def test_a_wrong_rule_is_noticed(monkeypatch):
    """A lowering that forgets a sum is found within a few programs, and the reason has one wording."""
    from pcg.lower.collectives import CollectiveBuilder

    monkeypatch.setattr(CollectiveBuilder, "all_reduce", lambda self, value, axes, kind: value)
    cases = [c for c in map(fuzz.generate, range(20)) if c.mesh.size <= 4 or c.mesh == Mesh.parse("a=2,b=2")]
    assert {"results differ", "replicas disagree"} & {fuzz.failure(c) for c in cases}
