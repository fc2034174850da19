"""Where along the forward pass each op of a step belongs.

The position of an op of the forward pass is its number in program order.  An op of the backward pass gets that of the
op of the forward pass beside which all that it reads is at hand: a value of the forward pass is at hand where it is
computed and where it is read, a parameter where it is read, and the gradient that comes from behind can go to any
earlier position.  So the backward pass of a layer is where the layer is, whatever the names of its ops say, and it runs
from the last position to the first one.  Cutting the positions into intervals makes stages.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir.types import tensor_bytes
from pcg.ir.walk import outer_values
from pcg.rewrite.backward.dataflow import Dataflow
from pcg.rewrite.backward.regions import find_regions
from pcg.rewrite.microbatch_loop import of_microbatches
from pcg.rules import traits
from pcg.rules.traits import Trait

#: Positions at which a value is at hand; None: anywhere.
_Places = frozenset[int] | None


@dataclass
class Positions:
    """The positions of the ops of `func`, which runs in microbatches; each step of the analysis is one method."""

    func: ir.Operation
    ops: list[ir.Operation] = field(init=False)
    """All ops in order, without the terminator."""
    forward: list[ir.Operation] = field(init=False)
    """The ops of the forward pass, by position."""
    inside: set[ir.Operation] = field(init=False)
    """The ops of each microbatch, `pcg.pipeline` among them."""
    update: set[ir.Operation] = field(init=False)
    """The ops that run once, after all microbatches."""
    of: dict[ir.Operation, int | None] = field(default_factory=dict)
    """The position of each op but those of the forward pass that are none of a microbatch; None: anywhere."""
    _at: dict[ir.Value, _Places] = field(default_factory=dict)

    def __post_init__(self) -> None:
        *self.ops, self.last = (op.operation for op in self.func.regions[0].blocks[0].operations)
        self._reads = {op: outer_values(op) for op in self.ops}
        self.inside = of_microbatches(self.func)
        flow = Dataflow(self.func.regions[0].blocks[0])
        found = flow.ops(find_regions(flow, self.func).forward)
        forward = {op for op in found if op in self.inside and op.name != "pcg.pipeline"}
        self.forward = [op for op in self.ops if op in forward]
        self.update = self._after()
        self._forward_places()
        for op in self.ops:
            if op not in forward and self.is_placed(op):
                self._place(op)
        self._settle(forward)

    def _after(self) -> set[ir.Operation]:
        """What reads a `pcg.batch`, directly or not."""
        found: set[ir.Operation] = set()
        values: set[ir.Value] = set()
        for op in self.ops:
            if op.name == "pcg.batch":
                values.update(op.results)
            elif any(v in values for v in self._reads[op]):
                found.add(op)
                values.update(op.results)
        return found

    def is_placed(self, op: ir.Operation) -> bool:
        """Whether an op has one place: those before the microbatches are where they are read, `pcg.pipeline` too."""
        return op.name != "pcg.pipeline" and (op in self.inside or op in self.update or op.name == "pcg.batch")

    def _forward_places(self) -> None:
        """Where the values of the forward pass, and what it reads, are at hand."""
        places: dict[ir.Value, set[int]] = {}
        for i, op in enumerate(self.forward):
            for v in (*op.results, *self._reads[op]):
                places.setdefault(v, set()).add(i)
        for op in reversed(self.ops):
            if not self.is_placed(op):
                found = set().union(*(places.get(r, ()) for r in op.results))
                for v in self._reads[op] if found else ():
                    places.setdefault(v, set()).update(found)
        self._at = {v: frozenset(found) for v, found in places.items()}

    def _places(self, value: ir.Value) -> _Places:
        """Where a value is at hand; of what only the backward pass reads, where all is that it is computed from."""
        if value not in self._at:
            op = None if isinstance(value, ir.BlockArgument) else value.owner.operation
            known = [] if op is None else [p for v in self._reads[op] if (p := self._places(v)) is not None]
            self._at[value] = (frozenset.intersection(*known) or max(known, key=max)) if known else None
        return self._at[value]

    def _place(self, op: ir.Operation) -> None:
        """Where an op of the backward pass, or of the update, can be."""
        known = [(v, p) for v in self._reads[op] if (p := self._places(v)) is not None]
        found: _Places = None
        if op in self.update and self._spreads_number(op):
            known = []  # where it is read: to transfer the number takes least
        if known:
            found = frozenset.intersection(*(p for _, p in known))
            if not found and op in self.update:
                # Optimizers scale large gradients by small numbers that are made of all of them.
                found = max(known, key=lambda k: tensor_bytes(k[0].type))[1]
            elif not found:
                found = frozenset({min(max(p) for _, p in known)})
        self._at.update(dict.fromkeys(op.results, found))

    def _spreads_number(self, op: ir.Operation) -> bool:
        """Whether an op makes a tensor of a 0-d one."""
        return traits.has(op.name, Trait.SPREADS) and not op.operands[0].type.rank

    def _settle(self, forward: set[ir.Operation]) -> None:
        """Choose one place for each op: as early as those that read it allow, so that nothing waits for it."""
        for i, op in enumerate(self.forward):
            self.of[op] = i
        readers: dict[ir.Value, list[int]] = {}
        for op in reversed(self.ops):
            if op in forward:
                continue
            places = self._places(op.results[0])
            wanted = [p for r in op.results for p in readers.get(r, ())]
            chosen = max(wanted, default=None)
            if places is not None and self.is_placed(op):
                behind = [p for p in places if chosen is None or p >= chosen]
                chosen = (max(behind) if chosen is None else min(behind)) if behind else max(places)
            elif places is not None and chosen is None:
                chosen = max(places)
            elif chosen is None and op in self.update:
                chosen = len(self.forward) - 1  # only the caller reads what is made of numbers
            self.of[op] = chosen
            if chosen is not None:
                for v in self._reads[op]:
                    readers.setdefault(v, []).append(chosen)

    def reads(self, op: ir.Operation) -> list[ir.Value]:
        """What an op reads, its regions included."""
        return self._reads[op]
