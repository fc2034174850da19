"""Models annotated only at inputs and weights (`bench/annotated.py`), at their tiny size on eight CPU devices.

Run: one training step equals jax's on one device, within float32 rounding (sums cut into pieces: a few 1e-6 of a leaf's
largest value; 1e-4 allows for the few hundred terms and for a momentum step on them). Counted: pcg moves no more bytes
than Shardy's propagation of the same annotations, through pcg's lowering or XLA's. On this machine model latency would
decide for such small models, and time may be traded for bytes; links without latency make bytes the measure.
"""

from __future__ import annotations

import jax
import pytest

from bench import propagation_vs_shardy as bench
from bench.annotated import CASES
from bench.collectives import of_stablehlo_text
from bench.hlo import of_hlo
from support.close import assert_close
from support.training import SLOW_DEVICES, assert_trees_close

MODELS = ["block megatron", "dlrm rows", "lstm data"]


def test_every_case_is_annotated() -> None:
    """Every model splits its data and, unless it is data-parallel, some weights; specs fit the shapes."""
    for name, case in CASES.items():
        if case.module.startswith("bench."):
            pytest.importorskip({"equinox": "equinox", "haiku": "haiku", "nnx": "flax"}[case.module.split("_")[-1]])
        model = case.build()
        specs = jax.tree.leaves(model.in_specs[0], is_leaf=bench.is_spec)
        assert any(any(s) for s in specs) == (case.style != "data"), name
        assert any(any(s) for s in jax.tree.leaves(model.in_specs[2], is_leaf=bench.is_spec)), name
        for s, leaf in zip(specs, jax.tree.leaves(model.shapes[0]), strict=True):
            assert len(s) <= len(leaf.shape), name


@pytest.mark.parametrize("name", MODELS)
def test_runs_like_one_device(name: str) -> None:
    model = CASES[name].build(tiny=True)
    args = model.arguments()
    got = bench.compiled_by_pcg(model, machine=SLOW_DEVICES)(*args)
    want = jax.jit(model.step)(*args)
    assert_trees_close(got[:2], want[:2], 1e-4)
    assert_close(got[2], want[2], 1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_moves_no_more_than_shardy(name: str) -> None:
    model = CASES[name].build(tiny=True)
    ours = of_stablehlo_text(bench.compiled_by_pcg(model, machine=bench.BYTES_ONLY).as_text("local"))
    lowered = bench.jitted_by_jax(model).lower(*model.shapes)
    theirs = of_hlo(lowered.compile().as_text(), 8)
    imported = bench.propagated_by_shardy(lowered, model.case.mesh, machine=bench.BYTES_ONLY)
    least = min(theirs.wire_bytes, of_stablehlo_text(imported.as_text("local")).wire_bytes)
    assert least > 0 and ours.wire_bytes <= least * 1.001 + 64
