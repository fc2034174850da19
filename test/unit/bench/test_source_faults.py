"""Faults of bench/source_faults.py and the sample of bench/fault_sample.py."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from bench.fault_sample import sample
from bench.source_faults import Fault, faults_of, planted

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ["rules", "lower", "reshard", "search", "simulate"]

#: One line of a function `def f(a, b, xs) -> ANNOTATION`, and the lines that faults make of it.
LINES = {
    "comparison": ("x = a < b <= 3.5", {"x = a <= b <= 3.5", "x = a < b < 3.5"}),
    "comparison ": ("x = a not in b", {"x = a in b"}),
    "arithmetic": ("x = (a) * (b - xs)", {"x = (a) + (b - xs)", "x = (a) * (b + xs)"}),
    "constant": ("x = xs[3]", {"x = xs[4]", "x = xs[2]"}),
    "constant ": ("x = True, 0.5", {"x = False, 0.5", "x = True, 1.0"}),
    "not": ("x = not a", {"x = a"}),
    "not ": ("x = [y for y in xs if b(y)]", {"x = [y for y in xs if not (b(y))]"}),
    "opposite": ("x = max(xs) + np.argmin(b)", {"x = min(xs) + np.argmin(b)", "x = max(xs) + np.argmax(b)"}),
    "connective": ("x = a and b or xs", {"x = a or b or xs", "x = a and b and xs"}),
    "arguments": ("x = g(a, b + 1, b + 1)", {"x = g(b + 1, a, b + 1)"}),
    "branch": ("x = a if b else xs", {"x = a if False and (b) else xs", "x = a if True or (b) else xs"}),
    "statement": ("xs.append(a)", {"pass"}),
    "statement ": ("xs[a] = b", {"pass"}),
    "statement  ": ("raise ValueError(a < 3)", {"pass"}),
}


def lines(text: str, kind: str) -> set[str]:
    """The second line with each fault of a kind."""
    return {planted(text, f).splitlines()[1].strip() for f in faults_of("x.py", text) if f.kind == kind}


@pytest.mark.parametrize("kind", LINES)
def test_kinds(kind: str) -> None:
    line, expected = LINES[kind]
    assert lines(f"def f(a, b, xs):\n    {line}\n", kind.strip()) == expected


def test_defaults_of_arguments_and_fields() -> None:
    assert lines("class A:\n    size: int = 3\n", "default") == {"size: int = 4", "size: int = 2"}
    assert lines("\ndef f(a=False, *, b=1): ...\n", "default") == {
        "def f(a=True, *, b=1): ...", "def f(a=False, *, b=2): ...", "def f(a=False, *, b=0): ...",
    }  # fmt: skip


@pytest.mark.parametrize(
    "annotation, wrong",
    [
        ("bool", "not (g(a))"), ("int", "(g(a)) + 1"), ("list[int]", "[] and (g(a))"), ("int | None", "None and (g(a))"),
        ("dict[str, int]", "{} and (g(a))"), ("str", None),
    ],
)  # fmt: skip
def test_returns_by_annotation(annotation: str, wrong: str | None) -> None:
    expected = {f"return {wrong}"} if wrong else set()
    assert lines(f"def f(a) -> {annotation}:\n    return g(a)\n", "return") == expected


def test_what_is_left_alone() -> None:
    text = '''"""If a < 3."""
from typing import TYPE_CHECKING
import logging
if TYPE_CHECKING:
    N = 3
Either = int | str
@cache(maxsize=3)
def f(a: Literal[3]) -> Literal[4]:
    """1 + 1."""
    assert a < 3, a + 1
    logging.warning("%s", a + 1)
    y = isinstance(a, int | str), [*zip(a, strict=True)]
    e = OddError(a + 1)
    return f"{a + 1}"
class A:
    def __repr__(self):
        return str(1 + 1)
'''
    assert [str(f) for f in faults_of("x.py", text)] == []


def test_lines_keep_their_numbers() -> None:
    text = "def f(xs) -> list:\n    xs.add(\n        1,\n        2,\n    )\n    return g(\n        xs,\n        3,\n    )\n\nlast = 1\n"
    changed = [planted(text, f) for f in faults_of("x.py", text)]
    assert changed and all(t.count("\n") == text.count("\n") for t in changed)
    for t in changed:
        assert isinstance(last := ast.parse(t).body[-1], ast.Assign) and last.lineno == 11


def test_text_beyond_ascii() -> None:
    assert lines('\nx = "\u00e9\u2603", 1\n', "constant") == {'x = "\u00e9\u2603", 2', 'x = "\u00e9\u2603", 0'}


def test_another_text_is_refused() -> None:
    (fault,) = faults_of("x.py", "x = not a\n")
    assert str(fault) == "x.py:1: not -> nothing"
    with pytest.raises(ValueError, match="no 'not '"):
        planted("y = a\n", fault)


@pytest.fixture(scope="module")
def forty() -> list[Fault]:
    return sample(ROOT, ROOMS, 40, 0)


def test_a_sample_is_the_same_each_time(forty: list[Fault]) -> None:
    assert sample(ROOT, ROOMS, 5, 0) == forty[:5] != sample(ROOT, ROOMS, 5, 1)


def test_faults_of_a_sample_are_valid(forty: list[Fault]) -> None:
    for f in forty:
        text = (ROOT / f.path).read_text()
        assert ast.dump(ast.parse(planted(text, f))) != ast.dump(ast.parse(text))
        assert planted(text, f).splitlines()[: f.line - 1] == text.splitlines()[: f.line - 1]


def test_a_sample_is_spread(forty: list[Fault]) -> None:
    assert Counter(Path(f.path).parts[2] for f in forty) == dict.fromkeys(ROOMS, 8)
    kinds = Counter(f.kind for f in forty)
    assert len(kinds) == 11 and max(kinds.values()) - min(kinds.values()) <= 2
    # The smallest room has fewer than eight files.
    assert max(Counter(f.path for f in forty).values()) <= 2


def test_too_large_a_sample(tmp_path: Path) -> None:
    room = tmp_path / "python/pcg/rules"
    room.mkdir(parents=True)
    (room / "a.py").write_text("x = not a\n")
    assert sample(tmp_path, ["rules"], 1, 0) == [Fault("python/pcg/rules/a.py", "not", 1, 4, "not ", "")]
    with pytest.raises(ValueError, match="rules: 1 faults found, 2 wanted"):
        sample(tmp_path, ["rules"], 2, 0)
    with pytest.raises(ValueError, match="no source below python/pcg/lower"):
        sample(tmp_path, ["lower"], 1, 0)
