"""Custom calls whose batch may be split: the rules, and JAX's linear algebra executed on several devices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from torch_mlir import ir

import pcg
from pcg.rules import FactorRule, rule_for
from pcg.rules.custom_call import annotated_rule
from support.close import assert_close
from support.rulecheck import context, last_op

QR = "#sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n]) {i=4, j=8, k=8, l=8, m=8, n=8}, custom>"
SHAPES = (((4, 8, 8),), ((4, 8, 8), (4, 8)))


def split(rule: FactorRule | None) -> list[int]:
    assert rule is not None
    return [i for i, f in enumerate(rule.factors) if f.splittable]


def test_only_the_batch_of_an_annotated_rule_is_split() -> None:
    rule = annotated_rule(QR, *SHAPES)
    assert str(rule) == "(i,j,k)->(i,l,m),(i,n)" and split(rule) == [0]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (QR.replace("n=8}", "n=8} need_replication={i}"), []),
        (QR.replace("n=8}", "n=8} permutation={i}"), []),
        (QR.replace("[i, n])", "[o, n])").replace("n=8}", "n=8, o=4}"), []),  # the second result lacks i
    ],
)
def test_factors_that_shards_cannot_compute(text: str, want: list[int]) -> None:
    assert split(annotated_rule(text, *SHAPES)) == want


def test_compound_dimensions_and_numbered_symbols() -> None:
    text = "#sdy.op_sharding_rule<([ij, z_1])->([i, jz_1]) {i=4, j=2, z_1=3}, custom>"
    rule = annotated_rule(text, ((8, 3),), ((4, 6),))
    assert str(rule) == "(i*j,k)->(i,j*k)" and split(rule) == [0, 1, 2]


@pytest.mark.parametrize(
    "text", ["#sdy.op_sharding_rule<([i])->([i]) {i=4}, custom>", QR.replace("i=4", "i=5"), "#sdy.sharding<@mesh, [{}]>"]
)
def test_rules_that_do_not_fit_are_not_used(text: str) -> None:
    assert annotated_rule(text, *SHAPES) is None


def call(target: str, operands: list[str], results: list[str], more: str = "") -> FactorRule:
    arguments = ", ".join(f"%x{i}: tensor<{t}>" for i, t in enumerate(operands))
    types = ", ".join(f"tensor<{t}>" for t in operands)
    out = ", ".join(f"tensor<{t}>" for t in results)
    text = f"""func.func @main({arguments}) -> ({out}) {{
      %r:{len(results)} = "stablehlo.custom_call"({", ".join(f"%x{i}" for i in range(len(operands)))}) {{
        call_target_name = "{target}"{more}}} : ({types}) -> ({out})
      return {", ".join(f"%r#{i}" for i in range(len(results)))} : {out} }}"""
    with context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        return rule_for(last_op(module))


def test_known_calls() -> None:
    assert split(call("Qr", ["4x6x8x8xf32"], ["4x6x8x8xf32", "4x6x8xf32"])) == [0, 1]
    assert split(call("mhlo.topk", ["4x8xf32"], ["4x2xf32", "4x2xi32"])) == [0]
    assert split(call("mhlo.erf", ["4x8xf32"], ["4x8xf32"])) == [0, 1]


def test_calls_that_stay_opaque() -> None:
    assert "opaque" in call("my_kernel", ["4x8xf32"], ["4x8xf32"]).reason
    assert "opaque" in call("mhlo.erf", ["4x8xf32"], ["4x8xf32"], ", has_side_effect = true").reason
    assert "opaque" in call("CustomSPMDPartitioning", ["4x8xf32"], ["4x8xf32"]).reason


FUNCTIONS = {
    "qr": lambda x: jnp.linalg.qr(x)[0] @ jnp.linalg.qr(x)[1],
    "eigh": lambda x: jnp.linalg.eigh(x + x.swapaxes(1, 2))[0],
    "svd": lambda x: jnp.linalg.svd(x)[1],
    "cholesky": lambda x: jnp.linalg.cholesky(x @ x.swapaxes(1, 2) + 8 * jnp.eye(8)),
    "solve": lambda x: jnp.linalg.solve(x + 8 * jnp.eye(8), x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_linear_algebra_of_jax_runs_on_shards_of_the_batch(name: str) -> None:
    x = np.random.default_rng(0).normal(size=(8, 8, 8)).astype(np.float32)
    compiled = pcg.compile(FUNCTIONS[name], {"data": 4})
    assert_close(compiled(x), jax.jit(FUNCTIONS[name])(x), 1e-4)
    assert "is opaque" not in compiled.explain()
    assert "[data, -, -]" in compiled.explain()
