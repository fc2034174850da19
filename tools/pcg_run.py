"""pcg-run: compile a StableHLO file for a mesh, run it, and compare it with the unsharded program."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from pcg.frontend.program import Program
    from pcg.layout import Mesh
    from pcg.machine import Cluster

AGREES, DIFFERS, FAILED = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit status: 0 agrees (or ran), 1 differs, 2 could not be run."""
    args = parser().parse_args(argv)
    from pcg.frontend.program import ProgramError
    from pcg.ir.errors import PcgError
    from pcg.layout import MeshError
    from pcg.plan import PlanError

    try:
        return _run(args)
    except (PcgError, ProgramError, MeshError, PlanError, OSError, ValueError) as error:
        _fail(args, str(error))
    except Exception as error:  # XLA's errors have no common type; what it says is the cause.
        if type(error).__module__.split(".")[0] not in ("jax", "jaxlib"):
            raise
        _fail(args, f"XLA: {str(error).strip().splitlines()[0]}")
    return FAILED


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="pcg-run",
        description="Compile a StableHLO program for a mesh, run it with random inputs, and check it against itself"
        " unsharded. Exit status: 0 agrees, 1 differs, 2 cannot be run.",
    )
    p.add_argument("program", help="StableHLO file: text, bytecode, or a jax.export artifact")
    p.add_argument("--mesh", help="name=size,...; default: the mesh that the program declares")
    p.add_argument(
        "--cluster", metavar="FILE|preset:NAME[:SIZE]|detect",
        help="the machine that it is planned for; without --mesh, the mesh is chosen too",
    )  # fmt: skip
    p.add_argument("--check", action="store_true", help="compare every result with the unsharded program")
    p.add_argument("--seed", type=int, default=0, help="of the random inputs (default 0)")
    p.add_argument(
        "--strategy", default="auto",
        help="auto, search, a propagation engine (global, dataflow, bfs, priority; propagate is global), an expert's"
        " plan (data, zero3, megatron, ...: see pcg-baseline), or a plan file; auto (default) is global where the"
        " program has layouts, else search",
    )  # fmt: skip
    p.add_argument("--memory-limit", help="bytes per device, as 16GiB")
    p.add_argument("--save-plan", metavar="FILE", help="write the plan as JSON")
    p.add_argument("--explain", action="store_true", help="print the whole report of the plan")
    p.add_argument("--simulate", action="store_true", help="print one step as simulated on the machine of the plan")
    p.add_argument("--trace", metavar="FILE", help="write the simulated step as a trace that ui.perfetto.dev opens")
    p.add_argument(
        "--why", metavar="TENSOR", action="append", default=[],
        help="print why a tensor is sharded as it is: an argument or result by name, a line as model.py:12, or %%12",
    )  # fmt: skip
    p.add_argument("--repeat", type=int, default=5, help="timed runs, of which the median is shown (default 5)")
    p.add_argument("--tolerance", type=float, help="relative; default by type (f32 2e-4, f64 1e-9, narrower 4e-2)")
    p.add_argument(
        "--devices", choices=("forced", "present"), default="forced",
        help="forced: as many CPU devices as the mesh needs; present: what jax finds (default forced)",
    )  # fmt: skip
    p.add_argument("--json", action="store_true", help="print the report as JSON")
    return p


def _run(args: argparse.Namespace) -> int:
    from pcg.compiler import load_program
    from pcg.frontend.program import module_source
    from pcg.layout import Mesh
    from pcg.machine import Cluster

    found = module_source(Path(args.program))
    assert found is not None
    program = load_program(found[0], path=found[1])
    cluster = Cluster.parse(args.cluster) if args.cluster else None
    if args.mesh is None and (devices := _several_meshes(program)):
        force_devices(1)
        report = run_processes(program, args)
        print(json.dumps(report, indent=2, default=str) if args.json else _processes_text(report, devices), flush=True)
        return DIFFERS if report.get("agrees") is False else AGREES
    mesh: Mesh | Cluster
    if args.mesh is None and cluster is not None:
        mesh, count = cluster, cluster.size
    else:
        mesh = Mesh.parse(args.mesh) if args.mesh else _declared_mesh(program)
        if cluster is not None:
            cluster.device_of(mesh)
        count = cluster.size if cluster is not None else max(mesh.device_ids or [mesh.size - 1]) + 1
    if args.devices == "forced":
        force_devices(count)
    report = run(program, mesh, args, cluster)
    print(json.dumps(report, indent=2, default=str) if args.json else _text(report), flush=True)
    return DIFFERS if report.get("agrees") is False else AGREES


