"""The shard of every value that one device has while a function is lowered, and the layout that says which it is."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.layout import Mesh, ShardSpec, SpecError
from pcg.rules.registry import shape


class Shards:
    """`local` maps the values of a function to those of the program for one device, `specs` to their layouts."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.local: dict[ir.Value, ir.Value] = {}
        self.specs: dict[ir.Value, ShardSpec] = {}
        self._types: dict[tuple[ir.Type, ShardSpec], ir.Type] = {}

    def spec(self, value: ir.Value) -> ShardSpec:
        """Layout of a global value; one without any is replicated."""
        found = self.specs.get(value)
        if found is None:
            found = shardings.get(value) or ShardSpec.replicated(len(shape(value)))
            self.specs[value] = found
        return found

    def local_type(self, value: ir.Value) -> ir.Type:
        """Type of one device's shard.

        Raises:
          PcgError: the layout is not one of a value of its type.
        """
        type_, spec = value.type, self.spec(value)
        found = self._types.get((type_, spec))
        if found is None:
            found = type_
            if isinstance(type_, ir.RankedTensorType) and any(spec.dims):
                if spec.rank != type_.rank:
                    raise PcgError(f"layout {spec} is not one of a value of type {type_}", owner(value))
                try:
                    dims = spec.local_shape(type_.shape, self.mesh)
                except (SpecError, ValueError) as error:
                    raise PcgError(f"value of type {type_} has layout {spec}: {error}", owner(value)) from None
                found = ir.RankedTensorType.get(dims, type_.element_type)
            self._types[type_, spec] = found
        return found


def expect(op: ir.Operation, what: str, have: ShardSpec, want: ShardSpec) -> None:
    """Raise PcgError unless the layouts agree."""
    if have != want:
        raise PcgError(
            f"'{op.name}' op: {what} has layout {have}, {want} is needed; run dist-insert-reshards first", op
        )


def expect_replicated(op: ir.Operation, what: str, have: ShardSpec) -> None:
    """Raise PcgError unless the layout is that of a replicated value."""
    expect(op, what, have, ShardSpec.replicated(have.rank))


def local_attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    """The attributes of an op that stay: all but the layouts."""
    attrs = op.attributes
    return {n: attrs[n] for n in attrs if not n.startswith("dist.")}


def owner(value: ir.Value | ir.Block) -> ir.Operation:
    """The op that a value or a block belongs to."""
    found = value.owner
    return (found.owner if isinstance(found, ir.Block) else found).operation
