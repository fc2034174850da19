"""Op traits: every op states its own, each trait means something, and what can be run bears it out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from torch_mlir import ir

from pcg.ir.shardings import CONSTRAINTS
from pcg.rules import CONTROL_FLOW, TERMINATORS, FactorRule, registered, rule_for, traits
from pcg.rules.collectives import STEP_KINDS
from pcg.rules.registry import BRANCHES, rule
from pcg.rules.traits import MEANINGS, Trait
from pcg.tools import op_samples, op_variants
from pcg.tools.op_forms import FORMS
from support import opcheck
from support.rulecheck import context, last_op, run

ROOT = Path(__file__).resolve().parents[3]
RUN = [n for n in op_samples.SAMPLES if n not in op_samples.NOT_RUN]


def having(trait: Trait) -> list[str]:
    """The ops with a trait that can be run."""
    return sorted(traits.ops(trait) & set(RUN))


# -- completeness ----------------------------------------------------------------------------------


def test_every_op_states_its_traits():
    assert set(registered()) | CONTROL_FLOW | TERMINATORS | set(op_samples.every()) <= traits.stated()


def test_traits_are_of_ops():
    others = sorted(traits.stated() - set(op_samples.every()))
    with context() as c:
        assert [n for n in others if not c.is_registered_operation(n)] == []


def test_every_trait_has_a_meaning_and_an_example():
    assert set(MEANINGS) == set(Trait)
    for trait, (meaning, example) in MEANINGS.items():
        assert len(meaning.split()) >= 4 and traits.has(example, trait), trait


def test_no_two_traits_are_of_the_same_ops():
    found = [traits.ops(t) for t in Trait]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        (Trait.MATMUL, Trait.CONTRACTION), (Trait.CONTRACTION, Trait.HEAVY), (Trait.HEAVY, Trait.ANCHOR),
        (Trait.IN_PLACE, Trait.UPDATE), (Trait.SLICE, Trait.READS_WINDOW), (Trait.GENERATOR, Trait.CHEAP),
        (Trait.PROPAGATES_GENERATOR, Trait.CHEAP), (Trait.SPREADS, Trait.PROPAGATES_GENERATOR),
        (Trait.COLLECTIVE, Trait.UNFUSABLE), (Trait.TOKEN, Trait.UNREPEATABLE), (Trait.HOST_IO, Trait.UNREPEATABLE),
    ],
)  # fmt: skip
def test_one_trait_implies_another(part, whole):
    assert traits.ops(part) < traits.ops(whole)


@pytest.mark.parametrize(
    "pair",
    [
        Trait.CHEAP | Trait.EXPENSIVE, Trait.CHEAP | Trait.UNFUSABLE, Trait.READS_WINDOW | Trait.UPDATE,
        Trait.VIEW | Trait.NONLOCAL, Trait.GENERATOR | Trait.PROPAGATES_GENERATOR, Trait.PINNED | Trait.UNREPEATABLE,
        Trait.KEEPS_INTEGERS | Trait.YIELDS_INTEGERS,
    ],
    ids=str,
)  # fmt: skip
def test_traits_that_exclude_each_other(pair):
    one, other = pair
    assert not traits.ops(one) & traits.ops(other)


def test_every_collective_has_a_kind():
    assert set(STEP_KINDS) == traits.ops(Trait.COLLECTIVE)


# -- asking and stating ----------------------------------------------------------------------------


def test_of_several_traits_any_counts():
    assert traits.has("stablehlo.dot", Trait.TOKEN | Trait.MATMUL)
    assert not traits.has("stablehlo.dot", Trait.TOKEN | Trait.VIEW)
    assert traits.ops(Trait.TOKEN | Trait.VIEW) == traits.ops(Trait.TOKEN) | traits.ops(Trait.VIEW)


def test_an_unknown_op_has_none():
    assert traits.of("stablehlo.unheard_of") == Trait.NONE
    assert not traits.has("stablehlo.unheard_of", ~Trait.NONE)


def test_operands_that_are_read_in_full():
    found = {name: traits.reads(name) for name in traits.ops(Trait.READS_WINDOW | Trait.UPDATE)}
    assert found == {
        "stablehlo.slice": (), "stablehlo.dynamic_slice": (), "stablehlo.gather": (1,),
        "stablehlo.dynamic_update_slice": (1,), "stablehlo.scatter": (1, 2),
    }  # fmt: skip


def test_traits_are_stated_once():
    with pytest.raises(ValueError, match=r"the traits of op 'stablehlo\.add' are stated twice"):
        traits.state(["stablehlo.add"], Trait.NONE)


@pytest.mark.parametrize(("own", "reads"), [(Trait.UPDATE, None), (Trait.CHEAP, (1,))])
def test_reads_belongs_to_windows(own, reads):
    with pytest.raises(ValueError, match=r"op 'test\.window': `reads` belongs to READS_WINDOW and UPDATE"):
        rule("test.window", traits=own, reads=reads)(lambda op: pytest.fail("never called"))
    assert "test.window" not in traits.stated() and "test.window" not in registered()


def test_a_family_states_the_traits_of_each_op():
    with pytest.raises(KeyError, match=r"test\.second"):
        rule("test.second", traits={"test.first": Trait.NONE})(lambda op: pytest.fail("never called"))
    assert "test.second" not in registered()


# -- no second definition --------------------------------------------------------------------------


def _names(node: ast.AST) -> frozenset[str] | None:
    """The ops that a set, tuple, list or table of the source lists; None if it is nothing of the kind."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) not in ("frozenset", "set", "dict.fromkeys"):
        return None
    try:
        found = eval(compile(ast.Expression(node), "<source>", "eval"), {})
    except Exception:  # it depends on something
        return None
    if not isinstance(found, set | frozenset | tuple | list | dict) or not all(isinstance(x, str) for x in found):
        return None
    return frozenset(found)


