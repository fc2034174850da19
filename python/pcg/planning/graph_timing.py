"""The step of a plan before it is written: the decisions of a search, timed by the simulator without lowering them.

A choice for every node of a search's graph says what every op computes on one device and what is sent between ops.
That is a program for the simulator: kernels as they are fused, collectives where lowering puts them, right behind what
they redistribute.  Combining of all-reduces and list scheduling are those of a lowered program.  What the graph does
not know is left out: copies of buffers, what uneven shards and windows cost in pads and slices, chains of
redistributions that become one.  How far both are apart: docs/decisions/0026-plans-before-lowering.md and, for any
model of the zoo, bench/draft_times.py.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from pcg.cost import COMBINED, CostModel
from pcg.layout import ShardSpec
from pcg.reshard import plan
from pcg.rules import traits
from pcg.rules.registry import BRANCHES
from pcg.rules.traits import Trait
from pcg.search.built import Built
from pcg.search.terms import ReshardCosts, Tallies, Tally
from pcg.search.timing import update_nodes
from pcg.simulate.combine_all_reduces import combine_all_reduces
from pcg.simulate.schedule import makespan
from pcg.simulate.task_graph import COMMUNICATION, COMPUTE, Task, TaskGraph
from pcg.solve.network import FORBIDDEN

#: Traits of ops that are no kernels.
_NO_KERNEL = Trait.GENERATOR | Trait.DEVICE_NUMBER | Trait.TOKEN | Trait.COLLECTIVE
#: Values that are to be there before a task starts.
_Needs = tuple[int, ...]


@dataclass(frozen=True)
class _Step:
    """A collective of a redistribution: its kind and axes, its time, bytes that one device sends, and of its result."""

    kind: str
    axes: tuple[str, ...]
    seconds: float
    wire_bytes: float
    size: float


@dataclass(frozen=True)
class _Kernel:
    """Where an op is computed: the kernels that it is part of, and whether it ends the first of them."""

    numbers: tuple[int, ...]
    last: bool


class GraphTimer:
    """Times plans of one graph on the machine and mesh of `model`."""

    def __init__(self, built: Built, model: CostModel) -> None:
        self.built, self.model = built, model
        self.tallies = Tallies(built, ReshardCosts(model))
        self.arguments = frozenset(built.arguments)
        self.out: list[list[int]] = [[] for _ in built.graph.nodes]
        """Of each node the edges from it."""
        self.into: list[list[tuple[int, int, int]]] = [[] for _ in built.graph.nodes]
        """Of each node the edges to it, with the nodes and results that they come from."""
        for i, e in enumerate(built.graph.edges):
            self.out[e.src].append(i)
            self.into[e.dst].append((i, e.src, e.slot))
        self.sizes = {(e.src, e.slot): math.prod(e.shape) * e.itemsize for e in built.graph.edges}
        """Global bytes of values that are read."""
        self.slots = [len(n.table.outs) for n in built.graph.nodes]
        self.filled: set[int] = set()
        """Ops that update a constant, which is written for them."""
        self.kernels: dict[int, _Kernel | None] = {}
        """Of ops; None for other names of a value."""
        for op, node in built.ops:
            if not traits.has(op.name, _NO_KERNEL):
                numbers, last = built.kernels[node]
                self.kernels[node] = _Kernel(numbers, last) if numbers else None
                if traits.has(op.name, Trait.UPDATE) and all(built.graph.edges[i].index for i, *_ in self.into[node]):
                    self.filled.add(node)
        self.fused: dict[int, int] = {}
        """Nodes of values that stay inside of kernels, also under other names, and the op that computes them."""
        for n, kernel in enumerate(map(self.kernels.get, range(len(self.out)))):
            if kernel is not None and not kernel.last:
                self.fused[n] = n
            elif kernel is None and self.into[n] and (source := self.fused.get(self.into[n][0][1])) is not None:
                if n in self.tallies.layout_nodes or n in self.kernels:
                    self.fused[n] = source
        self.loops: dict[int, tuple[int, list[int]]] = {}
        """First node of a loop -> the first behind it, and the nodes of what it carries."""
        self.joins: dict[int, list[int]] = {}
        """Last node of what branches compute -> the nodes of their results, which come before it in the graph."""
        first_of = {}
        for op, nodes in built.carries:
            if op.name not in BRANCHES and nodes:
                self.loops[nodes[0]] = built.loop_ends[nodes[0]], nodes
                first_of.update(dict.fromkeys(nodes, nodes[0]))
        for op, nodes in built.carries:
            for n in nodes if op.name in BRANCHES else ():
                end = max((src for _, src, _ in self.into[n]), default=n)
                self.joins.setdefault(max(n, first_of.get(end, end)), []).append(n)
        self.joined = {n for nodes in self.joins.values() for n in nodes}
        nothing, one = (model.seconds("stablehlo.add", "f32", 0.0, 0.0, kernels=n) for n in (0.0, 1.0))
        self.overhead = float(one - nothing)
        """Seconds of starting a kernel."""
        self._steps: dict[tuple[object, ...], tuple[_Step, ...]] = {}

    def seconds(self, choice: Sequence[int], apart: Collection[tuple[int, int]] = ()) -> float:
        """Seconds of a step of the plan `choice`, a choice per node; infinite where it is none.

        `apart`: operands (node, number) that are redistributed right before the op, each by itself.
        """
        graph = self.task_graph(choice, apart)
        if graph is None:
            return math.inf
        combine_all_reduces(graph, COMBINED, self.model)
        return makespan(graph)

    def task_graph(self, choice: Sequence[int], apart: Collection[tuple[int, int]] = ()) -> TaskGraph | None:
        """The tasks of a step of the plan `choice`; None where it is none."""
        edges = [i for i, e in enumerate(self.built.graph.edges) if (e.dst, e.index) in apart] if apart else []
        tally = Tally(self.tallies, choice, {self.built.graph.edges[i].src for i in edges})
        graph = TaskGraph()
        writer = _TaskWriter(self, tally, edges)
        writer.block(_Block(graph, 0, len(self.out)), range(len(self.out)))
        return graph if writer.possible else None

    def update_seconds(self, choice: Sequence[int]) -> float:
        """Seconds of computing the new state, which is what splitting it over more devices can save."""
        tally = Tally(self.tallies, choice)
        inside = tally.inside()
        state = self.arguments.difference(self.built.data)
        updates = update_nodes(self.built.graph.nodes, self.built.graph.edges, state)
        return sum(tally.work(n) - inside.get(n, (0.0, 0.0))[0] for n in updates)

    def steps(self, tally: Tally, edge: int) -> tuple[_Step, ...]:
        """The collectives of the redistribution at an edge."""
        e = self.built.graph.edges[edge]
        source, target = tally.source_spec(e), tally.target_spec(e)
        key = source, target, e.shape, e.itemsize
        found = self._steps.get(key)
        if found is None:
            mesh, steps = self.model.mesh, []
            for step in plan(source, target, e.shape, e.itemsize, mesh, self.model.link):
                sent, axes = step.wire_bytes(source, e.shape, e.itemsize, mesh), step.devices(source)
                source = step.apply(source)
                size = e.itemsize * math.prod(-(-n // s) for n, s in zip(e.shape, source.shards(mesh), strict=True))
                if sent:
                    seconds = self.model.link(axes, sent, step.collective)
                    steps.append(_Step(step.collective, axes, seconds, sent, size))
            found = self._steps[key] = tuple(steps)
        return found


@dataclass
class _Block:
    """Tasks of the nodes from `start` to before `end`: of the program, or of the body of a loop."""

    graph: TaskGraph
    start: int
    end: int
    runs: float = 1.0
    """How often it runs per step."""
    carries: frozenset[int] = frozenset()
    captured: list[int] = field(default_factory=list)
    """Edges to it from outside."""

    def has(self, node: int) -> bool:
        """Whether a node is in it, or in a loop in it."""
        return self.start <= node < self.end


class _TaskWriter:
    """Writes the tasks of one plan."""

    def __init__(self, timer: GraphTimer, tally: Tally, apart: Collection[int]) -> None:
        self.timer, self.tally = timer, tally
        self.nodes, self.edges = timer.built.graph.nodes, timer.built.graph.edges
        self.inside = tally.inside()
        self.overhead = timer.overhead
        self.resharded = {i: s for i in range(len(self.edges)) if (s := tally.resharding(i)[0]) > 0}
        """Seconds of the redistributions at edges that have one."""
        self.apart = self.resharded.keys() & set(apart)
        """Those of them that are right before the reader."""
        self.sends = {self.edges[i].src for i in self.resharded}
        """Nodes whose results are redistributed."""
        self.left = {timer.fused[self.edges[i].src]: i for i in self.resharded if self.edges[i].src in timer.fused}
        """Ops whose results leave kernels because they are redistributed, and an edge where they are."""
        self.results: dict[int, Sequence[_Needs]] = {}
        """Of each node what readers of its results wait for."""
        self.received: dict[int, _Needs] = {}
        """Of edges with a redistribution what their readers wait for."""
        self.pending: dict[int, tuple[list[float], dict[int, None]]] = {}
        """Of kernels that have not ended their seconds, and what they read."""
        self.extra: dict[int, float] = {}
        """Seconds that nodes read redistributed values from memory that would not be there."""
        self.possible = all(s < FORBIDDEN for s in self.resharded.values())

    def block(self, at: _Block, nodes: Iterable[int]) -> None:
        """Write the tasks of `nodes`, all those of the block in the order of the graph."""
        timer, behind = self.timer, at.start
        for n in nodes:
            if n < behind:
                continue
            if n in timer.loops:
                behind = self.loop(at, n)
            elif n in timer.arguments:
                self.send(at, n, [(at.graph.value(0.0),)] * timer.slots[n])
            elif n not in timer.joined:
                self.send(at, n, self.compute(at, n))
            for join in timer.joins.get(n, ()):
                self.send(at, join, [self.read(at, join)] * timer.slots[join])

    def read(self, at: _Block, n: int) -> _Needs:
        """What node `n` waits for."""
        found: dict[int, None] = {}
        for i, src, slot in self.timer.into[n]:
            if not at.start <= src < at.end:  # a body has values of its own
                at.captured.append(i)
                continue
            needs = self.received.get(i)
            if needs is None:
                before = self.results.get(src)  # none of what comes from the step before
                needs = () if before is None else before[slot]
                if i in self.apart:
                    needs = self.redistribute(at, i, needs)
            elif src in self.timer.fused:
                # A value that would not leave its kernel is read from memory.
                self.extra[n] = self.extra.get(n, 0.0) + self.through_memory(i, self.tally.target_spec(self.edges[i]))
            for v in needs:
                found[v] = None
        return tuple(found)

    def compute(self, at: _Block, n: int) -> Sequence[_Needs]:
        """Write the task of node `n`, if it ends one; returns what readers of each of its results wait for."""
        graph, slots = at.graph, self.timer.slots[n]
        reads = self.read(at, n)
        work = self.tally.work(n)
        if not work < FORBIDDEN:
            self.possible = False
        if n in self.inside:
            exchange, sent = self.inside[n]
            work -= exchange
            if exchange > 0:
                value = graph.value(0.0)
                graph.tasks.append(
                    Task(
                        "permute", "collective", exchange / at.runs, (COMMUNICATION,), reads, (value,),
                        bytes=sent / at.runs, detail={"axes": (), "type": ""},
                    )
                )  # fmt: skip
                reads = (value,)
        if n in self.timer.filled:
            reads = (*reads, self.fill(graph, n))
        kernel = self.timer.kernels.get(n)
        if kernel is None:
            return [reads] * slots
        for k in kernel.numbers:
            pending = self.pending.get(k)
            if pending is None:
                pending = self.pending[k] = ([0.0], {})
            for v in reads:
                pending[1][v] = None
        total, needed = self.pending[kernel.numbers[0]]
        total[0] += work / at.runs + self.extra.get(n, 0.0)
        if not kernel.last:
            if n not in self.left:
                return [()] * slots
            total[0] += self.through_memory(self.left[n], self.tally.source_spec(self.edges[self.left[n]]))
        results = [graph.value(0.0) for _ in range(slots)]
        graph.tasks.append(
            Task(
                self.nodes[n].name, "compute", total[0] + self.overhead, (COMPUTE,), tuple(needed), tuple(results)
            )
        )  # fmt: skip
        total[0] = 0.0
        if kernel.last:
            del self.pending[kernel.numbers[0]]
        return [(r,) for r in results]

    def send(self, at: _Block, n: int, results: Sequence[_Needs], outside: _Block | None = None) -> None:
        """Write the redistributions of the results of node `n` to readers in `at` that are not in `outside`.

        Readers that want the same layout share one.
        """
        self.results[n] = results
        if n not in self.sends:
            return
        shared: dict[tuple[int, object], _Needs] = {}
        for i in self.timer.out[n]:
            e = self.edges[i]
            if i not in self.resharded or i in self.apart:
                continue
            if not at.has(e.dst) and n in at.carries or outside is not None and outside.has(e.dst):
                continue
            key = e.slot, self.tally.target_spec(e)
            if key not in shared:
                shared[key] = self.redistribute(at, i, results[e.slot])
            self.received[i] = shared[key]

    def redistribute(self, at: _Block, edge: int, needs: _Needs) -> _Needs:
        """Write what an edge sends; returns what its reader waits for."""
        if not self.possible:
            return needs
        e = self.edges[edge]
        by = next((kind for _, kind in self.tally.source_spec(e).partial), "")
        for step in self.timer.steps(self.tally, edge):
            value = at.graph.value(step.size)
            at.graph.tasks.append(
                Task(
                    step.kind, "collective", step.seconds, (COMMUNICATION,), needs, (value,),
                    grows=step.kind == "all_gather", bytes=step.wire_bytes,
                    detail={"axes": step.axes, "type": f"{e.itemsize}", "by": by},
                )
            )  # fmt: skip
            needs = (value,)
        return needs

    def loop(self, at: _Block, first: int) -> int:
        """Write a loop as one task; returns the first node behind it."""
        end, carries = self.timer.loops[first]
        runs = self.nodes[first].times
        body = _Block(TaskGraph(inner="loop"), first, end, runs, frozenset(carries))
        entering = [i for n in carries for i, src, _ in self.timer.into[n] if not body.has(src)]
        for n in carries:
            self.send(body, n, [(body.graph.value(0.0),)])
        self.block(body, (n for n in range(first, end) if n not in body.carries))
        reads: dict[int, None] = {}
        for i in (*entering, *body.captured):
            e = self.edges[i]
            if at.has(e.src):
                reads.update(dict.fromkeys(self.received[i] if i in self.received else self.results[e.src][e.slot]))
            else:
                at.captured.append(i)
        for n in carries:
            if all(body.has(src) for _, src, _ in self.timer.into[n]):  # begins with a constant, which is written
                reads[self.fill(at.graph, n)] = None
        results = [at.graph.value(0.0) for _ in carries]
        at.graph.tasks.append(
            Task(
                "while", "loop", 0.0, (COMPUTE,), tuple(reads), tuple(results), bodies=(body.graph,),
                iterations=max(1, round(runs / at.runs)),
            )
        )  # fmt: skip
        for n, value in zip(carries, results, strict=True):
            self.send(at, n, [(value,)], outside=body)
        return end

    def through_memory(self, edge: int, spec: ShardSpec) -> float:
        """Seconds of writing or reading what an edge is for, in the layout `spec`."""
        e, mesh = self.edges[edge], self.timer.model.mesh
        return self.touched(math.prod(e.shape) * e.itemsize / math.prod(spec.shards(mesh)))

    def fill(self, graph: TaskGraph, n: int) -> int:
        """Write a kernel that makes a constant of the size of the value of node `n`; returns that value."""
        shards = self.nodes[n].table.outs[0].shards(self.timer.model.mesh)[self.tally.choice[n]]
        seconds = self.touched(self.timer.sizes.get((n, 0), 0.0) / shards) + self.overhead
        value = graph.value(0.0)
        graph.tasks.append(Task("fill", "compute", seconds, (COMPUTE,), (), (value,)))
        return value

    def touched(self, size: float) -> float:
        """Seconds of `size` bytes through memory."""
        return float(self.timer.model.seconds("stablehlo.add", "f32", 0.0, size))
