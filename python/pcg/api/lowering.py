"""Programs on slices, lowered for one set of shapes and placements: nodes compiled, streams, a backend's program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pcg.api.lowered import Lowered
from pcg.api.nodes import Nodes
from pcg.api.on_slice import Lowers, OnSlice, Submits
from pcg.driver.island_program import Boundary, ExchangeBoundary, lower_program
from pcg.frontend import jax_program, slice_calls
from pcg.layout import ShardSpec
from pcg.runtime.islands.future import Placed


class FunctionOnSlice(Protocol):
    """A function on a slice."""

    slice: OnSlice
    options: dict[str, Any]
    """How its nodes are planned: options of `pcg.compile`."""


class Lowering:
    """What the programs of one client share: compiled nodes, and placements of values.

    `functions`: those on slices of all clients, by the marks that they have in traces.
    """

    def __init__(
        self, client: str, backend: Lowers, dispatcher: Submits, functions: dict[str, FunctionOnSlice],
        deadline: float,
    ) -> None:  # fmt: skip
        self.client, self.dispatcher, self.deadline = client, dispatcher, deadline
        self.backend, self._functions = backend, functions
        self._placed: dict[Any, Placed] = {}
        self.limited = dispatcher.limited
        """Whether the memory of devices is limited."""
        self.nodes = Nodes(self.limited)
        self._first = ""

    def register(self, function: FunctionOnSlice) -> str:
        """A mark that says which function, on which slice, a call in a trace is of."""
        mark = f"f{len(self._functions)}"
        self._functions[mark] = function
        self._first = self._first or mark
        return mark

    def default(self, kinds: Sequence[Any]) -> str:
        """The mark of a slice for what reads nothing: that of an argument, else the client's first."""
        for kind in kinds:
            if isinstance(kind, Placed):
                for mark, function in self._functions.items():
                    if function.slice is kind.slice:
                        return mark
        return self._first or next(iter(self._functions), "f0")

    def lower(
        self, name: str, graph: slice_calls.SliceGraph, kinds: Sequence[Any], donated: set[int], out_tree: Any
    ) -> Lowered:
        """Compile the nodes of a program in order, each for the layouts that its arguments have on its slice already.

        These are the ones in which others compute them or, of what comes from elsewhere, in which it was read first.
        """
        leaves = [jax_program.leaf(f"value {i}", aval) for i, aval in enumerate(graph.values)]
        at: dict[int, tuple[OnSlice, ShardSpec]] = {}
        for number, kind in zip(graph.arguments, kinds, strict=True):
            if isinstance(kind, Placed):
                at[number] = kind.slice, kind.spec
        slices: dict[str, OnSlice] = {s.name: s for s, _ in at.values()}
        read: dict[tuple[int, str], ShardSpec] = {}
        boundaries: list[Boundary | ExchangeBoundary] = []
        compiled = {}
        for node in graph.nodes:
            if node.route is not None:
                ranks = [len(leaf.shape) for leaf in leaves]
                boundaries.append(self._exchange(node, at, slices, ranks))
                continue
            function = self._functions[node.slice]
            slice = slices.setdefault(function.slice.name, function.slice)
            known = [
                at[v][1] if v in at and at[v][0] is slice else read.get((v, slice.name)) for v in node.reads
            ]  # fmt: skip
            found = self.nodes.compile(node, slice, known, function.options)
            compiled[found.name] = found
            for v, spec in zip(node.reads, found.in_specs, strict=True):
                at.setdefault(v, (slice, spec))  # an array of the host is placed where it is read first
                read.setdefault((v, slice.name), spec)
            at.update((v, (slice, spec)) for v, spec in zip(node.writes, found.out_specs, strict=True))
            boundaries.append(
                Boundary(found.name, slice.name, node.reads, node.writes, found.in_specs, found.out_specs, node.source)
            )
        first = next(iter(slices.values()))
        for v in (*graph.arguments, *(c for c, _ in graph.constants)):
            at.setdefault(v, (first, ShardSpec.replicated(len(leaves[v].shape))))
        constants = [v for v, _ in graph.constants]
        program, texts = lower_program(
            name, leaves, {v: (s.name, spec) for v, (s, spec) in at.items()}, [*graph.arguments, *constants],
            boundaries, graph.results, {s.name: (s.island, s.mesh, s.device_numbers) for s in slices.values()}, donated,
        )  # fmt: skip
        outputs = [
            self.place(graph.values[v], slices[program.values[i].slice], program.values[i].spec)
            for v, i in zip(graph.results, program.results, strict=True)
        ]
        fixed = [x for _, x in graph.constants]
        loaded = self.backend.load(program, compiled, outputs, fixed)
        return Lowered(program, texts, loaded, out_tree, slices)

    def _exchange(
        self, node: slice_calls.Node, at: dict[int, tuple[OnSlice, ShardSpec]], slices: dict[str, OnSlice],
        ranks: Sequence[int],
    ) -> ExchangeBoundary:  # fmt: skip
        """An exchange: the rows of each shard are its part of the first dimension, on both slices."""
        route = node.route
        assert route is not None
        source, target = ((self._functions[mark].slice, axis) for mark, axis in
                          ((route.source, route.axis), (route.target, route.to_axis)))  # fmt: skip
        for slice, _ in (source, target):
            slices.setdefault(slice.name, slice)
        reads = [target, target, source] if node.back else [source, source]
        there = source if node.back else target

        def spec(v: int, axis: str) -> ShardSpec:
            return ShardSpec.of([[axis], *[[]] * (ranks[v] - 1)])

        ins = [(slice, spec(v, axis)) for v, (slice, axis) in zip(node.reads, reads, strict=True)]
        for v, own in zip(node.reads, ins, strict=True):
            at.setdefault(v, own)
        outs = [spec(v, there[1]) for v in node.writes]
        at.update((v, (there[0], s)) for v, s in zip(node.writes, outs, strict=True))
        named = [(slice.name, s) for slice, s in ins]
        return ExchangeBoundary(
            there[0].name, node.reads, node.writes, named, outs, node.back, route.drop and not node.back, node.source
        )

    def place(self, aval: Any, slice: OnSlice, spec: ShardSpec) -> Placed:
        """What a value of a shape and dtype, in a layout on a slice, is; the same object every time."""
        key = tuple(aval.shape), aval.dtype, slice, spec, slice.version
        if key not in self._placed:
            self._placed[key] = Placed(aval, slice, spec)
        return self._placed[key]
