"""pcg-share-batch: unlike groups of devices each work on a share of the batch that suits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch_mlir import ir

from pcg.ir import mesh_names, shardings
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.lower.processes import devices
from pcg.passes.base import Pass, option
from pcg.passes.dist_propagate_meshes import outer_values
from pcg.rewrite.shares import Sharing, batch_of, owners
from pcg.search.roles import data_of, state_of

#: The mesh of all devices, on which the batch comes in.
ALL = "all"


@dataclass
class ShareBatchPass(Pass):
    """Share the batch unevenly among the meshes of the module, in the order in which they are declared.

    Every op on the batch becomes one op per mesh on the mesh's share.  What is then known only in part (a gradient, a
    loss) is added up where the whole of it is needed.  Weights are dealt to the meshes by bytes: a weight, what belongs
    to it and its update are on one mesh, the other meshes are sent it at the start of a step, and send their parts
    of its gradient.  The batch itself comes in whole on a mesh @all of all devices, so nothing of it travels.
    The function and its signature stay what they are; dist-propagate-meshes and pcg-split-meshes go on from here.

    Before, with meshes @a and @b and `shares=5,3`:
    ```mlir
    func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x2xf32>) -> tensor<8x2xf32> {
      %0 = stablehlo.dot_general %x, %w, ...
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<8x4xf32> {dist.mesh = @all}, %w: tensor<4x2xf32> {dist.mesh = @a}) -> tensor<8x2xf32> {
      %0 = stablehlo.slice %x [0:5, 0:4] {dist.mesh = @a} : (tensor<8x4xf32>) -> tensor<5x4xf32>
      %1 = stablehlo.slice %x [5:8, 0:4] {dist.mesh = @b} : (tensor<8x4xf32>) -> tensor<3x4xf32>
      %2 = stablehlo.dot_general %0, %w, ... {dist.mesh = @a}
      %3 = stablehlo.dot_general %1, %w, ... {dist.mesh = @b}
      %4 = stablehlo.concatenate %2, %3, dim = 0
    ```
    """

    name: ClassVar[str] = "pcg-share-batch"

    shares: tuple[int, ...] = option((), "elements of the batch for each mesh, as 10,6; they add up to the batch")

    def run(self, module: ir.Operation) -> None:
        module = module.operation
        func = entry_of(module)
        meshes = shardings.meshes_of(module)
        if len(meshes) < 2:
            raise PcgError(f"the module declares {len(meshes)} meshes; allowed: two or more to share among", module)
        ids = [d for m in meshes.values() for d in devices(m)]
        if ALL in meshes or len(set(ids)) != len(ids):
            what = f"is called @{ALL}" if ALL in meshes else "shares devices with another"
            raise PcgError(f"a mesh {what}; allowed: disjoint meshes with other names", module)
        state = state_of(func)
        batch, numbers = batch_of(func, data_of(func, state))
        if not batch:
            raise PcgError("no argument is data with a dimension 0 of two elements or more: there is no batch", func)
        if len(self.shares) != len(meshes) or min(self.shares, default=0) < 1 or sum(self.shares) != batch:
            given = ",".join(map(str, self.shares)) or "none"
            raise PcgError(
                f"shares {given} of a batch of {batch} for {len(meshes)} meshes; allowed: a positive number for"
                " each, which add up to the batch", func
            )
        with module.context, func.location:
            sharing = Sharing(func, numbers, self.shares, list(meshes))
            sharing.run()
            shardings.set_mesh(module, Mesh.of({"device": len(ids)}, ids), ALL)
            self._place(func, numbers, state, {n: float(m.size) for n, m in meshes.items()})
        self.statistics["ops shared"] += sharing.shared
        self.statistics["bytes summed"] += int(sharing.summed)
        self.statistics["bytes gathered"] += int(sharing.gathered)
        for op, why in sharing.kept:
            self.remark(op, f"'{op.name}' is not shared: {why}")

    def _place(
        self, func: ir.Operation, batch: Sequence[int], state: dict[int, int], weights: dict[str, float]
    ) -> None:
        """Say on which mesh arguments, and the results that are their next values, are."""
        block = func.regions[0].blocks[0]
        shared = [i for i in _used_in_parts(block) if i not in batch]
        # The network between groups goes both ways: halves of the weights use both.
        owner = owners(func, shared, dict.fromkeys(weights, 1.0))
        on: dict[int, str] = {i: ALL for i in batch} | owner
        mesh_names.set_signature_meshes(func, "arg_attrs", [on.get(i) for i in range(len(block.arguments))])
        results = list(block.operations)[-1].operation.operands
        next_of = [owner.get(state[r]) if r in state else None for r in range(len(results))]
        mesh_names.set_signature_meshes(func, "res_attrs", next_of)


def _used_in_parts(block: ir.Block) -> list[int]:
    """Arguments from which ops on parts of the batch get whole values, directly or through others."""
    needed: set[ir.Value] = set()
    for op in reversed([o.operation for o in block.operations]):
        if mesh_names.ON in op.attributes or any(r in needed for r in op.results):
            needed.update(outer_values(op))
    return [a.arg_number for a in block.arguments if a in needed]
