"""pcg-run: compile a StableHLO file for a mesh, run it, and compare it with the unsharded program."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcg.tools import arguments

if TYPE_CHECKING:
    from torch_mlir import ir

    from pcg.layout import Mesh

AGREES, DIFFERS = 0, 1


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit status: 0 agrees (or ran), 1 differs, 2 could not be run."""
    args = parser().parse_args(argv)
    from pcg.controller.errors import ResourceError
    from pcg.controller.faults import RunError
    from pcg.driver.plan_document import PlanError
    from pcg.driver.program import ProgramError
    from pcg.ir.errors import PcgError
    from pcg.layout import MeshError

    try:
        return _run(args)
    except (PcgError, ProgramError, MeshError, PlanError, ResourceError, RunError, OSError, ValueError) as error:
        return _fail(args, str(error))
    except Exception as error:  # XLA's errors have no common type; what it says is the cause.
        if type(error).__module__.split(".")[0] not in ("jax", "jaxlib"):
            raise
        return _fail(args, f"XLA: {str(error).strip().splitlines()[0]}")


def parser() -> argparse.ArgumentParser:
    p = arguments.Parser(
        prog="pcg-run",
        description="Compile a StableHLO program for a mesh, run it with random inputs, and check it against itself"
        " unsharded. Exit status: 0 agrees, 1 differs, 2 cannot be run.",
    )
    p.add_argument(
        "program", help="StableHLO file: text, bytecode or a jax.export artifact; also what pcg-opt wrote, at any stage"
    )
    p.add_argument("--mesh", help="name=size,...; default: the mesh that the program declares")
    p.add_argument(
        "--cluster", metavar="FILE|preset:NAME[:SIZE]|detect",
        help="the machine that it is planned for; without --mesh, the mesh is chosen too",
    )  # fmt: skip
    p.add_argument("--check", action="store_true", help="compare every result with the unsharded program")
    p.add_argument(
        "--reference", metavar="FILE",
        help="the unsharded program to compare with; a lowered program does not say what it was made from",
    )  # fmt: skip
    p.add_argument("--seed", type=arguments.seed, default=0, help="of the random inputs (default 0)")
    p.add_argument(
        "--seeds", type=arguments.integer(1), default=1, metavar="N",
        help="compare for N sets of inputs, from --seed on (default 1)",
    )  # fmt: skip
    p.add_argument(
        "--strategy", default="auto",
        help="auto, search, select (the fastest of several plans by simulation), unity, a propagation engine (global,"
        " dataflow, bfs, priority; propagate is global), a baseline (data, zero3, megatron, ...: see pcg-baseline), or"
        " a plan file; auto (default) is global where the program has layouts, else select on a cluster and search"
        " without",
    )  # fmt: skip
    p.add_argument("--memory-limit", help="bytes per device, as 16GiB")
    p.add_argument("--save-plan", metavar="FILE", help="write the plan as JSON")
    p.add_argument("--explain", action="store_true", help="print the whole report of the plan")
    p.add_argument("--simulate", action="store_true", help="print one step as simulated on the machine of the plan")
    p.add_argument(
        "--trace", metavar="FILE",
        help="write the simulated step (with --islands the measured runs) as a trace that ui.perfetto.dev opens",
    )  # fmt: skip
    p.add_argument(
        "--why", metavar="TENSOR", action="append", default=[],
        help="print why a tensor is sharded as it is: an argument or result by name, a line as model.py:12, or %%12",
    )  # fmt: skip
    p.add_argument(
        "--repeat", type=arguments.integer(1), default=5, help="timed runs, of which the median is shown (default 5)"
    )
    p.add_argument(
        "--tolerance", type=arguments.real(zero=True),
        help="relative error allowed, of the scale of a tensor; default: what rounding explains",
    )  # fmt: skip
    p.add_argument(
        "--devices", choices=("forced", "present"), default="forced",
        help="forced: as many CPU devices as the mesh needs; present: what jax finds (default forced)",
    )  # fmt: skip
    p.add_argument(
        "--islands", type=arguments.integer(1), metavar="N",
        help="run a program of calls on slices (also behind pcg-assign-islands, or --lower-islands) on N islands;"
        " slices that are on no island yet are put on them in turn",
    )  # fmt: skip
    p.add_argument(
        "--backend", choices=("embedded", "processes"), default="embedded",
        help="what islands are: parts of this process's devices, or processes of this machine (default embedded)",
    )  # fmt: skip
    p.add_argument("--json", action="store_true", help="print the report as JSON")
    return p


