"""One function per island, with sends and receives for the transfers between them."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.clone import clone_mapped
from pcg.ir.emit import i64, i64s
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Transformation
from pcg.ir.walk import entry_of, functions
from pcg.rewrite.islands import nodes

#: What gives, and what takes, that which an op brings to another slice.
_GIVES = {"pcg.transfer": "pcg.send", "pcg.exchange": "pcg.dispatch", "pcg.exchange_back": "pcg.dispatch"}
_TAKES = {"pcg.transfer": "pcg.receive", "pcg.exchange": "pcg.collect", "pcg.exchange_back": "pcg.collect_back"}


class SplitIslands(Transformation):
    """Replace a program by one function per island that has something to do for it."""

    def run(self, module: ir.Operation) -> None:
        func = entry_of(module)
        nodes.check_program(module, func)
        split = _Split(func, nodes.islands_of(module))
        with module.context, func.location:
            split.run()
        func.erase()
        self.statistics["islands"] += len(split.parts)
        self.statistics["messages"] += split.messages


class _Part:
    """What an island does."""

    def __init__(self) -> None:
        self.arguments: list[int] = []
        self.results: list[int] = []
        self.ops: list[tuple[str, ir.Operation, int]] = []
        """(what: the op itself, or the send or receive that it becomes, op, tag)."""


class _Split:
    """The splitting of one function."""

    def __init__(self, func: ir.Operation, islands: dict[str, str]) -> None:
        self.func, self.islands = func, islands
        self.parts: dict[str, _Part] = {}
        self.messages = 0

    def run(self) -> None:
        self._distribute()
        if not self.parts:
            raise PcgError("the program has no arguments and does nothing; allowed: what an island can run", self.func)
        point = ir.InsertionPoint(self.func)
        names = {nodes.symbol(f) for f in functions(self.func.parent.operation)}
        # As they are declared: the order does not depend on what comes first in the program.
        for island in [i for i in dict.fromkeys(self.islands.values()) if i in self.parts]:
            name = f"{nodes.symbol(self.func)}.{island}"
            if name in names:
                raise PcgError(f"the module has a function @{name} already; allowed: another name", self.func)
            self._write(name, island, self.parts[island], point)

    def _island(self, value: ir.Value) -> str:
        return self.islands[nodes.slice_of(nodes.layout(value))]

    def _part(self, island: str) -> _Part:
        return self.parts.setdefault(island, _Part())

    def _distribute(self) -> None:
        """What each island does, in the order of the program."""
        for argument in self.func.regions[0].blocks[0].arguments:
            self._part(self._island(argument)).arguments.append(argument.arg_number)
        ops = nodes.ops_of(self.func)
        receives = self._receives(ops)
        for n, op in enumerate([*ops, nodes.end_of(self.func)]):
            for tag, taken in receives.get(n, ()):
                self._part(self._island(taken.results[0])).ops.append((_TAKES[taken.name], taken, tag))
            if op.name == "func.return":
                for i, value in enumerate(op.operands):
                    self._part(self._island(value)).results.append(i)
            elif n in self._tags:
                self._part(self._island(op.operands[0])).ops.append((_GIVES[op.name], op, self._tags[n]))
            else:
                self._part(self.islands[nodes.symbol(op, "mesh")]).ops.append(("", op, 0))

    def _receives(self, ops: list[ir.Operation]) -> dict[int, list[tuple[int, ir.Operation]]]:
        """Number of the op before which values are received -> (tag, transfer) of them.

        A value is received before the first op that reads it, or that reads what the same island sends later: thus
        receives are in the order of the sends, and a value takes no memory before anything needs what was sent with it.
        In the order of the program every send stands before its receive, so the islands cannot wait for each other.
        """
        first: dict[ir.Value, int] = {}
        last: dict[ir.Value, int] = {}
        for n, op in enumerate(ops):
            for value in op.operands:
                first.setdefault(value, n)
            last.update((op.operands[i], n) for i in nodes.last_uses(op))
        self._tags: dict[int, int] = {}
        for n, op in enumerate(ops):
            crosses = op.name == "pcg.transfer" and self._island(op.operands[0]) != self._island(op.results[0])
            if crosses or op.name in nodes.EXCHANGES:
                self._tags[n] = len(self._tags)
        self.messages = len(self._tags)
        found: dict[int, list[tuple[int, ir.Operation]]] = {}
        limit: dict[tuple[str, str], int] = {}
        for n, tag in reversed(self._tags.items()):
            op = ops[n]
            pair = self._island(op.operands[0]), self._island(op.results[0])
            at = min(limit.get(pair, len(ops)), *(first.get(r, len(ops)) for r in op.results))
            if op.name == "pcg.exchange_back":  # it reads where the rows left from, too
                at = min(at, max(last.get(op.operands[2], len(ops)), n + 1))
            limit[pair] = at
            found.setdefault(at, []).insert(0, (tag, op))
        return found

    def _write(self, name: str, island: str, part: _Part, point: ir.InsertionPoint) -> None:
        func = self.func
        kind = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)
        inputs, outputs = list(kind.inputs), list(kind.results)
        arguments, results = part.arguments, part.results
        new = ir.Operation.create(
            "func.func", regions=1, ip=point,
            attributes={
                "sym_name": ir.StringAttr.get(name),
                "function_type": ir.TypeAttr.get(
                    ir.FunctionType.get([inputs[i] for i in arguments], [outputs[i] for i in results])
                ),
                "arg_attrs": ir.ArrayAttr.get([self._signature(i) for i in arguments]),
                "res_attrs": ir.ArrayAttr.get([self._result(i) for i in results]),
                nodes.ISLAND: ir.StringAttr.get(island),
                nodes.RESULTS: i64s(results),
            },
        )  # fmt: skip
        block = new.regions[0].blocks.append(*[inputs[i] for i in arguments])
        old = self.func.regions[0].blocks[0].arguments
        values = {old[i]: argument for i, argument in zip(arguments, block.arguments, strict=True)}
        with ir.InsertionPoint(block):
            for what, op, tag in part.ops:
                with op.location:
                    if what:
                        self._message(what, op, tag, values)
                    else:
                        clone_mapped(op, values)
            ir.Operation.create("func.return", operands=[values[nodes.returned(func)[i]] for i in results])

    def _message(self, what: str, op: ir.Operation, tag: int, values: dict[ir.Value, ir.Value]) -> None:
        source, result = op.operands[0], op.results[0]
        if op.name in nodes.EXCHANGES:
            self._end(what, op, tag, values)
            return
        is_send = what == "pcg.send"
        peer = self._island(result if is_send else source)
        attributes = {"tag": i64(tag), "peer": ir.StringAttr.get(peer), "spec": nodes.layout(result)}
        if is_send:
            if nodes.LAST_USES in op.attributes:
                attributes[nodes.LAST_USES] = op.attributes[nodes.LAST_USES]
            ir.Operation.create(what, operands=[values[source]], attributes=attributes)
        else:
            values[result] = ir.Operation.create(what, results=[result.type], attributes=attributes).result

    def _end(self, what: str, op: ir.Operation, tag: int, values: dict[ir.Value, ir.Value]) -> None:
        """One end of an exchange; each has the type and layout that the rows have at the other end."""
        source, result = op.operands[0], op.results[0]
        gives = what == "pcg.dispatch"
        there = result if gives else source
        reads = [0, 1] if gives else [*range(2, len(op.operands))]
        attributes = {
            "tag": i64(tag), "peer": ir.StringAttr.get(self._island(there)), "type": ir.TypeAttr.get(there.type),
            "spec": nodes.layout(result) if gives else nodes.wanted(op, 0),
        }  # fmt: skip
        ends = nodes.last_uses(op)
        if own := [n for n, i in enumerate(reads) if i in ends]:
            attributes[nodes.LAST_USES] = i64s(own)
        if gives and op.name == "pcg.exchange_back":
            attributes[nodes.BACK] = ir.UnitAttr.get()
        if not gives:
            attributes[shardings.OUT_SPECS] = op.attributes[shardings.OUT_SPECS]
            if nodes.DROP in op.attributes:
                attributes[nodes.DROP] = op.attributes[nodes.DROP]
        new = ir.Operation.create(
            what, results=[] if gives else [r.type for r in op.results],
            operands=[values[op.operands[i]] for i in reads], attributes=attributes,
        )  # fmt: skip
        values.update(zip(op.results, new.results, strict=True) if not gives else ())

    def _signature(self, i: int) -> ir.Attribute:
        argument = self.func.regions[0].blocks[0].arguments[i]
        own = {shardings.SPEC: nodes.layout(argument), nodes.ARGUMENT: i64(i)}
        if nodes.is_donated(argument):
            own[nodes.DONATED] = ir.BoolAttr.get(True)
        return ir.DictAttr.get(own)

    def _result(self, i: int) -> ir.Attribute:
        return ir.DictAttr.get({shardings.SPEC: nodes.layout(nodes.returned(self.func)[i])})
