"""The oracle for programs per process: all processes, with their messages, as one single-device program.

Each process runs its own program until it must wait for others: at a collective for its members, at a send for
the receive, at a receive for the send.  (Nothing is buffered: a program that needs buffers is wrong.)  When no process
can go on before all have ended, that is a deadlock and is reported with what each waits for.  A loop or conditional
with communication inside is entered by all processes of its mesh together and becomes one that carries the values of
all.  Nothing here is shared with the lowering.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch_mlir import ir

from pcg.emulate.build import all_agree, concatenate, flag_type, function, padded_high, slice_box, zeros
from pcg.emulate.lockstep import GROUPED, for_all, table
from pcg.ir.clone import clone_mapped
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry, walk
from pcg.rules import traits
from pcg.rules.registry import CONTROL_FLOW, TERMINATORS
from pcg.rules.traits import Trait

_PERMUTE = "stablehlo.collective_permute"
_MESSAGES = ("dist.send", "dist.recv")


class Deadlock(PcgError):
    """No process can go on, but some have not ended."""


@dataclass
class _Run:
    """Where a process is: the ops that are left, and what its values are in the emulating program."""

    ops: list[ir.Operation]
    env: dict[ir.Value, ir.Value]
    at: int = 0
    ended: list[ir.Value] | None = None

    @property
    def op(self) -> ir.Operation:
        return self.ops[self.at]


@dataclass
class Emulator:
    """Emulates processes at the insertion point; `messages` counts what they sent."""

    messages: int = 0

    def run(self, runs: Mapping[int, _Run]) -> None:
        """Run processes to the end of their blocks.

        Raises:
          Deadlock: they wait for each other, or for messages that are never sent or never taken.
        """
        while True:
            advanced = [self.advance(n, run) for n, run in runs.items()]
            synchronised = self.synchronise(runs)
            if all(run.ended is not None for run in runs.values()):
                return
            if not any(advanced) and not synchronised:
                stuck = {n: run for n, run in runs.items() if run.ended is None}
                waits = "; ".join(f"process {n} waits {_waits(run.op)}" for n, run in stuck.items())
                raise Deadlock(f"deadlock: {waits}", next(iter(stuck.values())).op.location)

    def advance(self, number: int, run: _Run) -> bool:
        """Run one process until it must wait; whether it got any further."""
        start = run.at, run.ended is None
        while run.ended is None:
            op = run.op
            if op.name in TERMINATORS:
                run.ended = [run.env[v] for v in op.operands]
                break
            if _communicates(op):
                break
            with op.location:
                clone_mapped(op, run.env)
            run.at += 1
        return (run.at, run.ended is None) != start

    def synchronise(self, runs: Mapping[int, _Run]) -> bool:
        """Run what every group waits for whose members all have reached it; whether there was one."""
        found = False
        for number, run in runs.items():
            if run.ended is not None or not _communicates(run.op) or run.op.name == "dist.recv":
                continue
            if run.op.name == "dist.send":
                found |= self.message(number, run, runs.get(_number(run.op, "peer")))
                continue
            members = _members(number, run.op)
            if any(m not in runs or runs[m].ended is not None or not _same_op(run.op, runs[m].op) for m in members):
                continue
            with run.op.location:
                self.together({m: runs[m] for m in members})
            for m in members:
                runs[m].at += 1
            found = True
        return found

    def message(self, number: int, run: _Run, peer: _Run | None) -> bool:
        """Deliver a message if its receiver waits for it; whether it was."""
        send = run.op
        if peer is None or peer.ended is not None or peer.op.name != "dist.recv":
            return False
        recv = peer.op
        if _number(recv, "peer") != number or _number(recv, "tag") != _number(send, "tag"):
            return False
        value = run.env[send.operands[0]]
        _same_piece(recv, send, value.type)
        peer.env[recv.results[0]] = value
        run.at += 1
        peer.at += 1
        self.messages += 1
        return True

    def together(self, runs: Mapping[int, _Run]) -> None:
        """One collective, loop or conditional of a group."""
        first = next(iter(runs.values())).op
        operands = {n: [r.env[v] for v in r.op.operands] for n, r in runs.items()}
        if first.name in CONTROL_FLOW:
            results = self.control_flow(runs, operands)
        elif first.name == _PERMUTE:
            ids = _ids(first)
            source = {ids[t]: ids[s] for s, t in table(first, "source_target_pairs")}
            results = {n: [operands[source[n]][0] if n in source else zeros(first.results[0].type)] for n in runs}
        else:
            made = GROUPED[first.name](first, [operands[n][0] for n in runs])
            results = {n: [v] for n, v in zip(runs, made, strict=True)}
        for n, run in runs.items():
            run.env.update(zip(run.op.results, results[n], strict=True))

    def control_flow(
        self, runs: Mapping[int, _Run], operands: Mapping[int, list[ir.Value]]
    ) -> dict[int, list[ir.Value]]:
        """One loop or conditional for all members; the first decides, for the predicate is replicated."""
        ops = {n: r.op for n, r in runs.items()}
        lead, first = next(iter(ops.items()))
        loop = first.name == "stablehlo.while"
        types = [r.type for op in ops.values() for r in op.results]
        taken = [v for n in ops for v in operands[n]] if loop else [operands[lead][0]]

        def emulate(i: int, arguments: list[ir.Value]) -> list[ir.Value]:
            left = iter(arguments)
            inner = {}
            for n, op in ops.items():
                old = op.regions[i].blocks[0]
                env = runs[n].env | {a: next(left) for a in old.arguments}
                inner[n] = _Run([o.operation for o in old.operations], env)
            self.run(inner)
            ends = [inner[lead].ended] if loop and i == 0 else [r.ended for r in inner.values()]
            return [v for e in ends for v in e or ()]

        every = iter(for_all(first, taken, types, emulate))
        return {n: [next(every) for _ in op.results] for n, op in ops.items()}


def emulate_processes(
    module: ir.Operation, programs: Mapping[int, ir.Operation], signature: ir.FunctionType, check_replicas: bool = False
) -> int:
    """Put `main`, of type `signature`, that does what all `programs` do together into `module`; counts messages.

    `programs` are modules per process, whose arguments and results say which box of which argument or result of
    the program they are.  `check_replicas` adds a last result, tensor<i1>: whether processes that return the
    same box agree bit for bit.

    Raises:
      PcgError: a deadlock, a piece of a result that nobody returns.
    """
    results = [*signature.results, *([flag_type()] if check_replicas else [])]
    with ir.InsertionPoint(module.regions[0].blocks[0]):
        block = function("main", signature.inputs, results, [module.location] * len(signature.inputs))
    with ir.InsertionPoint(block):
        runs, places = {}, {}
        for n, program in programs.items():
            func = entry(program)
            if func is None:
                raise PcgError(f"process {n} has no function to run", program.location)
            old = func.regions[0].blocks[0]
            env: dict[ir.Value, ir.Value] = {}
            boxes = _boxes(func, "arg_attrs", "pcg.argument")
            for argument, (i, start, limit) in zip(old.arguments, boxes, strict=True):
                env[argument] = padded_high(slice_box(block.arguments[i], start, limit), argument.type)
            runs[n] = _Run([op.operation for op in old.operations], env)
            places[n] = _boxes(func, "res_attrs", "pcg.result")
        emulator = Emulator()
        emulator.run(runs)
        found: list[dict[tuple[tuple[int, ...], tuple[int, ...]], list[ir.Value]]] = [{} for _ in signature.results]
        for n, run in runs.items():
            for value, (i, start, limit) in zip(run.ended or (), places[n], strict=True):
                size = [b - a for a, b in zip(start, limit, strict=True)]
                if all(size):
                    real = slice_box(value, [0] * len(size), size)
                    found[i].setdefault((tuple(start), tuple(limit)), []).append(real)
        assembled = [_assemble(i, type_, found[i], block.owner) for i, type_ in enumerate(signature.results)]
        if check_replicas:
            assembled.append(all_agree(group for boxes in found for group in boxes.values()))
        ir.Operation.create("func.return", operands=assembled)
    return emulator.messages


def _assemble(i: int, type_: ir.Type, boxes: Mapping[tuple, list[ir.Value]], at: ir.Operation) -> ir.Value:
    """A result from its boxes, by concatenation along one dimension after another."""

    def build(dim: int, keys: list[tuple]) -> ir.Value:
        if dim == type_.rank:
            return boxes[keys[0]][0]
        ranges = sorted({(k[0][dim], k[1][dim]) for k in keys})
        ends = [0, *(b for _, b in ranges)]
        if [a for a, _ in ranges] != ends[:-1] or ends[-1] != type_.shape[dim]:
            text = f"result {i}: the processes return {ranges} of dimension {dim}, of size {type_.shape[dim]}"
            raise PcgError(text, at.location)
        return concatenate([build(dim + 1, [k for k in keys if (k[0][dim], k[1][dim]) == r]) for r in ranges], dim)

    if not boxes:
        raise PcgError(f"result {i} ({type_}): no process returns it", at.location)
    return build(0, list(boxes))


def _boxes(func: ir.Operation, where: str, kind: str) -> list[tuple[int, list[int], list[int]]]:
    """(number, start, limit) of every argument or result."""
    found = []
    for own in func.attributes[where] if where in func.attributes else ():
        if kind not in own:
            raise PcgError(f"an argument or result of a process has no {kind}", func.location)
        start, limit = (list(ir.DenseI64ArrayAttr(own[n])) for n in ("pcg.start", "pcg.limit"))
        found.append((int(ir.IntegerAttr(own[kind]).value), start, limit))
    return found


def _communicates(op: ir.Operation) -> bool:
    """Whether an op is, or has in its regions, one that other processes take part in."""
    inside = walk(op) if op.name in CONTROL_FLOW else [op]
    return any(traits.has(o.name, Trait.COLLECTIVE) or o.name in _MESSAGES for o in inside)


def _ids(op: ir.Operation) -> list[int]:
    """The processes of the positions that a collective names."""
    if "pcg.members" not in op.attributes:
        raise PcgError(f"'{op.name}' op has no pcg.members, which say whose positions it names", op.location)
    return list(ir.DenseI64ArrayAttr(op.attributes["pcg.members"]))


def _members(number: int, op: ir.Operation) -> list[int]:
    """The processes, in order, that synchronise at an op that process `number` has reached."""
    if op.name in CONTROL_FLOW:
        every = {number}
        for inner in walk(op):
            if traits.has(inner.name, Trait.COLLECTIVE):
                every.update(_ids(inner))
            elif inner.name in _MESSAGES:
                every.add(_number(inner, "peer"))
        return sorted(every)
    ids = _ids(op)
    if op.name == _PERMUTE:
        return ids
    for group in table(op, "replica_groups"):
        if number in (members := [ids[p] for p in group]):
            return members
    raise PcgError(f"process {number} is in no replica group of '{op.name}'", op.location)


def _same_op(a: ir.Operation, b: ir.Operation) -> bool:
    """Whether two processes are at the same op: the same kind, on the same channels, among the same processes."""
    return a.name == b.name and _communication(a) == _communication(b)


def _communication(op: ir.Operation) -> list[str]:
    """Which communication an op and its regions do between whom, in a form to compare."""
    names = ("channel_handle", "pcg.members", "replica_groups", "source_target_pairs")
    found = []
    for inner in walk(op):
        if traits.has(inner.name, Trait.COLLECTIVE):
            found.append(" ".join(str(inner.attributes[n]) for n in names if n in inner.attributes))
        elif inner.name in _MESSAGES:
            found.append(f"tag {_number(inner, 'tag')}")
    return sorted(found)


def _same_piece(recv: ir.Operation, send: ir.Operation, type_: ir.Type) -> None:
    wanted, sent = (f"{list(o.attributes['start'])} to {list(o.attributes['limit'])}" for o in (recv, send))
    if wanted != sent or recv.results[0].type != type_:
        raise PcgError(
            f"process {_number(send, 'peer')} expects {recv.results[0].type}, box {wanted}, but is sent {type_}, "
            f"box {sent}", recv.location,
        )


def _number(op: ir.Operation, name: str) -> int:
    return int(ir.IntegerAttr(op.attributes[name]).value)


def _waits(op: ir.Operation) -> str:
    if op.name in _MESSAGES:
        what, preposition = ("to give", "to") if op.name == "dist.send" else ("for", "from")
        return f"{what} message {_number(op, 'tag')} {preposition} process {_number(op, 'peer')}"
    return f"for the others in '{op.name}'"
