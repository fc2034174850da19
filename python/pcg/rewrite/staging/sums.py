"""Sums over stages, and numbers that are computed of them: on which stage each is, and that each is computed once."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.stages import STAGE, stage_number


def split_sums(work: list[ir.Operation]) -> None:
    """Accumulate the terms of a gradient on the stages that compute them, and add them once: those of tied weights.

    `work`: the `pcg.batch` ops that accumulate.
    """
    while work:
        op = work.pop()
        if ir.StringAttr(op.attributes["kind"]).value != "sum" or isinstance(op.operands[0], ir.BlockArgument):
            continue
        add = op.operands[0].owner.operation
        if add.name != "stablehlo.add" or len(list(add.results[0].uses)) != 1:
            continue
        terms = [None if isinstance(v, ir.BlockArgument) else v.owner.operation for v in add.operands]
        stages = [None if t is None else stage_number(t) for t in terms]
        if None in stages or stages[0] == stages[1]:
            continue
        with ir.InsertionPoint(op), op.location:
            parts = []
            for v, stage in zip(add.operands, stages, strict=True):
                assert stage is not None
                attributes = {n: op.attributes[n] for n in op.attributes} | {STAGE: emit.i64(stage)}
                parts.append(emit.create("pcg.batch", [v], op.results[0].type, **attributes))
            total = emit.create("stablehlo.add", parts, op.results[0].type, **{STAGE: op.attributes[STAGE]})
        op.results[0].replace_all_uses_with(total)
        op.erase()
        add.erase()
        work += [p.owner.operation for p in parts]


def add_by_stage(func: ir.Operation) -> None:
    """Add the numbers of each stage first, then those of all stages: a norm of all gradients crosses stages once each.

    Only numbers of the update, because other sums are added in the order of the program.
    """
    for root in [op.operation for op in func.regions[0].blocks[0].operations]:
        if not _adds_numbers(root) or any(_adds_numbers(use.owner.operation) for use in root.results[0].uses):
            continue
        terms, adds, work = [], [], [root]
        while work:
            op = work.pop()
            if isinstance(op, ir.Value):
                terms.append(op)
                continue
            adds.append(op)
            for v in reversed(op.operands):
                source = None if isinstance(v, ir.BlockArgument) else v.owner.operation
                inner = source is not None and _adds_numbers(source) and len(list(v.uses)) == 1
                work.append(source if inner else v)
        stages: dict[int, list[ir.Value]] = {}
        for v in terms:
            source = None if isinstance(v, ir.BlockArgument) else v.owner.operation
            stage = stage_number(source) if source is not None and len(source.operands) else None
            # A constant that the sum begins with is added on the first stage.
            stages.setdefault(min(stages, default=0) if stage is None else stage, []).append(v)
        if len(stages) < 2 or all(len(own) == 1 for own in stages.values()):
            continue
        with ir.InsertionPoint(root), root.location:
            total: ir.Value | None = None
            for stage, own in sorted(stages.items()):
                at = {STAGE: emit.i64(stage)}
                part = own[0]
                for v in own[1:]:
                    part = emit.create("stablehlo.add", [part, v], v.type, **at)
                total = part if total is None else emit.create("stablehlo.add", [total, part], part.type, **at)
        assert total is not None
        root.results[0].replace_all_uses_with(total)
        for op in adds:
            op.erase()


def follow(func: ir.Operation) -> None:
    """Compute numbers of the update from other ones on the last stage that has one of those.

    A sum over all stages goes from the first one to the last one, where the next step begins last as well.
    """
    stages: dict[ir.Value, int] = {}  # of numbers of the update
    updates: set[ir.Value] = set()
    for op in [op.operation for op in func.regions[0].blocks[0].operations]:
        if op.name != "pcg.batch" and not any(v in updates for v in op.operands):
            continue
        updates.update(op.results)
        stage = stage_number(op)
        if stage is None or len(op.results) != 1 or op.results[0].type.rank:
            continue
        read = [stages[v] for v in op.operands if v in stages]
        if read and op.name.startswith("stablehlo.") and not len(op.regions):
            stage = max(read)
            op.attributes[STAGE] = emit.i64(stage)
        stages[op.results[0]] = stage


def merge_numbers(func: ir.Operation) -> None:
    """Compute equal numbers of the update once: a comparison of the norm that is written for every parameter."""
    updates: set[ir.Value] = set()
    equal: dict[ir.Value, ir.Value] = {}
    seen: dict[tuple[object, ...], ir.Value] = {}
    for op in [op.operation for op in func.regions[0].blocks[0].operations]:
        if op.name == "pcg.batch":
            updates.update(op.results)
        reads = list(op.operands)
        is_update = any(v in updates for v in reads)
        if is_update:
            updates.update(op.results)
        if not op.name.startswith("stablehlo.") or len(op.regions) or len(op.results) != 1 or op.results[0].type.rank:
            continue
        if not is_update and op.name != "stablehlo.constant":
            continue
        attributes = tuple(sorted((n, str(op.attributes[n])) for n in op.attributes if n != STAGE))
        key = (op.name, *(equal.get(v, v) for v in reads), attributes, str(op.results[0].type))
        first = seen.setdefault(key, op.results[0])
        if first == op.results[0]:
            continue
        if is_update:
            op.results[0].replace_all_uses_with(first)
            updates.discard(op.results[0])
            op.erase()
        else:
            equal[op.results[0]] = first


def _adds_numbers(op: ir.Operation) -> bool:
    """Whether an op adds two numbers of the update."""
    if op.name != "stablehlo.add" or op.results[0].type.rank:
        return False
    return any(_reads_a_sum(v) for v in op.operands)


def _reads_a_sum(value: ir.Value, depth: int = 6) -> bool:
    """Whether a number is computed from a `pcg.batch` in a few steps."""
    if isinstance(value, ir.BlockArgument) or not depth:
        return False
    op = value.owner.operation
    return op.name == "pcg.batch" or any(_reads_a_sum(v, depth - 1) for v in op.operands)
