"""One command line of pcg-opt, applied to each part of its input."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from torch_mlir import ir, passmanager

from pcg.ir import shardings
from pcg.ir.check import check
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.sdy_text import without_second_regions
from pcg.ir.transformation import Bytes
from pcg.ir.walk import body
from pcg.layout import Mesh
from pcg.layout.groups import one_after_another
from pcg.machine import Cluster, Machine
from pcg.passes import PIPELINES
from pcg.passes.pipeline import Pipeline, uncollected
from pcg.passes.pipelines import Settings
from pcg.tools import arguments, diagnostics, reproducer
from pcg.tools.options import UsageError

#: Flags that need a pass which takes their setting: flag, setting, what such a pass does.
_NEED_PASS = (
    ("--cluster", "machine", "estimates costs on a machine"),
    ("--devices", "devices", "chooses a mesh; --auto-parallel has one"),
    ("--memory-limit", "memory_limit", "has a memory limit"),
    ("--jobs", "jobs", "evaluates candidates side by side"),
    ("--effort", "effort", "searches for a plan"),
    ("--exact", "exact", "rewrites by rules"),
    ("--no-substitutions", "substitutions", "rewrites by rules"),
    ("--stages", "stages", "divides a program into stages"),
    ("--microbatches", "microbatches", "divides a batch into microbatches"),
    ("--placement", "placement", "places stages"),
)


@dataclass
class PartResult:
    """What became of one part of the input: the result (None if it failed) and the messages."""

    result: str | bytes | None = None
    messages: list[diagnostics.Diagnostic] = field(default_factory=list)


class Job:
    """One command line, applied to each part of the input."""

    def __init__(self, args: argparse.Namespace, name: str, pipeline: str | list[str]) -> None:
        self.args, self.name, self.elements = args, name, pipeline
        self.mesh = Mesh.parse(args.mesh) if args.mesh is not None else None
        self.groups = [Mesh.parse(text) for text in args.group or ()]
        try:
            memory_limit = Bytes(args.memory_limit) if args.memory_limit is not None else None
        except ValueError as error:
            raise UsageError(f"--memory-limit: {error}") from None
        cluster = Cluster.parse(args.cluster) if args.cluster is not None else None
        machine = Machine.of(cluster) if cluster is not None else None
        explain = bool(args.remarks or args.verify_diagnostics or args.mlir_pass_statistics or args.explain)
        self.settings = Settings(
            machine, memory_limit, args.devices, args.lint_budget, args.jobs, args.effort, explain, args.exact or None,
            False if args.no_substitutions else None, args.stages, args.microbatches, args.placement,
        )  # fmt: skip
        if args.devices is not None and args.mesh is not None:
            raise UsageError(f"--devices={args.devices} and --mesh={args.mesh} exclude each other")
        for flag, value in (("--devices", args.devices), ("--mesh", args.mesh)):
            if self.groups and value is not None:
                raise UsageError(f"--group={args.group[0]} and {flag}={value} exclude each other")
        if self.groups and args.stages is None:
            raise UsageError(f"--group={args.group[0]} goes with --stages")
        if args.stages == 0 and args.placement is not None:
            raise UsageError(f"--stages=auto chooses the placement, and --placement={args.placement} is given")
        if args.stages and args.microbatches is None:
            raise UsageError(f"--stages={args.stages} needs --microbatches")
        self.lint = isinstance(pipeline, list) and "lint" in pipeline
        self.fail_above = _percent(args.lint_fail_above)
        self.above_limit = False
        """Whether some part's annotations cost more than --lint-fail-above."""
        lint_only = [
            name for name, value in (("--lint-fail-above", args.lint_fail_above), ("--lint-budget", args.lint_budget))
            if value is not None
        ]  # fmt: skip
        if lint_only and not self.lint:
            raise UsageError(f"{lint_only[0]} goes with --lint")
        if args.explain and (self.lint or args.emit_bytecode):
            raise UsageError(f"--explain and {'--lint' if self.lint else '--emit-bytecode'} exclude each other")
        if args.explain:
            from pcg.viz.page.layered import NoIgraph, import_igraph

            try:
                import_igraph()  # before anything is planned
            except NoIgraph as error:
                raise UsageError(str(error)) from None
        self.seconds: dict[str, float] = {}
        # `--mlir-print-ir-after=a,b` names two passes.
        self.print_before = [n for text in args.mlir_print_ir_before for n in text.split(",")]
        self.print_after = [n for text in args.mlir_print_ir_after for n in text.split(",")]

    def pipeline(self) -> Pipeline:
        """A fresh pipeline with the settings of the command line."""
        p = Pipeline(self.elements, self.settings)
        for flag, setting, what in _NEED_PASS:
            if getattr(self.settings, setting) is not None and not p.takes(setting):
                raise UsageError(f"{flag}: no pass of this pipeline {what}")
        for n in (*self.print_before, *self.print_after):
            if not any(n in _names(str(e)) for e in p.elements):
                raise UsageError(f"cannot print the IR around pass '{n}': it is not in the pipeline {p}")
        return p

    @property
    def verify_each(self) -> bool:
        """Whether MLIR verifies after every pass."""
        if self.args.verify_each is not None:
            return bool(self.args.verify_each)
        return isinstance(self.elements, str) or not any(e in PIPELINES for e in self.elements)

    @contextlib.contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start

    @uncollected()
    def run(self, source: str | bytes) -> PartResult:
        """Process one part of the input."""
        out = PartResult()
        with self.timed("set up"):
            context = make_context(allow_unregistered=self.args.allow_unregistered_dialect)
            context.emit_error_diagnostics = True

        def handler(d: ir.Diagnostic) -> bool:
            out.messages.append(diagnostics.from_diagnostic(d, self.name))
            return True

        context.attach_diagnostic_handler(handler)
        pipeline = self.pipeline()
        with context, ir.Location.unknown():
            pm = self._pass_manager(pipeline)
            try:
                with self.timed("parse"):
                    ours = bool(pipeline.python_passes)
                    module = load_module(source, context, self.name, layouts=ours and self.mesh is None)
                    if self.groups:
                        self._add_groups(module)
                    if self.mesh is not None:  # layouts may be on it
                        self._add_mesh(module, self.mesh)
                        if ours:
                            check(module)
                self._run_passes(pm, pipeline, module)
                if self.args.verify_roundtrip:
                    self._check_roundtrip(module, context)
                with self.timed("print"):
                    out.result = self._written(source, pipeline, module)
            except (ir.MLIRError, PcgError) as error:
                if not any(m.severity == "error" for m in out.messages):
                    out.messages += diagnostics.from_error(error, self.name)
            if self.args.remarks or self.args.verify_diagnostics:
                for p, location, text in pipeline.remarks():
                    out.messages.append(diagnostics.at("remark", f"{p.name}: {text}", location, self.name))
            del pm  # prints the timing report
        if self.args.mlir_pass_statistics:
            _print_statistics(pipeline)
        return out

    def _pass_manager(self, pipeline: Pipeline) -> passmanager.PassManager:
        a = self.args
        watch = [
            (lambda text, op, w=when, n=names: _dump(w, text, op) if set(n) & _names(text) else None) if names else None
            for when, names in (("Before", self.print_before), ("After", self.print_after))
        ]
        pm = pipeline.build(before=watch[0], after=watch[1])
        pm.enable_verifier(self.verify_each)
        printing = {
            "print_before_all": a.mlir_print_ir_before_all,
            # To MLIR, "on change" and "on failure" only restrict what is printed after passes.
            "print_after_all": bool(
                a.mlir_print_ir_after_all or a.mlir_print_ir_after_change or a.mlir_print_ir_after_failure
            ),
            "print_after_change": a.mlir_print_ir_after_change,
            "print_after_failure": a.mlir_print_ir_after_failure,
        }
        if any(printing.values()):
            pm.enable_ir_printing(
                print_module_scope=a.mlir_print_ir_module_scope, tree_printing_dir_path=a.mlir_print_ir_tree_dir,
                **printing,
            )  # fmt: skip
        if a.mlir_timing:
            pm.enable_timing()
        if a.mlir_pass_statistics:
            pm.enable_statistics()
        return pm

    def _add_groups(self, module: ir.Module) -> None:
        if declared := [op.operation for op in body(module).operations if op.operation.name == "dist.mesh"]:
            raise PcgError("--group for a program with a mesh; allowed: without --group", declared[0])
        from pcg.rewrite.staging.groups import declare_groups

        cluster = self.settings.machine.cluster if self.settings.machine is not None else None
        ids = () if cluster is None else cluster.take(sum(m.size for m in self.groups)).devices
        declare_groups(module.operation, one_after_another(self.groups, ids))

    def _add_mesh(self, module: ir.Module, mesh: Mesh) -> None:
        for op in body(module).operations:
            if op.operation.name == "dist.mesh":
                have = shardings.mesh_of(module)
                if have is not None and have.origin.axes != mesh.origin.axes:
                    text = f"--mesh={mesh} disagrees with the mesh of the program, {have}"
                    raise PcgError(text, op.operation.location)
                return
        shardings.set_mesh(module, mesh)

    def _run_passes(self, pm: passmanager.PassManager, pipeline: Pipeline, module: ir.Module) -> None:
        a = self.args
        if a.mlir_generate_reproducer:
            reproducer.write(a.mlir_generate_reproducer, module, str(pipeline))
        crash = a.mlir_pass_pipeline_crash_reproducer
        if crash:  # written first, so that it is there even if the process dies
            reproducer.write(crash, module, str(pipeline))
        with self.timed("passes"):
            pm.run(module.operation)
            if not self.verify_each and a.verify_each is not False:
                module.operation.verify()
        if crash:
            os.unlink(crash)

    def _check_roundtrip(self, module: ir.Module, context: ir.Context) -> None:
        def generic(m: ir.Module) -> str:
            return m.operation.get_asm(print_generic_op_form=True)

        if generic(load_module(str(module), context, self.name, layouts=False)) != generic(module):
            text = "the module does not round-trip: printed and parsed again it differs"
            raise PcgError(text, module.operation.location)

    def _written(self, source: str | bytes, pipeline: Pipeline, module: ir.Module) -> str | bytes:
        if self.lint:
            return self._lint_report(pipeline, module)
        if self.args.explain:
            from pcg.tools.explained import explained

            return explained(source, self.name, self.elements, self.settings, pipeline, module)
        return self._print(module)

    def _lint_report(self, pipeline: Pipeline, module: ir.Module) -> str:
        """What `--lint` writes instead of the program."""
        import json

        from pcg.viz.lint import of_pass

        found = of_pass(next(p for p in pipeline.python_passes if p.name == "pcg-lint"), module)
        self.above_limit |= self.fail_above is not None and not found.excess <= self.fail_above
        return json.dumps(found.to_dict(), indent=2) + "\n" if self.args.lint_format == "json" else str(found)

    def _print(self, module: ir.Module) -> str | bytes:
        if self.args.emit_bytecode:
            import io

            buffer = io.BytesIO()
            module.operation.write_bytecode(buffer)
            return buffer.getvalue()
        text = without_second_regions(
            module.operation.get_asm(
                print_generic_op_form=self.args.mlir_print_op_generic,
                enable_debug_info=self.args.mlir_print_debuginfo, assume_verified=self.args.verify_each is not False,
            )
        )
        return text if text.endswith("\n") else text + "\n"


def _percent(text: str | None) -> float | None:
    """`5` and `5%` as 0.05."""
    if text is None:
        return None
    try:
        return arguments.real(zero=True)(text.removesuffix("%")) / 100
    except argparse.ArgumentTypeError:
        raise UsageError(f"--lint-fail-above={text}; write a percentage, as 5 or 5%") from None


def _names(element: str) -> set[str]:
    """The pass names in a pipeline element."""
    return set(re.findall(r"[\w.-]+", re.sub(r"\{[^}]*\}", "", element)))


def _dump(when: str, text: str, op: ir.Operation) -> None:
    print(f"// -----// IR Dump {when} {text} //----- //\n{op.get_asm(assume_verified=True)}\n", file=sys.stderr)


def _print_statistics(pipeline: Pipeline) -> None:
    for p in pipeline.python_passes:
        if p.statistics:
            print(p.name, file=sys.stderr)
        for key, n in sorted(p.statistics.items()):
            print(f"  (S) {n:>8} {key}", file=sys.stderr)
