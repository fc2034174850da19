"""Delayed reductions: partial sums pass through linear ops where they are added to others before the reduction.

An op that contracts a split factor yields partial sums.  Reducing each at once is right but often
more than needed: the gradients of q, k and v with respect to their common input are added, and the
sum can be reduced once.  Reductions are moved behind linear ops wherever every reader of the
partial value can take it and fewer bytes are reduced in the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pcg.propagate.problem import PropagationProblem
from pcg.rules.factor import Assignment

#: Per value the (node, operand number) that read it.
_Users = dict[int, list[tuple[int, int]]]


@dataclass
class _Axis:
    """The delays over one mesh axis: `through[n]` is the linear rule by which node `n` passes partial values."""

    axis: str
    partial: dict[int, str]
    through: dict[int, int]


def delay_reductions(problem: PropagationProblem, assignments: list[Assignment | None]) -> int:
    """Extend `assignments` in place by linear passes; returns how many ops now work on partial values."""
    users: _Users = {}
    for n, node in enumerate(problem.nodes):
        for i, v in enumerate(node.operands):
            users.setdefault(v, []).append((n, i))
    local = _local_bytes(problem, assignments)
    count = 0
    for axis, size in problem.mesh.axes:
        if size == 1:
            continue
        state = _candidates(problem, assignments, axis)
        if not state.through:
            continue
        _prune(problem, state, users, _unusable(problem, state, users))
        _drop_growing(problem, state, users, local)
        _drop_useless(problem, state, users, local)
        for n, k in state.through.items():
            a = assignments[n]
            assert a is not None
            assignments[n] = replace(a, linear=tuple(sorted((*a.linear, (axis, k)))))
        count += len(state.through)
    return count


def _local_bytes(problem: PropagationProblem, assignments: list[Assignment | None]) -> list[float]:
    """Bytes of each value on one device, as its op yields it."""
    out = [v.size for v in problem.values]
    for node, a in zip(problem.nodes, assignments, strict=True):
        if a is None:
            continue
        for i, v in enumerate(node.results):
            split = [x for dim in node.rule.results[i] for f in dim for x in a.axes[f]]
            out[v] = problem.values[v].size / problem.mesh.axes_size(split)
    return out


def _candidates(problem: PropagationProblem, assignments: list[Assignment | None], axis: str) -> _Axis:
    """Every op that could take partial operands, if all its linear operands were left partial."""
    state = _Axis(axis, {}, {})
    for n, (node, a) in enumerate(zip(problem.nodes, assignments, strict=True)):
        if a is None:
            continue
        if axis in a.used:
            for f, axes in enumerate(a.axes):
                kind = node.rule.factors[f].reduce
                if kind and axis in axes:
                    state.partial.update((v, kind) for v in node.results)
            continue
        if not any(v in state.partial for v in node.operands):
            continue
        kinds = {node.rule.factors[f].reduce for f, axes in enumerate(a.axes) if axes and node.rule.factors[f].reduce}
        kinds |= {node.rule.linear[k].kind for _, k in a.linear}
        for k, linear in enumerate(node.rule.linear):
            if not linear.operands or (kinds and kinds != {linear.kind}):
                continue
            if all(state.partial.get(node.operands[i]) == linear.kind for i in linear.operands):
                state.through[n] = k
                state.partial.update((v, linear.kind) for v in node.results)
                break
    return state


def _partial_operands(problem: PropagationProblem, state: _Axis, n: int) -> list[int]:
    """The values that candidate `n` takes partial."""
    node = problem.nodes[n]
    return [node.operands[i] for i in node.rule.linear[state.through[n]].operands]


def _reads(problem: PropagationProblem, state: _Axis, n: int, i: int) -> bool:
    """Whether node `n` takes its operand `i` partial."""
    return n in state.through and i in problem.nodes[n].rule.linear[state.through[n]].operands


def _unusable(problem: PropagationProblem, state: _Axis, users: _Users) -> list[int]:
    """Candidates that read a value which some other reader needs reduced."""
    return [
        n for n in state.through
        if not all(_reads(problem, state, *u) for v in _partial_operands(problem, state, n) for u in users[v])
    ]


def _prune(problem: PropagationProblem, state: _Axis, users: _Users, bad: list[int]) -> None:
    """Drop candidates `bad`, and all that depend on them: readers of their results, other readers of their operands."""
    work = list(bad)
    while work:
        n = work.pop()
        if n not in state.through:
            continue
        node = problem.nodes[n]
        read = _partial_operands(problem, state, n)
        del state.through[n]
        for v in node.results:
            state.partial.pop(v, None)
        work += [m for v in (*node.results, *read) for m, i in users.get(v, ()) if _reads(problem, state, m, i)]


def _drop_growing(problem: PropagationProblem, state: _Axis, users: _Users, local: list[float]) -> None:
    """Drop candidates whose results are larger than what they read."""
    for n in sorted(state.through):
        if n in state.through:
            node = problem.nodes[n]
            read = set(_partial_operands(problem, state, n))
            if sum(local[v] for v in node.results) > sum(local[v] for v in read):
                _prune(problem, state, users, [n])


def _drop_useless(problem: PropagationProblem, state: _Axis, users: _Users, local: list[float]) -> None:
    """Drop connected groups that do not reduce fewer bytes, and trailing ops that only postpone."""
    for n in sorted(state.through, reverse=True):
        if n not in state.through:
            continue
        node = problem.nodes[n]
        read = set(_partial_operands(problem, state, n))
        last = not any(_reads(problem, state, *u) for v in node.results for u in users.get(v, ()))
        if last and all(len(users[v]) == 1 for v in read):
            if sum(local[v] for v in node.results) >= sum(local[v] for v in read):
                _prune(problem, state, users, [n])
    for group in _groups(problem, state):
        defined = {v for n in group for v in problem.nodes[n].results}
        read = {v for n in group for v in _partial_operands(problem, state, n)}
        if sum(local[v] for v in defined - read) >= sum(local[v] for v in read - defined):
            _prune(problem, state, users, sorted(group))


def _groups(problem: PropagationProblem, state: _Axis) -> list[set[int]]:
    """Candidates connected by partial values."""
    leader: dict[int, int] = {}
    groups: dict[int, set[int]] = {}
    for n in sorted(state.through):
        node = problem.nodes[n]
        touched = {*_partial_operands(problem, state, n), *node.results}
        joined = sorted({leader[v] for v in touched if v in leader})
        target = joined[0] if joined else n
        group = groups.setdefault(target, set())
        group.add(n)
        for other in joined[1:]:
            group |= groups.pop(other)
            for v, l in leader.items():
                if l == other:
                    leader[v] = target
        for v in touched:
            leader[v] = target
    return [groups[k] for k in sorted(groups)]
