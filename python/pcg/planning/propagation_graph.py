"""A function as a propagation problem, and a solution of it as layouts of the function."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.locations import file_line_col
from pcg.ir.types import tensor_bytes
from pcg.layout import Mesh, ShardSpec
from pcg.propagate import PropagationProblem, PropagationResult
from pcg.rules import rule_for
from pcg.rules.factor import Assignment
from pcg.rules.registry import CONTROL_FLOW, TERMINATORS, shape
from pcg.search.assign import Decided


class PropagationGraph:
    """A function as a propagation problem, and a solution of it as layouts of the function."""

    def __init__(self, func: ir.Operation, mesh: Mesh) -> None:
        self.func, self.mesh = func, mesh
        self.problem = PropagationProblem(mesh)
        self.values: dict[ir.Value, int] = {}
        #: Ordinary ops by node.
        self.ops: dict[int, ir.Operation] = {}
        #: Loops and conditionals, constraints and reshards, with the values of their results.
        self.structures: list[tuple[ir.Operation, tuple[int, ...]]] = []
        self.opaque: list[ir.Operation] = []
        """PCG operators and other ops of a program that is placed already."""
        block = func.regions[0].blocks[0]
        name = ir.StringAttr(func.attributes["sym_name"]).value
        self.arguments = list(block.arguments)
        for i, arg in enumerate(self.arguments):
            annotation = shardings.get(arg), f"argument {i} of @{name}", *_freedom(func, "arg_attrs", i)
            self.add(arg, *annotation)
        types = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results
        self.results = [
            self.problem.value(_shape(t), 0.0, spec, f"result {i} of @{name}", *_freedom(func, "res_attrs", i))
            for i, (t, spec) in enumerate(zip(types, shardings.function_result_specs(func), strict=True))
        ]
        self.walk(block, self.results)

    def add(
        self, value: ir.Value, fixed: ShardSpec | None = None, name: str = "",
        open: tuple[int, ...] = (), priorities: tuple[int, ...] = (),
    ) -> int:  # fmt: skip
        """A problem value for `value`, fixed as annotated but for partial axes, which only ops can yield."""
        dims = shape(value)
        size = tensor_bytes(value.type)
        index = self.problem.value(dims, size, fixed.without_partial() if fixed else None, name, open, priorities)
        self.values[value] = index
        return index

    def produce(self, op: ir.Operation) -> tuple[int, ...]:
        """The problem's values for the results of `op`, fixed where they are annotated."""
        if shardings.SPECS not in op.attributes:
            return tuple(self.add(r) for r in op.results)
        return tuple(self.add(r, s, _called(op)) for r, s in zip(op.results, shardings.result_specs(op), strict=True))

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
            elif op.name in shardings.CONSTRAINTS:
                self.constraint(op)
            elif op.name.startswith(("dist.", "pcg.")):
                self.produce(op)
                self.opaque.append(op)
            else:
                rule = rule_for(op)
                n = problem.node(rule, tuple(values[v] for v in op.operands), self.produce(op))
                self.ops[n] = op

    def loop(self, op: ir.Operation) -> None:
        """A carried value has one layout: of the result, the arguments of both regions, and what is yielded."""
        results = self.produce(op)
        self.structures.append((op, results))
        for v, target in zip(op.operands, results, strict=True):
            self.problem.tie(self.values[v], target)
        for region, outer in zip(op.regions, ([], list(results)), strict=True):
            inner = region.blocks[0]
            self.values.update(zip(inner.arguments, results, strict=True))
            self.walk(inner, outer)

    def constraint(self, op: ir.Operation) -> None:
        """A constraint is an annotation in both directions; a reshard only changes what follows it."""
        spec = shardings.from_attr(op.attributes["spec"])
        attrs = op.attributes
        v = self.add(op.results[0], spec, _called(op), shardings.open_dims(attrs), shardings.priorities(attrs))
        if op.name == "dist.constraint":
            self.problem.tie(self.values[op.operands[0]], v)
        self.structures.append((op, (v,)))

    def write(self, solution: PropagationResult) -> None:
        """Write layouts back into the IR."""
        arguments = [solution.specs[self.values[arg]] for arg in self.arguments]
        shardings.set_signature_specs(self.func, arguments, [solution.specs[v] for v in self.results])
        for op, results in self.structures:
            shardings.set_result_specs(op, [solution.specs[v] for v in results])
            if "spec" in op.attributes:
                op.attributes["spec"] = shardings.to_attr(solution.specs[results[0]])
                for name in (shardings.OPEN, shardings.PRIORITIES):
                    if name in op.attributes:
                        del op.attributes[name]
        for op in self.opaque:
            shardings.set_result_specs(op, [solution.specs[self.values[r]] for r in op.results])
        for n, op in self.ops.items():
            node, a = self.problem.nodes[n], solution.assignments[n]
            assert a is not None
            shardings.set_result_specs(op, [solution.natives[v] for v in node.results])
            shardings.set_operand_specs(op, [node.rule.operand_spec(i, a) for i in range(len(node.operands))])

    def decided(self, name: str, solution: PropagationResult) -> Decided:
        """A solution in terms of the IR, unwritten."""
        strategies: dict[ir.Operation, Assignment] = {}
        kept = {arg: solution.specs[self.values[arg]] for arg in self.arguments}
        for op, results in self.structures:
            kept.update((r, solution.specs[v]) for r, v in zip(op.results, results, strict=True))
        for n, op in self.ops.items():
            a = solution.assignments[n]
            assert a is not None
            strategies[op] = a
            if op.name == "stablehlo.optimization_barrier":
                values = self.problem.nodes[n].results
                kept.update((r, solution.natives[v]) for r, v in zip(op.results, values, strict=True))
        return Decided(name, strategies, kept, [solution.specs[v] for v in self.results])

    def read(self, origins: list[dict[str, int]]) -> PropagationResult:
        """The solution that is written in the IR; `origins`: for each value, which annotation implies an axis."""
        problem = self.problem
        natives = [ShardSpec.replicated(len(v.shape)) for v in problem.values]
        for value, v in self.values.items():
            natives[v] = shardings.get(value) or natives[v]
        for v, spec in zip(self.results, shardings.function_result_specs(self.func), strict=True):
            natives[v] = spec or natives[v]
        assignments: list[Assignment | None] = [None] * len(problem.nodes)
        known: dict[tuple, Assignment] = {}
        for n, op in self.ops.items():
            rule = problem.nodes[n].rule
            operands, results = shardings.operand_specs(op) or [], shardings.result_specs(op)
            key = (id(rule), *operands, *results)
            if key not in known:
                known[key] = rule.infer(operands, results, self.mesh)  # type: ignore[arg-type]
            assignments[n] = known[key]
        specs = [s.without_partial() for s in natives]
        return PropagationResult(specs, assignments, natives, origins)


def _freedom(func: ir.Operation, where: str, i: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Open dimensions and priorities of an argument or result of a function."""
    return shardings.signature_open_dims(func, where, i), shardings.signature_priorities(func, where, i)


def _called(op: ir.Operation) -> str:
    """The name of an op in reports: `dist.constraint at model.py:12`."""
    where = file_line_col(op.location)
    return op.name + (f" at {where[0]}:{where[1]}" if where else "")


def _shape(type_: ir.Type) -> tuple[int, ...]:
    return tuple(type_.shape) if isinstance(type_, ir.RankedTensorType) else ()
