"""Cloning operations for other operands, and whole modules."""

from __future__ import annotations

from collections.abc import Mapping

from torch_mlir import ir


def clone_mapped(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> ir.Operation:
    """Clone `op` at the insertion point, mapping its operands (and those of nested ops); extend `values`."""
    new = op.clone()
    remap(new, values)
    values.update(zip(op.results, new.results, strict=True))
    return new


def remap(op: ir.Operation, values: Mapping[ir.Value, ir.Value]) -> None:
    """Replace operands of `op`, and what its regions read, by what `values` has for them."""
    operands = op.operands
    for i, v in enumerate(operands):
        if v in values:
            operands[i] = values[v]
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                remap(inner.operation, values)


def clone_module(module: ir.Module | ir.Operation) -> ir.Module:
    """A module of its own with the same contents (a clone of the op alone has no module to ask for)."""
    op = module.operation
    with op.context:
        copy = ir.Module.create(op.location)
        for name in op.attributes:
            copy.operation.attributes[name] = op.attributes[name]
        for inner in op.regions[0].blocks[0].operations:
            copy.body.append(inner.operation.clone())
    return copy


def take_contents(module: ir.Operation, other: ir.Operation) -> None:
    """Make `module` the program of `other`, another module in its context, which is left empty."""
    block = module.regions[0].blocks[0]
    for op in [op.operation for op in block.operations]:
        op.erase()
    for op in [op.operation for op in other.regions[0].blocks[0].operations]:
        block.append(op)
