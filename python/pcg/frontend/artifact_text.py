"""`python -m pcg.frontend.artifact_text`: MLIR bytecode on stdin, its text on stdout, by jaxlib.

A program of its own because readers of programs never import jax; needed only for bytecode with
Shardy attributes, which torch-mlir's bindings cannot decode.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Convert stdin to stdout; exceptions end the process with a message on stderr."""
    from jax._src.interpreters import mlir as jax_mlir
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    data = sys.stdin.buffer.read()
    with jax_mlir.make_ir_context() as context:
        if b"StableHLO_v" in data[:64]:
            module = stablehlo.deserialize_portable_artifact(context, data)
        else:
            module = ir.Module.parse(data)
        print(module.operation.get_asm(enable_debug_info=True))


if __name__ == "__main__":
    main()
