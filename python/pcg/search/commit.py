"""Writing the chosen strategies back into the IR, once."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import shardings
from pcg.layout import ShardSpec
from pcg.rules import rule_for
from pcg.search.build import Built
from pcg.search.table import Tables


def commit(func: ir.Operation, built: Built, choice: Sequence[int], tables: Tables) -> None:
    """Annotate `func`: specs of arguments and results, of every op, and a `dist.reshard` per hub that needs one."""
    nodes = built.graph.nodes

    def spec(node: int) -> ShardSpec:
        return nodes[node].table.outs[0][choice[node]]

    shardings.set_signature_specs(func, [spec(n) for n in built.arguments], [spec(n) for n in built.results])
    for op, node in built.ops:
        table, k = nodes[node].table, choice[node]
        shardings.set_result_specs(op, [port[k] for port in table.outs])
        shardings.set_operand_specs(op, [port[k] for port in table.ins])
    for op, carried in built.carries:
        shardings.set_result_specs(op, [spec(n) for n in carried])
    for op, kept in built.barriers:
        shardings.set_result_specs(op, [spec(n) for n in kept])
        shardings.set_operand_specs(op, [spec(n) for n in kept])
    for op, node in built.constraints:
        op.attributes["spec"] = shardings.to_attr(spec(node))
        if shardings.OPEN in op.attributes:
            del op.attributes[shardings.OPEN]
        shardings.set_result_specs(op, [spec(node)])
    # Readers before makers: a free op is made in the spec its reader wants.
    for op in reversed(built.free):
        _make_free(op, built, tables)
    for result, hub in built.hubs:
        wanted = spec(hub)
        if shardings.get(result) == wanted:
            continue
        with ir.InsertionPoint.after(result.owner), result.owner.location:
            new = ir.Operation.create(
                "dist.reshard", results=[result.type], operands=[result],
                attributes={"spec": (attr := shardings.to_attr(wanted)), shardings.SPECS: ir.ArrayAttr.get([attr])},
            )
        result.replace_all_uses_except(new.result, new)


def _make_free(op: ir.Operation, built: Built, tables: Tables) -> None:
    result = op.results[0]
    wanted = next((s for use in result.uses if (s := _wanted(use)) is not None and not s.partial), None)
    table = tables.of_rule(rule_for(op))
    k = table.outs[0].find(wanted) if wanted is not None else None
    if k is None:
        k = int(table.parts.argmin())
    shardings.set_result_specs(op, [table.outs[0][k]])
    if len(op.operands):
        shardings.set_operand_specs(op, [port[k] for port in table.ins])


def _wanted(use: ir.OpOperand) -> ShardSpec | None:
    """What the reader of a value wants it to be."""
    op, i = use.owner.operation, use.operand_number
    specs = shardings.operand_specs(op)
    if specs is not None:
        return specs[i]
    if op.name == "func.return":
        return shardings.function_result_specs(op.parent)[i]
    if op.name == "stablehlo.while":
        return shardings.get(op.results[i])
    if op.name in ("dist.constraint", "dist.reshard"):
        return shardings.get(op.results[0])
    if op.name == "stablehlo.return":
        parent = op.parent.operation
        if parent.name in ("stablehlo.if", "stablehlo.case"):
            return shardings.get(parent.results[i])
        if parent.name == "stablehlo.while" and op.block == parent.regions[1].blocks[0]:
            return shardings.get(parent.results[i])
    return None
