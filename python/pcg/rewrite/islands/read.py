"""From the functions of islands to the streams that the runtime executes."""

from __future__ import annotations

import heapq
import re

from torch_mlir import ir

from pcg.controller.streams import (
    Call,
    Collect,
    Copy,
    Dispatch,
    Free,
    Instruction,
    IslandProgram,
    Receive,
    Send,
    Stream,
    Value,
    nbytes,
)
from pcg.dialects import checks
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.types import element_bytes
from pcg.rewrite.islands import nodes

#: A location that is the file and line of a call.
_LINE = re.compile(r'loc\("(.*)"\)')
#: (island, place in its stream) -> the op that the instruction is of.
Origins = dict[tuple[str, int], ir.Operation]


def read_program(module: ir.Module | ir.Operation) -> IslandProgram:
    """The program of a module behind pcg-split-islands.  Whether it can run is for its `check` to say.

    Raises:
      PcgError: it has no functions of islands, or they read a value after its last use.
    """
    return read_with_origins(module)[0]


def read_with_origins(module: ir.Module | ir.Operation) -> tuple[IslandProgram, Origins]:
    """`read_program`, and which op each instruction is of; the ops live as long as the module."""
    reader = _Reader(module.operation)
    return reader.read(), reader.origins


class _Reader:
    """The reading of one module."""

    def __init__(self, module: ir.Operation) -> None:
        self.functions = nodes.island_functions(module)
        meshes, islands = shardings.meshes_of(module), nodes.islands_of(module)
        self.slices = {name: (islands[name], mesh) for name, mesh in meshes.items()}
        for func in self.functions.values():
            nodes.check_program(module, func)
        self.values: dict[Value, int] = {}
        self._known: dict[tuple[ir.Type, ir.Attribute], int] = {}
        self.arguments: dict[int, int] = {}
        self.results: dict[int, int] = {}
        self.donated: list[int] = []
        self.origins: Origins = {}

    def read(self) -> IslandProgram:
        streams = {island: _StreamReader(self, island, func).read() for island, func in self.functions.items()}
        island, func = next(iter(self.functions.items()))
        for what, found in (("argument", self.arguments), ("result", self.results)):
            if missing := set(range(max(found, default=-1) + 1)) - found.keys():
                raise PcgError(f"{what} {min(missing)} of the program is on no island", func)
        arguments, results = (tuple(found[n] for n in sorted(found)) for found in (self.arguments, self.results))
        name, values = nodes.symbol(func).removesuffix(f".{island}"), tuple(self.values)
        return IslandProgram(name, self.slices, values, arguments, results, streams, tuple(sorted(self.donated)))

    def value(self, type_: ir.Type, layout: ir.Attribute) -> int:
        """The number of a type and layout."""
        if (known := self._known.get((type_, layout))) is not None:
            return known
        on, spec = nodes.slice_of(layout), shardings.from_attr(layout)
        shape, element = tuple(type_.shape), type_.element_type
        size = nbytes(shape, element_bytes(element), spec, self.slices[on][1])
        number = self.values.setdefault(Value(shape, str(element), on, spec, size), len(self.values))
        self._known[type_, layout] = number
        return number


