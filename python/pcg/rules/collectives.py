"""Rules of collectives that a program already contains.

pcg takes a program as one device would run it, so the devices that a collective names are those of a grid of one:
replica 0, partition 0.  Among one device every collective is the identity, and its number is 0.  Any other group of
devices is a contradiction and is refused: a program written for one of many devices (an old `pmap`, GSPMD's
output) runs on data of which each of them has its own.

Inside of `shard_map` (`sdy.manual_computation`) collectives are between the devices of the mesh.  They are lowered as
they are, with the body that they are in; no rule is asked about them.
"""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.rules.factor import FactorRule
from pcg.rules.opaque import pass_through, run_replicated
from pcg.rules.registry import rule
from pcg.rules.traits import Trait
from pcg.rules.values import optional

#: Collectives among the members of each group of devices.
_GROUPED = frozenset(
    "stablehlo." + n
    for n in (
        "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_broadcast", "cross-replica-sum",
        "collective_reduce",
    )
)  # fmt: skip
_PERMUTE = "stablehlo.collective_permute"
_NUMBERS = frozenset({"stablehlo.partition_id", "stablehlo.replica_id"})
_CHANNELS = frozenset({"stablehlo.send", "stablehlo.recv"})
_ASYNC = frozenset({"stablehlo.async_start", "stablehlo.async_done"})
NAMES = (*sorted(_GROUPED), _PERMUTE, *sorted(_NUMBERS), *sorted(_CHANNELS), *sorted(_ASYNC))
#: Collectives between devices -> the redistribution step (and the curve of the cost model) that each of them is.
STEP_KINDS = {
    "stablehlo.all_reduce": "all_reduce", "stablehlo.all_gather": "all_gather",
    "stablehlo.reduce_scatter": "reduce_scatter", "stablehlo.all_to_all": "all_to_all",
    _PERMUTE: "permute", "stablehlo.collective_broadcast": "permute",
}  # fmt: skip
_TRAITS = {
    **dict.fromkeys(NAMES, Trait.NONE),
    **dict.fromkeys(STEP_KINDS, Trait.COLLECTIVE | Trait.UNFUSABLE),
    "stablehlo.all_reduce": Trait.COLLECTIVE | Trait.UNFUSABLE | Trait.SCALAR_BODY,
    **dict.fromkeys(_NUMBERS, Trait.DEVICE_NUMBER | Trait.UNREPEATABLE),
    **dict.fromkeys(_CHANNELS, Trait.HOST_IO | Trait.UNFUSABLE | Trait.UNREPEATABLE),
}
#: What the documentation says of them.
REASON = "a program for one device has no peers: groups of one change nothing, others are refused"
_ALLOWED = (
    "allowed: groups of one device, which change nothing; for collectives between devices, jax.shard_map "
    "(sdy.manual_computation)"
)
_HOST = "it is ordered by tokens, and every device must exchange the same with the host"
REPLICAS, PARTITIONS = "mhlo.num_replicas", "mhlo.num_partitions"


def why_refused(op: ir.Operation) -> str:
    """Why a collective outside of `shard_map` has no meaning in a program for one device; empty if it has one."""
    name = op.name
    if name in _NUMBERS:
        many = _count(op, PARTITIONS if name == "stablehlo.partition_id" else REPLICAS)
        if many > 1:
            return f"'{name}' op: the program is for {many} devices at once, and each has another number; {_ALLOWED}"
        return ""
    if name in _ASYNC:
        return f"'{name}' op: asynchronous collectives are what compilers make; allowed: the collective itself"
    if name in _CHANNELS:
        return "" if optional(op, "is_host_transfer", False) else f"'{name}' op sends between devices; {_ALLOWED}"
    if name == _PERMUTE:
        pairs = _pairs(op)
        if any(s != t for s, t in pairs):
            return f"'{name}' op sends between devices, {pairs}, but the program is for one device; {_ALLOWED}"
        return ""
    groups = _groups(op)
    if any(len(g) > 1 for g in groups):
        return f"'{name}' op is between the devices {groups}, but the program is for one device; {_ALLOWED}"
    if groups and [0] not in groups:
        return f"'{name}' op is on the devices {groups}, but the one of the program, 0, is not among them; {_ALLOWED}"
    if not groups and "channel_handle" in op.attributes and (many := _count(op, PARTITIONS)) > 1:
        return f"'{name}' op is between all {many} devices, but the program is seen as that of one; {_ALLOWED}"
    if [v.type for v in op.operands] != [r.type for r in op.results]:
        types = ", ".join(str(r.type) for r in op.results)
        return f"'{name}' op makes {types}, which more than one device would have to contribute to; {_ALLOWED}"
    return ""


def returns_operands(op: ir.Operation) -> bool:
    """Whether a collective that is not refused returns its operands; else its results are zero."""
    return op.name in _GROUPED or (op.name == _PERMUTE and [0, 0] in _pairs(op))


def is_plain(op: ir.Operation) -> bool:
    """Whether an op is a collective whose results on one device are known: its operands, or zeros."""
    return op.name in _GROUPED or op.name == _PERMUTE or op.name in _NUMBERS


def check_replicas(module: ir.Operation) -> None:
    """Refuse a module that several replicas run.

    Raises:
      PcgError: its `mhlo.num_replicas` is more than 1.
    """
    if (n := _count(module, REPLICAS)) > 1:
        raise PcgError(
            f"the module is for {n} replicas ({REPLICAS}), each of which runs it on data of its own; allowed: 1, with "
            "a dimension of the arguments for the replicas (jax.vmap), or jax.shard_map over an axis of the mesh",
            module.location,
        )


def _count(op: ir.Operation, name: str) -> int:
    while op.parent is not None:
        op = op.parent.operation
    return optional(op, name, 1)


def _groups(op: ir.Operation) -> list[list[int]]:
    """Groups of devices; none stands for one group of all."""
    if "replica_groups" not in op.attributes:
        return []
    rows = np.array(ir.DenseIntElementsAttr(op.attributes["replica_groups"]))
    if rows.size == 0:
        return []
    return [[int(d) for d in row if d >= 0] for row in rows.reshape(rows.shape[0], -1)]


def _pairs(op: ir.Operation) -> list[list[int]]:
    return np.array(ir.DenseIntElementsAttr(op.attributes["source_target_pairs"])).reshape(-1, 2).tolist()


@rule(*NAMES, traits=_TRAITS)
def collective(op: ir.Operation) -> FactorRule:
    """Any layout goes through what is the identity; what is refused is run nowhere."""
    if reason := why_refused(op):
        return run_replicated(op, reason)
    if op.name in _CHANNELS:
        return run_replicated(op, _HOST)
    if op.name in _NUMBERS:
        return run_replicated(op, "it is the number of the only device of the program, 0")
    return pass_through(op)
