"""From annotated layouts to the layout of every value."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import annotation, shardings
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.walk import functions, is_private
from pcg.machine import Machine
from pcg.planning.progress import Progress
from pcg.planning.propagation_graph import PropagationGraph
from pcg.propagate import ENGINES as LOCAL
from pcg.propagate import PropagationProblem, PropagationResult, propagate
from pcg.rules.manual import computations
from pcg.rules.op_strategy import strategy_of
from pcg.rules.strategy import format_strategy
from pcg.search.assign import assign
from pcg.search.measure import NotPlaced, measure
from pcg.search.outcome import DoesNotFit, Outcome
from pcg.search.roles import state_of
from pcg.search.terms import Measure

#: How layouts can be found, the default first.
ENGINES = ("global", *LOCAL)


@dataclass
class Propagate(Transformation):
    """Propagate annotated layouts to all values and choose each op's strategy."""

    merge_reductions: bool = option(True, "Add partial sums before they are reduced where that sends fewer bytes.")
    engine: str = option("global", "How layouts are found.", ENGINES)
    strategies: bool = option(False, "Remark every op's strategy as slices per operand, ((2,1),(1,4)).")
    origins: bool = option(False, "Remark, per value that got a layout, which annotations it comes from.")
    memory_limit: Bytes | None = option(None, "Bytes per device that engine=global may use, as 16GiB.")
    progress: bool = option(True, "Show progress on stderr when engine=global takes longer than two seconds.")
    machine: Machine = field(default_factory=Machine.default)
    measured: bool = field(default_factory=lambda: True)
    """Whether the outcome is measured, which a caller that simulates it does not need."""

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
                if len(func.regions[0].blocks) and ir.StringAttr(func.attributes["sym_name"]).value not in bodies:
                    if not is_private(func):
                        annotation.record(func, self.engine, state_of(func) if self.engine == "global" else None)
                    graph = PropagationGraph(func, mesh)
                    # A program that is placed already has PCG operators, whose cost the search does not count.
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

    def assign(self, graph: PropagationGraph, model: CostModel) -> PropagationResult:
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
        """Measure the written layouts and remark the outcome; layouts that a later pass refuses have no measure."""
        try:
            self.note(func, measure(func, model, state_of(func)))
        except NotPlaced as error:
            self.remark(error.location, f"the outcome has no measure: {error.message}")

    def note(self, func: ir.Operation, found: Measure, more: str = "") -> None:
        """Remark what the outcome costs."""
        self.measures[ir.StringAttr(func.attributes["sym_name"]).value] = found
        self.statistics["bytes redistributed"] += round(found.bytes)
        self.remark(func, f"engine={self.engine}: {found}{more}")

    def report(self, graph: PropagationGraph, solution: PropagationResult) -> None:
        """Statistics, and remarks on ops that gather what they cannot split."""
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
    """Why node `n` cannot keep a split operand as it is, whatever its strategy; empty if it can."""
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
