"""Every op of StableHLO and CHLO has a rule: it is run on shards, or there is a reason why it is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch_mlir
from torch_mlir import ir

from pcg.layout import Mesh
from pcg.rules import CONTROL_FLOW, TERMINATORS, registered, rule_for
from pcg.tools import op_samples
from support.rulecheck import check_op, context, last_op

MESHES = {"1d": Mesh.of({"x": 2}), "2d": Mesh.of({"x": 2, "y": 2})}
RUN = [n for n in op_samples.SAMPLES if n not in op_samples.NOT_RUN]


def rule_of(name):
    with context(), ir.Location.unknown():
        module = ir.Module.parse(op_samples.SAMPLES[name])
        return rule_for(last_op(module))


@pytest.mark.parametrize("name", RUN)
def test_op(name):
    """Under every strategy of its rule on two meshes, the op gives on shards what it gives whole."""
    for mesh in MESHES.values():
        checked = check_op(op_samples.SAMPLES[name], mesh, rtol=1e-4)
        splits = any(f.splittable and f.size > 1 for f in checked.rule.factors)
        assert splits == (len(checked.strategies) > 1), checked.rule
        assert splits or checked.rule.reason or all(f.reason for f in checked.rule.factors), checked.rule


@pytest.mark.parametrize("name", op_samples.NOT_RUN)
def test_rule_of_an_op_that_is_not_run(name):
    rule = rule_of(name)
    assert rule.reason or all(f.splittable or f.reason for f in rule.factors)


@pytest.mark.parametrize("name", op_samples.SAMPLES)
def test_what_stays_whole_has_a_reason(name):
    rule = rule_of(name)
    assert not rule.reason.startswith("no rule")
    assert all(f.reason for f in rule.factors if not f.splittable)
    assert rule.factors or rule.reason, f"{name}: neither factors nor a reason"


def test_no_op_is_missing():
    """Every op that the library registers is sampled, structural, or replicated for a reason."""
    names: set[str] = set()
    for path in Path(torch_mlir.__file__ or torch_mlir.__path__[0]).glob("_mlir_libs/*.so*"):
        names |= {m.decode() for m in re.findall(rb"(?:stablehlo|chlo)\.[a-z_0-9\-]+", path.read_bytes())}
    with context() as c:
        known = {n for n in names if c.is_registered_operation(n)}
    assert len(known) > 150
    assert known == set(op_samples.every())


def test_every_rule_is_of_an_op():
    assert set(registered()) | CONTROL_FLOW | (TERMINATORS - {"func.return", "pcg.yield"}) == set(op_samples.every())


@pytest.mark.parametrize("reasons", [op_samples.REPLICATED, op_samples.STRUCTURAL, op_samples.NOT_RUN])
def test_reasons_are_sentences(reasons):
    assert all(len(text.split()) >= 4 for text in reasons.values())
