"""Sorting along a split dimension, by execution: bit for bit what one device makes, and no more sent than counted."""

from __future__ import annotations

from collections import Counter

import ml_dtypes
import numpy as np
import pytest
from torch_mlir import ir

from bench.collectives import of_stablehlo
from pcg.ir import shardings
from pcg.ir.types import element_bytes
from pcg.layout import Mesh
from pcg.passes.pcg_emulate import EmulatePass
from pcg.rules import Assignment, distributed_sort, rule_for
from support.lowercheck import collectives, lower, mesh_op, spec, strip
from support.rulecheck import context, last_op, run_xla

DTYPES = {
    "f32": np.float32, "bf16": ml_dtypes.bfloat16, "i32": np.int32, "ui8": np.uint8, "i1": np.bool_, "f16": np.float16,
}  # fmt: skip


def total(a: str, b: str, element: str, direction: str, name: str) -> str:
    """A comparison of one pair of keys, with floats in JAX's way: -0 is 0 and every NaN the same, the largest."""
    i1 = "tensor<i1>"
    t = f"tensor<{element}>"
    if not element.startswith(("f", "bf")):
        kind = "SIGNED" if element == "i32" else "UNSIGNED"
        return f"  {name} = stablehlo.compare {direction}, {a}, {b}, {kind} : ({t}, {t}) -> {i1}\n"
    text, nan = "", "0x7FC00000" if element == "f32" else "0x7FC0" if element == "bf16" else "0x7E00"
    for which, x in (("l", a), ("r", b)):
        p = f"{name}{which}"
        text += f"""  {p}z = stablehlo.constant dense<0.0> : {t}
  {p}e = stablehlo.compare EQ, {x}, {p}z, FLOAT : ({t}, {t}) -> {i1}
  {p}s = stablehlo.select {p}e, {p}z, {x} : {i1}, {t}
  {p}n = stablehlo.compare NE, {x}, {x}, FLOAT : ({t}, {t}) -> {i1}
  {p}q = stablehlo.constant dense<{nan}> : {t}
  {p} = stablehlo.select {p}n, {p}q, {p}s : {i1}, {t}
"""
    return text + f"  {name} = stablehlo.compare {direction}, {name}l, {name}r, TOTALORDER : ({t}, {t}) -> {i1}\n"


def region(elements: list[str], keys: int, direction: str) -> str:
    """A comparator of the first `keys` of several operands, the first one counting most."""
    arguments = ", ".join(f"%x{i}: tensor<{e}>, %y{i}: tensor<{e}>" for i, e in enumerate(elements))
    text = f"^bb0({arguments}):\n"
    for i in range(keys):
        text += total(f"%x{i}", f"%y{i}", elements[i], direction, f"%lt{i}")
        if i < keys - 1:
            text += total(f"%y{i}", f"%x{i}", elements[i], direction, f"%gt{i}")
    result = f"%lt{keys - 1}"
    for i in reversed(range(keys - 1)):
        text += f"""  %no{i} = stablehlo.not %gt{i} : tensor<i1>
  %rest{i} = stablehlo.and %no{i}, {result} : tensor<i1>
  %is{i} = stablehlo.or %lt{i}, %rest{i} : tensor<i1>
"""
        result = f"%is{i}"
    return text + f"  stablehlo.return {result} : tensor<i1>\n"


