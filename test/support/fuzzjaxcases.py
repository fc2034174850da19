"""Programs that fuzzing found something with, cut down: each with what was wrong."""

from __future__ import annotations

from collections.abc import Sequence

from support.fuzzjaxprogram import Case, Program, Setting, Statement, Var


def _case(arguments: Sequence[Var], statements: Sequence[Statement], **setting: object) -> Case:
    """A case that returns what the last statement makes."""
    program = Program(tuple(arguments), tuple(statements), statements[-1].results)
    return Case(1, program, Setting(**setting))  # type: ignore[arg-type]


def _f32(id: int, *shape: int, wild: bool = False) -> Var:
    return Var(id, shape, "float32", wild=wild)


def _index(id: int, *shape: int) -> Var:
    return Var(id, shape, "int32", 8)


def _shard(of: Var, id: int, layout: str) -> Statement:
    return Statement((Var(id, of.shape, of.dtype, of.bound),), f"shard({{0}}, {layout})", (of,), shard=True)


def _clipped_scatter() -> Case:
    i, u, x = _index(4), _f32(6), _f32(3, 13)
    asked = _shard(x, 8, "('a',)")
    s = Statement((_f32(7, 13),), "{0}.at[{1}].add({2}, mode='clip')", (asked.results[0], i, u))
    return _case((i, u, x), (asked, s), mesh=(("a", 2), ("b", 1)), strategy="dataflow")


def _set_one() -> Case:
    x = _f32(1, 8, 6)
    s = Statement((_f32(2, 8, 6),), "{0}.at[5].set(0.)", (x,))
    return _case((x,), (s,), mesh=(("a", 4),), strategy="dataflow", ins=((0, "P()"),), outs=((0, "P('a')"),))


def _start_of_reduce() -> Case:
    x = _f32(1, 4)
    s = Statement((_f32(2),), "lax.reduce({0}, np.float32(3), lax.add, (0,))", (x,))
    return _case((x,), (s,), mesh=(("y", 4),), strategy="dataflow", ins=((0, "P('y')"),))


def _empty_parts() -> Case:
    x = _f32(3, 3, 2)
    s = Statement((_f32(13, 3, 2),), "lax.associative_scan(jnp.add, {0}, axis=1, reverse=True)", (x,))
    return _case((x,), (s,), mesh=(("data", 2), ("model", 3)), strategy="bfs", ins=((0, "P(None, None)"),))


def _rolled_by_nothing() -> Case:
    x = _f32(1, 9)
    s = Statement((_f32(2, 9),), "jnp.roll({0}, 0, axis=0)", (x,))
    return _case((x,), (s,), mesh=(("a", 2),), strategy="search")


def _four_bits() -> Case:
    x = Var(1, (3, 8), "int4", 3)
    s = Statement((Var(2, (3, 8), "int4", 3),), "{0} + {0}", (x,))
    return _case((x,), (s,), mesh=(("x", 2),), strategy="data")


#: Name -> what was wrong, and the case.
CASES: dict[str, tuple[str, Case]] = {
    "scatter of one element, clipped": ("XLA merges a device's own slice with a clipped one, and loses the clip", _clipped_scatter()),
    "one row set in a value that is cut afterwards": ("the same, where the update is a constant row", _set_one()),
    "reduction of shards of one element": ("XLA drops the start of a reduction of one element", _start_of_reduce()),
    "associative scan of two": ("lowering of a slice of no elements with a stride", _empty_parts()),
    "roll by 0": ("the rule of a slice of no elements named a factor that there is not", _rolled_by_nothing()),
    "integers of four bits": ("arrays of them were not placed as XLA wants them", _four_bits()),
}  # fmt: skip
