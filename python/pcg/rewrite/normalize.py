"""Programs in the form that propagation and search work on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import emit, shardings
from pcg.ir.inline import Inliner
from pcg.ir.pad_forms import as_pad
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import defining_op, functions, is_private, walk
from pcg.lower.local_collectives import alone
from pcg.rules import traits
from pcg.rules.collectives import NAMES, check_replicas, is_plain, why_refused
from pcg.rules.custom_call import has_side_effect
from pcg.rules.manual import manual_bodies
from pcg.rules.registry import TERMINATORS
from pcg.rules.traits import Trait

_COLLECTIVES = frozenset(NAMES)


@dataclass
class Normalize(Transformation):
    """Bring a program into the form that propagation and search work on."""

    max_constant: int = option(65536, "Largest number of elements of a constant that is copied per use.")

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError for recursive calls, calls of functions without a body, and collectives."""
        module = module.operation
        check_replicas(module)
        inliner = Inliner(module)
        inliner.run()
        self.statistics["inlined calls"] += inliner.inlined
        self._remove_functions(module)
        per_device = manual_bodies(module)
        for func in functions(module):
            ops = list(walk(func))
            if ir.StringAttr(func.attributes["sym_name"]).value not in per_device and self._collectives(ops):
                ops = list(walk(func))
            if self._fold(ops):
                ops = list(walk(func))
            self._clean(ops[:0:-1])
        self._remove_functions(module)  # bodies of manual computations that no op runs

    def _remove_functions(self, module: ir.Operation) -> None:
        """Remove private functions that nothing refers to; keep all if none is public."""
        found = functions(module)
        named = {ir.StringAttr(f.attributes["sym_name"]).value: f for f in found}
        work = [f for f in found if not is_private(f)] or found
        kept = {ir.StringAttr(f.attributes["sym_name"]).value for f in work}
        while work and len(kept) < len(named):
            for op in walk(work.pop()):
                for symbol in _symbols(op):
                    if symbol in named and symbol not in kept:
                        kept.add(symbol)
                        work.append(named[symbol])
        for symbol, func in named.items():
            if symbol not in kept:
                func.erase()
                self.statistics["functions removed"] += 1

    def _collectives(self, ops: list[ir.Operation]) -> bool:
        """Remove the collectives that a program for one device has; whether there were any."""
        found = False
        for op in [o for o in ops if o.name in _COLLECTIVES]:
            if not is_plain(op) and not why_refused(op) or _is_manual(op):
                continue
            with ir.InsertionPoint(op):
                values = alone(op, list(op.operands), [r.type for r in op.results])
            for result, value in zip(op.results, values, strict=True):
                result.replace_all_uses_with(value)
            op.erase()
            found = True
            self.statistics["collectives removed"] += 1
        return found

    def _fold(self, ops: list[ir.Operation]) -> bool:
        """Remove ops that return an operand or a constant, and joins of what was split; whether there were any."""
        found = False
        for op in ops:
            if _is_identity(op):
                value, what = op.operands[0], "ops folded"
            elif (value := _as_splat(op)) is not None:
                what = "ops folded"
            elif (value := as_pad(op)) is not None:
                what = "ops joined"
            else:
                continue
            op.results[0].replace_all_uses_with(value)
            op.erase()
            found = True
            self.statistics[what] += 1
        return found

    def _clean(self, ops: list[ir.Operation]) -> None:
        """Users first: remove dead ops, and give each use of a free value its own copy."""
        for op in ops:  # nested ops come before the op they are in, so erasing one leaves no handle behind
            users = [use for r in op.results for use in r.uses]
            if not users:
                if _is_pure(op):
                    op.erase()
                    self.statistics["dead ops"] += 1
                continue
            if self._is_free(op):
                self._spread(op, users)

    def _is_free(self, op: ir.Operation, depth: int = 0) -> bool:
        """Whether an op costs nothing to run once per use: a constant, an iota, or a broadcast of one."""
        name = op.name
        if name == "stablehlo.iota":
            return True
        if name == "stablehlo.constant":
            type_ = op.results[0].type
            if not type_.has_static_shape or math.prod(type_.shape) <= self.max_constant:
                return True
            # The bindings cannot read the value attribute of a complex constant.
            if isinstance(type_.element_type, ir.ComplexType):
                return False
            return getattr(op.attributes["value"], "is_splat", False)
        if not traits.has(name, Trait.SPREADS) or depth > 4 or shardings.SPECS in op.attributes:
            return False
        source = defining_op(op.operands[0])
        return source is not None and self._is_free(source, depth + 1)

    def _spread(self, op: ir.Operation, users: list) -> None:
        """The op stays with its first use (in that use's block); every other use gets a copy next to it."""
        own = None
        for use in reversed(users):  # MLIR lists the latest use first
            user = use.owner.operation
            if user.block != op.block and own is None:
                op.move_before(user)
            if own is None:
                own = use
                continue
            with ir.InsertionPoint(user):
                copy = op.clone()
            user.operands[use.operand_number] = copy.results[0]
            self.statistics["copies"] += 1


