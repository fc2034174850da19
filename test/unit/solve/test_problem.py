"""The problem: exact costs, the file format, and errors that name what is wrong."""

from __future__ import annotations

import copy
import gzip
import json

import numpy as np
import pytest

from pcg.solve.problem import Problem, ProblemError, parse_problem, problem_data, read_problem, write_problem
from support.solvefamily import small

GOOD = {
    "problem": {
        "nodes": {"intervals": [[0, 2], [1, 3]], "costs": [[1, 2], [3]], "usages": [[10, 20], [5]]},
        "edges": {"nodes": [[0, 1]], "costs": [[7, 9]]},
        "usage_limit": 20,
    }
}


def test_cost_and_usage():
    p = parse_problem(GOOD)
    assert p.cost([1, 0]) == 2 + 3 + 9
    assert p.usage([1, 0]).tolist() == [20, 25, 5]
    assert p.peak([0, 0]) == 15
    assert p.feasible([0, 0]) and not p.feasible([1, 0])


def test_costs_beyond_64_bits_are_exact():
    n = 30
    one = [np.array([10**18])] * n
    p = Problem(one, [np.array([0])] * n, np.zeros((n, 2), dtype=np.int64), np.zeros((0, 2), dtype=np.int64), [], None)
    assert p.cost([0] * n) == n * 10**18 > 2**63


@pytest.mark.parametrize("name", ["p.json", "p.json.gz"])
def test_round_trip(tmp_path, name):
    for seed in range(5):
        p = small(seed)
        write_problem(p, tmp_path / name)
        assert problem_data(read_problem(tmp_path / name)) == problem_data(p)


def test_equal_tables_are_one():
    data = copy.deepcopy(GOOD)
    data["problem"]["edges"] = {"nodes": [[0, 1], [0, 1]], "costs": [[7, 9], [7, 9]]}
    p = parse_problem(data)
    assert p.tables[0] is p.tables[1]


def _broken(*path, value):
    data = copy.deepcopy(GOOD)
    at = data["problem"]
    for key in path[:-1]:
        at = at[key]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return data


@pytest.mark.parametrize(
    "data, message",
    [
        ({}, "the file has no 'problem'"),
        (_broken("edges", value=None), "problem has no 'edges'"),
        (_broken("nodes", "costs", value=3), "'costs' is a int; want a list"),
        (_broken("nodes", "costs", 0, value=[1, 2, 3]), "node 0 has 3 costs, but 2 usages"),
        (_broken("nodes", "costs", 1, value=[]), "node 1 has no strategy"),
        (_broken("nodes", "costs", 0, value=[1, 2.5]), "node 0: costs: entry 1 is 2.5; want a whole number"),
        (_broken("nodes", "costs", 0, value=[1, "x"]), "node 0: costs: entry 1 is 'x'; want a whole number"),
        (_broken("nodes", "costs", 0, value=[-4, 2]), "node 0, strategy 0: cost -4 is negative"),
        (_broken("nodes", "costs", 0, value=[1, 2**64]), "node 0: costs: entry 1 is 18446744073709551616"),
        (_broken("nodes", "usages", 1, value=[-5]), "node 1, strategy 0: usage -5 is negative"),
        (_broken("nodes", "usages", 0, value=[2**62, 1]), "usages add up to"),
        (_broken("nodes", "intervals", 1, value=[3]), r"node 1: interval is \[3\]; want two whole numbers"),
        (_broken("nodes", "intervals", 1, value=[-1, 3]), "node 1: interval starts at -1"),
        (_broken("nodes", "intervals", value=[[0, 1]]), "2 nodes have costs, 2 usages and 1 intervals"),
        (_broken("edges", "nodes", 0, value=[0, 2]), "edge 0 names node 2; nodes are 0 to 1"),
        (_broken("edges", "costs", 0, value=[7, 9, 1]), "edge 0 between nodes 0 and 1 has 3 costs; want 2"),
        (_broken("edges", "costs", 0, value=[7, -9]), "edge 0: cost -9 is negative"),
        (_broken("edges", "costs", value=[]), "1 edges, but 0 lists of edge costs"),
        (_broken("usage_limit", value="much"), "usage_limit is 'much'"),
        (_broken("usage_limit", value=-1), "usage_limit is -1"),
        (_broken("usage_limit", value=True), "usage_limit is True; want a whole number"),
        (_broken("nodes", "costs", 0, value=[True, 2]), "node 0: costs: entry 0 is True; want a whole number"),
        (_broken("nodes", "costs", 0, value=[10**30, 2]), "node 0: costs: entry 0 is 1000.*, which does not fit in 64 bits"),
        (_broken("nodes", "costs", 0, value=[1, 2**63]), "node 0: costs: entry 1 is 9223.*, which does not fit in 64 bits"),
        (_broken("nodes", "costs", 0, value=[1.5, 2]), "node 0: costs: entry 0 is 1.5; want a whole number"),
        (_broken("nodes", "costs", 0, value=[float("nan"), 2]), "entry 0 is nan; want a whole number"),
        (_broken("nodes", "costs", 0, value="9" * 500), "node 0: costs is '999.* \\.\\.\\.; want a list"),
        (_broken("nodes", "intervals", 0, value=[0, 10**30]), "node 0: interval: entry 1 is 1000.*64 bits"),
        (_broken("nodes", "intervals", 0, value=[0, True]), "node 0: interval: entry 1 is True"),
    ],
)
def test_errors_name_the_place_and_the_value(data, message):
    with pytest.raises(ProblemError, match=message):
        parse_problem(data)


def test_files_that_are_not_json(tmp_path):
    (tmp_path / "a").write_text("{")
    with pytest.raises(ProblemError, match="not JSON"):
        read_problem(tmp_path / "a")
    (tmp_path / "b").write_bytes(gzip.compress(json.dumps(GOOD).encode())[:30])
    with pytest.raises(ProblemError, match="broken gzip"):
        read_problem(tmp_path / "b")
    with pytest.raises(OSError):
        read_problem(tmp_path / "none")
    spoilt = bytearray(gzip.compress(json.dumps(GOOD).encode()))
    spoilt[12] ^= 0xFF
    odd = {
        "digits": b'{"problem": ' + b"9" * 5000 + b"}", "deep": b"[" * 200_000, "bytes": b'{"a": "\xff"}',
        "gzip": bytes(spoilt), "boolean": json.dumps(_broken("nodes", "costs", 0, value=[True, 2])).encode(),
    }  # fmt: skip
    for name, data in odd.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ProblemError, match=name if name == "gzip" else f"{name}: ") as caught:
            read_problem(tmp_path / name)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
