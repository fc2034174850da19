"""From a program of placed stages to one program per process.

Process k runs, in the order of the program, what the stages on meshes with device k run there, with its position
in the mesh filled in; and of every transfer its own part: `dist.send` for each piece that it sends,
`dist.recv` for each that it receives.  Messages are in one order for the whole program, and every process follows
it, so blocking sends cannot wait for each other in a circle.  Sends and receives are ops of `dist` and not of
StableHLO because theirs move between the partitions of *one* program, by pairs and channels, and need
tokens for an order that these have by their position in the program.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from torch_mlir import ir

from pcg.ir import mesh_names, shardings
from pcg.ir.clone import clone_mapped
from pcg.ir.emit import concatenate, create, i64, i64s, slice_box
from pcg.ir.errors import PcgError
from pcg.ir.stages import inputs_of, outputs_of, stage_mesh
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec, SpecError
from pcg.lower.collectives import pad_high
from pcg.lower.redistribution_ops import itemsize
from pcg.reshard import ReshardError, TransferPiece, cross_mesh_plan
from pcg.reshard.cross import Box, shards
from pcg.rules import traits
from pcg.rules.traits import Trait

#: Attributes of arguments and results of a process: which argument or result of the program, and which box of it;
#: what the tensor holds beyond the box is padding.
ARGUMENT, RESULT, START, LIMIT = "pcg.argument", "pcg.result", "pcg.start", "pcg.limit"
#: Attributes of the outer module: the signature of the program, and the processes.
SIGNATURE, PROCESSES = "pcg.signature", "pcg.processes"
#: Attribute of collectives: the process of each position.  Replica groups stay positions, because StableHLO
#: has them count from 0.
MEMBERS = "pcg.members"


class _Process:
    """The program of one process while it grows; `values` maps values of the program to local ones."""

    def __init__(self, number: int, parent: ir.Block) -> None:
        self.number = number
        self.values: dict[ir.Value, ir.Value] = {}
        self.results: list[tuple[ir.Value, ir.DictAttr]] = []
        with ir.InsertionPoint(parent):
            self.module = ir.Operation.create(
                "builtin.module", regions=1, attributes={"sym_name": ir.StringAttr.get(f"process_{number}")}
            )
        self.body = self.module.regions[0].blocks.append()

    def start(self, name: ir.Attribute, arguments: Sequence[tuple[ir.Value, ir.Type, ir.DictAttr]]) -> None:
        """Open the function with these arguments: (value of the program, local type, attributes)."""
        types = [t for _, t, _ in arguments]
        with ir.InsertionPoint(self.body):
            self.function = ir.Operation.create(
                "func.func", regions=1,
                attributes={"sym_name": name, "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, []))},
            )
        self.block = self.function.regions[0].blocks.append(*types, arg_locs=[v.location for v, _, _ in arguments])
        self.values.update((v, a) for (v, _, _), a in zip(arguments, self.block.arguments, strict=True))
        if arguments:
            self.function.attributes["arg_attrs"] = ir.ArrayAttr.get([d for _, _, d in arguments])

    def finish(self) -> None:
        """Return the results."""
        with ir.InsertionPoint(self.block):
            ir.Operation.create("func.return", operands=[v for v, _ in self.results])
        kind = ir.FunctionType.get([a.type for a in self.block.arguments], [v.type for v, _ in self.results])
        self.function.attributes["function_type"] = ir.TypeAttr.get(kind)
        if self.results:
            self.function.attributes["res_attrs"] = ir.ArrayAttr.get([d for _, d in self.results])


class ProcessLowering:
    """Lowers the entry function `func` of `module`; `local` gives, per stage, what a device of its mesh runs.

    Raises:
      PcgError: a layout is unknown or does not fit.
    """

    def __init__(self, module: ir.Operation, func: ir.Operation, local: Mapping[ir.Operation, ir.Operation]) -> None:
        self.module, self.func, self.local = module, func, local
        self.meshes = shardings.meshes_of(module)
        numbers = sorted({d for m in self.meshes.values() for d in devices(m)})
        self.processes = {n: _Process(n, module.regions[0].blocks[0]) for n in numbers}
        self.channels = itertools.count(1)
        self.tags = itertools.count()
        self.messages: list[TransferPiece] = []

    def run(self) -> None:
        """Append one module per process, and say on the outer module what they are parts of."""
        block = self.func.regions[0].blocks[0]
        signature: dict[int, list[tuple[ir.Value, ir.Type, ir.DictAttr]]] = {n: [] for n in self.processes}
        for i, argument in enumerate(block.arguments):
            for n, box in self.shards(argument, f"argument {i}"):
                signature[n].append((argument, self.local_type(argument), _where(ARGUMENT, i, box)))
        for n, process in self.processes.items():
            process.start(self.func.attributes["sym_name"], signature[n])
        for op in block.operations:
            op = op.operation
            with op.location:
                if op.name == "pcg.stage":
                    self.stage(op)
                elif op.name == "pcg.transfer":
                    self.transfer(op)
                elif op.name == "func.return":
                    self.results(op)
                elif op.name != "stablehlo.tuple" and shardings.stage_of(op) is None:
                    raise PcgError(f"'{op.name}' op is in no stage; run pcg-split-meshes first", op.location)
        for process in self.processes.values():
            process.finish()
        i64 = ir.IntegerType.get_signless(64)
        self.module.attributes[SIGNATURE] = self.func.attributes["function_type"]
        self.module.attributes[PROCESSES] = ir.ArrayAttr.get([ir.IntegerAttr.get(i64, n) for n in self.processes])

    def placed(self, value: ir.Value, what: str) -> tuple[ShardSpec, Mesh]:
        """Layout and mesh of a value of the program."""
        spec, name = shardings.get(value), mesh_names.mesh_name_of(value)
        if spec is None or name is None:
            raise PcgError(f"{what} has no layout; run pcg-place-stages first", value.location)
        if name not in self.meshes:
            known = ", ".join("@" + m for m in self.meshes)
            raise PcgError(f"{what} is on @{name}; declared meshes: {known}", value.location)
        return spec, self.meshes[name]

    def shards(self, value: ir.Value, what: str) -> list[tuple[int, Box]]:
        """(process, box of the value that it holds)."""
        spec, mesh = self.placed(value, what)
        if not isinstance(value.type, ir.RankedTensorType):
            raise PcgError(f"{what} is a {value.type}; allowed: ranked tensors", value.location)
        try:
            spec.check(mesh, value.type.shape)
        except SpecError as error:
            raise PcgError(f"{what} ({value.type}) has layout {spec}: {error}", value.location) from None
        return shards(spec, mesh, value.type.shape)

    def local_type(self, value: ir.Value) -> ir.Type:
        """Type of what a process holds of a value of the program, padding included."""
        spec, mesh = self.placed(value, "a value")
        return ir.RankedTensorType.get(spec.local_shape(value.type.shape, mesh), value.type.element_type)

    # -- stages --------------------------------------------------------------------------------

    def _here(self, stage: ir.Operation, process: _Process) -> Sequence[ir.Value]:
        """The inputs of a stage, which are in its processes."""
        for i, value in enumerate(inputs_of(stage)):
            if value not in process.values:
                symbol = stage_mesh(stage)
                text = f"input {i} of the stage on @{symbol} is not on its mesh; pcg.transfer moves it there"
                raise PcgError(text, stage.location)
        return inputs_of(stage)

    def stage(self, stage: ir.Operation) -> None:
        """Put the stage's local program into the processes of its mesh."""
        mesh, func = self.meshes[stage_mesh(stage)], self.local[stage]
        ids = devices(mesh)
        block = func.regions[0].blocks[0]
        channels: dict[int, int] = {}
        for position, number in enumerate(ids):
            process = self.processes[number]
            inputs = [process.values[v] for v in self._here(stage, process)]
            values: dict[ir.Value, ir.Value] = dict(zip(block.arguments, inputs, strict=True))
            *ops, last = (op.operation for op in block.operations)
            with ir.InsertionPoint(process.block):
                for op in ops:
                    if op.name == "stablehlo.partition_id":
                        values[op.results[0]] = _position(op, position)
                    else:
                        self.specialise(clone_mapped(op, values), position, ids, channels)
            for outer, inner in zip(outputs_of(stage), last.operands, strict=True):
                if outer is not None:
                    process.values[outer] = values[inner]

    def specialise(self, op: ir.Operation, position: int, ids: Sequence[int], channels: dict[int, int]) -> None:
        """Fill in the position in an op and its regions; say who is in collectives, and number their channels."""
        for inner in list(walk(op)):
            if inner.name == "stablehlo.partition_id":
                with ir.InsertionPoint(inner):
                    inner.results[0].replace_all_uses_with(_position(inner, position))
                inner.erase()
                continue
            if traits.has(inner.name, Trait.COLLECTIVE):
                inner.attributes[MEMBERS] = i64s(ids)
            if "channel_handle" in inner.attributes:
                handle = str(inner.attributes["channel_handle"])
                number = int(handle.partition("handle = ")[2].partition(",")[0])
                if number not in channels:
                    channels[number] = next(self.channels)
                text = handle.replace(f"handle = {number},", f"handle = {channels[number]},")
                inner.attributes["channel_handle"] = ir.Attribute.parse(text)

    # -- transfers -----------------------------------------------------------------------------

    def transfer(self, op: ir.Operation) -> None:
        """Each process's part of a transfer."""
        value, result = op.operands[0], op.results[0]
        (src, src_mesh), (dst, dst_mesh) = self.placed(value, "what is sent"), self.placed(result, "what is received")
        self.shards(value, "what is sent")
        there = self.shards(result, "what is received")
        try:
            plan = cross_mesh_plan(src, src_mesh, dst, dst_mesh, value.type.shape, itemsize(value))
        except ReshardError as error:
            raise PcgError(f"'{op.name}' op: {error}", op.location) from None
        got: dict[int, dict[tuple[int, ...], ir.Value]] = {n: {} for n, _ in there}
        for piece in plan.kept:
            with ir.InsertionPoint(self.processes[piece.receiver].block):
                got[piece.receiver][piece.target] = self.piece(value, piece)
        for piece in plan.pieces:
            attributes = {
                "tag": i64(next(self.tags)), "start": i64s(piece.start), "limit": i64s(piece.stop),
            }
            with ir.InsertionPoint(self.processes[piece.sender].block):
                part = self.piece(value, piece)
                to = {"peer": i64(piece.receiver)}
                ir.Operation.create("dist.send", operands=[part], attributes=to | attributes)
            with ir.InsertionPoint(self.processes[piece.receiver].block):
                received = create("dist.recv", [], part.type, peer=i64(piece.sender), **attributes)
                got[piece.receiver][piece.target] = received
        for number, _ in there:
            process = self.processes[number]
            with ir.InsertionPoint(process.block):
                process.values[result] = _assemble(got[number], self.local_type(result))
        self.messages += plan.pieces

    def piece(self, value: ir.Value, piece: TransferPiece) -> ir.Value:
        """A piece of the shard that its sender holds."""
        shard = self.processes[piece.sender].values[value]
        size = [b - a for a, b in zip(piece.start, piece.stop, strict=True)]
        if size == list(shard.type.shape):
            return shard
        return slice_box(shard, piece.source, [a + n for a, n in zip(piece.source, size, strict=True)])

    def results(self, last: ir.Operation) -> None:
        """What every process returns of the program's results."""
        for i, value in enumerate(last.operands):
            for number, box in self.shards(value, f"result {i}"):
                process = self.processes[number]
                process.results.append((process.values[value], _where(RESULT, i, box)))


