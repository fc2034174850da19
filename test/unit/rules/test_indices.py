"""Ops that take indices, at places inside and outside, repeated, at both ends of their types: by two oracles.

The emulator is compared with the reference interpreter, XLA on devices with XLA on one device.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from torch_mlir import ir

from pcg.layout import Mesh
from pcg.rules import rule_for
from pcg.tools import op_forms, op_samples
from pcg.tools.op_variants import Variant, rule_of
from support import indexforms, opcheck, opdevices
from support.rulecheck import context, last_op

MESHES = [Mesh.of({"x": 3}), Mesh.of({"x": 2}), Mesh.of({"x": 2, "y": 2})]
#: What XLA makes slices of, where a device's own slice may meet them: run on devices always.
SLICED = [
    v for v in indexforms.every()
    if v.what in ("3, 2", "8, 7", "1 windows", "i8 on 300", "ui64 on 300", "returns the update, 1 indices")
    or v.what in ("adds, 1 indices", "of unlike pairs, 1 indices", "one window, no batch", "adds to a window")
    or v.what in ("subtracts, the update first, 1 indices", "returns the update to one element, no batch")
]
GROUP = 8


def plans(variant: Variant, mesh: Mesh, limit: int) -> list[opcheck.Plan]:
    """Replication, and a sample of the other strategies, uneven ones too."""
    every = list(rule_of(variant).strategies(mesh, uneven=True))
    if len(every) > limit:
        every = [every[0], *random.Random(variant.what).sample(every[1:], limit - 1)]
    return [(mesh, every)]


def groups(variants: list[Variant]) -> list[list[Variant]]:
    """A few at a time: what is run together is compiled together."""
    return [variants[i : i + GROUP] for i in range(0, len(variants), GROUP)]


def on_devices(variants: list[Variant], mesh: Mesh, limit: int, draws: int) -> None:
    for interpret in (False, True):
        jobs = [(v, plans(v, mesh, limit)) for v in variants if indexforms.interpreted(v) == interpret]
        if jobs:
            assert opdevices.check(jobs * draws, interpret) == draws * sum(len(a) for _, p in jobs for _, a in p)


@pytest.mark.parametrize("some", groups(list(indexforms.every())), ids=lambda g: f"{g[0].op} {g[0].what}")
def test_by_the_emulator(some: list[Variant]) -> None:
    for v in some:
        assert opcheck.check([(v, plans(v, MESHES[0], 3))])


@pytest.mark.parametrize("some", groups(SLICED), ids=lambda g: f"{g[0].op} {g[0].what}")
def test_on_devices(some: list[Variant]) -> None:
    on_devices(some, MESHES[1], 2, 2)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("variant", indexforms.every(), ids=lambda v: f"{v.op} {v.what}")
def test_completely(variant: Variant, mesh: Mesh) -> None:
    opcheck.check([(variant, plans(variant, mesh, 12))] * 4)
    on_devices([variant], mesh, 8, 4)


def test_indices_are_also_outside_and_repeat() -> None:
    """The numbers that the sweeps draw are what they are said to be."""
    for v in indexforms.every():
        with context():
            module = ir.Module.parse(v.text)
            op = last_op(module)
            number = {"stablehlo.gather": 1, "stablehlo.scatter": len(op.results)}.get(v.op, len(op.operands) - 1)
            type_ = op.operands[number].type
            draws = [opcheck.index_value(type_, 9, np.random.default_rng(k)) for k in range(40)]
        found = [int(n) for x in draws for n in x.flat]
        width, signed = type_.element_type.width, not type_.element_type.is_unsigned
        ends = {-(2 ** (width - 1)), 2 ** (width - 1) - 1} if signed else {0, 2**width - 1}
        assert ends <= set(found), v.what
        assert any(0 <= n < 9 for n in found) and any(n > 9 for n in found) and (any(n < 0 for n in found) or not signed)
        if type_.rank and type_.shape[0] > 9:
            assert any(len(set(x.flat)) < x.size for x in draws)


@pytest.mark.parametrize("name", op_samples.SAMPLES)
def test_attributes_that_need_not_be_there(name: str) -> None:
    """A rule reads no attribute that the op may lack."""
    for text in (op_samples.SAMPLES[name], *op_forms.FORMS.get(name, {}).values()):
        with context(), ir.Location.unknown():
            whole = parsed(text)  # kept: it owns the op
            attributes = last_op(whole).attributes if whole else ()
            for attribute in [a if isinstance(a, str) else a.name for a in attributes]:
                module = ir.Module.parse(text)
                del last_op(module).attributes[attribute]
                if (less := parsed(module.operation.get_asm(print_generic_op_form=True))) is not None:
                    rule_for(last_op(less))


def parsed(text: str) -> ir.Module | None:
    try:
        return ir.Module.parse(text)
    except ir.MLIRError:
        return None
