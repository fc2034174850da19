"""Which room may import which: the arrows of the design, read from the source text."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pcg.tools.architecture import ORDER

ROOT = Path(__file__).resolve().parents[2]
#: Package directories as they are in the repository, by the room's name.
TOP_ROOMS = {"dialects": ROOT / "dialects", "passes": ROOT / "passes", "tools": ROOT / "tools"}
CORE = ROOT / "python" / "pcg"
WITHOUT_MLIR = ["kernels", "layout", "machine", "solve", "pipeline", "controller", "cost", "propagate", "reshard"]
JAX = {"jax", "jaxlib", "flax"}
JAX_ROOMS = {"api", "frontend", "runtime"}
HEAVY = {"jax", "jaxlib", "scipy", "ray", "z3", "torch", "matplotlib"}


@dataclass(frozen=True)
class Import:
    """One imported module name; `lazy` if inside a function."""

    file: Path
    line: int
    module: str
    lazy: bool

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.module}"


def room_of_file(file: Path) -> str:
    """`reshard` for python/pcg/reshard/planner.py, "" for modules directly in python/pcg."""
    for name, directory in TOP_ROOMS.items():
        if file.is_relative_to(directory):
            return name
    parts = file.relative_to(CORE).parts
    return parts[0] if len(parts) > 1 else ""


def room_of_module(module: str) -> str | None:
    """The room of a module of ours, None for others'."""
    parts = module.split(".")
    if parts[0] != "pcg":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in rooms() else ""


@functools.cache
def rooms() -> frozenset[str]:
    core = {d.name for d in CORE.iterdir() if d.is_dir() and d.name != "__pycache__"}
    return frozenset(core | set(TOP_ROOMS))


