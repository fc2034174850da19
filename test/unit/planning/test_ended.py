"""A plan from a search that was ended early: by a time limit, or by Ctrl-C."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pcg
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.passes.dist_insert_reshards import InsertReshardsPass
from pcg.passes.dist_verify import VerifyPass
from pcg.passes.pcg_search import SearchPass
from pcg.passes.pipeline import Pipeline
from pcg.solve import ilp

STEP = Path(__file__).parents[3] / "examples" / "transformer_step.mlir"


def searched(**options: object) -> SearchPass:
    module = load_module(STEP.read_text(), make_context(), STEP.name)
    search = SearchPass(mesh="data=2,model=4", progress=False, **options)
    Pipeline(["pcg-normalize", search, InsertReshardsPass(), VerifyPass()]).run(module)
    return search


def remark(search: SearchPass) -> str:
    return next(text for _, text in search.remarks if text.startswith("plan:"))


def test_a_time_limit_gives_a_plan_that_is_no_worse_than_the_simple_ones() -> None:
    search = searched(time_limit=0.0)
    assert remark(search).endswith("; ended by the time limit")
    assert search.outcome is not None and search.outcome.bound <= search.outcome.seconds
    assert all(search.outcome.seconds <= a.seconds for a in search.outcome.alternatives)
    assert "ended" not in remark(searched(time_limit=3600.0))


@pytest.mark.usefixtures("in_the_foreground")
def test_so_does_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    ascend, before = ilp.ascend, signal.getsignal(signal.SIGINT)
    seen = []

    def interrupted(*args: object, **options: object) -> object:
        if not seen:
            os.kill(os.getpid(), signal.SIGINT)
        seen.append(args)
        return ascend(*args, **options)

    monkeypatch.setattr(ilp, "ascend", interrupted)
    search = searched()
    assert len(seen) == 1 and remark(search).endswith("; ended by Ctrl-C")
    assert signal.getsignal(signal.SIGINT) is before


def test_such_a_plan_computes_the_same() -> None:
    def f(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.tanh(x @ w) @ w.T

    x, w = np.random.default_rng(0).standard_normal((2, 16, 16), np.float32)
    planned = pcg.compile(f, "data=2,model=4", time_limit=0.0)
    np.testing.assert_allclose(planned(x, w), f(x, w), rtol=1e-5, atol=1e-5)


def test_limits_that_are_none() -> None:
    with pytest.raises(PcgError, match="option 'time-limit' is -1; allowed: 0 or more"):
        searched(time_limit=-1.0)
    with pytest.raises(PcgError, match="option 'time-limit' is for algorithm=exact"):
        searched(time_limit=1.0, algorithm="unity")
