"""`pcg.shard` and `pcg.shard_op`: what they ask, under which transformations, and what they refuse."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import pcg
from pcg.rules.strategy import StrategyError
from support.close import assert_close

MESH = {"data": 2, "model": 4}
RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def lower(function, *args, mesh=MESH, **options):
    return pcg.compile(function, mesh, strategy="dataflow", **options).lower(*args)


def constraints(lowered):
    """Layouts that constraints in the program ask for, in program order."""
    return [str(d.results[0]) for d in lowered.plan.operations if d.op == "dist.constraint"]


# -- Paddle's published example ---------------------------------------------------------------------


@pytest.mark.parametrize("placement, shard", [(["x", "y"], (2, 6)), ([None, None], (6, 12)), (["x", None], (2, 12))])
def test_six_by_twelve_on_three_by_two(placement, shard):
    """A 6x12 tensor on a 3x2 mesh, by Paddle's shard specs: what each process holds."""
    t = normal(6, 12)
    step = pcg.compile(lambda t: pcg.shard(t, placement), {"x": 3, "y": 2}, strategy="dataflow")
    out = step(t)
    assert [s.data.shape for s in out.addressable_shards] == [shard] * 6
    np.testing.assert_array_equal(out, t)
    whole = [(s.index, s.data) for s in out.addressable_shards]
    assert all((np.asarray(data) == t[index]).all() for index, data in whole)


# -- shard ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        ("data", ("model",)),
        ["data", "model"],
        P("data", "model"),
        pcg.ShardSpec.of([["data"], ["model"]]),
        "[data, model]",
        (2, 4),
        NamedSharding(jax.make_mesh((2, 4), ("data", "model")), P("data", "model")),
    ],
    ids=["tuple", "list", "PartitionSpec", "ShardSpec", "text", "slices", "NamedSharding"],
)
def test_ways_to_say_it(spec):
    low = lower(lambda x: jnp.sin(pcg.shard(jnp.cos(x), spec)), normal(8, 8))
    assert constraints(low) == ["[data, model]"]
    assert low.input_shardings[0].spec == P("data", "model")


def test_the_search_keeps_it_too():
    step = pcg.compile(lambda x: pcg.shard(x * 2, (None, "data")), MESH)
    assert step.lower(normal(8, 8)).output_shardings.spec == P(None, "data")


def test_none_asks_nothing_and_a_tree_gets_it_everywhere():
    low = lower(lambda x: pcg.shard({"a": jnp.sin(x), "b": pcg.shard(x, None)}, P("data")), normal(8, 8))
    assert constraints(low) == ["[data, -]"] * 2


def test_outside_pcg_it_is_the_identity():
    def f(x):
        return pcg.shard(x, ("data", None)) + 1

    x = normal(8, 8)
    np.testing.assert_array_equal(f(x), x + 1)
    np.testing.assert_array_equal(jax.jit(f)(x), x + 1)
    assert "sharding" not in jax.jit(f).lower(x).as_text()
    np.testing.assert_array_equal(jax.jit(pcg.shard_op(jnp.matmul, strategy=((2, 1), (1, 4))))(x, x), jax.jit(jnp.matmul)(x, x))


def test_an_inner_jit_traced_before_is_seen():
    inner = jax.jit(lambda x: pcg.shard(jnp.sin(x), ("data",)))
    x = normal(8)
    inner(x)
    assert constraints(lower(lambda x: inner(x) + 1, x)) == ["[data]"]


def test_derivatives_ask_the_same():
    low = lower(jax.grad(lambda x: jnp.sum(jnp.sin(pcg.shard(jnp.cos(x), ("data", "model"))))), normal(8, 8))
    assert constraints(low) == ["[data, model]"] * 2


def test_batching_leaves_the_new_dimension_free():
    def rows(x):
        return pcg.shard(jnp.cos(x), ("model",))

    low = lower(lambda x: pcg.shard(jax.vmap(rows)(x), ("data", "model")), normal(8, 8))
    assert low.output_shardings.spec == P("data", "model")
    low = lower(lambda x: jax.vmap(rows, in_axes=1, out_axes=1)(x), normal(8, 8))
    assert low.output_shardings.spec == P("model")


def test_in_loops_and_branches():
    def step(carry, _):
        return pcg.shard(jnp.sin(carry), ("data",)), None

    x = normal(8)
    compiled = pcg.compile(lambda x: jax.lax.scan(step, x, None, length=3)[0], MESH, strategy="dataflow")
    assert_close(compiled(x), np.sin(np.sin(np.sin(x))), 1e-5)
    assert compiled.output_shardings.spec == P("data")


@pytest.mark.parametrize(
    "spec, error, message",
    [
        (("data", "model", None), pcg.SpecError, "has 3 dimensions; the tensor has 2"),
        ("[data]", pcg.SpecError, "has 1 dimensions; the tensor has 2"),
        ((2,), pcg.SpecError, "has 1 dimensions; the tensor has 2"),
        ("[data, -] sum(model)", pcg.SpecError, "is partial"),
        (("data", 3), pcg.SpecError, "has 3; expected an axis name"),
        (7, pcg.SpecError, "layout 7 of type int; expected a pcg.ShardSpec"),
        ((0, 1), StrategyError, "expected a positive integer per dimension"),
        (("date", None), pcg.ProgramError, r"test_annotate.py:\d+.*unknown axis 'date'; the mesh has 'data', 'model'"),
        (("data", "data"), pcg.ProgramError, "axis 'data' is used twice"),
        ((3, 1), pcg.ProgramError, r"no axes of mesh data=2,model=4 make the device matrix \(3\)"),
    ],
)
def test_what_it_refuses(spec, error, message):
    with pytest.raises(error, match=message):
        lower(lambda x: pcg.shard(x, spec), normal(12, 8))