def force_devices(count: int) -> None:
    """Make jax, which must not have been imported yet, see `count` CPU devices."""
    flags = [f for f in os.environ.get("XLA_FLAGS", "").split() if "xla_force_host_platform_device_count" not in f]
    os.environ["XLA_FLAGS"] = " ".join([*flags, f"--xla_force_host_platform_device_count={count}"])
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def run(
    program: Program, mesh: Mesh | Cluster, args: argparse.Namespace, cluster: Cluster | None = None
) -> dict[str, Any]:
    """Compile, run and (with `--check`) compare; the report as plain values."""
    import jax

    import pcg
    from pcg.ir.context import make_context
    from pcg.ir.parse import load_module
    from pcg.ir.walk import walk
    from pcg.runtime import jax_compat
    from pcg.runtime.compare import compare
    from pcg.runtime.inputs import random_inputs

    source: Any = Path(program.path) if program.path else program.source
    where = None if mesh is cluster else cluster
    compiled = pcg.compile(source, mesh, strategy=args.strategy, memory_limit=args.memory_limit, cluster=where)
    executable = compiled.lower()
    mesh = compiled.mesh
    if args.save_plan:
        compiled.plan.save(args.save_plan)
    module = load_module(program.source, make_context(), program.path)
    inputs = random_inputs(executable.compilation.modules["stablehlo"], program.arguments, args.seed)
    cost = executable.cost
    report: dict[str, Any] = {
        "program": program.path, "mesh": dict(mesh.axes), "strategy": args.strategy, "seed": args.seed,
        "devices": f"{mesh.size} {jax.devices()[0].platform}", "cost": cost.to_dict(),
        "compile_seconds": sum(executable.compilation.seconds.values()),
    }  # fmt: skip
    if args.explain:
        report["explain"] = compiled.explain()
    if args.simulate or args.trace:
        simulation = compiled.simulate()
        report["simulation"] = simulation.to_dict() | {"text": str(simulation)}
        if args.trace:
            simulation.write_trace(args.trace)
    if args.why:
        report["why"] = {tensor: compiled.why(tensor) for tensor in args.why}
    with jax_compat.x64(executable.needs_x64):
        placed = executable.place(inputs)
        got, report["sharded_seconds"] = _timed(lambda: executable.run(*placed), args.repeat)
        if args.check:
            manual = any(op.name == "sdy.manual_computation" for op in walk(module.operation))
            report["reference"] = "the program under XLA's own partitioner" if manual else "on one device"
            where = executable.replicated if manual else jax.devices()[0]
            reference = jax_compat.plain_function(_plain_text(module, manual), executable.program.results)
            local = [jax.device_put(x, where) for x in inputs]
            expected, report["reference_seconds"] = _timed(lambda: reference(*local), args.repeat)
            rows = [
                compare(x.name, str(x), g, e, args.tolerance)
                for x, g, e in zip(program.results, _arrays(got), _arrays(expected), strict=True)
            ]
            report["results"] = [vars(r) for r in rows]
            report["agrees"] = all(r.agrees for r in rows)
    report["remarks"] = [f"{name}: {text} {where}".strip() for name, where, text in executable.compilation.remarks]
    return report


def run_processes(program: Program, args: argparse.Namespace) -> dict[str, Any]:
    """Split a program on several meshes, run all its processes on one device, and (with `--check`) compare."""
    import jax

    from pcg import processes
    from pcg.ir.context import make_context
    from pcg.ir.parse import load_module
    from pcg.passes.pipeline import Pipeline
    from pcg.runtime import jax_compat
    from pcg.runtime.compare import compare
    from pcg.runtime.inputs import random_inputs

    engine = {"auto": "dataflow", "propagate": "dataflow"}.get(args.strategy, args.strategy)
    source: Any = Path(program.path) if program.path else program.source
    split = processes.lower(source, engine=engine)
    module = load_module(program.source, make_context(), program.path)
    Pipeline("sdy-import,pcg-normalize,dist-strip").run(module)
    inputs = random_inputs(module, program.arguments, args.seed)
    report: dict[str, Any] = {
        "program": program.path, "meshes": {n: dict(m.axes) for n, m in split.meshes.items()}, "engine": engine,
        "seed": args.seed, "processes": split.processes, "messages": [vars(m) for m in split.messages],
    }  # fmt: skip
    got = _arrays(split.emulate(*inputs))
    if args.check:
        with jax_compat.x64(program.has_64_bit):
            reference = jax_compat.plain_function(_plain_text(module, False), program.results)
            expected = _arrays(reference(*(jax.device_put(x, jax.devices()[0]) for x in inputs)))
        rows = [
            compare(x.name, str(x), g, e, args.tolerance)
            for x, g, e in zip(program.results, got, expected, strict=True)
        ]
        report["results"] = [vars(r) for r in rows]
        report["agrees"] = all(r.agrees for r in rows)
    report["remarks"] = [f"{name}: {text} {where}".strip() for name, where, text in split.remarks]
    return report


def _several_meshes(program: Program) -> dict[str, Mesh]:
    """The meshes of a program that declares more than one; none otherwise."""
    from pcg.ir import shardings
    from pcg.ir.context import make_context
    from pcg.ir.parse import load_module

    found = shardings.meshes_of(load_module(program.source, make_context(), program.path))
    return found if len(found) > 1 else {}


