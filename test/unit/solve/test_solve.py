"""The solver and its program: optimal where the optimum is known, what it returns fits, and there is always an answer."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.kernels.native import load_all
from pcg.solve import elimination_kernels, expansion_kernels, kernels, memory_kernels
from pcg.solve.first import first
from pcg.solve.model import flatten
from pcg.solve.problem import Infeasible, Problem, write_problem
from pcg.solve.processes import search
from pcg.solve.reduce_problem import reduce
from pcg.solve.solve import solve
from pcg.tools.pcg_solve import main
from support.solvefamily import exact, layered, optimum, small


@pytest.fixture(scope="module", autouse=True)
def compiled():
    load_all(kernels, elimination_kernels, expansion_kernels, memory_kernels)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_small_problems_are_solved_to_the_optimum(seed):
    p = small(seed, nodes=7)
    want = optimum(p)
    if want is None:
        with pytest.raises(Infeasible, match="limit") as caught:
            solve(p, 2.0)
        assert caught.value.needed > p.limit
        return
    got = solve(p, 2.0)
    assert p.cost(got.strategies) == got.cost == want
    assert p.peak(got.strategies) == got.peak
    assert p.limit is None or got.peak <= p.limit
    assert got.bound <= want


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tight", [0.12, 0.35])
def test_layers_of_a_model_are_solved_to_the_optimum(seed, tight):
    p = layered(seed, layers=3, width=4, tight=tight)
    want = exact(p)
    for seconds in (2.0, 8.0, 32.0):  # how far it gets depends on what else the machine does
        got = solve(p, seconds)
        assert got.peak <= p.limit and got.bound <= want
        if got.cost == want:
            break
    assert got.cost == want


def test_a_limit_that_binds_costs_more():
    loose, tight = layered(1, tight=1.0), layered(1, tight=0.05)
    assert solve(loose, 3.0).cost < solve(tight, 3.0).cost


def test_a_large_problem_has_a_good_answer_in_seconds():
    p = layered(0, layers=40, width=12, tight=0.2)
    for seconds in (6.0, 24.0):
        got = solve(p, seconds)
        assert got.peak <= p.limit
        if got.gap < 0.1:
            break
    assert got.gap < 0.1


def test_there_is_an_answer_where_there_is_no_time_to_search():
    p = layered(0, layers=40, width=12, tight=0.2)
    # There is an answer nevertheless.
    for seconds in (0.0, 1e-3, 0.3):
        got = solve(p, seconds)
        assert got.peak <= p.limit and got.cost == p.cost(got.strategies)


def test_forbidden_costs_are_paid_where_nothing_else_is_left():
    never = np.array([[10**18, 10**18 + 5]])
    p = Problem(
        [np.array([1]), np.array([2, 1])], [np.array([0]), np.array([3, 9])], np.array([[0, 1], [0, 1]]), np.array([[0, 1]]),
        [never], 5,
    )  # fmt: skip
    got = solve(p, 1.0)
    assert got.strategies == [0, 0] and got.cost == 10**18 + 3


def test_a_searching_process_that_is_ended_is_replaced():
    p = layered(4, layers=30, width=6, tight=0.1)
    model = flatten(reduce(p))
    ended = []

    def end():
        time.sleep(0.5)
        for child in multiprocessing.active_children():
            child.kill()
            ended.append(child)

    threading.Thread(target=end).start()
    start = time.monotonic()
    best, bound = search(model, start + 4.0, start + 4.0, 0, 1)
    assert ended
    assert bound <= model.energy(best) and model.fits(best)


def test_no_nodes_and_no_limit():
    empty = Problem([], [], np.zeros((0, 2), dtype=np.int64), np.zeros((0, 2), dtype=np.int64), [], None)
    got = solve(empty, 1.0)
    assert (got.strategies, got.cost, got.gap) == ([], 0, 0.0)
    p = layered(2)
    p.limit = None
    assert solve(p, 2.0).gap < 0.05


def test_the_program_writes_what_the_contest_wants(tmp_path, capsys):
    p = layered(5, layers=2)
    write_problem(p, tmp_path / "p.json.gz")
    assert main([str(tmp_path / "p.json.gz"), "3", "-o", str(tmp_path / "out")]) == 0
    x = json.loads((tmp_path / "out").read_text().splitlines()[-1])
    assert p.feasible(x)
    assert f"cost {p.cost(x)}\npeak {p.peak(x)}, limit {p.limit}" in capsys.readouterr().err
    assert main([str(tmp_path / "p.json.gz"), "3"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(p.costs)


def test_the_program_says_what_limit_would_do(tmp_path, capsys):
    p = layered(5, layers=2)
    p.limit = 1
    write_problem(p, tmp_path / "p.json")
    assert main([str(tmp_path / "p.json"), "3"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("pcg-solve: at time step") and "limit 1, needed " in err
    # The least that can be live at the worst step is a limit below which nothing fits.
    needed = int(err.split("needed ")[1].split()[0])
    assert 1 < needed <= p.peak([int(u.argmin()) for u in p.usages])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["none.json", "3"], "none.json"),
        (["bad.json", "3"], "bad.json: not JSON"),
        (["bad.json", "0"], "SECONDS: '0'; allowed: a finite number above 0"),
        (["bad.json", "nan"], "SECONDS: 'nan'; allowed: a finite number above 0"),
        (["bad.json", "3", "--processes", "0"], "--processes: '0'; allowed: a whole number, 1 or more"),
        (["bad.json", "3", "--seed", "-1"], "--seed: '-1'; allowed: a whole number from 0 to"),
        (["good.json", "3", "-o", "none/out"], "no folder"),
    ],
)
def test_the_program_fails_with_a_sentence(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text("[1")
    write_problem(layered(1, layers=1), tmp_path / "good.json")
    try:
        status = main(arguments)
    except SystemExit as stopped:
        status = stopped.code
    assert status == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1


def test_tiny_problems_are_solved_at_once_and_without_compiled_loops(tmp_path):
    for seed in range(6):
        p = small(seed, nodes=5)
        if optimum(p) is None:
            continue
        write_problem(p, tmp_path / "p.json")
        code = (
            "import sys; from pcg.tools.pcg_solve import main; status = main(sys.argv[1:]);"
            " assert 'llvmlite' not in sys.modules; sys.exit(status)"
        )
        command = [sys.executable, "-c", code, str(tmp_path / "p.json"), "0.05"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert p.cost(json.loads(done.stdout)) == optimum(p)
        assert "gap 0.000%" in done.stderr


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_first_answer_is_the_best_of_tiny_problems(seed):
    p = small(seed, nodes=7)
    want = optimum(p)
    if want is None:
        with pytest.raises(Infeasible):
            first(p, np.inf)
        return
    got = first(p, np.inf)
    assert got.proven and got.cost == want == p.cost(got.strategies)
    assert p.limit is None or p.peak(got.strategies) <= p.limit


def test_costs_of_any_size_are_costs():
    """Real costs beyond 10^15, and beyond what 64 bits add up to."""
    a, b = 4 * 10**15, 9 * 10**18
    p = Problem(
        [np.array([a, a + 1]), np.array([b, b - 1])], [np.array([1, 1])] * 2, np.array([[0, 2]] * 2), np.array([[0, 1]]),
        [np.array([[b, b], [b - 7, b]])], 5,
    )  # fmt: skip
    got = solve(p, 5.0)
    assert got.strategies == [1, 0] and got.cost == a + 1 + b + b - 7
    assert got.bound <= got.cost


def test_what_is_forbidden_is_more_than_all_else():
    def problem(*costs):
        n = len(costs)
        return Problem(
            [np.array(c) for c in costs], [np.array([0, 0])] * n, np.zeros((n, 2), dtype=np.int64),
            np.zeros((0, 2), dtype=np.int64), [], None,
        )  # fmt: skip

    assert problem([1, 10**18], [2, 3]).forbidden == 10**18
    assert problem([1, 2], [3, 4]).forbidden is None
    assert problem([1, 2 * 10**15], [2, 3 * 10**15]).forbidden == 2 * 10**15
    # Together the others may cost as much: these are costs like any other.
    assert problem(*[[1, 9 * 10**14]] * 3, [0, 2 * 10**15]).forbidden is None


def test_times_of_any_size():
    far = 10**12
    p = Problem(
        [np.array([5, 1])] * 3, [np.array([1, 4])] * 3, np.array([[0, far], [far - 1, 2 * far], [2 * far, 2**62]]),
        np.zeros((0, 2), dtype=np.int64), [], 5,
    )  # fmt: skip
    got = solve(p, 5.0)
    assert (got.cost, got.peak) == (7, 5)
    assert p.usage([0, 0, 0]).tolist() == [1, 2, 1, 1]
    p.limit = 1
    with pytest.raises(Infeasible, match=f"at time step {far - 1} .* limit 1, needed 2 or more"):
        solve(p, 5.0)
    p.limit = 10**30
    assert solve(p, 5.0).cost == 3
