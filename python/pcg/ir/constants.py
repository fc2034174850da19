"""What the constants of a program take: memory that every device holds from beginning to end."""

from __future__ import annotations

import math

from torch_mlir import ir

from pcg.ir.types import tensor_bytes
from pcg.ir.walk import functions, walk

#: Bytes up to which a constant is not counted.  A choice: XLA emits small ones as part of the code that reads them.
_SMALL = 4096


def constant_bytes(func: ir.Operation) -> float:
    """Bytes on one device of the constants in `func` and in the functions that it calls.

    One whose elements are all the same takes none: it is broadcast where it is read.  Others are replicated, also where
    each device reads only a part (`pcg.lower.local_constant` slices it there); equal ones are stored once.
    """
    sizes: dict[ir.Attribute | ir.Operation, float] = {}
    known: dict[str, ir.Operation] = {}
    todo, seen = [func.operation], {func.operation}
    while todo:
        for op in walk(todo.pop()):
            if op.name == "stablehlo.constant":
                if (size := tensor_bytes(op.results[0].type)) > _SMALL and (value := _distinct_value(op)) is not None:
                    sizes[value] = size
            elif op.name == "func.call":
                if not known and func.operation.parent is not None:
                    known = {ir.StringAttr(f.attributes["sym_name"]).value: f for f in functions(func.operation.parent)}
                callee = known.get(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
                if callee is not None and callee not in seen:
                    seen.add(callee)
                    todo.append(callee)
    return math.fsum(sizes.values())


def is_readable(constant: ir.Operation) -> bool:
    """Whether the bindings can read the value of a constant: not that of complex numbers."""
    return not isinstance(ir.RankedTensorType(constant.results[0].type).element_type, ir.ComplexType)


def _distinct_value(op: ir.Operation) -> ir.Attribute | ir.Operation | None:
    """What tells a constant from others; None if all its elements are the same."""
    if not is_readable(op):  # printed, one of many elements is left out
        return op if "__elided__" in op.get_asm(large_elements_limit=2) else None
    value = op.attributes["value"]
    return None if isinstance(value, ir.DenseElementsAttr) and value.is_splat else value
