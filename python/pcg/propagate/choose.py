"""From the layouts around an op to its strategy.

Where tensors agree the strategy follows them.  Where they do not, each axis splits the factor for which the fewest
bytes are redistributed and the least work is replicated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pcg.layout import Mesh, ShardSpec
from pcg.propagate.engine import Axes, project
from pcg.rules.factor import Assignment, FactorRule

#: FLOPs in the time of sending one byte: 1e14 FLOP/s over 1e11 B/s, the orders of magnitude of an A100 on NVLink.
_FLOPS_PER_BYTE = 1000.0


def choose_strategy(
    rule: FactorRule, operands: Sequence[ShardSpec], results: Sequence[ShardSpec], sizes: Sequence[float], mesh: Mesh
) -> Assignment:
    """The strategy of an op whose tensors have these layouts; `sizes` are bytes of operands, then results."""
    return _choose(rule, tuple(operands), tuple(results), tuple(sizes), mesh)


@lru_cache(maxsize=1 << 14)  # layers repeat
def _choose(
    rule: FactorRule, operands: tuple[ShardSpec, ...], results: tuple[ShardSpec, ...], sizes: tuple[float, ...],
    mesh: Mesh,
) -> Assignment:
    nothing = Assignment(((),) * len(rule.factors))
    if not rule.factors or not any(any(s.dims) for s in (*operands, *results)):
        return nothing
    tensors = [*rule.operands, *rule.results]
    specs = [*operands, *results]
    have = [project(rule, t, s.dims, mesh) for t, s in zip(tensors, specs, strict=True)]
    inside = [{f for dim in t for f in dim} for t in tensors]
    local = [size / max(mesh.axes_size(a for d in s.dims for a in d), 1) for s, size in zip(specs, sizes, strict=True)]
    chosen: dict[int, list[str]] = {}
    kinds: set[str] = set()
    for axis, n in mesh.axes:
        if n == 1 or not any(axis in d for s in specs for d in s.dims):
            continue
        at = [next((f for f, axes in found.items() if axis in axes), None) for found in have]
        options = [
            f for f in sorted({f for f in at if f is not None})
            if rule.factors[f].splittable and rule.fits(f, n * mesh.axes_size(chosen.get(f, ())))
            and (rule.factors[f].reduce is None or not kinds or rule.factors[f].reduce in kinds)
        ]  # fmt: skip
        if not options:
            continue
        if len(options) == 1 and _agreed(options[0], at, inside, len(operands)):
            best: int | None = options[0]
        else:
            best = min(
                (*options, None),
                key=lambda f: (_bytes(rule, f, axis, n, at, inside, specs, local, len(operands)), f is None, f or 0),
            )
        if best is not None:
            chosen.setdefault(best, []).append(axis)
            if kind := rule.factors[best].reduce:
                kinds.add(kind)
    return _legal(rule, chosen, have, local, mesh) or nothing


def _agreed(f: int, at: list[int | None], inside: list[set[int]], operands: int) -> bool:
    """Whether every operand with factor `f` is split there already."""
    return all(at[t] == f for t in range(operands) if f in inside[t]) and any(f in inside[t] for t in range(operands))


def _bytes(
    rule: FactorRule, f: int | None, axis: str, n: int, at: list[int | None], inside: list[set[int]],
    specs: list[ShardSpec], local: list[float], operands: int,
) -> float:  # fmt: skip
    """Bytes per device that are sent, roughly, when `axis` (of size `n`) splits factor `f`, or nothing (None)."""
    total = rule.flops / _FLOPS_PER_BYTE * (1.0 if f is None else 1.0 / n)
    for t, spec in enumerate(specs):
        has = any(axis in d for d in spec.dims)
        wants = f is not None and f in inside[t]
        shard = local[t] if has else local[t] / n
        if t >= operands and f is not None and rule.factors[f].reduce:
            total += shard * (n - 1) * (1 if has else 2)
        elif has and wants and at[t] == f:
            continue
        elif has and wants:
            total += shard * (n - 1) / n
        elif (has and t < operands) or (wants and t >= operands):
            total += shard * (n - 1)
    return total


def _legal(
    rule: FactorRule, chosen: dict[int, list[str]], have: list[dict[int, Axes]], local: list[float], mesh: Mesh
) -> Assignment | None:
    """The assignment of `chosen`, axes in the order of the largest tensor, the last ones dropped until it is legal."""
    for f, axes in chosen.items():
        weight: dict[Axes, float] = {}
        for found, size in zip(have, local, strict=True):
            if f in found:
                weight[found[f]] = weight.get(found[f], 0.0) + size
        order = max(weight, key=lambda o: (len(set(o) & set(axes)), weight[o]))
        axes.sort(key=lambda a: order.index(a) if a in order else len(order))
    while chosen:
        candidate = Assignment(tuple(tuple(chosen.get(f, ())) for f in range(len(rule.factors))))
        if not rule.why_illegal(candidate, mesh):
            return candidate
        last = max(chosen)
        chosen[last].pop()
        if not chosen[last]:
            del chosen[last]
    return None
