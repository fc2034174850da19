"""Make every change of layout an operator of the parallel computation graph."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.explain.replicated import replicated
from pcg.ir import annotation, shardings
from pcg.ir.errors import PcgError
from pcg.ir.shardings import CONSTRAINTS
from pcg.ir.stages import has_stages
from pcg.ir.transformation import Transformation
from pcg.ir.walk import functions
from pcg.layout import Mesh, ShardSpec
from pcg.lower.redistribution_ops import DIST_COLLECTIVES, PCG_OPERATORS, emit_pcg, itemsize
from pcg.machine import Machine
from pcg.reshard import ReshardError, cost, plan
from pcg.rules import RuleError, rule_for
from pcg.rules.manual import computations, is_manual
from pcg.rules.registry import CONTROL_FLOW, TERMINATORS, shape

#: Up to so many needed layouts of one value, every order of producing them is tried.  A choice: 24 orders.
_TRY_ALL = 4


@dataclass
class InsertReshards(Transformation):
    """Insert PCG operators where a value's layout is not what its consumer needs."""

    machine: Machine = field(default_factory=Machine.default)
    explain: bool = field(default_factory=lambda: True)
    """Whether ops that run replicated over axes by which an operand was split are counted and get remarks."""

    def run(self, module: ir.Operation) -> None:
        if has_stages(module):
            return  # placed stages have theirs
        mesh = shardings.mesh_of(module)
        if mesh is None:
            return
        with module.context:
            bodies = computations(module)
            for func in functions(module):
                if ir.StringAttr(func.attributes["sym_name"]).value in bodies:
                    continue
                for found in replicated(func, mesh, self.machine) if self.explain else ():
                    self.statistics["ops replicated over a split operand's axes"] += 1
                    self.remark(found.op, str(found))
                for region in func.regions:
                    for block in region.blocks:
                        _Inserter(self, mesh, func).run(block)


Uses = list[tuple[ir.Operation, int]]


