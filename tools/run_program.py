"""What pcg-run does: compile a program for a mesh, run it, compare it with the unsharded one.  Its imports import jax.

Each of `on_mesh`, `processes` and `lowered` returns its report as plain values.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from torch_mlir import ir

import pcg
from pcg.api import processes as api_processes
from pcg.driver.compile import load_program
from pcg.driver.program import Program, ProgramError, module_source
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import walk
from pcg.layout import Mesh
from pcg.machine import Cluster
from pcg.passes.pipeline import Pipeline
from pcg.runtime import check, jax_compat
from pcg.runtime import lowered as runtime_lowered
from pcg.runtime.executable import Executable
from pcg.runtime.inputs import random_inputs
from pcg.runtime.placement import resolve_mesh

#: Text or bytecode of a program, and its file.
Source = tuple[str | bytes, str | None]
#: The inputs of a program for a seed.
Draw = Callable[[int], list[np.ndarray]]


def on_mesh(source: Source, mesh: Mesh | Cluster, args: argparse.Namespace, cluster: Cluster | None) -> dict[str, Any]:
    """Compile for a mesh (of `cluster`), or for a cluster; run; with `--check` compare."""
    program = load_program(source[0], path=source[1])
    compiled = pcg.compile(
        Path(args.program) if program.path else program.source, mesh, strategy=args.strategy,
        memory_limit=args.memory_limit, cluster=None if mesh is cluster else cluster,
    )  # fmt: skip
    executable = compiled.lower()
    if args.save_plan:
        compiled.plan.save(args.save_plan)
    report = _header(program, compiled.mesh, args) | {
        "strategy": args.strategy, "cost": executable.cost.to_dict(),
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
    _run(report, executable, program, draw_of(program), args)
    return report | {"remarks": _remarks(executable.compilation.remarks)}


def processes(source: Source, args: argparse.Namespace) -> dict[str, Any]:
    """Split a program on several meshes, run all its processes on one device; with `--check` compare."""
    program = load_program(source[0], path=source[1])
    engine = {"auto": "dataflow", "propagate": "dataflow"}.get(args.strategy, args.strategy)
    split = api_processes.lower(Path(args.program) if program.path else program.source, engine=engine)
    draw = draw_of(program)
    report: dict[str, Any] = {
        "program": program.path, "meshes": {n: dict(m.axes) for n, m in split.meshes.items()}, "engine": engine,
        "seed": args.seed, "processes": split.processes, "messages": [vars(m) for m in split.messages],
    }  # fmt: skip
    emulated = check.Unsharded(split.as_text("emulated"), program.arguments, program.results)
    results = emulated.run(draw(args.seed))
    if args.check:
        wide = lambda: emulated.run_wide  # noqa: E731
        compare(report, args, _unsharded(program, args), draw, results, emulated.run, wide)
    return report | {"remarks": _remarks(split.remarks)}


def lowered(source: Source, module: ir.Module, mesh: Mesh, args: argparse.Namespace) -> dict[str, Any]:
    """Run a lowered program on the mesh that it was lowered for; with `--check` compare with `--reference`."""
    program = runtime_lowered.lowered_program(module, *source)
    executable = runtime_lowered.lowered_executable(module, program, resolve_mesh(mesh)[1])
    draw = (
        draw_of(_reference(args.reference, program)) if args.reference
        else functools.partial(random_inputs, module, program.arguments)
    )  # fmt: skip
    report = _header(program, mesh, args)
    _run(report, executable, program, draw, args)
    return report | {"remarks": []}


def _header(program: Program, mesh: Mesh, args: argparse.Namespace) -> dict[str, Any]:
    import jax

    devices = f"{mesh.size} {jax.devices()[0].platform}"
    return {"program": program.path, "mesh": dict(mesh.axes), "seed": args.seed, "devices": devices}


def _remarks(found: Any) -> list[str]:
    return [f"{name}: {text} {where}".strip() for name, where, text in found]


def draw_of(program: Program) -> Draw:
    """What makes the inputs of a program."""
    module = load_module(program.source, make_context(), program.path)
    Pipeline("sdy-import,pcg-normalize").run(module)
    return lambda seed: random_inputs(module, program.arguments, seed)


def _run(
    report: dict[str, Any], executable: Executable, program: Program, draw: Draw, args: argparse.Namespace
) -> None:
    """Run a program on its mesh and time it; with `--check` compare."""
    inputs = draw(args.seed)
    with jax_compat.x64(executable.needs_x64):
        placed = executable.place(inputs)
        results, report["sharded_seconds"] = timed(lambda: executable.direct(*placed), args.repeat)
    if not args.check:
        return
    unsharded = _unsharded(program, args)
    if unsharded.partitioned:
        unsharded.where = executable.replicated
    wide = lambda: check.on_mesh(check.widened(executable))  # noqa: E731
    compare(report, args, unsharded, draw, check.flat(results), check.on_mesh(executable), wide)


def timed(call: Callable[[], Any], repeat: int) -> tuple[Any, float]:
    """Result and median seconds of `call`, after one run that compiles."""
    import jax

    out = jax.block_until_ready(call())
    times = []
    for _ in range(max(1, repeat)):
        start = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - start)
    return out, statistics.median(times)


def _unsharded(program: Program, args: argparse.Namespace) -> check.Unsharded:
    """The program on one device: that of `--reference`, else `program` without its layouts.

    Raises:
      ProgramError: `--reference` has another signature.
    """
    if args.reference:
        program = _reference(args.reference, program)
    module = load_module(program.source, make_context(), program.path)
    manual = any(op.name == "sdy.manual_computation" for op in walk(module.operation))
    if not manual:  # a program without annotations stays as it came: nothing in it is rewritten
        shardy = any(op.name.startswith("sdy.") for op in walk(module.operation))
        Pipeline("sdy-import,pcg-normalize,dist-strip" if shardy else "dist-strip").run(module)
    return check.Unsharded(check.text_of(module), program.arguments, program.results, partitioned=manual)


def _reference(path: str, program: Program) -> Program:
    """The program in `path`; see `same_signature`."""
    source = module_source(Path(path))
    assert source is not None
    return same_signature(program, *source)


def same_signature(program: Program, source: str | bytes, path: str | None) -> Program:
    """A module as a program, which must have the arguments and results of `program`.

    Raises:
      ProgramError: it has not.
    """
    other = load_program(source, path=path)
    sides = (("argument", program.arguments, other.arguments), ("result", program.results, other.results))
    for what, ours, theirs in sides:
        if len(ours) != len(theirs):
            raise ProgramError(f"--reference {path} has {len(theirs)} {what}s; {program.path} has {len(ours)}")
        for i, (x, y) in enumerate(zip(ours, theirs, strict=True)):
            if str(x) != str(y):
                raise ProgramError(f"{what} {i} of --reference {path} is {y}; in {program.path} it is {x}")
    return other


def compare(
    report: dict[str, Any], args: argparse.Namespace, unsharded: check.Unsharded, draw: Draw, results: list[Any],
    run: check.FlatFunction, wide: Callable[[], check.FlatFunction],
) -> None:  # fmt: skip
    """Compare `results`, of the first seed, and those of the other seeds with the unsharded program's."""
    report["reference"] = "the program under XLA's own partitioner" if unsharded.partitioned else "on one device"
    inputs = draw(args.seed)
    _, report["reference_seconds"] = timed(lambda: unsharded.run(inputs), args.repeat)
    compared = check.Check(unsharded, run, wide)
    rows = []
    for seed in range(args.seed, args.seed + args.seeds):
        if seed != args.seed:
            inputs = draw(seed)
            results = run(inputs)
        rows += (
            compared(inputs, results, seed) if args.tolerance is None
            else compared.within(inputs, results, args.tolerance)
        )  # fmt: skip
    report["check_seconds"] = compared.seconds
    report["results"] = [vars(r) for r in rows]
    report["agrees"] = all(r.agrees for r in rows)
