"""The phases of a training step: forward, backward (input gradients), weight (weight gradients) and update."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.loops import assumed_iterations
from pcg.ir.stages import PHASE, STAGE
from pcg.ir.types import tensor_bytes
from pcg.rewrite.backward.border import Border
from pcg.rewrite.backward.copies import is_generated
from pcg.rewrite.backward.dataflow import Dataflow, elements, has_effect
from pcg.rewrite.backward.regions import Regions, find_regions, handed_on
from pcg.rules import rule_for, traits
from pcg.rules.traits import Trait

FORWARD, BACKWARD, WEIGHT, UPDATE = ORDER = ("forward", "backward", "weight", "update")


@dataclass(frozen=True)
class Phases:
    """Which phase each node of a function's dataflow is in, and which stage; 0 where there are none.

    Who keeps it has to keep the module: its ops end with that.
    """

    flow: Dataflow
    of: list[str]
    stages: list[int]

    def nodes(self, phase: str, stage: int | None = None) -> list[int]:
        """The nodes of a phase, in one stage or in all."""
        return [i for i, p in enumerate(self.of) if p == phase and stage in (None, self.stages[i])]

    def ops(self, phase: str, stage: int | None = None) -> list[ir.Operation]:
        """The ops of a phase, in one stage or in all, in program order."""
        return self.flow.ops(self.nodes(phase, stage))

    def flops(self, phase: str, stage: int | None = None) -> float:
        """FLOPs of the contractions of a phase."""
        return sum(contraction_flops(op) for op in self.ops(phase, stage))

    def weight_share(self, stage: int | None = None) -> float:
        """Share of the weight part in the FLOPs of the contractions behind the forward part; 0 if there are none."""
        weight = self.flops(WEIGHT, stage)
        return weight / total if (total := weight + self.flops(BACKWARD, stage)) else 0.0

    def residuals(self, source: str, stage: int | None = None) -> list[ir.Value]:
        """The values that the phase `source` defines and the weight part (of a stage) reads.

        What is made from nothing, such as a constant, is none.
        """
        read = dict.fromkeys(v for i in self.nodes(WEIGHT, stage) for v in self.flow.nodes[i].inputs)
        own = [v for v in read if v in self.flow.source and self.of[self.flow.source[v]] == source]
        return [v for v in own if not is_generated(v)]

    def residual_bytes(self, source: str, stage: int | None = None) -> float:
        """Bytes of `residuals`."""
        return sum(tensor_bytes(v.type) for v in self.residuals(source, stage))


def contraction_flops(op: ir.Operation) -> float:
    """FLOPs of the contractions in an op, those of a loop as often as it runs."""
    if not len(op.regions):
        return rule_for(op).flops if traits.has(op.name, Trait.CONTRACTION) else 0.0
    inner = sum(contraction_flops(o.operation) for r in op.regions for b in r.blocks for o in b.operations)
    return inner * (assumed_iterations(op) if op.name == "stablehlo.while" else 1)


def split(func: ir.Operation) -> Phases:
    """The phases of a function that is a training step, or the part of one that runs per microbatch.

    An op of the backward part makes *input gradients* (phase "backward") if a root depends on it, else it makes *weight
    gradients* (phase "weight").  The roots of a stage are the values that backward ops of other stages read.  A stage
    without any, such as the first one, gets artificial ones.  Of its contractions (and scatters of gradients of
    embeddings) on which no other one depends, those whose results are only reduced further are roots (cotangents of
    biases and scales of the first layer); the others are gradients of weights, and what they read are roots.  The
    border is improved after that, see `Border`.  Nothing is changed in the program.

    Raises:
      PcgError: no forward part is found, some ops have a stage and others do not, or the phases would depend on each
        other in a circle, as they do through a barrier that `split_barriers` has not taken apart.
    """
    flow = Dataflow(func.regions[0].blocks[0])
    regions = find_regions(flow, func)
    stages = stages_of(flow, regions.update)
    backward, weight = input_and_weight(flow, regions, stages)
    _effects(flow, regions, backward, weight)
    Border(flow, stages, backward, weight).improve()
    of = [""] * len(flow.nodes)
    for part, phase in zip((regions.forward, backward, weight, regions.update), ORDER, strict=True):
        for i in part:
            of[i] = phase
    phases = Phases(flow, of, stages)
    verify(phases)
    return phases


def read(func: ir.Operation) -> Phases:
    """The phases that `mark` wrote to the ops of a function.

    Raises:
      PcgError: an op has none, reads what a later phase defines, or has no stage while others have one.
    """
    flow = Dataflow(func.regions[0].blocks[0])
    of = []
    for node in flow.nodes:
        attr = node.op.attributes[PHASE] if PHASE in node.op.attributes else None
        if not isinstance(attr, ir.StringAttr) or attr.value not in ORDER:
            raise PcgError(f"{PHASE} of '{node.op.name}' is {attr}; allowed: {', '.join(ORDER)}", node.op)
        of.append(attr.value)
    phases = Phases(flow, of, stages_of(flow, {i for i, p in enumerate(of) if p == UPDATE}))
    verify(phases)
    return phases


def input_and_weight(flow: Dataflow, regions: Regions, stages: list[int]) -> tuple[set[int], set[int]]:
    """The nodes of the backward part that make input gradients, and those that make weight gradients."""
    roots = find_roots(flow, regions, stages)
    backward = flow.slice((r for i in roots for r in flow.nodes[i].results), regions.backward)
    backward |= handed_on(flow, backward, regions.forward | backward) & regions.backward
    return backward, regions.backward - backward


def stages_of(flow: Dataflow, update: Collection[int]) -> list[int]:
    """The stage of each node: that of its op, of what has none that of its first reader which has one.

    Raises:
      PcgError: an op that depends on arguments, outside of the update, has no stage, and others have one.
    """
    ops = [node.op for node in flow.nodes]
    found = [int(ir.IntegerAttr(op.attributes[STAGE]).value) if STAGE in op.attributes else None for op in ops]
    if not any(s is not None for s in found):
        return [0] * len(found)
    constants = flow.constants()
    for i in reversed(range(len(found))):
        if found[i] is None:
            if i not in constants and i not in update:
                text = f"'{flow.nodes[i].op.name}' has no {STAGE}, and other ops have; allowed: all of them, or none"
                raise PcgError(text, flow.nodes[i].op)
            found[i] = next((s for j in flow.readers[i] if (s := found[j]) is not None), 0)
    return [s or 0 for s in found]


def find_roots(flow: Dataflow, regions: Regions, stages: list[int]) -> set[int]:
    """The nodes whose results are the roots of all stages; see `split`."""
    roots = {
        i for i in regions.backward - flow.constants()
        if any(
            j in regions.backward and stages[j] != stages[i] and not is_gradient(flow, r, regions)
            for r in flow.nodes[i].results for j in flow.users(r)
        )
    }  # fmt: skip
    rooted = {stages[i] for i in roots}
    last = {i for i in regions.contracting - flow.reaching(regions.contracting) if stages[i] not in rooted}
    gradients = {i for i in last if all(is_gradient(flow, r, regions) for r in flow.nodes[i].results)} or last
    roots |= last - gradients
    return roots | {j for i in gradients for j in flow.reads[i] if j in regions.backward}


def is_gradient(flow: Dataflow, value: ir.Value, regions: Regions) -> bool:
    """Whether a value of the backward part is a gradient of weights, or a term of one.

    Nothing that depends on it, the optimizer left out, has fewer elements or sums over the batch: a cotangent does not
    get into a gradient without that.  Numbers do not count, nor what depends on the value by them: norms of gradients.
    """
    size, others = elements(value), regions.update | regions.optimizer
    work, seen = flow.users(value), set()
    while work:
        i = work.pop()
        sizes = [elements(r) for r in flow.nodes[i].results]
        if i in seen or i in others or max(sizes, default=0) <= 1:
            continue
        if i in regions.contracting or min(sizes) < size:
            return False
        seen.add(i)
        work += flow.readers[i]
    return True


def _effects(flow: Dataflow, regions: Regions, backward: set[int], weight: set[int]) -> None:
    """Put what only has effects, of which nothing depends, into the first phase in which its operands are there."""
    for i in sorted(weight):
        if has_effect(flow.nodes[i].op) and not flow.readers[i]:
            sources = set(flow.reads[i])
            if sources <= regions.forward:
                weight.remove(i)
                regions.forward.add(i)
            elif sources <= regions.forward | backward:
                weight.remove(i)
                backward.add(i)


def verify(phases: Phases) -> None:
    """Check that no op reads what a later phase defines.

    Raises:
      PcgError: one does, or the parts of a barrier are in several phases.
    """
    flow = phases.flow
    for i, node in enumerate(flow.nodes):
        own = phases.of[i]
        if own != phases.of[flow.first[i]]:
            raise PcgError(f"'{node.op.name}' is in phases {own} and {phases.of[flow.first[i]]}", node.op)
        for j in flow.reads[i]:
            if ORDER.index(phases.of[j]) > ORDER.index(own):
                other = flow.nodes[j].op.name
                text = f"'{node.op.name}' of phase {own} reads a result of '{other}' of phase {phases.of[j]}"
                raise PcgError(text, node.op)


def mark(phases: Phases) -> None:
    """Write the phases to the ops."""
    for node, phase in zip(phases.flow.nodes, phases.of, strict=True):
        with node.op.context:
            node.op.attributes[PHASE] = ir.StringAttr.get(phase)