class _Inserter:
    """Inserts the operators of one function."""

    def __init__(self, owner: InsertReshards, mesh: Mesh, func: ir.Operation) -> None:
        self.owner, self.mesh, self.func = owner, mesh, func
        self.link = CostModel(owner.machine, mesh).link
        self.specs: dict[ir.Value, ShardSpec] = {}
        self.wanted: dict[ir.Value, dict[ShardSpec, Uses]] = {}
        self.constraints: list[ir.Operation] = []

    def run(self, block: ir.Block) -> None:
        self.visit(block, shardings.function_result_specs(self.func))
        for value, wanted in self.wanted.items():
            self.redistribute(value, wanted)
        for op in self.constraints:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()

    # -- what is needed ------------------------------------------------------------------------

    def spec(self, value: ir.Value) -> ShardSpec:
        """Layout of a value; one without any is replicated."""
        found = self.specs.get(value)
        if found is None:
            found = shardings.get(value) or ShardSpec.replicated(len(shape(value)))
            self.specs[value] = found
        return found

    def visit(self, block: ir.Block, results: list[ShardSpec | None]) -> None:
        """Note what the ops of `block` need; `results` is what its terminator needs."""
        for op in block.operations:
            op = op.operation
            if op.name in TERMINATORS:
                self.terminator(op, results)
            elif op.name in CONTROL_FLOW:
                self.control_flow(op)
            elif op.name in CONSTRAINTS:
                spec = shardings.from_attr(op.attributes["spec"])
                self.need(op, 0, op.operands[0], spec)
                self.specs[op.results[0]] = spec
                annotation.keep_on_operand(op)
                self.constraints.append(op)
            elif op.name not in PCG_OPERATORS and op.name not in DIST_COLLECTIVES and op.name != "pcg.stage":
                self.ordinary(op)

    def ordinary(self, op: ir.Operation) -> None:
        needs = shardings.operand_specs(op)
        if needs is None:
            needs = self.derive(op) if len(op.operands) else []
        elif len(needs) != len(op.operands):
            raise PcgError(
                f"'{op.name}' op has {len(op.operands)} operands but {len(needs)} dist.operand_specs", op
            )
        for i, (value, spec) in enumerate(zip(op.operands, needs, strict=True)):
            self.need(op, i, value, spec if spec is not None else ShardSpec.replicated(len(shape(value))))
        shardings.set_operand_specs(op, None)

    def terminator(self, op: ir.Operation, results: list[ShardSpec | None]) -> None:
        for i, value in enumerate(op.operands):
            spec = results[i]
            if spec is None:
                spec = self.spec(value).without_partial()
                if op.name == "func.return" and shardings.get(value) is not None:
                    shardings.set_function_result_spec(self.func, i, spec)
            self.need(op, i, value, spec)

    def control_flow(self, op: ir.Operation) -> None:
        specs: list[ShardSpec | None] = [self.spec(r) for r in op.results]
        replicated: list[ShardSpec | None] = [ShardSpec.replicated(0)]
        if op.name == "stablehlo.while":
            for i, (value, spec) in enumerate(zip(op.operands, specs, strict=True)):
                self.need(op, i, value, spec)
            self.visit(op.regions[0].blocks[0], replicated)
            self.visit(op.regions[1].blocks[0], specs)
        else:
            self.need(op, 0, op.operands[0], replicated[0])
            for region in op.regions:
                self.visit(region.blocks[0], specs)
        shardings.set_operand_specs(op, None)

    def need(self, op: ir.Operation, i: int, value: ir.Value, spec: ShardSpec | None) -> None:
        """Note that `op` needs its operand `i`, `value`, in the layout `spec`."""
        if spec is not None and spec != self.spec(value):
            self.wanted.setdefault(value, {}).setdefault(spec, []).append((op, i))

    def derive(self, op: ir.Operation) -> list[ShardSpec | None]:
        """Operand layouts of an op that has those of its results only: the cheapest that its rule allows."""
        have = [self.spec(v) for v in op.operands]
        results = [self.spec(r) for r in op.results]
        if not any(s.used_axes for s in (*have, *results)) and not is_manual(op):
            return list(have)
        rule = rule_for(op)
        try:
            rule.infer(have, results, self.mesh)
            return list(have)
        except RuleError as error:
            why = error
        best: tuple[float, list[ShardSpec]] | None = None
        for a in rule.strategies(self.mesh):
            if any(rule.result_spec(i, a) != s for i, s in enumerate(results)):
                continue
            wants = [rule.operand_spec(i, a) for i in range(len(have))]
            pairs = zip(have, wants, op.operands, strict=True)
            seconds = sum(self.seconds(h, w, shape(v), itemsize(v)) for h, w, v in pairs)
            if seconds < (math.inf if best is None else best[0]):
                best = seconds, wants
        if best is None:
            layouts = ", ".join(map(str, results))
            raise PcgError(
                f"'{op.name}' op cannot give its results the layout {layouts}: {why}; its rule is {rule}", op
            )
        return list(best[1])

    # -- the operators -------------------------------------------------------------------------

    def redistribute(self, value: ir.Value, wanted: dict[ShardSpec, Uses]) -> None:
        """Give every use in `wanted` its layout of `value`, each from the cheapest of those that exist already."""
        op, _ = next(iter(wanted.values()))[0]
        src, dims, size = self.spec(value), shape(value), itemsize(value)
        if isinstance(value, ir.BlockArgument):
            point = ir.InsertionPoint.at_block_begin(value.owner)
        else:
            point = ir.InsertionPoint.after(value.owner)
        try:
            order = self.order(src, list(wanted), dims, size)
            at_hand: dict[ShardSpec, tuple[ir.Value, ir.InsertionPoint]] = {src: (value, point)}
            for spec in order:
                op, _ = wanted[spec][0]
                if spec not in at_hand:
                    near = min(at_hand, key=lambda s: self.seconds(s, spec, dims, size))
                    steps = plan(near, spec, dims, size, self.mesh, self.link)
                    start, point = at_hand[near]
                    for result, layout in emit_pcg(steps, start, near, op.location, point):
                        at_hand[layout] = result, ir.InsertionPoint.after(result.owner)
                    self.owner.statistics["layout changes"] += 1
                    self.owner.statistics["operators"] += len(steps)
                for user, i in wanted[spec]:
                    user.operands[i] = at_hand[spec][0]
        except ReshardError as error:
            operand = wanted[spec][0][1]
            raise PcgError(f"'{op.name}' op operand {operand}: {error}", op) from None

    def seconds(self, src: ShardSpec, dst: ShardSpec, dims: tuple[int, ...], size: float) -> float:
        """Seconds of a redistribution; infinite where there is none."""
        try:
            return cost(src, dst, dims, size, self.mesh, self.link)[0]
        except ReshardError:
            return math.inf

    def order(
        self, src: ShardSpec, wanted: list[ShardSpec], dims: tuple[int, ...], size: float
    ) -> list[ShardSpec]:
        """The order of producing the layouts in which the redistributions, each from an earlier layout, take least."""
        if len(wanted) == 1:
            return wanted
        if len(wanted) > _TRY_ALL:
            return sorted(wanted, key=lambda s: -self.seconds(src, s, dims, size))

        def total(order: tuple[ShardSpec, ...]) -> float:
            seconds, at_hand = 0.0, [src]
            for spec in order:
                near = min(at_hand, key=lambda s: self.seconds(s, spec, dims, size))
                seconds += self.seconds(near, spec, dims, size)
                if near != spec:
                    for step in plan(near, spec, dims, size, self.mesh, self.link):
                        near = step.apply(near)
                        at_hand.append(near)
            return seconds

        best = min(itertools.permutations(wanted), key=total)
        return list(best)

