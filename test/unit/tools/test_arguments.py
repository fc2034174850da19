"""Numbers on command lines: what is none, or out of range, is refused in one line by every tool."""

from __future__ import annotations

import importlib
import math

import pytest

from pcg.ir.transformation import Bytes
from pcg.tools import pcg_run
from pcg.tools.options import UsageError, parse

LOWERED = """module attributes {pcg.in_specs = ["[x]"], pcg.mesh = "x=2", pcg.out_specs = ["[x]"]} {
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
}
"""


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("pcg_run", ["--tolerance", "nan"], "--tolerance: 'nan'; allowed: a finite number, 0 or more"),
        ("pcg_run", ["--tolerance", "inf"], "--tolerance: 'inf'; allowed: a finite number, 0 or more"),
        ("pcg_run", ["--tolerance=-1e-3"], "--tolerance: '-1e-3'; allowed: a finite number, 0 or more"),
        ("pcg_run", ["--tolerance", "1e999"], "--tolerance: '1e999'; allowed: a finite number, 0 or more"),
        ("pcg_run", ["--repeat", "0"], "--repeat: '0'; allowed: a whole number, 1 or more"),
        ("pcg_run", ["--seed=-1"], "--seed: '-1'; allowed: a whole number from 0 to"),
        ("pcg_run", ["--seed", "1e3"], "--seed: '1e3'; allowed: a whole number from 0 to"),
        ("pcg_run", ["--seeds", "0"], "--seeds: '0'; allowed: a whole number, 1 or more"),
        ("pcg_solve", ["nan"], "SECONDS: 'nan'; allowed: a finite number above 0"),
        ("pcg_solve", ["0"], "SECONDS: '0'; allowed: a finite number above 0"),
        ("pcg_solve", ["3", "--processes", "0"], "--processes: '0'; allowed: a whole number, 1 or more"),
        ("pcg_calibrate", ["--rounds", "0"], "--rounds: '0'; allowed: a whole number, 1 or more"),
        ("pcg_cluster", ["start", "--islands", "0"], "--islands: '0'; allowed: a whole number, 1 or more"),
        ("pcg_cluster", ["start", "--memory", "1e9"], "--memory: '1e9'; allowed: a whole number, 1 or more"),
        ("pcg_cluster", ["begin"], "argument start|status|stop: invalid choice: 'begin'"),
    ],
)
def test_numbers_are_checked_where_they_are_read(tool, arguments, says, capsys):
    program = [] if tool in ("pcg_calibrate", "pcg_cluster") else ["a.mlir"]
    with pytest.raises(SystemExit) as stopped:
        importlib.import_module(f"pcg.tools.{tool}").main([*program, *arguments])
    err = capsys.readouterr().err
    assert stopped.value.code == 2 and says in err and err.count("\n") == 1


def test_pcg_opt_says_it_too():
    with pytest.raises(UsageError, match="--devices: '-2'; allowed: a whole number, 1 or more"):
        parse(["a.mlir", "--devices=-2"])
    with pytest.raises(UsageError, match="--lint-budget: '0'; allowed: a whole number, 1 or more"):
        parse(["a.mlir", "--lint-budget=0"])


@pytest.mark.parametrize("value", ["nan", "-1", "inf", "1e999", math.nan, math.inf, -1, -0.5])
def test_numbers_of_bytes_are_finite_and_not_negative(value):
    with pytest.raises(ValueError, match="is not a number of bytes"):
        Bytes(value)
    assert Bytes("1.5e3") == 1500 and Bytes(0) == 0


def test_options_of_passes_are_finite():
    from pcg.passes.pcg_search import SearchPass

    with pytest.raises(ValueError, match="option 'gradient-overlap': expected a finite number, got 'nan'"):
        SearchPass.from_options("gradient-overlap=nan")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--check"], "a lowered program does not say what it was made from; give --reference FILE to --check it"),
        (["--mesh", "x=4"], "the program was lowered for mesh x=2; --mesh is x=4"),
        (["--explain"], "--explain needs the program before lowering; this one is lowered already"),
        (["--reference", "b.mlir"], "--reference goes with --check"),
    ],
)
def test_what_a_lowered_program_cannot_do_is_said(arguments, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lowered.mlir").write_text(LOWERED)
    assert pcg_run.main(["lowered.mlir", *arguments]) == 2
    assert says in capsys.readouterr().err
