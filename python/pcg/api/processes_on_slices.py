"""Programs on several meshes, run on islands: each mesh is a slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax

from pcg.api.by_shapes import numbers
from pcg.api.node_program import NodeProgram
from pcg.api.on_slice import OnSlice
from pcg.driver.process_islands import meshes_of_stages, stages_on_slices
from pcg.driver.program import Program, ProgramError
from pcg.layout import Mesh, MeshError
from pcg.machine import Machine
from pcg.runtime.call_tree import CallTree
from pcg.runtime.fragments import device_code
from pcg.runtime.islands.future import ShardedFuture


class ProgramOnSlices:
    """A program on several meshes, each on a slice: called like the function.

    Arguments are arrays or futures, results futures that stay on the slices.

    Args:
      text: the module of placed stages.
      slices: the slice of each mesh that stages are on.
      donate_argnums: arguments whose buffers the results may take over; leaves, of a module.

    Raises:
      MeshError: a mesh has no slice, or one of another shape.
      ProgramError: the program calls Python functions, or a donated argument does not exist.
      PcgError: a stage's boundary is not what an island can run.
    """

    def __init__(
        self, program: Program, text: str, slices: Mapping[str, OnSlice], donate_argnums: int | Sequence[int] = ()
    ) -> None:  # fmt: skip
        if program.callbacks:
            raise ProgramError(f"{program.name} calls Python functions, which a program on several meshes cannot")
        self.meshes = meshes_of_stages(text)
        _check(self.meshes, slices)
        self.program, self.slices = program, dict(slices)
        self._tree = CallTree(program)
        names = {mesh: slices[mesh].name for mesh in self.meshes}
        graph, stages = stages_on_slices(text, names, Machine.default())
        ends = (graph.arguments, program.arguments), (graph.results, program.results)
        keys = {v: leaf for side in ends for v, leaf in zip(*side, strict=True) if leaf.key}
        code = {}
        for node in graph.nodes:
            stage = stages[node.function]
            ins, outs = ([keys.get(v, graph.leaves[v]) for v in side] for side in (node.reads, node.writes))
            own = device_code(stage.name, stage.text, stage.mesh, ins, outs, stage.in_specs, stage.out_specs)
            code[node.function] = own, stage.seconds
        named = {slices[mesh].name: slices[mesh] for mesh in self.meshes}
        donated = _donated(program, numbers(donate_argnums))
        self.nodes = NodeProgram(program.name, graph, code, named, program.results, program.constants, donated)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it: nothing waits.

        Raises:
          SignatureError: the arguments do not fit; names the first that does not.
          RunError: an argument is lost.
        """
        flat = self._tree.flatten(self._tree.packed(args, kwargs))
        self._tree.check([x.placed.aval if type(x) is ShardedFuture else x for x in flat])
        return self._tree.unflatten(self.nodes.run(flat))

    def as_text(self, stage: str = "streams") -> str:
        """The program at a stage: "slices", "islands" or "streams"."""
        return self.nodes.as_text(stage)

    def __repr__(self) -> str:
        places = ", ".join(f"{mesh}: {self.slices[mesh]}" for mesh in self.meshes)
        return f"<program {self.program.name} on slices {places}>"


def _donated(program: Program, argnums: Sequence[int]) -> set[int]:
    """The leaves of arguments."""
    every = [*range(len(program.inputs))]
    args = every if program.in_tree is None else jax.tree.unflatten(program.in_tree, every)[0]
    if bad := [n for n in argnums if not -len(args) <= n < len(args)]:
        raise ProgramError(f"donate_argnums {bad[0]}; {program.name} has {len(args)} arguments")
    return {leaf for n in argnums for leaf in jax.tree.leaves(args[n])}


def _check(meshes: Mapping[str, Mesh], slices: Mapping[str, OnSlice]) -> None:
    """Raises MeshError unless each mesh has a slice of its shape, all of one client."""
    for name in slices:
        if name not in meshes:
            raise MeshError(f"slice for mesh {name!r}; meshes of the program's stages: {', '.join(meshes)}")
    for name, mesh in meshes.items():
        slice = slices.get(name)
        if slice is None:
            raise MeshError(f"mesh {name!r} has no slice; slices are for {', '.join(slices) or 'nothing'}")
        if not isinstance(slice, OnSlice):
            raise MeshError(f"mesh {name!r} is on {slice!r:.60}; allowed: a slice of a client")
        if slice.mesh.axes != mesh.axes:
            raise MeshError(f"mesh {name!r} is {Mesh(mesh.axes)}, its slice {slice}; allowed: a slice of that mesh")
        first = slices[next(iter(meshes))]
        if slice.programs is not first.programs:
            own, other = slice.programs.client, first.programs.client
            raise MeshError(f"slices of clients {other} and {own}; allowed: slices of one client")
