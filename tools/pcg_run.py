"""pcg-run: compile a StableHLO file for a mesh, run it, and compare it with the unsharded program."""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcg.tools import arguments

if TYPE_CHECKING:
    import numpy as np

    from pcg.driver.program import Program
    from pcg.layout import Mesh
    from pcg.machine import Cluster

AGREES, DIFFERS, FAILED = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit status: 0 agrees (or ran), 1 differs, 2 could not be run."""
    args = parser().parse_args(argv)
    from pcg.driver.plan_document import PlanError
    from pcg.driver.program import ProgramError
    from pcg.ir.errors import PcgError
    from pcg.layout import MeshError

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
        "--seeds", type=arguments.whole(1), default=1, metavar="N",
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
    p.add_argument("--trace", metavar="FILE", help="write the simulated step as a trace that ui.perfetto.dev opens")
    p.add_argument(
        "--why", metavar="TENSOR", action="append", default=[],
        help="print why a tensor is sharded as it is: an argument or result by name, a line as model.py:12, or %%12",
    )  # fmt: skip
    p.add_argument(
        "--repeat", type=arguments.whole(1), default=5, help="timed runs, of which the median is shown (default 5)"
    )
    p.add_argument(
        "--tolerance", type=arguments.real(zero=True),
        help="relative error allowed, of the scale of a tensor; default: what rounding explains",
    )  # fmt: skip
    p.add_argument(
        "--devices", choices=("forced", "present"), default="forced",
        help="forced: as many CPU devices as the mesh needs; present: what jax finds (default forced)",
    )  # fmt: skip
    p.add_argument("--json", action="store_true", help="print the report as JSON")
    return p


def _run(args: argparse.Namespace) -> int:
    from pcg.driver.compile import load_program
    from pcg.driver.program import module_source
    from pcg.ir.context import make_context
    from pcg.ir.parse import load_module
    from pcg.layout import Mesh
    from pcg.machine import Cluster
    from pcg.runtime import lowered

    found = module_source(Path(args.program))
    assert found is not None
    module = load_module(found[0], make_context(), found[1])
    if args.reference and not args.check:
        raise ValueError("--reference goes with --check")
    if lowered.is_lowered(module):
        report = _run_lowered(args, found, module)
        return _print(args, report, _lowered_text)
    program = load_program(found[0], path=found[1])
    cluster = Cluster.parse(args.cluster) if args.cluster else None
    if args.mesh is None and (devices := _several_meshes(program)):
        force_devices(1)
        return _print(args, run_processes(program, args), lambda report: _processes_text(report, devices))
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
    return _print(args, run(program, mesh, args, cluster), _text)


def _print(args: argparse.Namespace, report: dict[str, Any], text: Callable[[dict[str, Any]], str]) -> int:
    print(json.dumps(report, indent=2, default=str) if args.json else text(report), flush=True)
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
    from pcg.runtime import jax_compat

    source: Any = Path(program.path) if program.path else program.source
    where = None if mesh is cluster else cluster
    compiled = pcg.compile(source, mesh, strategy=args.strategy, memory_limit=args.memory_limit, cluster=where)
    executable = compiled.lower()
    mesh = compiled.mesh
    if args.save_plan:
        compiled.plan.save(args.save_plan)
    draw = _inputs(program)
    inputs = draw(args.seed)
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
        got, report["sharded_seconds"] = _timed(lambda: executable.direct(*placed), args.repeat)
    if args.check:
        _check(args, report, _reference(args, program), executable, draw, got)
    report["remarks"] = [f"{name}: {text} {where}".strip() for name, where, text in executable.compilation.remarks]
    return report


def run_processes(program: Program, args: argparse.Namespace) -> dict[str, Any]:
    """Split a program on several meshes, run all its processes on one device, and (with `--check`) compare."""
    from pcg.api import processes
    from pcg.runtime import check

    engine = {"auto": "dataflow", "propagate": "dataflow"}.get(args.strategy, args.strategy)
    source: Any = Path(program.path) if program.path else program.source
    split = processes.lower(source, engine=engine)
    draw = _inputs(program)
    report: dict[str, Any] = {
        "program": program.path, "meshes": {n: dict(m.axes) for n, m in split.meshes.items()}, "engine": engine,
        "seed": args.seed, "processes": split.processes, "messages": [vars(m) for m in split.messages],
    }  # fmt: skip
    emulated = check.Unsharded(split.as_text("emulated"), program.arguments, program.results)
    got = emulated.run(draw(args.seed))
    if args.check:
        _compare(args, report, _reference(args, program), draw, got, emulated.run, lambda: emulated.run_wide)
    report["remarks"] = [f"{name}: {text} {where}".strip() for name, where, text in split.remarks]
    return report


def _run_lowered(args: argparse.Namespace, found: tuple[str | bytes, str | None], module: Any) -> dict[str, Any]:
    """Run a lowered program on the mesh that it was lowered for, and (with `--check`) compare with `--reference`."""
    from pcg.layout import Mesh, MeshError
    from pcg.runtime import lowered

    mesh = lowered.lowered_mesh(module)
    if args.mesh and Mesh.parse(args.mesh).axes != mesh.origin.axes:
        raise MeshError(f"the program was lowered for mesh {mesh.origin}; --mesh is {args.mesh}")
    unused = [
        name for name, value in (
            ("--cluster", args.cluster), ("--memory-limit", args.memory_limit), ("--save-plan", args.save_plan),
            ("--explain", args.explain), ("--simulate", args.simulate), ("--trace", args.trace), ("--why", args.why),
            ("--strategy", args.strategy != "auto"),
        ) if value
    ]  # fmt: skip
    if unused:
        raise ValueError(f"{unused[0]} needs the program before lowering; this one is lowered already")
    if args.check and not args.reference:
        raise ValueError("a lowered program does not say what it was made from; give --reference FILE to --check it")
    program = lowered.lowered_program(module, *found)
    if args.devices == "forced":
        force_devices(max(mesh.device_ids or [mesh.size - 1]) + 1)
    import jax

    from pcg.runtime import jax_compat
    from pcg.runtime.inputs import random_inputs
    from pcg.runtime.placement import resolve_mesh

    executable = lowered.lowered_executable(module, program, resolve_mesh(mesh)[1])
    whole = _referred(args.reference, program) if args.reference else program
    draw = _inputs(whole) if args.reference else functools.partial(random_inputs, module, program.arguments)
    inputs = draw(args.seed)
    report: dict[str, Any] = {
        "program": program.path, "mesh": dict(mesh.axes), "seed": args.seed,
        "devices": f"{mesh.size} {jax.devices()[0].platform}",
    }  # fmt: skip
    with jax_compat.x64(executable.needs_x64):
        placed = executable.place(inputs)
        got, report["sharded_seconds"] = _timed(lambda: executable.direct(*placed), args.repeat)
    if args.check:
        _check(args, report, _reference(args, program), executable, draw, got)
    report["remarks"] = []
    return report


def _reference(args: argparse.Namespace, program: Program) -> Any:
    """The unsharded program: that of `--reference`, else `program` without its placement.

    Raises:
      ProgramError: `--reference` has another signature.
    """
    from pcg.ir.context import make_context
    from pcg.ir.parse import load_module
    from pcg.ir.walk import walk
    from pcg.runtime import check

    if args.reference:
        program = _referred(args.reference, program)
    module = load_module(program.source, make_context(), program.path)
    manual = any(op.name == "sdy.manual_computation" for op in walk(module.operation))
    text = check.text_of(module if manual else _stripped(module))
    return check.Unsharded(text, program.arguments, program.results, partitioned=manual)


def _referred(path: str, program: Program) -> Program:
    """The program in `path`, which must have the arguments and results of `program`."""
    from pcg.driver.compile import load_program
    from pcg.driver.program import ProgramError, module_source

    source = module_source(Path(path))
    assert source is not None
    other = load_program(source[0], path=source[1])
    sides = (("argument", program.arguments, other.arguments), ("result", program.results, other.results))
    for what, ours, theirs in sides:
        if len(ours) != len(theirs):
            raise ProgramError(f"--reference {path} has {len(theirs)} {what}s; {program.path} has {len(ours)}")
        for i, (x, y) in enumerate(zip(ours, theirs, strict=True)):
            if str(x) != str(y):
                raise ProgramError(f"{what} {i} of --reference {path} is {y}; in {program.path} it is {x}")
    return other


def _inputs(program: Program) -> Callable[[int], list[np.ndarray]]:
    """What makes the inputs of a program from a seed."""
    from pcg.ir.context import make_context
    from pcg.ir.parse import load_module
    from pcg.passes.pipeline import Pipeline
    from pcg.runtime.inputs import random_inputs

    module = load_module(program.source, make_context(), program.path)
    Pipeline("sdy-import,pcg-normalize").run(module)
    return lambda seed: random_inputs(module, program.arguments, seed)


def _stripped(module: Any) -> Any:
    """A program as it came, for one device: without its layouts, and with nothing rewritten if it has none."""
    from pcg.ir.walk import walk
    from pcg.passes.pipeline import Pipeline

    shardy = any(op.name.startswith("sdy.") for op in walk(module.operation))
    Pipeline("sdy-import,pcg-normalize,dist-strip" if shardy else "dist-strip").run(module)
    return module


def _check(
    args: argparse.Namespace, report: dict[str, Any], unsharded: Any, executable: Any, draw: Any, got: Any
) -> None:
    """Compare a program on a mesh, and add what came out to the report."""
    from pcg.runtime import check

    if unsharded.partitioned:
        unsharded.where = executable.replicated
    got = list(got) if isinstance(got, list | tuple) else [got]
    wide = lambda: check.on_mesh(check.widened(executable))  # noqa: E731
    _compare(args, report, unsharded, draw, got, check.on_mesh(executable), wide)


def _compare(
    args: argparse.Namespace, report: dict[str, Any], unsharded: Any, draw: Any, got: Any, run: Any, wide: Any
) -> None:
    from pcg.runtime import check

    report["reference"] = "the program under XLA's own partitioner" if unsharded.partitioned else "on one device"
    inputs = draw(args.seed)
    _, report["reference_seconds"] = _timed(lambda: unsharded.run(inputs), args.repeat)
    compared = check.Check(unsharded, run, wide)
    rows = []
    for seed in range(args.seed, args.seed + args.seeds):
        if seed != args.seed:
            inputs = draw(seed)
            got = run(inputs)
        rows += compared(inputs, got, seed) if args.tolerance is None else compared.within(inputs, got, args.tolerance)
    report["check_seconds"] = compared.seconds
    report["results"] = [vars(r) for r in rows]
    report["agrees"] = all(r.agrees for r in rows)


def _several_meshes(program: Program) -> dict[str, Mesh]:
    """The meshes of a program that declares more than one; none otherwise."""
    from pcg.ir import shardings
    from pcg.ir.context import make_context
    from pcg.ir.parse import load_module

    found = shardings.meshes_of(load_module(program.source, make_context(), program.path))
    return found if len(found) > 1 else {}


def _processes_text(report: dict[str, Any], meshes: dict[str, Mesh]) -> str:
    where = "; ".join(f"@{n} ({m}) on {list(m.device_ids or range(m.size))}" for n, m in meshes.items())
    lines = [f"{report['program']} on meshes {where}"]
    lines.append(f"  {len(report['processes'])} processes, {len(report['messages'])} messages, all run on one device")
    return "\n".join(lines + _verdict(report))


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
        lines.append(f"  estimated step   {time_text(cost['seconds'])} ({cost['by']})")
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
    return "\n".join(lines + _verdict(report))


def _lowered_text(report: dict[str, Any]) -> str:
    from pcg.machine.units import time_text

    mesh = ",".join(f"{n}={s}" for n, s in report["mesh"].items())
    lines = [
        f"{report['program']}, lowered for mesh {mesh} ({report['devices']} devices)",
        f"  run              {time_text(report['sharded_seconds'])} on {report['devices']} devices",
    ]
    return "\n".join(lines + _verdict(report))


def _verdict(report: dict[str, Any]) -> list[str]:
    """What `--check` found, in lines."""
    if "agrees" not in report:
        return []
    from pcg.machine.units import time_text
    from pcg.runtime.compare import Comparison

    rows = [Comparison(**r) for r in report["results"]]
    lines = [f"  reference        {time_text(report['reference_seconds'])} {report['reference']}"]
    bad = [r for r in rows if not r.agrees]
    lines += [f"  {r}" for r in bad]
    if odd := [r for r in rows if r.not_finite]:
        names = ", ".join(r.name for r in odd[:4])
        lines.append(f"  note: {len(odd)} results have values that are not finite in both programs ({names})")
    if noisy := [r for r in rows if not r.decided]:
        names = ", ".join(r.name for r in noisy[:4])
        lines.append(f"  note: {len(noisy)} results are mostly rounding, whatever computes them ({names})")
    worst = max(rows, key=lambda r: r.error, default=None)
    if bad:
        lines.append(f"DIFFERS: {len(bad)} of {len(rows)} results")
        return lines + [f"  {text}" for text in report["remarks"] if "replicated" in text][:5]
    found = worst.distances() if worst is not None else "nothing to compare"
    return [*lines, f"AGREES: {len(rows)} results, worst {found} (seed {report['seed']})"]


if __name__ == "__main__":
    sys.exit(main())
