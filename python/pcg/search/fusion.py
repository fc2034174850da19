"""Which values of a function reach memory once a compiler has fused it.

XLA fuses element-wise chains into the ops that read them, so most values are never written. What costs memory
traffic is reading and writing the others: results of contractions, reductions, sorts, ..., arguments, loop carries,
what is returned, and values that several fusions need and that are too expensive to compute in each. This is XLA's
instruction fusion in its main lines: ops are taken last to first; an op joins the fusion of its readers if they are
one; a cheap op is repeated in a few; anything else starts a fusion of its own. A fusion reads each of its inputs once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torch_mlir import ir

from pcg.ir.walk import walk
from pcg.rules import traits
from pcg.rules.traits import Trait

#: In how many fusions a cheap op is repeated at most.  Chosen: XLA asks a cost model instead, which allows few.
_REPEATS = 4
_NONE = frozenset[int]()
#: What results of these are backed by follows from the op alone, not from fusion.
_OF_THEIR_OWN = Trait.GENERATOR | Trait.IN_PLACE | traits.ONCE


class _Kind(NamedTuple):
    """What fusion asks of an op by its name."""

    view: bool
    generator: bool
    unfusable: bool
    alone: bool
    expensive: bool
    window: bool

    @staticmethod
    def of(name: str) -> _Kind:
        unfusable = traits.has(name, Trait.UNFUSABLE)
        return _Kind(
            traits.has(name, Trait.VIEW), traits.has(name, Trait.GENERATOR), unfusable,
            unfusable or name.startswith("pcg."), traits.has(name, Trait.EXPENSIVE),
            traits.has(name, Trait.READS_WINDOW),
        )  # fmt: skip


class Fusion:
    """How often an op's operands are read from, and its results written to, memory.

    With `bare_reductions` nothing but a product is computed inside of a reduction, as on XLA's CPU backend; and one
    over all dimensions reads what is transposed as it lies, because it does not matter there.
    """

    def __init__(self, func: ir.Operation, *, bare_reductions: bool = False) -> None:
        self._bare = bare_reductions
        self._closed: set[ir.Operation] = set()
        """Ops that nothing joins: the products in bare reductions."""
        self._fusions: dict[ir.Operation, frozenset[int]] = {}
        self._joined: dict[ir.Operation, frozenset[int]] = {}
        """Those of ops that others may join."""
        self._written: set[ir.Value] = set()
        self._reads: dict[ir.Operation, tuple[frozenset[int], ...]] = {}
        self._aliases: set[ir.Operation] = set()
        self._roots: dict[ir.Value, ir.Value] = {}
        """Of the results of aliases."""
        self._kinds: dict[str, _Kind] = {}
        _, *ops = walk(func)
        for number, op in enumerate(reversed(ops)):
            kind = self._kind(op.name)
            if kind.view or self._is_alias(op):
                self._aliases.add(op)
                continue
            self._fusions[op] = placed = self._place(op, kind, number)
            if not kind.unfusable:
                self._joined[op] = placed
        seen: dict[ir.Value, set[int]] = {}
        for op in ops:
            if (fusions := self._fusions.get(op)) is None:
                self._roots[op.results[0]] = self.root(op.operands[0])
            else:
                self._reads[op] = tuple(self._inputs(op, fusions, seen))

    @staticmethod
    def is_loop(op: ir.Operation) -> bool:
        """Whether a fusion that ends with `op` computes its elements one by one, in any order."""
        return not traits.has(op.name, Trait.UNFUSABLE) and op.name != "stablehlo.reduce"

    def reads(self, op: ir.Operation, operand: int) -> int:
        """How often `op` makes a fusion read that operand; for slices and gathers, that much of it as they yield."""
        return len(self.inputs(op, operand)) + (self.reads_again(op) == operand)

    def all_reads(self, op: ir.Operation) -> list[int]:
        """`reads` of all operands of an op that reads none again."""
        found = self._reads.get(op)
        return [0] * len(op.operands) if found is None else [len(kernels) for kernels in found]

    def inputs(self, op: ir.Operation, operand: int) -> frozenset[int]:
        """The kernels that read that operand from memory because of `op`; a kernel reads each of its inputs once."""
        found = self._reads.get(op)
        return found[operand] if found is not None else frozenset()

    @staticmethod
    def reads_again(op: ir.Operation) -> int | None:
        """The operand that an op in place reads, and then writes."""
        return traits.reads(op.name)[-1] if traits.has(op.name, Trait.UPDATE) else None

    def kernels(self, op: ir.Operation) -> frozenset[int]:
        """The kernels that `op` is computed in, by numbers of their last ops; none for other names of a value."""
        return self._fusions.get(op, frozenset())

    def is_written(self, result: ir.Value) -> bool:
        """Whether a result is written to memory."""
        return result in self._written

    def backing(self, op: ir.Operation) -> Sequence[ir.Value] | None:
        """What must be alive for the result of `op` to be read; None where results have memory of their own.

        Nothing, for a generator; what is computed inside of kernels needs what these read.
        """
        name = op.name
        if traits.has(name, _OF_THEIR_OWN):
            if traits.has(name, Trait.GENERATOR):
                return ()
            return op.operands[:1] if traits.has(name, Trait.IN_PLACE) else None
        operands = list(op.operands)
        return None if not operands or len(op.results) != 1 or self.is_written(op.results[0]) else operands

    # -- which fusion --------------------------------------------------------------------------

    def _kind(self, name: str) -> _Kind:
        found = self._kinds.get(name)
        if found is None:
            found = self._kinds[name] = _Kind.of(name)
        return found

    def _is_alias(self, op: ir.Operation) -> bool:
        """Whether a transpose, as views always, is another name of a value."""
        if op.name != "stablehlo.transpose":
            return False
        # Contractions read their operands in any order of dimensions, and write matrices either way round.
        readers = [use.owner.operation for use in op.results[0].uses]
        return all(traits.has(r.name, Trait.MATMUL) or self._orderless(r) for r in readers) or self._of_product(op)

    @staticmethod
    def _of_product(op: ir.Operation) -> bool:
        """Whether a transpose is the only reader of a matrix product."""
        value = op.operands[0]
        if isinstance(value.owner, ir.Block) or not traits.has(value.owner.operation.name, Trait.MATMUL):
            return False
        return value.type.rank == 2 and len(list(value.uses)) == 1

    def root(self, value: ir.Value) -> ir.Value:
        """The value that has these bytes under its own name."""
        return self._roots.get(value, value)

    def source(self, op: ir.Operation, operand: int) -> ir.Value:
        """The value that `op` reads for that operand: the root of it, or of what it is the transpose of."""
        return self._source(op, op.operands[operand])

    def _source(self, op: ir.Operation, value: ir.Value) -> ir.Value:
        root = self.root(value)
        if not self._bare or isinstance(root, ir.BlockArgument):
            return root
        transpose = root.owner.operation
        if transpose.name != "stablehlo.transpose" or not self._orderless(op):
            return root
        return self.root(transpose.operands[0])

    def _orderless(self, reader: ir.Operation) -> bool:
        """Whether an op reads its operands in whichever order they lie: a sum over all dimensions, of squares too."""
        if not self._bare:
            return False
        if reader in self._closed:
            reader = next(iter(reader.results[0].uses)).owner.operation
        elif reader.name != "stablehlo.reduce":
            return False
        return len(ir.DenseI64ArrayAttr(reader.attributes["dimensions"])) == ir.RankedTensorType(
            reader.operands[0].type
        ).rank

    def _readers(self, value: ir.Value) -> list[ir.Operation]:
        found = []
        for use in value.uses:
            op = use.owner.operation
            if op in self._aliases:
                found += self._readers(op.results[0])
                continue
            found.append(op)
            if self._bare and op.name == "stablehlo.transpose":
                found += [r for r in self._readers(op.results[0]) if self._orderless(r)]
        return found

    def _place(self, op: ir.Operation, kind: _Kind, number: int) -> frozenset[int]:
        """The fusions that `op` is part of; `number` if it starts one."""
        own = frozenset({number})
        if kind.generator:
            return own
        results = op.results
        if kind.alone or len(results) != 1 or len(op.regions):
            self._written.update(results)
            return own
        result = results[0]
        into: set[int] = set()
        block = op.block
        for reader in self._readers(result):
            if op.name == "stablehlo.transpose" and self._orderless(reader):
                continue
            theirs = self._joined.get(reader)
            if theirs is None or reader.block != block or self._refuses(reader, op):
                into.clear()
                break
            into |= theirs
        if not into or len(into) > (1 if kind.expensive else _REPEATS):
            self._written.add(result)
            return own
        return frozenset(into)

    def _refuses(self, reader: ir.Operation, op: ir.Operation) -> bool:
        """Whether a bare reduction, or the product in one, computes nothing else."""
        if not self._bare:
            return False
        if reader.name == "stablehlo.reduce" and op.name == "stablehlo.multiply" and len(list(op.results[0].uses)) == 1:
            self._closed.add(op)
            return False
        return reader.name == "stablehlo.reduce" or reader in self._closed

    # -- reading -------------------------------------------------------------------------------

    def _inputs(
        self, op: ir.Operation, fusions: frozenset[int], seen: dict[ir.Value, set[int]]
    ) -> Iterator[frozenset[int]]:
        """`inputs` per operand; `seen` are the kernels that read a value already."""
        window = self._kind(op.name).window
        for i, value in enumerate(op.operands):
            root = self._source(op, value)
            if root not in self._written and not isinstance(root, ir.BlockArgument):
                yield _NONE
            elif window and i == 0:
                yield fusions
            elif (before := seen.get(root)) is None:
                seen[root] = set(fusions)
                yield fusions
            else:
                yield fusions - before
                before |= fusions
