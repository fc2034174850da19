"""The parts of a training step before its backward part is split: forward, backward and update."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.rewrite.backward.dataflow import BARRIER, Dataflow, contracts, elements
from pcg.search.roles import state_of

#: From a value per microbatch to one per step: where gradients are accumulated.
BATCH = "pcg.batch"
#: In the name stack of a location: JAX made the op as part of a transposed, that is a backward, computation.
_TRANSPOSED = "transpose("


@dataclass(frozen=True)
class Regions:
    """Nodes of a function's dataflow by what they are there for."""

    forward: set[int]
    backward: set[int]
    """Gradients, and without microbatches the optimizer."""
    update: set[int]
    """What runs once per step behind the accumulation of gradients."""
    optimizer: set[int]
    """Those of `backward` that only the names of ops tell from gradients."""
    contracting: set[int]
    """Those of `backward` that sum over the batch (`contracts`); the optimizer and products of vectors are left out."""


def find_regions(flow: Dataflow, func: ir.Operation) -> Regions:
    """The regions of the dataflow of a function's block.

    Forward is what the loss and other results of the forward part are computed from.  The loss is the operand of a
    `pcg.batch` whose result is returned and not read for the next state; in a program without microbatches a
    floating-point result that depends on parameters and is not state.  Where there is none, the names that JAX gave the
    ops decide.

    Raises:
      PcgError: the program returns no loss, and its ops have no names.
    """
    transposed = {i for i, node in enumerate(flow.nodes) if any(_TRANSPOSED in n for n in names(node.op.location))}
    batches = [i for i, node in enumerate(flow.nodes) if node.op.name == BATCH]
    update: set[int] = set()
    if batches:
        losses = _losses_by_batch(flow, func, batches)
        needed = flow.slice(v for i in batches for v in flow.nodes[i].inputs)
        update = set(range(len(flow.nodes))) - needed | set(batches) | flow.downstream(batches)
    else:
        losses = _losses_by_result(flow, func, transposed)
    if losses:
        forward = flow.slice(losses)
    elif transposed:
        forward = flow.reaching(transposed) - transposed - flow.downstream(transposed)
    else:
        raise PcgError(
            "cannot tell the forward part from the backward part: no result is a loss, and no op has the name stack "
            "that JAX leaves in locations; return the loss of the step, or keep debug information",
            func,
        )
    forward -= update
    forward |= handed_on(flow, forward, forward) - update
    backward = set(range(len(flow.nodes))) - forward - update
    optimizer = backward & (flow.downstream(transposed) - transposed - flow.reaching(transposed))
    contracting = {
        i for i in backward - optimizer
        if contracts(flow.nodes[i].op) and any(elements(r) > 1 for r in flow.nodes[i].results)
    }  # fmt: skip
    return Regions(forward, backward, update, optimizer, contracting)


def _losses_by_batch(flow: Dataflow, func: ir.Operation, batches: list[int]) -> list[ir.Value]:
    """Operands of `pcg.batch` whose results are returned, and not as state.

    Results such as the norm of the gradients do not count: they need what the update of the state needs.  Where the
    loss itself is part of that (as a running mean), it is what needs the fewest contractions.
    """
    state = state_of(func)
    next_state = flow.slice(v for i, v in enumerate(flow.returned) if i in state)
    returned = flow.slice(v for i, v in enumerate(flow.returned) if i not in state)
    kept = [i for i in batches if i in returned]
    losses = [i for i in kept if i not in next_state]
    if not losses:
        work = {i: sum(contracts(flow.nodes[j].op) for j in flow.slice(flow.nodes[i].inputs)) for i in kept}
        losses = [i for i in kept if work[i] == min(work.values())]
    return [v for i in losses for v in flow.nodes[i].inputs]


def _losses_by_result(flow: Dataflow, func: ir.Operation, transposed: set[int]) -> list[ir.Value]:
    """Results of the forward part: those that depend on parameters and on no gradient."""
    state = state_of(func)
    parameters = {v for v in flow.block.arguments if not state or v.arg_number in state.values()}
    found = []
    for i, value in enumerate(flow.returned):
        # Without state the results besides a loss are gradients.
        if i in state or not _is_float(value) or (not state and value.type.rank):
            continue
        if flow.arguments([value]) & parameters:
            found.append((flow.slice([value]), value))
    if transposed:
        return [v for nodes, v in found if not nodes & transposed]
    # A norm of gradients needs products that the loss does not.
    found.sort(key=lambda x: len(x[0]))
    products = [{i for i in nodes if contracts(flow.nodes[i].op)} for nodes, _ in found]
    return [v for (_, v), own in zip(found, products, strict=True) if own <= products[0]]


def handed_on(flow: Dataflow, part: set[int], before: set[int]) -> set[int]:
    """Nodes of barriers of which others are in `part`, if what they hand on is there by then: computed in `before`."""
    barriers = {flow.first[i] for i in part if flow.nodes[i].op.name == BARRIER}
    return {
        i for i, first in enumerate(flow.first)
        if first in barriers and i not in before and before.issuperset(flow.reads[i])
    }  # fmt: skip


def names(location: ir.Location) -> Iterator[str]:
    """All names in a location: of the op, and of the calls that it was inlined from."""
    match type(location).__name__:
        case "NameLoc":
            yield location.name_str
            yield from names(location.child_loc)
        case "CallSiteLoc":
            yield from names(location.callee)
            yield from names(location.caller)
        case "FusedLoc":
            for child in location.locations:
                yield from names(child)


def _is_float(value: ir.Value) -> bool:
    kind = value.type
    return isinstance(kind, ir.RankedTensorType) and isinstance(kind.element_type, ir.FloatType)
