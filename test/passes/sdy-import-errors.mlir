// RUN: %pcg-opt %s --sdy-import --split-input-file --verify-diagnostics
// RUN: not %pcg-opt %s --sdy-import --mesh x=2 --split-input-file 2>&1 | FileCheck %s --check-prefix=MESH
// MESH: error: sdy-import: mesh @mesh has axis 'y'; allowed: 'x'

sdy.mesh @mesh = <["x"=2, "y"=4]>
// expected-error @+1 {{sharding [x, -]: dimension 0 of size 7 is not divisible by 2 (x)}}
func.func @main(%a: tensor<7x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<7x4xf32> {
  return %a : tensor<7x4xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
// expected-error @+1 {{unknown axis 'z'; the mesh has 'x', 'y'}}
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {}]>}) -> tensor<8x4xf32> {
  return %a : tensor<8x4xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{axis 'x' is used twice in [x, x]}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {"x"}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{uses a part of axis "x"; allowed: whole axes (split the axis in two)}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x":(1)2}, {}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

sdy.mesh @a = <["x"=4]>
// expected-error @+1 {{mesh @b (y=2) differs from @a (x=4); allowed: one mesh per program}}
sdy.mesh @b = <["y"=2]>

// -----

sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{unknown mesh @other; declared: @mesh}}
  %0 = sdy.sharding_constraint %a <@other, [{"x"}, {}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{is manual over 'x' and automatic over 'y'; allowed: manual over every axis of the mesh}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%b: tensor<4x4xf32>) {
    sdy.return %b : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// expected-error @+1 {{argument 0 of function 'main' has the GSPMD sharding '{devices=[2,1]<=[2]}'; allowed: Shardy's}}
func.func @main(%a: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) -> tensor<8x4xf32> {
  return %a : tensor<8x4xf32>
}

// -----

func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{'sdy.all_gather' is not supported; allowed: sdy.mesh, sdy.sharding_constraint}}
  %0 = sdy.all_gather [{}, {"x"}] %a out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
