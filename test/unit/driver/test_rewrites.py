"""Plans say how their program was rewritten: saved, read, applied anew, refused."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pcg
from pcg.machine.units import time_text
from pcg.planning.joint_search import JointSearch
from pcg.planning.rewritten import APPLIED_RULES, SUBSTITUTIONS
from pcg.tools import pcg_plan
from pcg.viz.plan import show
from support.close import assert_close

MESH = {"a": 4}
RNG = np.random.default_rng(0)
ARGS = (
    RNG.normal(size=(2048, 16)).astype("f"), RNG.normal(size=(16, 8)).astype("f"),
    RNG.integers(0, 30, 32).astype(np.int32), RNG.normal(size=(32, 8)).astype("f"),
)  # fmt: skip
Document = dict[str, Any]


def step(table: Any, weight: Any, ids: Any, y: Any) -> Any:
    """A step of SGD of a lookup and a layer behind it."""

    def loss(table: Any, weight: Any) -> Any:
        return jnp.mean((jnp.tanh(table[ids]) @ weight - y) ** 2)

    value, (of_table, of_weight) = jax.value_and_grad(loss, (0, 1))(table, weight)
    return table - 0.1 * of_table, weight - 0.1 * of_weight, value


def local_text(compiled: Any) -> str:
    """The lowered program without notes of the search on its signature."""
    return re.sub(r", pcg\.state = \d+ : i64", "", compiled.as_text("local"))


@pytest.fixture(scope="module")
def compiled() -> Any:
    found = pcg.compile(step, MESH)
    found.lower(*ARGS)
    return found


@pytest.fixture(scope="module")
def plan(compiled: Any) -> pcg.Plan:
    return compiled.plan


@pytest.fixture
def document(plan: pcg.Plan) -> Document:
    return json.loads(plan.to_json())


def changed(document: Document, substitutions: Any) -> pcg.Plan:
    """The plan with this in place of its rewrites."""
    return pcg.Plan.from_json(json.dumps({**document, "substitutions": substitutions}))


def rules_of(plan: pcg.Plan) -> str:
    return plan.substitutions.partition(" taken=")[0]


# -- documents -------------------------------------------------------------------------------------


def test_what_pcg_writes_it_reads(plan: pcg.Plan, document: Document) -> None:
    assert re.fullmatch(r"rules=[a-z,-]+ taken=\d+(,\d+)*", plan.substitutions)
    assert "subtract-from-table" in plan.substitutions
    assert document["substitutions"] == plan.substitutions
    again = pcg.Plan.from_json(plan.to_json())
    assert again == plan and again.substitutions == plan.substitutions and again.to_json() == plan.to_json()


def test_a_plan_of_a_program_as_it_was_says_nothing() -> None:
    found = pcg.compile(step, MESH, substitutions=False).lower(*ARGS)
    assert found.plan.substitutions == "" and "substitutions" not in json.loads(found.plan.to_json())
    assert pcg.Plan.from_json(found.plan.to_json()) == found.plan
    assert found.plan.fingerprint != pcg.compile(step, MESH).lower(*ARGS).plan.fingerprint


def test_the_entry_tells_plans_apart(plan: pcg.Plan, document: Document) -> None:
    assert changed(document, f"{rules_of(plan)} taken=0") != plan


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, "substitutions is 3; allowed: text"),
        (None, "substitutions is null; allowed: text"),
        (["rules=negated-rows taken=0"], "substitutions is a list of 1; allowed: text"),
        ("", "substitutions is ''; allowed: options of pcg-substitute: rules=NAME,... taken=NUMBER,..."),
        ("taken=1", "substitutions is 'taken=1'; allowed: options of pcg-substitute"),
        ("rules=negated-rows", "substitutions is 'rules=negated-rows'; allowed: options of"),
        ("rules=negated-rows taken=", "substitutions is 'rules=negated-rows taken='; allowed: options of"),
        ("rules= taken=1", "substitutions is 'rules= taken=1'; allowed: options of"),
        ("rules=negated-rows taken=-1", "substitutions is 'rules=negated-rows taken=-1'; allowed: options of"),
        ("rules=negated-rows taken=1,", "substitutions is 'rules=negated-rows taken=1,'; allowed: options of"),
        ("rules=negated-rows taken=1.5", "substitutions is 'rules=negated-rows taken=1.5'; allowed: options of"),
        ("rules=negated-rows taken=1234567", "taken=1234567'; allowed: options of"),
        ("rules=negated-rows taken=1 exact", "taken=1 exact'; allowed: options of"),
        ("rules=negated-rows effort=proof taken=1", "taken=1'; allowed: options of"),
        ("rules=a b taken=1", "substitutions is 'rules=a b taken=1'; allowed: options of"),
        ("rules=negated-rows taken=1\n", "allowed: text of one line"),
        ("rules=negated-rows} taken=1", "substitutions is 'rules=negated-rows} taken=1'; allowed: options of"),
        ("rules=" + "a" * 10**4 + " taken=x", "of 10014 characters; allowed: options of"),
    ],
)  # fmt: skip
def test_refused_in_one_line(document: Document, value: Any, said: str) -> None:
    with pytest.raises(pcg.PlanError) as error:
        changed(document, value)
    assert said in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 1000


@pytest.mark.parametrize(
    ("rules", "taken", "said"),
    [
        ("rules=faster", "0", "rule 'faster' is not known; allowed: split-contraction,"),
        ("", "999", "taken has rewrite 999; allowed: 0 or more, and less than "),
        ("rules=rows-of-product", "0", "taken has rewrite 0; allowed: 0 or more, and less than 0"),
        # The rewrite of that number is another: the program is not the one that the plan is for.
        ("", "0", r"plan of program 'step' \([0-9a-f]+\) does not fit this one"),
        ("rules=scaled-rows", "0", r"plan of program 'step' \([0-9a-f]+\) does not fit this one"),
    ],
)
def test_refused_by_the_program(plan: pcg.Plan, document: Document, rules: str, taken: str, said: str) -> None:
    other = changed(document, f"{rules or rules_of(plan)} taken={taken}")
    for use in (lambda: pcg.compile(step, MESH, strategy=other).lower(*ARGS), lambda: pcg.plan_cost(other, simulate=False)):
        with pytest.raises((pcg.PlanError, pcg.PcgError), match=said) as error:
            use()
        assert "\n" not in str(error.value)


def test_a_plan_without_its_rewrites_does_not_fit(plan: pcg.Plan, document: Document) -> None:
    del document["substitutions"], document["applied_rules"]
    other = pcg.Plan.from_json(json.dumps(document))
    assert other.substitutions == ""
    for use in (lambda: pcg.compile(step, MESH, strategy=other).lower(*ARGS), lambda: pcg.plan_cost(other)):
        with pytest.raises(pcg.PlanError, match=r"plan of program 'step' \([0-9a-f]+\) does not fit this one"):
            use()


def test_options_that_no_document_has(plan: pcg.Plan) -> None:
    """A plan that was built in Python is not read, but its options are."""
    for options, said in (("colour=red", "no option 'colour'"), ("taken=x", "taken")):
        other = dataclasses.replace(plan, substitutions=options)
        with pytest.raises(pcg.PlanError, match=f"substitutions is '{options}': .*{said}"):
            pcg.plan_cost(other, simulate=False)


# -- what they say of rules --------------------------------------------------------------------------


def test_the_rules_are_said_with_their_lines_and_seconds(plan: pcg.Plan, document: Document) -> None:
    (applied,) = plan.applied_rules
    line = next(n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "- 0.1 * of_table" in text)
    assert applied.name == "scaled-rows then subtract-from-table" and applied.places == (f"test_rewrites.py:{line}",)
    assert [p.partition(": ")[0] for p in applied.proofs] == ["scaled-rows", "subtract-from-table"]
    assert all(", proved from properties: " in p for p in applied.proofs)
    assert applied.saved is not None and applied.saved > 0
    assert document["applied_rules"] == [
        {"rules": applied.name, "places": [*applied.places], "proofs": [*applied.proofs], "saved": applied.saved}
    ]
    assert pcg.Plan.from_json(plan.to_json()).applied_rules == plan.applied_rules


def test_plans_with_the_same_rewrites_are_equal_wherever_they_are(plan: pcg.Plan, document: Document) -> None:
    document["applied_rules"][0]["places"] = ["elsewhere.py:1"]
    del document["applied_rules"][0]["saved"]
    other = pcg.Plan.from_json(json.dumps(document))
    assert other == plan and other.applied_rules[0].saved is None and other.applied_rules != plan.applied_rules


APPLIED: Document = {"rules": "negated-rows", "places": ["a.py:1"], "proofs": ["p"]}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, "applied_rules is 3; allowed: a list"),
        ([3], "applied_rules[0] is 3; allowed: an object with rules, places, proofs"),
        ([{"rules": "r"}], "applied_rules[0] has no 'places'; it needs rules, places, proofs"),
        ([APPLIED | {"by": "me"}], "applied_rules[0] has an entry 'by'; allowed: rules, places, proofs, saved"),
        ([APPLIED | {"rules": 1}], "applied_rules[0].rules is 1; allowed: text"),
        ([APPLIED | {"places": []}], "applied_rules[0].places is an empty list; allowed: one or more"),
        ([APPLIED | {"places": ["a\nb"]}], "applied_rules[0].places[0] is 'a\\nb'; allowed: text of one line"),
        ([APPLIED | {"proofs": []}], "applied_rules[0].proofs is an empty list; allowed: one or more"),
        ([APPLIED | {"saved": "much"}], "applied_rules[0].saved is 'much'; allowed: a number"),
        ([APPLIED | {"saved": -1}], "applied_rules[0].saved is -1; allowed: a number from 0"),
        ([APPLIED, APPLIED], "applied_rules[1] is an object of 3; allowed: everything once"),
    ],
)  # fmt: skip
def test_what_is_said_of_rules_is_refused_in_one_line(document: Document, value: Any, said: str) -> None:
    with pytest.raises(pcg.PlanError) as error:
        pcg.Plan.from_json(json.dumps({**document, "applied_rules": value}))
    assert said in str(error.value) and "\n" not in str(error.value)


def test_rules_of_a_plan_that_rewrites_nothing(document: Document) -> None:
    del document["substitutions"]
    with pytest.raises(pcg.PlanError, match="applied_rules is a list of 1; allowed: none, because the plan has no subst"):
        pcg.Plan.from_json(json.dumps(document))
    del document["applied_rules"]
    assert pcg.Plan.from_json(json.dumps(document)).applied_rules == ()


def test_pcg_plan_shows_them(plan: pcg.Plan, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan.save(tmp_path / "plan.json")
    assert pcg_plan.main(["show", str(tmp_path / "plan.json")]) == 0
    section = next(s for s in capsys.readouterr().out.split("\n\n") if s.startswith("Substitutions\n"))
    (applied,) = plan.applied_rules
    assert applied.saved is not None
    assert re.search(rf"{applied.name} +1 +{time_text(applied.saved)} +{applied.places[0]}\n", section)
    flat = " ".join(section.split())
    assert all(p in flat for p in applied.proofs)


def test_a_plan_without_rewrites_shows_none() -> None:
    found = pcg.compile(step, MESH, substitutions=False).lower(*ARGS)
    assert found.plan.applied_rules == () and "applied_rules" not in found.plan.to_json()
    assert "Substitutions" not in found.explain() and "Substitutions" not in show(found.plan)


# -- applied anew ------------------------------------------------------------------------------------


def test_saved_and_given_back(compiled: Any, plan: pcg.Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.json"
    plan.save(path)
    monkeypatch.setattr(JointSearch, "__init__", lambda *a: pytest.fail("searches"))
    for strategy in (pcg.Plan.load(path), path, str(path)):
        again = pcg.compile(step, MESH, strategy=strategy)
        again.lower(*ARGS)
        assert local_text(again) == local_text(compiled)
        assert again.plan == plan and again.plan.applied_rules == plan.applied_rules
        assert re.search(r"\nSubstitutions \(the program was rewritten\)\n", again.explain())
    for got, want in zip(again(*ARGS), jax.jit(step)(*ARGS), strict=True):
        assert_close(got, want, 1e-5)


def test_no_stage_says_how_it_was_rewritten(compiled: Any) -> None:
    """Only the plan does: a program that said so could be rewritten again."""
    for stage in ("stablehlo", "plan", "pcg", "local"):
        for found in (compiled, pcg.compile(step, MESH, strategy=compiled.plan).lower(*ARGS)):
            text = found.as_text(stage)
            assert SUBSTITUTIONS not in text and APPLIED_RULES not in text


def test_the_program_of_the_plan_is_the_rewritten_one(compiled: Any) -> None:
    size = "tensor<2048x16xf32>"
    before, after = compiled.as_text("stablehlo"), compiled.as_text("pcg")
    assert re.search(rf"stablehlo\.subtract .*{size}", before)
    assert not re.search(rf"stablehlo\.(subtract|multiply|constant) .*{size}", after)


def test_a_plan_of_a_rewritten_program_is_of_no_other(plan: pcg.Plan) -> None:
    def other(table: Any, weight: Any, ids: Any, y: Any) -> Any:
        return step(table, weight * 2, ids, y)

    with pytest.raises(pcg.PlanError, match="operations .* differ|about .* operations|attributes or constants"):
        pcg.compile(other, MESH, strategy=plan).lower(*ARGS)


def test_rewrites_are_the_same_in_another_order(plan: pcg.Plan, document: Document) -> None:
    numbers = plan.substitutions.partition(" taken=")[2].split(",")
    other = changed(document, f"{rules_of(plan)} taken={','.join([*reversed(numbers), numbers[0]])}")
    assert pcg.plan_cost(other, simulate=False) == pcg.plan_cost(plan, simulate=False)


# -- what it costs ---------------------------------------------------------------------------------


def test_loaded_plans_cost_what_was_estimated(plan: pcg.Plan) -> None:
    loaded = pcg.Plan.from_json(plan.to_json())
    found = pcg.plan_cost(loaded)
    assert found.to_dict() == pcg.plan_cost(plan).to_dict()
    assert found.seconds == pytest.approx(plan.estimate["seconds"], rel=1e-9)
    assert found.simulation is not None and found.simulation.seconds > 0


def test_they_cost_less_than_what_was_not_rewritten(plan: pcg.Plan) -> None:
    before = pcg.compile(step, MESH, substitutions=False).lower(*ARGS).plan
    assert pcg.plan_cost(plan, simulate=False).seconds < pcg.plan_cost(before, simulate=False).seconds


def test_the_program_may_be_given_beside_the_plan(plan: pcg.Plan) -> None:
    """What is given is the program as it was before it was rewritten."""
    text = jax.jit(step).lower(*ARGS).as_text()
    without = pcg.Plan.from_json(plan.to_json(program=False))
    assert pcg.plan_cost(without, program=text).to_dict() == pcg.plan_cost(plan).to_dict()
    with pytest.raises(pcg.PlanError, match="saved without its program; give the program, too"):
        pcg.plan_cost(without)
