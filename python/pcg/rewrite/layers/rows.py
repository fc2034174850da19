"""Which values of a program are computed layer by layer: the factor rules on a mesh whose one axis is the layers.

A stacked tensor has its layers in dimension 0, and is split along it; what a rule can split over devices in that manner
it can split over layers.  A reduction over the layers is a partial value, whose terms are added up at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir.types import tensor_bytes
from pcg.ir.walk import defining_op, outer_values
from pcg.layout import Mesh, ShardSpec
from pcg.rules import rule_for, traits
from pcg.rules.factor import Assignment
from pcg.rules.regions import REDUCERS
from pcg.rules.registry import shape
from pcg.rules.traits import Trait

#: The axis of layers.
LAYERS = "layer"
#: Ops between a generated value and the constants that it is generated from, at most.  A choice: broadcasts of scalars.
_DEPTH = 8


def layers_read(op: ir.Operation, count: int) -> int | None:
    """The layer, of `count`, that a slice reads of its operand; None if it reads several, or is no slice."""
    if op.name != "stablehlo.slice" or any(n != 1 for n in op.attributes["strides"]):
        return None
    size = op.operands[0].type.shape[0] // count
    start, limit = op.attributes["start_indices"][0], op.attributes["limit_indices"][0]
    return start // size if limit > start and start // size == (limit - 1) // size else None


@dataclass
class Family:
    """Stacked values that are computed of each other: parameters, their gradients and moments."""

    arguments: dict[ir.Value, None] = field(default_factory=dict)
    is_read_by_layer: bool = False
    """Whether a slice reads one layer of one of them."""
    obstacles: list[tuple[ir.Value, ir.Operation]] = field(default_factory=list)
    """Arguments that an op reads as a tensor."""

    @property
    def is_unstacked(self) -> bool:
        return bool(self.arguments) and self.is_read_by_layer and not self.obstacles

    def add(self, other: Family) -> None:
        self.arguments.update(other.arguments)
        self.is_read_by_layer |= other.is_read_by_layer
        self.obstacles += other.obstacles


@dataclass
class Layers:
    """The values of `func` that have a row for each of `count` layers.

    Args:
      func: whose block is looked at.
      count: the layers.
      state: result -> argument that it is the next value of; of arguments with `count` rows.
    """

    func: ir.Operation
    count: int
    state: Mapping[int, int]
    _chosen: dict[ir.Value, Assignment] = field(default_factory=dict)
    """By its first result, as the hash of an op changes with its operands: the strategy of each op that is computed
    layer by layer."""
    concatenated: set[ir.Value] = field(default_factory=set)
    """Values that are concatenations of their layers."""
    read_as_tensors: set[ir.Value] = field(default_factory=set)
    """Values computed layer by layer that another op reads as a tensor."""
    _family: dict[ir.Value, ir.Value] = field(default_factory=dict)
    """Value with a row for each layer -> another one of its family; union-find."""
    families: dict[ir.Value, Family] = field(default_factory=dict)
    """By their representatives."""

    def __post_init__(self) -> None:
        self.mesh = Mesh.of({LAYERS: self.count})
        block = self.func.regions[0].blocks[0]
        for i in self.state.values():
            self._add(block.arguments[i], Family({block.arguments[i]: None}))
        *ops, last = [o.operation for o in block.operations]
        for op in ops:
            self._visit(op)
        self._return(last)

    # -- queries -------------------------------------------------------------------------------

    def family(self, value: ir.Value) -> Family | None:
        """The family of a value; None if it is not computed layer by layer."""
        return self.families[self._root(value)] if value in self._family else None

    def is_unstacked(self, value: ir.Value) -> bool:
        family = self.family(value)
        return family is not None and family.is_unstacked

    def strategy(self, op: ir.Operation) -> Assignment | None:
        """How an op is computed layer by layer; None if it is not."""
        found = self._chosen.get(op.results[0]) if len(op.results) else None
        return found if found is not None and any(map(self.is_unstacked, op.operands)) else None

    def split(self, value: ir.Value) -> ShardSpec:
        """The layout of a value of which every layer has its rows."""
        return ShardSpec.replicated(len(shape(value))).with_dim(0, [LAYERS])

    def generation(self, value: ir.Value, depth: int = _DEPTH) -> Assignment | None:
        """The strategy that computes a layer of a generated or broadcast value; None if a layer of it is sliced."""
        op = defining_op(value)
        if op is None or not depth or len(op.results) != 1 or len(op.regions) or value in self._family:
            return None
        if op.operands and not traits.has(op.name, Trait.SPREADS | Trait.PROPAGATES_GENERATOR):
            return None
        rule = rule_for(op)
        for a in rule.strategies(self.mesh):
            wanted = [rule.operand_spec(i, a) for i in range(len(op.operands))]
            if rule.result_spec(0, a) == self.split(value) and all(
                w.is_replicated or (w == self.split(v) and self.generation(v, depth - 1) is not None)
                for v, w in zip(op.operands, wanted, strict=True)
            ):
                return a
        return None

    # -- families ------------------------------------------------------------------------------

    def _root(self, value: ir.Value) -> ir.Value:
        while (parent := self._family[value]) != value:
            self._family[value] = value = self._family[parent]
        return value

    def _add(self, value: ir.Value, family: Family) -> None:
        self._family[value] = value
        self.families[value] = family

    def _join(self, values: Iterable[ir.Value]) -> None:
        first, *rest = map(self._root, values)
        for other in rest:
            if (other := self._root(other)) != (first := self._root(first)):
                self._family[other] = first
                self.families[first].add(self.families.pop(other))

    # -- ops -----------------------------------------------------------------------------------

    def _visit(self, op: ir.Operation) -> None:
        read = [v for v in outer_values(op) if v in self._family]
        if not read:
            if self._is_concatenation(op):
                self.concatenated.add(op.results[0])
                self._add(op.results[0], Family())
            return
        if layers_read(op, self.count) is not None:
            self.families[self._root(read[0])].is_read_by_layer = True
            return
        found = self._strategy(op) if set(read) <= {*op.operands} else None
        if found is None:
            for v in read:
                self._reads_tensor(v, op)
            return
        self._chosen[op.results[0]] = found
        rule = rule_for(op)
        split = [r for i, r in enumerate(op.results) if not rule.result_spec(i, found).partial]
        for r in split:
            self._add(r, Family())
        self._join([*read, *split])

    def _is_concatenation(self, op: ir.Operation) -> bool:
        if op.name != "stablehlo.concatenate" or len(op.operands) != self.count:
            return False
        return op.attributes["dimension"].value == 0 and len({v.type for v in op.operands}) == 1

    def _reads_tensor(self, value: ir.Value, op: ir.Operation) -> None:
        if isinstance(value, ir.BlockArgument):
            self.families[self._root(value)].obstacles.append((value, op))
        elif value not in self.concatenated:
            self.read_as_tensors.add(value)

    def _return(self, op: ir.Operation) -> None:
        arguments = self.func.regions[0].blocks[0].arguments
        for i, v in enumerate(op.operands):
            if i not in self.state:
                if v in self._family:
                    self._reads_tensor(v, op)
            elif v in self._family:
                self._join([arguments[self.state[i]], v])
            else:
                argument = arguments[self.state[i]]
                self.families[self._root(argument)].obstacles.append((argument, defining_op(v) or op))

    def _strategy(self, op: ir.Operation) -> Assignment | None:
        """The strategy that computes an op layer by layer from what is split, and that slices the least."""
        rule = rule_for(op)
        best: tuple[float, Assignment] | None = None
        for a in rule.strategies(self.mesh):
            if not a.used or a.linear or any(a.axes[e.factor] for e in rule.exchanges):
                continue
            cost = 0.0
            for i, v in enumerate(op.operands):
                want = rule.operand_spec(i, a)
                if want.is_replicated:
                    cost = math.inf if v in self._family else cost
                elif want != self.split(v):
                    cost = math.inf
                elif v not in self._family and self.generation(v) is None:
                    cost += 1.0 + tensor_bytes(v.type)
            specs = [rule.result_spec(i, a) for i in range(len(op.results))]
            fine = all(
                s == self.split(r) or (not any(s.dims) and s.partial and s.partial[0][1] in REDUCERS)
                for r, s in zip(op.results, specs, strict=True)
            )
            if fine and cost < (math.inf if best is None else best[0]):
                best = cost, a
        return None if best is None else best[1]
