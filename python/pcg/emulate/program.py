"""A per-device program with its layouts as one single-device program of the global signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch_mlir import ir

from pcg.emulate.build import all_agree, concatenate, flag_type, function, padded_high, slice_box, tensor
from pcg.emulate.lockstep import LockStep
from pcg.ir.check_lowered import GLOBAL_TYPE
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry
from pcg.layout import Mesh, ShardSpec
from pcg.layout.uneven import blocks

#: Devices that one program may have, each with a copy of every op: a choice that bounds the size of
#: the program.
MAX_DEVICES = 4096


def is_lowered(module: ir.Module) -> bool:
    """Whether a module is a program for one device of many."""
    return "pcg.in_specs" in module.operation.attributes


def lowered_layouts(module: ir.Module | ir.Operation) -> tuple[Mesh, list[ShardSpec], list[ShardSpec]]:
    """Mesh, argument and result layouts that the lowering left on a module.

    Raises:
      PcgError: the module was not made by pcg-lower-spmd.
    """
    attrs = module.operation.attributes
    for name in ("pcg.mesh", "pcg.in_specs", "pcg.out_specs"):
        if name not in attrs:
            raise PcgError(f"the module has no {name}; only what pcg-lower-spmd made can be emulated")
    mesh = Mesh.parse(ir.StringAttr(attrs["pcg.mesh"]).value)
    ins, outs = (
        [ShardSpec.parse(ir.StringAttr(s).value) for s in ir.ArrayAttr(attrs[n])]
        for n in ("pcg.in_specs", "pcg.out_specs")
    )
    return mesh, ins, outs


def global_types(module: ir.Module | ir.Operation) -> ir.FunctionType | None:
    """The signature before lowering, which it leaves where shards have padding."""
    attrs = module.operation.attributes
    return ir.FunctionType(ir.TypeAttr(attrs[GLOBAL_TYPE]).value) if GLOBAL_TYPE in attrs else None


def emulate_in_place(
    module: ir.Module | ir.Operation, mesh: Mesh, ins: Sequence[ShardSpec], outs: Sequence[ShardSpec],
    check_replicas: bool = False, signature: ir.FunctionType | None = None,
) -> None:
    """Replace the entry function, written for one device of `mesh`, by one that runs all devices.

    Arguments and results become the global tensors: arguments are split by `ins`, results assembled
    by `outs`, where of several devices that hold the same shard the first is taken.
    `check_replicas` adds a last result, tensor<i1>: whether all those devices agree bit for bit.
    `signature` is the global one, if shards have padding; the padding of arguments is NaN, which would show.

    Raises:
      PcgError: counts do not match, or the program has an op that cannot be emulated.
    """
    func = entry(module)
    if func is None:
        raise PcgError("the module has no function to emulate", module.operation.location)
    if mesh.size > MAX_DEVICES:
        text = f"the mesh {mesh} has {mesh.size} devices; up to {MAX_DEVICES} fit in one program"
        raise PcgError(text, func.location)
    with module.operation.context, func.location:
        old = func.regions[0].blocks[0]
        returned = [v.type for v in old.operations[-1].operation.operands]
        if len(ins) != len(old.arguments) or len(outs) != len(returned):
            raise PcgError(
                f"function has {len(old.arguments)} arguments and {len(returned)} results, "
                f"but layouts of {len(ins)} and {len(outs)} are given", func.location,
            )
        arguments = list(signature.inputs) if signature else [
            _global(a.type, s, mesh) for a, s in zip(old.arguments, ins, strict=True)
        ]
        results = list(signature.results) if signature else [
            _global(t, s, mesh) for t, s in zip(returned, outs, strict=True)
        ]
        name = ir.StringAttr(func.attributes["sym_name"]).value
        returns = [*results, flag_type()] if check_replicas else results
        with ir.InsertionPoint(func):
            block = function(name, arguments, returns, [a.location for a in old.arguments])
        with ir.InsertionPoint(block):
            machine = LockStep(mesh.size)
            for argument, local, spec in zip(block.arguments, old.arguments, ins, strict=True):
                for d, env in enumerate(machine.env):
                    env[local] = _shard(argument, local.type, spec, mesh, d)
            shards = []
            for values, type_, spec in zip(machine.block(old), results, outs, strict=True):
                shards.append(_by_place([_real(v, type_, spec, mesh, d) for d, v in enumerate(values)], spec, mesh))
            assembled = [_assemble(s, spec.shards(mesh)) for s, spec in zip(shards, outs, strict=True)]
            if check_replicas:
                assembled.append(all_agree(group for s in shards for group in s.values()))
            ir.Operation.create("func.return", operands=assembled)
        func.erase()


def _is_tensor(type_: ir.Type) -> bool:
    return isinstance(type_, ir.RankedTensorType)


def _global(type_: ir.Type, spec: ShardSpec, mesh: Mesh) -> ir.Type:
    if not _is_tensor(type_):
        return type_
    return tensor([n * k for n, k in zip(type_.shape, spec.shards(mesh), strict=True)], type_)


def _shard(value: ir.Value, local: ir.Type, spec: ShardSpec, mesh: Mesh, device: int) -> ir.Value:
    """What `device` holds of a global argument; padding is poison."""
    if not _is_tensor(local):
        return value
    found = [blocks(n, axes, mesh)[device] for n, axes in zip(value.type.shape, spec.dims, strict=True)]
    start = [min(a, n) for (a, _), n in zip(found, value.type.shape, strict=True)]
    return padded_high(slice_box(value, start, [a + n for a, (_, n) in zip(start, found, strict=True)]), local)


def _real(value: ir.Value, global_type: ir.Type, spec: ShardSpec, mesh: Mesh, device: int) -> ir.Value:
    """A shard of a result without its padding."""
    if not _is_tensor(global_type) or not any(spec.dims):
        return value
    found = [blocks(n, axes, mesh)[device] for n, axes in zip(global_type.shape, spec.dims, strict=True)]
    return slice_box(value, [0] * len(found), [n for _, n in found])


def _by_place(values: Sequence[ir.Value], spec: ShardSpec, mesh: Mesh) -> dict[tuple[int, ...], list[ir.Value]]:
    """What the devices hold, by which shard it is per dimension."""
    found: dict[tuple[int, ...], list[ir.Value]] = {}
    for device, value in enumerate(values):
        found.setdefault(tuple(mesh.index(device, d) for d in spec.dims), []).append(value)
    return found


def _assemble(shards: Mapping[tuple[int, ...], list[ir.Value]], counts: Sequence[int]) -> ir.Value:
    """The global tensor of `counts` shards per dimension, of each of which the first is taken."""

    def build(prefix: tuple[int, ...]) -> ir.Value:
        d = len(prefix)
        if d == len(counts):
            return shards[prefix][0]
        return concatenate([build((*prefix, i)) for i in range(counts[d])], d)

    return build(())
