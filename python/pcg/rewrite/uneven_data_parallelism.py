"""Heterogeneous groups of devices work on unequal shares of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import mesh_names, shardings
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Transformation, option
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import entry_of, outer_values
from pcg.layout import Mesh
from pcg.lower.processes import devices
from pcg.rewrite.propagate_meshes import place_arguments
from pcg.rewrite.uneven_rewriter import UnevenRewriter
from pcg.rules.registry import shape
from pcg.search.roles import data_of, state_of

#: The mesh of all devices, on which the batch is an argument.
ALL = "all"


@dataclass
class UnevenDataParallelism(Transformation):
    """Split the batch unevenly among the meshes of the module, in the order in which they are declared."""

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
        batch, numbers = batch_of(func, data_of(func, state_of(func)))
        if not batch:
            raise PcgError("no argument is data with a dimension 0 of two elements or more: there is no batch", func)
        if len(self.shares) != len(meshes) or min(self.shares, default=0) < 1 or sum(self.shares) != batch:
            shares = ",".join(map(str, self.shares)) or "none"
            raise PcgError(
                f"shares {shares} of a batch of {batch} for {len(meshes)} meshes; allowed: a positive number for"
                " each, which add up to the batch", func
            )
        with module.context, func.location:
            rewriter = UnevenRewriter(func, numbers, self.shares, list(meshes))
            rewriter.run()
            shardings.set_mesh(module, Mesh.of({"device": len(ids)}, ids), ALL)
            shared = [i for i in _used_in_parts(rewriter.block) if i not in numbers]
            # Links are full duplex: with equal parts of the weights on each group both directions are used.
            place_arguments(func, {i: ALL for i in numbers} | _owners(func, shared, list(meshes)))
        self.statistics["ops shared"] += rewriter.shared
        self.statistics["bytes summed"] += int(rewriter.summed)
        self.statistics["bytes gathered"] += int(rewriter.gathered)
        for op, why in rewriter.kept:
            self.remark(op, f"'{op.name}' is not shared: {why}")


def _used_in_parts(block: ir.Block) -> list[int]:
    """Arguments that ops on shares of the batch read, directly or through other ops."""
    needed: set[ir.Value] = set()
    for op in reversed([o.operation for o in block.operations]):
        if mesh_names.ON in op.attributes or any(r in needed for r in op.results):
            needed.update(outer_values(op))
    return [a.arg_number for a in block.arguments if a in needed]


def batch_of(func: ir.Operation, data: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """(size of the batch, those of the arguments `data` that have it in dimension 0): the size that most of them have.

    Of equally many the larger; 0 where there is none.
    """
    arguments = func.regions[0].blocks[0].arguments
    lengths: dict[int, list[int]] = {}
    for i in data:
        full = shape(arguments[i])
        if full and full[0] > 1:
            lengths.setdefault(full[0], []).append(i)
    if not lengths:
        return 0, ()
    size = max(lengths, key=lambda n: (len(lengths[n]), n))
    return size, tuple(lengths[size])


def _owners(func: ir.Operation, arguments: Sequence[int], names: Sequence[str]) -> dict[int, str]:
    """Which of `names` has which argument, so that each has about as many bytes: greedily, the largest first."""
    sizes = {i: tensor_bytes(func.regions[0].blocks[0].arguments[i].type) for i in arguments}
    load = dict.fromkeys(names, 0.0)
    found = {}
    for i in sorted(sizes, key=lambda i: (-sizes[i], i)):
        found[i] = min(load, key=lambda n: (load[n], n))
        load[found[i]] += sizes[i]
    return found
