"""Writing the chosen strategies back into the IR, once."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.shardings import CONSTRAINTS
from pcg.layout import ShardSpec
from pcg.propagate.engine import project
from pcg.rules import rule_for
from pcg.rules.factor import Assignment
from pcg.rules.registry import BRANCHES
from pcg.search.built import Built
from pcg.search.table import Tables


def commit(func: ir.Operation, built: Built, choice: Sequence[int], tables: Tables) -> None:
    """Annotate `func`: specs of arguments and results, of every op, and a `dist.reshard` per layout node in need."""
    nodes = built.graph.nodes

    def spec(node: int) -> ShardSpec:
        return nodes[node].table.outs[0][choice[node]]

    shardings.set_signature_specs(func, [spec(n) for n in built.arguments], [spec(n) for n in built.results])
    attrs: dict[tuple[int, int], tuple[ir.ArrayAttr | None, ir.ArrayAttr | None]] = {}  # few layouts are of many ops
    for op, node in built.ops:
        table, k = nodes[node].table, choice[node]
        if (table.index, k) not in attrs:
            ports = (table.outs, table.ins)
            results, operands = (shardings.list_attr(func.context, [port[k] for port in side]) for side in ports)
            attrs[table.index, k] = results, operands
        shardings.set_layouts(op, *attrs[table.index, k])
    for op, carried in built.carries:
        shardings.set_result_specs(op, [spec(n) for n in carried])
    for op, kept in built.barriers:
        shardings.set_result_specs(op, [spec(n) for n in kept])
        shardings.set_operand_specs(op, [spec(n) for n in kept])
    for op, node in built.constraints:
        op.attributes["spec"] = shardings.to_attr(spec(node))
        for name in (shardings.OPEN, shardings.PRIORITIES):
            if name in op.attributes:
                del op.attributes[name]
        shardings.set_result_specs(op, [spec(node)])
    # Readers before defining ops: a free op gets the spec its reader wants.
    for op in reversed(built.free):
        _make_free(op, built, tables)
    for result, node in built.layout_nodes:
        target = spec(node)
        source = shardings.get(result)
        if source == target:
            continue
        block = result.owner if isinstance(result, ir.BlockArgument) else None
        at = ir.InsertionPoint.at_block_begin(block) if block is not None else ir.InsertionPoint.after(result.owner)
        # Readers that need an argument in its own layout read it directly where it would otherwise be sliced from the
        # resharded copy, which can then be freed after its last reader.
        uses = result.uses if block is not None and source is not None and is_part(source, target) else ()
        direct = [(use.owner.operation, use.operand_number) for use in uses if _required_spec(use) == source]
        with at, func.location if block is not None else result.owner.location:
            new = ir.Operation.create(
                "dist.reshard", results=[result.type], operands=[result],
                attributes={"spec": (attr := shardings.to_attr(target)), shardings.SPECS: ir.ArrayAttr.get([attr])},
            )
        result.replace_all_uses_except(new.result, new)
        for owner, i in direct:
            owner.operands[i] = result


def is_part(part: ShardSpec, other: ShardSpec) -> bool:
    """Whether a device's piece of `part` lies in its piece of `other`."""
    return all(a[: len(b)] == b for a, b in zip(part.dims, other.dims, strict=True)) and part.partial == other.partial


def _make_free(op: ir.Operation, built: Built, tables: Tables) -> None:
    result = op.results[0]
    required = next((s.without_partial() for use in result.uses if (s := _required_spec(use)) is not None), None)
    rule = rule_for(op)
    table = tables.of_rule(rule)
    k = table.outs[0].find(required) if required is not None else None
    if k is None and required is not None:
        # Axes in another order than the mesh's are not among the strategies.
        placed = project(rule, rule.results[0], required.dims, tables.mesh)
        a = Assignment(tuple(placed.get(f, ()) for f in range(len(rule.factors))))
        if not rule.why_illegal(a, tables.mesh):
            table = tables.only(rule, a)
            k = table.outs[0].find(required)
    if k is None:
        k = int(table.parts.argmin())
    shardings.set_result_specs(op, [table.outs[0][k]])
    if len(op.operands):
        shardings.set_operand_specs(op, [port[k] for port in table.ins])


def _required_spec(use: ir.OpOperand) -> ShardSpec | None:
    """The spec that the reader of a value needs it in; None if it needs none."""
    op, i = use.owner.operation, use.operand_number
    specs = shardings.operand_specs(op)
    if specs is not None:
        return specs[i]
    if op.name == "func.return":
        return shardings.function_result_specs(op.parent)[i]
    if op.name == "stablehlo.while":
        return shardings.get(op.results[i])
    if op.name in CONSTRAINTS:
        return shardings.get(op.results[0])
    if op.name == "stablehlo.return":
        parent = op.parent.operation
        if parent.name in BRANCHES:
            return shardings.get(parent.results[i])
        if parent.name == "stablehlo.while" and op.block == parent.regions[1].blocks[0]:
            return shardings.get(parent.results[i])
    return None