def _is_manual(op: ir.Operation) -> bool:
    """Whether an op is inside of a manual computation that sdy-import has not turned into a function."""
    while (parent := op.parent) is not None:
        op = parent.operation
        if op.name == "sdy.manual_computation":
            return True
    return False


def _is_identity(op: ir.Operation) -> bool:
    """Whether an op returns its operand."""
    name = op.name
    if name in ("stablehlo.convert", "stablehlo.reshape"):
        return op.operands[0].type == op.results[0].type
    if name in ("stablehlo.transpose", "stablehlo.broadcast_in_dim"):
        if op.operands[0].type != op.results[0].type:
            return False
        dims = op.attributes["permutation" if name == "stablehlo.transpose" else "broadcast_dimensions"]
        return list(dims) == list(range(len(dims)))
    return False


def _as_splat(op: ir.Operation) -> ir.Value | None:
    """For a broadcast of one number, that the program text has, a constant of its type.

    Not where its elements are written to memory, for readers that are not fused with what they read, nor where it or
    the number has an annotation of any kind: that would be lost.
    """
    if op.name != "stablehlo.broadcast_in_dim" or len(op.attributes) > 1:
        return None
    if any(traits.has(use.owner.name, Trait.UNFUSABLE) for use in op.results[0].uses):
        return None
    source, type_ = defining_op(op.operands[0]), op.results[0].type
    if source is None or source.name != "stablehlo.constant" or len(source.attributes) > 1:
        return None
    # The bindings cannot read the value attribute of a complex constant.
    if isinstance(type_.element_type, ir.ComplexType) or not type_.has_static_shape:
        return None
    value = source.attributes["value"]
    if not isinstance(value, ir.DenseElementsAttr) or not value.is_splat:
        return None
    splat = ir.DenseElementsAttr.get_splat(type_, value.get_splat_value())
    with ir.InsertionPoint(op), op.location:
        return emit.create("stablehlo.constant", [], type_, value=splat)


def erase_unused(block: ir.Block) -> None:
    """Erase the ops of a block whose results nothing reads, and that do nothing else."""
    for op in [o.operation for o in block.operations][::-1]:
        if _is_pure(op) and not any(list(r.uses) for r in op.results):
            op.erase()


def _is_pure(op: ir.Operation) -> bool:
    name = op.name
    if name in TERMINATORS or name == "dist.mesh" or traits.has(name, Trait.HOST_IO):
        return False
    if not name.startswith(("stablehlo.", "chlo.", "dist.", "pcg.")):
        return False
    if has_side_effect(op):
        return False
    blocks = [block for region in op.regions for block in region.blocks]
    return all(_is_pure(inner.operation) for block in blocks for inner in list(block.operations)[:-1])


def _symbols(op: ir.Operation) -> list[str]:
    """Functions an op refers to."""
    attrs = op.attributes
    if op.name == "func.call":
        return [ir.FlatSymbolRefAttr(attrs["callee"]).value]
    if op.name == "stablehlo.composite":
        return [ir.FlatSymbolRefAttr(attrs["decomposition"]).value]
    if op.name == "stablehlo.custom_call" and "called_computations" in attrs:
        return [ir.FlatSymbolRefAttr(a).value for a in attrs["called_computations"]]
    return []
