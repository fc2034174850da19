"""When MLIR's verifier runs: after every pass, or once where the passes are those of a named pipeline."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from torch_mlir import ir

from pcg.ir.walk import entry, walk
from pcg.lower.verify import VerifyLayouts
from pcg.rewrite.normalize import Normalize
from pcg.tools.pcg_opt import main

PROGRAM = Path(__file__).parents[3] / "examples" / "mlp.mlir"
PLAN = ("--auto-parallel", "--mesh=a=2", str(PROGRAM), "-o", os.devnull)


def breaking(run: Callable[..., None]) -> Callable[..., None]:
    """A pass that leaves a dot_general without its dimension numbers."""

    def broken(self: object, module: ir.Operation) -> None:
        run(self, module)
        op = next(op for op in walk(entry(module)) if op.name == "stablehlo.dot_general")
        del op.attributes["dot_dimension_numbers"]

    return broken


def test_what_a_named_pipeline_leaves_is_verified(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert not main(list(PLAN))
    monkeypatch.setattr(VerifyLayouts, "run", breaking(VerifyLayouts.run))
    assert main(list(PLAN)) == 1
    assert "requires attribute 'dot_dimension_numbers'" in capfd.readouterr().err


def test_after_every_pass_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    after: list[str] = []
    monkeypatch.setattr(Normalize, "run", breaking(Normalize.run))
    monkeypatch.setattr(VerifyLayouts, "run", lambda self, module: after.append("verify"))
    for flags in (["--verify-each", *PLAN], ["--pcg-normalize", "--dist-verify", str(PROGRAM), "-o", os.devnull]):
        assert main(flags) == 1
        assert "requires attribute 'dot_dimension_numbers'" in capfd.readouterr().err and not after
