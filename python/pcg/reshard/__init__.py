"""Redistribution: the cheapest collectives from one shard spec to another, transfers between meshes.  No MLIR here."""

from pcg.reshard.cross import CrossPlan, TransferPiece, cross_mesh_plan
from pcg.reshard.planner import DEFAULT_LINK, MASK_SECONDS, LinkCost, UniformLink, cost, plan, steps_cost
from pcg.reshard.steps import (
    AllGather,
    AllReduce,
    AllToAll,
    Mask,
    Permute,
    ReduceScatter,
    Regroup,
    ReshardError,
    ReshardStep,
    Slice,
    at_once,
    local_bytes,
    permutation,
)

__all__ = [
    "DEFAULT_LINK", "MASK_SECONDS", "AllGather", "AllReduce", "AllToAll", "CrossPlan", "LinkCost", "Mask", "Permute",
    "ReduceScatter", "Regroup", "ReshardError", "ReshardStep", "Slice", "TransferPiece", "UniformLink", "at_once",
    "cost", "cross_mesh_plan", "local_bytes", "permutation", "plan", "steps_cost",
]
