"""Pass objects: options from text and back, byte sizes, the registry."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest
from torch_mlir import ir

from pcg import passes
from pcg.ir.transformation import Bytes, option
from pcg.passes.base import Pass
from pcg.passes.pipeline import Pipeline, summary

ROOT = Path(__file__).resolve().parents[3]


@dataclass
class ExamplePass(Pass):
    """An example."""

    name = "example"
    mesh: str = option("", "mesh")
    max_cost: float | None = option(None, "largest cost")
    count: int = 3
    axes: tuple[str, ...] = ()
    fast: bool = False
    memory_limit: Bytes | None = None
    how: str = option("best", "how", choices=("best", "first"))

    def run(self, module: ir.Operation) -> None:
        """Nothing to do."""


def test_registry_is_sorted_and_complete():
    names = passes.pass_names()
    assert list(names) == sorted(names)
    for name in names:
        cls = passes.lookup(name)
        assert cls is not None and issubclass(cls, Pass)
        assert cls.name == name
        assert summary(cls).endswith("."), f"{name}: the docstring starts with a sentence"


def test_every_pass_has_its_own_file():
    support = {"__init__", "base", "pipeline", "pipelines"}
    files = {f.stem for f in (ROOT / "passes").glob("*.py")} - support
    with_pass = {f for f in files if "name" in _class_variables(ROOT / "passes" / f"{f}.py")}
    assert with_pass == {name.replace("-", "_") for name in passes.pass_names()}


def _class_variables(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ClassDef) and any("Pass" in ast.unparse(b) for b in node.bases):
            for statement in node.body:
                if isinstance(statement, ast.Assign):
                    found |= {t.id for t in statement.targets if isinstance(t, ast.Name)}
                elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    found.add(statement.target.id)
    return found


def test_options_of_every_type():
    p = ExamplePass.from_options(
        "mesh=data=2,model=4 max-cost=1.5 count=7 axes=a,b fast memory-limit=2KiB how=first"
    )
    assert p == ExamplePass("data=2,model=4", 1.5, 7, ("a", "b"), True, Bytes(2048), "first")


def test_options_print_what_differs_from_the_default():
    text = "example{mesh=data=2 max-cost=1.5 axes=a,b fast=true}"
    assert str(ExamplePass.from_options(text[len("example{") : -1])) == text
    assert str(ExamplePass()) == "example"


def test_an_option_with_spaces_round_trips():
    p = ExamplePass(mesh="a b")
    assert ExamplePass.from_options(str(p)[len("example{") : -1]) == p


def test_underscore_in_an_option_is_a_dash():
    assert ExamplePass.from_options("max_cost=2").max_cost == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("y=1", "pass 'example' has no option 'y' (options: axes, count, fast, how, max-cost, memory-limit, mesh)"),
        ("count=x", "pass 'example', option 'count': expected int, got 'x'"),
        ("fast=yes", "pass 'example', option 'fast': expected true or false, got 'yes'"),
        ("how=worst", "pass 'example', option 'how': expected one of best, first, got 'worst'"),
        ("memory-limit=big", "'big' is not a number of bytes; write 16GiB, 512MB or 4096"),
        ("mesh='a", "pass 'example': cannot read options 'mesh='a'"),
    ],
)
def test_a_bad_option_says_what_is_allowed(options, message):
    with pytest.raises(ValueError) as error:
        ExamplePass.from_options(options)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("4096", 4096), ("16GiB", 16 * 2**30), ("512MB", 512 * 10**6), ("1.5k", 1536), ("2 TiB", 2**41), ("1e9", 10**9)],
)
def test_bytes(text, value):
    assert Bytes(text) == value


@pytest.mark.parametrize("text", ["", "GiB", "-1", "1XB", "1 2"])
def test_bytes_refuses(text):
    with pytest.raises(ValueError, match="is not a number of bytes"):
        Bytes(text)


def test_named_pipelines_parse():
    for name, p in passes.PIPELINES.items():
        assert str(Pipeline(name)) == str(Pipeline(str(p)))


def test_native_passes_exist():
    from pcg.ir.context import make_context

    with make_context():
        Pipeline(list(passes.NATIVE)).build()
