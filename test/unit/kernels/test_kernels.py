"""Loops as machine code: against plain numpy, what they are not for, and where they are kept."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.kernels import native
from pcg.kernels.native import Flags, FloatRows, Floats, IntRows, Ints, kernel
from pcg.kernels.paths import shortest

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_shortest_paths(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    length = np.where(rng.random((n, n)) < 0.4, rng.integers(1, 9, (n, n)), np.inf)
    rows = np.cumsum([0, *np.isfinite(length).sum(axis=1)])
    columns = np.ascontiguousarray(np.nonzero(np.isfinite(length))[1])
    want = length.copy()
    np.fill_diagonal(want, 0)
    for k in range(n):
        want = np.minimum(want, want[:, [k]] + want[[k], :])
    found = shortest(np.arange(n), rows, columns, length[np.isfinite(length)])
    np.testing.assert_array_equal(found, want)


@kernel
def twice(value: float) -> float:
    return 2 * value


@kernel
def total(weights: Floats, at: Ints, use: Flags, rows: FloatRows, counts: IntRows, more: int, out: Floats) -> float:
    found = twice(weights[0]) + more
    for i in range(len(at)):
        if use[i]:
            found += weights[at[i]] * rows[i, 1] * counts[1, i]
            out[i] = found
    return found


@kernel
def any_above(values: Ints, limit: int) -> bool:
    for v in values:
        if v > limit:
            return True
    return False


@kernel
def copied(values: Floats) -> None:
    values[:] = values.copy()


def test_every_kind_of_parameter_and_result():
    weights, at, use = np.array([0.5, 2.0, 4.0]), np.array([2, 1, 0]), np.array([True, False, True])
    rows, counts, out = np.arange(6.0).reshape(3, 2), np.arange(6).reshape(2, 3), np.zeros(3)
    assert total(weights, at, use, rows, counts, 7, out) == 1 + 7 + 4 * 1 * 3 + 0.5 * 5 * 5
    assert out.tolist() == [20.0, 0.0, 32.5]
    assert any_above(np.array([1, 5]), 4) is True and any_above(np.array([1, 5]), 5) is False
    assert any_above(np.zeros(0, np.int64), 0) is False
    assert twice(1.5) == 3.0


@pytest.mark.parametrize("values", [np.zeros(3), np.zeros((2, 2), np.int64), np.zeros(6, np.int64)[::2]])
def test_what_is_no_such_array_is_refused(values):
    with pytest.raises(TypeError, match="any_above: .* allowed: contiguous int64 in 1"):
        any_above(values, 0)


def test_a_kernel_that_allocates_is_refused():
    with pytest.raises(TypeError, match="copied: a kernel cannot use what numba needs NRT_"):
        copied(np.zeros(2))


_PROGRAM = """
import sys
sys.path.insert(0, {!r})
import loops, numpy as np
assert loops.least(np.array([3.0, 1.5, 2.0])) == 1.5
sys.exit("numba" in sys.modules)
"""
_LOOPS = """from __future__ import annotations
import numpy as np
from pcg.kernels.native import Floats, kernel

@kernel
def least(values: Floats) -> float:
    found = np.inf
    for v in values:
        found = min(found, v)
    return found
"""


@pytest.fixture
def compiled(monkeypatch):
    """Names of the kernels that numba compiles, as it does."""
    names = []
    monkeypatch.setattr(native, "_object", lambda k, make=native._object: names.append(k.function.__name__) or make(k))
    return names


def imported(directory, name):
    """A module as a new process has it."""
    spec = importlib.util.spec_from_file_location(name, directory / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_process_that_finds_machine_code_does_not_import_numba(tmp_path):
    (tmp_path / "loops.py").write_text(_LOOPS)
    command = [sys.executable, "-c", _PROGRAM.format(str(tmp_path))]
    assert [subprocess.run(command, check=False).returncode for _ in range(2)] == [1, 0]


def test_machine_code_is_kept_until_its_source_changes(tmp_path, monkeypatch, compiled):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    beside, cache = tmp_path / "__pycache__", tmp_path / "cache" / "pcg" / "kernels"
    (tmp_path / "loops.py").write_text(_LOOPS)

    def compiles() -> bool:
        compiled.clear()
        assert imported(tmp_path, "loops").least(np.array([3.0, 1.5, 2.0])) == 1.5
        return compiled == ["least"]

    assert compiles() and not compiles()
    (kept,) = beside.glob("loops.least.*")
    kept.write_bytes(kept.read_bytes()[:-1])  # damaged
    assert compiles() and not compiles()
    (tmp_path / "loops.py").write_text(_LOOPS.replace("np.inf", "1e300"))
    assert compiles() and not compiles()
    assert not cache.exists()
    beside.rename(tmp_path / "other")
    beside.write_text("")  # no folder can be there
    assert compiles() and not compiles()
    assert len(list(cache.iterdir())) == 1
    cache.rename(tmp_path / "elsewhere")
    cache.write_text("")
    assert compiles() and compiles()  # kept nowhere


def test_machine_code_changes_with_what_it_calls(tmp_path, monkeypatch, compiled):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    head = "from __future__ import annotations\nfrom pcg.kernels.native import kernel\n"
    (tmp_path / "outer.py").write_text(
        head + "from inner import more\n\n@kernel\ndef twice_more(n: int) -> int:\n    return 2 * more(n)\n"
    )
    for added, found, makes in ((1, 12, True), (1, 12, False), (20, 50, True)):
        (tmp_path / "inner.py").write_text(head + f"\n@kernel\ndef more(n: int) -> int:\n    return n + {added}\n")
        monkeypatch.setitem(sys.modules, "inner", imported(tmp_path, "inner"))
        compiled.clear()
        assert imported(tmp_path, "outer").twice_more(5) == found
        assert compiled == ["twice_more"] * makes
    assert len(list((tmp_path / "__pycache__").glob("outer.twice_more.*"))) == 2
