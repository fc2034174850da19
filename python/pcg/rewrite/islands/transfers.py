"""Transfers of programs on islands: inserted where a layout is demanded that a value does not have."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.transformation import Transformation
from pcg.ir.walk import entry_of
from pcg.rewrite.islands import nodes


@dataclass
class InsertTransfers(Transformation):
    """Transfer each operand, and each result of the program, that is not where and how it is demanded."""

    def run(self, module: ir.Operation) -> None:
        func = entry_of(module)
        nodes.check_program(module, func)
        self._islands = nodes.islands_of(module)
        self._begin = next(iter(func.regions[0].blocks[0].operations)).operation
        self._last: dict[ir.Value, ir.Operation] = {}
        with module.context:
            for op in nodes.ops_of(func):
                if op.name in ("func.call", *nodes.EXCHANGES):
                    for i in range(len(op.operands)):
                        self._bring(op, i, nodes.wanted(op, i))
            end = nodes.end_of(func)
            for i in range(len(end.operands)):
                if (demanded := nodes.result_layout(func, i)) is not None:
                    self._bring(end, i, demanded)

    def _bring(self, op: ir.Operation, operand: int, demanded: ir.Attribute) -> None:
        value = op.operands[operand]
        source = nodes.layout(value)
        if source == demanded:
            return
        here, there = (self._islands[nodes.slice_of(spec)] for spec in (source, demanded))
        # What goes to another island does so as soon as it is there; what stays is brought when it is needed.
        with op.location:
            point = ir.InsertionPoint(op) if here == there else self._behind(value)
            moved = create_transfer(value, demanded, point)
        if here != there:
            self._last[value] = moved.owner.operation
        op.operands[operand] = moved
        self.statistics["transfers"] += 1

    def _behind(self, value: ir.Value) -> ir.InsertionPoint:
        """Behind the op that defines a value, and the transfers of it that are there already."""
        if value in self._last:
            return ir.InsertionPoint.after(self._last[value])
        if isinstance(value, ir.BlockArgument):
            return ir.InsertionPoint(self._begin)
        return ir.InsertionPoint.after(value.owner.operation)


def create_transfer(value: ir.Value, layout: ir.Attribute, point: ir.InsertionPoint) -> ir.Value:
    """`value` in another layout; needs a current location."""
    attributes = {
        "mesh": ir.FlatSymbolRefAttr.get(nodes.slice_of(layout)), shardings.SPECS: ir.ArrayAttr.get([layout])
    }  # fmt: skip
    return ir.Operation.create(
        "pcg.transfer", results=[value.type], operands=[value], attributes=attributes, ip=point
    ).result


@dataclass
class MergeTransfers(Transformation):
    """Let transfers of one value do the work of each other, so that it goes to each island once."""

    def run(self, module: ir.Operation) -> None:
        func = entry_of(module)
        nodes.check_program(module, func)
        islands = nodes.islands_of(module)
        before = sum(op.name == "pcg.transfer" for op in nodes.ops_of(func))
        self._merge(func, islands)
        for op in reversed(nodes.ops_of(func)):
            if op.name == "pcg.transfer" and not nodes.is_read(op.results[0]):
                op.erase()
        self._skip(func)
        self._delay(func, islands)
        self.statistics["transfers removed"] += before - sum(op.name == "pcg.transfer" for op in nodes.ops_of(func))

    def _merge(self, func: ir.Operation, islands: dict[str, str]) -> None:
        """Each value is once in each layout; it comes from where it is defined, or is on the island already."""
        origin: dict[ir.Value, ir.Value] = {}
        copies: dict[ir.Value, list[ir.Value]] = {}
        for op in nodes.ops_of(func):
            if op.name != "pcg.transfer":
                continue
            demanded, result = nodes.layout(op.results[0]), op.results[0]
            source = origin.get(op.operands[0], op.operands[0])
            known = copies.setdefault(source, [source])
            if (same := next((v for v in known if nodes.layout(v) == demanded), None)) is not None:
                result.replace_all_uses_with(same)
                op.erase()
                continue
            there = islands[nodes.slice_of(demanded)]
            near = next((v for v in known if islands[nodes.slice_of(nodes.layout(v))] == there), source)
            if op.operands[0] != near:
                op.operands[0] = near
            origin[result] = source
            known.append(result)

    def _skip(self, func: ir.Operation) -> None:
        """A layout that only transfers read is left out: the first of them takes its place, and serves the others."""
        for op in nodes.ops_of(func):
            if op.name != "pcg.transfer":
                continue
            readers = [use.owner.operation for use in op.results[0].uses]
            if any(reader.name != "pcg.transfer" for reader in readers):
                continue
            first = readers[0]
            for reader in readers:
                first = reader if reader.is_before_in_block(first) else first
            op.results[0].replace_all_uses_with(first.results[0])
            first.operands[0] = op.operands[0]
            first.move_before(op)
            op.erase()

    def _delay(self, func: ir.Operation, islands: dict[str, str]) -> None:
        """Transfers inside an island stand before what reads them first: from there on they take memory."""
        first: dict[ir.Value, tuple[int, ir.Operation]] = {}
        before: dict[int, ir.Operation] = {}
        """Number of an op -> the first of the transfers that stand before it already."""
        for n, op in reversed([*enumerate([*nodes.ops_of(func), nodes.end_of(func)])]):
            if op.name == "pcg.transfer":
                source, result = op.operands[0], op.results[0]
                here, there = (islands[nodes.slice_of(nodes.layout(v))] for v in (source, result))
                if here == there:
                    reader, at = first[result]
                    op.move_before(before.get(reader, at))
                    before[reader] = op
            for value in op.operands:
                # What stands behind here is in its place already; a transfer may have gone behind other readers.
                if value not in first or op.is_before_in_block(first[value][1]):
                    first[value] = n, op
