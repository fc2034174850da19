"""A program on its way between processes."""

from __future__ import annotations

import io
from typing import Any

from torch_mlir import ir

from pcg.ir.parse import parse_written


class Written:
    """A program with layouts; as bytecode where it goes to another process."""

    def __init__(self, module: ir.Operation) -> None:
        self._module: ir.Operation | None = module
        self._bytecode = b""

    def module(self, context: ir.Context) -> ir.Operation:
        """The program, in `context` or in that in which it was made."""
        if self._module is None:
            with context:
                self._module = parse_written(self._bytecode).operation
        return self._module

    def bytecode(self) -> bytes:
        """The program, locations included."""
        if self._module is None:
            return self._bytecode
        text = io.BytesIO()
        self._module.write_bytecode(text)
        return text.getvalue()

    def __getstate__(self) -> dict[str, Any]:
        return {"_module": None, "_bytecode": self.bytecode()}
