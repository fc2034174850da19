"""Small things that are said of ops and layouts in explanations."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir.locations import place
from pcg.layout import ShardSpec

#: What decided, in words.
DECIDERS = {
    "search": "chosen by the search",
    "global": "chosen by the search",
    "dataflow": "chosen by propagation",
    "bfs": "chosen by breadth-first propagation",
    "priority": "chosen by propagation in order of priority",
    "plan": "given by the plan",
    "": "chosen",
}


def short(op: ir.Operation) -> str:
    """An op's name without `stablehlo.`."""
    return op.name.removeprefix("stablehlo.")


def maker(value: ir.Value) -> ir.Operation | None:
    """The op that makes `value`; None for arguments of blocks."""
    return None if isinstance(value, ir.BlockArgument) else value.owner.operation


def op_place(op: ir.Operation) -> str:
    where = place(op.location)
    return f" at {where}" if where else ""


def axis_place(spec: ShardSpec, axis: str) -> int | None:
    """The dimension that `axis` splits, -1 if the value is partial over it, None if the layout does not name it."""
    for d, axes in enumerate(spec.dims):
        if axis in axes:
            return d
    return -1 if axis in spec.partial_axes else None


def names_all(wanted: ShardSpec, have: ShardSpec) -> bool:
    """Whether `have` has all that was wanted (open dimensions may have more)."""
    return bool(wanted.used_axes) and all(axis_place(have, a) == axis_place(wanted, a) for a in wanted.used_axes)