def _listed() -> Iterator[tuple[str, frozenset[str]]]:
    """Every list of ops in the sources outside of the rules, and where it is."""
    folders = ("python", "passes", "tools", "dialects", "bench", "examples")
    kinds = ast.Call | ast.Set | ast.Tuple | ast.List | ast.Dict | ast.SetComp | ast.BinOp
    for path in sorted(p for f in folders for p in (ROOT / f).rglob("*.py")):
        if path.is_relative_to(ROOT / "python" / "pcg" / "rules"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kinds) and (names := _names(node)):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", names


def test_no_list_of_ops_repeats_a_trait():
    """What a trait, or a constant, says is said nowhere else."""
    known = {traits.ops(t): str(t) for t in Trait if len(traits.ops(t)) > 1}
    known |= {CONTROL_FLOW: "CONTROL_FLOW", BRANCHES: "BRANCHES", CONSTRAINTS: "CONSTRAINTS"}
    home = {"python/pcg/ir/shardings.py"}
    listed = [(where, names) for where, names in _listed() if where.partition(":")[0] not in home]
    assert len(listed) > 50, "the search finds lists"
    repeated = [f"{where} lists the ops of {known[names]}" for where, names in listed if names in known]
    assert not repeated, "\n".join(repeated)


# -- what can be run -------------------------------------------------------------------------------


def sampled(text: str) -> tuple[FactorRule, tuple[str, ...], int]:
    """Of the last op of a program: its rule, the types of its operands and results, and how many operands it has."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        op = last_op(module)
        types = (*(str(v.type) for v in op.operands), *(str(r.type) for r in op.results))
        return rule_for(op), types, len(op.operands)


def arguments(name: str) -> list[np.ndarray]:
    """Operands of an op, as the program of its sample takes them."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse(op_samples.SAMPLES[name])
        return opcheck.inputs_of(last_op(module), np.random.default_rng(0), interpreted=True)


def results(name: str, operands: list[np.ndarray]) -> list[np.ndarray]:
    with context(), ir.Location.unknown():
        return run(op_samples.SAMPLES[name], operands)


@pytest.mark.parametrize("name", having(Trait.CONTRACTION))
def test_contractions_sum_products(name):
    """Splitting what is summed leaves partial sums, and so does an operand that is one."""
    found, _, _ = sampled(op_samples.SAMPLES[name])
    assert any(f.reduce == "sum" for f in found.factors)
    assert {p.operands for p in found.linear if p.kind == "sum"} == {frozenset({0}), frozenset({1})}


@pytest.mark.parametrize("name", having(Trait.SAME_ELEMENTS))
def test_elements_are_those_of_the_first_operand(name):
    operands = arguments(name)
    (result,) = results(name, operands)
    assert np.isin(result, operands[0]).all()


@pytest.mark.parametrize("name", having(Trait.FORWARDS))
def test_each_element_comes_once(name):
    operands = arguments(name)
    (result,) = results(name, operands)
    assert np.array_equal(np.sort(result, axis=None), np.sort(operands[0].astype(result.dtype), axis=None))


@pytest.mark.parametrize("name", having(Trait.VIEW))
def test_views_hold_the_same_bytes(name):
    operands = arguments(name)
    (result,) = results(name, operands)
    assert result.tobytes() == operands[0].tobytes()


@pytest.mark.parametrize("name", having(Trait.UPDATE))
def test_updates_change_no_more_than_they_write(name):
    operands = arguments(name)
    (result,) = results(name, operands)
    assert result.shape == operands[0].shape
    assert 0 < np.count_nonzero(result != operands[0]) <= operands[traits.reads(name)[-1]].size


@pytest.mark.parametrize("name", having(Trait.READS_WINDOW))
def test_windows_are_no_larger_than_what_they_yield(name):
    """No more elements of the first operand matter than the result has."""
    operands = arguments(name)
    (result,) = results(name, operands)
    matter = 0
    for i in range(operands[0].size):
        changed = operands[0].copy()
        changed.flat[i] += 1000
        matter += not np.array_equal(results(name, [changed, *operands[1:]])[0], result)
    assert 0 < matter <= result.size


@pytest.mark.parametrize("name", having(Trait.KEEPS_INTEGERS))
def test_integers_stay_integers(name):
    operands = [2 * x if x.dtype.kind == "f" else x for x in arguments(name)]
    assert all(np.array_equal(np.round(x), x) for x in operands)
    assert all(np.array_equal(np.round(r), r) for r in results(name, operands))


@pytest.mark.parametrize("name", having(Trait.YIELDS_INTEGERS))
def test_integers_come_of_any_number(name):
    operands = arguments(name)
    (result,) = results(name, operands)
    assert np.array_equal(np.round(result), result)
    assert not operands or not np.array_equal(np.round(operands[0]), operands[0])


@pytest.mark.parametrize("name", having(Trait.GENERATOR))
def test_generators_have_no_operands(name):
    _, _, operands = sampled(op_samples.SAMPLES[name])
    assert operands == 0


@pytest.mark.parametrize("name", sorted((set(FORMS) & set(RUN)) - traits.ops(Trait.WORK_IN_ATTRIBUTES)))
def test_work_is_in_the_types_unless_stated(name):
    """Ops of one name and types do the same work, whatever their attributes: the simulator asks for it once."""
    found: dict[tuple[str, ...], set[float]] = {}
    for case in op_variants.cases(name):
        _, types, _ = sampled(case.variant.text)
        found.setdefault(types, set()).add(case.rule.flops)
    assert all(len(flops) == 1 for flops in found.values())
