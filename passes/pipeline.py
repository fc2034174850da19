"""Textual pass pipelines that mix C++ and Python passes.

The bindings cannot register Python passes, so a pipeline is parsed here: C++ passes go to the MLIR
parser as text, Python passes are added as callables.  The result is one MLIR `PassManager`, so
verification, timing and IR printing treat both kinds alike.
"""

from __future__ import annotations

import contextlib
import gc
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields

from torch_mlir import ir, passmanager

from pcg import passes
from pcg.ir.check import check, check_axes
from pcg.ir.errors import PcgError
from pcg.layout import MeshError, SpecError
from pcg.machine import ClusterError
from pcg.passes.base import Pass
from pcg.passes.pipelines import Settings

#: One pipeline runs at a time in a process: passes share tables of layouts and costs, which grow while they are read.
_RUNNING = threading.RLock()


class PipelineError(ValueError):
    """A pipeline could not be parsed: unbalanced text, unknown pass, unknown or ill-typed option."""


class UnknownPass(PipelineError):
    """The pipeline names a pass that neither MLIR nor this project has."""

    def __init__(self, name: str) -> None:
        close = suggestions(name)
        super().__init__(f"unknown pass '{name}'" + (f"; did you mean {close}?" if close else ""))
        self.name = name


def split(text: str) -> Iterator[str]:
    """Split `a,b{x=1,2},c(d,e)` at top-level commas."""
    stack: list[str] = []
    start = 0
    for i, c in enumerate(text):
        if c in "({":
            stack.append(c)
        elif c in ")}":
            if not stack or stack.pop() + c not in ("()", "{}"):
                raise PipelineError(f"unbalanced '{c}' at column {i + 1} of pipeline '{text}'")
        elif c == "," and not stack:
            yield text[start:i].strip()
            start = i + 1
    if stack:
        raise PipelineError(f"unclosed '{stack[-1]}' in pipeline '{text}'")
    yield text[start:].strip()


def elements(text: str, settings: Settings) -> Iterator[str | Pass]:
    """Yield Python passes as objects, made with `settings`, and everything else as C++ pipeline text."""
    for item in split(text):
        if not item:
            continue
        name, brace, rest = item.partition("{")
        name = name.strip()
        if brace and not rest.endswith("}") and "(" not in name:
            raise PipelineError(f"text after '}}' in pipeline element '{item}'")
        if item.endswith(")") and "(" in name:
            inner = item[item.index("(") + 1 : -1]
            if item.startswith("builtin.module("):
                yield from elements(inner, settings)
                continue
            if any(isinstance(e, Pass) for e in elements(inner, settings)):
                raise PipelineError(f"'{item}': Python passes run on builtin.module; move them out")
            yield item
        elif (cls := passes.lookup(name)) is not None:
            try:
                yield cls.from_options(rest.removesuffix("}") if brace else "", settings.of(cls))
            except ValueError as error:
                raise PipelineError(str(error)) from None
        elif name in passes.PIPELINES:
            if brace:
                raise PipelineError(f"named pipeline '{name}' has no options")
            yield from passes.PIPELINES[name].passes(settings)
        else:
            yield item


