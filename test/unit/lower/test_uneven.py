"""Shards with padding: every uneven strategy of an op, with poison in the padding, computes what the op does."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from pcg.ir import shardings
from pcg.ir.walk import entry
from pcg.layout import Mesh, ShardSpec
from pcg.rules import Assignment, FactorRule, rule_for
from support.anyplan import prepare
from support.lowercheck import check, spec
from support.rulecheck import context

jax = pytest.importorskip("jax")
import jax.numpy as jnp
from jax import lax

F, I = jnp.float32, jnp.int32


def _conv(x, k, groups=1):
    dims = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=dims, feature_group_count=groups)


def _conv_valid(x, k, stride=1, dilation=1):
    dims = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        x, k, (stride, 1), [(0, 0), (0, 0)], lhs_dilation=(dilation, 1), dimension_numbers=dims
    )  # fmt: skip


def _pool(x, window, stride, pads, init=-np.inf, op=lax.max):
    return lax.reduce_window(x, np.float32(init), op, (window, 1), (stride, 1), (pads, (0, 0)))


def _pool_gradient(x, g, window, stride, pads):
    return jax.vjp(lambda x: _pool(x, window, stride, pads), x)[1](g)[0]


def _gather(t, i):
    return lax.gather(
        t, i, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, t.shape[1]), mode="clip"
    )  # fmt: skip


CASES = {
    "tanh": (jnp.tanh, [(F, 7, 9)]),
    "add": (jnp.add, [(F, 7, 9), (F, 7, 9)]),
    "divide": (lax.div, [(I, 9, 7), (I, 9, 7)]),
    "remainder": (lax.rem, [(I, 9, 7), (I, 9, 7)]),
    "dot": (jnp.matmul, [(F, 7, 9), (F, 9, 11)]),
    "batched dot": (lambda a, b: jnp.einsum("bik,bkj->bij", a, b), [(F, 5, 3, 9), (F, 5, 9, 2)]),
    "sum": (lambda x: lax.reduce(x, np.float32(0), lax.add, (0,)), [(F, 9, 7)]),
    "max": (lambda x: lax.reduce(x, np.float32(-np.inf), lax.max, (0, 1)), [(F, 9, 7)]),
    "min of integers": (lambda x: lax.reduce(x, np.int32(2**31 - 1), lax.min, (1,)), [(I, 9, 7)]),
    "complex sum": (lambda x: lax.reduce(x, np.complex64(0), lax.add, (0,)), [(jnp.complex64, 9, 7)]),
    "product": (lambda x: lax.reduce(x, np.float32(1), lax.mul, (0,)), [(F, 9, 7)]),
    "any": (lambda x: lax.reduce(x, np.bool_(False), lax.bitwise_or, (0,)), [(jnp.bool_, 9, 7)]),
    "all": (lambda x: lax.reduce(x, np.bool_(True), lax.bitwise_and, (0,)), [(jnp.bool_, 9, 7)]),
    "transpose": (lambda x: x.T, [(F, 7, 9)]),
    "broadcast": (lambda x: jnp.broadcast_to(x, (5, 9)), [(F, 9)]),
    "iota": (lambda: lax.broadcasted_iota(I, (9, 5), 0), []),
    "constant": (lambda: jnp.asarray(np.arange(45, dtype=np.float32).reshape(9, 5)), []),
    "convolution": (_conv, [(F, 9, 4, 4, 5), (F, 3, 3, 5, 7)]),
    "lookup": (_gather, [(F, 9, 5), (I, 11, 1)]),
    "scatter": (lambda t, i, u: t.at[i].add(u, mode="drop"), [(F, 9, 5), (I, 11), (F, 11, 5)]),
    "cumulative sum": (lambda x: lax.cumsum(x, 0), [(F, 9, 5)]),
    "cumulative maximum, reversed": (lambda x: lax.cummax(x, 0, reverse=True), [(F, 9, 5)]),
    "sort": (lambda x: lax.sort(x, dimension=1), [(F, 9, 4)]),
    "pad": (lambda x: jnp.pad(x, ((0, 0), (1, 1))), [(F, 9, 4)]),
    "slice": (lambda x: x[1:, :-2], [(F, 9, 13)]),
    "slice with stride": (lambda x: x[::2], [(F, 17, 3)]),
    "pad of both": (lambda x: lax.pad(x, np.float32(2), ((1, 1, 0), (-1, 3, 0))), [(F, 15, 9)]),
    "pad inside": (lambda x: lax.pad(x, np.float32(2), ((1, -1, 1), (0, 0, 0))), [(F, 9, 4)]),
    "concatenate": (lambda a, b, c: jnp.concatenate([a, b, c]), [(F, 9, 4), (F, 1, 4), (F, 7, 4)]),
    "largest": (lambda x: lax.top_k(x, 4), [(F, 5, 17)]),
    "largest of equal ones": (lambda x: lax.top_k(x, 9), [(I, 3, 17)]),
    "reverse": (lambda x: x[::-1, ::-1], [(F, 17, 9)]),
    "convolution, valid": (_conv_valid, [(F, 2, 13, 4, 5), (F, 3, 2, 5, 3)]),
    "convolution, strided": (lambda x, k: _conv_valid(x, k, 2), [(F, 2, 15, 4, 5), (F, 3, 2, 5, 3)]),
    "convolution, transposed": (lambda x, k: _conv_valid(x, k, 1, 2), [(F, 2, 9, 4, 5), (F, 4, 2, 5, 3)]),
    "convolution, depthwise": (lambda x, k: _conv(x, k, 7), [(F, 3, 5, 4, 7), (F, 3, 1, 1, 7)]),
    "convolution, same": (_conv, [(F, 3, 9, 11, 2), (F, 5, 3, 2, 3)]),
    "pooling": (lambda x: _pool(x, 2, 2, (0, 0)), [(F, 18, 5)]),
    "pooling with overlap": (lambda x: _pool(x, 3, 2, (1, 1)), [(F, 17, 5)]),
    "pooling from other numbers": (lambda x: _pool(x, 4, 1, (2, 1), 0.5, lax.add), [(F, 11, 5)]),
    "gradient of pooling": (lambda x, g: _pool_gradient(x, g, 2, 2, (0, 0)), [(F, 18, 5), (F, 9, 5)]),
    "gradient of pooling with overlap": (lambda x, g: _pool_gradient(x, g, 3, 2, (1, 1)), [(F, 17, 5), (F, 9, 5)]),
    "gradient of pooling with gaps": (lambda x, g: _pool_gradient(x, g, 2, 3, (0, 0)), [(F, 29, 5), (F, 10, 5)]),
    "select": (jnp.where, [(jnp.bool_, 9, 5), (F, 9, 5), (F, 9, 5)]),
}
MESHES = ("a=2", "a=3", "a=4", "a=8", "a=2,b=2", "a=3,b=2")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("mesh", MESHES)
def test_every_uneven_strategy(name: str, mesh: str) -> None:
    text = _text(name)
    rng = np.random.default_rng(0)
    values = [_values(rng, e, s) for e, *s in CASES[name][1]]
    compiled = "convolution" in name or "largest" in name  # by XLA, which is slow
    for program in _programs(text, Mesh.parse(mesh), 3 if compiled else 12):
        check(program, values, rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_there_is_an_uneven_strategy(name: str) -> None:
    with context():
        module = prepare(_text(name))
        rules = [rule_for(op) for op in _ops(module)]
        assert any(_legal(rule, Mesh.parse(mesh), 1) for rule in rules for mesh in MESHES)


def _text(name: str) -> str:
    function, arguments = CASES[name]
    shapes = [jax.ShapeDtypeStruct(s, e) for e, *s in arguments]
    return jax.jit(function, keep_unused=True).lower(*shapes).as_text()


def _values(rng: np.random.Generator, element, shape) -> np.ndarray:
    if element == jnp.bool_:
        return rng.random(shape) < 0.5
    if element == jnp.complex64:
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)
    if element == I:
        return rng.integers(1, 12, shape).astype(np.int32)
    return rng.standard_normal(shape).astype(np.float32)


def _programs(text: str, mesh: Mesh, most: int) -> list[str]:
    """`text` under uneven strategies of each of its ops, also such that leave devices with padding only.

    Of all strategies a sample of `most` is looked at.  Arguments have the layouts that the op wants.
    """
    made = []
    with context():
        plain = prepare(text)
        for k, original in enumerate(_ops(plain)):
            rule = rule_for(original)
            for a in _legal(rule, mesh, most):
                module = prepare(text)
                shardings.set_mesh(module, mesh)
                op = _ops(module)[k]
                arguments = list(entry(module).regions[0].blocks[0].arguments)
                for i, value in enumerate(op.operands):
                    if value in arguments and shardings.get(value) is None:
                        shardings.set(value, rule.operand_spec(i, a))
                shardings.set_operand_specs(op, [rule.operand_spec(i, a) for i in range(len(op.operands))])
                shardings.set_result_specs(op, [rule.result_spec(i, a) for i in range(len(op.results))])
                module.operation.verify()
                made.append(str(module))
    return made


def _legal(rule: FactorRule, mesh: Mesh, most: int) -> list[Assignment]:
    choices = itertools.product(*[range(-1, len(rule.factors))] * len(mesh.names))
    found = [
        a for c in choices if not rule.why_illegal(a := rule.assignment(c, mesh), mesh)
        and not all(x.divides(mesh.axes_size(axes)) for x, axes in zip(rule.factors, a.axes, strict=True))
    ]  # fmt: skip
    return found if len(found) <= most else random.Random(0).sample(found, most)


def _ops(module):
    return [o.operation for o in list(entry(module).regions[0].blocks[0].operations)[:-1]]


@pytest.mark.parametrize("mesh", ["a=2", "a=4", "a=8", "a=3,b=2"])
def test_the_largest_of_the_least(mesh: str) -> None:
    """Elements that are as little as padding, or less than -inf, keep their places."""
    shape = jax.ShapeDtypeStruct((3, 11), np.float32)
    text = jax.jit(lambda x: lax.top_k(x, 7)[1]).lower(shape).as_text()
    x = np.full((3, 11), -np.inf, np.float32)
    x[1] = np.array([0xFFFFFFFF], np.uint32).view(np.float32)
    x[2] = -np.arange(11)
    x[2, ::3] = x[1, ::3]
    programs = _programs(text, Mesh.parse(mesh), 6)
    assert programs
    for program in programs:
        check(program, [x])


TEXT = """
func.func @main(%x: tensor<SHAPExf32> {{dist.spec = {src}}}) -> (tensor<SHAPExf32> {{dist.spec = {dst}}}) {{
  %0 = stablehlo.negate %x {{dist.specs = [{src}]}} : tensor<SHAPExf32>
  %1 = "dist.reshard"(%0) {{spec = {dst}, dist.specs = [{dst}]}} : (tensor<SHAPExf32>) -> tensor<SHAPExf32>
  return %1 : tensor<SHAPExf32>
}}"""
MESH = '"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y", "z"], [2, 3, 2], []>} : () -> ()\n'
LAYOUTS = ["-,-", "x,-", "y,-", "x+y,-", "y+x,-", "x+y+z,-", "z+y+x,-", "x,y", "y,x", "-,x+z", "-,z+x", "z,x+y", "x+z,y"]


@pytest.mark.parametrize("shape", ["7x5", "13x6"])
@pytest.mark.parametrize("src", LAYOUTS)
def test_redistribution_of_uneven_shards(src: str, shape: str) -> None:
    for dst in LAYOUTS:
        check(MESH + TEXT.replace("SHAPE", shape).format(src=spec(src), dst=spec(dst)))


def test_partial_sums_end_in_uneven_shards() -> None:
    text = MESH + """
    func.func @main(%x: tensor<7x12xf32> {{dist.spec = {x}}}, %w: tensor<12x5xf32> {{dist.spec = {w}}})
        -> (tensor<7x5xf32> {{dist.spec = {out}}}) {{
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {{dist.operand_specs = [{x}, {w}],
        dist.specs = [{sum}]}} : (tensor<7x12xf32>, tensor<12x5xf32>) -> tensor<7x5xf32>
      return %0 : tensor<7x5xf32>
    }}""".format(x=spec("-,x+z"), w=spec("x+z,-"), sum=spec("-,-", x="sum", z="sum"), out=spec("z+x,y"))
    found, _ = check(text, rtol=1e-5)
    assert found["reduce_scatter"] == 1 and not found["all_reduce"]


def test_layouts_with_padding_say_so() -> None:
    mesh = Mesh.parse("x=2,y=4")
    both = ShardSpec.of([["x", "y"], []])
    assert both.local_shape((17, 3), mesh) == (3, 3)
    assert both.uneven_dims((17, 3), mesh) == (0,)
    assert ShardSpec.of([["x"], []]).uneven_dims((16, 3), mesh) == ()
