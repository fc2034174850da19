"""Crash reproducers, in MLIR's format: a module with the pipeline as an external resource."""

from __future__ import annotations

import re

from torch_mlir import ir

from pcg.tools.options import UsageError

_PIPELINE = re.compile(r'mlir_reproducer:\s*\{\s*pipeline:\s*"((?:[^"\\]|\\.)*)"')


def write(path: str, module: ir.Module, pipeline: str) -> None:
    """Write `module` and the textual `pipeline` to `path`; `pcg-opt --run-reproducer` runs it again."""
    escaped = pipeline.replace("\\", "\\\\").replace('"', '\\"')
    with open(path, "w", encoding="utf-8") as f:
        f.write(module.operation.get_asm(enable_debug_info=True).rstrip() + "\n\n")
        f.write("{-#\n  external_resources: {\n    mlir_reproducer: {\n")
        f.write(f'      pipeline: "{escaped}",\n      disable_threading: true,\n      verify_each: true\n')
        f.write("    }\n  }\n#-}\n")


def read(source: str) -> tuple[str, str]:
    """The module text and the pipeline of a reproducer.

    Raises:
      UsageError: there is none in `source`.
    """
    start = source.find("{-#")
    found = _PIPELINE.search(source, max(start, 0))
    if start < 0 or found is None:
        raise UsageError("the input is not a crash reproducer: it has no 'mlir_reproducer' resource")
    return source[:start], re.sub(r"\\(.)", r"\1", found[1])
