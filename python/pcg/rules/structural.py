"""Traits of ops without a factor rule: control flow, ends of blocks, calls, and those of `dist` and `pcg`."""

from __future__ import annotations

from pcg.ir.shardings import CONSTRAINTS
from pcg.rules.registry import CONTROL_FLOW, TERMINATORS
from pcg.rules.traits import Trait, state

state(CONTROL_FLOW, Trait.UNFUSABLE)
state(TERMINATORS - {"pcg.yield"}, Trait.UNFUSABLE)
state(["pcg.yield"], Trait.NONE)
state(["func.call", "dist.send", "dist.recv"], Trait.UNFUSABLE)
state(CONSTRAINTS, Trait.VIEW | Trait.SAME_ELEMENTS)
# Steps of a redistribution are the identity on the logical tensor.
state(["pcg.partition", "pcg.combine", "pcg.replicate", "pcg.reduce"], Trait.SAME_ELEMENTS)
state(
    [f"dist.{n}" for n in ("all_gather", "all_reduce", "reduce_scatter", "all_to_all", "permute", "regroup", "slice")],
    Trait.SAME_ELEMENTS,
)
