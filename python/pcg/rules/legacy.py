"""Rules of ops that newer ones replaced (broadcast, einsum, torch_index_select), and of quantization."""

from __future__ import annotations

import math
import re

from torch_mlir import ir

from pcg.rules.build import Factors, linear
from pcg.rules.dims import Dims
from pcg.rules.factor import FactorRule
from pcg.rules.opaque import run_replicated
from pcg.rules.regions import is_bool
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait

_PER_AXIS = re.compile(r"!quant\.uniform<[^,>]*:(\d+),")


@rule("stablehlo.broadcast", traits=Trait.NONE)
def broadcast(op: ir.Operation) -> FactorRule:
    """New dimensions come first and belong to the result only."""
    small, whole = shape(op.operands[0]), shape(op.results[0])
    f = Factors()
    dims = f.dims(whole)
    return f.rule([dims[len(whole) - len(small) :]], [dims], [linear("sum", 0)])


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
    boolean = is_bool(op.results[0])
    contracted = "or" if boolean else "sum"
    factor = {letter: f.new(n, None if letter in output else contracted) for letter, n in sizes.items()}
    rows = [tuple(factor[letter] for letter in t) for t in tensors]
    passes = [] if boolean else [linear("sum", i) for i in range(len(op.operands))]
    return f.rule(rows[:-1], rows[-1:], passes, 2.0 * math.prod(sizes.values()))


@rule("stablehlo.torch_index_select", traits=Trait.NONE)
def torch_index_select(op: ir.Operation) -> FactorRule:
    """Batch dimensions, dimensions of the index, and those of the operand that it does not pick from."""
    operand, index, result = shape(op.operands[0]), shape(op.operands[1]), shape(op.results[0])
    dim, batch = (ir.IntegerAttr(op.attributes[n]).value for n in ("dim", "batch_dims"))
    dims = Dims(operand, index, result)
    for d in range(batch):
        dims.add(operand[d], (0, d), (1, d), (2, d))
    for d in range(batch, len(operand)):
        if d == dim:
            dims.add(operand[d], (0, d), stuck="an index may pick from anywhere along it")
        else:
            dims.add(operand[d], (0, d), (2, d if d < dim else d + len(index) - batch - 1))
    for d in range(batch, len(index)):
        dims.add(index[d], (1, d), (2, dim + d - batch))
    return FactorRule(tuple(dims.factors), (dims[0], dims[1]), (dims[2],), (linear("sum", 0),))


@rule("stablehlo.uniform_quantize", "stablehlo.uniform_dequantize", traits=Trait.NONE)
def quantize(op: ir.Operation) -> FactorRule:
    """Elementwise; the dimension along which scales differ stays whole, for its type lists all of them."""
    whole = shape(op.results[0])
    stuck = {int(m[1]) for v in (*op.operands, *op.results) if (m := _PER_AXIS.search(str(v.type)))}
    f = Factors()
    row = tuple(
        f.whole(s, "its elements have scales of their own, which the type lists") if d in stuck else f.new(s)
        for d, s in enumerate(whole)
    )
    return f.rule([row], [row], flops=float(max(math.prod(whole), 1)))
