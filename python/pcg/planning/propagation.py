"""From annotated layouts to the layout of every value."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import given, shardings
from pcg.ir.errors import PcgError
from pcg.ir.locations import file_line_col
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import functions, is_private
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Machine
from pcg.planning.progress import Progress
from pcg.propagate import ENGINES as LOCAL
from pcg.propagate import PropagationProblem, PropagationResult, propagate
from pcg.rules import rule_for
from pcg.rules.factor import Assignment
from pcg.rules.manual import computations
from pcg.rules.op_strategy import strategy_of
from pcg.rules.registry import CONTROL_FLOW, TERMINATORS, shape
from pcg.rules.strategy import format_strategy
from pcg.search.assign import Decided, assign
from pcg.search.measure import NotPlaced, measure
from pcg.search.outcome import DoesNotFit, Outcome
from pcg.search.roles import state_of
from pcg.search.terms import Measure

#: How layouts can be found, the default first.
ENGINES = ("global", *LOCAL)


@dataclass
class Propagate(Transformation):
    """Propagate annotated layouts to all values and choose each op's strategy."""

    merge_reductions: bool = option(True, "Add partial sums before they are reduced where fewer bytes move.")
    engine: str = option("global", "How layouts are found.", ENGINES)
    strategies: bool = option(False, "Remark every op's strategy as slices per operand, ((2,1),(1,4)).")
    origins: bool = option(False, "Remark, per value that got a layout, which annotations it comes from.")
    memory_limit: Bytes | None = option(None, "Bytes per device that engine=global may use, as 16GiB.")
    progress: bool = option(True, "Show progress on stderr when engine=global takes longer than two seconds.")
    machine: Machine = field(default_factory=Machine.default)
    measured: bool = field(default_factory=lambda: True)
    """Whether the outcome is measured; who prices it otherwise saves the time."""

    def __post_init__(self) -> None:
        super().__post_init__()
        #: Of engine=global on the last function; the other engines' plans are its alternatives.
        self.outcome: Outcome | None = None
        self.measures: dict[str, Measure] = {}
        """By name of the function."""

    def run(self, module: ir.Operation) -> None:
        mesh = shardings.mesh_of(module)
        if mesh is None:
            return
        if self.engine not in ENGINES:
            raise PcgError(f"option 'engine' is {self.engine!r}; expected one of {', '.join(ENGINES)}", module)
        model = CostModel(self.machine, mesh)
        with module.context:
            bodies = computations(module)
            for func in functions(module):
                own = ir.StringAttr(func.attributes["sym_name"]).value in bodies
                if len(func.regions[0].blocks) and not own:
                    if not is_private(func):
                        given.mark(func, self.engine, state_of(func) if self.engine == "global" else None)
                    graph = FunctionGraph(func, mesh)
                    # Other moves may be in the program already; the search does not price those.
                    local = is_private(func) or bool(graph.opaque)
                    if self.engine == "global" and not local:
                        solution = self.assign(graph, model)
                    else:
                        engine = "dataflow" if self.engine == "global" else self.engine
                        solution = propagate(graph.problem, self.merge_reductions, engine, model.link)
                        graph.write(solution)
                        if not local and self.measured:
                            self.note_measure(func, model)
                    self.report(graph, solution)

    def assign(self, graph: FunctionGraph, model: CostModel) -> PropagationResult:
        """Write the assignment that costs least."""
        func, problem = graph.func, graph.problem
        solutions = {e: propagate(problem, self.merge_reductions, e, model.link) for e in LOCAL}
        decided = [graph.decided(name, s) for name, s in solutions.items()]
        limit = None if self.memory_limit is None else float(self.memory_limit)
        with Progress(self.progress, "dist-propagate") as progress:
            try:
                found = assign(func, decided, model, state_of(func), limit, progress)
            except DoesNotFit as error:
                raise error.at(func) from None
        if not found.possible:
            raise PcgError("the annotations contradict each other: no assignment has them all", func)
        found.write()
        self.outcome = found.outcome
        self.statistics["decisions"] += len(found.built.graph.nodes)
        self.statistics["ilp binaries"] += found.outcome.ilp_variables
        others = "; ".join(f"{a.name} {1e6 * a.seconds:.2f} us" for a in found.outcome.alternatives)
        text = f", bound {1e6 * found.outcome.bound:.2f} us" + (f"; rejected: {others}" if others else "")
        self.note(func, found.measure, text)
        return graph.read(solutions["dataflow"].origins)

    def note_measure(self, func: ir.Operation, model: CostModel) -> None:
        """Measure what is written, and say so; layouts that a later pass will refuse have no measure."""
        try:
            self.note(func, measure(func, model, state_of(func)))
        except NotPlaced as error:
            self.remark(error.location, f"the outcome has no measure: {error.message}")

    def note(self, func: ir.Operation, found: Measure, more: str = "") -> None:
        """Say what the outcome costs."""
        self.measures[ir.StringAttr(func.attributes["sym_name"]).value] = found
        self.statistics["bytes redistributed"] += round(found.bytes)
        self.remark(func, f"engine={self.engine}: {found}{more}")

    def report(self, graph: FunctionGraph, solution: PropagationResult) -> None:
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
                    if found := sorted({solution.why(graph.problem, v, a) or "least time" for a in spec.used_axes}):
                        self.remark(op, f"'{op.name}' op has layout {spec} from {', '.join(found)}")


def gathered(problem: PropagationProblem, solution: PropagationResult, n: int) -> str:
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
        self.problem = PropagationProblem(mesh)
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
        """A problem value for `value`; annotations lose what is partial, which only ops can make."""
        dims = shape(value)
        size = tensor_bytes(value.type)
        index = self.problem.value(dims, size, fixed.without_partial() if fixed else None, name, open, priorities)
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
            elif op.name in shardings.CONSTRAINTS:
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
        name = op.name + (f" at {where[0]}:{where[1]}" if where else "")
        attrs = op.attributes
        v = self.add(op.results[0], spec, name, shardings.open_dims(attrs), shardings.priorities(attrs))
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
                made = self.problem.nodes[n].results
                kept.update((r, solution.natives[v]) for r, v in zip(op.results, made, strict=True))
        return Decided(name, strategies, kept, [solution.specs[v] for v in self.results])

    def read(self, origins: list[dict[str, int]]) -> PropagationResult:
        """The solution that is written in the IR; `origins` of axes that an annotation implies, else least cost."""
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


def _shape(type_: ir.Type) -> tuple[int, ...]:
    return tuple(type_.shape) if isinstance(type_, ir.RankedTensorType) else ()
