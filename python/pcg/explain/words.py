"""Phrases for ops and layouts in explanations."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir.locations import place
from pcg.layout import ShardSpec

#: Engine of propagation or search -> who decided, in words.
DECIDERS = {
    "search": "chosen by the search",
    "global": "chosen by the search",
    "dataflow": "chosen by propagation",
    "bfs": "chosen by breadth-first propagation",
    "priority": "chosen by propagation in order of priority",
    "plan": "set by the plan",
    "": "chosen",
}


def short(op: ir.Operation) -> str:
    """An op's name without `stablehlo.`."""
    return op.name.removeprefix("stablehlo.")


def at_location(op: ir.Operation) -> str:
    """` at model.py:88`; empty where the location is not known."""
    where = place(op.location)
    return f" at {where}" if where else ""


def dim_of_axis(spec: ShardSpec, axis: str) -> int | None:
    """The dimension that `axis` splits, -1 if the value is partial over it, None if the layout does not name it."""
    for d, axes in enumerate(spec.dims):
        if axis in axes:
            return d
    return -1 if axis in spec.partial_axes else None


def names_all(wanted: ShardSpec, have: ShardSpec) -> bool:
    """Whether `have` has all axes of `wanted` where that has them (open dimensions may have more)."""
    return bool(wanted.used_axes) and all(dim_of_axis(have, a) == dim_of_axis(wanted, a) for a in wanted.used_axes)
