"""Convolutions and pooling split along their windows: halos from neighbours, by execution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_mlir import ir

from pcg.layout import Mesh, ShardSpec
from pcg.rules import rule_for
from pcg.rules.halo import Sliding, halo
from support.lowercheck import check, mesh_op, spec
from support.rulecheck import context

MESH = Mesh.parse("x=2,y=2")


def attribute(s: ShardSpec) -> str:
    dims = ",".join("+".join(d) or "-" for d in s.dims)
    return spec(dims, **dict(s.partial))


def run_all(op: str, types: list[str], init: str = "", most: int = 40) -> set[str]:
    """Lower and run `op` under every strategy (a seeded sample of `most`); the kinds of collectives that were used.

    `op` says `@@` where its layout goes; its operands are %a, %b, ... of the first types, its result has the last.
    """
    *given, result = (f"tensor<{t}xf32>" for t in types)
    names = [f"%{n}" for n in "ab"[: len(given)]]

    def program(args: list[str], out: str, layout: str, constants: str) -> str:
        named = ", ".join(f"{n}: {t}{x}" for n, t, x in zip(names, given, args, strict=True))
        return f"""func.func @main({named}) -> ({result}{out}) {{
          {constants}
          %0 = {op.replace("@@", layout)}
          func.return %0 : {result} }}"""

    with context():
        module = ir.Module.parse(program([""] * len(given), "", "", init))
        ops = list(module.body.operations[0].operation.regions[0].blocks[0].operations)
        rule = rule_for(ops[-2].operation)
    found = [s for s in rule.strategies(MESH) if not s.linear]
    if len(found) > most:
        found = [found[i] for i in np.random.default_rng(0).permutation(len(found))[:most]]
    kinds: set[str] = set()
    placed = init.replace("constant dense", f"constant {{dist.specs = [{spec('')}]}} dense")
    for s in found:
        out = rule.result_spec(0, s)
        args = [f" {{dist.spec = {attribute(rule.operand_spec(i, s))}}}" for i in range(len(given))]
        whole = f" {{dist.spec = {attribute(out.without_partial())}}}"
        text = program(args, whole, f"{', ' if 'convolution' in op else ''}dist.specs = [{attribute(out)}]", placed)
        counts, _ = check(mesh_op(x=2, y=2) + text, rtol=1e-5)
        kinds |= set(counts)
    return kinds


def conv(window: str, a: str, b: str, r: str) -> str:
    return f"""stablehlo.convolution(%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{{window}}}
      {{batch_group_count = 1 : i64, feature_group_count = 1 : i64@@}}
      : (tensor<{a}xf32>, tensor<{b}xf32>) -> tensor<{r}xf32>"""


@pytest.mark.parametrize(
    ("window", "a", "b", "r"),
    [
        ("pad = [[1, 1]]", "2x8x4", "3x4x2", "2x8x2"),  # SAME
        ("pad = [[2, 1]]", "2x8x4", "4x4x2", "2x8x2"),  # SAME, even window
        ("pad = [[1, 1]], stride = [2]", "2x8x4", "4x4x2", "2x4x2"),
        ("pad = [[0, 1]], stride = [2]", "2x8x4", "3x4x2", "2x4x2"),
        ("pad = [[2, 2]], rhs_dilate = [2]", "2x8x4", "3x4x2", "2x8x2"),
        ("stride = [2]", "2x8x4", "2x4x2", "2x4x2"),  # no overlap: nothing moves
        ("stride = [2]", "2x8x4", "1x4x2", "2x4x2"),
        ("pad = [[1, 1]]", "2x8x4", "8x4x2", "2x3x2"),  # gradient of a kernel: the window is as long as the input
        ("pad = [[1, 0]], rhs_dilate = [2]", "2x8x4", "4x4x2", "2x3x2"),  # ... of a strided convolution
        ("pad = [[1, 2]], lhs_dilate = [2]", "2x8x4", "3x4x2", "2x16x2"),  # gradient of the input, strided
        ("pad = [[2, 2]], lhs_dilate = [2]", "2x8x4", "4x4x2", "2x16x2"),
        # Windows that do not line up with blocks.
        ("pad = [[0, 0]]", "2x16x4", "5x4x2", "2x12x2"),  # VALID
        ("pad = [[0, 0]], reverse = [1]", "2x8x4", "3x4x2", "2x6x2"),
        ("pad = [[0, 0]], rhs_dilate = [2]", "2x8x4", "3x4x2", "2x4x2"),
        ("pad = [[3, 1]]", "2x8x4", "5x4x2", "2x8x2"),
        ("pad = [[4, 4]]", "2x8x4", "5x4x2", "2x12x2"),  # FULL
        ("pad = [[-1, 0]]", "2x8x4", "2x4x2", "2x6x2"),
        ("stride = [3], pad = [[1, 0]]", "2x12x4", "4x4x2", "2x4x2"),
        ("stride = [3], pad = [[0, 1]]", "2x8x4", "3x4x2", "2x3x2"),  # 3 outputs: not over 2 devices
    ],
)
def test_convolution(window: str, a: str, b: str, r: str) -> None:
    kinds = run_all(conv(window, a, b, r), [a, b, r])
    silent = window in ("stride = [2]", "stride = [3], pad = [[0, 1]]")
    assert ("collective_permute" in kinds) != silent


@pytest.mark.parametrize(
    ("reducer", "init"), [("add", "0.0"), ("maximum", "0xFF800000"), ("minimum", "0x7F800000"), ("add", "1.0")]
)
@pytest.mark.parametrize(
    ("numbers", "r"),
    [
        ("window_dimensions = array<i64: 1, 2, 1>, window_strides = array<i64: 1, 2, 1>", "2x4x4"),
        ("window_dimensions = array<i64: 1, 3, 1>, padding = dense<[[0, 0], [1, 1], [0, 0]]> : tensor<3x2xi64>", "2x8x4"),
        (
            "window_dimensions = array<i64: 1, 3, 1>, window_strides = array<i64: 1, 2, 1>, "
            "padding = dense<[[0, 0], [1, 0], [0, 0]]> : tensor<3x2xi64>", "2x4x4",
        ),
        ("window_dimensions = array<i64: 1, 3, 1>, padding = dense<0> : tensor<3x2xi64>", "2x6x4"),
        (
            "window_dimensions = array<i64: 1, 3, 1>, window_dilations = array<i64: 1, 2, 1>, "
            "padding = dense<[[0, 0], [5, 3], [0, 0]]> : tensor<3x2xi64>", "2x12x4",
        ),
    ],
)  # fmt: skip
def test_pooling(reducer: str, init: str, numbers: str, r: str) -> None:
    op = f"""\"stablehlo.reduce_window\"(%a, %z) <{{{numbers}}}> ({{
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %c = stablehlo.{reducer} %p, %q : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }}) {{@@}} : (tensor<2x8x4xf32>, tensor<f32>) -> tensor<{r}xf32>"""
    kinds = run_all(op.replace("\\", ""), ["2x8x4", r], f"%z = stablehlo.constant dense<{init}> : tensor<f32>")
    # How often a sum meets an initial value that counts is a backend's affair where windows are padded.
    whole = init == "1.0" and "dense<[[" in numbers
    assert ("collective_permute" in kinds) == ("padding" in numbers and not whole)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_a_block_with_its_halo_gives_its_part(data: st.DataObject) -> None:
    """The arithmetic of halos against the definition of a convolution along one dimension."""
    window = data.draw(st.integers(1, 5))
    stride, base, dilation = (data.draw(st.integers(1, 3)) for _ in range(3))
    size = data.draw(st.sampled_from([4, 8, 12]))
    low = data.draw(st.integers(0, 4))
    high = data.draw(st.integers(-2, 4))
    out = (base * (size - 1) + 1 + low + high - dilation * (window - 1) - 1) // stride + 1
    if out < 1:
        return
    s = Sliding(size, out, window, stride, base, dilation, low)
    h = halo(s)
    if h is None:
        return
    rng = np.random.default_rng(0)
    x, w = rng.integers(-3, 4, size), rng.integers(-3, 4, window)

    def convolve(x: np.ndarray, w: np.ndarray, low: int, high: int) -> np.ndarray:
        dilated = np.zeros(base * (len(x) - 1) + 1, int)
        dilated[::base] = x
        padded = np.pad(dilated, (max(low, 0), max(high, 0)))[max(-low, 0) :]
        padded = padded[: len(padded) - max(-high, 0)]
        reach = dilation * (len(w) - 1) + 1
        return np.array([
            sum(int(w[t]) * int(padded[o + t * dilation]) for t in range(len(w)))
            for o in range(0, len(padded) - reach + 1, stride)
        ])  # fmt: skip

    want = convolve(x, w, low, high)
    for n in (2, 4):
        if h.size % n or size % n or h.size // n < h.least:
            continue
        block = size // n
        around = np.concatenate([np.zeros(h.left, int), x, np.zeros(h.right, int)])
        parts = [around[p * block : (p + 1) * block + h.left + h.right] for p in range(n)]
        if h.with_window:
            piece = window // n
            got = sum(convolve(p, w[i * piece : (i + 1) * piece], h.low, h.high) for i, p in enumerate(parts))
        else:
            got = np.concatenate([convolve(p, w, h.low, h.high) for p in parts])
        np.testing.assert_array_equal(got, want[:out])
