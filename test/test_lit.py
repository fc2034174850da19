"""How lit files run under pytest: one test each, failing, skipped or passed as lit says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

FILES = {
    "good.mlir": "// RUN: %pcg-opt %s | FileCheck %s\n// CHECK: module\nfunc.func @f() { return }\n",
    "bad.mlir": "// RUN: %pcg-opt %s | FileCheck %s\n// CHECK: something else\nfunc.func @f() { return }\n",
    "skipped.mlir": "// REQUIRES: a-feature-nobody-has\n// RUN: false\n",
    "data.mlir": "func.func @no_run_line() { return }\n",
    "Inputs/input.mlir": "// RUN: false\n",
}


def test_each_lit_file_is_one_test(tmp_path):
    (tmp_path / "Inputs").mkdir()
    (tmp_path / "support").mkdir()
    for name in ("conftest.py", "lit.cfg.py", "support/raycluster.py", "support/sweeps.py", "support/toolserver.py"):
        shutil.copy(HERE / name, tmp_path / name)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PCG_TEST", "PYTEST"))}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "--color=no", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True, text=True, check=False, cwd=tmp_path, env=env,
    )  # fmt: skip
    assert "1 failed, 1 passed, 1 skipped" in run.stdout, run.stdout + run.stderr
    assert "FAILED bad.mlir" in run.stdout and "PASSED good.mlir" in run.stdout
    assert "something else" in run.stdout, "the report shows what FileCheck says"


def test_every_lit_test_is_collected():
    """No `.mlir` below test/ with a RUN line is forgotten because of where it lies."""
    with_run = [f for f in HERE.rglob("*.mlir") if "RUN:" in f.read_text() and ".lit" not in f.parts]
    outside = [f for f in with_run if {"unit", "support"} & set(f.relative_to(HERE).parts)]
    assert not outside, "lit tests do not live below test/unit and test/support"
