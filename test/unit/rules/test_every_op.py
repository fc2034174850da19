"""Every op of StableHLO and CHLO has a rule: it is run on shards, or there is a reason why it is not."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import torch_mlir
from torch_mlir import ir

from pcg.layout import Mesh
from pcg.lower.local import local_forms
from pcg.rules import CONTROL_FLOW, TERMINATORS, registered, rule_for
from pcg.tools import op_samples, op_variants
from support import opcheck, opdevices
from support.rulecheck import context, last_op

RUN = [n for n in op_samples.SAMPLES if n not in op_samples.NOT_RUN]
#: More meshes, for the complete sweep: an odd axis, and more devices than one axis has elsewhere.
WIDE = (Mesh.of({"x": 3}), Mesh.of({"x": 4}), Mesh.of({"x": 2, "y": 3}))


def rule_of(name):
    with context(), ir.Location.unknown():
        module = ir.Module.parse(op_samples.SAMPLES[name])
        return rule_for(last_op(module))


def run(case, plans):
    """Run strategies of a case, or find that nothing can run it, and that this is known."""
    try:
        return opcheck.check([(case.variant, plans)])
    except opcheck.NotExecutable as error:
        assert not case.runs, f"{case.variant.op} ({case.variant.key}) cannot be executed: {error}"
        return 0


@pytest.mark.parametrize("name", RUN)
def test_op(name):
    """Under a sample of the strategies on two meshes, on every class of types, the op gives on shards what it gives whole."""
    chosen = [case for case in op_variants.cases(name) if case.chosen]
    # Compiling takes long, so what is compiled becomes one program.
    compiled = [case for case in chosen if case.runs and not opcheck.interpretable(case.variant)]
    if compiled:
        assert opcheck.check([(case.variant, case.chosen) for case in compiled]) == sum(case.count for case in compiled)
    for case in chosen:
        if case not in compiled:
            assert run(case, case.chosen) == case.count, case.variant.key


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", RUN)
def test_op_completely(name):
    """Under every strategy on the two meshes, and a sample of those on wider ones."""
    for case in op_variants.cases(name):
        plans = [(m, op_variants.strategies(case.rule, m)) for m in op_variants.MESHES.values()]
        plans += [(m, op_variants.strategies(case.rule, m, 6, f"{name} {case.variant.key}")) for m in WIDE]
        assert run(case, plans) == (sum(len(a) for _, a in plans) if case.runs else 0)


def on_devices(case, mesh, limit):
    """Strategies of a case, uneven ones too, that XLA runs on devices."""
    name, element = case.variant.op, case.variant.element
    # What XLA's partitioner does not take although XLA on one device does; nor can jax say it.
    signed_bits = name == "stablehlo.rng_bit_generator" and not element.startswith("ui")
    if not case.runs or signed_bits or (name == "stablehlo.bitcast_convert" and element == "i1"):
        return []
    every = list(case.rule.strategies(mesh, uneven=True))
    return every if len(every) <= limit else random.Random(name).sample(every, limit)


#: Ops that a device does not run just as they are on its parts.
REWRITTEN = [n for n in RUN if n in local_forms()]


@pytest.mark.parametrize("part", range(4))
def test_on_devices(part):
    """A strategy of every op that is rewritten does on devices, by XLA, what the op does on one."""
    mesh, jobs = op_variants.MESHES["1-D"], []
    for name in REWRITTEN[part::4]:
        case = next((c for c in op_variants.cases(name) if not c.variant.what), op_variants.cases(name)[0])
        jobs.append((case.variant, [(mesh, on_devices(case, mesh, 1))]))
    assert opdevices.check(jobs)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", RUN)
def test_on_devices_completely(name):
    """Every variant under strategies on the two meshes and on an odd axis."""
    for mesh in (*op_variants.MESHES.values(), WIDE[0]):
        jobs = [(c.variant, [(mesh, on_devices(c, mesh, 4))]) for c in op_variants.cases(name)]
        jobs = [job for job in jobs if job[1][0][1]]
        for i in range(0, len(jobs), 8):
            opdevices.check(jobs[i : i + 8])


@pytest.mark.parametrize("name", RUN)
def test_what_can_be_split_is(name):
    """An op has strategies besides replication exactly where a factor is splittable; else there is a reason."""
    for case in op_variants.cases(name):
        rule, nothing = case.rule, not any(f.size > 1 for f in case.rule.factors)
        splits = any(f.splittable and f.size > 1 for f in rule.factors)
        assert splits <= (case.legal > len(op_variants.MESHES)), case.variant.key
        assert splits or nothing or rule.reason or all(f.reason for f in rule.factors), case.variant.key


def test_every_class_of_types_is_run():
    """An op that takes several classes of types is run on each of them, or it is known that nothing runs it."""
    for name in RUN:
        every = {c.variant.dtype_class for c in op_variants.cases(name)}
        ran = {c.variant.dtype_class for c in op_variants.cases(name) if c.count}
        missing = {c.variant.dtype_class for c in op_variants.cases(name) if not c.runs}
        assert every - ran <= missing, name
    assert {op for op, _ in op_variants.NOT_EXECUTED} <= set(RUN)
    known = {(c.variant.op, c.variant.key) for name in RUN for c in op_variants.cases(name)}
    assert set(op_variants.NOT_EXECUTED) <= known


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
    ours = {"pcg.alternatives"}  # in saturated programs only
    assert set(registered()) - ours | CONTROL_FLOW | (TERMINATORS - {"func.return", "pcg.yield"}) == set(op_samples.every())


@pytest.mark.parametrize("reasons", [op_samples.REPLICATED, op_samples.STRUCTURAL, op_samples.NOT_RUN])
def test_reasons_are_sentences(reasons):
    assert all(len(text.split()) >= 4 for text in reasons.values())
