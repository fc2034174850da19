"""Tensor and expert parallelism from the graph: which dimension of which weight is split over the model axes.

Megatron splits the first of two matrices by columns and the second by rows, so that nothing moves between the two and
one sum remains.  Which two make a pair is read from the forward pass: the columns of the first are a dimension of its
result, and if that dimension, on its way through elementwise ops, attention heads, reshapes and loops, is contracted
with another weight before anything else sums over it, that weight is the second.  A weight is not paired across a
normalisation over its columns, nor where its result is added to what other weights make: those are signs of a residual
stream, which Megatron does not split.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pcg.baselines.aliases import Alias
from pcg.baselines.forward import LOOKUP, WeightUse, downstream, flow
from pcg.rules import rule_for
from pcg.rules.factor import FactorRule


def megatron_split(
    ops: Sequence[ir.Operation], found: Sequence[WeightUse], known: Mapping[ir.Value, Alias],
    shapes: Sequence[tuple[int, ...]], parts: int, taken: Mapping[int, int] | None = None,
) -> dict[int, int]:  # fmt: skip
    """Argument -> dimension to split into `parts`.

    `ops` are the forward pass and `found` its sites, both in program order; `known` the values that are arguments, and
    `shapes` those of the arguments.  `taken` are dimensions that are split otherwise (experts), which stay out of it.

    Tables are split by rows (the vocabulary).  A last weight, behind which there is no other and whose columns are
    only reduced (the vocabulary before the loss), is split by columns; any other without a second stays replicated.
    """
    if parts == 1:
        return {}
    chosen: dict[int, int] = {}
    unsplit: set[int] = set()
    by_op: dict[ir.Operation, WeightUse | None] = dict.fromkeys(ops)
    by_op.update((s.op, s) for s in found)

    made = downstream((s.op.results[0] for s in found), by_op) | {s.op.results[0] for s in found}

    def fits(argument: int, dim: int | None) -> bool:
        return (
            dim is not None and shapes[argument][dim] % parts == 0 and (taken or {}).get(argument) != dim
            and argument not in unsplit and chosen.get(argument, dim) == dim
        )  # fmt: skip

    for site in found:
        argument = site.weight.argument
        if argument in chosen or argument in unsplit:
            continue
        rule = rule_for(site.op)
        if site.op.name == LOOKUP:
            rows = next((site.weight.dims[d] for d in _reduced(rule, site.operand)), None)
            if fits(argument, rows):
                assert rows is not None
                chosen[argument] = rows
            continue
        for dim, at in _columns(rule, site):
            if not fits(argument, dim):
                continue
            assert dim is not None
            path = flow(site.op.results[0], at, parts, by_op, known)
            seconds = {s.weight.argument: d for s, d in path.contracted}
            # Where the backward pass makes an output too, the columns come back to where they are from.
            back = seconds.pop(argument, dim)
            if seconds:
                stream = path.reduced or any(v in made for v in path.sums)
                good = not stream and back == dim and all(fits(a, d) for a, d in seconds.items())
            else:
                good = path.reduced and not path.stuck and _is_last(site, found, by_op)
            if good:
                chosen[argument] = dim
                chosen.update((a, d) for a, d in seconds.items() if d is not None)
                for a, d in path.along.items():
                    if fits(a, d):
                        chosen[a] = d
                break
        else:
            unsplit.add(argument)
    return chosen


def _is_last(site: WeightUse, found: Sequence[WeightUse], ops: Container[ir.Operation]) -> bool:
    """Whether no other site depends on this one."""
    after = downstream([site.op.results[0]], ops)
    return not any(s.op.results[0] in after for s in found)


@dataclass(frozen=True)
class EmbeddingTable:
    """An embedding table by its dimensions, as an argument: what is looked up, what a vector holds, and which table
    it is where several are stacked; None where there is no such dimension."""

    rows: int | None
    columns: int | None
    stack: int | None


def tables(found: Sequence[WeightUse]) -> dict[int, EmbeddingTable]:
    """Embedding tables, which are only looked up, by argument."""
    others = {s.weight.argument for s in found if s.op.name != LOOKUP}
    out = {}
    for site in found:
        if site.op.name == LOOKUP and site.weight.argument not in others:
            rule, dims = rule_for(site.op), site.weight.dims
            rows = next((dims[d] for d in _reduced(rule, 0)), None)
            kept = [d for d, f in enumerate(rule.operands[0]) if f and _kept(rule, f[0])]
            looked_up = {f[0] for f in rule.operands[1] if f}
            columns = next((dims[d] for d in kept if rule.operands[0][d][0] not in looked_up), None)
            stack = next((dims[d] for d in kept if rule.operands[0][d][0] in looked_up), None)
            out[site.weight.argument] = EmbeddingTable(rows, columns, stack)
    return out


def experts(found: Sequence[WeightUse]) -> dict[int, int]:
    """Stacked experts: argument -> the dimension that it shares with what it is contracted with, and the result."""
    out: dict[int, int] = {}
    for site in found:
        if site.op.name == LOOKUP:
            continue
        rule = rule_for(site.op)
        other = {f for dim in rule.operands[1 - site.operand] for f in dim[:1]}
        for d, dim in enumerate(rule.operands[site.operand]):
            if dim and dim[0] in other and not rule.factors[dim[0]].reduce and site.op.name != "stablehlo.convolution":
                if (at := site.weight.dims[d]) is not None:
                    out.setdefault(site.weight.argument, at)
    return out


def _columns(rule: FactorRule, site: WeightUse) -> list[tuple[int | None, int]]:
    """Dimensions of a weight (as an argument) that its contraction keeps for itself, and those of the result."""
    other = {f for dim in rule.operands[1 - site.operand] for f in dim}
    at = {dim[0]: d for d, dim in enumerate(rule.results[0]) if dim}
    dims = enumerate(rule.operands[site.operand])
    return [
        (site.weight.dims[d], at[dim[0]]) for d, dim in dims if dim and dim[0] in at and dim[0] not in other
    ]


def _reduced(rule: FactorRule, operand: int) -> list[int]:
    return [d for d, dim in enumerate(rule.operands[operand]) if dim and rule.factors[dim[0]].reduce]


def _kept(rule: FactorRule, f: int) -> bool:
    return rule.factors[f].splittable and not rule.factors[f].reduce
