"""Predicted memory against XLA's own, and the shape of its schedules, on small training steps."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from jax.sharding import PartitionSpec

import pcg

#: (model, mesh, overrides, whether parameters and state are donated)
CASES: dict[str, tuple[str, str, dict[str, Any], bool]] = {
    "mlp": ("unity_mlp", "data=2,model=2", {"batch": 256, "hidden": 512}, True),
    "mlp, nothing donated": ("unity_mlp", "data=4", {"batch": 256, "hidden": 512}, False),
    "gpt in a loop": ("gpt3", "data=4", {"scan": True, "layers": 2}, True),
}


@pytest.mark.parametrize("name", CASES)
def test_memory_is_near_what_xla_says(name: str):
    module, mesh, overrides, donate = CASES[name]
    step, arguments = importlib.import_module(f"examples.{module}").shapes("small", **overrides)
    specs = (PartitionSpec(), PartitionSpec(), PartitionSpec("data"))
    compiled = pcg.compile(
        step, mesh, donate_argnums=(0, 1) if donate else (), in_shardings=specs, strategy="dataflow"
    )
    executable = compiled.lower(*arguments)
    xla = executable.compiled.memory_analysis()
    total = xla.argument_size_in_bytes + xla.output_size_in_bytes - xla.alias_size_in_bytes + xla.temp_size_in_bytes
    simulation = compiled.simulate(backend="cpu")
    assert simulation.argument_bytes == xla.argument_size_in_bytes
    assert simulation.peak_bytes == pytest.approx(total, rel=0.3)
    assert simulation.peak_bytes > simulation.argument_bytes
    donated = compiled.cost.peak_bytes
    assert donated == compiled.simulate().peak_bytes
