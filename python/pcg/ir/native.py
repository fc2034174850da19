"""Passes of MLIR itself."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.passmanager import PassManager


def run_native(module: ir.Operation, name: str) -> None:
    """Run the C++ pass `name` on a valid module, which is not verified after it."""
    with module.context:
        passes = PassManager.parse(f"builtin.module({name})")
        passes.enable_verifier(False)
        passes.run(module)
