"""Programs on slices, lowered for one set of shapes and placements: nodes compiled, streams, a backend's program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from pcg.api.nodes import CompiledNode, Nodes
from pcg.api.on_slice import OnSlice
from pcg.controller.streams import IslandProgram
from pcg.driver.island_program import Boundary, lower_program
from pcg.frontend import jax_program, slice_calls
from pcg.layout import Mesh, ShardSpec
from pcg.runtime.islands.backend import Loaded
from pcg.runtime.islands.future import Placed, ShardedFuture


class Lowers(Protocol):
    """What programs are lowered for: see `pcg.runtime.islands.backend.Backend`."""

    def devices(self, island: str, numbers: Sequence[int]) -> list[Any]: ...
    def mesh(self, island: str, mesh: Mesh, numbers: Sequence[int]) -> Any: ...
    def load(
        self, program: IslandProgram, functions: Mapping[str, CompiledNode], outputs: Sequence[Placed],
        constants: Sequence[Any],
    ) -> Any: ...  # fmt: skip


class Submits(Protocol):
    """What runs them: see `pcg.runtime.islands.dispatcher.Dispatcher`."""

    @property
    def limited(self) -> bool: ...
    def submit(self, client: str, loaded: Any, arguments: list[Any], seconds: float) -> list[ShardedFuture]: ...
    def quick(self, client: str, loaded: Any, placed: Sequence[Any]) -> Callable[..., Any] | None: ...
    def forget(self, client: str) -> None: ...


class FunctionOnSlice(Protocol):
    """A function on a slice."""

    slice: OnSlice
    options: dict[str, Any]
    """How its nodes are planned: options of `pcg.compile`."""


class Lowered:
    """A program for one set of shapes and placements."""

    def __init__(
        self, program: IslandProgram, texts: Mapping[str, str], loaded: Loaded, out_tree: Any,
        slices: Mapping[str, OnSlice],
    ) -> None:  # fmt: skip
        self.program, self.loaded, self.out_tree = program, loaded, out_tree
        self._texts = texts
        self._slices = [(s, s.version) for s in slices.values()]

    def is_current(self) -> bool:
        """Whether its slices are where they were."""
        for slice, version in self._slices:
            if slice.version != version:
                return False
        return True

    def as_text(self, stage: str = "streams") -> str:
        """The program at a stage: "slices" (as it was traced), "islands" (one function per island) or "streams"."""
        if stage == "streams":
            return str(self.program)
        if stage not in self._texts:
            raise ValueError(f"stage {stage!r}; allowed: {', '.join(self._texts)}, streams")
        return self._texts[stage]


class Lowering:
    """What the programs of one client share: compiled nodes, and placements of values.

    `functions`: those on slices of all clients, by the marks that they have in traces.
    """

    def __init__(
        self, client: str, backend: Lowers, dispatcher: Submits, functions: dict[str, FunctionOnSlice],
        deadline: float,
    ) -> None:  # fmt: skip
        self.client, self.dispatcher, self.deadline = client, dispatcher, deadline
        self._backend, self._functions = backend, functions
        self._placed: dict[Any, Placed] = {}
        self._nodes = Nodes(dispatcher.limited)
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
        """Compile the nodes of a program in order, each for the layouts in which others leave its arguments."""
        leaves = [jax_program.leaf(f"value {i}", aval) for i, aval in enumerate(graph.values)]
        at: dict[int, tuple[OnSlice, ShardSpec]] = {}
        for number, kind in zip(graph.arguments, kinds, strict=True):
            if isinstance(kind, Placed):
                at[number] = kind.slice, kind.spec
        slices: dict[str, OnSlice] = {s.name: s for s, _ in at.values()}
        boundaries, compiled = [], {}
        for node in graph.nodes:
            function = self._functions[node.slice]
            slice = slices.setdefault(function.slice.name, function.slice)
            known = [at[v][1] if v in at and at[v][0] is slice else None for v in node.reads]
            found = self._nodes.compile(node, slice, known, function.options)
            compiled[found.name] = found
            for v, spec in zip(node.reads, found.in_specs, strict=True):
                at.setdefault(v, (slice, spec))  # an array of the host is placed where it is read first
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
            self._place(graph.values[v], slices[program.values[i].slice], program.values[i].spec)
            for v, i in zip(graph.results, program.results, strict=True)
        ]
        fixed = [x for _, x in graph.constants]
        loaded = self._backend.load(program, compiled, outputs, fixed)
        return Lowered(program, texts, loaded, out_tree, slices)

    def _place(self, aval: Any, slice: OnSlice, spec: ShardSpec) -> Placed:
        key = tuple(aval.shape), aval.dtype, slice, spec, slice.version
        if key not in self._placed:
            self._placed[key] = Placed(aval, slice, spec)
        return self._placed[key]
