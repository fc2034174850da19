"""Writing the layouts of a scheme into a program: its signature, gathers of weights, reductions of gradients."""

from __future__ import annotations

from collections.abc import Mapping

from torch_mlir import ir

from pcg.baselines.aliases import Dims, is_alias_op
from pcg.baselines.layouts import Layouts, ProgramFacts
from pcg.baselines.update import gradients, takes_part
from pcg.ir import shardings
from pcg.layout import Mesh, ShardSpec

_BARRIER = "stablehlo.optimization_barrier"


def annotate_program(
    program: ProgramFacts, layouts: Layouts, mesh: Mesh, fixed: Mapping[int, ShardSpec] | None = None
) -> int:
    """Write `layouts`, but for arguments that are `fixed` otherwise; returns how many redistributions were put in.

    Arguments and the results that are their next values get their layouts; results that are no state stay open.  Under
    ZeRO, a weight that is not kept as it is used is gathered right before each op that uses it, so that in a loop over
    layers one layer is gathered at a time; and a gradient is reduce-scattered where it is computed.
    """
    block = program.func.regions[0].blocks[0]
    fixed = dict(fixed or {})
    kept = {**layouts.kept, **fixed}
    used = {**layouts.used, **fixed}
    with program.func.context:
        own = shardings.function_result_specs(program.func)
        results = [kept[program.state[r]] if r in program.state and s is None else s for r, s in enumerate(own)]
        arguments = [kept.get(i) for i in range(len(block.arguments))]
        shardings.set_signature_specs(program.func, arguments, results)
        count = 0
        inside: set[ir.Value] = set()  # by their results: what an op hashes to changes with its attributes
        for group in program.update_groups:
            first = min(group.arguments)
            split = layouts.split.get(first, used[first])
            if split == used[first] or any(a in fixed for a in group.arguments):
                continue
            inside |= group.values
            for value in group.values:
                shardings.set(value, split)
            found = gradients(group)
            for value, dims in found.forwarded.items():
                shardings.set(value, _as(split, dims, value, mesh))
            for value, dims in found.sums.items():
                readers = [(use.owner.operation, use.operand_number) for use in value.uses]
                uses = [(op, i) for op, i in readers if takes_part(op, group, found)]
                new = _reshard(value, _as(split, dims, value, mesh), ir.InsertionPoint.after(value.owner)).result
                for op, i in uses:
                    op.operands[i] = new
                count += 1
        for value, alias in list(program.known.items()):
            a = alias.argument
            if alias.plain and kept[a] != used[a]:
                count += _gather(value, _as(used[a], alias.dims, value, mesh), inside)
    return count


def _as(spec: ShardSpec, dims: Dims, value: ir.Value, mesh: Mesh) -> ShardSpec:
    """The layout of a value whose dimensions are those of another with layout `spec`."""
    out = []
    for d, n in zip(dims, value.type.shape, strict=True):
        axes = () if d is None else spec.dims[d]
        out.append(axes if n % mesh.axes_size(axes) == 0 else ())
    return ShardSpec.of(out)


def _gather(value: ir.Value, spec: ShardSpec, update: set[ir.Value]) -> int:
    """Redistribute `value` before each op that computes with it; ops of the `update` and other forms of it do not.

    Where the function reads a value several times (forwards and backwards) each time is by itself, behind a barrier:
    readers that need one layout of one value share it, and a weight gathered once stays gathered until the backward
    pass.
    """
    uses = []
    for use in value.uses:
        op = use.owner.operation
        if is_alias_op(op) or op.name in ("stablehlo.while", "stablehlo.return", "func.return"):
            continue
        if len(op.results) != 1 or op.results[0] not in update:
            uses.append((op, use.operand_number))
    block = value.owner if isinstance(value, ir.BlockArgument) else value.owner.operation.block
    apart = len(uses) > 1 and block.owner.operation.name == "func.func"
    for op, i in uses:
        source, before = value, op
        while not apart and before.block != block:
            before = before.parent.operation  # what a loop reads from outside is gathered once, as it will be placed
        at = ir.InsertionPoint(before)
        if apart:
            with op.location:
                note = {shardings.APART: ir.UnitAttr.get()}
                source = ir.Operation.create(_BARRIER, [value.type], [value], attributes=note, ip=at).result
        op.operands[i] = _reshard(source, spec, at).result
    return len(uses)


def _reshard(value: ir.Value, spec: ShardSpec, at: ir.InsertionPoint) -> ir.Operation:
    location = value.owner.owner.location if isinstance(value, ir.BlockArgument) else value.owner.location
    with at, location:
        attr = shardings.to_attr(spec)
        return ir.Operation.create(
            "dist.reshard", results=[value.type], operands=[value],
            attributes={"spec": attr, shardings.SPECS: ir.ArrayAttr.get([attr])},
        )  # fmt: skip
