"""Cutting, padding, joining and flipping a split dimension, by execution; what is sent is what the rule counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from torch_mlir import ir

from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec
from pcg.rules import rule_for
from support.lowercheck import check, mesh_op, spec
from support.rulecheck import context

MESH = Mesh.parse("x=4,y=2")


def attribute(s: ShardSpec) -> str:
    return spec(",".join("+".join(d) or "-" for d in s.dims), **dict(s.partial))


def run_all(
    op: str, types: list[str], result: str, init: str = "", most: int = 24,
    inputs: list[np.ndarray | None] | None = None,
) -> dict[str, float]:  # fmt: skip
    """Lower and run `op` under every strategy (a seeded sample of `most`): spec of the result -> elements sent.

    `op` says `@@` where its layout goes; its operands are %a, %b, ... of `types`, and what `init` makes.
    """
    names = [f"%{n}" for n in "abcd"[: len(types)]]

    def program(args: list[str], out: str, layout: str, constants: str) -> str:
        named = ", ".join(f"{n}: tensor<{t}>{x}" for n, t, x in zip(names, types, args, strict=True))
        return f"""func.func @main({named}) -> (tensor<{result}>{out}) {{
          {constants}
          %0 = {op.replace("@@", layout)}
          func.return %0 : tensor<{result}> }}"""

    with context():
        module = ir.Module.parse(program([""] * len(types), "", "", init))
        ops = list(module.body.operations[0].operation.regions[0].blocks[0].operations)
        target = ops[-2].operation
        rule = rule_for(target)
        places = [o.arg_number if isinstance(o, ir.BlockArgument) else -1 for o in target.operands]
        rows = {places[i]: i for i in range(len(places)) if places[i] >= 0}
    found = [s for s in rule.strategies(MESH, uneven=True) if not s.linear and s.used]
    if len(found) > most:
        found = [found[i] for i in np.random.default_rng(0).permutation(len(found))[:most]]
    sent = {}
    placed = init.replace("constant dense", f"constant {{dist.specs = [{spec('')}]}} dense")
    for s in found:
        out = rule.result_spec(0, s)
        args = [f" {{dist.spec = {attribute(rule.operand_spec(rows[i], s))}}}" for i in range(len(types))]
        whole = f" {{dist.spec = {attribute(out.without_partial())}}}"
        text = program(args, whole, f"{{dist.specs = [{attribute(out)}]}}", placed)
        _, local = check(mesh_op(**dict(MESH.axes)) + text, inputs)
        with context():
            moved = sum(
                math.prod(o.results[0].type.shape)
                for o in walk(ir.Module.parse(local).operation) if o.name == "stablehlo.collective_permute"
            )  # fmt: skip
        counted = sum(x.wire_elements(s, MESH) for x in rule.exchanges)
        # Both edges of a block may be one permute (`pcg.lower.permutes`), which is not counted.
        exact = "select_and_scatter" not in op
        assert moved == counted if exact else moved <= counted, f"{s}: sends {moved}, counted {counted}\n{local}"
        sent[f"{rule.operand_spec(0, s)}->{out}"] = moved
    return sent


@pytest.mark.parametrize(
    ("a", "bounds", "result"),
    [
        ("32x4", "4:28, 0:4", "24x4"),
        ("32x8", "0:16:1, 1:8:2", "16x4"),  # both dimensions: the second one thinned out
        ("96x2", "0:32, 0:2", "32x2"),
        ("96x2", "5:77:3, 0:2", "24x2"),
        ("64x2", "1:64:2, 0:2", "32x2"),  # blocks line up: nothing moves
        ("64x2", "63:64, 0:1", "1x1"),
        ("64x2", "20:29, 0:2", "9x2"),  # short: its owners contribute it
        ("64x2", "11:31:2, 0:2", "10x2"),
        # Blocks of both sizes are cut by themselves.
        ("65x2", "1:65, 0:2", "64x2"),
        ("65x2", "0:64, 0:2", "64x2"),
        ("17x2", "0:17:2, 0:2", "9x2"),
        ("17x19", "2:17, 0:18", "15x18"),
    ],
)
def test_slice(a: str, bounds: str, result: str) -> None:
    sent = run_all(f"stablehlo.slice %a [{bounds}] @@ : (tensor<{a}xf32>) -> tensor<{result}xf32>", [f"{a}xf32"],
                   f"{result}xf32")  # fmt: skip
    assert bool(any(sent.values())) == (a != "64x2")


@pytest.mark.parametrize("element", ["f32", "i1", "complex<f32>", "ui8"])
def test_slices_of_other_elements(element: str) -> None:
    for bounds, size in (("4:28", 24), ("3:7", 4)):
        op = f"stablehlo.slice %a [{bounds}] @@ : (tensor<32x{element}>) -> tensor<{size}x{element}>"
        assert run_all(op, [f"32x{element}"], f"{size}x{element}")


@pytest.mark.parametrize("fill", ["0.0", "2.0"])
@pytest.mark.parametrize(
    ("a", "low", "high", "interior", "result"),
    [
        ("16x2", "1, 0", "-1, 0", "0, 0", "16x2"),  # a shift
        ("16x2", "-3, 0", "3, 0", "0, 0", "16x2"),
        ("16x2", "16, 0", "0, 0", "0, 0", "32x2"),
        ("16x8", "8, -2", "8, 2", "0, 0", "32x8"),
        ("16x2", "0, 0", "1, 0", "1, 0", "32x2"),  # gradient of a slice with stride: nothing moves
        ("16x2", "1, 0", "0, 0", "1, 0", "32x2"),
        ("16x2", "2, 0", "-1, 0", "1, 0", "32x2"),
        ("16x2", "-5, 0", "-2, 0", "2, 0", "39x2"),
        ("32x2", "-4, 0", "6, 0", "2, 0", "96x2"),
        ("1x2", "5, 0", "26, 0", "0, 0", "32x2"),  # gradient of a row
        ("8x2", "-8, 0", "8, 0", "0, 0", "8x2"),  # nothing is left
        ("15x2", "1, 0", "1, 0", "0, 0", "17x2"),  # blocks of both sizes are cut by themselves
        ("17x3", "-1, 0", "0, 1", "0, 0", "16x4"),
        ("9x2", "0, 0", "0, 0", "1, 0", "17x2"),
    ],
)
def test_pad(a: str, low: str, high: str, interior: str, result: str, fill: str) -> None:
    op = f"""stablehlo.pad %a, %z, low = [{low}], high = [{high}], interior = [{interior}] @@
      : (tensor<{a}xf32>, tensor<f32>) -> tensor<{result}xf32>"""
    zero = f"%z = stablehlo.constant dense<{fill}> : tensor<f32>"
    sent = run_all(op, [f"{a}xf32"], f"{result}xf32", zero)
    still = ["0, 0", "1, 0"] if a == "16x2" else []
    assert bool(any(sent.values())) == (a not in ("1x2", "8x2") and result != "39x2" and not (
        interior == "1, 0" and low in still
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "result"),
    [
        (["16x2", "16x2"], "32x2"), (["8x2", "24x2"], "32x2"), (["24x2", "8x2", "16x2"], "48x2"),
        (["1x2", "15x2"], "16x2"), (["0x2", "16x2"], "16x2"), (["32x4"], "32x4"),
        (["33x2", "1x2"], "34x2"), (["9x2", "10x2"], "19x2"), (["2x2", "17x2", "5x2", "18x2"], "42x2"),
    ],
)  # fmt: skip
def test_concatenate(parts: list[str], result: str) -> None:
    names = ", ".join(f"%{n}" for n in "abcd"[: len(parts)])
    types = ", ".join(f"tensor<{p}xf32>" for p in parts)
    op = f'"stablehlo.concatenate"({names}) <{{dimension = 0 : i64}}> @@ : ({types}) -> tensor<{result}xf32>'
    sent = run_all(op, [f"{p}xf32" for p in parts], f"{result}xf32")
    assert bool(any(sent.values())) == (len(parts) > 1 and parts[0] not in ("0x2", "33x2"))


@pytest.mark.parametrize("dims", ["0", "1", "0, 1"])
def test_reverse(dims: str) -> None:
    for shape in ("16x8", "17x9"):
        op = f"stablehlo.reverse %a, dims = [{dims}] @@ : tensor<{shape}xf32>"
        assert any(run_all(op, [f"{shape}xf32"], f"{shape}xf32").values())


STARTS = [(0, 0), (1, 3), (6, 1), (15, 7), (-3, 100), (200, -1)]


@pytest.mark.parametrize("index", ["i32", "ui32", "i64", "i8", "ui8"])
@pytest.mark.parametrize("size", ["1x8", "5x8", "3x2", "16x1", "12x5"])
def test_dynamic_slice(size: str, index: str) -> None:
    op = f"""stablehlo.dynamic_slice %a, %b, %c, sizes = [{size.replace("x", ", ")}] @@
      : (tensor<16x8xf32>, tensor<{index}>, tensor<{index}>) -> tensor<{size}xf32>"""
    for i, start in enumerate(STARTS[:: 1 if index == "i32" else 3]):
        values = [np.array(x).astype(index.replace("ui", "uint") if "u" in index else index.replace("i", "int"))
                  for x in start]  # fmt: skip
        sent = run_all(op, ["16x8xf32", index, index], f"{size}xf32", inputs=[None, *values], most=3 + i)
        assert not any(sent.values())


@pytest.mark.parametrize("element", ["i1", "complex<f32>", "i32"])
def test_dynamic_slice_of_other_elements(element: str) -> None:
    for size in (1, 3):
        op = f"""stablehlo.dynamic_slice %a, %b, sizes = [{size}] @@
          : (tensor<16x{element}>, tensor<i32>) -> tensor<{size}x{element}>"""
        run_all(op, [f"16x{element}", "i32"], f"{size}x{element}", inputs=[None, np.array(7, np.int32)])


@pytest.mark.parametrize("index", ["i32", "ui32", "i64", "i8"])
@pytest.mark.parametrize("size", ["1x8", "5x8", "3x2", "16x1", "12x5", "1x1"])
def test_dynamic_update_slice(size: str, index: str) -> None:
    op = f"""stablehlo.dynamic_update_slice %a, %b, %c, %d @@
      : (tensor<16x8xf32>, tensor<{size}xf32>, tensor<{index}>, tensor<{index}>) -> tensor<16x8xf32>"""
    for i, start in enumerate(STARTS[:: 1 if index == "i32" else 3]):
        values = [np.array(x).astype(index.replace("ui", "uint") if "u" in index else index.replace("i", "int"))
                  for x in start]  # fmt: skip
        types = ["16x8xf32", f"{size}xf32", index, index]
        sent = run_all(op, types, "16x8xf32", inputs=[None, None, *values], most=3 + i)
        assert not any(sent.values())


@pytest.mark.parametrize("compare", ["GE", "LT"])
@pytest.mark.parametrize(
    ("window", "stride", "pad", "source"),
    [
        (2, 2, (0, 0), 8), (3, 2, (0, 1), 8), (3, 2, (1, 0), 8), (3, 1, (1, 1), 16), (2, 1, (1, 0), 16), (4, 2, (1, 1), 8),
        (3, 4, (0, 0), 4), (5, 2, (2, 1), 8), (1, 2, (0, 0), 8), (3, 2, (2, -1), 8),
    ],
)  # fmt: skip
def test_gradients_of_pooling(window: int, stride: int, pad: tuple[int, int], source: int, compare: str) -> None:
    a, b = "tensor<2x16xf32>", f"tensor<2x{source}xf32>"
    op = f"""\"stablehlo.select_and_scatter\"(%a, %b, %z) <{{window_dimensions = array<i64: 1, {window}>,
        window_strides = array<i64: 1, {stride}>,
        padding = dense<[[0, 0], [{pad[0]}, {pad[1]}]]> : tensor<2x2xi64>}}> ({{
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %c = stablehlo.compare {compare}, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }}, {{
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %c = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }}) @@ : ({a}, {b}, tensor<f32>) -> {a}"""
    zero = "%z = stablehlo.constant dense<0.0> : tensor<f32>"
    sent = run_all(op, ["2x16xf32", f"2x{source}xf32"], "2x16xf32", zero)
    assert bool(any(sent.values())) == (window > stride or pad[0] > 0)


@pytest.mark.parametrize("size", [1, 3, 18])
def test_blocks_of_uneven_size(size: int) -> None:
    """Where nothing is exchanged the last blocks may be short: 19 rows over 2, 4 or 8 devices."""
    for start in (0, 4, 14, 30):
        index = np.array(start, np.int32)
        piece = f"tensor<{size}x2xf32>"
        op = f"stablehlo.dynamic_slice %a, %b, %c, sizes = [{size}, 2] @@"
        types = "tensor<i32>, tensor<i32>"
        run_all(f"{op} : (tensor<19x2xf32>, {types}) -> {piece}", ["19x2xf32", "i32", "i32"], f"{size}x2xf32",
                inputs=[None, index, np.array(0, np.int32)])  # fmt: skip
        op = f"stablehlo.dynamic_update_slice %a, %b, %c, %d @@ : (tensor<19x2xf32>, {piece}, {types})"
        run_all(f"{op} -> tensor<19x2xf32>", ["19x2xf32", f"{size}x2xf32", "i32", "i32"], "19x2xf32",
                inputs=[None, None, index, np.array(1, np.int32)])  # fmt: skip
    if size < 18:
        for start in (0, 8, 16):
            bounds = f"{start}:{start + size}"
            run_all(f"stablehlo.slice %a [{bounds}, 0:2] @@ : (tensor<19x2xf32>) -> {piece}", ["19x2xf32"],
                    f"{size}x2xf32")  # fmt: skip
