"""Inlining of calls and composites (MLIR's inliner refuses functions with ops of Python dialects)."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.clone import clone_mapped
from pcg.ir.walk import functions, walk


class InlineError(ValueError):
    """A call cannot be inlined: the function calls itself, is missing, or has no body.  `op` is the call."""

    def __init__(self, op: ir.Operation, message: str) -> None:
        super().__init__(message)
        self.op = op


class Inliner:
    """Inlines all calls in all functions of a module; callees first, so each body is cloned once per call."""

    def __init__(self, module: ir.Operation) -> None:
        self.functions = {ir.StringAttr(f.attributes["sym_name"]).value: f for f in functions(module)}
        self.inlined = 0
        self._done: set[str] = set()
        self._active: list[str] = []

    def run(self) -> None:
        """Raises InlineError."""
        for symbol in list(self.functions):
            self._function(symbol, None)

    def _function(self, symbol: str, call: ir.Operation | None) -> None:
        if symbol in self._done:
            return
        if symbol in self._active:
            assert call is not None
            path = " -> ".join("@" + s for s in [*self._active[self._active.index(symbol) :], symbol])
            raise InlineError(call, f"recursive call {path} cannot be inlined; allowed: calls without cycles")
        self._active.append(symbol)
        for op in list(walk(self.functions[symbol])):
            callee = callee_of(op)
            if callee is None or self._replace_by_chlo(op):
                continue
            if callee not in self.functions:
                raise InlineError(op, f"call of @{callee}, which the module does not define")
            self._function(callee, op)
            self._inline(op, self.functions[callee])
        self._active.pop()
        self._done.add(symbol)

    def _replace_by_chlo(self, op: ir.Operation) -> bool:
        """jax.export wraps CHLO ops into composites; take those without attributes out again."""
        if op.name != "stablehlo.composite":
            return False
        name = ir.StringAttr(op.attributes["name"]).value
        if not name.startswith("chlo.") or not op.context.is_registered_operation(name) or len(op.results) != 1:
            return False
        if "composite_attributes" in op.attributes and len(ir.DictAttr(op.attributes["composite_attributes"])):
            return False
        new = ir.Operation.create(
            name, [op.results[0].type], list(op.operands), loc=op.location, ip=ir.InsertionPoint(op)
        )
        op.results[0].replace_all_uses_with(new.results[0])
        op.erase()
        self.inlined += 1
        return True

    def _inline(self, call: ir.Operation, callee: ir.Operation) -> None:
        """Replace `call` by the body of `callee`; layouts in its signature become constraints."""
        blocks = list(callee.regions[0].blocks)
        if len(blocks) != 1:
            symbol = ir.StringAttr(callee.attributes["sym_name"]).value
            what = f"has {len(blocks)} blocks; allowed: one" if blocks else "has no body"
            raise InlineError(call, f"call of @{symbol}, which {what}")
        block = blocks[0]
        values: dict[ir.Value, ir.Value] = {}
        with ir.InsertionPoint(call):
            for argument, value in zip(block.arguments, call.operands, strict=True):
                values[argument] = _constrained(value, shardings.get(argument), call)
            ops = [o.operation for o in block.operations]
            for op in ops[:-1]:
                clone_mapped(op, values)
            specs = shardings.function_result_specs(callee)
            results = [_constrained(values.get(v, v), s, call) for v, s in zip(ops[-1].operands, specs, strict=True)]
        for old, new in zip(call.results, results, strict=True):
            old.replace_all_uses_with(new)
        call.erase()
        self.inlined += 1


def _constrained(value: ir.Value, spec, at: ir.Operation) -> ir.Value:
    if spec is None:
        return value
    return ir.Operation.create(
        "dist.constraint", [value.type], [value], {"spec": shardings.to_attr(spec)}, loc=at.location
    ).results[0]


def callee_of(op: ir.Operation) -> str | None:
    """Symbol of the function that a call or composite stands for; None for other ops."""
    name = op.name
    if name == "func.call":
        return ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    if name == "stablehlo.composite":
        return ir.FlatSymbolRefAttr(op.attributes["decomposition"]).value
    return None
