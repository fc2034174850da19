"""Plans as documents: saved, read, given back, refused."""

from __future__ import annotations

import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from support.close import assert_close

MESH = {"data": 2, "model": 4}
RNG = np.random.default_rng(0)
PARAMS = {"w1": RNG.normal(size=(256, 512)).astype("f"), "w2": RNG.normal(size=(512, 256)).astype("f")}
X = RNG.normal(size=(64, 256)).astype("f")


def loss(params, x):
    def layer(x, _):
        return jnp.tanh(x @ params["w1"]) @ params["w2"], None

    return jax.lax.scan(layer, x, None, length=2)[0].sum()


def step(params, x):
    value, grad = jax.value_and_grad(loss)(params, x)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, grad), value


def local_text(compiled):
    """The lowered program without notes of the search on its signature."""
    return re.sub(r", pcg\.state = \d+ : i64", "", compiled.as_text("local"))


@pytest.fixture(scope="module")
def compiled():
    fixed = ({"w1": P(None, "model"), "w2": None}, P("data"))
    compiled = pcg.compile(step, MESH, in_shardings=fixed)
    compiled.lower(PARAMS, X)
    return compiled


def test_saved_and_given_back(compiled, tmp_path):
    path = tmp_path / "plan.json"
    compiled.plan.save(path)
    loaded = pcg.Plan.load(path)
    assert loaded == compiled.plan
    for strategy in (loaded, str(path), path):
        again = pcg.compile(step, MESH, strategy=strategy)
        again.lower(PARAMS, X)
        assert local_text(again) == local_text(compiled)
    new, value = again(PARAMS, X)
    expected = jax.jit(step)(PARAMS, X)
    assert_close(value, expected[1], 2e-3)
    assert_close(new["w1"], expected[0]["w1"], 1e-3)


def test_the_document_is_for_people(compiled):
    text = compiled.plan.to_json()
    document = json.loads(text)
    assert document["mesh"]["axes"] == MESH
    assert {"name": "params['w1']", "type": "f32[256,512]", "spec": "[-, model]"} in document["arguments"]
    assert any(o["op"] == "stablehlo.dot_general" and "test_plan.py" in o["where"] for o in document["operations"])
    assert '    {"name": "x", "type": "f32[64,256]", "spec": "[data, -]"}' in text.splitlines()


def test_with_the_users_own_jit(compiled):
    plan = compiled.plan
    own = jax.jit(step, in_shardings=pcg.in_shardings(plan), out_shardings=pcg.out_shardings(plan))
    out = own(PARAMS, X)
    assert out[0]["w1"].sharding.spec == P(None, "model")
    constraints = pcg.sharding_constraints(plan)
    assert constraints and all("test_plan.py" in where for where, _, _ in constraints)


def test_of_another_program_or_mesh(compiled):
    plan = compiled.plan
    with pytest.raises(pcg.PlanError, match="plan of program 'step' .* it has 3 arguments, the program 1"):
        pcg.compile(lambda x: x + 1, MESH, strategy=plan).lower(X)
    with pytest.raises(pcg.PlanError, match=r"argument 2 \(x\) is f32\[64,256\] in the plan, f32\[32,256\] in the"):
        pcg.compile(step, MESH, strategy=plan).lower(PARAMS, X[:32])
    with pytest.raises(pcg.PlanError, match="is for mesh data=2,model=4; this mesh is data=8"):
        pcg.compile(step, {"data": 8}, strategy=plan).lower(PARAMS, X)

    def other(params, x):
        return step(params, x * 2)

    with pytest.raises(pcg.PlanError, match="operations 0 to 63 differ|about .* operations|attributes or constants"):
        pcg.compile(other, MESH, strategy=plan).lower(PARAMS, X)


def test_malformed():
    with pytest.raises(pcg.PlanError, match="a plan is a JSON document"):
        pcg.Plan.from_json("{")
    with pytest.raises(pcg.PlanError, match="no 'pcg_plan' entry"):
        pcg.Plan.from_json("[]")
    with pytest.raises(pcg.PlanError, match="version 99; this pcg reads version 1"):
        pcg.Plan.from_json('{"pcg_plan": 99}')
    with pytest.raises(pcg.PlanError, match="the document has no 'program'"):
        pcg.Plan.from_json('{"pcg_plan": 1}')
