"""Rules of ops that newer ones replaced (broadcast, einsum, torch_index_select), and of quantization."""

from __future__ import annotations

import math
import re

from torch_mlir import ir

from pcg.rules.build import PER_ELEMENT, Factors, linear
from pcg.rules.factor import FactorRule
from pcg.rules.opaque import run_replicated
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait

_PER_AXIS = re.compile(r"!quant\.uniform<[^,>]*:(\d+),")


@rule("stablehlo.broadcast", traits=Trait.NONE)
def broadcast(op: ir.Operation) -> FactorRule:
    """New dimensions come first and belong to the result only."""
    rank = len(shape(op.operands[0]))
    f = Factors()
    dims = f.dims(shape(op.results[0]))
    return f.rule([dims[len(dims) - rank :]], [dims], [linear("sum", 0)])


@rule("stablehlo.einsum", traits=Trait.NONE)
def einsum(op: ir.Operation) -> FactorRule:
    """Each letter is a factor; those that the result lacks are contracted."""
    config = ir.StringAttr(op.attributes["einsum_config"]).value
    inputs, _, output = config.replace(" ", "").partition("->")
    tensors = [*inputs.split(","), output]
    values = [*op.operands, *op.results]
    if not all(t.isalpha() and len(t) == len(shape(v)) for t, v in zip(tensors, values, strict=True)):
        return run_replicated(op, f"einsum {config!r} is not plain letters, one per dimension")
    if any(len(set(t)) < len(t) for t in tensors):
        return run_replicated(op, f"einsum {config!r} takes a diagonal")
    sizes = {letter: n for t, v in zip(tensors, values, strict=True) for letter, n in zip(t, shape(v), strict=True)}
    f = Factors()
    factor = {letter: f.new(n, None if letter in output else "sum") for letter, n in sizes.items()}
    rows = [tuple(factor[letter] for letter in t) for t in tensors]
    passes = [linear("sum", i) for i in range(len(op.operands))]
    return f.rule(rows[:-1], rows[-1:], passes, 2.0 * math.prod(sizes.values()))


@rule("stablehlo.torch_index_select", traits=Trait.NONE)
def torch_index_select(op: ir.Operation) -> FactorRule:
    """Batch dimensions, dimensions of the index, and those of the operand that it does not pick from."""
    operand, index = shape(op.operands[0]), shape(op.operands[1])
    dim, batch = (ir.IntegerAttr(op.attributes[n]).value for n in ("dim", "batch_dims"))
    f = Factors()
    a = tuple(
        f.replicated(n, "an index may pick from anywhere along it") if d == dim else f.new(n)
        for d, n in enumerate(operand)
    )
    b = a[:batch] + f.dims(index[batch:])
    return f.rule([a, b], [a[:dim] + b[batch:] + a[dim + 1 :]], [linear("sum", 0)], PER_ELEMENT)


@rule("stablehlo.uniform_quantize", "stablehlo.uniform_dequantize", traits=Trait.NONE)
def quantize(op: ir.Operation) -> FactorRule:
    """Elementwise; the dimension along which scales differ cannot be split, for its type lists all of them."""
    sizes = shape(op.results[0])
    scaled = {int(m[1]) for v in (*op.operands, *op.results) if (m := _PER_AXIS.search(str(v.type)))}
    f = Factors()
    row = tuple(
        f.replicated(s, "its elements have scales of their own, which the type lists") if d in scaled else f.new(s)
        for d, s in enumerate(sizes)
    )
    return f.rule([row], [row], flops=float(max(math.prod(sizes), 1)))
