"""The split of the backward part as a transformation: loops, barriers and fused ops apart, phases, copies, order."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir.clone import remap
from pcg.ir.errors import PcgError
from pcg.ir.stages import PHASE, STAGE
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import entry_of, in_block
from pcg.rewrite.backward.barriers import split_barriers, split_fused_gradients
from pcg.rewrite.backward.copies import Copies, clone_nodes
from pcg.rewrite.backward.dataflow import contracts
from pcg.rewrite.backward.fission import WHILE, fission
from pcg.rewrite.backward.order import ORDERS, OVERLAP, sort
from pcg.rewrite.backward.phases import BACKWARD, FORWARD, WEIGHT, Phases, mark, read, split
from pcg.rewrite.microbatches import is_placed


@dataclass
class SplitBackward(Transformation):
    """Split the backward part of a training step into input gradients and weight gradients."""

    order: str = option(
        OVERLAP,
        "where weight gradients run: overlap (behind the next product of input gradients), last (behind all of these) "
        "or program (where they are)",
        choices=ORDERS,
    )

    def run(self, module: ir.Operation) -> None:
        func = entry_of(module)
        if is_placed(func):
            raise PcgError("the program has layouts already; pcg-split-backward runs before they are chosen", func)
        phases = self.split(func)
        mark(phases)
        self.statistics["ops copied to weight gradients"] = recompute(phases)
        sort(read(func), self.order)
        phases = read(func)
        share = phases.weight_share()
        if not share and any(op.name == WHILE and contracts(op) for op in phases.ops(FORWARD)):
            text = "no products are of weight gradients; a loop that computes gradients beside the loss is not split"
            self.remark(func, f"{text} (the pass runs before pcg-accumulate)")
        from_backward, from_forward = (phases.residual_bytes(p) for p in (BACKWARD, FORWARD))
        self.statistics["percent of the backward part's matmul FLOPs in weight gradients"] = round(100 * share)
        self.statistics["bytes kept from input gradients for weight gradients"] = int(from_backward)
        self.statistics["bytes kept from the forward part for weight gradients"] = int(from_forward)
        self.remark(
            func,
            f"{100 * share:.2f} % of the FLOPs of products in the backward part are of weight gradients; they need "
            f"{from_backward / 2**20:.4g} MiB of the input gradients and {from_forward / 2**20:.4g} MiB of the forward "
            "part",
        )

    def split(self, func: ir.Operation) -> Phases:
        """Take apart what ties the phases of a function together, and find them."""
        self.statistics["fused gradients split"] = split_fused_gradients(func)
        self.statistics["loops split"] = fission(func)
        self.statistics["barriers split"] = split_barriers(func)
        return split(func)


def recompute(phases: Phases) -> int:
    """Let the weight part compute what takes more bytes to keep than what it is cheaply computed from.

    The phases must be marked; the copied ops are, too.  Returns how many those are.
    """
    flow = phases.flow
    free = {v for node in flow.nodes for v in node.inputs if v not in flow.source}
    kept = dict.fromkeys((*phases.residuals(FORWARD), *phases.residuals(BACKWARD)))
    count = 0
    for value in sorted(kept, key=lambda v: flow.source[v], reverse=True):
        source = value.owner.operation
        readers = [op for op in _readers(value) if ir.StringAttr(op.attributes[PHASE]).value == WEIGHT]
        copies = Copies(flow, free.union(v for v in kept if v != value))
        if any(_stage(op) != _stage(source) for op in readers) or not copies.is_copied(value):
            continue
        copies.provide(value)
        values: dict[ir.Value, ir.Value] = {}
        with ir.InsertionPoint(source):
            new = clone_nodes(flow, copies.nodes, values)
        for op in readers:
            remap(op, {value: values[value]})
        for op in new:
            with op.context:
                op.attributes[PHASE] = ir.StringAttr.get(WEIGHT)
        del kept[value]
        kept.update(copies.kept)
        count += len(new)
    return count


def _readers(value: ir.Value) -> list[ir.Operation]:
    """The ops of the function's block that read a value, in their regions or themselves."""
    func = value.owner.operation.parent.operation
    found: list[ir.Operation] = []
    for use in value.uses:
        op = in_block(use.owner.operation, func)
        if op not in found:
            found.append(op)
    return found


def _stage(op: ir.Operation) -> ir.Attribute | None:
    return op.attributes[STAGE] if STAGE in op.attributes else None