def program(
    shape: tuple[int, ...], elements: list[str], layout: str, axes: dict[str, int], dim: int, keys: int = 1,
    direction: str = "LT", stable: bool = True, position: int | None = None, body: str = "",
) -> str:  # fmt: skip
    """A sort of arguments laid out by `layout`; operand `position` is an iota instead."""
    dims = "x".join(map(str, shape))
    types = [f"tensor<{dims}x{e}>" for e in elements]
    given = [i for i in range(len(elements)) if i != position]
    arguments = ", ".join(f"%a{i}: {types[i]} {{dist.spec = {spec(layout)}}}" for i in given)
    made = "" if position is None else f"%a{position} = stablehlo.iota dim = {dim} {{dist.specs = [{spec(layout)}]}} : {types[position]}"
    specs = ", ".join([spec(layout)] * len(elements))
    results = ", ".join(f"{t} {{dist.spec = {spec(layout)}}}" for t in types)
    names = ", ".join(f"%r#{i}" for i in range(len(types))) if len(types) > 1 else "%r"
    return mesh_op(**axes) + f"""
func.func @main({arguments}) -> ({results}) {{
  {made}
  %r{f":{len(types)}" if len(types) > 1 else ""} = "stablehlo.sort"({", ".join(f"%a{i}" for i in range(len(types)))})
    <{{dimension = {dim} : i64, is_stable = {str(stable).lower()}}}> ({{
{body or region(elements, keys, direction)}
  }}) {{dist.specs = [{specs}]}} : ({", ".join(types)}) -> ({", ".join(types)})
  func.return {names} : {", ".join(types)}
}}"""


def values(shape: tuple[int, ...], element: str, seed: int = 0) -> np.ndarray:
    """Few different numbers, so that most keys are equal; among floats both zeros, NaNs and infinities."""
    rng = np.random.default_rng(seed)
    dtype = DTYPES[element]
    if element == "i1":
        return rng.integers(0, 2, shape).astype(bool)
    drawn = rng.integers(0 if element == "ui8" else -20, 20, shape).astype(np.float32)
    if element.startswith(("f", "bf")):
        special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf], np.float32)
        drawn = np.where(rng.random(shape) < 0.3, special[rng.integers(0, 6, shape)], drawn)
    return drawn.astype(dtype)


def verify(text: str, inputs: list[np.ndarray], axes: dict[str, int]) -> Counter[str]:
    """Run by XLA before and after lowering: the same bits, replicas agree, and what is sent is what the rule counts."""
    mesh = Mesh.of(axes)
    with context():
        module = ir.Module.parse(text)
        block = module.body.operations[1].operation.regions[0].blocks[0]
        op = list(block.operations)[-2].operation
        layouts = shardings.result_specs(op)
        rule = rule_for(op)
        a = rule.infer(layouts, layouts, mesh)
        itemsizes = [element_bytes(v.type.element_type) for v in op.operands]
        counted = sum(x.wire_elements(a, mesh) * itemsizes[x.operand] for x in rule.exchanges)
        launched = sum(x.launches(a, mesh) for x in rule.exchanges)
        strip(module)
        module.body.operations[0].operation.erase()
        # Without is_stable XLA may leave equal keys in any order; devices leave them in the stable one.
        want = run_xla(str(module).replace("is_stable = false", "is_stable = true"), inputs)
        local = lower(text)
        traffic = of_stablehlo(local)
        assert (traffic.wire_bytes, sum(traffic.counts().values())) == (pytest.approx(counted), launched)
        found = collectives(local)
        EmulatePass(check_replicas=True).run(local.operation)
        local.operation.verify()
        *got, agree = run_xla(str(local), inputs)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(bits(g), bits(w))
    assert bool(agree)
    return found


def bits(x: np.ndarray) -> np.ndarray:
    return x.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[x.dtype.itemsize])


