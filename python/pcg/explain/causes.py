"""Why each collective is there: why its value has the layout that it has, and why its readers need another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.explain.explainer import Explainer, Explanation
from pcg.explain.origins import Origins, computing_ops
from pcg.explain.words import at_location, dim_of_axis
from pcg.ir import shardings
from pcg.ir.loops import assumed_iterations
from pcg.ir.walk import defining_op, walk
from pcg.layout import ShardSpec
from pcg.lower.redistribution_ops import DIST_COLLECTIVES, PCG_OPERATORS, REDISTRIBUTION_OPS, dist_step, itemsize
from pcg.reshard import Mask, Slice, plan
from pcg.rules import CONTROL_FLOW, TERMINATORS
from pcg.rules.manual import is_manual
from pcg.rules.registry import shape
from pcg.search.fusion import Fusion
from pcg.search.measure import NotPlaced
from pcg.search.read_work import WorkReader
from pcg.search.what_if import Other, WhatIf
from pcg.search.work import WorkCosts

#: Seconds that count as a difference: half of the last digit that reports of microseconds show.
_LEAST = 5e-8
#: Readers named per collective in a line.  A choice.
_READERS = 2


@dataclass(frozen=True)
class Cause:
    """One collective over `axes` on `value`, `times` per step, and why.

    `op` is the redistribution, or the op whose local form communicates.  `bytes` (sent by a device) and `seconds` are
    per execution.  `user` is the first reader that needs `value` in another layout, as (op, operand).
    """

    op: ir.Operation
    kind: str
    axes: tuple[str, ...]
    value: ir.Value
    bytes: float
    seconds: float
    times: int
    producer: Explanation
    consumers: tuple[Explanation, ...]
    user: tuple[ir.Operation, int] | None = None

    @property
    def total(self) -> float:
        """Seconds per step."""
        return self.seconds * self.times


class Causes:
    """The collectives of a function after dist-insert-reshards, before or after dist-fuse-collectives."""

    def __init__(self, origins: Origins, model: CostModel, placed: ir.Operation, state: Mapping[int, int]) -> None:
        """
        Args:
          origins: of the function.
          model: what its collectives cost.
          placed: the same function before dist-insert-reshards, with its layouts: alternatives are evaluated in it.
          state: result number -> argument whose next value it is.
        """
        self.origins, self.model, self.mesh = origins, model, origins.mesh
        self.explainer = Explainer(origins)
        self._function = placed, dict(state)
        mine, theirs = list(origins.computing_ops()), list(computing_ops(placed))
        # A program with rematerialised values has ops that the plan does not know.
        equal = [op.name for op in mine] == [op.name for op in theirs]
        self._placed = dict(zip(mine, theirs, strict=True)) if equal else {}
        self._others: dict[tuple[ir.Operation, int], Other | None] = {}

    def all(self) -> list[Cause]:
        """Every collective that lowering will make, in program order."""
        return [cause for op in walk(self.origins.func) for cause in self.of(op)]

    def of(self, op: ir.Operation) -> list[Cause]:
        """The collectives of `op`: one per step of a redistribution (at its last operator), one per exchange."""
        if op.name in DIST_COLLECTIVES:
            step = dist_step(op, self.origins.spec(op.results[0]))
            return self._redistribution(op, op.operands[0], [step])
        if op.name in PCG_OPERATORS:
            if _next(op) is not None:
                return []
            first = op
            while (up := defining_op(first.operands[0])) is not None and up.name in PCG_OPERATORS and _next(up):
                first = up
            value = first.operands[0]
            src, dst = self.origins.spec(value), self.origins.spec(op.results[0])
            steps = plan(src, dst, shape(value), itemsize(value), self.mesh, self.model.link)
            return self._redistribution(op, value, steps)
        return self.exchanges(op)

    def _redistribution(self, op: ir.Operation, value: ir.Value, steps: Sequence) -> list[Cause]:
        spec, found = self.origins.spec(value), []
        times, every = runs_per_step(op), self.users(op.results[0])
        # A reader that splits it back to the layout that it had is not the reason.
        users = [u for u in every if self.origins.spec(u[2]) != spec] or every
        for step in steps:
            after = step.apply(spec)
            if not isinstance(step, Slice | Mask):
                lost = _changed(spec, after)
                wire_bytes = step.wire_bytes(spec, shape(value), itemsize(value), self.mesh)
                seconds = self.model.link(step.devices(spec), wire_bytes, step.collective)
                final = self.origins.spec(op.results[0])
                wants = self.explainer.constraints(op.results[0]) + [
                    self.explainer.consumer(user, i, site, spec, after if step is not steps[-1] else final, lost)
                    for user, i, site in users
                ]
                unique = tuple({d.text: d for d in wants}.values())
                first = (users[0][0], users[0][1]) if users else None
                axes = self.mesh.order(set(step.devices(spec)))
                producer = self.explainer.producer(value, spec, lost)
                found.append(Cause(op, step.name, axes, value, wire_bytes, seconds, times, producer, unique, first))
            spec = after
        return found

    def exchanges(self, op: ir.Operation) -> list[Cause]:
        """The collectives inside the local form of an op: part of its own strategy."""
        strategy = None if op.name in REDISTRIBUTION_OPS else self.origins.strategy(op)
        if strategy is None:
            return []
        rule, a = strategy
        work, of = self.works.work(op, rule), WorkCosts(self.model)
        costs = [(e, *of.exchange(work, e, a)) for e in rule.exchanges if a.axes[e.factor]]
        return [
            self.own(op, e.kind, self.mesh.order(set(a.axes[e.factor])), wire_bytes, seconds)
            for e, seconds, wire_bytes in costs if wire_bytes
        ]  # fmt: skip

    def own(self, op: ir.Operation, kind: str, axes: tuple[str, ...], wire_bytes: float, seconds: float) -> Cause:
        """A collective inside the local form of `op`."""
        o = self.origins
        values = [v for v in (*op.operands, *op.results) if set(axes) & o.spec(v).used_axes]
        value = values[0] if values else next(iter((*op.operands, *op.results)))
        if is_manual(op):
            text = f"the manual computation{at_location(op)} runs per device, over {'+'.join(axes)}"
            mine, theirs = Explanation(text), Explanation(f"its body communicates ({kind})")
            return Cause(op, kind, axes, value, wire_bytes, seconds, runs_per_step(op), mine, (theirs,))
        lost = [a for a in axes if a in o.spec(value).used_axes]
        producer = self.explainer.producer(value, o.spec(value), lost) if lost else Explanation(f"{o.op(op)} is split")
        along = [d for d, names in enumerate(o.spec(value).dims) if set(axes) & set(names)]
        what = f"along dimension {along[0]}" if along else f"over {'+'.join(axes)}"
        results = [r for r in op.results if set(axes) & o.spec(r).used_axes]
        as_ = f", and its result stays {o.layout_text(o.spec(results[0]))}" if results else ""
        chains = tuple(o.chain(results[0], a) for a in axes if results and a in o.spec(results[0]).used_axes)
        consumer = Explanation(f"{o.op(op)} works {what}: devices need parts of their neighbours'{as_}", chains)
        return Cause(op, kind, axes, value, wire_bytes, seconds, runs_per_step(op), producer, (consumer,))

    # -- who reads ------------------------------------------------------------------------------

    def users(self, value: ir.Value) -> list[tuple[ir.Operation, int, ir.Value]]:
        """The readers of `value` past redistributions: (op, operand, the value as it is read)."""
        return [
            (use.owner.operation, use.operand_number, copy)
            for copy in self.origins.copies(value) for use in copy.uses
            if use.owner.operation.name not in REDISTRIBUTION_OPS
        ]  # fmt: skip

    def text(self, c: Cause) -> str:
        """A cause in one line."""
        count = f", {c.times} times" if c.times > 1 else ""
        head = f"{c.kind} over {self.origins.axes(c.axes)} of {self.origins.name(c.value)}"
        wants = [d.text for d in c.consumers]
        more = f" (and {len(wants) - _READERS} more readers)" if len(wants) > _READERS else ""
        text = (
            f"{head} ({c.bytes:.0f} bytes sent, {1e6 * c.seconds:.1f} us{count}) because {c.producer.text}; "
            f"but {', and '.join(wants[:_READERS]) or 'nobody reads it'}{more}"
        )
        if (other := self.alternative(c)) is not None:
            text += f"; taken as it is a step would take {1e6 * self.more(other):.1f} us more by dist-measure"
        return text

    # -- the alternative -----------------------------------------------------------------------

    def alternative(self, c: Cause) -> Other | None:
        """What the program costs if the first reader takes the value as it is, all other strategies unchanged.

        Other operands are then redistributed to fit, and results to what their readers have now.  None where the reader
        cannot take it so, or if that would cost no more: then more than one op decided it.
        """
        if c.user is None or c.user[0] not in self._placed or self.what_if is None:
            return None
        key = self._placed[c.user[0]], c.user[1]
        if key not in self._others:
            self._others[key] = self.what_if.taking(*key)
        other = self._others[key]
        return other if other is not None and _LEAST < self.more(other) < math.inf else None

    @cached_property
    def works(self) -> WorkReader:
        """What ops do."""
        return WorkReader(Fusion(self._function[0]))

    @cached_property
    def what_if(self) -> WhatIf | None:
        """Costs of other strategies; None where the layouts of an op are of no strategy."""
        placed, state = self._function
        try:
            return WhatIf(placed, self.model, state)
        except NotPlaced:
            return None

    def more(self, other: Other) -> float:
        """Seconds per step that an alternative takes more than the plan."""
        assert self.what_if is not None
        return other.measure.seconds - self.what_if.now.seconds


def without_reshards(module: ir.Operation) -> ir.Operation:
    """A copy of a module as it was before dist-insert-reshards, without the constraints inside of it.

    It computes the same; every op keeps its layouts, and has those that it needs of its operands as attributes.
    """
    copy = module.operation.clone()
    ops = [op for op in walk(copy) if op != copy]
    for op in ops:
        if len(op.results) and len(op.operands) and op.name not in REDISTRIBUTION_OPS | CONTROL_FLOW | TERMINATORS:
            specs = [shardings.get(v) or ShardSpec.replicated(len(shape(v))) for v in op.operands]
            shardings.set_operand_specs(op, specs)
    for op in ops:
        if op.name in REDISTRIBUTION_OPS:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
    return copy


def runs_per_step(op: ir.Operation) -> int:
    """How often `op` runs per step: the product of the trip counts of the loops around it."""
    times, parent = 1, op.parent
    while parent is not None:
        around = parent.operation
        if around.name == "stablehlo.while":
            times *= assumed_iterations(around, times)
        parent = around.parent
    return times


def _next(op: ir.Operation) -> ir.Operation | None:
    """The operator that goes on the chain after `op`, as dist-fuse-collectives sees it."""
    uses = list(op.results[0].uses)
    if len(uses) != 1:
        return None
    user = uses[0].owner.operation
    return user if user.name in PCG_OPERATORS and user.block == op.block else None


def _changed(src: ShardSpec, dst: ShardSpec) -> list[str]:
    """Axes of `src` that are in another dimension in `dst`, or nowhere; if none, those in another order."""
    lost = [a for a in sorted(src.used_axes) if dim_of_axis(src, a) != dim_of_axis(dst, a)]
    return lost or [a for h, w in zip(src.dims, dst.dims, strict=True) if h != w for a in h]
