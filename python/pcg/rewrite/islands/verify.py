"""Whether the functions of islands do a program together."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.controller.streams import StreamError, peak_bytes
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.rewrite.islands import nodes
from pcg.rewrite.islands.read import read_with_origins


@dataclass
class VerifyIslands(Transformation):
    """Refuse functions of islands that cannot run together, or not in the memory of their devices."""

    memory: Bytes | None = option(None, "bytes per device that live values may take; default: any number")

    def run(self, module: ir.Operation) -> None:
        functions = nodes.island_functions(module)
        program, origins = read_with_origins(module)
        for func in functions.values():
            _check_layouts(func)
        try:
            program.check(self.memory)
        except StreamError as error:
            func = functions.get(error.island or "", module)
            op = func if error.place is None else origins.get((error.island or "", error.place), func)
            raise PcgError(_named(op) + str(error), op) from None
        for island, stream in program.streams.items():
            self.statistics[f"peak bytes per device of {island}"] = peak_bytes(program, island)
            self.statistics["instructions"] += len(stream.instructions)


def _check_layouts(func: ir.Operation) -> None:
    """Calls get their operands in the layouts that they demand."""
    for op in nodes.ops_of(func):
        for i, value in enumerate(op.operands if op.name == "func.call" else ()):
            if (have := nodes.layout(value)) != (want := nodes.wanted(op, i)):
                name = nodes.name_of(value)
                raise PcgError(f"'func.call' op reads {name}, whose layout is {have}; it demands {want}", op)


def _named(op: ir.Operation) -> str:
    """The values that an op defines, or else reads, for an error at it."""
    if op.name not in nodes.OPS:
        return ""
    values = list(op.results) or list(op.operands)
    return f"{', '.join(map(nodes.name_of, values))}: " if values else ""