@pytest.fixture
def work_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few devices sort by columns whatever they have to send, so that tests of it are small."""
    monkeypatch.setattr(distributed_sort, "_MANY", 3)


@pytest.mark.parametrize(
    ("element", "n", "size", "found"),
    [
        ("f32", 2, 16, {"all_gather": 1}),
        ("f32", 4, 96, {"all_gather": 1}),  # with the index, columns would send more
        ("i32", 4, 96, {"all_to_all": 2, "collective_permute": 2}),  # equal integers need no index
        ("i32", 4, 64, {"all_gather": 1}),  # blocks of 16 are too small: 2 * 3^2 = 18
        ("f32", 8, 832, {"all_to_all": 4, "collective_permute": 4}),
    ],
)
def test_the_way_follows_the_number_of_devices(element: str, n: int, size: int, found: dict[str, int]) -> None:
    text = program((size,), [element], "x", {"x": n}, 0)
    assert verify(text, [values((size,), element)], {"x": n}) == found


@pytest.mark.usefixtures("work_decides")
@pytest.mark.parametrize("direction", ["LT", "GT"])
@pytest.mark.parametrize("element", DTYPES)
def test_dtypes(element: str, direction: str) -> None:
    """Equal keys of other bits (zeros, NaNs) keep their order."""
    text = program((80,), [element], "x", {"x": 4}, 0, direction=direction, stable=direction == "LT")
    arrays = 2 if element in ("f32", "bf16", "f16") else 1
    found = verify(text, [values((80,), element)], {"x": 4})
    assert found == {"all_to_all": 2 * arrays, "collective_permute": 2 * arrays}


#: Operand types, keys, direction, which operand is an iota, and how many arrays columnsort has to send.
SEVERAL = {
    "payload": (["i32", "f32"], 1, "LT", None, 3),
    "two keys": (["ui8", "i32", "bf16"], 2, "GT", None, 4),
    "float keys": (["bf16", "f32"], 2, "LT", None, 3),
    "argsort": (["f32", "i32"], 1, "LT", 1, 2),
    "descending argsort": (["f32", "i32"], 1, "GT", 1, 2),
    "position first": (["i32", "i1"], 1, "GT", 0, 2),
}


@pytest.mark.usefixtures("work_decides")
@pytest.mark.parametrize("which", SEVERAL)
def test_several_operands(which: str) -> None:
    elements, keys, direction, position, arrays = SEVERAL[which]
    text = program((80,), elements, "x", {"x": 4}, 0, keys, direction, position=position)
    inputs = [values((80,), e, seed) for seed, e in enumerate(elements) if seed != position]
    found = verify(text, inputs, {"x": 4})
    assert found == {"all_to_all": 2 * arrays, "collective_permute": 2 * arrays}


#: Shape, layout, mesh, dimension, and whether the blocks are large enough.
LAYOUTS = {
    "axes combined": ((80,), "x+y", {"x": 2, "y": 2}, 0, True),
    "other order": ((80,), "y+x", {"x": 2, "y": 2}, 0, True),
    "rows split too": ((4, 80), "x,y", {"x": 2, "y": 4}, 1, True),
    "first dimension": ((96, 3, 4), "y,-,x", {"x": 2, "y": 4}, 0, True),
    "uneven rows": ((5, 80), "x,y", {"x": 2, "y": 4}, 1, True),
    "3 devices, odd blocks": ((2, 27), "-,x", {"x": 3}, 1, True),
    "one of two axes": ((2, 54), "-,y", {"x": 2, "y": 3}, 1, True),
    "small blocks": ((2, 40), "-,x", {"x": 8}, 1, False),
    "blocks that 3 does not divide": ((30,), "x", {"x": 3}, 0, False),
}


@pytest.mark.usefixtures("work_decides")
@pytest.mark.parametrize("which", LAYOUTS)
def test_layouts(which: str) -> None:
    shape, layout, axes, dim, large = LAYOUTS[which]
    text = program(shape, ["i32", "f32"], layout, axes, dim)
    found = verify(text, [values(shape, "i32"), values(shape, "f32")], axes)
    assert set(found) == ({"all_to_all", "collective_permute"} if large else {"all_gather"})


def test_the_sorted_dimension_needs_equal_blocks() -> None:
    with context():
        module = ir.Module.parse(program((81,), ["f32"], "-", {"x": 4}, 0))
        rule = rule_for(list(module.body.operations[1].operation.regions[0].blocks[0].operations)[-2].operation)
    assert "not divisible by 4" in rule.why_illegal(Assignment((("x",),)), Mesh.of({"x": 4}))


def test_a_comparator_that_reads_other_values_keeps_the_dimension_whole() -> None:
    text = """
func.func @main(%x: tensor<8x4xi32>, %c: tensor<i32>) -> tensor<8x4xi32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %d = stablehlo.xor %a, %c : tensor<i32>
    %e = stablehlo.xor %b, %c : tensor<i32>
    %l = stablehlo.compare LT, %d, %e : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<8x4xi32>) -> tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}"""
    with context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        rule = rule_for(last_op(module))
    assert [f.splittable for f in rule.factors] == [False, True]
    assert "reads values from outside" in rule.factors[0].reason
