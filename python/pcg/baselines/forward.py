"""The forward pass of a training step, the contractions of weights in it, and how a split of one result travels on."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.baselines.aliases import Alias
from pcg.ir.shardings import CONSTRAINTS
from pcg.ir.walk import walk
from pcg.rules import rule_for, traits
from pcg.rules.registry import BRANCHES
from pcg.rules.traits import Trait

LOOKUP = "stablehlo.gather"
_SUMS = frozenset({"stablehlo.add", "stablehlo.subtract"})


def forward_ops(func: ir.Operation, results: Sequence[int]) -> list[ir.Operation]:
    """Ops that `results` of the function depend on, in program order; all ops if there are none to depend on.

    With the results that are not state (the loss, outputs) that is the forward pass: the backward pass and the update
    only make state.
    """
    returned = func.regions[0].blocks[0].operations[-1].operation.operands
    waiting = [returned[i] for i in results]
    seen: set[ir.Value] = set(waiting)
    found: set[ir.Operation] = set()
    if not waiting:
        return [op for op in walk(func) if op != func]

    def need(value: ir.Value) -> None:
        if value not in seen:
            seen.add(value)
            waiting.append(value)

    while waiting:
        value = waiting.pop()
        if isinstance(value, ir.BlockArgument):
            owner, i = value.owner.owner.operation, value.arg_number
            if owner.name == "stablehlo.while":
                need(owner.operands[i])
                need(_yielded(owner, 1)[i])
            continue
        op, i = value.owner.operation, ir.OpResult(value).result_number
        found.add(op)
        if op.name == "stablehlo.while":
            need(op.operands[i])
            need(_yielded(op, 1)[i])
            need(_yielded(op, 0)[0])
        elif op.name in BRANCHES:
            need(op.operands[0])
            for r in range(len(op.regions)):
                need(_yielded(op, r)[i])
        else:
            for operand in op.operands:
                need(operand)
    return [op for op in walk(func) if op in found]


def _yielded(op: ir.Operation, region: int) -> Sequence[ir.Value]:
    return list(op.regions[region].blocks[0].operations[-1].operation.operands)


@dataclass(frozen=True)
class WeightUse:
    """A contraction (or lookup) `op` of the forward pass whose operand number `operand` is a weight."""

    op: ir.Operation
    operand: int
    weight: Alias


def weight_uses(ops: Sequence[ir.Operation], known: Mapping[ir.Value, Alias]) -> list[WeightUse]:
    """The contractions and lookups of weights among `ops`, in their order."""
    found = []
    for op in ops:
        if traits.has(op.name, Trait.CONTRACTION):
            weights = [i for i in (0, 1) if op.operands[i] in known]
            if len(weights) == 1:
                found.append(WeightUse(op, weights[0], known[op.operands[weights[0]]]))
        elif op.name == LOOKUP and op.operands[0] in known:
            found.append(WeightUse(op, 0, known[op.operands[0]]))
    return found


@dataclass
class Flow:
    """Where a split of one dimension goes.

    `contracted`: sites that contract it, with the dimension of the weight (as an argument) that this would split.
    `along`: arguments that are split along with it (biases, kernels of grouped convolutions), and the dimension.
    `reduced`: whether something else sums or maximises over it.  `stuck`: whether an op must gather it.
    `sums` are the additions on the way, by the other operand, where the split does not reach that one.
    """

    contracted: list[tuple[WeightUse, int | None]] = field(default_factory=list)
    along: dict[int, int] = field(default_factory=dict)
    reduced: bool = False
    stuck: bool = False
    sums: list[ir.Value] = field(default_factory=list)


def flow(
    value: ir.Value, dim: int, parts: int, ops: Mapping[ir.Operation, WeightUse | None], known: Mapping[ir.Value, Alias]
) -> Flow:
    """Follow dimension `dim` of `value`, split into `parts`, through the ops of the forward pass.

    `ops` are these, each with its site if it is one; `known` are the values that are arguments.
    """
    out = Flow()
    waiting, seen = [(value, dim)], {(value, dim)}
    added: list[tuple[ir.Value, int]] = []

    def reach(v: ir.Value, d: int) -> None:
        if (v, d) not in seen:
            seen.add((v, d))
            waiting.append((v, d))

    while waiting:
        value, dim = waiting.pop()
        for use in value.uses:
            op, i = use.owner.operation, use.operand_number
            if op.name == "stablehlo.return":
                outer = op.parent.operation
                if outer in ops:
                    if outer.name == "stablehlo.while" and op.block == outer.regions[1].blocks[0]:
                        reach(outer.regions[1].blocks[0].arguments[i], dim)
                    if outer.name != "stablehlo.while" or op.block == outer.regions[1].blocks[0]:
                        reach(outer.results[i], dim)
            elif op not in ops:
                continue
            elif op.name == "stablehlo.while":
                reach(op.regions[1].blocks[0].arguments[i], dim)
                reach(op.results[i], dim)
            elif op.name in CONSTRAINTS:
                reach(op.results[0], dim)
            elif op.name not in BRANCHES:
                _cross(op, i, dim, parts, ops[op], known, out, reach)
                if op.name in _SUMS:
                    added.append((op.operands[1 - i], dim))
    out.sums = [v for v, d in added if (v, d) not in seen]
    return out


def downstream(values: Iterable[ir.Value], ops: Container[ir.Operation]) -> set[ir.Value]:
    """All values that are computed from `values` by `ops`; what only decides how often or which is not counted."""
    found: set[ir.Value] = set()
    waiting = list(values)
    while waiting:
        for use in waiting.pop().uses:
            op, i = use.owner.operation, use.operand_number
            returned = op.name == "stablehlo.return"
            if returned:
                region = op.block
                op = op.parent.operation
                if op.name == "stablehlo.while" and region != op.regions[1].blocks[0]:
                    continue
            if op not in ops:
                continue
            if op.name == "stablehlo.while":
                made = [op.results[i], op.regions[1].blocks[0].arguments[i]]
            elif op.name in BRANCHES:
                made = [op.results[i]] if returned else []
            else:
                made = list(op.results)
            for v in made:
                if v not in found:
                    found.add(v)
                    waiting.append(v)
    return found


def _cross(
    op: ir.Operation, i: int, dim: int, parts: int, site: WeightUse | None, known: Mapping[ir.Value, Alias], out: Flow,
    reach: object,
) -> None:  # fmt: skip
    assert callable(reach)
    rule = rule_for(op)
    factors = rule.operands[i][dim]
    if not factors or not rule.factors[factors[0]].splittable or not rule.fits(factors[0], parts):
        out.stuck = True
        return
    f = factors[0]
    for j, operand in enumerate(op.operands):
        alias = known.get(operand)
        at = _place(rule.operands[j], f)
        if j == i or alias is None or at is None:
            continue
        whose = alias.dims[at]
        if rule.factors[f].reduce and site is not None:
            out.contracted.append((site, whose))
        elif whose is not None:
            out.along.setdefault(alias.argument, whose)
    if rule.factors[f].reduce:
        out.reduced |= site is None
        return
    for result, dims in zip(op.results, rule.results, strict=True):
        at = _place(dims, f)
        if at is not None:
            reach(result, at)


def _place(dims: Sequence[Sequence[int]], f: int) -> int | None:
    """The dimension whose major factor is `f`."""
    return next((d for d, factors in enumerate(dims) if factors and factors[0] == f), None)
