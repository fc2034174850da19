"""What is alive when."""

from __future__ import annotations

from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry
from pcg.viz.liveness import peak_bytes

CHAIN = """func.func @main(%x: tensor<256xf32>, %y: tensor<256xf32>) -> tensor<256xf32> {
  %0 = stablehlo.tanh %x : tensor<256xf32>
  %1 = stablehlo.reshape %0 : (tensor<256xf32>) -> tensor<16x16xf32>
  %2 = stablehlo.tanh %1 : tensor<16x16xf32>
  %3 = stablehlo.reshape %2 : (tensor<16x16xf32>) -> tensor<256xf32>
  %4 = stablehlo.tanh %3 : tensor<256xf32>
  func.return %4 : tensor<256xf32>
}"""
LOOP = """func.func @main(%x: tensor<256xf32>) -> tensor<256xf32> {
  %n = stablehlo.constant dense<3> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = "stablehlo.while"(%z, %x) ({
  ^bb0(%i: tensor<i32>, %a: tensor<256xf32>):
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<256xf32>):
    %b = stablehlo.tanh %a : tensor<256xf32>
    %c = stablehlo.tanh %b : tensor<256xf32>
    stablehlo.return %i, %c : tensor<i32>, tensor<256xf32>
  }) : (tensor<i32>, tensor<256xf32>) -> (tensor<i32>, tensor<256xf32>)
  func.return %0#1 : tensor<256xf32>
}"""


def peak(text: str, donated: tuple[int, ...] = ()) -> float:
    module = load_module(text, make_context(), "test")
    return peak_bytes(entry(module), donated)


def test_two_arguments_and_two_values_of_a_chain():
    assert peak(CHAIN) == 4 * 1024


def test_a_donated_argument_dies_at_its_last_use():
    assert peak(CHAIN, (0,)) == 3 * 1024


def test_a_loop_holds_its_carries_and_its_body():
    assert peak(LOOP) == 1024 + (1024 + 4) + 2 * 1024