def _processes_text(report: dict[str, Any], meshes: dict[str, Mesh]) -> str:
    from pcg.runtime.compare import Comparison

    where = "; ".join(f"@{n} ({m}) on {list(m.device_ids or range(m.size))}" for n, m in meshes.items())
    lines = [f"{report['program']} on meshes {where}"]
    lines.append(f"  {len(report['processes'])} processes, {len(report['messages'])} messages, all run on one device")
    if "agrees" in report:
        rows = [Comparison(**r) for r in report["results"]]
        bad = [r for r in rows if not r.agrees]
        lines += [f"  {r}" for r in bad]
        worst = max((r.error for r in rows), default=0.0)
        if bad:
            lines.append(f"DIFFERS: {len(bad)} of {len(rows)} results")
        else:
            lines.append(f"AGREES: {len(rows)} results, worst relative error {worst:.1e} (seed {report['seed']})")
    return "\n".join(lines)


def _timed(call: Callable[[], Any], repeat: int) -> tuple[Any, float]:
    """Result and median seconds of `call`, after one run that compiles."""
    import jax

    out = jax.block_until_ready(call())
    times = []
    for _ in range(max(1, repeat)):
        start = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - start)
    return out, statistics.median(times)


def _arrays(out: Any) -> list[np.ndarray]:
    import numpy as np

    return [np.asarray(x) for x in (out if isinstance(out, list | tuple) else [out])]


def _plain_text(module: Any, manual: bool) -> str:
    """The program in generic form, without layouts; a per-device part (`manual`) only makes sense with them."""
    from pcg.ir.sdy_text import without_second_regions
    from pcg.passes.pipeline import Pipeline

    if not manual and any(op.operation.name == "sdy.mesh" for op in module.body.operations):
        Pipeline("sdy-import,pcg-normalize,dist-strip").run(module)
    return without_second_regions(module.operation.get_asm(print_generic_op_form=True, assume_verified=True))


def _declared_mesh(program: Program) -> Mesh:
    from pcg.ir import shardings
    from pcg.ir.context import make_context
    from pcg.ir.parse import load_module
    from pcg.layout import MeshError
    from pcg.passes.pipeline import Pipeline

    module = load_module(program.source, make_context(), program.path)
    Pipeline("sdy-import").run(module)
    mesh = shardings.mesh_of(module)
    if mesh is None:
        raise MeshError("the program declares no mesh; give --mesh name=size,...")
    return mesh


def _fail(args: argparse.Namespace, message: str) -> None:
    if args.json:
        print(json.dumps({"program": args.program, "agrees": None, "error": message}, indent=2))
    print(f"pcg-run: error: {message}", file=sys.stderr)


def _text(report: dict[str, Any]) -> str:
    from pcg.machine.units import bytes_text, time_text

    cost = report["cost"]
    mesh = ",".join(f"{n}={s}" for n, s in report["mesh"].items())
    lines = [f"{report['program']} on mesh {mesh} ({report['devices']} devices), strategy {report['strategy']}"]
    if "explain" in report:
        lines += ["", report["explain"]]
    lines += report.get("why", {}).values()
    if "simulation" in report:
        lines.append(report["simulation"]["text"])
    if cost["seconds"] is not None:
        lines.append(f"  estimated step   {time_text(cost['seconds'])}")
    counts: dict[str, int] = {}
    for c in cost["collectives"]:
        counts[c["kind"]] = counts.get(c["kind"], 0) + c["times"]
    what = ", ".join(f"{n} {k}" for k, n in sorted(counts.items())) or "no collectives"
    lines += [
        f"  bytes moved      {bytes_text(cost['communication_bytes'])} sent per device ({what})",
        f"  memory           {bytes_text(cost['peak_bytes'])} peak per device",
        f"  compiled in      {time_text(report['compile_seconds'])} (without XLA)",
        f"  run              {time_text(report['sharded_seconds'])} on {report['devices']} devices",
    ]
    if "agrees" in report:
        from pcg.runtime.compare import Comparison

        rows = [Comparison(**r) for r in report["results"]]
        lines.append(f"  reference        {time_text(report['reference_seconds'])} {report['reference']}")
        bad = [r for r in rows if not r.agrees]
        lines += [f"  {r}" for r in bad]
        if odd := [r for r in rows if r.not_finite]:
            names = ", ".join(r.name for r in odd[:4])
            lines.append(f"  note: {len(odd)} results have values that are not finite in both programs ({names})")
        worst = max((r.error for r in rows), default=0.0)
        if bad:
            lines.append(f"DIFFERS: {len(bad)} of {len(rows)} results")
            lines += [f"  {text}" for text in report["remarks"] if "replicated" in text][:5]
        else:
            lines.append(f"AGREES: {len(rows)} results, worst relative error {worst:.1e} (seed {report['seed']})")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
