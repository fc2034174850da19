"""Integer programs."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.solve.mip import Rows

NUMBERS = st.integers(-9, 9)


def minimise(cost, rows):
    program = Rows()
    for row, lower, upper in rows:
        program.add(dict(enumerate(row)), lower, upper)
    n = len(cost)
    return program.minimise(np.array(cost, dtype=float), np.zeros(n), np.ones(n), n, gap=0.0, nodes=1000)


@settings(deadline=None)
@given(st.data())
def test_it_finds_the_least_cost(data):
    n = data.draw(st.integers(1, 5))
    cost = data.draw(st.lists(NUMBERS, min_size=n, max_size=n))
    rows = data.draw(st.lists(st.tuples(st.lists(NUMBERS, min_size=n, max_size=n), NUMBERS, st.integers(0, 12)), max_size=3))
    rows = [(row, lower, lower + width) for row, lower, width in rows]
    allowed = [
        x for x in itertools.product((0, 1), repeat=n) if all(a <= np.dot(row, x) <= b for row, a, b in rows)
    ]
    solved = minimise(cost, rows)
    if not allowed:
        assert solved.values is None
        return
    best = min(float(np.dot(cost, x)) for x in allowed)
    assert np.dot(cost, solved.values) == pytest.approx(best)
    assert solved.bound <= best + 1e-6
    assert tuple(np.rint(solved.values)) in allowed


def test_others_may_use_highs_in_the_same_process():
    import highspy

    theirs = highspy.Highs()
    theirs.setOptionValue("output_flag", False)
    theirs.setOptionValue("threads", 2)
    theirs.addVar(0.0, 1.0)
    theirs.run()
    assert minimise([-1, -1], [((1, 1), 0, 1)]).values.sum() == 1
    theirs.run()
    assert theirs.getSolution().col_value == [0.0]


def test_it_prints_nothing():
    """HiGHS 1.16 writes its name to the process's stdout, where a plan may go."""
    code = "import numpy as np; from pcg.solve.mip import Rows; print('before'); r = Rows(); r.add({0: 1.0}, 1.0, 1.0); "
    code += "s = r.minimise(np.ones(1), np.zeros(1), np.ones(1), 1, gap=0.0, nodes=9); print(s.values)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "before\n[1.]\n" and not done.stderr
