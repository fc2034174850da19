"""What goes into a kernel: the work of every op that is fused into it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.types import element_bytes, tensor_bytes
from pcg.machine.profile import Reordering
from pcg.rules import rule_for, traits
from pcg.rules.convolution import patches
from pcg.rules.traits import Trait
from pcg.search.fusion import Fusion
from pcg.simulate.collectives import element


@dataclass(frozen=True)
class OpWork:
    """What an op does wherever it is fused.

    `reads` and `writes` are bytes per operand and result, where these are in memory; of what it reads a window of as
    many as it yields.  `again` are bytes that it reads of what it then writes over.  `element` is the element type in
    which it computes.
    """

    flops: float
    reads: tuple[float, ...]
    writes: tuple[float, ...]
    again: float
    element: str
    nonlocal_: bool
    expanded: float = 0.0
    """Bytes of the patches that a convolution reads."""

    @classmethod
    def of(cls, op: ir.Operation) -> OpWork:
        """The work of `op`, by its factor rule and traits."""
        name, touches = op.name, CostModel.touches
        operands = [tensor_bytes(v.type) for v in op.operands]
        results = [tensor_bytes(r.type) for r in op.results]
        writes = tuple(n if touches(name, "result", i) else 0.0 for i, n in enumerate(results))
        reads = [n if touches(name, "operand", i) else 0.0 for i, n in enumerate(operands)]
        if operands and writes and not touches(name, "operand", 0):
            reads[0] = writes[0]
        again = Fusion.reads_again(op)
        contracts = traits.has(name, Trait.CONTRACTION)
        rule = rule_for(op)
        return cls(
            rule.flops, tuple(reads), writes, 0.0 if again is None else operands[again],
            element(op.operands[0] if contracts else op.results[0] if results else None),
            traits.has(name, Trait.NONLOCAL),
            patches(op, rule)[0] * element_bytes(op.operands[0].type.element_type)
            if name == "stablehlo.convolution" else 0.0,
        )  # fmt: skip


class OpWorks:
    """The work of ops of one context, found once for all that are equal in name, types and attributes that matter."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], OpWork] = {}

    def __call__(self, op: ir.Operation) -> OpWork:
        """The work of `op`."""
        name, results = op.name, op.results
        key = [name, len(results), *[r.type for r in results], *[v.type for v in op.operands]]
        if traits.has(name, Trait.WORK_IN_ATTRIBUTES):
            if len(op.regions):
                return OpWork.of(op)
            key += [(a, op.attributes[a]) for a in op.attributes]
        return self._known.get(tuple(key)) or self._known.setdefault(tuple(key), OpWork.of(op))


@dataclass
class Kernel:
    """A fusion while its ops come in."""

    reads: dict[int, None] = field(default_factory=dict)
    flops: float = 0.0
    bytes: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)
    """Operations by the op that does them."""
    order: Reordering = Reordering()
    expanded: float = 0.0
    in_place: bool = True
    ops: int = 0

    def add(self, name: str, work: OpWork) -> None:
        """Take in an op called `name`, but for what it reads and writes."""
        self.flops += work.flops
        self.expanded += work.expanded
        self.parts[name] = self.parts.get(name, 0.0) + work.flops
        self.ops += 1
        if work.nonlocal_:
            self.in_place = False

    def root(self, op: ir.Operation) -> str:
        """The op whose measured rate the kernel has, if `op` is the last: a transpose only if it is the only one."""
        if op.name == "stablehlo.transpose" and (not self.order.transposed or self.ops > 1):
            return "stablehlo.copy"
        return op.name
