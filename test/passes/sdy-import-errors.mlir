// RUN: %pcg-opt %s --sdy-import --split-input-file --verify-diagnostics
// RUN: not %pcg-opt %s --sdy-import --mesh x=2 --split-input-file 2>&1 | FileCheck %s --check-prefix=MESH
// MESH: error: sdy-import: mesh @mesh has axis 'y'; allowed: 'x'

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
  // expected-error @+1 {{sharding [x:(1)3, -]: x:(1)3 is not a part of axis 'x' of size 4: 1 * 3 does not divide 4}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x":(1)3}, {}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{sharding [x:(1)4, x:(2)4]: x:(1)4 and x:(2)4 overlap}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x":(1)4}, {"x":(2)4}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{x:(1)2 and x overlap}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"x":(1)2}, {}], replicated={"x"}> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

sdy.mesh @mesh = <["x"=12]>
func.func @main(%a: tensor<12x4xf32>) -> tensor<12x4xf32> {
  %0 = sdy.sharding_constraint %a <@mesh, [{"x":(1)2}, {}]> : tensor<12x4xf32>
  // expected-error @+1 {{axis 'x' of size 12 would be split after 2 and after 3; allowed: sub-axes with a common refinement, but 2 does not divide 3}}
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x":(1)3}, {}]> : tensor<12x4xf32>
  return %1 : tensor<12x4xf32>
}

// -----

sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{is manual over a part of axis "x"; allowed: whole axes}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"x":(1)2} (%b: tensor<8x4xf32>) {
    sdy.return %b : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
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

// The body numbers its devices by the mesh that it is written for.
"dist.mesh"() {sym_name = "placed", value = #dist.process_mesh<["y", "x"], [4, 2], []>} : () -> ()
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{is written for the mesh x=2,y=4, the program is placed on y=4,x=2; allowed: the same axes in the same order}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%b: tensor<4x4xf32>) {
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

// -----

sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // expected-error @+1 {{stablehlo.all_gather over parts of axes}}
  %0 = "stablehlo.all_gather"(%a) {all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "y", sub_axis_info = (1)2>]>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : (tensor<4x2xf32>) -> tensor<8x2xf32>
  return %a : tensor<4x2xf32>
}
