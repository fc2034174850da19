"""Counting collectives in the text of a compiled XLA program (after partitioning); see `bench.collectives`."""

from __future__ import annotations

import collections
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from bench.collectives import Collective, Traffic, scattered

BYTES = {
    "pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s16": 2, "u16": 2, "s32": 4, "u32": 4, "f32": 4,
    "s64": 8, "u64": 8, "f64": 8, "c64": 8, "c128": 16,
}  # fmt: skip
_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "collective-broadcast")
_THROUGH = ("bitcast", "reshape", "copy", "transpose", "convert")
_LINE = re.compile(r"\s*(?:ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\(")
_HEAD = re.compile(r"\s*(ENTRY )?%?([\w.\-]+) .*\{\s*$")
_CALLEES = re.compile(r"(\w+)=(\{[^{}]*\}|%[\w.\-]+)")


@dataclass(frozen=True)
class Instruction:
    """One line: `shapes` are (dtype, dims) of its result or of the parts of a tuple."""

    name: str
    opcode: str
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    operands: tuple[str, ...]
    tail: str

    @property
    def callees(self) -> list[tuple[str, str]]:
        """(role, computation) pairs such as ("body", "while_body")."""
        return [(role, name) for role, text in _CALLEES.findall(self.tail) for name in re.findall(r"%([\w.\-]+)", text)]


def parse(text: str) -> tuple[dict[str, list[Instruction]], str]:
    """Computations of an HLO module by name, and the name of its entry."""
    computations: dict[str, list[Instruction]] = {}
    entry, current = "", ""
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head and "=" not in line.split("(")[0]:
            current = head[2]
            computations[current] = []
            entry = current if head[1] else entry
        elif current and (m := _LINE.match(line)):
            arguments, tail = _arguments(line, m.end())
            parts = re.findall(r"(\w+)\[([\d,]*)\]", m[2])
            shapes = tuple((t, tuple(int(d) for d in dims.split(",") if d)) for t, dims in parts)
            operands = tuple(re.findall(r"%([\w.\-]+)", arguments))
            if m[3] == "parameter" or m[3] == "constant":
                operands, tail = (), arguments + tail
            computations[current].append(Instruction(m[1], m[3], shapes, operands, tail))
    return computations, entry


def _arguments(line: str, start: int) -> tuple[str, str]:
    """Split what follows an opening parenthesis at its closing one."""
    depth = 1
    for at in range(start, len(line)):
        depth += (line[at] == "(") - (line[at] == ")")
        if not depth:
            return line[start:at], line[at + 1 :]
    return line[start:], ""


def executions(computations: dict[str, list[Instruction]], entry: str) -> tuple[dict[str, int], int]:
    """How often each computation runs per step, and how many loops had no readable trip count (taken as 1).

    Computations that only describe an instruction (the body of a fusion, the sum of a reduction) are not in it, but for
    fusions, which run as often as they are called.
    """
    times: collections.Counter[str] = collections.Counter({entry: 1})
    unknown = 0
    order = [entry]
    for name in order:
        for instruction in computations[name]:
            for role, callee in instruction.callees:
                if role == "to_apply" and instruction.opcode != "call" or callee not in computations:
                    continue
                trips = 1
                if instruction.opcode == "while":
                    known = re.search(r"known_trip_count\D*(\d+)", instruction.tail)
                    trips = int(known[1]) if known else 1
                    unknown += role == "body" and not known
                times[callee] += times[name] * (trips if role == "body" else 1)
                order.append(callee)
    return dict(times), unknown


def of_hlo(text: str, devices: int) -> Traffic:
    """The traffic of a compiled program on `devices` devices."""
    computations, entry = parse(text)
    times, unknown = executions(computations, entry)
    found: list[Collective] = []
    for name, instructions in computations.items():
        for instruction in instructions if times.get(name) else ():
            found += collectives(computations, instructions, instruction, times[name], devices)
    return Traffic(tuple(found), unknown)


def collectives(
    computations: dict[str, list[Instruction]],
    scope: list[Instruction],
    instruction: Instruction,
    times: int,
    devices: int,
) -> Iterator[Collective]:
    """What `instruction` of the computation `scope` sends: one collective per array, none if it is no collective."""
    opcode = instruction.opcode.removesuffix("-start")
    if opcode not in _KINDS:
        return
    group = _group(instruction.tail, devices)
    shapes = instruction.shapes
    if opcode == "all-to-all" and len(shapes) > 1:
        # The tuple form: one part per device of the group, together the local tensor.
        shapes = ((shapes[0][0], (sum(math.prod(dims) for _, dims in shapes),)),)
    for index, (dtype, dims) in enumerate(shapes):
        elements = math.prod(dims)
        one = Collective(opcode.replace("-", "_"), elements, elements * BYTES.get(dtype, 4), group, times)
        if opcode == "all-reduce":
            wanted = elements // group
            position = index if len(instruction.shapes) > 1 else None
            if _only_sliced(computations, scope, instruction.name, wanted, position):
                one = scattered(one)
        yield one


def _group(tail: str, devices: int) -> int:
    if m := re.search(r"replica_groups=\{\{([\d,]+)\}", tail):
        return len(m[1].split(","))
    if m := re.search(r"replica_groups=\[(\d+),(\d+)\]", tail):
        return int(m[2])
    if m := re.search(r"source_target_pairs=\{(\{[\d,{}]*\})\}", tail):
        pairs = re.findall(r"\{(\d+),(\d+)", m[0])
        return 2 if any(a != b for a, b in pairs) else 1
    return devices


def _only_sliced(
    computations: dict[str, list[Instruction]], scope: list[Instruction], name: str, part: int, element: int | None
) -> bool:
    """Whether every use of a value (of tuple element `element`) takes a slice of `part` elements."""
    users = [i for i in scope if name in i.operands]
    if element is not None:
        users = [
            i for i in users if i.opcode != "get-tuple-element" or re.search(rf"index={element}\b", i.tail)
        ]
        if any(i.opcode != "get-tuple-element" for i in users):
            return False
        return bool(users) and all(_only_sliced(computations, scope, i.name, part, None) for i in users)
    return bool(users) and all(_slices(computations, scope, i, name, part) for i in users)


def _slices(
    computations: dict[str, list[Instruction]], scope: list[Instruction], user: Instruction, name: str, part: int
) -> bool:
    if user.opcode in ("dynamic-slice", "slice"):
        return math.prod(user.shapes[0][1]) == part
    if user.opcode in _THROUGH:
        return _only_sliced(computations, scope, user.name, part, None)
    if user.opcode == "fusion":
        body = computations.get(dict(user.callees).get("calls", ""), [])
        inner = [
            i.name for p, operand in enumerate(user.operands) if operand == name
            for i in body if i.opcode == "parameter" and re.match(rf"{p}\)?(\D|$)", i.tail)
        ]  # fmt: skip
        return bool(inner) and all(_only_sliced(computations, body, i, part, None) for i in inner)
    return False
