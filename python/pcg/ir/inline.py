"""Inlining of calls and composites (MLIR's inliner refuses functions with ops of Python dialects)."""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.check import DEEPEST
from pcg.ir.clone import clone_mapped
from pcg.ir.errors import PcgError
from pcg.ir.walk import functions, with_depth

#: Ops that a program may become: calls of calls multiply.
MOST_OPS = 2_000_000


class Inliner:
    """Inlines all calls in all functions of a module; callees first, so each body is cloned once per call."""

    def __init__(self, module: ir.Operation) -> None:
        self.functions = {ir.StringAttr(f.attributes["sym_name"]).value: f for f in functions(module)}
        self.inlined = 0
        #: Ops, and regions inside of each other, of functions without what they call.
        self._own: dict[str, tuple[int, int]] = {}
        #: The same with what they call, of the functions that are done.
        self._size: dict[str, int] = {}
        self._depth: dict[str, int] = {}

    def run(self) -> None:
        """Raises PcgError at a call of a function that calls itself, is missing, or has no body."""
        calls = {symbol: self._calls(symbol) for symbol in self.functions}
        for symbol in self._callees_first(calls):
            for callee, op, _ in calls[symbol]:
                self._inline(op, self.functions[callee])

    def _callees_first(self, calls: dict[str, list[tuple[str, ir.Operation, int]]]) -> list[str]:
        """The functions in the order of inlining; checks that it ends, and that what it makes is not too large."""
        order: list[str] = []
        active: list[tuple[str, Iterator[tuple[str, ir.Operation, int]]]] = []
        on_path: dict[str, None] = {}
        for start in self.functions:
            if start in self._size:
                continue
            active.append((start, iter(calls[start])))
            on_path[start] = None
            while active:
                symbol, rest = active[-1]
                for callee, op, _ in rest:
                    if callee in on_path:
                        names = list(on_path)
                        path = " -> ".join("@" + s for s in [*names[names.index(callee) :], callee])
                        text = f"recursive call {path if len(path) < 400 else path[:200] + ' -> ...'} cannot be inlined"
                        raise PcgError(f"{text}; allowed: calls without cycles", op)
                    if callee not in self._size:
                        active.append((callee, iter(calls[callee])))
                        on_path[callee] = None
                        break
                else:
                    active.pop()
                    del on_path[symbol]
                    self._measure(symbol, calls[symbol])
                    order.append(symbol)
        return order

    def _calls(self, symbol: str) -> list[tuple[str, ir.Operation, int]]:
        """(callee, call, how many regions it is in) of each call in a function; CHLO ops take the place of theirs."""
        found, size, deepest = [], 0, 0
        for op, depth in with_depth(self.functions[symbol]):
            size, deepest = size + 1, max(deepest, depth)
            callee = callee_of(op)
            if callee is None or self._replace_by_chlo(op):
                continue
            if callee not in self.functions:
                raise PcgError(f"call of @{callee}, which the module does not define", op)
            found.append((callee, op, depth))
        self._own[symbol] = size, deepest
        return found

    def _measure(self, symbol: str, calls: list[tuple[str, ir.Operation, int]]) -> None:
        size, deepest = self._own[symbol]
        for callee, op, depth in calls:
            size, deepest = size + self._size[callee], max(deepest, depth + self._depth[callee])
            if size > MOST_OPS:
                raise PcgError(f"the calls up to this one become more than {MOST_OPS} ops; allowed: that many", op)
            if deepest > DEEPEST:
                raise PcgError(f"this call is nested {deepest} regions deep, calls inlined; allowed: {DEEPEST}", op)
        self._size[symbol], self._depth[symbol] = size, deepest

    def _is_chlo(self, op: ir.Operation) -> bool:
        """Whether a composite stands for a CHLO op, as jax.export wraps them, without attributes."""
        if op.name != "stablehlo.composite":
            return False
        name = ir.StringAttr(op.attributes["name"]).value
        if not name.startswith("chlo.") or not op.context.is_registered_operation(name) or len(op.results) != 1:
            return False
        attrs = op.attributes
        return "composite_attributes" not in attrs or not len(ir.DictAttr(attrs["composite_attributes"]))

    def _replace_by_chlo(self, op: ir.Operation) -> bool:
        """Take the CHLO op that a composite stands for out of it again."""
        if not self._is_chlo(op):
            return False
        name = ir.StringAttr(op.attributes["name"]).value
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
            raise PcgError(f"call of @{symbol}, which {what}", call)
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
