"""Which values of a function reach memory once a compiler has fused it.

XLA fuses element-wise chains into the ops that read them, so most values are never written. What costs memory
traffic is reading and writing the others: results of contractions, reductions, sorts, ..., arguments, loop carries,
what is returned, and values that several fusions need and that are too dear to compute in each. This is XLA's
instruction fusion in its main lines: ops are taken last to first; an op joins the fusion of its readers if they are
one; a cheap op is repeated in a few; anything else starts a fusion of its own. A fusion reads each of its inputs once.
"""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir.walk import walk

#: Ops that a compiler does not fuse with others: their operands are read, and their results written, in memory.
_ALONE = frozenset(
    f"stablehlo.{name}"
    for name in (
        "dot_general", "dot", "convolution", "sort", "scatter", "fft", "cholesky", "triangular_solve", "custom_call",
        "composite", "reduce_window", "select_and_scatter", "rng", "rng_bit_generator", "batch_norm_training",
        "batch_norm_inference", "batch_norm_grad", "dynamic_update_slice", "while", "if", "case", "return",
        "optimization_barrier", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute",
        "collective_broadcast", "infeed", "outfeed", "send", "recv",
    )
) | {"chlo.top_k", "func.return", "func.call", "dist.send", "dist.recv"}  # fmt: skip
#: Not repeated in several fusions.
_DEAR = frozenset(
    f"stablehlo.{name}"
    for name in (
        "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "tanh", "power", "sqrt", "rsqrt",
        "cbrt", "sine", "cosine", "tan", "atan2", "gather",
    )
)  # fmt: skip
#: What is computed element by element at next to no cost, or made from nothing.
CHEAP = frozenset(
    f"stablehlo.{name}"
    for name in (
        "constant", "iota", "broadcast_in_dim", "reshape", "convert", "transpose", "negate", "add", "subtract",
        "multiply", "maximum", "minimum", "abs", "sign", "and", "or", "xor", "not", "compare", "select", "clamp",
    )
)  # fmt: skip
#: The same bytes under another name.
_ALIASES = frozenset({"stablehlo.reshape", "dist.constraint", "dist.reshard"})
_MADE = frozenset({"stablehlo.constant", "stablehlo.iota"})
_CONTRACTIONS = frozenset({"stablehlo.dot_general", "stablehlo.dot"})
_WINDOWS = frozenset({"stablehlo.slice", "stablehlo.dynamic_slice", "stablehlo.gather"})
#: Operands that an op in place reads, and then writes.
_IN_PLACE = {"stablehlo.dynamic_update_slice": 1, "stablehlo.scatter": 2}
#: In how many fusions a cheap op is repeated at most.  Chosen: XLA asks a cost model instead, which allows few.
_REPEATS = 4


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
        self._written: set[ir.Value] = set()
        self._reads: dict[ir.Operation, tuple[frozenset[int], ...]] = {}
        ops = [op for op in walk(func) if op != func]
        for number, op in enumerate(reversed(ops)):
            if not self._alias(op):
                self._fusions[op] = self._place(op, number)
        seen: set[tuple[ir.Value, int]] = set()
        for op in ops:
            if op in self._fusions:
                self._reads[op] = tuple(self._count(op, i, seen) for i in range(len(op.operands)))

    @staticmethod
    def is_loop(op: ir.Operation) -> bool:
        """Whether a fusion that ends with `op` computes its elements one by one, in any order."""
        return op.name not in _ALONE and op.name != "stablehlo.reduce"

    def reads(self, op: ir.Operation, operand: int) -> int:
        """How often `op` makes a fusion read that operand; for slices and gathers, that much of it as they yield."""
        return len(self.inputs(op, operand)) + (self.reads_again(op) == operand)

    def inputs(self, op: ir.Operation, operand: int) -> frozenset[int]:
        """The kernels that read that operand from memory because of `op`; a kernel reads each of its inputs once."""
        found = self._reads.get(op)
        return found[operand] if found is not None else frozenset()

    @staticmethod
    def reads_again(op: ir.Operation) -> int | None:
        """The operand that an op in place reads, and then writes."""
        return _IN_PLACE.get(op.name)

    def kernels(self, op: ir.Operation) -> frozenset[int]:
        """The kernels that `op` is computed in, by numbers of their last ops; none for other names of a value."""
        return self._fusions.get(op, frozenset())

    def writes(self, op: ir.Operation, result: int) -> int:
        """Whether that result is written to memory."""
        return int(op.results[result] in self._written)

    # -- which fusion --------------------------------------------------------------------------

    def _alias(self, op: ir.Operation) -> bool:
        if op.name in _ALIASES:
            return True
        if op.name != "stablehlo.transpose":
            return False
        # Contractions read their operands in any order of dimensions, and write matrices either way round.
        readers = [use.owner.operation for use in op.results[0].uses]
        return all(r.name in _CONTRACTIONS or self._orderless(r) for r in readers) or self._turned(op)

    @staticmethod
    def _turned(op: ir.Operation) -> bool:
        value = op.operands[0]
        if isinstance(value.owner, ir.Block) or value.owner.operation.name not in _CONTRACTIONS:
            return False
        return value.type.rank == 2 and len(list(value.uses)) == 1

    def root(self, value: ir.Value) -> ir.Value:
        """The value that has these bytes under its own name."""
        while not isinstance(value.owner, ir.Block) and self._alias(value.owner.operation):
            value = value.owner.operation.operands[0]
        return value

    def source(self, op: ir.Operation, operand: int) -> ir.Value:
        """The value that `op` reads for that operand: the root of it, or of what it is the transpose of."""
        root = self.root(op.operands[operand])
        if not isinstance(root.owner, ir.Block) and root.owner.operation.name == "stablehlo.transpose":
            return self.root(root.owner.operation.operands[0]) if self._orderless(op) else root
        return root

    def _orderless(self, reader: ir.Operation) -> bool:
        """Whether an op reads its operands in whichever order they lie: a sum over all dimensions, of squares too."""
        if reader in self._closed:
            reader = next(iter(reader.results[0].uses)).owner.operation
        elif not self._bare or reader.name != "stablehlo.reduce":
            return False
        return len(ir.DenseI64ArrayAttr(reader.attributes["dimensions"])) == ir.RankedTensorType(
            reader.operands[0].type
        ).rank

    def _readers(self, value: ir.Value) -> list[ir.Operation]:
        found = []
        for use in value.uses:
            op = use.owner.operation
            if self._alias(op):
                found += self._readers(op.results[0])
                continue
            found.append(op)
            if op.name == "stablehlo.transpose":
                found += [r for r in self._readers(op.results[0]) if self._orderless(r)]
        return found

    def _place(self, op: ir.Operation, number: int) -> frozenset[int]:
        """The fusions that `op` is part of; `number` if it starts one."""
        own = frozenset({number})
        if op.name in _MADE:
            return own
        if op.name in _ALONE or op.name.startswith("pcg.") or len(op.regions) or len(op.results) != 1:
            self._written.update(op.results)
            return own
        into: set[int] = set()
        block = op.block
        for reader in self._readers(op.results[0]):
            if op.name == "stablehlo.transpose" and self._orderless(reader):
                continue
            if reader.name in _ALONE or reader not in self._fusions or reader.block != block:
                into.clear()
                break
            if self._refuses(reader, op):
                into.clear()
                break
            into |= self._fusions[reader]
        if not into or len(into) > (1 if self._dear(op) else _REPEATS):
            self._written.add(op.results[0])
            return own
        return frozenset(into)

    def _refuses(self, reader: ir.Operation, op: ir.Operation) -> bool:
        if not self._bare:
            return False
        if reader.name == "stablehlo.reduce" and op.name == "stablehlo.multiply" and len(list(op.results[0].uses)) == 1:
            self._closed.add(op)
            return False
        return reader.name == "stablehlo.reduce" or reader in self._closed

    @staticmethod
    def _dear(op: ir.Operation) -> bool:
        return op.name in _DEAR or op.name.startswith("chlo.")

    # -- reading -------------------------------------------------------------------------------

    def _count(self, op: ir.Operation, operand: int, seen: set[tuple[ir.Value, int]]) -> frozenset[int]:
        root = self.source(op, operand)
        if not isinstance(root.owner, ir.Block) and root not in self._written:
            return frozenset()
        fusions = self._fusions[op]
        if op.name in _WINDOWS and operand == 0:
            return fusions
        new = frozenset(f for f in fusions if (root, f) not in seen)
        seen.update((root, f) for f in new)
        return new
