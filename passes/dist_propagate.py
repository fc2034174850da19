"""dist-propagate: from annotated layouts to the layout of every value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.locations import file_line_col
from pcg.ir.strategies import strategy_of
from pcg.ir.walk import functions
from pcg.layout import Mesh, ShardSpec
from pcg.layout.strategy import format_strategy
from pcg.lower.moves import itemsize
from pcg.machine import Machine
from pcg.passes.base import Pass, PassError, option
from pcg.propagate import ENGINES, Problem, Solution, propagate
from pcg.rules import rule_for
from pcg.rules.registry import CONTROL_FLOW, TERMINATORS, shape


@dataclass
class PropagatePass(Pass):
    """Propagate annotated layouts to all values and choose each op's strategy.

    Annotations are `dist.spec` on arguments and results of functions, `dist.specs` on ops, and
    `dist.constraint`.  They spread through the ops' factor rules, forwards and backwards, until nothing
    changes; a value that no annotation reaches is replicated.  Every op then has the layouts it
    yields (`dist.specs`, partial sums included) and those it needs (`dist.operand_specs`).
    An op that must gather a split operand because nothing splits it gets a remark with the reason.

    With `engine=bfs` layouts spread breadth first from the annotations, as in MindSpore: each op that is
    reached takes the strategy, over as many devices as it can use, that redistributes least between it
    and its decided neighbours; what is annotated stops the spreading.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>}) -> tensor<8x4xf32> {
      %0 = stablehlo.tanh %x : tensor<8x4xf32>
    ```
    After:
    ```mlir
      %0 = stablehlo.tanh %x {dist.operand_specs = [#dist.shard_spec<@mesh, [["data"], []], {}>],
                              dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {}>]} : tensor<8x4xf32>
    ```
    """

    name: ClassVar[str] = "dist-propagate"
    merge_reductions: bool = option(True, "Add partial sums before they are reduced where fewer bytes move.")
    engine: str = option(
        "dataflow", "How layouts spread: to the fixpoint of what they imply, or op by op.", ENGINES
    )  # fmt: skip
    strategies: bool = option(False, "Remark every op's strategy as slices per operand, ((2,1),(1,4)).")
    origins: bool = option(False, "Remark, per value that got a layout, which annotations it comes from.")
    machine: Machine = field(default_factory=Machine.default)

    def run(self, module: ir.Operation) -> None:
        mesh = shardings.mesh_of(module)
        if mesh is None:
            return
        if self.engine not in ENGINES:
            raise PassError(module, f"option 'engine' is {self.engine!r}; expected one of {', '.join(ENGINES)}")
        link = CostModel(self.machine, mesh).link
        with module.context:
            for func in functions(module):
                if len(func.regions[0].blocks):
                    graph = FunctionGraph(func, mesh)
                    solution = propagate(graph.problem, self.merge_reductions, self.engine, link)
                    graph.write(solution)
                    self.report(graph, solution)

    def report(self, graph: FunctionGraph, solution: Solution) -> None:
        """Count, and remark ops that gather what they cannot split."""
        self.statistics["values"] += len(graph.problem.values)
        self.statistics["values split"] += sum(any(s.dims) for s in solution.specs)
        self.statistics["ops on partial values"] += solution.delayed
        for n, op in graph.ops.items():
            if why := gathered(graph.problem, solution, n):
                self.statistics["ops gathering what they cannot split"] += 1
                self.remark(op, f"'{op.name}' op {why}")
        if self.strategies:
            for op in graph.ops.values():
                if strategy := strategy_of(op, graph.mesh):
                    self.remark(op, f"'{op.name}' op has strategy {format_strategy(strategy)}")
        if self.origins:
            for n, op in graph.ops.items():
                for v in graph.problem.nodes[n].results:
                    spec = solution.specs[v]
                    if found := sorted({solution.why(graph.problem, v, a) for a in spec.used_axes}):
                        self.remark(op, f"'{op.name}' op has layout {spec} from {', '.join(found)}")


def gathered(problem: Problem, solution: Solution, n: int) -> str:
    """Why node `n` needs a split operand whole although that is not the result of a choice; empty if it does not."""
    node, a = problem.nodes[n], solution.assignments[n]
    assert a is not None
    for i, v in enumerate(node.operands):
        have = solution.natives[v]
        if not any(have.dims):
            continue
        if node.rule.reason:
            return f"runs replicated: operand {i} is split as {have}, but {node.rule.reason}"
        for d, (axes, factors) in enumerate(zip(have.dims, node.rule.operands[i], strict=True)):
            stuck = next((f for f in factors if not node.rule.factors[f].splittable), None)
            if axes and stuck is not None:
                reason = node.rule.factors[stuck].reason
                return f"gathers dimension {d} of operand {i}, split by {'+'.join(axes)}: {reason}"
    return ""


class FunctionGraph:
    """A function as a propagation problem, and the way back."""

    def __init__(self, func: ir.Operation, mesh: Mesh) -> None:
        self.func, self.mesh = func, mesh
        self.problem = Problem(mesh)
        self.values: dict[ir.Value, int] = {}
        #: Ordinary ops by node.
        self.ops: dict[int, ir.Operation] = {}
        #: Loops and conditionals, and requests for a layout, with the values of their results.
        self.structures: list[tuple[ir.Operation, tuple[int, ...]]] = []
        self.opaque: list[ir.Operation] = []
        block = func.regions[0].blocks[0]
        name = ir.StringAttr(func.attributes["sym_name"]).value
        self.arguments = list(block.arguments)
        for i, arg in enumerate(self.arguments):
            self.add(arg, shardings.get(arg), f"argument {i} of @{name}")
        types = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results
        self.results = [
            self.problem.value(_shape(t), 0.0, spec, f"result {i} of @{name}")
            for i, (t, spec) in enumerate(zip(types, shardings.function_result_specs(func), strict=True))
        ]
        self.walk(block, self.results)

    def add(self, value: ir.Value, fixed: ShardSpec | None = None, name: str = "") -> int:
        """A problem value for `value`; annotations lose what is partial, which only ops can make."""
        dims = shape(value)
        size = float(math.prod(dims) * itemsize(value)) if isinstance(value.type, ir.RankedTensorType) else 0.0
        index = self.problem.value(dims, size, fixed.without_partial() if fixed else None, name)
        self.values[value] = index
        return index

    def produce(self, op: ir.Operation) -> tuple[int, ...]:
        """Problem values of the results of `op`, fixed where they are annotated."""
        if shardings.SPECS not in op.attributes:
            return tuple(self.add(r) for r in op.results)
        where = file_line_col(op.location)
        at = f" at {where[0]}:{where[1]}" if where else ""
        specs = shardings.result_specs(op)
        return tuple(self.add(r, s, f"{op.name}{at}") for r, s in zip(op.results, specs, strict=True))

    def walk(self, block: ir.Block, outer: list[int]) -> None:
        """Add the ops of a block; its terminator gives its operands to the values `outer`."""
        problem, values = self.problem, self.values
        for op in block.operations:
            op = op.operation
            if op.name in TERMINATORS:
                for v, target in zip(op.operands, outer, strict=False):
                    problem.tie(values[v], target)
            elif op.name == "stablehlo.while":
                self.loop(op)
            elif op.name in CONTROL_FLOW:
                results = self.produce(op)
                self.structures.append((op, results))
                for region in op.regions:
                    self.walk(region.blocks[0], list(results))
            elif op.name in ("dist.constraint", "dist.reshard"):
                self.request(op)
            elif op.name.startswith(("dist.", "pcg.")):
                self.produce(op)
                self.opaque.append(op)
            else:
                rule = rule_for(op)
                n = problem.node(rule, tuple(values[v] for v in op.operands), self.produce(op))
                self.ops[n] = op

    def loop(self, op: ir.Operation) -> None:
        """A carry has one layout: result, arguments of both regions, and what is yielded."""
        results = self.produce(op)
        self.structures.append((op, results))
        for v, target in zip(op.operands, results, strict=True):
            self.problem.tie(self.values[v], target)
        for region, outer in zip(op.regions, ([], list(results)), strict=True):
            inner = region.blocks[0]
            self.values.update(zip(inner.arguments, results, strict=True))
            self.walk(inner, outer)

    def request(self, op: ir.Operation) -> None:
        """A constraint is an annotation in both directions; a reshard only changes what follows it."""
        spec = shardings.from_attr(op.attributes["spec"])
        where = file_line_col(op.location)
        v = self.add(op.results[0], spec, f"{op.name}" + (f" at {where[0]}:{where[1]}" if where else ""))
        if op.name == "dist.constraint":
            self.problem.tie(self.values[op.operands[0]], v)
        self.structures.append((op, (v,)))

    def write(self, solution: Solution) -> None:
        """Write layouts back into the IR."""
        arguments = [solution.specs[self.values[arg]] for arg in self.arguments]
        shardings.set_signature_specs(self.func, arguments, [solution.specs[v] for v in self.results])
        for op, results in self.structures:
            shardings.set_result_specs(op, [solution.specs[v] for v in results])
        for op in self.opaque:
            shardings.set_result_specs(op, [solution.specs[self.values[r]] for r in op.results])
        for n, op in self.ops.items():
            node, a = self.problem.nodes[n], solution.assignments[n]
            assert a is not None
            shardings.set_result_specs(op, [solution.natives[v] for v in node.results])
            shardings.set_operand_specs(op, [node.rule.operand_spec(i, a) for i in range(len(node.operands))])


def _shape(type_: ir.Type) -> tuple[int, ...]:
    return tuple(type_.shape) if isinstance(type_, ir.RankedTensorType) else ()
