from pcg.passes.base import Pass
from pcg.rewrite.import_sdy import ImportSdy


class SdyImportPass(ImportSdy, Pass):
    """Translate Shardy annotations (`sdy.*`) into `dist.*`.

    The meshes of the program become one `dist.mesh @mesh` (meshes without axes are dropped).  If the
    module has a `dist.mesh` already (`--mesh`), that one is used and must have every axis named.
    `sdy.sharding` on arguments and results of the entry function becomes `dist.spec`; everywhere else,
    as `sdy.sharding_constraint` and `sdy.reshard`, it becomes `dist.constraint`.

    Open dimensions: a sharding whose dimensions are all open and empty demands nothing and is dropped.
    Otherwise the axes that are named are fixed, and `dist.open = [dims]` lists the open dimensions, which
    may be split further.  Priorities (`{"x"}p1`) become `dist.priorities`, one number per dimension, where some are
    not 0; they say when `dist-propagate{engine=priority}` spreads a dimension, which is fixed all the same.
    `unreduced` axes become partial sums; arguments and results of the entry function may have none.  With
    sub-axes (`"x":(1)2`) the mesh is refined so that they are axes, as by `dist-refine-mesh`.  A
    `sdy.manual_computation` becomes a custom call `@dist.manual` of a private function (the body), with attributes
    `in_specs` and `out_specs`; along mesh axes that it leaves automatic all devices run it alike (`repeats` is how many
    do).  With Shardy off, `mhlo.sharding` other than replicated is refused.

    Before:
    ```mlir
    sdy.mesh @mesh = <["x"=2, "y"=4]>
    func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x16xf32> {
      %0 = stablehlo.tanh %a : tensor<8x16xf32>
      %1 = sdy.sharding_constraint %0 <@mesh, [{?}, {"y"}]> : tensor<8x16xf32>
      return %1 : tensor<8x16xf32>
    }
    ```
    After:
    ```mlir
    "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
    func.func @main(%a: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>}) -> tensor<8x16xf32> {
      %0 = stablehlo.tanh %a : tensor<8x16xf32>
      %1 = "dist.constraint"(%0) {dist.open = [0], spec = #dist.shard_spec<@mesh, [[], ["y"]], {}>}
        : (tensor<8x16xf32>) -> tensor<8x16xf32>
      return %1 : tensor<8x16xf32>
    }
    ```
    """

    name = "sdy-import"
