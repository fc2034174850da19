"""Rules of ops that pcg cannot look into, and of markers that only pass values through."""

from __future__ import annotations

import math

from torch_mlir import ir

from pcg.ir.types import is_bool
from pcg.rules.build import PER_ELEMENT, Factors, linear
from pcg.rules.custom_call import batched, target
from pcg.rules.factor import FactorRule, replicated_rule
from pcg.rules.manual import is_manual, manual_rule
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait

#: Custom calls that return their operands as they are.
MARKERS = frozenset({"Sharding", "annotate_device_placement", "LayoutConstraint", "xla.sdy.FuncResultSharding"})

#: Ops that run replicated, and why.
REASONS = {
    **dict.fromkeys(("stablehlo.tuple", "stablehlo.get_tuple_element"), "tuples hold tensors of unknown layout"),
    **{
        f"stablehlo.{name}": "it is ordered by tokens, and every device must do it the same way"
        for name in ("create_token", "after_all", "infeed", "outfeed")
    },
    **{
        f"stablehlo.{name}": "its shape depends on data, and a shard's shape must be known when the program is compiled"
        for name in (
            "set_dimension_size", "dynamic_broadcast_in_dim", "dynamic_conv", "dynamic_gather", "dynamic_iota",
            "dynamic_pad", "dynamic_reshape", "real_dynamic_slice",
        )
    },
    "stablehlo.unary_einsum": "it is deprecated, and nothing that runs StableHLO runs it",
    "chlo.scan": "its body is a function on full slices, each of which needs the one before",
}  # fmt: skip


def run_replicated(op: ir.Operation, reason: str) -> FactorRule:
    """The rule of an op that every device runs entirely, because of `reason`."""
    return replicated_rule([len(shape(v)) for v in op.operands], [len(shape(r)) for r in op.results], reason)


_TRAITS = {
    **dict.fromkeys(REASONS, Trait.NONE),
    "stablehlo.create_token": Trait.TOKEN | Trait.UNREPEATABLE,
    "stablehlo.after_all": Trait.TOKEN | Trait.UNREPEATABLE,
    "stablehlo.infeed": Trait.HOST_IO | Trait.UNFUSABLE | Trait.UNREPEATABLE,
    "stablehlo.outfeed": Trait.HOST_IO | Trait.UNFUSABLE | Trait.UNREPEATABLE,
    "chlo.scan": Trait.EXPENSIVE,
}


@rule(*REASONS, traits=_TRAITS)
def replicated(op: ir.Operation) -> FactorRule:
    return run_replicated(op, REASONS[op.name])


def pass_through(op: ir.Operation) -> FactorRule:
    """Results are the operands: separate factors per operand, all of them partial or none."""
    f = Factors()
    tensors = [f.dims(shape(v)) for v in op.operands]
    numbers = all(isinstance(v.type, ir.RankedTensorType) and not is_bool(v.type) for v in op.operands)
    passes = [linear("sum", *range(len(tensors)))] if tensors and numbers else []
    return f.rule(tensors, tensors, passes, PER_ELEMENT)


@rule("stablehlo.optimization_barrier", traits=Trait.UNFUSABLE | Trait.PINNED | Trait.KEEPS_INTEGERS)
def optimization_barrier(op: ir.Operation) -> FactorRule:
    return pass_through(op)


def is_marker(op: ir.Operation) -> bool:
    """Whether a custom call only marks its operands."""
    return target(op) in MARKERS and [v.type for v in op.operands] == [r.type for r in op.results]


@rule(
    "stablehlo.custom_call",
    traits=Trait.ANCHOR | Trait.HEAVY | Trait.WORK_IN_ATTRIBUTES | Trait.UNFUSABLE | Trait.NONLOCAL
    | Trait.UNREPEATABLE | Trait.ROUNDS,
)  # fmt: skip
def custom_call(op: ir.Operation) -> FactorRule:
    if is_marker(op):
        return pass_through(op)
    if is_manual(op):
        return manual_rule(op)
    return batched(op) or run_replicated(op, f"custom call @{target(op)} is opaque")


@rule(
    "stablehlo.composite",
    traits=Trait.ANCHOR | Trait.WORK_IN_ATTRIBUTES | Trait.UNFUSABLE | Trait.NONLOCAL | Trait.PINNED,
)
def composite(op: ir.Operation) -> FactorRule:
    name = ir.StringAttr(op.attributes["name"]).value
    return run_replicated(op, f"composite {name!r} is a function on full tensors")


@rule("stablehlo.map", traits=Trait.SCALAR_BODY)
def map_(op: ir.Operation) -> FactorRule:
    """The computation sees one element at a time, so every dimension is a factor."""
    f = Factors()
    row = f.dims(shape(op.results[0]))
    inner = max(len(list(op.regions[0].blocks[0].operations)) - 1, 1)
    return f.rule([row] * len(op.operands), [row], flops=math.prod(shape(op.results[0]), start=1.0) * inner)
