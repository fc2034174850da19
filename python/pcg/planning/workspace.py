"""A program, and what all candidates for it have in common: its decisions on a mesh are read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.clone import clone_module
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.machine import DeviceKind
from pcg.planning.evaluate import replace_mesh
from pcg.planning.graph_timing import GraphTimer
from pcg.planning.target import planned_mesh
from pcg.rewrite.refine_mesh import RefineMesh
from pcg.search.build import Builder
from pcg.search.built import Built
from pcg.search.choices import Annotated
from pcg.search.quotient import Quotient
from pcg.search.read_structure import StructureReader
from pcg.search.roles import state_of
from pcg.search.structure import Structure
from pcg.search.table import Tables
from pcg.simulate.kernels import OpWorks
from pcg.solve.network import Network

#: Device mappings of a mesh whose timers are kept.  A choice.
_TIMERS = 8
#: Meshes whose graphs are kept, the last ones used.  A choice: the graph of a large program takes a hundred MiB.
_KEPT = 2


@dataclass
class OnMesh:
    """A program on a mesh, and its graph: the strategies of its ops do not depend on where the mesh lies."""

    module: ir.Operation
    """Stays as it is; candidates are copies."""
    mesh: Mesh
    read: Callable[[ir.Operation], Structure]
    """Reads the structure of its function."""
    _builder: Builder | None = None
    _built: Built | None = None
    _device: DeviceKind | None = None
    _classes: Sequence[int] = ()
    _timers: dict[CostModel, GraphTimer] = field(default_factory=dict)
    _network: tuple[CostModel, Network] | None = None

    @property
    def func(self) -> ir.Operation:
        """The function that is planned."""
        return entry_of(self.module)

    def graph(self, model: CostModel) -> Built:
        """The graph with the costs of `model`, whose mesh has the same axes."""
        device = model.machine.device
        if self._builder is None or self._built is None or self._device != device:
            self._builder = Builder(model, Tables.on(model.mesh))
            self._built = self._builder.build(self.func, state_of(self.func), self.read(self.func))
            self._device = device
            return self._built
        return self._builder.elsewhere(self._built, model)

    def graph_of(self, copy: ir.Operation, model: CostModel) -> Built:
        """The graph of a copy of the program."""
        return self.graph(model).of_copy(self.module, copy)

    def quotient(self, built: Built, model: CostModel) -> Quotient:
        """The decisions of a graph of the program, by class."""
        found = built.quotient(model, self._classes)
        self._classes = found.class_of
        return found

    def timer(self, model: CostModel) -> GraphTimer:
        """What times plans of the graph with the costs of `model`."""
        found = self._timers.pop(model, None)
        if found is None:
            found = GraphTimer(self.graph(model), model)
        self._timers[model] = found
        while len(self._timers) > _TIMERS:
            del self._timers[next(iter(self._timers))]
        return found

    def network(self, model: CostModel) -> Network:
        """The costs of the graph with a variable per node."""
        if self._network is None or self._network[0] != model:
            self._network = model, self.graph(model).quotient(model).discrete().network()
        return self._network[1]


@dataclass
class Workspace:
    """A program to be planned, which stays as it is, on all the meshes that are tried."""

    module: ir.Operation
    works: OpWorks = field(default_factory=OpWorks)
    """What the simulator knows of ops of all candidates."""
    _structure: Structure | None = None
    _on: dict[tuple[Mesh | None, tuple[bool, int] | None], OnMesh] = field(default_factory=dict)

    def on(self, mesh: Mesh | None = None, refine: RefineMesh | None = None) -> OnMesh:
        """The program on `mesh`, which `refine` refines if it is given; without a mesh as it is.

        Raises:
          PcgError: its layouts do not go with the mesh.
        """
        key = mesh, None if refine is None else (refine.reshapes, refine.max_axes)
        found = self._on.pop(key, None) or self._put(mesh, refine)
        self._on[key] = found
        while len(self._on) > _KEPT:
            del self._on[next(iter(self._on))]
        return found

    def adopt(self, other: Workspace) -> None:
        """Take over what another workspace has read of the same program, whose mesh may be another."""
        if other._structure is not None:
            self._structure = other._structure.of_copy(entry_of(other.module), entry_of(self.module))

    def _put(self, mesh: Mesh | None, refine: RefineMesh | None) -> OnMesh:
        if mesh is None:
            return OnMesh(self.module, planned_mesh(self.module), self._read)
        copy = clone_module(self.module).operation
        replace_mesh(copy, mesh)
        if refine is not None:
            RefineMesh(refine.reshapes, refine.max_axes).run(copy)
        return OnMesh(copy, planned_mesh(copy), self._read)

    def _read(self, func: ir.Operation) -> Structure:
        """The structure of the function of a copy, which is that of the program's."""
        own = entry_of(self.module)
        if self._structure is None:
            self._structure = StructureReader.read(own, state_of(own), Annotated())
        return self._structure if func == own else self._structure.of_copy(own, func)
