"""Sharing a batch: the program with uneven shares computes what it did, in one piece and by processes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_mlir import ir

from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.passes.pcg_uneven_data_parallelism import UnevenDataParallelismPass
from pcg.passes.pipeline import Pipeline
from support.close import assert_close
from support.processcheck import check, mesh
from support.rulecheck import context, random_value, run

MESHES = mesh("a", [0, 1], x=2) + mesh("b", [2], x=1)

#: name -> (function, what is not shared).
PROGRAMS = {
    "step of a linear layer": ("""
func.func @main(%w: tensor<4x3xf32>, %m: tensor<4x3xf32>, %x: tensor<8x4xf32>, %t: tensor<8x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<4x3xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %d = stablehlo.subtract %y, %t : tensor<8x3xf32>
  %q = stablehlo.multiply %d, %d : tensor<8x3xf32>
  %loss = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  %hm = stablehlo.multiply %half, %m : tensor<4x3xf32>
  %nm = stablehlo.add %hm, %g : tensor<4x3xf32>
  %nw = stablehlo.subtract %w, %nm : tensor<4x3xf32>
  return %nw, %nm, %loss : tensor<4x3xf32>, tensor<4x3xf32>, tensor<f32>
}""", []),
    "normalisation over the batch": ("""
func.func @main(%w: tensor<4x4xf32>, %x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<8.0> : tensor<4xf32>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %s = stablehlo.reduce(%h init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %mean = stablehlo.divide %s, %n : tensor<4xf32>
  %e = stablehlo.exponential %mean : tensor<4xf32>
  %b = stablehlo.broadcast_in_dim %e, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %r = stablehlo.subtract %h, %b : tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}""", []),
    "batch and sequence in one dimension": ("""
func.func @main(%w: tensor<4x3xf32>, %x: tensor<8x2x4xf32>) -> tensor<8x2x3xf32> {
  %f = stablehlo.reshape %x : (tensor<8x2x4xf32>) -> tensor<16x4xf32>
  %h = stablehlo.dot_general %f, %w, contracting_dims = [1] x [0] : (tensor<16x4xf32>, tensor<4x3xf32>) -> tensor<16x3xf32>
  %y = stablehlo.reshape %h : (tensor<16x3xf32>) -> tensor<8x2x3xf32>
  %t = stablehlo.transpose %y, dims = [1, 0, 2] : (tensor<8x2x3xf32>) -> tensor<2x8x3xf32>
  %z = stablehlo.tanh %t : tensor<2x8x3xf32>
  %r = stablehlo.transpose %z, dims = [1, 0, 2] : (tensor<2x8x3xf32>) -> tensor<8x2x3xf32>
  return %r : tensor<8x2x3xf32>
}""", []),
    "a largest value, and an initial value that counts once": ("""
func.func @main(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %five = stablehlo.constant dense<5.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %s = stablehlo.reduce(%y init: %five) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %m, %s : tensor<4xf32>, tensor<4xf32>
}""", []),
    "a table that is looked up, and its gradient": ("""
func.func @main(%table: tensor<6x3xf32>, %i: tensor<8x1xi32>, %g: tensor<8x3xf32>) -> (tensor<8x3xf32>, tensor<6x3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<6x3xf32>
  %five = stablehlo.constant dense<5> : tensor<8x1xi32>
  %j = stablehlo.and %i, %five : tensor<8x1xi32>
  %rows = "stablehlo.gather"(%table, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<6x3xf32>, tensor<8x1xi32>) -> tensor<8x3xf32>
  %d = "stablehlo.scatter"(%none, %j, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6x3xf32>, tensor<8x1xi32>, tensor<8x3xf32>) -> tensor<6x3xf32>
  return %rows, %d : tensor<8x3xf32>, tensor<6x3xf32>
}""", []),
    "a loop over layers that collects gradients": ("""
func.func @main(%ws: tensor<3x4x4xf32>, %x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<3x4x4xf32>) {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<3x4x4xf32>
  %r:4 = stablehlo.while(%i = %c0, %w = %ws, %h = %x, %acc = %z) : tensor<i32>, tensor<3x4x4xf32>, tensor<8x4xf32>, tensor<3x4x4xf32>
   cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %s = stablehlo.dynamic_slice %w, %i, %zero, %zero, sizes = [1, 4, 4] : (tensor<3x4x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x4xf32>
    %l = stablehlo.reshape %s : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
    %y = stablehlo.dot_general %h, %l, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %t = stablehlo.tanh %y : tensor<8x4xf32>
    %g = stablehlo.dot_general %h, %t, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %gr = stablehlo.reshape %g : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %a = stablehlo.dynamic_update_slice %acc, %gr, %i, %zero, %zero : (tensor<3x4x4xf32>, tensor<1x4x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x4x4xf32>
    %ni = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %ni, %w, %t, %a : tensor<i32>, tensor<3x4x4xf32>, tensor<8x4xf32>, tensor<3x4x4xf32>
  }
  %nw = stablehlo.subtract %r#1, %r#3 : tensor<3x4x4xf32>
  return %r#2, %nw : tensor<8x4xf32>, tensor<3x4x4xf32>
}""", []),
    "what cannot be shared is gathered": ("""
func.func @main(%w: tensor<4x4xf32>, %x: tensor<8x4xf32>) -> (tensor<8x8xf32>, tensor<8x4xf32>) {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %like = stablehlo.dot_general %h, %h, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %back = stablehlo.reverse %h, dims = [0] : tensor<8x4xf32>
  return %like, %back : tensor<8x8xf32>, tensor<8x4xf32>
}""", ["'stablehlo.reverse'"]),
    "a loop that needs a sum over the batch is not shared": ("""
func.func @main(%w: tensor<4xf32>, %x: tensor<8x4xf32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c0, %v = %w) : tensor<i32>, tensor<4xf32>
   cond {
    %n = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %y = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
    %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8xf32>) -> tensor<4xf32>
    %t = stablehlo.tanh %g : tensor<4xf32>
    %ni = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %ni, %t : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}""", ["'stablehlo.while'"]),
}


def shared(text: str, shares: tuple[int, ...]) -> tuple[ir.Module, UnevenDataParallelismPass]:
    module = load_module(MESHES + text, make_context(), "<test>")
    p = UnevenDataParallelismPass(shares=shares)
    Pipeline(["pcg-normalize", p]).run(module)
    module.operation.verify()
    return module, p


def same(text: str, shares: tuple[int, ...], seed: int = 0) -> tuple[ir.Module, UnevenDataParallelismPass]:
    """Share `text` and compare what it computes before and after."""
    module, p = shared(text, shares)
    rng = np.random.default_rng(seed)
    with context():
        plain = ir.Module.parse(text)
        main = next(iter(plain.body.operations)).operation
        values = [random_value(a.type, rng) for a in main.regions[0].blocks[0].arguments]
        want = run(str(plain), values)
        again = load_module(str(module), context(), "<test>")
        Pipeline("dist-strip").run(again)
        for g, w in zip(run(str(again), values), want, strict=True):
            assert_close(g, w, 1e-5)
    return module, p


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_computes_what_it_did(name):
    text, kept = PROGRAMS[name]
    _, p = same(text, (5, 3))
    assert [re.match(r"'[^']*'", r)[0] for _, r in p.remarks] == kept
    assert p.statistics["ops shared"] > 0 or "not shared" in name


@pytest.mark.parametrize("name", PROGRAMS)
def test_its_processes_compute_it_together(name):
    module, _ = shared(PROGRAMS[name][0], (6, 2))
    check(str(module), engine="dataflow")


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([n for n in PROGRAMS if "loop" not in n]), st.integers(1, 7), st.integers(0, 99))
def test_any_shares(name, first, seed):
    same(PROGRAMS[name][0], (first, 8 - first), seed)


def test_only_partial_sums_cross():
    """Both groups get weights from their owner and send it their parts of the gradient; activations stay."""
    module, p = shared(PROGRAMS["step of a linear layer"][0], (5, 3))
    assert p.statistics["bytes summed"] == 4 * (4 * 3 + 1) and p.statistics["bytes gathered"] == 0
    found = check(str(module), engine="search")
    crossing = [m for m in found.messages if (m.sender < 2) != (m.receiver < 2)]
    boxes = [[b - a for a, b in zip(m.start, m.limit, strict=True)] for m in crossing]
    assert crossing and all(8 not in b and 5 not in b for b in boxes)


def test_nothing_is_made_for_the_whole_batch():
    module, _ = shared(PROGRAMS["step of a linear layer"][0], (5, 3))
    lines = [line for line in str(module).splitlines() if re.search(r"tensor<8x\d+xf32>", line)]
    assert all("func.func" in line or "stablehlo.slice" in line for line in lines)
    assert "tensor<5x3xf32>" in str(module) and "tensor<3x4xf32>" in str(module)


@pytest.mark.parametrize(
    "meshes, shares, message",
    [
        (MESHES, (5, 2), "shares 5,2 of a batch of 8 for 2 meshes; allowed: a positive number for each"),
        (MESHES, (), "shares none of a batch of 8 for 2 meshes"),
        (MESHES, (8, 0), "shares 8,0 of a batch of 8"),
        (mesh("a", [0], x=1), (8,), "the module declares 1 meshes; allowed: two or more"),
        (mesh("a", [0], x=1) + mesh("b", [0], x=1), (5, 3), "a mesh shares devices with another"),
        (mesh("a", [0], x=1) + mesh("all", [1], x=1), (5, 3), "a mesh is called @all"),
    ],
)
def test_errors(meshes, shares, message):
    module = load_module(meshes + PROGRAMS["step of a linear layer"][0], make_context(), "<test>")
    with pytest.raises(PcgError, match=re.escape(message)):
        UnevenDataParallelismPass(shares=shares).run(module.operation)


def test_a_program_without_data_has_no_batch():
    text = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    module = load_module(MESHES + text, make_context(), "<test>")
    with pytest.raises(PcgError, match="there is no batch"):
        UnevenDataParallelismPass(shares=(1, 1)).run(module.operation)
