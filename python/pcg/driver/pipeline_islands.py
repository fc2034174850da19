"""A pipelined step as a program of nodes on slices, one for each stage's group of devices.  Needs no jax.

A node is a fragment for one microbatch; nodes are in the order of the schedule.  What goes between groups, when it is
there for the last time, and what each island does follows from that as for any program on slices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pcg.driver.island_program import Boundary, NodeGraph
from pcg.driver.pipelined import Division, FragmentProgram, PipelineProgram
from pcg.driver.program import Leaf
from pcg.layout import ShardSpec
from pcg.lower.fragment import outside_shape, outside_spec
from pcg.pipeline.instructions import Instance, Instructions, Run, global_order


@dataclass(frozen=True)
class StepNodes:
    """The nodes of a step, and what they run."""

    graph: NodeGraph
    starts: Mapping[str, FragmentProgram]
    """By function, the fragment whose sums it begins."""
    fragments: Mapping[str, FragmentProgram]
    divisions: Mapping[str, Division]
    """By function: a value to its microbatches."""
    joins: Mapping[str, Division]


def step_nodes(program: PipelineProgram, instructions: Instructions, slices: Sequence[str]) -> StepNodes:
    """The nodes of a step.

    Args:
      slices: the name of the slice of each group.
    """
    return _Reader(program, slices).read(instructions)


def random_keys(program: PipelineProgram) -> dict[str, Leaf]:
    """The values that are random keys, as they are outside."""
    p = program.program
    found: dict[str, Leaf] = {}
    for names, leaves, counts in (
        (program.arguments, p.arguments, program.stacked_arguments),
        (program.results, p.results, program.stacked_results),
    ):
        left = iter(names)
        for leaf, count in zip(leaves, counts, strict=True):
            own = [next(left) for _ in range(count or 1)]
            if leaf.key and not count:
                found[own[0]] = leaf
    copies = [*program.transfers, *(op for op in program.first if isinstance(op, tuple))]
    divided = [op for op in (*program.first, *program.joins) if isinstance(op, Division)]
    pairs = [*copies, *((d.source, d.target) for d in divided)]
    for _ in pairs:
        for one, other in pairs:
            for a, b in ((one, other), (other, one)):
                if a in found and b not in found:
                    found[b] = replace(found[a], name=b, shape=program.values[b].shape)
    return found


@dataclass
class _Reader:
    program: PipelineProgram
    slices: Sequence[str]
    leaves: list[Leaf] = field(default_factory=list)
    nodes: list[Boundary] = field(default_factory=list)
    starts: dict[str, FragmentProgram] = field(default_factory=dict)
    fragments: dict[str, FragmentProgram] = field(default_factory=dict)
    divisions: dict[str, Division] = field(default_factory=dict)
    joins: dict[str, Division] = field(default_factory=dict)
    number: dict[Instance, int] = field(default_factory=dict)
    """The value that a buffer has now."""

    def read(self, instructions: Instructions) -> StepNodes:
        p = self.program
        first = [op for op in p.first if isinstance(op, tuple)]
        self.source = {target: source for source, target in (*p.transfers, *first)}
        arguments = [self._new(name, None) for name in p.arguments]
        home = {v: self._place(n) for v, n in zip(arguments, p.arguments, strict=True)}
        for op in p.first:
            if isinstance(op, Division):
                self._divide(op)
            elif isinstance(op, FragmentProgram):
                self._run(op, None, ())
        by_name = {f.name: f for f in p.fragments}
        for _, what in global_order(instructions):
            if isinstance(what, Run):
                f = by_name[what.fragment]
                if what.begins:
                    self._start(f)
                self._run(f, what.microbatch, [n for n, _, _ in f.sums])
        for i, how in enumerate(p.joins):
            self._join(how, f"join_{i}")
        results = [self._value(name, None) for name in p.results]
        ends = [self._place(name) for name in p.results]
        graph = NodeGraph(self.leaves, arguments, home, self.nodes, results, ends)
        return StepNodes(graph, self.starts, self.fragments, self.divisions, self.joins)

    # -- values --------------------------------------------------------------------------------

    def _new(self, name: str, microbatch: int | None) -> int:
        value = self.program.values[name]
        shape = outside_shape(value.shape, value.spec, self.program.meshes[value.group])
        self.leaves.append(Leaf(name, shape, value.element))
        self.number[name, microbatch] = len(self.leaves) - 1
        return len(self.leaves) - 1

    def _value(self, name: str, microbatch: int | None) -> int:
        own = microbatch if self.program.values[name].varying else None
        while name in self.source:  # a copy on another group: the node says where it wants the value
            name = self.source[name]
        return self.number[name, own]

    def _place(self, name: str) -> tuple[str, ShardSpec]:
        value = self.program.values[name]
        return self.slices[value.group], outside_spec(value.spec)

    # -- nodes ---------------------------------------------------------------------------------

    def _node(
        self, function: str, group: int, reads: Sequence[tuple[int, ShardSpec]],
        writes: Sequence[tuple[int, ShardSpec]], takes: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        ins, outs = ([v for v, _ in side] for side in (reads, writes))
        in_specs, out_specs = ([outside_spec(s) for _, s in side] for side in (reads, writes))
        self.nodes.append(Boundary(function, self.slices[group], ins, outs, in_specs, out_specs, takes=takes))

    def _start(self, f: FragmentProgram) -> None:
        self.starts[name := f"{f.name}_start"] = f
        self._node(name, f.group, [], [(self._new(n, None), f.out_specs[i]) for n, i, _ in f.sums])

    def _run(self, f: FragmentProgram, microbatch: int | None, sums: Sequence[str]) -> None:
        self.fragments[name := _symbol(f.name)] = f
        reads = [(self._value(n, microbatch), s) for n, s in zip(f.reads, f.in_specs, strict=True)]
        added = [f.out_specs[i] for _, i, _ in f.sums]
        reads += [(self.number[n, None], s) for n, s in zip(sums, added, strict=True)]
        writes = [
            (self._new(n, microbatch if self.program.values[n].varying else None), s)
            for n, s in zip(f.outputs, f.out_specs, strict=True) if n is not None
        ]  # fmt: skip
        writes += [(self._new(n, None), s) for n, s in zip(sums, added, strict=True)]
        # What runs for every microbatch is compiled once, so it takes over the same of its arguments every time.
        takes = range(len(f.reads), len(reads)) if microbatch is not None else None
        self._node(name, f.group, reads, writes, takes)

    def _divide(self, how: Division) -> None:
        self.divisions[name := f"divide_{len(self.divisions)}"] = how
        source, target = (self.program.values[n] for n in (how.source, how.target))
        parts = [(self._new(how.target, t), target.spec) for t in range(self.program.microbatches)]
        self._node(name, target.group, [(self._value(how.source, None), source.spec)], parts, ())

    def _join(self, how: Division, name: str) -> None:
        self.joins[name] = how
        source, target = (self.program.values[n] for n in (how.source, how.target))
        parts = [(self._value(how.source, t), source.spec) for t in range(self.program.microbatches)]
        self._node(name, target.group, parts, [(self._new(how.target, None), target.spec)], ())


def _symbol(name: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name)
