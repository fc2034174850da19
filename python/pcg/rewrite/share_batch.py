"""Unlike groups of devices each work on a share of the batch that suits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import mesh_names, shardings
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.lower.processes import devices
from pcg.rewrite.propagate_meshes import outer_values
from pcg.rewrite.shares import Sharing, batch_of, owners
from pcg.search.roles import data_of, state_of

#: The mesh of all devices, on which the batch comes in.
ALL = "all"


@dataclass
class ShareBatch(Transformation):
    """Share the batch unevenly among the meshes of the module, in the order in which they are declared."""

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
