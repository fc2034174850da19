"""Rules of collectives that a program already contains: they run replicated.

They were written for devices that the program addresses itself; pcg adds its own beside them.
"""

from __future__ import annotations

from torch_mlir import ir

from pcg.rules.factor import FactorRule
from pcg.rules.opaque import run_replicated
from pcg.rules.registry import rule

NAMES = (
    "stablehlo.all_reduce", "stablehlo.all_gather", "stablehlo.reduce_scatter", "stablehlo.all_to_all",
    "stablehlo.collective_permute", "stablehlo.collective_broadcast", "stablehlo.cross-replica-sum",
    "stablehlo.partition_id", "stablehlo.replica_id", "stablehlo.send", "stablehlo.recv",
    "stablehlo.collective_reduce", "stablehlo.async_start", "stablehlo.async_done",
)  # fmt: skip


@rule(*NAMES)
def collective(op: ir.Operation) -> FactorRule:
    return run_replicated(op, f"{op.name} already addresses devices of its own")