# -- shard_op ---------------------------------------------------------------------------------------


def test_layouts_of_inputs_and_outputs():
    f = pcg.shard_op(jnp.matmul, in_specs=(("data", None), (None, "model")), out_specs=("data", "model"))
    low = lower(lambda x, w: f(x, w), normal(8, 8), normal(8, 8))
    assert constraints(low) == ["[data, -]", "[-, model]", "[data, model]"]


def test_a_module_with_a_tree_of_parameters():
    def dense(params, x):
        return {"y": x @ params["w"] + params["b"], "n": jnp.sum(x)}

    f = pcg.shard_op(dense, in_specs=({"w": P(None, "model"), "b": P("model")}, None), out_specs={"y": ("data", None)})
    params, x = {"w": normal(8, 8), "b": normal(8)}, normal(8, 8)
    compiled = pcg.compile(f, MESH, strategy="dataflow")
    out = compiled(params, x)
    assert_close(out["y"], x @ params["w"] + params["b"], 1e-4)
    assert compiled.input_shardings[0]["b"].spec == P("model")
    assert compiled.output_shardings["y"].spec == P("data")


def test_a_strategy_of_a_module():
    """The bias shares a factor with the columns of the weight; the output follows."""

    def dense(x, w, b):
        return jnp.tanh(x @ w + b)

    f = pcg.shard_op(dense, strategy="((2,1),(1,4),(4))")
    low = lower(lambda *a: f(*a), normal(8, 8), normal(8, 8), normal(8))
    assert constraints(low) == ["[data, -]", "[-, model]", "[model]", "[data, model]"]


def test_a_strategy_over_a_contraction_has_a_whole_result():
    low = lower(pcg.shard_op(jnp.matmul, strategy=((2, 4), (4, 1))), normal(8, 8), normal(8, 8))
    assert constraints(low) == ["[data, model]", "[model, -]", "[data, -]"]


def test_a_strategy_of_a_function_that_closes_over_arrays():
    low = lower(
        lambda x, w: pcg.shard_op(lambda x: x @ w, strategy=((2, 4),))(x), normal(8, 8), normal(8, 8)
    )
    assert constraints(low) == ["[data, model]", "[data, -]"]


def test_what_no_input_shares_stays_open():
    low = lower(pcg.shard_op(lambda x: jnp.broadcast_to(x, (8, 4)), strategy=((4,),)), normal(4))
    assert constraints(low) == ["[model]", "[-, model]"]


@pytest.mark.parametrize(
    "count, strategies, mesh",
    [
        (8, [((2, 1), (1, 4))], "d0=2,d1=4"),
        (8, [((2, 1), (1, 4)), ((2, 4), (4, 1))], "d0=2,d1=4"),
        (8, [((4, 1), (1, 2)), ((2, 1), (1, 4))], "d0=2,d1=2,d2=2"),
        (6, [((3, 2), (2, 1))], "d0=3,d1=2"),
        (4, [((2, 1), (1, 1))], "d0=2,d1=2"),
    ],
)
def test_a_number_of_devices_is_factorised_as_strategies_need(count, strategies, mesh):
    def f(x, *ws):
        for s, w in zip(strategies, ws, strict=True):
            x = pcg.shard_op(jnp.matmul, strategy=s)(x, w)
        return x

    args = [normal(12 * 8, 12 * 8) for _ in range(len(strategies) + 1)]
    compiled = pcg.compile(f, count, strategy="dataflow")
    assert str(compiled.lower(*args).mesh) == mesh
    assert str(compiled.mesh) == mesh
    assert_close(compiled(*args), jax.jit(f)(*args), 1e-3)


def test_a_number_without_strategies_is_one_axis():
    compiled = pcg.compile(lambda x: x + 1, 8)
    compiled.lower(normal(8))
    assert str(compiled.mesh) == "devices=8"


@pytest.mark.parametrize(
    "strategy, message",
    [
        (((2, 1),), r"shard_op\(matmul\): strategy \(\(2,1\)\) is for 1 operands; the operation has 2"),
        (((2, 1), (4,)), "has 1 dimensions for operand 1; it has 2"),
        (((2, 4), (2, 1)), "which is the same factor, into 4; they must agree"),
        (((5, 1), (1, 1)), "into 5, which does not divide it"),
    ],
)
def test_strategies_that_do_not_fit(strategy, message):
    with pytest.raises(StrategyError, match=message):
        lower(pcg.shard_op(jnp.matmul, strategy=strategy), normal(8, 8), normal(8, 8))


def test_strategies_that_do_not_fit_the_devices():
    f = pcg.shard_op(jnp.matmul, strategy=((3, 1), (1, 1)))
    with pytest.raises(pcg.ProgramError, match=r"device matrix \(3,1,1\) does not divide 8 devices"):
        lower(f, normal(9, 8), normal(8, 8), mesh=8)


def test_specs_or_a_strategy():
    with pytest.raises(StrategyError, match="or a strategy; got both"):
        pcg.shard_op(jnp.matmul, (None, None), strategy=((1, 1), (1, 1)))
    with pytest.raises(pcg.SpecError, match="expected a tuple with one layout per argument"):
        pcg.shard_op(jnp.matmul, "[data, -]")
    with pytest.raises(pcg.SpecError, match="in_specs has 1 layouts; matmul got 2 arguments"):
        lower(pcg.shard_op(jnp.matmul, (None,)), normal(8, 8), normal(8, 8))
    with pytest.raises(pcg.SpecError, match=r"in_specs\[0\]: .* has 3 dimensions"):
        lower(pcg.shard_op(jnp.matmul, ((None, None, "data"), None)), normal(8, 8), normal(8, 8))
