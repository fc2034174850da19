"""Programs on several meshes: one program per process, with explicit transfers.  Needs no jax for modules.

```python
meshes = {"first": pcg.Mesh.of({"x": 2}, [0, 1]), "second": pcg.Mesh.of({"x": 2}, [2, 3])}

def f(x, w1, w2):
    h = pcg.shard(x, (None, None), mesh="first") @ pcg.shard(w1, (None, "x"), mesh="first")
    return h @ pcg.shard(w2, ("x", None), mesh="second")

programs = pcg.processes.lower(f, meshes, x, w1, w2)
print(programs.text(0))
```
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_mlir import ir

from pcg.driver import plan_ir
from pcg.driver.compile import load_program
from pcg.driver.module_program import entry_function
from pcg.driver.program import Program, ProgramError, module_source
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.emit import i64
from pcg.ir.parse import load_module
from pcg.ir.stages import has_stages
from pcg.ir.walk import walk
from pcg.layout import Mesh, MeshError, ShardSpec
from pcg.lower.processes import process_modules
from pcg.machine import Cluster, Machine
from pcg.passes import pipelines
from pcg.passes.pcg_choose_groups import ChooseGroupsPass
from pcg.passes.pcg_choose_mesh import ChooseMeshPass
from pcg.passes.pcg_map_ranks import MapRanksPass
from pcg.passes.pcg_place_stages import PlaceStagesPass
from pcg.passes.pipeline import Pipeline
from pcg.passes.pipelines import Settings
from pcg.rules.custom_call import target
from pcg.simulate import ProcessSimulation, simulate_processes

if TYPE_CHECKING:
    from pcg.api.on_slice import OnSlice
    from pcg.api.processes_on_slices import ProgramOnSlices

#: Stages of `ProcessPrograms.as_text`.
STAGES = ("stablehlo", "stages", "processes", "emulated")
#: (pass, where, text).
Remark = tuple[str, str, str]


@dataclass(frozen=True)
class Message:
    """A box (`start` <= index < `limit`) of a tensor that one process sends to another."""

    sender: int
    receiver: int
    tag: int
    start: tuple[int, ...]
    limit: tuple[int, ...]


@dataclass(frozen=True)
class ProcessPrograms:
    """A program split over several meshes.

    `texts` has the modules of `STAGES`, `programs` the module of each process, `messages` everything that
    processes send each other, in order; `remarks` are `(pass, where, text)`.
    """

    program: Program
    meshes: Mapping[str, Mesh]
    texts: Mapping[str, str] = field(repr=False)
    programs: Mapping[int, str] = field(repr=False)
    messages: tuple[Message, ...] = field(repr=False)
    remarks: tuple[Remark, ...] = field(repr=False)

    @property
    def processes(self) -> tuple[int, ...]:
        """The processes: logical devices of all meshes."""
        return tuple(self.programs)

    def text(self, process: int) -> str:
        """The module that a process runs.

        Raises:
          ValueError: there is no such process.
        """
        if process not in self.programs:
            raise ValueError(f"no process {process}; processes are {', '.join(map(str, self.programs))}")
        return self.programs[process]

    def as_text(self, stage: str = "processes") -> str:
        """The module at `stage`.

        `stablehlo` is the program as it came, `stages` the placed stages with transfers, `processes` all
        processes, `emulated` all of them as one program for one device.

        Raises:
          ValueError: unknown stage.
        """
        if stage not in STAGES:
            raise ValueError(f"unknown stage {stage!r}; stages are {', '.join(STAGES)}")
        return self.texts[stage]

    def simulate(self, machine: Cluster | Machine | None = None, **options: Any) -> ProcessSimulation:
        """One step of all processes on a cluster, process n on its n-th device unless `devices` says otherwise.

        Args:
          options: of `pcg.simulate.simulate_processes`.
        """
        module = load_module(self.texts["processes"], make_context(), "<processes>")
        if isinstance(machine, Cluster):
            machine = Machine.of(machine)
        return simulate_processes(module, machine or Machine.default(), **options)

    @cached_property
    def stage_meshes(self) -> dict[str, Mesh]:
        """The meshes that something runs on, by name; `on` needs a slice for each."""
        from pcg.driver.process_islands import meshes_of_stages

        return {name: Mesh(mesh.axes) for name, mesh in meshes_of_stages(self.texts["stages"]).items()}

    def on(self, slices: Mapping[str, OnSlice], *, donate_argnums: int | Sequence[int] = ()) -> ProgramOnSlices:
        """The program on islands of a `pcg.Controller`: what it returns is called like the function.

        Args:
          slices: for each of `stage_meshes` a slice of that shape, all of one client.
          donate_argnums: arguments whose buffers the results may take over, as in `jax.jit`.

        Raises:
          MeshError: a mesh has no slice, or one of another shape.
          ProgramError: the program calls Python functions, or has no such argument.
        """
        from pcg.api.processes_on_slices import ProgramOnSlices

        return ProgramOnSlices(self.program, self.texts["stages"], slices, donate_argnums)

    @cached_property
    def _emulated(self) -> Callable[..., Any]:
        """What `emulate` runs, on flat arguments."""
        from pcg.runtime import jax_compat

        module = load_module(self.texts["emulated"], make_context(), "<emulated>")
        text = module.operation.get_asm(print_generic_op_form=True, assume_verified=True)
        return jax_compat.plain_function(text, self.program.results)

    def emulate(self, *args: Any, **kwargs: Any) -> Any:
        """What the processes compute together, on one device: takes and returns what the program does.

        Raises:
          ProgramError: other arguments than the program was lowered for.
        """
        import jax

        from pcg.runtime import jax_compat

        if self.program.in_tree is None:
            flat = list(args)
        else:
            flat, tree = jax.tree.flatten((args, kwargs))
            if tree != self.program.in_tree:
                raise ProgramError(f"arguments {tree} are not those it was lowered for, {self.program.in_tree}")
        for leaf, value in zip(self.program.arguments, flat, strict=True):
            if (have := jax.numpy.shape(value)) != leaf.shape:
                raise ProgramError(f"argument {leaf.name} has shape {have}; it was lowered for {leaf}")
        with jax_compat.x64(self.program.has_64_bit):
            found = self._emulated(*flat)
        found = list(found) if isinstance(found, list | tuple) else [found]
        if self.program.out_tree is None:
            return found if len(found) != 1 else found[0]
        return jax.tree.unflatten(self.program.out_tree, found)


def lower(
    program: Callable[..., Any] | str | bytes | Path, meshes: Mapping[str, Mesh] | Cluster | None = None, *args: Any,
    engine: str = "dataflow", cluster: Cluster | str | None = None, **kwargs: Any,
) -> ProcessPrograms:  # fmt: skip
    """One program per process from a program on several meshes.

    Args:
      program: a function that jax can trace, which says by `pcg.shard(x, spec, mesh="name")` what is on which
        mesh; or a StableHLO module, with `dist` layouts on several meshes, as text, bytes or path.
      meshes: the meshes by name, with the logical devices of each; those that a module declares may be left out.
        Or a cluster of heterogeneous groups: how each is used is chosen (see `pcg-choose-groups`).
      args, kwargs: for a function: arguments, or `jax.ShapeDtypeStruct`s of their shapes.
      engine: how layouts inside a stage are found: one of those of `dist-propagate`, or "search".
      cluster: the machine that layouts are searched for; the processes get the devices of it on which they exchange
        what they do in the least time (see `pcg-map-ranks`).

    Raises:
      MeshError: there is no mesh.
      ProgramError: `pcg.shard` names an unknown mesh, or a layout that its mesh does not have.
      PcgError: a layout or mesh does not fit; at the op's location.
    """
    if isinstance(meshes, Cluster):
        if cluster is not None:
            raise MeshError("meshes and cluster are both a cluster; pass it once")
        return _on_groups(program, meshes, args, kwargs)
    if isinstance(cluster, str):
        cluster = Cluster.parse(cluster)
    machine = Machine.of(cluster) if cluster is not None else Machine.default()
    own = dict(meshes or {})
    if not own and module_source(program) is None:
        raise MeshError("a function needs its meshes: {'first': pcg.Mesh.of({'x': 2}, [0, 1]), ...}")
    loaded, module = _loaded(program, args, kwargs, own)
    for name, mesh in own.items():
        shardings.set_mesh(module, mesh, name)
    _import_constraints(module)
    if not shardings.meshes_of(module):
        raise MeshError("the program declares no mesh; pass meshes, or declare them with dist.mesh")
    entry_function(module)
    text, remarks = str(module), _run(module, pipelines.split_meshes(Settings(machine), engine))
    if cluster is not None:
        remarks += _run(module, [MapRanksPass(machine=machine)])
    return _lowered(loaded, text, module, remarks)


def _loaded(
    program: Callable[..., Any] | str | bytes | Path, args: Any, kwargs: Mapping[str, Any],
    meshes: Mapping[str, Mesh] | None = None,
) -> tuple[Program, ir.Module]:  # fmt: skip
    """A function traced, a module parsed."""
    source = module_source(program)
    if source is not None:
        loaded = load_program(source[0], path=source[1])
    else:
        from pcg.frontend import jax_program

        assert callable(program)
        loaded = jax_program.trace(program, args, kwargs, meshes=meshes)
    return loaded, load_module(loaded.source, make_context(), loaded.path or "<program>")


def _on_groups(
    program: Callable[..., Any] | str | bytes | Path, cluster: Cluster, args: Any, kwargs: Mapping[str, Any]
) -> ProcessPrograms:
    """A program for one device, on the groups of a cluster as pcg-choose-groups decides."""
    loaded, module = _loaded(program, args, kwargs)
    entry_function(module)
    text, remarks = str(module), _run(module, ["prepare"])
    machine = Machine.of(cluster)
    remarks += _run(module, [ChooseGroupsPass(machine=machine), ChooseMeshPass(machine=machine)])
    if not has_stages(module):
        # One mesh is best: the whole program is one stage on it.
        place = PlaceStagesPass(engine="search", machine=machine)
        remarks += _run(module, ["dist-propagate-meshes", "pcg-split-meshes", place])
    remarks += _run(module, ["dist-verify"])
    return _lowered(loaded, text, module, remarks)


def _lowered(loaded: Program, text: str, module: ir.Module, remarks: list[Remark]) -> ProcessPrograms:
    """The programs of the processes, from placed stages; `text` is the module as it came."""
    declared = shardings.meshes_of(module)
    texts = {"stablehlo": text, "stages": str(module)}
    remarks += _run(module, ["lower-processes"])
    texts["processes"] = str(module)
    modules = dict(process_modules(module))
    programs, messages = {n: str(m) for n, m in modules.items()}, _messages(modules)
    remarks += _run(module, ["pcg-emulate-processes"])
    texts["emulated"] = str(module)
    return ProcessPrograms(loaded, declared, texts, programs, messages, tuple(remarks))


def _run(module: ir.Module, elements: list[Any]) -> list[Remark]:
    """Run passes; what they remark."""
    pipeline = Pipeline(elements)
    pipeline.run(module)
    return [(p.name, plan_ir.where(location), text) for p, location, text in pipeline.remarks()]


def _import_constraints(module: ir.Module) -> None:
    """The custom calls that `pcg.shard` is traced to, as `dist.constraint`."""
    for op in list(walk(module.operation)):
        if op.name != "stablehlo.custom_call" or target(op) != "pcg.shard":
            continue
        found = json.loads(ir.StringAttr(op.attributes["backend_config"]).value)
        with module.context, op.location, ir.InsertionPoint(op):
            attributes = {"spec": shardings.to_attr(ShardSpec.parse(found["spec"]), found["mesh"])}
            if found["open"]:
                attributes[shardings.OPEN] = ir.ArrayAttr.get([i64(d) for d in found["open"]])
            new = ir.Operation.create("dist.constraint", [op.results[0].type], list(op.operands), attributes)
        op.results[0].replace_all_uses_with(new.results[0])
        op.erase()


def _messages(programs: Mapping[int, ir.Operation]) -> tuple[Message, ...]:
    found = []
    for n, program in programs.items():
        for op in walk(program):
            if op.name == "dist.send":
                peer, tag = (int(ir.IntegerAttr(op.attributes[a]).value) for a in ("peer", "tag"))
                start, limit = (tuple(ir.DenseI64ArrayAttr(op.attributes[a])) for a in ("start", "limit"))
                found.append(Message(n, peer, tag, start, limit))
    return tuple(sorted(found, key=lambda m: m.tag))
