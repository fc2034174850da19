"""pcg-opt: run passes on MLIR programs, with the habits of mlir-opt."""

from __future__ import annotations

import argparse
import atexit
import functools
import os
import re
import sys
from typing import NoReturn

from pcg import passes
from pcg.ir.context import make_context
from pcg.layout.mesh import MeshError
from pcg.machine import ClusterError
from pcg.passes.pipeline import Pipeline, PipelineError, UnknownPass, suggestions, summary
from pcg.tools import arguments, diagnostics, reproducer
from pcg.tools.job import Job
from pcg.tools.options import UsageError, flag_suggestions, parse

_SPLIT = re.compile(r"^// -----.*$", re.M)
_BYTECODE = b"ML\xefR"
_fail = functools.partial(arguments.fail, "pcg-opt", status=1)


def _print_phases(job: Job) -> None:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    phases = ", ".join(f"{phase} {seconds:.3f} s" for phase, seconds in job.seconds.items())
    print(f"{phases}; peak memory {peak:.0f} MiB", file=sys.stderr)


def _list_passes() -> str:
    lines = ["Named pipelines:"]
    lines += [f"  --{n:38s} {p.summary}" for n, p in passes.PIPELINES.items()] + ["", "Passes:"]
    for n in passes.pass_names():
        cls = passes.lookup(n)
        lines.append(f"  --{n:38s} {summary(cls) if cls else ''}".rstrip())
        for key, f in (cls.option_fields() if cls else {}).items():
            lines.append(f"      {f'{key}={f.default}':36s} {f.metadata.get('help', '')}".rstrip())
    lines += ["", "Passes of MLIR and StableHLO (these and all others that MLIR registers):"]
    return "\n".join(lines + [f"  --{n:38s} {text}" for n, text in passes.NATIVE.items()]) + "\n"


def _show_dialects() -> str:
    import pkgutil

    from torch_mlir import dialects as upstream

    from pcg import dialects as own

    context = make_context()
    names = {m.name.lstrip("_").split("_ops_gen")[0] for p in (upstream, own) for m in pkgutil.iter_modules(p.__path__)}
    return "Available Dialects: " + ", ".join(sorted(n for n in names if context.is_dialect_loaded(n))) + "\n"


def _read(args: argparse.Namespace) -> str | bytes:
    """The input, as text if it is text."""
    if args.input == "-":
        data = sys.stdin.buffer.read()
    else:
        with open(args.input, "rb") as f:
            data = f.read()
    if data.startswith(_BYTECODE) or b"\0" in data:
        return data
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _write(args: argparse.Namespace, results: list[str | bytes]) -> None:
    data = [r.encode() if isinstance(r, str) else r for r in results]
    joined = b"// -----\n".join(data)
    if args.output == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(joined)
        sys.stdout.buffer.flush()
    else:
        with open(args.output, "wb") as f:
            f.write(joined)


def _split(source: str | bytes) -> list[str | bytes]:
    """The parts of a file, each with the line numbers of the whole."""
    if isinstance(source, bytes):
        return [source]
    parts: list[str | bytes] = []
    line = 0
    for part in _SPLIT.split(source):
        parts.append("\n" * line + part)
        line += part.count("\n")
    return parts


def _run(args: argparse.Namespace, flags: list[str]) -> int:
    if args.list_passes or args.show_dialects or args.version:
        from pcg.ir.version import versions

        text = _list_passes() if args.list_passes else _show_dialects() if args.show_dialects else versions() + "\n"
        sys.stdout.write(text)
        return 0
    pipeline: str | list[str] = flags if args.pass_pipeline is None else args.pass_pipeline
    Pipeline(pipeline)  # a bad pipeline is reported before the input is read
    source = _read(args)
    if args.run_reproducer:
        if not isinstance(source, str):
            raise UsageError(f"'{args.input}' is not a reproducer: it is not text")
        source, pipeline = reproducer.read(source)
    name = "<stdin>" if args.input == "-" else args.input
    job = Job(args, name, pipeline)
    if args.dump_pass_pipeline:
        print(f"Pass Manager with {len(job.pipeline().elements)} passes:\n{job.pipeline()}", file=sys.stderr)
    results: list[str | bytes] = []
    failed = False
    parts = _split(source) if args.split_input_file else [source]
    if args.emit_bytecode and len(parts) > 1:
        raise UsageError("--emit-bytecode writes one module; it cannot be combined with several parts of a split file")
    if args.explain and len(parts) > 1:
        raise UsageError("--explain writes one page; it cannot be combined with several parts of a split file")
    for part in parts:
        outcome = job.run(part)
        if args.verify_diagnostics:
            text = part if isinstance(part, str) else ""
            messages = diagnostics.check(text, outcome.messages, name)
            failed |= bool(messages)
        else:
            messages = outcome.messages
            failed |= outcome.result is None
        for m in messages:
            diagnostics.render(m, part.split("\n") if isinstance(part, str) else [], name)
        if outcome.result is not None:
            results.append(outcome.result)
    if args.mlir_timing:
        _print_phases(job)
    if not args.verify_diagnostics and (not failed or args.split_input_file):
        _write(args, results)
    return 1 if failed or job.above_limit else 0


def main(argv: list[str] | None = None) -> int:
    """Run pcg-opt; returns the exit status.  Every failure is one line on stderr, not a traceback."""
    argv = list(sys.argv[1:] if argv is None else argv)
    flags: list[str] = []
    try:
        args, flags = parse(argv)
        return _run(args, flags)
    except UnknownPass as error:
        if error.name in {f.split("{")[0] for f in flags}:
            close = suggestions(error.name, flag_suggestions(), "--")
            return _fail(f"unknown option or pass '--{error.name}'" + (f"; did you mean {close}?" if close else ""))
        return _fail(str(error))
    except (PipelineError, UsageError) as error:
        return _fail(str(error))
    except MeshError as error:
        return _fail(f"--mesh: {error}")
    except ClusterError as error:
        return _fail(f"--cluster: {error}")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _fail(f"{error.filename or 'input'}: {error.strerror or error}")
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if "--debug" in argv:
            raise
        return _fail(_internal(error))


def _internal(error: Exception) -> str:
    where = "".join(f" {n}" for n in getattr(error, "__notes__", ()))
    text = " ".join(str(error).split())[:300]
    return f"internal error{where}: {type(error).__name__}: {text} (--debug shows where)"


def command() -> NoReturn:
    """The command: `main`, and then an end at once.

    Releasing what a plan is made of, object by object, takes up to a fifth of a second.
    """
    status = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # a closed pipe, say
        sys.exit(status)
    if "loky" in sys.modules:  # which ends its processes in its own way
        sys.exit(status)
    atexit._run_exitfuncs()
    os._exit(status)


if __name__ == "__main__":
    command()
