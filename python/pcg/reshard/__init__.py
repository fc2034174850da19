"""Redistribution: the cheapest collectives from one shard spec to another.  No MLIR here."""

from pcg.reshard.planner import DEFAULT_LINK, LinkCost, UniformLink, cost, plan, steps_cost
from pcg.reshard.steps import (
    AllGather,
    AllReduce,
    AllToAll,
    Permute,
    ReduceScatter,
    ReshardError,
    Slice,
    Step,
    local_bytes,
    permutation,
)

__all__ = [
    "DEFAULT_LINK", "AllGather", "AllReduce", "AllToAll", "LinkCost", "Permute", "ReduceScatter", "ReshardError",
    "Slice", "Step", "UniformLink", "cost", "local_bytes", "permutation", "plan", "steps_cost",
]
