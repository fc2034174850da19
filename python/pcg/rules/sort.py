"""Rules of sort and top_k: every dimension is a factor; along the sorted one devices exchange elements."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir.types import element_bytes
from pcg.ir.walk import walk
from pcg.rules.blocks import other_dims
from pcg.rules.build import Factors
from pcg.rules.distributed_sort import SortExchange, sort_flops
from pcg.rules.factor import DimFactors, Exchange, FactorRule
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait
from pcg.rules.values import optional

_READS = "its comparator reads values from outside, which devices may hold in parts"
#: Dialects whose ops are the identity on their operand.
_IDENTITIES = ("dist.", "pcg.")


@dataclass(frozen=True)
class Ties:
    """How equal keys are told apart when elements of several devices are compared.

    `index` is the type of an index that has to travel along; None when operand `operand` is the position of an element
    (counted from the end if `reverse`), or when `operand` is -1 and equal keys are equal bits.
    """

    index: ir.IntegerType | None = None
    operand: int = -1
    reverse: bool = False


def sorted_dimension(op: ir.Operation) -> int:
    """The dimension that a sort is along, counted from the first."""
    return optional(op, "dimension", -1) % max(len(shape(op.operands[0])), 1)


def ties(op: ir.Operation) -> Ties:
    """How the sort `op` tells equal keys apart: what stands first stays first, whether or not the op asks for that."""
    d = sorted_dimension(op)
    if len(op.operands) == 1 and _compares_bits(op):
        return Ties()
    for i, value in enumerate(op.operands):
        if (reverse := _position(value, d)) is not None:
            return Ties(None, i, reverse)
    size = shape(op.operands[0])[d]
    return Ties(ir.IntegerType.get_unsigned(next(w for w in (16, 32, 64) if size <= 1 << w), op.context))


def _compares_bits(op: ir.Operation) -> bool:
    """Whether the comparator is `<` or `>` of the two elements themselves, in an order that tells all bits apart."""
    block = op.regions[0].blocks[0]
    inner = [o.operation for o in block.operations]
    if len(inner) != 2 or inner[0].name != "stablehlo.compare" or inner[1].operands[0] != inner[0].results[0]:
        return False
    if {inner[0].operands[0], inner[0].operands[1]} != set(block.arguments):
        return False
    element = op.operands[0].type.element_type
    attributes = inner[0].attributes
    total = "compare_type" in attributes and "TOTALORDER" in str(attributes["compare_type"])
    direction = str(attributes["comparison_direction"])
    return (isinstance(element, ir.IntegerType) or total) and ("LT" in direction or "GT" in direction)


def _position(value: ir.Value, d: int) -> bool | None:
    """Whether `value` counts dimension `d` from its end; None if it does not count it."""
    reverse = False
    while not isinstance(value, ir.BlockArgument):
        op = value.owner.operation
        if op.name == "stablehlo.iota":
            element = value.type.element_type
            room = element.width - (not element.is_unsigned) if isinstance(element, ir.IntegerType) else 0
            counts = optional(op, "iota_dimension", -1) == d and shape(value)[d] <= 1 << room
            return reverse if counts else None
        if op.name == "stablehlo.reverse" and list(op.attributes["dimensions"]) == [d]:
            reverse = not reverse
        elif not op.name.startswith(_IDENTITIES) or len(op.operands) != 1:
            return None
        value = op.operands[0]
    return None


def _closed(op: ir.Operation) -> bool:
    """Whether the comparator reads nothing but its arguments and what it computes."""
    inside = [o for o in walk(op) if o != op]
    defined = {r for o in inside for r in o.results}
    defined |= {a for o in (op, *inside) for region in o.regions for block in region.blocks for a in block.arguments}
    return all(v in defined for o in inside for v in o.operands)


@rule(
    "stablehlo.sort",
    traits=Trait.ANCHOR | Trait.UNFUSABLE | Trait.NONLOCAL | Trait.WORK_IN_ATTRIBUTES | Trait.KEEPS_INTEGERS,
)
def sort(op: ir.Operation) -> FactorRule:
    sizes = shape(op.operands[0])
    count = len(op.results)
    f = Factors()
    if not sizes:
        return f.rule([()] * count, [()] * count, flops=float(count))
    along, closed = sorted_dimension(op), _closed(op)
    row = tuple(
        f.new(n) if d != along else f.new(n, padding="") if closed else f.replicated(n, _READS)
        for d, n in enumerate(sizes)
    )
    rows = math.prod(n for d, n in enumerate(sizes) if d != along)
    exchanges = _exchanges(op, row, along) if closed and row[along] else ()
    return f.rule([row] * count, [row] * count, flops=count * rows * sort_flops(sizes[along]), exchanges=exchanges)


def _exchanges(op: ir.Operation, row: DimFactors, along: int) -> list[Exchange]:
    """What the operands, of factors `row`, and the index send when dimension `along` is split."""
    sizes = shape(op.operands[0])
    widths = [element_bytes(v.type.element_type) for v in op.operands]
    index = ties(op).index
    extra = element_bytes(index) if index else 0.0

    def exchange(kind: str, operand: int, scale: float = 0.0, values: int = 0) -> Exchange:
        return SortExchange(
            row[along][0], kind, 0.0, operand, size=sizes[along], ratio=(sum(widths) + extra) / sum(widths),
            scale=scale, values=values, others=other_dims(row, sizes, along),
        )

    out = []
    for kind in ("all_gather", "all_to_all", "permute"):
        for i in range(len(widths)):
            out.append(exchange(kind, i, values=len(widths) if kind == "all_gather" and i == 0 else 0))
        if extra and kind != "all_gather":
            out.append(exchange(kind, 0, scale=extra / widths[0]))
    return out


@rule("chlo.top_k", traits=Trait.ANCHOR | Trait.UNFUSABLE | Trait.NONLOCAL | Trait.EXPENSIVE)
def top_k(op: ir.Operation) -> FactorRule:
    sizes, found = shape(op.operands[0]), shape(op.results[0])
    f = Factors()
    batch = f.dims(sizes[:-1])
    # Split, every shard finds its own k largest; those are gathered and the k largest of them kept.
    searched = f.own(sizes[-1])
    row = (*batch, f.replicated(found[-1], "it holds the largest elements in order"))
    flops = math.prod(sizes) * math.log2(max(found[-1], 2))
    exchanges = [Exchange(searched[0], "all_gather", 2.0 * math.prod(found))] if searched else []
    return f.rule([(*batch, searched)], [row] * len(op.results), flops=flops, exchanges=exchanges)