def _run(args: argparse.Namespace) -> int:
    """Find the mesh, make jax see its devices, and only then load what imports jax."""
    from pcg.driver.program import module_source
    from pcg.emulate.program import is_lowered, lowered_layouts
    from pcg.ir import shardings
    from pcg.ir.context import make_context
    from pcg.ir.parse import load_module
    from pcg.layout import Mesh, MeshError
    from pcg.machine import Cluster

    source = module_source(Path(args.program))
    assert source is not None
    module = load_module(source[0], make_context(), source[1])
    if args.reference and not args.check:
        raise ValueError("--reference goes with --check")
    if args.backend != "embedded" and args.islands is None:
        raise ValueError("--backend goes with --islands")
    if args.islands is not None:
        return _on_islands(args, source)
    if is_lowered(module):
        mesh = lowered_layouts(module)[0]
        if args.mesh and Mesh.parse(args.mesh).axes != mesh.origin.axes:
            raise MeshError(f"the program was lowered for mesh {mesh.origin}; --mesh is {args.mesh}")
        _refuse_for_lowered(args)
        _force_devices(args, _count(mesh))
        from pcg.tools import run_program, run_text

        return _print(args, run_program.lowered(source, module, mesh, args), run_text.lowered_text)
    cluster = Cluster.parse(args.cluster) if args.cluster else None
    meshes = shardings.meshes_of(module)
    if args.mesh is None and len(meshes) > 1:
        _force_devices(args, 1)
        from pcg.tools import run_program, run_text

        report = run_program.processes(source, args)
        return _print(args, report, lambda r: run_text.processes_text(r, meshes))
    where: Mesh | Cluster
    if args.mesh is None and cluster is not None:
        where, count = cluster, cluster.size
    else:
        where = Mesh.parse(args.mesh) if args.mesh else _declared_mesh(module)
        if cluster is not None:
            cluster.device_of(where)
        count = cluster.size if cluster is not None else _count(where)
    _force_devices(args, count)
    from pcg.tools import run_program, run_text

    return _print(args, run_program.on_mesh(source, where, args, cluster), run_text.program_text)


def _on_islands(args: argparse.Namespace, source: tuple[str | bytes, str | None]) -> int:
    """A program of calls on slices."""
    from pcg.driver.island_module import read_island_module

    _refuse(args, ("mesh", "cluster", "memory_limit", "save_plan", "explain", "simulate", "why"), "--islands")
    found = read_island_module(*source, args.islands)
    _force_devices(args, sum(found.devices.values()))
    os.environ["JAX_ENABLE_X64"] = "1"  # in the processes of islands, too: the check is in double precision
    from pcg.tools import run_islands, run_text

    return _print(args, run_islands.on_islands(source, found, args), run_text.islands_text)


def _refuse(args: argparse.Namespace, options: Sequence[str], beside: str) -> None:
    """Raises ValueError for options that do not go with another one."""
    for option in options:
        if getattr(args, option):
            raise ValueError(f"--{option.replace('_', '-')} does not go with {beside}")


def _refuse_for_lowered(args: argparse.Namespace) -> None:
    """Raises ValueError for options that a lowered program has no use for."""
    for option in ("cluster", "memory_limit", "save_plan", "explain", "simulate", "trace", "why", "strategy"):
        if getattr(args, option) and getattr(args, option) != "auto":
            name = "--" + option.replace("_", "-")
            raise ValueError(f"{name} needs the program before lowering; this one is lowered already")
    if args.check and not args.reference:
        raise ValueError("a lowered program does not say what it was made from; give --reference FILE to --check it")


def _declared_mesh(module: ir.Module) -> Mesh:
    """The mesh of a program, by Shardy's declaration or ours."""
    from pcg.ir import shardings
    from pcg.layout import MeshError
    from pcg.passes.pipeline import Pipeline

    Pipeline("sdy-import").run(module)
    mesh = shardings.mesh_of(module)
    if mesh is None:
        raise MeshError("the program declares no mesh; give --mesh name=size,...")
    return mesh


def _count(mesh: Mesh) -> int:
    """How many devices there must be for a mesh, which may leave some of them out."""
    return max(mesh.device_ids or [mesh.size - 1]) + 1


def _force_devices(args: argparse.Namespace, count: int) -> None:
    """Make jax, which must not have been imported yet, see `count` CPU devices, unless those present are wanted."""
    if args.devices != "forced":
        return
    flags = [f for f in os.environ.get("XLA_FLAGS", "").split() if "xla_force_host_platform_device_count" not in f]
    os.environ["XLA_FLAGS"] = " ".join([*flags, f"--xla_force_host_platform_device_count={count}"])
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def _print(args: argparse.Namespace, report: dict[str, Any], text: Callable[[dict[str, Any]], str]) -> int:
    print(json.dumps(report, indent=2, default=str) if args.json else text(report), flush=True)
    return DIFFERS if report.get("agrees") is False else AGREES


def _fail(args: argparse.Namespace, message: str) -> int:
    if args.json:
        print(json.dumps({"program": args.program, "agrees": None, "error": message}, indent=2))
    return arguments.fail("pcg-run", message)


if __name__ == "__main__":
    sys.exit(main())