def imports_of(file: Path) -> Iterator[Import]:
    def visit(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            inner = lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(file, child.lineno, alias.name, lazy)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{file}:{child.lineno}: relative import; write the full name"
                for alias in child.names:
                    yield Import(file, child.lineno, f"{child.module}.{alias.name}", lazy)
            yield from visit(child, inner)

    yield from visit(ast.parse(file.read_text(encoding="utf-8")), False)


@functools.cache
def all_imports() -> tuple[Import, ...]:
    files = [f for d in (CORE, *TOP_ROOMS.values()) for f in sorted(d.rglob("*.py")) if "__pycache__" not in f.parts]
    return tuple(i for f in files for i in imports_of(f))


def test_every_room_has_a_place():
    assert rooms() == set(ORDER) - {""}


def test_no_file_stands_outside_a_room():
    assert [f.name for f in CORE.glob("*.py")] == ["__init__.py"]


def test_every_room_is_packaged():
    import tomllib

    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {"pcg"}
    for directory, prefix in ((CORE, "pcg"), *((d, f"pcg.{n}") for n, d in TOP_ROOMS.items())):
        for init in directory.rglob("__init__.py"):
            found.add(".".join([prefix, *init.parent.relative_to(directory).parts]))
    assert listed == found


def test_arrows_point_one_way():
    """Lazy imports and those for types included."""
    wrong = []
    for i in all_imports():
        here, there = room_of_file(i.file), room_of_module(i.module)
        if there is not None and ORDER.index(there) > ORDER.index(here):
            wrong.append(f"{i}: '{there or 'pcg'}' is above '{here}'")
    assert not wrong, "\n".join(wrong)


def modules() -> dict[str, Path]:
    """Name -> file of every module."""
    found = {}
    for directory, prefix in ((CORE, ["pcg"]), *((d, ["pcg", n]) for n, d in TOP_ROOMS.items())):
        for file in directory.rglob("*.py"):
            parts = [*prefix, *file.relative_to(directory).with_suffix("").parts]
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def graph_of_modules() -> dict[str, set[str]]:
    """Module -> the modules that it names in imports.

    That importing `pcg.layout.mesh` runs `pcg/layout/__init__.py` as well does not count.
    """
    found = modules()
    name_of = {file: name for name, file in found.items()}
    graph: dict[str, set[str]] = {name: set() for name in found}
    for i in all_imports():
        target = i.module
        while target and target not in found:  # the name of something in a module
            target = target.rpartition(".")[0]
        if target and target != name_of[i.file]:
            graph[name_of[i.file]].add(target)
    return graph


def circles(graph: Mapping[str, Collection[str]]) -> list[str]:
    """The nodes from which a way leads back to themselves."""
    left = {n: set(targets) for n, targets in graph.items()}
    while done := {n for n, targets in left.items() if not targets & left.keys()}:  # Kahn (1962), from both ends
        left = {n: targets for n, targets in left.items() if n not in done}
    while done := {n for n in left if not any(n in targets for targets in left.values())}:
        left = {n: targets for n, targets in left.items() if n not in done}
    return sorted(left)


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c", "x"}, "c": {"a", "d"}, "d": set(), "e": {"a"}, "x": set()}) == ["a", "b", "c"]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_modules_import_each_other():
    """Inside of a room neither, lazy imports and those for types included."""
    graph = graph_of_modules()
    assert sum(map(len, graph.values())) > 1000
    round_and_round = circles(graph)
    wrong = [f"{m} imports {', '.join(sorted(graph[m] & {*round_and_round}))}" for m in round_and_round]
    assert not wrong, "\n".join(wrong)


def test_jax_is_imported_only_where_it_may_be():
    wrong = []
    for i in all_imports():
        if i.module.split(".")[0] in JAX:
            here = room_of_file(i.file)
            if not (here in JAX_ROOMS or (here == "tools" and i.lazy)):
                wrong.append(str(i))
    assert not wrong, "\n".join(wrong)


def test_only_ir_touches_private_bindings():
    wrong = [
        str(i)
        for i in all_imports()
        if i.module.startswith("torch_mlir.") and any(p.startswith("_") for p in i.module.split("."))
        if room_of_file(i.file) != "ir"
    ]
    assert not wrong, "\n".join(wrong)


def test_theory_does_not_import_mlir():
    wrong = [str(i) for i in all_imports() if room_of_file(i.file) in WITHOUT_MLIR if i.module.startswith("torch_mlir")]
    assert not wrong, "\n".join(wrong)


def test_propagate_knows_rules_but_not_their_registry():
    names = {i.module for i in all_imports() if room_of_file(i.file) == "propagate"}
    rules = {m for m in names if m.startswith("pcg.rules")}
    assert {m.rpartition(".")[0] for m in rules} <= {"pcg.rules.factor"}


def _loaded_after(code: str) -> set[str]:
    out = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print('\\n'.join(sys.modules))"],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert out.returncode == 0, out.stderr
    return {m.split(".")[0] for m in out.stdout.split()}


def test_theory_does_not_import_mlir_indirectly():
    modules = []
    for room in set(WITHOUT_MLIR) - {"propagate"}:  # it uses pcg.rules.factor, whose package has the registry
        for f in sorted((CORE / room).rglob("*.py")):
            parts = f.relative_to(CORE).with_suffix("").parts
            modules.append(".".join(["pcg", *(p for p in parts if p != "__init__")]))
    assert modules
    assert "torch_mlir" not in _loaded_after("import " + ", ".join(modules))


@pytest.mark.parametrize("arguments", [["--version"], ["--auto-parallel", "--lower", "--mesh", "data=2"]], ids=str)
def test_pcg_opt_imports_nothing_heavy(arguments, tmp_path):
    program = tmp_path / "a.mlir"
    program.write_text(
        "func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"
        "  %0 = stablehlo.tanh %a : tensor<4x4xf32>\n  return %0 : tensor<4x4xf32>\n}\n"
    )
    out = tmp_path / "out.mlir"
    argv = [str(program), "-o", str(out), *arguments]
    loaded = _loaded_after(
        f"import io, sys; from pcg.tools.pcg_opt import main; keep = sys.stdout; sys.stdout = io.StringIO()\n"
        f"assert main({argv!r}) == 0; sys.stdout = keep"
    )
    assert not loaded & HEAVY


def test_importing_pcg_does_not_import_jax():
    assert not _loaded_after("import pcg") & HEAVY


def test_pcg_opt_loads_what_it_runs(tmp_path):
    """It starts fast because a pass, and the library behind it, is loaded when a pipeline names it."""
    program, out = tmp_path / "a.mlir", tmp_path / "out.mlir"
    program.write_text("func.func @main() { return }\n")
    code = f"from pcg.tools.pcg_opt import main\nassert main({[str(program), '-o', str(out)]!r}) == 0"
    listed = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print('\\n'.join(sys.modules))"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    ).stdout.split()  # fmt: skip
    loaded = {room_of_module(m) for m in listed} - {None, ""}
    assert loaded == {"dialects", "ir", "layout", "machine", "passes", "pipeline", "tools"}
    passes = {m.removeprefix("pcg.passes.") for m in listed if m.startswith("pcg.passes.")}
    assert passes == {"base", "pipeline", "pipelines"}
