"""Taking ops apart that tie input gradients to weight gradients: barriers, and fused gradients of products."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.errors import PcgError
from pcg.rewrite.backward.dataflow import BARRIER, Dataflow
from pcg.rewrite.backward.phases import input_and_weight, stages_of
from pcg.rewrite.backward.regions import find_regions
from pcg.rules.custom_call import target

#: Custom call: (x, w, dy) to (dx, dw) of the product y = x w.
MATMUL_GRADIENT = "pcg.matmul_grad"


def split_barriers(func: ir.Operation) -> int:
    """Split optimization barriers whose operands belong to several phases into one for each; how many were split.

    A barrier over gradients of inputs and of weights would make the first wait for the second.  What jax.checkpoint
    leaves stays in one piece: its operands, values of the forward part and a cotangent, are there before any weight
    gradient, and recomputation has to wait for the cotangent.
    """
    flow = Dataflow(func.regions[0].blocks[0])
    barriers: dict[int, list[int]] = {}
    for i, node in enumerate(flow.nodes):
        if node.op.name == BARRIER and len(node.op.operands) > 1:
            barriers.setdefault(flow.first[i], []).append(i)
    if not barriers:
        return 0
    regions = find_regions(flow, func)
    parts = (regions.forward, *input_and_weight(flow, regions, stages_of(flow, regions.update)), regions.update)
    count = 0
    for first, nodes in barriers.items():
        op = flow.nodes[first].op
        groups = [group for part in parts if (group := [k for k, i in enumerate(nodes) if i in part])]
        if len(groups) < 2:
            continue
        for group in groups:
            # Behind the old one: all its operands are there.
            with op.location, ir.InsertionPoint(op):
                operands = [op.operands[k] for k in group]
                new = emit.create_op(BARRIER, operands, [v.type for v in operands])
            for name in op.attributes:
                new.attributes[name] = op.attributes[name]
            for k, result in zip(group, new.results, strict=True):
                op.results[k].replace_all_uses_with(result)
        op.erase()
        count += 1
    return count


def split_fused_gradients(func: ir.Operation) -> int:
    """Replace every `@pcg.matmul_grad(x, w, dy)` by a product for dx and one for dw; how many were replaced.

    Of the shapes x: [..., k], w: [k, n] and dy: [..., n], dx is dy w^T: [..., k], and dw is x^T dy: [k, n].

    Raises:
      PcgError: operands or results have other shapes.
    """
    found = [op.operation for op in func.regions[0].blocks[0].operations]
    found = [op for op in found if op.name == "stablehlo.custom_call" and target(op) == MATMUL_GRADIENT]
    for op in found:
        _check(op)
        x, w, dy = op.operands
        rows = list(range(x.type.rank - 1))
        with op.context, op.location, ir.InsertionPoint(op):
            dx = _product(dy, w, [dy.type.rank - 1], [1], op.results[0].type)
            dw = _product(x, dy, rows, rows, op.results[1].type)
        for old, new in zip(op.results, (dx, dw), strict=True):
            for name in op.attributes:
                if name.startswith("pcg."):
                    new.owner.operation.attributes[name] = op.attributes[name]
            old.replace_all_uses_with(new)
        op.erase()
    return len(found)


def _check(op: ir.Operation) -> None:
    types = [v.type for v in (*op.operands, *op.results)]
    wanted = "x: [..., k], w: [k, n] and dy: [..., n] to dx: [..., k] and dw: [k, n]"
    if len(op.operands) == 3 and len(op.results) == 2 and all(isinstance(t, ir.RankedTensorType) for t in types):
        x, w, dy, dx, dw = ([*t.shape] for t in types)
        if len(w) == 2 and x and x[-1] == w[0] and dy == [*x[:-1], w[1]] and dx == x and dw == w:
            return
    raise PcgError(f"@{MATMUL_GRADIENT} has types {', '.join(map(str, types))}; allowed: {wanted}", op)


def _product(a: ir.Value, b: ir.Value, left: list[int], right: list[int], type_: ir.Type) -> ir.Value:
    """The product of two tensors over dimensions `left` of one and `right` of the other."""
    numbers = ir.Attribute.parse(
        f"#stablehlo.dot<lhs_contracting_dimensions = {left}, rhs_contracting_dimensions = {right}>"
    )
    return emit.create("stablehlo.dot_general", [a, b], type_, dot_dimension_numbers=numbers)
