"""Damaged files are refused in one line, or accepted and right; `bench/fuzz_files.py` damages more of them."""

from __future__ import annotations

import random
import shlex

import pytest

from support import filekinds, mutate

#: Seeds by kind: what the default suite runs, and what the slow one does.
FEW = {"plan": 16, "mlir": 12, "run": 4, "bytecode": 8, "cluster": 4, "profile": 12, "contest": 8}
MANY = {name: 400 for name in FEW}


def sweep(name: str, seeds: range, few: bool) -> None:
    kind = filekinds.KINDS[name](few=few)
    for seed in seeds:
        data, fault = filekinds.one(kind, seed)
        assert not fault, f"seed {seed}: {fault}\n{data[:4000].decode(errors='backslashreplace')}"


@pytest.mark.parametrize("name", FEW)
def test_damaged_files(name):
    sweep(name, range(FEW[name]), few=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MANY)
def test_many_damaged_files(name):
    sweep(name, range(10_000, 10_000 + MANY[name]), few=False)


#: Programs with nothing, with nothing to do, and of nothing.
SMALLEST = {
    "no function": "module {}",
    "no op": "func.func @main() { return }",
    "a number": "func.func @main(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }",
    "empty": "func.func @main(%a: tensor<0x4xf32>) -> tensor<0x4xf32> { return %a : tensor<0x4xf32> }",
}


@pytest.mark.parametrize("what", SMALLEST)
def test_smallest_programs(what, tmp_path):
    """Whatever pcg-opt can do, it does to programs that have next to nothing."""
    path = tmp_path / "program.mlir"
    path.write_text(SMALLEST[what])
    for flags in filekinds.PIPELINES:
        run = filekinds.opt([str(path), *shlex.split(flags)])
        run.reader = f"pcg-opt {flags}"
        assert not run.fault()


MESH = '"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [2], []>, axes = 3 : i64} : () -> ()\n'
T = "tensor<8xf32>"
#: Programs that some pass ended in an internal error for, and what they are given to.
FOUND = [
    (f"func.func @other(%a: {T}) -> {T} {{ return %a : {T} }}", "--pcg-recompute=memory-limit=10", "32 B"),
    (f"func.func public @a(%a: {T}) -> {T} {{ return %a : {T} }} func.func public @b() {{ return }}", "--sdy-import", ""),
    (f"{MESH}func.func @main(%a: {T}) -> {T} {{ return %a : {T} }}", "--dist-refine-mesh", ""),
    (f"{MESH}func.func @main(%a: {T}) -> {T} {{ return %a : {T} }}", "--auto-parallel", ""),
    (
        MESH + f"func.func @main(%a: {T}) -> {T} {{ %0 = \"dist.constraint\"(%a) {{axes = 3, spec = #dist.shard_spec<@mesh, [[]], {{}}>}} : ({T}) -> {T} return %0 : {T} }}",
        "--dist-refine-mesh", "",
    ),
]


@pytest.mark.parametrize(("text", "flags", "says"), FOUND)
def test_what_was_found(text, flags, says, tmp_path):
    path = tmp_path / "program.mlir"
    path.write_text(text)
    run = filekinds.opt([str(path), *shlex.split(flags)])
    assert not run.fault() and says in run.err and run.accepted == (not says)


def test_files_follow_from_their_seed():
    kind = filekinds.Contests()
    files = [kind.mutated(random.Random(s)) for s in range(30)]
    assert files == [filekinds.Contests().mutated(random.Random(s)) for s in range(30)] and len(set(files)) > 25


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        (filekinds.Run("tool", 1, "", "tool: error: no\n"), ""),
        (filekinds.Run("tool", 0, "fine", ""), ""),
        (filekinds.Run("tool", 1, "", ""), "tool: exit status 1 without an error"),
        (filekinds.Run("tool", 1, "", "tool: error: a\ntool: error: b\n"), "tool: 2 lines of errors"),
        (filekinds.Run("tool", 1, "", "tool: error: internal error: KeyError: 'x'"), "tool: internal error: KeyError: '...'"),
        (filekinds.Run("tool", 0, "", "Traceback (most recent call last):"), "tool: a traceback on stderr"),
        (filekinds.Run("tool", 1, "", "", "KeyError at plan.py:read"), "tool: KeyError at plan.py:read"),
    ],
)  # fmt: skip
def test_what_a_fault_is(run, fault):
    assert run.fault() == fault


def test_a_wrong_result_is_a_fault():
    """What is accepted is executed: a program of one device that computes something else is told."""
    module = 'module attributes {pcg.mesh = "x=1", pcg.in_specs = ["[-]"], pcg.out_specs = ["[-]"]} {'
    program = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{\n %0 = stablehlo.{} %a : tensor<4xf32>\n return %0 : tensor<4xf32>\n}}\n"
    plain, other = program.format("negate"), module + program.format("abs") + "}"
    assert filekinds.computed("x", plain, other).raised == "results differ"
    assert filekinds.computed("x", plain, other.replace("abs", "negate")).raised == ""


def test_a_file_is_cut_down_to_what_matters():
    lines = b"".join(b"line %d\n" % i for i in range(40)) + b"the word is here\n"
    assert mutate.minimise(lines, lambda d: b"word" in d).strip() == b"word"
