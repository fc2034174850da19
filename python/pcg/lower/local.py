"""Local forms: what one device executes of an op under an assignment.

The default local form is the same op on local shapes.  An op for which that is not right (its
attributes hold sizes, or it needs to know where its shard starts) registers a function here, in
`lower/local_<family>.py`, mirroring `rules/<family>.py`.
"""

from __future__ import annotations

import abc
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.clone import clone_mapped
from pcg.ir.emit import create, tensor
from pcg.ir.types import number_attr
from pcg.layout import Mesh
from pcg.layout.uneven import blocks, is_even
from pcg.lower.collectives import CollectiveBuilder, per_device
from pcg.lower.neutral import neutral
from pcg.lower.shards import local_attributes
from pcg.rules.blocks import counts_of
from pcg.rules.factor import Assignment, FactorRule

LocalForm = Callable[["LocalContext"], Sequence[ir.Value]]
_FORMS: dict[str, LocalForm] = {}


def local_form(*names: str) -> Callable[[LocalForm], LocalForm]:
    """Register the local form of ops `names`."""

    def register(function: LocalForm) -> LocalForm:
        for name in names:
            if name in _FORMS:
                raise ValueError(f"op {name!r} has two local forms")
            _FORMS[name] = function
        return function

    return register


@cache
def _load() -> None:
    package = importlib.import_module("pcg.lower")
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("local_"):
            importlib.import_module(f"pcg.lower.{module.name}")


@dataclass
class LocalContext(abc.ABC):
    """What a local form may use, whatever the parts are that an op is split into.

    New ops go to the current insertion point and location, which is that of `op`.

    `op` is the global op (never mutate it), `operands` its local operands, `result_types` the local result types.
    """

    op: ir.Operation
    operands: list[ir.Value]
    result_types: list[ir.Type]
    rule: FactorRule
    assignment: Assignment

    # -- the parts -----------------------------------------------------------------------------

    @property
    @abc.abstractmethod
    def mesh(self) -> Mesh:
        """The devices that have the parts, for a form in which they exchange something."""

    @property
    @abc.abstractmethod
    def collectives(self) -> CollectiveBuilder:
        """The collectives by which they do."""

    @abc.abstractmethod
    def counts(self, axes: Sequence[str]) -> tuple[int, ...]:
        """Into how many parts each of `axes` splits."""

    @abc.abstractmethod
    def parts(self, factor: int) -> int:
        """Into how many parts `factor` is split."""

    @abc.abstractmethod
    def per_device(self, numbers: Sequence[int], element: ir.Type | None = None) -> ir.Value:
        """0-d tensor: where part p is, `numbers[p]`; i32 unless `element`."""

    @abc.abstractmethod
    def axis_index(self, axes: Sequence[str], element: ir.Type | None = None) -> ir.Value:
        """0-d tensor: linear index of the part along `axes` (major to minor); i32 unless `element`."""

    @abc.abstractmethod
    def blocks(self, factor: int) -> tuple[tuple[int, int], ...]:
        """(first global index, elements without padding) of every part of `factor`."""

    @abc.abstractmethod
    def padded(self, factor: int) -> bool:
        """Whether some parts of `factor` have padding."""

    def axes_of(self, factor: int) -> tuple[str, ...]:
        """Axes assigned to `factor`."""
        return self.assignment.axes[factor]

    def shard_start(self, factor: int, element: ir.Type | None = None) -> ir.Value:
        """0-d tensor: global index at which this part of `factor` starts."""
        return self.per_device([start for start, _ in self.blocks(factor)], element)

    def shard_length(self, factor: int, element: ir.Type | None = None) -> ir.Value:
        """0-d tensor: how many elements of this part of `factor` are not padding."""
        return self.per_device([length for _, length in self.blocks(factor)], element)

    def is_at(self, axes: Sequence[str], place: int) -> ir.Value:
        """0-d i1: whether this part is number `place` along `axes`."""
        index = self.axis_index(axes)
        return emit.compare(index, self.constant(place, index.type), "EQ")

    # -- ops -----------------------------------------------------------------------------------

    def same_op(self, operands: Sequence[ir.Value] | None = None, **attributes: ir.Attribute) -> list[ir.Value]:
        """The same op on local operands, with `attributes` replaced; regions are cloned."""
        return clone_local(self.op, self.operands if operands is None else operands, self.result_types, attributes)

    def constant(self, value: Any, type_: ir.RankedTensorType) -> ir.Value:
        """A splat constant of `type_` (its element type decides how `value` is written)."""
        element = type_.element_type
        if isinstance(element, ir.ComplexType):  # the bindings have no attribute of complex numbers
            real = self.constant(value, tensor(type_.shape, element.element_type))
            return create("stablehlo.convert", [real], type_)
        dense = ir.DenseElementsAttr.get_splat(type_, number_attr(value, element))
        return create("stablehlo.constant", [], type_, value=dense)


