// RUN: %pcg-opt %s --mesh=a=2,b=2 --auto-parallel --explain=html | FileCheck %s
// RUN: %pcg-opt %s --mesh=a=2,b=2 --auto-parallel --explain=html -o %t.html
// RUN: FileCheck %s --input-file %t.html
// RUN: %pcg-opt %s --mesh=a=2,b=2 --auto-parallel --no-substitutions --explain=html | FileCheck %s --check-prefix=NONE
// RUN: %pcg-opt %s --cluster=preset:summit:1 --devices=4 --auto-parallel --explain=html 2>/dev/null | FileCheck %s --check-prefix=CHOSEN
// RUN: not %pcg-opt %s --mesh=a=2,b=2 --auto-parallel --explain=pdf 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not %pcg-opt %s --mesh=a=2,b=2 --auto-parallel --lower --explain=html 2>&1 | FileCheck %s --check-prefix=LOWERED
// RUN: not %pcg-opt %s --canonicalize --explain=html 2>&1 | FileCheck %s --check-prefix=LOWERED
// RUN: not %pcg-opt %s --mesh=a=2,b=2 --lint --explain=html 2>&1 | FileCheck %s --check-prefix=LINT
// RUN: not %pcg-opt %s --mesh=a=2,b=2 --auto-parallel --emit-bytecode --explain=html 2>&1 | FileCheck %s --check-prefix=BYTECODE

// A page instead of the program: what a step takes, the rules, and the region before and after.
// CHECK: <!DOCTYPE html>
// CHECK: <h1>update on mesh a=2,b=2 (4 devices)</h1>
// CHECK: <td>without substitutions</td><td>{{[0-9.]+ (us|ms)}} (costs added up)</td>
// CHECK: <td>with substitutions</td><td>{{[0-9.]+ us}} (costs added up)</td>
// CHECK: <td>{{[0-9.]+}} times as fast</td>
// CHECK: <td>scaled-rows then subtract-from-table</td><td>explain-html.mlir:47 (1x)</td><td>scaled-rows: {{.*}} =&gt; {{.*}}, proved from properties: ours
// CHECK: <h3>scaled-rows then subtract-from-table: explain-html.mlir:47</h3>
// CHECK: <figcaption>before</figcaption>
// CHECK: subtract
// CHECK: <figcaption>after</figcaption>
// CHECK-NOT: subtract
// CHECK: negate
// CHECK: </html>
// NONE: <tr><td>estimated step</td><td>{{[0-9.]+ (us|ms)}} (costs added up)</td></tr>
// NONE: <p>None: the program is planned as it is.</p>
// NONE: <figcaption>as planned</figcaption>
// NONE: subtract
// CHOSEN: <h1>update on mesh {{.*}} (4 devices)</h1>
// CHOSEN: <td>without substitutions</td><td>{{[0-9.]+ (us|ms)}} (simulated)</td>
// CHOSEN: <td>with substitutions</td><td>{{[0-9.]+ us}} (simulated)</td>
// FORMAT: pcg-opt: error: argument --explain: invalid choice: 'pdf' (choose from {{'?}}html{{'?}})
// LOWERED: error: the program has no layouts, which --explain draws; allowed: pipelines that plan a program for one mesh and do not lower it, as --auto-parallel
// LINT: pcg-opt: error: --explain and --lint exclude each other
// BYTECODE: pcg-opt: error: --explain and --emit-bytecode exclude each other
module @update {
func.func @main(%t: tensor<1000000x64xf32>, %i: tensor<1024x1xi32>, %g: tensor<1024x64xf32>, %c: tensor<f32>) -> tensor<1000000x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<1000000x64xf32>
  %s = "stablehlo.scatter"(%zero, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<1000000x64xf32>, tensor<1024x1xi32>, tensor<1024x64xf32>) -> tensor<1000000x64xf32>
  %k = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<1000000x64xf32>
  %m = stablehlo.multiply %s, %k : tensor<1000000x64xf32>
  %r = stablehlo.subtract %t, %m : tensor<1000000x64xf32>
  return %r : tensor<1000000x64xf32>
}
}
