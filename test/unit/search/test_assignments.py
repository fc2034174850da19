"""All strategies of an op at once are those one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_mlir import ir

from pcg.layout import Mesh, ShardSpec
from pcg.rules import rule_for
from pcg.rules.distinct import distinct
from pcg.rules.factor import Assignment, Factor, FactorRule
from pcg.rules.manual import ManualRule
from pcg.search.axis_specs import AxisSpecs
from pcg.search.port import Port
from pcg.search.table import Tables
from pcg.tools import op_samples
from support.rulecheck import context, last_op

MESHES = [Mesh.parse(text) for text in ("a=2,b=4", "b=2,a=2,c=2", "x=3,y=1,z=2")]


def brute_force(rule: FactorRule, mesh: Mesh, uneven: bool) -> list[Assignment]:
    """Every assignment that is legal, and whose parts are equal or, if `uneven`, have two elements at least."""
    does = range(-1, len(rule.factors) + len(rule.linear))
    options = [does if n > 1 else [-1] for n in mesh.sizes]
    every = (rule.assignment(choices, mesh) for choices in itertools.product(*options))

    def parts(a: Assignment) -> Iterator[tuple[Factor, int]]:
        return zip(rule.factors, map(mesh.axes_size, a.axes), strict=True)

    return [
        a for a in every
        if not rule.why_illegal(a, mesh)
        and all(n == 1 or (x.size > 1 and (x.divides(n) or (uneven and x.size >= 2 * n))) for x, n in parts(a))
    ]


@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_every_op(mesh: Mesh) -> None:
    """Specs, parts and assignments of the table of every op's rule; on a mesh whose axes are not in order of names too."""
    tables, seen = Tables(mesh), 0
    for text in op_samples.SAMPLES.values():
        with context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            rule = rule_for(last_op(module))
        table = tables.of_rule(rule)
        found = list(rule.strategies(mesh, uneven=True))
        assert table.assignments is not None and list(table.assignments) == found
        assert found[0].used == frozenset() and len(set(found)) == len(found)
        assert found == brute_force(rule, mesh, True)
        assert list(rule.strategies(mesh)) == brute_force(rule, mesh, False)
        for i, port in enumerate(table.ins):
            want = Port.of([rule.operand_spec(i, a) for a in found])
            assert port.specs == want.specs and port.ids.tolist() == want.ids.tolist()
        for i, port in enumerate(table.outs):
            want = Port.of([rule.result_spec(i, a) for a in found])
            assert port.specs == want.specs and port.ids.tolist() == want.ids.tolist()
        assert table.counts is not None
        assert table.counts.tolist() == [[mesh.axes_size(axes) for axes in a.axes] for a in found]
        assert table.assignments[len(found) - 1] == table.assignments[-1] == found[-1]
        assert table.assignments[1:3] == found[1:3]
        seen += len(found)
    assert seen > 1000


def test_a_rule_that_fixes_its_specs_keeps_them() -> None:
    """As that of a manual computation, which no axis tells."""
    mesh = MESHES[1]
    split, summed = ShardSpec.parse("[a, b]"), ShardSpec.parse("[-] sum(c)")
    rule = ManualRule(
        (Factor(mesh.size),), (((), ()),), (((),),), operand_specs=(split,), result_specs=(summed,)
    )  # fmt: skip
    table = Tables(mesh).of_rule(rule)
    assert list(table.assignments or ()) == [Assignment((mesh.names,))] and table.parts.tolist() == [mesh.size]
    assert [p.specs for p in (*table.ins, *table.outs)] == [(split,), (summed,)]
    only = Tables(mesh).only(rule, Assignment((mesh.names,)))
    assert [p.specs for p in (*only.ins, *only.outs)] == [(split,), (summed,)]


@pytest.mark.parametrize("mesh", MESHES, ids=str)
@pytest.mark.parametrize("shape", [(), (8,), (12, 5), (4, 1, 24)], ids=str)
@pytest.mark.parametrize("partial", [None, "sum", "max"])
def test_a_value_may_be_kept_in_every_even_layout(mesh: Mesh, shape: tuple[int, ...], partial: str | None) -> None:
    want = set()
    for places in itertools.product(range(-2, len(shape)), repeat=len(mesh.axes)):
        dims = [tuple(a for a, p in zip(mesh.names, places, strict=True) if p == d) for d in range(len(shape))]
        idle = any(p != -1 and mesh.axis_size(a) == 1 for a, p in zip(mesh.names, places, strict=True))
        waits = [(a, partial or "") for a, p in zip(mesh.names, places, strict=True) if p == -2]
        even = all(n % mesh.axes_size(axes) == 0 and (n > 1 or not axes) for n, axes in zip(shape, dims, strict=True))
        if even and not idle and (partial or not waits):
            want.add(ShardSpec.of(dims, waits))
    specs = Tables(mesh).of_value(shape, partial).outs[0].specs
    assert set(specs) == want and len(specs) == len(want) and specs[0] == ShardSpec.replicated(len(shape))


def test_equal_specs_are_one_object() -> None:
    specs = AxisSpecs.on(2, ("a", "b"))
    does = np.array([[specs.split(0), specs.partial("max")], [AxisSpecs.IDLE, specs.split(1)]])
    (first, second), kinds = specs.of(does[[0, 1, 0]])
    assert (str(first), str(second), kinds.tolist()) == ("[a, -] max(b)", "[-, b]", [0, 1, 0])
    assert AxisSpecs.on(2, ("a", "b")).of(does)[0][0] is first


@given(st.integers(0, 2**32 - 1), st.integers(0, 30), st.integers(0, 5), st.sampled_from([1, 2, 7, 2**20, 2**40]))
def test_distinct_rows(seed: int, rows: int, columns: int, most: int) -> None:
    """Also where rows as one number would not fit into one."""
    rng = np.random.default_rng(seed)
    picked = rng.integers(0, most, (max(1, rows // 3), columns))
    table = picked[rng.integers(0, len(picked), rows)]
    first, kinds = distinct(table, most)
    seen: dict[tuple[int, ...], int] = {}
    assert kinds.tolist() == [seen.setdefault(tuple(row), len(seen)) for row in table.tolist()]
    assert [tuple(row) for row in table[first].tolist()] == list(seen)
    assert len(first) <= max(1, math.prod([most] * columns))