def devices(mesh: Mesh) -> Sequence[int]:
    """Logical devices by position in the mesh."""
    return mesh.device_ids or range(mesh.size)


def process_modules(module: ir.Module | ir.Operation) -> Iterator[tuple[int, ir.Operation]]:
    """(process, its module) of what `ProcessLowering` left.

    Raises:
      PcgError: the module was not made by it.
    """
    if PROCESSES not in module.operation.attributes:
        text = f"the module has no {PROCESSES}; only what pcg-lower-processes made has processes"
        raise PcgError(text, module.operation.location)
    numbers = [int(ir.IntegerAttr(a).value) for a in ir.ArrayAttr(module.operation.attributes[PROCESSES])]
    names = {f"process_{n}": n for n in numbers}
    for op in module.operation.regions[0].blocks[0].operations:
        op = op.operation
        if op.name == "builtin.module" and "sym_name" in op.attributes:
            name = ir.StringAttr(op.attributes["sym_name"]).value
            if name in names:
                yield names[name], op


def _assemble(parts: dict[tuple[int, ...], ir.Value], type_: ir.Type) -> ir.Value:
    """A shard from its pieces by where they start; they are the cells of a grid.  What lies beyond is padding."""

    def build(prefix: tuple[int, ...], keys: list[tuple[int, ...]]) -> ir.Value:
        dim = len(prefix)
        if len(keys) == 1:
            return parts[keys[0]]
        starts = sorted({k[dim] for k in keys})
        return concatenate([build((*prefix, start), [k for k in keys if k[dim] == start]) for start in starts], dim)

    if not parts:
        empty = ir.RankedTensorType.get([0] * type_.rank, type_.element_type)
        value = create("stablehlo.constant", [], empty, value=ir.Attribute.parse(f"dense<> : {empty}"))
    else:
        value = build((), list(parts))
    padding = [n - have for n, have in zip(type_.shape, value.type.shape, strict=True)]
    return pad_high(value, padding) if any(padding) else value


def _position(op: ir.Operation, position: int) -> ir.Value:
    """The position in the mesh, as what partition_id would have been."""
    type_ = op.results[0].type
    attr = ir.DenseElementsAttr.get(np.array(position, dtype=np.uint32), type=type_)
    return ir.Operation.create(
        "stablehlo.constant", results=[type_], attributes={"value": attr}, loc=op.location
    ).result


def _where(kind: str, i: int, box: Box) -> ir.DictAttr:
    start, limit = (i64s([b[k] for b in box]) for k in (0, 1))
    return ir.DictAttr.get({kind: i64(i), START: start, LIMIT: limit})
