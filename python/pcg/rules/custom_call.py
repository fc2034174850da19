"""Rules of custom calls that do the same thing to every part of a batch.

Two sources say which dimensions those are: the attribute `sdy.sharding_rule` that JAX (or the user) puts on a call, and
a short list of calls that JAX is known to make.  Anything else about such a call stays opaque.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache

from torch_mlir import ir

from pcg.rules.build import Factors, Shape
from pcg.rules.factor import DimFactors, Factor, FactorRule
from pcg.rules.registry import shape
from pcg.rules.values import optional

ATTRIBUTE = "sdy.sharding_rule"
_OPAQUE = "the custom call is opaque along it"

#: Ends a stage of a pipeline, and is the identity.
STAGE_BOUNDARY = "pcg.stage_boundary"
#: Calls on matrices, rows and elements: all but so many last dimensions of the first operand are a batch.
_INNER = {
    "Cholesky": 2, "Eigh": 2, "Qr": 2, "QrDecompositionBlock": 2, "ProductOfElementaryHouseholderReflectors": 2,
    "mhlo.topk": 1, "mhlo.erf": 0, "MoveToHost": 0, "MoveToDevice": 0, STAGE_BOUNDARY: 0,
}  # fmt: skip
#: Calls that another partitioner replaces: what is left of them cannot run on shards.
_EXPANDED_LATER = frozenset({"CustomSPMDPartitioning"})

#: Calls of the Python functions that jax registered with the program it traced: of these, and only there, they mean
#: something.  In a file they name addresses, or places in a list, of a process that is gone.
_HOST_CALLBACK = re.compile(r"xla_(ffi_)?(partitioned_)?python_(cpu|gpu|tpu)_callback")

_TENSOR = re.compile(r"\[([^\[\]]*)\]")
_SYMBOL = re.compile(r"[a-z](?:_\d+)?")
_RULE = re.compile(r"#sdy\.op_sharding_rule<\((.*)\)->\((.*)\) \{(.*?)\}(.*)>", re.S)


def target(op: ir.Operation) -> str:
    """Name of the function a custom call calls."""
    return op.attributes["call_target_name"].value


def is_host_callback(op: ir.Operation) -> bool:
    """Whether an op calls back into the Python process that made the program (`jax.pure_callback` and the like)."""
    return op.name == "stablehlo.custom_call" and _HOST_CALLBACK.fullmatch(target(op)) is not None


def has_side_effect(op: ir.Operation) -> bool:
    """Whether a custom call does something besides computing its results; it may be neither dropped nor repeated."""
    return op.name == "stablehlo.custom_call" and optional(op, "has_side_effect", False)


def batched(op: ir.Operation) -> FactorRule | None:
    """The rule of custom call `op`, None if nothing is known about it or it has side effects."""
    name = target(op)
    if not op.results or name in _EXPANDED_LATER or has_side_effect(op):
        return None
    operands, results = (tuple(map(shape, values)) for values in (op.operands, op.results))
    if ATTRIBUTE in op.attributes:
        return annotated_rule(str(op.attributes[ATTRIBUTE]), operands, results)
    first = operands[0] if operands else ()
    if name in _INNER:
        return _shared(range(len(first) - _INNER[name]), operands, results)
    if name == "ApproxTopK":
        kept = [d for d, n in enumerate(first) if n == results[0][d] and d != _searched(op)]
        return _shared(kept, operands, results)
    return None


def _searched(op: ir.Operation) -> int:
    """The dimension that ApproxTopK searches; -1 where the call does not say."""
    config = op.attributes["mhlo.backend_config"] if "mhlo.backend_config" in op.attributes else None
    found = re.search(r"reduction_dim = (-?\d+)", str(config))
    return int(found[1]) % len(shape(op.operands[0])) if found else -1


def _shared(batch: Sequence[int], operands: Sequence[Shape], results: Sequence[Shape]) -> FactorRule:
    """Dimensions `batch` are shared by all tensors but scalars; the others are not split."""
    f = Factors()
    shared = {d: f.new(operands[0][d], padding="") for d in batch}
    rows = [
        tuple(shared[d] if d in shared else f.replicated(n, _OPAQUE) for d, n in enumerate(s))
        for s in (*operands, *results)
    ]
    return f.rule(rows[: len(operands)], rows[len(operands) :], flops=_work(f.all, operands))


def _work(factors: Sequence[Factor], operands: Sequence[Shape]) -> float:
    """FLOPs, roughly: each element of the first operand is combined with a dimension, as in a factorization."""
    inner = max((f.size for f in factors if not f.splittable), default=1)
    return float(max(math.prod(operands[0]) if operands else 1, 1) * inner)


@lru_cache(maxsize=1024)
def annotated_rule(text: str, operands: tuple[Shape, ...], results: tuple[Shape, ...]) -> FactorRule | None:
    """The rule in a `#sdy.op_sharding_rule<([i, j])->([i, k]) {i=4, j=8, k=8}, custom>`; None if it does not fit.

    A factor may be split when it is in every result that is not a scalar, and Shardy neither reduces nor permutes
    nor replicates it: then a part of the batch comes from a part of the operands.  A result without it would be
    computed from a part of what it depends on.
    """
    found = _RULE.fullmatch(text)
    if found is None:
        return None
    sides = [[m[1] for m in _TENSOR.finditer(found[i])] for i in (1, 2)]
    sizes = {k.strip(): int(v) for k, v in (pair.split("=") for pair in found[3].split(",") if pair.strip())}
    special = set(_SYMBOL.findall(" ".join(re.findall(r"=\s*\{([^}]*)\}", found[4]))))
    shapes = [*operands, *results]
    tensors = [
        [tuple(_SYMBOL.findall(d)) for d in t.split(",")] if t.strip() else [] for t in (*sides[0], *sides[1])
    ]
    if [len(sides[0]), len(sides[1])] != [len(operands), len(results)] or [*map(len, tensors)] != [*map(len, shapes)]:
        return None
    outputs = [t for t in tensors[len(operands) :] if t]
    names = [s for s in sizes if sizes[s] > 1]
    free = {s for s in names if s not in special and all(any(s in d for d in t) for t in outputs)}
    free &= {s for t in tensors[: len(operands)] for d in t for s in d}
    number = {s: i for i, s in enumerate(names)}
    factors = tuple(Factor(sizes[s], None, s in free, "" if s in free else _OPAQUE) for s in names)
    rows: list[DimFactors] = [tuple(tuple(number[s] for s in d if s in number) for d in t) for t in tensors]
    for row, dims in zip(rows, shapes, strict=True):
        for parts, size in zip(row, dims, strict=True):
            if math.prod(factors[f].size for f in parts) != size and (parts or size > 1):
                return None
    work = _work(factors, operands)
    return FactorRule(factors, tuple(rows[: len(operands)]), tuple(rows[len(operands) :]), flops=work)
