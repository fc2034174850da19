"""Programs on slices whose nodes are compiled before they are called: pipelined steps, programs of several meshes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import jax

from pcg.api.lowered import Lowered
from pcg.api.on_slice import OnSlice
from pcg.driver.island_program import NodeGraph, lower_program
from pcg.driver.program import ELEMENT_DTYPES, Leaf
from pcg.runtime import jax_compat
from pcg.runtime.device_program import DeviceProgram
from pcg.runtime.inputs import np_dtype
from pcg.runtime.islands.future import Placed, ShardedFuture
from pcg.runtime.islands.node import CompiledNode


class NodeProgram:
    """A program of nodes, lowered to islands for each placement of its slices and arguments.

    Args:
      code: by function, what devices run, and what it takes by estimate, in seconds.
      slices: by name.
      results: of each result its type outside.
      constants: the last arguments, which callers do not give.
      donated: positions of the arguments that the caller gives up.
    """

    def __init__(
        self, name: str, graph: NodeGraph, code: Mapping[str, tuple[DeviceProgram, float]],
        slices: Mapping[str, OnSlice], results: Sequence[Leaf], constants: Sequence[Any] = (),
        donated: Collection[int] = (),
    ) -> None:  # fmt: skip
        self.name, self.graph, self.slices = name, graph, dict(slices)
        self._code, self._results, self._constants, self._donated = code, results, constants, donated
        self._programs = next(iter(slices.values())).programs
        self._known: dict[tuple[Placed | None, ...], Lowered] = {}
        self._functions: dict[str, tuple[int, CompiledNode]] = {}
        self._last: Lowered | None = None

    def run(self, values: Sequence[Any]) -> list[ShardedFuture]:
        """Run it: nothing waits.

        Args:
          values: arrays of the host, or futures wherever they are.

        Raises:
          RunError: an argument is lost.
          ResourceError: a slice has no devices.
        """
        own = self._programs
        kinds = tuple(self._elsewhere(i, x.placed) if type(x) is ShardedFuture else None for i, x in enumerate(values))
        known = self._known.get(kinds)
        if known is None or not known.is_current():
            for x in values:
                if type(x) is ShardedFuture:
                    x.check()
            known = self._known[kinds] = self._lower(kinds)
        self._last = known
        return own.dispatcher.submit(own.client, known.loaded, list(values), own.deadline)

    def _elsewhere(self, argument: int, placed: Placed) -> Placed | None:
        """Where an argument is, unless that is where the program reads it; arrays of the host are put there."""
        slice, spec = self.graph.home[self.graph.arguments[argument]]
        return None if placed.slice is self.slices[slice] and placed.spec == spec else placed

    def as_text(self, stage: str = "streams") -> str:
        """What was run last, else the program for arguments of the host: "slices", "islands" or "streams"."""
        return self.lowered.as_text(stage)

    @property
    def lowered(self) -> Lowered:
        """What was run last, else the program for arguments of the host."""
        count = len(self.graph.arguments) - len(self._constants)
        return self._last or self._lower([None] * count)

    def _lower(self, kinds: Sequence[Placed | None]) -> Lowered:
        graph, slices, at = self.graph, dict(self.slices), dict(self.graph.home)
        for v, kind in zip(graph.arguments, kinds, strict=False):
            if kind is not None:
                slices.setdefault(kind.slice.name, kind.slice)
                at[v] = kind.slice.name, kind.spec
        program, texts = lower_program(
            self.name, graph.leaves, at, graph.arguments, graph.nodes, graph.results,
            {s.name: (s.island, s.mesh, s.device_numbers) for s in slices.values()}, self._donated, graph.ends,
        )  # fmt: skip
        home = {node.function: slices[node.slice] for node in graph.nodes}
        functions = {name: self._function(name, slice) for name, slice in home.items()}
        outputs = []
        for leaf, number in zip(self._results, program.results, strict=True):
            value = program.values[number]
            outputs.append(self._programs.place(_aval(leaf), slices[value.slice], value.spec))
        loaded = self._programs.backend.load(program, functions, outputs, self._constants)
        return Lowered(program, texts, loaded, None, slices)

    def _function(self, name: str, slice: OnSlice) -> CompiledNode:
        """A function on the devices that its slice has now."""
        version, found = self._functions.get(name, (None, None))
        if found is None or version != slice.version:
            code, seconds = self._code[name]
            devices = slice.devices
            limited = self._programs.limited and isinstance(devices[0], jax.Device)
            found = CompiledNode(name, "", code, devices, code.in_specs, code.out_specs, limited, lambda: seconds)
            self._functions[name] = slice.version, found
        return found


def _aval(leaf: Leaf) -> Any:
    """Shape and dtype of a result outside."""
    if leaf.key:
        return jax.ShapeDtypeStruct(leaf.shape[: len(leaf.shape) - leaf.key_rank], jax_compat.key_dtype(leaf.key))
    return jax.ShapeDtypeStruct(leaf.shape, np_dtype(ELEMENT_DTYPES[leaf.element]))