class _StreamReader:
    """The reading of the function of one island; slots are taken from the lowest number on, and used again."""

    def __init__(self, owner: _Reader, island: str, func: ir.Operation) -> None:
        self.owner, self.island, self.func = owner, island, func
        self.slot: dict[ir.Value, int] = {}
        self.empty: list[int] = []
        self.count = 0
        self.instructions: list[Instruction] = []

    def read(self) -> Stream:
        func, owner = self.func, self.owner
        arguments = []
        block = func.regions[0].blocks[0]
        for argument in block.arguments:
            n = self._argument_number(argument)
            arguments.append((n, self._define(argument)))
            owner.arguments[n] = owner.value(argument.type, nodes.layout(argument))
            if nodes.is_donated(argument):
                owner.donated.append(n)
        for argument in block.arguments:
            if nodes.is_donated(argument):
                self._free_unread(argument, func)
        for op in nodes.ops_of(func):
            self._op(op)
        results = []
        listed = checks.attribute(func, nodes.RESULTS, ir.DenseI64ArrayAttr)
        numbers = [] if listed is None else list(listed)
        values = nodes.returned(func)
        if len(numbers) != len(values):
            raise PcgError(f"{nodes.RESULTS} has {len(numbers)} entries; one per result is needed, {len(values)}", func)
        for n, value in zip(numbers, values, strict=True):
            results.append((n, self._use(value, func, "returns")))
            owner.results[n] = owner.value(value.type, nodes.layout(value))
        return Stream(self.island, self.count, tuple(arguments), tuple(results), tuple(self.instructions))

    def _argument_number(self, argument: ir.Value) -> int:
        number = checks.entry(self.func.attributes["arg_attrs"][argument.arg_number], nodes.ARGUMENT)
        if not isinstance(number, ir.IntegerAttr):
            raise PcgError(f"argument {argument.arg_number} has no {nodes.ARGUMENT}; it is a number", self.func)
        return int(number.value)

    def _op(self, op: ir.Operation) -> None:
        reads = [self._use(v, op) for v in op.operands]
        ends = list(dict.fromkeys(op.operands[i] for i in nodes.last_uses(op)))
        if op.name == "func.call":
            taken = {op.operands[i] for i in nodes.takes(op)}
            donated = [v for v in ends if v in taken and reads.count(self.slot[v]) == 1]
            donates = tuple(self._remove(v) for v in donated)
            ends = [v for v in ends if v not in donated]
            writes = tuple(self._define(r) for r in op.results)
            values = tuple(self._value(r) for r in op.results)
            on = nodes.symbol(op, "mesh")
            self._add(op, Call(nodes.symbol(op, "callee"), on, tuple(reads), writes, donates, values))
        elif op.name == "pcg.transfer":
            self._add(op, Copy(reads[0], self._define(op.results[0]), self._value(op.results[0])))
        elif op.name == "pcg.send":
            value = self.owner.value(op.operands[0].type, op.attributes["spec"].maybe_downcast())
            self._add(op, Send(reads[0], *_message(op), value))
        elif op.name == "pcg.dispatch":
            rows, routing = (self._value(v) for v in op.operands)
            back, there = nodes.BACK in op.attributes, self._far(op)
            what = Dispatch((reads[0], reads[1]), *_message(op), (rows, routing), there, back, _line(op))
            self._add(op, what)
        elif op.name in ("pcg.collect", "pcg.collect_back"):
            writes, values = (tuple(f(r) for r in op.results) for f in (self._define, self._value))
            back, drop = op.name == "pcg.collect_back", nodes.DROP in op.attributes
            self._add(op, Collect(tuple(reads), writes, *_message(op), values, self._far(op), back, drop, _line(op)))
        else:
            self._add(op, Receive(self._define(op.results[0]), *_message(op), self._value(op.results[0])))
        for value in ends:
            self._add(op, Free(self._remove(value)))
        for result in op.results:
            self._free_unread(result, op)

    def _add(self, op: ir.Operation, what: Instruction) -> None:
        self.owner.origins[self.island, len(self.instructions)] = op
        self.instructions.append(what)

    def _value(self, value: ir.Value) -> int:
        return self.owner.value(value.type, nodes.layout(value))

    def _far(self, op: ir.Operation) -> int:
        """What the rows of an exchange are at its other end."""
        return self.owner.value(ir.TypeAttr(op.attributes["type"]).value, op.attributes["spec"].maybe_downcast())

    def _use(self, value: ir.Value, op: ir.Operation, verb: str = "reads") -> int:
        if value not in self.slot:
            raise PcgError(f"'{op.name}' op {verb} {nodes.name_of(value)} after its last use", op)
        return self.slot[value]

    def _define(self, value: ir.Value) -> int:
        if self.empty:
            slot = heapq.heappop(self.empty)
        else:
            slot, self.count = self.count, self.count + 1
        self.slot[value] = slot
        return slot

    def _remove(self, value: ir.Value) -> int:
        slot = self.slot.pop(value)
        heapq.heappush(self.empty, slot)
        return slot

    def _free_unread(self, value: ir.Value, op: ir.Operation) -> None:
        if not nodes.is_read(value):
            self._add(op, Free(self._remove(value)))


def _message(op: ir.Operation) -> tuple[int, str]:
    return int(ir.IntegerAttr(op.attributes["tag"]).value), nodes.symbol(op, "peer")


def _line(op: ir.Operation) -> str:
    """The user's file and line, if the program says so."""
    found = _LINE.fullmatch(str(op.location))
    return found[1] if found else ""
