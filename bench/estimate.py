"""The time of one step of a compiled XLA program on a machine model: one function for every side of a comparison.

Counted in optimised HLO, so that both sides have had the same fusion, folding and collective combining:

  collectives   alpha-beta as in `pcg.cost`: launch + hops x latency + ring bytes / bandwidth, per instruction; an
                all-reduce whose result is only sliced is the reduce-scatter that it is (see `bench.collectives`);
  contractions  dots and convolutions, alone or in fusions: FLOPs over the peak of the element type, or bytes over the
                memory bandwidth if that is longer;
  the rest      a roofline of memory alone: bytes read and written by the fusion, copy, sort, ..., slices of an operand
                counted as slices.

Loops multiply by their trip counts; every branch of a conditional counts. Nothing overlaps: sums, not critical paths.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from bench import hlo
from bench.collectives import Collective, Traffic
from bench.hlo import BYTES, Instruction
from pcg.cost import CostModel
from pcg.layout import Mesh
from pcg.machine import Machine

_FREE = frozenset(
    {
        "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "iota", "while", "call", "conditional",
        "partition-id", "replica-id", "after-all", "opt-barrier",
    }
)  # fmt: skip
_SLICING = frozenset({"dynamic-slice", "slice", "gather"})
_ELEMENT = {"f64": "f64", "f32": "f32", "bf16": "bf16", "f16": "f16", "s8": "i8", "u8": "i8"}


@dataclass(frozen=True)
class Estimate:
    """Seconds per step and device, and what they come from."""

    communication: float
    contractions: float
    memory: float
    flops: float
    traffic: Traffic

    @property
    def seconds(self) -> float:
        """The whole step."""
        return self.communication + self.contractions + self.memory


def estimate(text: str, devices: int, machine: Machine | None = None) -> Estimate:
    """The estimate for the text of a compiled program on `devices` devices; the default machine is pcg's."""
    return _Estimator(text, devices, machine or Machine.default()).run()


class _Estimator:
    def __init__(self, text: str, devices: int, machine: Machine) -> None:
        self.computations, self.entry = hlo.parse(text)
        self.devices, self.machine = devices, machine
        self.model = CostModel(machine, Mesh.of({"device": devices}))

    def run(self) -> Estimate:
        times, unknown = hlo.executions(self.computations, self.entry)
        inside = {
            callee for c in self.computations.values() for i in c if i.opcode == "fusion" for _, callee in i.callees
        }
        communication = contractions = memory = total = 0.0
        found: list[Collective] = []
        for name, scope in self.computations.items():
            n = times.get(name, 0)
            if not n or name in inside:
                continue
            sizes = {i.name: size(i) for i in scope}
            for instruction in scope:
                if parts := list(hlo.collectives(self.computations, scope, instruction, n, self.devices)):
                    found += parts
                    communication += n * self._send(parts)
                elif instruction.opcode not in _FREE and not instruction.opcode.endswith("-done"):
                    flops, element = self._flops(instruction, scope)
                    moved = self._moved(instruction, sizes) / self.machine.device.memory_bandwidth
                    if flops:
                        contractions += n * max(flops / self.machine.device.peak(element), moved)
                        total += n * flops
                    else:
                        memory += n * moved
        return Estimate(communication, contractions, memory, total, Traffic(tuple(found), unknown))

    def _send(self, parts: list[Collective]) -> float:
        """Seconds of one execution of a collective of several arrays."""
        group, kind = parts[0].group, parts[0].kind
        if group < 2:
            return 0.0
        wire = sum(c.wire_bytes / c.times for c in parts)
        model = CostModel(self.machine, Mesh.of({"group": group}))
        return model.link(("group",), wire, "permute" if kind == "collective_permute" else kind)

    def _flops(self, instruction: Instruction, scope: list[Instruction]) -> tuple[float, str]:
        """FLOPs of the dots and convolutions of an instruction or fusion, and their element type."""
        if instruction.opcode == "fusion":
            body = self.computations.get(dict(instruction.callees).get("calls", ""), [])
            found = [self._flops(i, body) for i in body]
            return sum(f for f, _ in found), next((e for f, e in found if f), "f32")
        if instruction.opcode not in ("dot", "convolution"):
            return 0.0, "f32"
        shapes = {i.name: i.shapes[0] for i in scope if i.shapes}
        element, result = instruction.shapes[0]
        name = _ELEMENT.get(element, element)
        if instruction.opcode == "dot":
            _, lhs = shapes[instruction.operands[0]]
            dims = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", instruction.tail)
            depth = math.prod(lhs[int(d)] for d in dims[1].split(",") if d) if dims else 1
            return 2.0 * math.prod(result) * depth, name
        _, kernel = shapes[instruction.operands[1]]
        labels = re.search(r"dim_labels=\w+_(\w+)->", instruction.tail)
        if labels is None:
            raise ValueError(f"convolution without dim_labels: {instruction.name}")
        return 2.0 * math.prod(result) * math.prod(kernel) / kernel[labels[1].index("o")], name

    def _moved(self, instruction: Instruction, sizes: dict[str, int]) -> float:
        """Bytes of memory that an instruction reads and writes."""
        operands = [sizes.get(o, 0) for o in instruction.operands]
        if instruction.opcode in _SLICING:
            return 2.0 * size(instruction)
        if instruction.opcode == "dynamic-update-slice":
            return 2.0 * operands[1]
        if instruction.opcode == "scatter":
            return 2.0 * operands[-1] + operands[1]
        if instruction.opcode == "fusion":
            return self._fusion(instruction, operands)
        return float(sum(operands) + size(instruction))

    def _fusion(self, instruction: Instruction, operands: list[int]) -> float:
        """As `_moved`: operands that are only sliced count as slices, updates in place as updates."""
        body = self.computations.get(dict(instruction.callees).get("calls", ""), [])
        sizes = {i.name: size(i) for i in body}
        users: dict[str, list[Instruction]] = {}
        for i in body:
            for o in i.operands:
                users.setdefault(o, []).append(i)
        read = 0.0
        for i in body:
            if i.opcode != "parameter" or not (number := re.match(r"\d+", i.tail)):
                continue
            full = operands[int(number[0])]
            read += min(full, sum(self._read_by(u, i.name, full, sizes, users) for u in users.get(i.name, [])))
        root = body[-1] if body else None
        written = size(instruction)
        if root is not None:
            while root.opcode in ("bitcast", "copy") and root.operands:
                root = next(i for i in body if i.name == root.operands[0])  # type: ignore[union-attr]
            if root.opcode == "dynamic-update-slice":
                written = sizes[root.operands[1]]
        return read + written

    def _read_by(
        self, user: Instruction, name: str, full: int, sizes: dict[str, int], users: dict[str, list[Instruction]]
    ) -> float:
        if user.opcode in _SLICING and user.operands[0] == name:
            return size(user)
        if user.opcode == "dynamic-update-slice" and user.operands[0] == name:
            return 0.0
        if user.opcode == "bitcast":
            return sum(self._read_by(u, user.name, full, sizes, users) for u in users.get(user.name, []))
        return full


def size(instruction: Instruction) -> int:
    """Bytes of the result of an instruction."""
    return sum(math.prod(dims) * BYTES.get(dtype, 4) for dtype, dims in instruction.shapes)