@dataclass
class MeshContext(LocalContext):
    """The parts are shards on the devices of a mesh: position p of the mesh has part p."""

    devices: CollectiveBuilder

    @property
    def mesh(self) -> Mesh:
        """The mesh of the devices."""
        return self.devices.mesh

    @property
    def collectives(self) -> CollectiveBuilder:
        """The collectives of the function that is lowered."""
        return self.devices

    def counts(self, axes: Sequence[str]) -> tuple[int, ...]:
        return counts_of(axes, self.mesh)

    def parts(self, factor: int) -> int:
        return self.mesh.axes_size(self.axes_of(factor))

    def per_device(self, numbers: Sequence[int], element: ir.Type | None = None) -> ir.Value:
        number = per_device(numbers)
        return number if element is None else emit.convert(number, element)

    def axis_index(self, axes: Sequence[str], element: ir.Type | None = None) -> ir.Value:
        return self.per_device([self.mesh.index(p, axes) for p in range(self.mesh.size)], element)

    def blocks(self, factor: int) -> tuple[tuple[int, int], ...]:
        return blocks(self.rule.factors[factor].size, self.axes_of(factor), self.mesh)

    def padded(self, factor: int) -> bool:
        return not is_even(self.rule.factors[factor].size, self.counts(self.axes_of(factor)))

    def mask_padding(self) -> None:
        """Replace the padding of operands by the neutral element where it could reach a result."""
        kinds = {
            f: self.rule.factors[f].padding
            for f, axes in enumerate(self.assignment.axes)
            if axes and self.rule.factors[f].padding not in ("", "any", "own") and self.padded(f)
        }
        for i, dims in enumerate(self.rule.operands) if kinds else ():
            for d, dim in enumerate(dims):
                for f in dim:
                    if f in kinds:
                        self.operands[i] = self._masked(self.operands[i], d, f, kinds[f])

    def _masked(self, value: ir.Value, d: int, factor: int, kind: str) -> ir.Value:
        row = tensor([value.type.shape[d]], ir.IntegerType.get_signless(32))
        is_real = emit.compare(emit.iota(row, 0), emit.broadcast(self.shard_length(factor), row), "LT")
        mask = emit.broadcast(is_real, tensor(value.type.shape, is_real.type.element_type), [d])
        return emit.select(mask, value, emit.broadcast(neutral(value.type.element_type, kind), value.type))


def clone_local(
    op: ir.Operation, operands: Sequence[ir.Value], result_types: Sequence[ir.Type], attributes: dict[str, ir.Attribute]
) -> list[ir.Value]:
    """`op` again with other operands, result types and attributes; sharding attributes are dropped."""
    count = len(op.regions)
    new = ir.Operation.create(
        op.name, results=list(result_types), operands=list(operands), attributes=local_attributes(op) | attributes,
        regions=count, loc=op.location,
    )
    for old_region, new_region in zip(op.regions, new.regions, strict=True) if count else ():
        for block in old_region.blocks:
            clone_block(block, new_region)
    return list(new.results)


def clone_block(block: ir.Block, region: ir.Region) -> None:
    """Append a copy of a block, which uses nothing from outside, to a region."""
    copy = region.blocks.append(*[a.type for a in block.arguments])
    values = dict(zip(block.arguments, copy.arguments, strict=True))
    with ir.InsertionPoint(copy):
        for op in block.operations:
            clone_mapped(op.operation, values)


def local_forms() -> frozenset[str]:
    """Names of the ops that have a local form of their own."""
    _load()
    return frozenset(_FORMS)


def local_form_of(op: ir.Operation) -> LocalForm:
    """The registered local form of `op`, or the default: the same op on local shapes."""
    _load()
    return _FORMS.get(op.name, LocalContext.same_op)