class Pipeline:
    """A parsed pipeline, runnable on modules.

    Built from text (`"pcg-normalize,canonicalize,func.func(cse)"`) or from a list of pass objects and texts; passes
    that are given as text are made with `settings`.  After a run, `remarks()` and the passes' `statistics` tell what
    happened.

    Raises:
      PipelineError: the text is not a pipeline.
    """

    def __init__(self, source: str | Iterable[str | Pass], settings: Settings | None = None) -> None:
        self.elements: list[str | Pass] = []
        for part in [source] if isinstance(source, str) else source:
            self.elements += [part] if isinstance(part, Pass) else list(elements(part.strip(), settings or Settings()))
        self.failure: tuple[Pass, PcgError] | None = None

    def __str__(self) -> str:
        return f"builtin.module({','.join(map(str, self.elements))})"

    @property
    def python_passes(self) -> list[Pass]:
        return [e for e in self.elements if isinstance(e, Pass)]

    def takes(self, setting: str) -> bool:
        """Whether some pass has a field for a setting."""
        return any(f.name == setting for p in self.python_passes for f in fields(p) if f.init)

    def remarks(self) -> list[tuple[Pass, ir.Location, str]]:
        """All remarks, in order of emission."""
        return [(p, location, text) for p in self.python_passes for location, text in p.remarks]

    def build(
        self,
        before: Callable[[str, ir.Operation], None] | None = None,
        after: Callable[[str, ir.Operation], None] | None = None,
    ) -> passmanager.PassManager:
        """The MLIR pass manager (needs a current context).

        `before` and `after`, when given, are called around every element with its text and the module.
        """
        pm = passmanager.PassManager("builtin.module")
        stale, plain = False, False
        for e in self.elements:
            if before:
                pm.add(_observer(before, str(e)), name="Observer", argument="observe")
            if isinstance(e, Pass):
                run = self._callable(e, stale, e.plain_axes and not plain)
                pm.add(run, name=type(e).__name__, argument=str(e), description=summary(type(e)))
            else:
                add_native(pm, e)
            stale, plain = not isinstance(e, Pass), isinstance(e, Pass) and e.plain_axes
            if after:
                pm.add(_observer(after, str(e)), name="Observer", argument="observe")
        return pm

    def run(self, module: ir.Module | ir.Operation, verify: bool = True) -> None:
        """Run on `module` in place (in its context); another thread that runs one waits.

        Raises:
          PcgError: a pass failed, or the verifier rejects what it produced; at the op's location.
        """
        op = module.operation
        self.failure = None
        with _RUNNING, uncollected(), op.context, ir.Location.unknown():
            pm = self.build()
            pm.enable_verifier(verify)
            try:
                pm.run(op)
            except ir.MLIRError as error:
                if self.failure is not None:
                    p, cause = self.failure
                    raise cause.by(p.name) from cause
                found = getattr(error, "error_diagnostics", None) or []
                raise PcgError(
                    found[0].message if found else str(error), found[0].location if found else op.location
                ) from None

    def _callable(self, p: Pass, stale: bool, parts: bool) -> Callable[[ir.Operation, passmanager.ExternalPass], None]:
        """`p` as MLIR calls it.

        With `stale` behind a C++ pass, which may have changed what layouts are of; with `parts` behind a pass that may
        have left layouts that name parts of axes, which `p` does not take.
        """

        def run(op: ir.Operation, external: passmanager.ExternalPass) -> None:
            try:
                if stale:
                    check(op.operation)
                if parts:
                    check_axes(op.operation)
                p.run(op.operation)
            except (PcgError, MeshError, SpecError, ClusterError) as cause:
                error = cause if isinstance(cause, PcgError) else PcgError(str(cause), op)
                self.failure = (p, error)
                where = error.location if isinstance(error.location, ir.Location) else op.location
                where.emit_error(f"{p.name}: {error.message}")
                external.signal_pass_failure()
            except Exception as error:
                error.add_note(f"in pass '{p.name}'")
                raise

        return run


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Without garbage collection: passes make many objects and few cycles, and looking for those takes long."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def add_native(pm: passmanager.PassManager, text: str) -> None:
    """Add C++ passes; one that runs on functions only is nested in `func.func` as mlir-opt's flags do.

    Raises:
      PipelineError: no such pass, or it rejects its options.
    """
    problems = []
    for candidate in [text] if "(" in text.split("{")[0] else [text, f"func.func({text})"]:
        try:
            pm.add(candidate)
            return
        except ValueError as error:
            problems.append(_first_line(str(error)))
    unknown = re.search(r"'([^']*)' does not refer to a registered pass", problems[0])
    if unknown:
        raise UnknownPass(unknown[1]) from None
    raise PipelineError(f"'{text}': {problems[0]}") from None


def suggestions(name: str, extra: Sequence[str] = (), dashes: str = "") -> str:
    """Known pass and pipeline names close to `name`, quoted, or an empty string."""
    import difflib

    known = [*passes.pass_names(), *passes.PIPELINES, *passes.NATIVE, *extra]
    return " or ".join(f"'{dashes}{n}'" for n in difflib.get_close_matches(name, known, n=2))


def summary(cls: type[Pass]) -> str:
    """First line of a pass's docstring."""
    return (cls.__doc__ or "").strip().split("\n")[0]


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), text)


def _observer(f: Callable[[str, ir.Operation], None], text: str) -> Callable[..., None]:
    def run(op: ir.Operation, external: passmanager.ExternalPass) -> None:
        f(text, op.operation)

    return run
