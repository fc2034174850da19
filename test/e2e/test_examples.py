"""The examples themselves: they lower, they are what they say, and the shipped files come from them."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from examples import MODELS
from examples.dump_stablehlo import stablehlo_text
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.passes.pipeline import Pipeline

ROOT = Path(__file__).resolve().parents[2]
#: shipped file -> (model, size)
SHIPPED = {"mlp.mlir": ("unity_mlp", "wide"), "transformer_step.mlir": ("bert", "medium")}


@pytest.mark.parametrize("name", MODELS)
def test_shapes_are_those_of_the_arguments(name: str) -> None:
    example = importlib.import_module(f"examples.{name}")
    (step, args), (_, shapes) = example.make(), example.shapes()
    described = jax.tree.map(lambda a: (np.shape(a), str(a.dtype)), (args, shapes))
    assert described[0] == described[1]
    results = jax.eval_shape(step, *shapes)
    assert jax.tree.structure(results[:2]) == jax.tree.structure(shapes[:2])
    assert results[2].shape == ()


@pytest.mark.parametrize("name", MODELS)
def test_program_is_read_and_normalised(name: str) -> None:
    module = load_module(stablehlo_text(name, "small", {}, debug_info=True), make_context(), name)
    Pipeline("sdy-import,pcg-normalize").run(module)
    assert module.operation.verify()


@pytest.mark.parametrize(("scan", "least", "most"), [(False, 15_000, 20_000), (True, 1_000, 3_000)])
def test_bert_large_is_as_long_as_it_should_be(scan: bool, least: int, most: int) -> None:
    assert least <= len(stablehlo_text("bert", "large", {"scan": scan}).splitlines()) <= most


@pytest.mark.parametrize("file", SHIPPED)
def test_shipped_file_has_the_signature_of_its_model(file: str) -> None:
    model, size = SHIPPED[file]
    shipped = (ROOT / "examples" / file).read_text()
    assert len(shipped) < 400_000

    def arguments(text: str) -> str:
        return text.split("@main(")[1].split(") -> (")[0]

    assert arguments(shipped) == arguments(stablehlo_text(model, size, {}))


def test_dump_script_runs_by_its_path(tmp_path: Path) -> None:
    out = tmp_path / "gru.mlir"
    script = [sys.executable, "examples/dump_stablehlo.py", "rnn", "--set", "cell=gru", "-o", str(out)]
    subprocess.run(script, check=True, cwd=ROOT, capture_output=True)
    assert "stablehlo.while" in out.read_text()
    wrong = subprocess.run([*script[:3], "--size", "huge"], cwd=ROOT, capture_output=True, text=True)
    assert wrong.returncode == 2 and "no size 'huge'" in wrong.stderr
