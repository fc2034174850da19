"""The forward part of a training step that runs in microbatches, and the gradients that it accumulates."""

from __future__ import annotations

from collections.abc import Iterable

from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.walk import defining_op, outer_values
from pcg.rewrite.microbatch_loop import of_microbatches
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.search.roles import state_of


def ancestors(values: Iterable[ir.Value]) -> set[ir.Operation]:
    """The ops that values are computed by, directly or not."""
    found: set[ir.Operation] = set()
    work = [op for v in values if (op := defining_op(v)) is not None]
    while work:
        op = work.pop()
        if op not in found:
            found.add(op)
            work += [d for v in outer_values(op) if (d := defining_op(v)) is not None]
    return found


def forward_ops(func: ir.Operation) -> set[ir.Operation]:
    """The ops of each microbatch that the loss, and other results that are not state, need.

    Results such as the norm of the gradients do not count: they need what the update of the state needs.  Where the
    loss itself is part of that (as a running mean), it is what needs the fewest contractions.

    Raises:
      PcgError: no result of the function is computed from the microbatches without being state.
    """
    last = func.regions[0].blocks[0].operations[-1].operation
    state = state_of(func)
    batches = [op.operation for op in func.regions[0].blocks[0].operations if op.operation.name == "pcg.batch"]
    update = ancestors(v for i, v in enumerate(last.operands) if i in state)
    returned = ancestors(v for i, v in enumerate(last.operands) if i not in state)
    kept = [op for op in batches if op in returned]
    if not kept:
        raise PcgError(
            "no result is a loss: the forward part of a step is what results that are not state need; return the loss",
            func,
        )
    cones = {op: ancestors(op.operands) for op in kept}
    losses = [op for op in kept if op not in update]
    if not losses:
        work = {op: sum(traits.has(o.name, Trait.CONTRACTION) for o in cone) for op, cone in cones.items()}
        losses = [op for op in kept if work[op] == min(work.values())]
    inside = of_microbatches(func)
    found = {op for loss in losses for op in cones[loss]}
    return {op for op in found if op in inside and op.name != "pcg.pipeline"}
