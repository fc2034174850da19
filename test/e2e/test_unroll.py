"""Training steps that scan over layers, before and after pcg-unroll and pcg-unstack: the same numbers, and no stacks."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.driver.module_program import entry_function
from pcg.ir.walk import walk
from pcg.rewrite.layers.signature import STACKED_ARGUMENTS, stacked
from pcg.rules import traits
from pcg.rules.traits import Trait
from support.scanned import Decoder, after
from support.training import assert_trees_close


def _loops(module) -> list:
    """The loops with contractions that are left."""
    loops = [op for op in walk(module.operation) if op.name == "stablehlo.while"]
    return [op for op in loops if any(traits.has(o.name, Trait.CONTRACTION) for o in walk(op))]


@pytest.mark.parametrize(
    ("dropout", "checkpoint"),
    [(True, False), (False, True), *(pytest.param(d, d, marks=pytest.mark.slow) for d in (False, True))],
)
def test_steps_stay_the_same(dropout: bool, checkpoint: bool) -> None:
    """Sums keep their order in pcg-unroll; pcg-unstack adds up the squares of each layer before those of all."""
    decoder = Decoder(dropout=dropout, checkpoint=checkpoint)
    args = decoder.arguments()
    _, want = after(decoder.step, args, "pcg-normalize")
    module, got = after(decoder.step, args, "pcg-unroll")
    assert not _loops(module)
    assert_trees_close(got, want, rtol=1e-6)
    module, got = after(decoder.step, args, "pcg-unroll,pcg-unstack")
    assert_trees_close(got, want, rtol=1e-5)
    func = entry_function(module)
    assert sum(n == decoder.layers for n in stacked(func, STACKED_ARGUMENTS, 0)) == 18  # six of a layer, two moments
    assert not any(list(a.type.shape)[:1] == [decoder.layers] for a in func.regions[0].blocks[0].arguments)
    # Nothing is stacked between the arguments and the results either.
    stacks = [r for op in walk(func) if op.name.startswith("stablehlo.") for r in op.results if _is_stack(r, decoder)]
    assert not stacks


def _is_stack(value, decoder: Decoder) -> bool:
    return value.type.rank > 2 and value.type.shape[0] == decoder.layers


def test_what_reads_all_layers_keeps_the_stack() -> None:
    decoder = Decoder(layers=3)
    args = decoder.arguments()

    def step(state, *batch):
        new, value, norm = decoder.step(state, *batch)
        ordered = jnp.sort(state[0]["layers"]["bias"], 0)  # of all layers
        changes = jnp.sum((new[0]["layers"]["up"] - state[0]["layers"]["up"]) ** 2, (1, 2))  # one for each
        return new, value, norm, ordered, changes

    _, want = after(step, args, "pcg-normalize")
    module, got = after(step, args, "pcg-unroll,pcg-unstack")
    assert_trees_close(got, want, rtol=1e-5)
    assert sum(n == 3 for n in stacked(entry_function(module), STACKED_ARGUMENTS, 0)) == 15  # all but those of `bias`


# -- any scan -----------------------------------------------------------------------------------------

WIDTH = 3


def _scan(carry_ops: list[int], row_ops: list[int], reverse: bool, length: int):
    """A scan of matrices, vectors and integers, which writes some of them at each iteration, and reads its stacks."""

    def forward(w, start, rows):
        def body(carry, row):
            h, total, i, flag = carry
            m, x, k = row
            for op in carry_ops:
                h = (
                    lambda h: jnp.tanh(h @ m), lambda h: h + x, lambda h: jnp.where(flag, h, -h),
                    lambda h: h * (1 + i % 3), lambda h: h @ w, lambda h: h.at[i % WIDTH].add(x),
                )[op](h)  # fmt: skip
            out = [(h, x * k, i, h.sum(), flag)[op] for op in row_ops]
            return (h @ m, total + h.sum(0), i + k, ~flag), out

        first = (start, jnp.zeros(WIDTH), jnp.int32(0), jnp.bool_(True))
        last, out = jax.lax.scan(body, first, (*rows, jnp.arange(length)), reverse=reverse)
        return last, out, [o[-1] for o in out], [o.astype(jnp.float32).sum(0) for o in out]

    return forward


@given(
    st.lists(st.integers(0, 5), max_size=3), st.lists(st.integers(0, 4), max_size=2), st.booleans(),
    st.integers(1, 3), st.booleans(),
)  # fmt: skip
@settings(max_examples=16, deadline=None, derandomize=True)
def test_scans(carry_ops: list[int], row_ops: list[int], reverse: bool, length: int, backward: bool) -> None:
    forward = _scan(carry_ops, row_ops, reverse, length)

    def step(w, start, rows):
        if not backward:
            return forward(w, start, rows)

        def loss(w, start, rows):
            (h, total, _, _), out, _, _ = forward(w, start, rows)
            return (h**2).sum() + total.sum() + sum((o.astype(jnp.float32) ** 2).sum() for o in out)

        return jax.grad(loss, (0, 1, 2))(w, start, rows)

    rng = np.random.default_rng(len(carry_ops) + 8 * length)
    w, start = (rng.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 2 for _ in range(2))
    rows = tuple(rng.standard_normal((length, *s)).astype(np.float32) / 2 for s in ((WIDTH, WIDTH), (WIDTH,)))
    _, want = after(step, (w, start, rows), "pcg-normalize")
    module, got = after(step, (w, start, rows), "pcg-unroll,pcg-unstack")
    assert not _loops(module)
    assert_trees_close(got, want, rtol=1e-5, slack=1e-6)


# -- forms of one model ---------------------------------------------------------------------------------

LAYERS = 4


def _layer(h, p):
    return h + jnp.tanh(h @ p["w"] + p["b"]) @ p["u"], None


def _part(p, where):
    return jax.tree.map(lambda a: a[where], p)


def _groups(h, p):
    pairs = jax.tree.map(lambda a: a.reshape(2, 2, *a.shape[1:]), p)
    return jax.lax.scan(lambda h, p: jax.lax.scan(_layer, h, p), h, pairs)[0]


FORMS = {
    "fori_loop": lambda h, p: jax.lax.fori_loop(0, LAYERS, lambda i, h: _layer(h, _part(p, i))[0], h),
    "two at once": lambda h, p: jax.lax.scan(_layer, h, p, unroll=2)[0],
    "one after another": lambda h, p: jax.lax.scan(_layer, jax.lax.scan(_layer, h, _part(p, np.s_[:1]))[0], _part(p, np.s_[1:]))[0],
    "groups": _groups,
}


def _momentum(forward):
    def step(state, x, y):
        p, v = state
        value, g = jax.value_and_grad(lambda p: jnp.mean((forward(x, p) - y) ** 2))(p)
        v = jax.tree.map(lambda v, g: 0.9 * v + g, v, g)
        return (jax.tree.map(lambda p, v: p - 0.1 * v, p, v), v), value

    return step


def test_forms_of_a_scan_become_one_program() -> None:
    rng = np.random.default_rng(0)
    p = {k: rng.standard_normal((LAYERS, *s)).astype(np.float32) / 3 for k, s in (("w", (8, 8)), ("u", (8, 8)), ("b", (8,)))}
    x, y = (rng.standard_normal((5, 8)).astype(np.float32) for _ in range(2))
    args = (p, jax.tree.map(np.zeros_like, p)), x, y
    plain = _momentum(lambda h, p: jax.lax.scan(_layer, h, p)[0])
    want, values = jax.jit(plain)(*args), []
    for forward in (lambda h, p: jax.lax.scan(_layer, h, p)[0], *FORMS.values()):
        module, got = after(_momentum(forward), args, "pcg-unroll{nested=true},pcg-unstack,pcg-normalize")
        assert_trees_close(got, want, rtol=1e-5)
        values.append(sorted(op.name for op in walk(module.operation)))
    assert "stablehlo.concatenate" not in values[0]
    assert all(names == values[0] for names in values)


def test_mixed_precision() -> None:
    """Layers of stacked weights that are converted before the scan are those of the weights."""
    decoder = Decoder(layers=2)
    args = decoder.arguments()

    def step(state, *batch):
        def loss(parameters):
            return decoder.loss(jax.tree.map(lambda a: a.astype(jnp.bfloat16), parameters), *batch).astype(jnp.float32)

        value, gradients = jax.value_and_grad(loss)(state[0])
        return (jax.tree.map(lambda p, g: p - 0.1 * g, state[0], gradients), *state[1:]), value

    _, want = after(step, args, "pcg-normalize")
    module, got = after(step, args, "pcg-unroll,pcg-unstack")
    assert_trees_close(got, want, rtol=1e-2)
    assert sum(n == 2 for n in stacked(entry_function(module), STACKED_ARGUMENTS, 0)) == 6
