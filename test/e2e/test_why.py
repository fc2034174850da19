"""`explain()` and `why()` on whole programs: every collective of the lowered program has its two causes, once."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from bench import propagation_vs_shardy as bench
from bench.annotated import CASES
from pcg.driver.compile import compile_program, load_program
from pcg.driver.cost import cost_of
from pcg.driver.decide import Options
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Machine
from pcg.viz.why import Reasons, why

MESH = {"data": 2, "model": 4}


def lowered_collectives(compilation) -> dict[int, str]:
    """Channel -> kind, read off the text of the lowered program."""
    found = {}
    for line in compilation.local_text.splitlines():
        m = re.search(r'"stablehlo\.(all_reduce|all_gather|reduce_scatter|all_to_all|collective_permute)"', line)
        if m and (channel := re.search(r"handle = (\d+)", line)):
            found[int(channel[1])] = m[1].removeprefix("collective_")
    # The attributes of a reduction stand before its region, on the same line in the generic form.
    return found


def check_all_explained(compilation, *, annotations: set[str] | None = None) -> list:
    """Every collective once, with two decisions; every chain that ends, ends at something that the user wrote."""
    reasons = Reasons(compilation)
    found = reasons.collectives(cost_of(compilation).collectives)
    in_text = lowered_collectives(compilation)
    assert {r.collective.channel: r.collective.kind for r in found} == in_text
    assert len(found) == len(in_text)
    o = reasons.origins
    for r in found:
        assert r.cause.producer.text and r.cause.consumers and all(d.text for d in r.cause.consumers)
        assert set(r.collective.axes) <= set(compilation.mesh.names) and r.collective.times == r.cause.times
        for chain in (*r.cause.producer.chains, *(c for d in r.cause.consumers for c in d.chains)):
            for link in chain.links:
                assert chain.axis in o.spec(link.site).used_axes
            if chain.annotation is not None:
                assert chain.axis in chain.annotation.spec.used_axes
                if annotations is not None:
                    assert o.annotation_text(chain.annotation, chain.links[-1].site) in annotations
    return found


def mlp(params, x):
    h = jnp.tanh(x @ params["up"])
    return jnp.tanh(h @ params["down"]).sum()


def test_an_annotated_mlp():
    """A training step: the weights' layouts, and the gradient's reductions, come from the two that are annotated."""
    params = {"up": jax.ShapeDtypeStruct((1024, 4096), "f4"), "down": jax.ShapeDtypeStruct((4096, 1024), "f4")}
    step = pcg.compile(
        jax.value_and_grad(mlp), MESH, in_shardings=({"up": P(None, "model"), "down": None}, P("data", None)),
        machine=Machine.default(),
    )  # fmt: skip
    done = step.lower(params, jax.ShapeDtypeStruct((512, 1024), "f4")).compilation
    found = check_all_explained(done, annotations={"params['up'] is annotated [-, model]", "x is annotated [data, -]"})
    causes = [r.cause.producer.text for r in found]
    assert any(x.endswith("params['up'] is annotated [-, model], 2 ops away") for x in causes), causes
    assert any("x is annotated [data, -]" in x for x in causes), causes
    text = step.why("params['down']")
    assert text.startswith("params['down'] is [model, -]\n") and "params['up'] is annotated [-, model]" in text
    assert step.why("params['down']") == step.explain("params['down']")
    assert "Why collectives" in step.explain() and len(step.explain(verbose=True)) > len(step.explain())
    with pytest.raises(ValueError, match="no tensor 'nothing'"):
        step.why("nothing")


def test_the_constraint_is_named_by_its_line():
    def f(x, w):
        return jnp.sin(pcg.shard(jnp.tanh(x @ w), P(None, "model"))) * 2

    step = pcg.compile(f, MESH)
    done = step.lower(jnp.ones((16, 64)), jnp.ones((64, 64)))
    (w,) = (reasons := Reasons(done.compilation)).find("w")
    chain = reasons.origins.chain(w, "model")
    assert chain.annotation is not None
    assert re.fullmatch(r"a constraint at test_why\.py:\d+", chain.annotation.text), chain.annotation.text


@pytest.mark.parametrize("strategy", ["global", "dataflow", "bfs", "priority"])
def test_a_transformer(strategy):
    model = CASES["block megatron"].build(tiny=True)
    done = bench.compiled_by_pcg(model, strategy=strategy).compilation
    found = check_all_explained(done)
    assert found
    reasons = Reasons(done)
    o = reasons.origins
    ends = {o.name(c.links[-1].site) for r in found for c in r.cause.producer.chains if c.annotation is not None}
    assert ends and ends <= {*o.names, *o.result_names}
    # The graph before fusion has the same collectives, by kind and axes.
    before = Reasons(done, "pcg")
    kinds = sorted((c.kind, c.axes) for c in before.causes.all())
    assert kinds == sorted((r.cause.kind, r.cause.axes) for r in found)


#: Ops whose local form communicates: a cumulative sum, a sort, a convolution with halos.
EXCHANGES = {
    "cumsum": (lambda x: jnp.cumsum(x, axis=0), (64, 8), "[model, -]"),
    "conv": (
        lambda x: jax.lax.conv_general_dilated(
            x, jnp.ones((3, 4, 4)), (1,), "SAME", dimension_numbers=("NHC", "HIO", "NHC")
        ),
        (2, 64, 4), "[-, model, -]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXCHANGES)
def test_ops_that_exchange_by_themselves(name):
    function, shape, spec = EXCHANGES[name]
    text = jax.jit(function).lower(jnp.ones(shape)).as_text(debug_info=True)
    layout = ShardSpec.parse(spec)
    options = Options("dataflow", in_specs={0: layout}, out_specs={0: layout})
    found = check_all_explained(compile_program(load_program(text), Mesh.parse("data=2,model=4"), options))
    assert found and all("annotated" in r.cause.producer.text for r in found)


def test_collectives_that_the_user_wrote():
    """Those inside `shard_map` are the user's own."""

    def f(x):
        inner = jax.shard_map(
            lambda a: jax.lax.psum(a, "model"), in_specs=P("data", "model"), out_specs=P("data", None)
        )
        return inner(jnp.tanh(x))

    done = pcg.compile(f, MESH).lower(jnp.ones((8, 16))).compilation
    found = check_all_explained(done)
    assert any("its body communicates" in d.text for r in found for d in r.cause.consumers)
    assert "a manual computation" in why(done, "x")
