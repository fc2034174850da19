"""`pcg.compile`: a program for one device, run on a mesh."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import jax

from pcg.api.by_shapes import numbers
from pcg.api.compiled import Compiled, CompileOptions
from pcg.api.on_slice import OnSlice
from pcg.api.pipeline_options import PipelineOptions
from pcg.api.pipelined import Pipelined
from pcg.api.pipelined_on_slices import PipelinedOnSlices
from pcg.driver.compile import load_program
from pcg.driver.decide import check_strategy
from pcg.driver.plan import Plan
from pcg.driver.program import ProgramError, module_source
from pcg.ir.transformation import Bytes
from pcg.layout import Mesh, MeshError
from pcg.layout.groups import one_after_another
from pcg.machine import Cluster, ClusterError, Machine
from pcg.pipeline.errors import PipelineError
from pcg.planning.place_stages import ENGINES as PLACEMENT_ENGINES
from pcg.runtime import placement
from pcg.runtime.agreement import processes_of


@overload
def compile(
    program: Callable[..., Any] | str | bytes | Path, mesh: Any, *, pipeline: None = None, **options: Any
) -> Compiled: ...
@overload
def compile(
    program: Callable[..., Any] | str | bytes | Path, mesh: Any, *,
    pipeline: PipelineOptions | Mapping[str, Any] | int | str, **options: Any,
) -> Pipelined: ...  # fmt: skip
def compile(
    program: Callable[..., Any] | str | bytes | Path,
    mesh: Any,
    *,
    strategy: str | Plan | Path = "auto",
    donate_argnums: int | Sequence[int] = (),
    static_argnums: int | Sequence[int] = (),
    in_shardings: Any = None,
    out_shardings: Any = None,
    memory_limit: int | str | None = None,
    devices: Sequence[Any] | None = None,
    cluster: Cluster | str | None = None,
    refine: bool | None = None,
    pipeline: PipelineOptions | Mapping[str, Any] | int | str | None = None,
    **search: Any,
) -> Any:
    """Make `program`, written for one device, run on `mesh`.

    Args:
      program: any function that jax can trace, with trees of arrays as arguments and results; or a
        StableHLO module as text, bytes or path, which is called with a flat list of arrays.
      mesh: a dict of axis sizes, `"data=2,model=4"`, a number of devices, a `pcg.Mesh`, or a
        `jax.sharding.Mesh`.  A number is factorised as the strategies in the program need it
        (`pcg.shard_op(..., strategy=((2,1),(1,4)))` on 8 devices: `d0=2,d1=4`).
        Or a `pcg.Cluster`: the mesh of its devices, and which axis lies on which level of its network, are then
        chosen with the plan.
        With `pipeline=` also a list of meshes, one for each group of devices, which need not be equal: a group has the
        devices that its `pcg.Mesh` names, or the first ones that no other group names.
        Or a slice (`pcg.Controller`): the result is a function of programs on islands.  Or, with `pipeline=`, a list of
        slices of one client: stage s runs on slice s.
      strategy: how layouts are decided.
        "search": over all layouts, data and tensor parallelism among them, keeping annotated ones.
        "select": the fastest of several plans by simulation: searches, Unity's and the baselines (see the pass
        `pcg-select`).
        "unity": the same choices, searched as Unity (OSDI'22) does, to compare with.
        "global", "dataflow", "bfs", "priority": from the layouts that the program and `in_shardings` annotate
        (see the pass `dist-propagate`): the assignment that costs least, the fixpoint of what they imply,
        breadth first as in MindSpore, or by priorities as in Shardy.
        "propagate": `dist-propagate` with the engine in `engine=` (default "global").
        "data", "zero1", "zero3", "megatron", "megatron-zero1", "dlrm", "experts", ...: a published scheme by its
        name, to compare with; the pass `pcg-baseline` lists them.  `model=`, `experts=` and `zero=` name the mesh axes
        for each, where their own names do not say it.
        "auto" (default): "global" if any layout is annotated, else "select" on a cluster and "search" without.
        A `Plan` (or the path of a saved one) is taken as it is.
      donate_argnums: arguments whose buffers the results may take over, as in `jax.jit`.
      static_argnums: arguments that are compile-time constants, as in `jax.jit`.
      in_shardings, out_shardings: layouts that are fixed: a tree of NamedSharding, PartitionSpec or
        `ShardSpec`, a prefix of the arguments (results); None leaves the choice to pcg.
      memory_limit: bytes per device that the plan may need, also as text ("16GiB").  Where the fastest plan needs more,
        state is split, values are rematerialised in the backward part, and the batch runs in microbatches whose
        gradients are accumulated, whichever fits and is fastest; `recompute=False` and `accumulate=False` forbid the
        latter two.
        Without a cluster the limit is checked against what XLA allocates for the devices at hand.
      devices: jax devices to use; default all of `jax.devices()` that the mesh needs.
      cluster: the machine (a `pcg.Cluster`, or text as for `pcg-opt --cluster`) that the mesh is mapped to: costs are
        those of its devices and links, a plan fits their memory, and a mesh that names no devices gets the device
        mapping in which it runs fastest.  Device number i of the cluster is the i-th of `devices`.  Without one, and
        without `machine=`, costs are those that `pcg.machine.Machine.of_platform` assumes of `devices`.
      refine: use parts of mesh axes where a reshape splits a dimension inside of an axis (16 split by `x=8` that
        becomes 2x8 is then split by `x:(1)2` and `x:(2)4`).  Default: only on meshes of one axis, because a third
        axis makes the search about ten times longer; True: up to four axes.
        Annotated layouts may name such sub-axes in any case.
      pipeline: makes a pipeline of a training step: `pcg.PipelineOptions`, a dict of them, the number of microbatches,
        or "auto".  Axis "stage" of the mesh (option `axis`) says how many groups of devices there are; of a number of
        devices, or a cluster, groups and their meshes are chosen, and so is the number of microbatches where it is
        not given.  `strategy` says how the layouts inside of a stage are found ("auto" is "search", or an engine of
        dist-propagate, or a published scheme), and `memory_limit` limits what a schedule keeps.
      search: further options of the pass `pcg-search` or `dist-propagate` (`machine=...`, `engine="bfs"`).

    Returns:
      A callable with the signature of `program`.  It compiles when it is first called with new
      shapes, and its results are jax Arrays with NamedShardings on the mesh (in a pipeline each on the mesh of the
      group that computes it).

    Raises:
      MeshError: not a mesh, or larger than the number of devices.
      ClusterError: the cluster is not one, or smaller than the mesh.
      ProgramError: `program` is neither a function nor a module.
      PipelineError: a pipeline option is none of what is allowed, or does not go with another one.
    """
    if isinstance(mesh, list | tuple) and any(isinstance(s, OnSlice) for s in mesh):
        fixed = {"in_shardings": in_shardings, "out_shardings": out_shardings, "refine": refine, "devices": devices,
                 "cluster": cluster, **search}  # fmt: skip
        if other := [name for name, value in fixed.items() if value is not None and name != "machine"]:
            raise PipelineError(f"{other[0]} with slices; allowed: without it")
        if pipeline is None:
            raise PipelineError(f"{len(mesh)} slices without pipeline=; allowed: with it, or one slice")
        source = module_source(program)
        function, loaded = (program, None) if source is None else (None, load_program(source[0], path=source[1]))
        return PipelinedOnSlices(
            function, loaded, mesh, PipelineOptions.of(pipeline), engine=_placement_engine(strategy),  # type: ignore[arg-type]
            machine=search.get("machine"), memory_limit=None if memory_limit is None else int(Bytes(memory_limit)),
            static_argnums=numbers(static_argnums), donate_argnums=numbers(donate_argnums),
        )  # fmt: skip
    if isinstance(mesh, OnSlice):
        fixed = {"donate_argnums": donate_argnums, "static_argnums": static_argnums, "out_shardings": out_shardings,
                 "devices": devices, "cluster": cluster, "pipeline": pipeline}  # fmt: skip
        if other := [name for name, value in fixed.items() if value is not None and value != ()]:
            raise ProgramError(f"{other[0]} with a slice; allowed: without it (client.program takes donate_argnums)")
        if not callable(program):
            raise ProgramError(f"a module on {mesh}; allowed: a function")
        own = {"in_shardings": in_shardings, "memory_limit": memory_limit, "refine": refine}
        chosen = {name: value for name, value in own.items() if value is not None}
        return mesh.function(program, strategy=strategy, **chosen, **search)
    divided = None if pipeline is None else PipelineOptions.of(pipeline)
    if isinstance(mesh, list | tuple) and divided is None:
        raise PipelineError(f"{len(mesh)} meshes without pipeline=; allowed: with it, or one mesh")
    open_mesh = isinstance(mesh, int)
    if isinstance(mesh, Cluster):
        if cluster is not None:
            raise ClusterError("mesh and cluster are both a cluster; pass it once")
        cluster, mesh = mesh, Mesh.of({"devices": len(mesh.devices)}, mesh.devices)
        open_mesh = True
    cluster = Cluster.parse(cluster) if isinstance(cluster, str) else cluster
    if divided is not None:
        groups, placed = _groups(mesh, None if open_mesh else divided.axis, devices)
    else:
        ours, placed = placement.resolve_mesh(mesh, devices)
        groups = (ours,)
    if cluster is not None:
        for group in groups:
            cluster.device_of(group)
    if isinstance(strategy, Path) or (isinstance(strategy, str) and strategy.endswith(".json")):
        strategy = Plan.load(strategy)
    if not isinstance(strategy, Plan):
        check_strategy(strategy)
    if divided is not None:
        if processes_of(placed) is not None:
            raise PipelineError(
                "pipeline= on devices of several processes; allowed: devices of this process, or pcg.Controller, one"
                " process that drives the others"
            )
        fixed = {"in_shardings": in_shardings, "out_shardings": out_shardings, "refine": refine, **search}
        if other := [name for name, value in fixed.items() if value is not None and name != "machine"]:
            raise PipelineError(f"{other[0]} with pipeline=; allowed: without it")
        engine = _placement_engine(strategy)
    source = module_source(program)
    limit = None if memory_limit is None else int(Bytes(memory_limit))
    if divided is not None:
        function, loaded = (program, None) if source is None else (None, load_program(source[0], path=source[1]))
        machine = Machine.of(cluster) if cluster is not None else search.get("machine")
        return Pipelined(
            function, loaded, groups, placed, divided, is_open=open_mesh, engine=engine, machine=machine,  # type: ignore[arg-type]
            memory_limit=limit, static_argnums=numbers(static_argnums), donate_argnums=numbers(donate_argnums),
        )  # fmt: skip
    options = CompileOptions(
        strategy, numbers(donate_argnums), numbers(static_argnums), in_shardings, out_shardings, limit, search, refine
    )
    if source is None:
        assert callable(program)
        return Compiled(program, None, ours, placed, options, open_mesh=open_mesh, cluster=cluster, all_devices=devices)
    if options.static_argnums:
        raise ProgramError("static_argnums is for functions; a StableHLO module has no static arguments")
    loaded = load_program(source[0], path=source[1], donated=frozenset(options.donate_argnums))
    return Compiled(None, loaded, ours, placed, options, open_mesh=open_mesh, cluster=cluster, all_devices=devices)


def _groups(mesh: Any, axis: str | None, devices: Sequence[Any] | None) -> tuple[tuple[Mesh, ...], list[Any]]:
    """The mesh of each group of devices, and the devices that their meshes number.

    Without an `axis` the groups are to be chosen: one mesh of all devices.

    Raises:
      MeshError: not a mesh, without the axis, or the groups share devices or need more than there are.
    """
    present = list(jax.devices() if devices is None else devices)
    if isinstance(mesh, list | tuple):
        groups = one_after_another([_numbered(own, present) for own in mesh])
        placement.check_devices(groups, present)
        return groups, present
    ours = _numbered(mesh, present)
    return ((ours,) if axis is None else ours.along(axis)), present


def _numbered(mesh: Any, present: Sequence[Any]) -> Mesh:
    """A mesh, whose devices, if it names any, are numbers of those that are present."""
    ours, placed = placement.resolve_mesh(mesh, present)
    if not isinstance(mesh, jax.sharding.Mesh):
        return ours
    if other := [d for d in placed if d not in present]:
        raise MeshError(f"mesh {ours} has {other[0]}; allowed: {', '.join(map(str, present))}")
    return Mesh(ours.axes, tuple(map(present.index, placed)))


def _placement_engine(strategy: str | Plan | Path) -> str:
    """How the layouts inside of stages are found.

    Raises:
      PipelineError: not in this way.
    """
    engine = "search" if strategy == "auto" else strategy
    if engine not in PLACEMENT_ENGINES:
        raise PipelineError(
            f"strategy {str(strategy)!r:.60} with pipeline=; allowed: auto, {', '.join(PLACEMENT_ENGINES)}"
        )
    return str(engine)
