"""Programs on islands that were read from a module, on a controller of their own.  Imports jax."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from pcg.api.compile import compile as pcg_compile
from pcg.api.controller import Controller
from pcg.api.nodes import CompiledNode
from pcg.controller.streams import IslandProgram
from pcg.driver.compilation import Compilation
from pcg.driver.cost import cost_of
from pcg.driver.island_module import IslandModule, NodeSource
from pcg.driver.program import ELEMENT_DTYPES
from pcg.emulate.widen import wide_element
from pcg.layout import Mesh
from pcg.runtime import check
from pcg.runtime.executable import device_program
from pcg.runtime.fragments import as_list
from pcg.runtime.inputs import np_dtype
from pcg.runtime.islands.future import Placed

#: Seconds until a run must have been launched.
DEADLINE = 120.0


class ModuleOnIslands:
    """A controller with the islands of a module, and the module's program on them."""

    def __init__(self, module: IslandModule, backend: str, strategy: str) -> None:
        devices = iter(jax.devices())
        islands = {name: [next(devices) for _ in range(n)] for name, n in module.devices.items()}
        self.controller = Controller(islands, backend=backend)
        self.client = self.controller.client("pcg-run", deadline=DEADLINE)
        self.module = module
        self._kept: list[dict[str, CompiledNode]] = []
        self._compiled: dict[str, Compilation] = {}
        self.nodes = {name: self._node(name, own, strategy) for name, own in module.functions.items()}
        self.run = self._loaded(module.program, self.nodes)

    def _devices(self, slice: str) -> tuple[Mesh, Sequence[Any]]:
        island, mesh = self.module.program.slices[slice]
        return Mesh(mesh.axes), self.controller.backend.devices(island, mesh.device_ids or range(mesh.size))

    def _node(self, name: str, own: NodeSource, strategy: str) -> CompiledNode:
        """A function for the devices of its slice, in the layouts that the program says."""
        mesh, devices = self._devices(own.slice)
        compiled = pcg_compile(
            own.text, mesh, devices=devices, strategy=strategy, refine=False, in_shardings=own.in_specs,
            out_shardings=own.out_specs,
        )  # fmt: skip
        found = self._compiled[name] = compiled.lower().compilation
        return CompiledNode(
            name, own.source, as_list(device_program(found)), devices, found.in_specs, found.out_specs, False,
            lambda: cost_of(found).simulated,
        )  # fmt: skip

    def _loaded(self, program: IslandProgram, nodes: dict[str, CompiledNode]) -> check.FlatFunction:
        """A program as a function of arrays of the host."""
        outputs = []
        for number in program.results:
            value = program.values[number]
            aval = jax.ShapeDtypeStruct(value.shape, np_dtype(ELEMENT_DTYPES[value.dtype]))
            outputs.append(Placed(aval, value.slice, value.spec))
        loaded = self.controller.backend.load(program, nodes, outputs, ())
        self._kept.append(nodes)  # islands forget functions that this process has forgotten

        def run(inputs: Sequence[np.ndarray]) -> list[Any]:
            futures = self.controller.dispatcher.submit(self.client.name, loaded, list(inputs), DEADLINE)
            return [f.result() for f in futures]

        return run

    def wide(self) -> check.FlatFunction:
        """The program in double precision, on the same islands.

        Raises:
          PcgError: a function has no form in double precision.
        """
        nodes = {}
        for name, node in self.nodes.items():
            found = check.widened_compilation(self._compiled[name])
            nodes[name] = dataclasses.replace(node, code=as_list(device_program(found)), _prepared={})
        program = self.module.program
        values = tuple(dataclasses.replace(v, dtype=wide_element(v.dtype)) for v in program.values)
        return self._loaded(dataclasses.replace(program, values=values), nodes)
