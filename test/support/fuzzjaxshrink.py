"""Cutting a failing case down: fewer results, statements, layouts, options and devices, while it still fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from support.fuzzjax import rename
from support.fuzzjaxprogram import Body, Case, Program, Setting, Statement, Var, clean


def shrink(case: Case, fails: Callable[[Case], bool], seconds: float = 120) -> Case:
    """The smallest case found within `seconds` that `fails` still holds for."""
    end = time.monotonic() + seconds
    changed = True
    while changed:
        changed = False
        for smaller in candidates(case):
            if time.monotonic() > end:
                return case
            if fails(smaller):
                case, changed = smaller, True
                break
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Cases with something less, the largest cuts first."""
    p, s = case.program, case.setting
    for at in range(len(p.statements) - 1):  # everything up to one statement
        if p.statements[at].operands:
            prefix = replace(p, returns=p.statements[at].results)
            if [v.id for v in prefix.returns] != [v.id for v in p.returns]:
                yield _of(case, prefix)
    if len(p.returns) > 1:
        for v in p.returns:
            yield _of(case, replace(p, returns=(v,)))
        for i in range(len(p.returns)):
            yield _of(case, replace(p, returns=(*p.returns[:i], *p.returns[i + 1 :])))
    for at in range(len(p.statements) - 1, -1, -1):
        yield from (_of(case, q) for q in _without(p, at))
    yield from (replace(case, setting=t) for t in _settings(s))


def _settings(s: Setting) -> Iterator[Setting]:
    for name in ("outs", "ins", "donate", "options", "device_ids"):
        held = getattr(s, name)
        if held:
            yield replace(s, **{name: ()})
            if len(held) > 1 and name != "device_ids":
                for i in range(len(held)):
                    yield replace(s, **{name: (*held[:i], *held[i + 1 :])})
    for i, (axis, n) in enumerate(s.mesh):
        for smaller in (1, 2, 3):
            if smaller < n and not s.device_ids:
                yield replace(s, mesh=(*s.mesh[:i], (axis, smaller), *s.mesh[i + 1 :]))


def _of(case: Case, program: Program) -> Case:
    """The case with another program; layouts stay with the variables that they were given for."""
    program = clean(program)
    before, s = case.program, case.setting
    at = {v.id: i for i, v in enumerate(program.arguments)}
    arguments = [at.get(v.id) for v in before.arguments]
    back = {v.id: i for i, v in enumerate(program.returns)}
    results = [back.get(v.id) for v in before.returns]
    return replace(case, program=program, setting=replace(
        s, ins=_moved(s.ins, arguments), outs=_moved(s.outs, results),
        donate=tuple(j for i in s.donate if (j := arguments[i]) is not None),
    ))  # fmt: skip


def _moved(given: tuple[tuple[int, str], ...], to: list[int | None]) -> tuple[tuple[int, str], ...]:
    return tuple((j, text) for i, text in given if (j := to[i]) is not None)


def _without(p: Program, at: int) -> Iterator[Program]:
    """Programs without statement `at`, or with less of it."""
    s = p.statements[at]
    if s.shard:
        by = {s.results[0].id: s.operands[0]}
        rest = tuple(rename(x, by) for x in p.statements[at + 1 :])
        yield replace(
            p, statements=(*p.statements[:at], *rest), returns=tuple(by.get(v.id, v) for v in p.returns)
        )
        return
    arguments = tuple(replace(v, bound=min(v.bound, 3)) for v in s.results)
    if s.operands:  # its results become arguments
        yield _input(p, at, arguments)
    for operand in s.operands:  # or an operand of the same type
        if len(s.results) == 1 and (operand.shape, operand.dtype) == (s.results[0].shape, s.results[0].dtype):
            by = {s.results[0].id: operand}
            rest = tuple(rename(x, by) for x in p.statements[at + 1 :])
            yield replace(p, statements=(*p.statements[:at], *rest), returns=tuple(by.get(v.id, v) for v in p.returns))
    for i, body in enumerate(s.bodies):
        for smaller in _bodies(body):
            bodies = (*s.bodies[:i], smaller, *s.bodies[i + 1 :])
            yield replace(p, statements=(*p.statements[:at], replace(s, bodies=bodies), *p.statements[at + 1 :]))


def _input(p: Program, at: int, made: tuple[Var, ...]) -> Program:
    return replace(
        p, arguments=(*p.arguments, *made), statements=(*p.statements[:at], *p.statements[at + 1 :]),
        returns=tuple(v for v in p.returns if v.id not in {x.id for x in made}) or made,
    )  # fmt: skip


def _bodies(body: Body) -> Iterator[Body]:
    """Nested functions with a statement less: its results are zeros."""
    for i, s in enumerate(body.statements):
        if not s.operands:
            continue
        zeros = tuple(Statement((v,), f"jnp.zeros({v.shape}, '{v.dtype}')") for v in s.results)
        yield replace(body, statements=(*body.statements[:i], *zeros, *body.statements[i + 1 :]))
    for i, v in enumerate(body.returns):
        zero = Statement((v,), f"jnp.zeros({v.shape}, '{v.dtype}')")
        made = [s for s in body.statements if v.id in {x.id for x in s.results}]
        if made and made[0].operands and len(made[0].results) == 1:
            yield replace(body, statements=(zero,), returns=body.returns) if len(body.returns) == 1 else body
        del i
