"""Hand-annotated programs, executed before and after lowering."""

import numpy as np
import pytest

from pcg.ir.errors import PcgError
from support.lowercheck import check, lower, mesh_op, spec

MESH = mesh_op(data=2, model=4)
X, W1, W2, H = spec("data,-"), spec("-,model"), spec("model,-"), spec("data,model")
P, R = spec("data,-", model="sum"), spec("-,-")


def mlp(out: str = X, needs: str = X) -> str:
    return f"""{MESH}
    func.func @main(%x: tensor<8x16xf32> {{dist.spec = {X}}}, %w1: tensor<16x32xf32> {{dist.spec = {W1}}},
        %w2: tensor<32x16xf32> {{dist.spec = {W2}}}) -> (tensor<8x16xf32> {{dist.spec = {out}}}) {{
      %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0]
        {{dist.specs = [{H}], dist.operand_specs = [{X}, {W1}]}}
        : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
      %1 = stablehlo.tanh %0 {{dist.specs = [{H}]}} : tensor<8x32xf32>
      %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0]
        {{dist.specs = [{P}], dist.operand_specs = [{H}, {W2}]}}
        : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
      %3 = stablehlo.tanh %2 {{dist.specs = [{needs}], dist.operand_specs = [{needs}]}} : tensor<8x16xf32>
      func.return %3 : tensor<8x16xf32>
    }}"""


def test_megatron_mlp_has_one_all_reduce():
    counts, text = check(mlp(), rtol=1e-5)
    assert counts == {"all_reduce": 1}
    assert "tensor<4x8xf32>" in text


def test_sequence_parallel_mlp_has_a_reduce_scatter_and_a_gather():
    counts, _ = check(mlp(out=X, needs=spec("data,model")), rtol=1e-5)
    assert counts == {"reduce_scatter": 1, "all_gather": 1}


def test_unfused_operators_lower_too():
    counts, _ = check(mlp(needs=spec("data+model,-")), rtol=1e-5, fuse=False)
    assert counts == {"all_reduce": 1, "all_gather": 1}


def test_loop_with_sharded_carry_and_a_captured_weight():
    """The weight's gather is outside the loop, the partial sum's reduction inside."""
    k = f"dist.specs = [{spec('')}]"
    text = f"""{MESH}
    func.func @main(%x: tensor<8x16xf32> {{dist.spec = {R}}}, %w: tensor<16x16xf32> {{dist.spec = {spec('-,data')}}})
        -> (tensor<8x16xf32> {{dist.spec = {X}}}) {{
      %c = stablehlo.constant {{{k}}} dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%i = %c, %y = %x) : tensor<i32>, tensor<8x16xf32>
        attributes {{dist.specs = [{spec('')}, {H}]}}
      cond {{
        %n = stablehlo.constant {{{k}}} dense<3> : tensor<i32>
        %l = stablehlo.compare LT, %i, %n {{{k}}} : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %l : tensor<i1>
      }} do {{
        %o = stablehlo.constant {{{k}}} dense<1> : tensor<i32>
        %j = stablehlo.add %i, %o {{{k}}} : tensor<i32>
        %d = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0]
          {{dist.specs = [{P}], dist.operand_specs = [{H}, {W2}]}}
          : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
        stablehlo.return %j, %d : tensor<i32>, tensor<8x16xf32>
      }}
      func.return %r#1 : tensor<8x16xf32>
    }}"""
    counts, local = check(text, rtol=1e-5)
    before, loop = local.split("stablehlo.while")
    assert "all_gather" in before and "all_gather" not in loop.split("do {")[1].split("return")[0]
    assert "reduce_scatter" in loop
    assert counts == {"reduce_scatter": 1, "all_gather": 2}


def test_max_over_a_split_dimension_is_an_all_reduce_by_max():
    v = spec("data", model="max")
    text = f"""{MESH}
    func.func @main(%x: tensor<8x16xf32> {{dist.spec = {H}}}) -> (tensor<8xf32> {{dist.spec = {spec('data')}}}) {{
      %c = stablehlo.constant {{dist.specs = [{spec('')}]}} dense<0xFF800000> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1]
        {{dist.specs = [{v}], dist.operand_specs = [{H}, {spec('')}]}}
        : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
      func.return %0 : tensor<8xf32>
    }}"""
    counts, local = check(text)
    assert counts == {"all_reduce": 1}
    assert "stablehlo.maximum %arg" in local


@pytest.mark.parametrize("taken", [0, 1, 5])
def test_case_with_collectives_in_one_branch(taken):
    text = f"""{MESH}
    func.func @main(%i: tensor<i32> {{dist.spec = {spec('')}}}, %x: tensor<8x16xf32> {{dist.spec = {H}}})
        -> (tensor<8x16xf32> {{dist.spec = {H}}}) {{
      %0 = "stablehlo.case"(%i) ({{
        %a = stablehlo.tanh %x {{dist.specs = [{W1}], dist.operand_specs = [{W1}]}} : tensor<8x16xf32>
        stablehlo.return %a : tensor<8x16xf32>
      }}, {{
        stablehlo.return %x : tensor<8x16xf32>
      }}) {{dist.specs = [{spec('model,data')}]}} : (tensor<i32>) -> tensor<8x16xf32>
      func.return %0 : tensor<8x16xf32>
    }}"""
    counts, _ = check(text, [np.array(taken, np.int32), None])
    assert sum(counts.values()) >= 2


