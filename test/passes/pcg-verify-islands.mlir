// RUN: %pcg-opt %s --pcg-verify-islands=memory=64 -o /dev/null
// RUN: not %pcg-opt %s --pcg-verify-islands=memory=63 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: %pcg-opt %s --pcg-verify-islands --mlir-pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=STATISTICS

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {island = "podA", sym_name = "b", value = #dist.process_mesh<["x"], [2], [1, 2]>} : () -> ()
func.func private @f(tensor<8xf32>) -> tensor<8xf32>

// Device 1 has shards of both slices: 16 bytes of each value on @a, 32 of the one on @b.
// MEMORY: :[[#]]:8: error: pcg-verify-islands: %1: island podA, instruction 1 (Copy slot 1 to slot 2): 64 bytes on a device; the limit is 63
// STATISTICS: 64 peak bytes per device of podA
func.func @main.podA(%x: tensor<8xf32> {dist.spec = #dist.shard_spec<@a, [["x"]], {}>, pcg.argument = 0}) -> tensor<8xf32> attributes {island = "podA", pcg.results = array<i64: 0>} {
  %0 = call @f(%x) {mesh = @a, in_specs = [#dist.shard_spec<@a, [["x"]], {}>], out_specs = [#dist.shard_spec<@a, [["x"]], {}>]} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "pcg.transfer"(%0) {mesh = @b, dist.specs = [#dist.shard_spec<@b, [[]], {}>], last_uses = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  // A donated buffer is taken over by a result of the same type and layout.
  %2 = call @f(%1) {mesh = @b, in_specs = [#dist.shard_spec<@b, [[]], {}>], out_specs = [#dist.shard_spec<@b, [[]], {}>], last_uses = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