def test_operand_layouts_are_derived_from_the_rule_when_absent():
    text = f"""{MESH}
    func.func @main(%x: tensor<8x16xf32> {{dist.spec = {R}}}, %y: tensor<8x16xf32> {{dist.spec = {W2}}})
        -> (tensor<8x16xf32> {{dist.spec = {R}}}) {{
      %0 = stablehlo.add %x, %y {{dist.specs = [{X}]}} : tensor<8x16xf32>
      func.return %0 : tensor<8x16xf32>
    }}"""
    check(text)


def test_constraint_moves_the_value_and_disappears():
    text = f"""{MESH}
    func.func @main(%x: tensor<8x16xf32> {{dist.spec = {W2}}}) -> (tensor<8x16xf32> {{dist.spec = {W1}}}) {{
      %0 = "dist.constraint"(%x) {{spec = {W1}, dist.specs = [{W1}]}} : (tensor<8x16xf32>) -> tensor<8x16xf32>
      func.return %0 : tensor<8x16xf32>
    }}"""
    assert check(text)[0] == {"all_to_all": 1}


def test_consumers_of_one_layout_share_the_operators():
    text = f"""{MESH}
    func.func @main(%x: tensor<8x16xf32> {{dist.spec = {W2}}}) -> (tensor<8x16xf32> {{dist.spec = {R}}}) {{
      %0 = stablehlo.tanh %x {{dist.specs = [{R}], dist.operand_specs = [{R}]}} : tensor<8x16xf32>
      %1 = stablehlo.negate %x {{dist.specs = [{R}], dist.operand_specs = [{R}]}} : tensor<8x16xf32>
      %2 = stablehlo.abs %x {{dist.specs = [{W1}], dist.operand_specs = [{W1}]}} : tensor<8x16xf32>
      %3 = stablehlo.add %0, %1 {{dist.specs = [{R}]}} : tensor<8x16xf32>
      %4 = stablehlo.add %3, %2 {{dist.specs = [{R}], dist.operand_specs = [{R}, {R}]}} : tensor<8x16xf32>
      func.return %4 : tensor<8x16xf32>
    }}"""
    counts, _ = check(text)
    assert counts == {"all_gather": 2}  # one of %x, shared; the other layout is sliced from it


@pytest.mark.parametrize("dtype,op,kind", [
    ("i1", "or", "or"), ("i1", "and", "and"), ("i32", "or", "or"), ("i32", "and", "and"), ("i32", "multiply", "prod"),
    ("ui8", "minimum", "min"), ("f32", "add", "sum"), ("bf16", "add", "sum"), ("i64", "maximum", "max"),
])  # fmt: skip
@pytest.mark.parametrize("scatter", [False, True])
def test_every_reduction(dtype, op, kind, scatter):
    init = {"or": "0", "and": "-1", "multiply": "1", "minimum": "255", "add": "0.0", "maximum": "-9"}[op]
    init = {"0": "false", "-1": "true"}[init] if dtype == "i1" else init
    out = spec("model") if scatter else spec("-")
    text = f"""{MESH}
    func.func @main(%x: tensor<8x16x{dtype}> {{dist.spec = {H}}}) -> (tensor<8x{dtype}> {{dist.spec = {out}}}) {{
      %c = stablehlo.constant {{dist.specs = [{spec('')}]}} dense<{init}> : tensor<{dtype}>
      %0 = stablehlo.reduce(%x init: %c) applies stablehlo.{op} across dimensions = [1]
        {{dist.specs = [{spec('data', model=kind)}], dist.operand_specs = [{H}, {spec('')}]}}
        : (tensor<8x16x{dtype}>, tensor<{dtype}>) -> tensor<8x{dtype}>
      func.return %0 : tensor<8x{dtype}>
    }}"""
    check(text)


def test_partial_value_may_not_reach_a_nonlinear_op():
    text = mlp().replace(f"%2 {{dist.specs = [{X}], dist.operand_specs = [{X}]}}", f"%2 {{dist.specs = [{P}]}}")
    with pytest.raises(PcgError, match="tanh.*cannot give its results"):
        lower(text)


def test_an_op_that_is_not_linear_takes_no_partial_sums():
    whole = f"%x {{dist.specs = [{P}], dist.operand_specs = [{P}]}}"
    text = mlp().replace(f"%2 {{dist.specs = [{X}], dist.operand_specs = [{X}]}}", whole)
    with pytest.raises(PcgError, match="partial over 'model', which the op cannot pass through"):
        lower(text)


def test_donation_stays_only_between_equal_local_types():
    text = f"""{MESH}
    func.func @main(%x: tensor<8x16xf32> {{dist.spec = {X}, tf.aliasing_output = 0 : i32}},
        %y: tensor<8x16xf32> {{dist.spec = {R}, tf.aliasing_output = 1 : i32}})
        -> (tensor<8x16xf32> {{dist.spec = {X}, jax.result_info = "a"}}, tensor<8x16xf32> {{dist.spec = {X}}}) {{
      func.return %x, %y : tensor<8x16xf32>, tensor<8x16xf32>
    }}"""
    local = str(lower(text))
    assert "%arg0: tensor<4x16xf32> {tf.aliasing_output = 0 : i32}" in local
    assert "%arg1: tensor<8x16xf32> {jax.buffer_donor = true}" in local
    assert 'jax.result_info = "a"' in local
