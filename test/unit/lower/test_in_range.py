"""Indices of a per-device program stay in range, where XLA would forget to move them back."""

from __future__ import annotations

import numpy as np
import pytest
from torch_mlir import ir

from pcg.ir.walk import walk
from pcg.lower.in_range import keep_in_range
from pcg.lower.intervals import Intervals
from pcg.passes.pipeline import Pipeline
from support import lowercheck
from support.rulecheck import context

jax = pytest.importorskip("jax")
import jax.numpy as jnp
from jax import P, lax

import pcg

SLICED = "%r = stablehlo.dynamic_slice %x, %i, %j, sizes = [3, 6] : (tensor<9x6xf32>, T, T) -> tensor<3x6xf32>"


def program(body: str, index: str = "tensor<i32>") -> str:
    text = f"func.func @main(%x: tensor<9x6xf32>, %i: T, %j: T) -> tensor<3x6xf32> {{\n{body}\n"
    return (text + "return %r : tensor<3x6xf32>\n}").replace("T", index)


def rewritten(text: str, devices: int = 3) -> tuple[int, list[str], str]:
    """How many ops of a normalized program were changed, the names of those that there are, the text."""
    with context():
        module = ir.Module.parse(text)
        Pipeline("pcg-normalize").run(module)
        changed = keep_in_range(module.operation, devices)
        module.operation.verify()
        return changed, [op.name.removeprefix("stablehlo.") for op in walk(module.operation)], str(module)


# -- what is known ---------------------------------------------------------------------------------

KNOWN = {
    "%r = stablehlo.constant dense<[3, -4, 7]> : tensor<3xi32>": (-4, 7),
    "%r = stablehlo.constant dense<4000000000> : tensor<ui32>": (4000000000, 4000000000),
    "%r = stablehlo.constant dense<[1, 4000000000]> : tensor<2xui32>": (1, 4000000000),
    "%r = stablehlo.partition_id : tensor<ui32>": (0, 5),
    "%r = stablehlo.iota dim = 0 : tensor<5x2xi32>": (0, 4),
    "%r = stablehlo.clamp %two, %x, %seven : tensor<i32>": (2, 7),
    "%a = stablehlo.clamp %two, %x, %seven : tensor<i32>\n %r = stablehlo.subtract %a, %seven : tensor<i32>": (-5, 0),
    "%a = stablehlo.clamp %two, %x, %seven : tensor<i32>\n %r = stablehlo.multiply %a, %a : tensor<i32>": (4, 49),
    "%a = stablehlo.clamp %two, %x, %seven : tensor<i32>\n %r = stablehlo.remainder %a, %two : tensor<i32>": (0, 1),
    "%r = stablehlo.remainder %x, %seven : tensor<i32>": (-6, 6),
    "%r = stablehlo.minimum %x, %seven : tensor<i32>": (-(2**31), 7),
    "%r = stablehlo.add %x, %two : tensor<i32>": (-(2**31), 2**31 - 1),
    "%p = stablehlo.compare LT, %two, %seven : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "%r = stablehlo.select %p, %two, %x : tensor<i1>, tensor<i32>": (2, 2),
    "%p = stablehlo.compare LT, %x, %seven : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "%r = stablehlo.select %p, %two, %seven : tensor<i1>, tensor<i32>": (2, 7),
    "%r = stablehlo.convert %seven : (tensor<i32>) -> tensor<i8>": (7, 7),
    "%a = stablehlo.constant dense<200> : tensor<i32>\n %r = stablehlo.convert %a : (tensor<i32>) -> tensor<i8>": (
        -128, 127,
    ),
}  # fmt: skip


@pytest.mark.parametrize("body", KNOWN)
def test_bounds_of_integers(body: str) -> None:
    with context():
        module = ir.Module.parse(
            "func.func @main(%x: tensor<i32>) {\n%two = stablehlo.constant dense<2> : tensor<i32>\n"
            f"%seven = stablehlo.constant dense<7> : tensor<i32>\n{body}\nreturn\n}}"
        )
        last = list(module.body.operations[0].regions[0].blocks[0].operations)[-2]
        assert Intervals(6).of(last.results[0]) == KNOWN[body]


def test_counters_of_loops_are_left_as_they_are() -> None:
    """What lax.scan takes of its operand and where it puts its results is in range: nothing is added to the loop."""
    def f(x):
        return lax.scan(lambda c, row: (c + row.sum(), row * c), jnp.float32(0), x)

    text = jax.jit(f).lower(jax.ShapeDtypeStruct((8, 6), np.float32)).as_text()
    changed, names, _ = rewritten(text, 4)
    assert "while" in names and "dynamic_slice" in names and "dynamic_update_slice" in names
    assert changed == 0


def test_what_is_in_range_is_left_as_it_is() -> None:
    text = program("%c = stablehlo.constant dense<6> : tensor<i32>\n%o = stablehlo.constant dense<0> : tensor<i32>\n"
                   + SLICED.replace("%i, %j", "%c, %o"))
    assert rewritten(text)[0] == 0


def test_constants_are_moved_at_once() -> None:
    text = program("%c = stablehlo.constant dense<8> : tensor<i32>\n" + SLICED.replace("%i, %j", "%c, %j"))
    changed, names, made = rewritten(text)
    assert changed == 1 and "clamp" not in names and "dense<6>" in made


@pytest.mark.parametrize("index", ["i8", "ui8", "i16", "ui32", "i64", "ui64"])
def test_narrow_indices_are_widened(index: str) -> None:
    changed, names, made = rewritten(program(SLICED, f"tensor<{index}>"))
    assert changed == 1 and ("convert" in names) == (index in ("i8", "ui8", "i16"))


# -- what runs -------------------------------------------------------------------------------------


def _rows(x, i, n=3):
    return lax.dynamic_slice(x, (i, 0), (n, x.shape[1]))


def _take(x, i):
    numbers = lax.GatherDimensionNumbers((0, 1), (), (0,))
    return lax.gather(x, i[None], numbers, (3, x.shape[1]), mode="promise_in_bounds")


def _looped(x, i):
    """A slice and a scatter whose places depend on the number of the step and pass the end."""
    def step(k, x):
        return x.at[i + 3 * k].add(1.0, mode="drop") + _rows(x, i + 2 * k, 1)

    return lax.fori_loop(0, 4, step, x)


def _nested(x, i):
    return _rows(_rows(x, i, 6), i, 3)


FUNCTIONS = {
    "slice": _rows,
    "window by gather": _take,
    "slice of a slice": _nested,
    "update": lambda x, i: lax.dynamic_update_slice(x, -jnp.ones((3, 6)), (i, 0)),
    "set": lambda x, i: x.at[i].set(0.0, mode="drop"),
    "add": lambda x, i: x.at[i].add(x[0], mode="drop"),
    "multiply": lambda x, i: x.at[i].mul(3.0, mode="drop"),
    "set in a loop": _looped,
    "slice of a padded": lambda x, i: _rows(jnp.pad(x, ((2, 2), (0, 0))), i),
    "slice of joined": lambda x, i: _rows(jnp.concatenate([x, -x]), i + 9),
    "slice of a transposed": lambda x, i: lax.dynamic_slice(x.T[:, None], (0, 0, i), (6, 1, 3))[:, 0].T,
}
INDICES = (-(2**31), -9, -1, 0, 4, 6, 7, 8, 9, 2**31 - 1)


def right(name: str, x: np.ndarray, i: int) -> np.ndarray:
    """What numpy makes of it: XLA on one device has the same fault where a user's program slices a slice."""
    def rows(x, i, n=3):
        start = min(max(i, 0), len(x) - n)
        return x[start : start + n]

    def put(x, i, value):
        x = x.copy()
        at = i + len(x) if -len(x) <= i < 0 else i  # as jnp counts from the end
        if 0 <= at < len(x):
            x[at] = value(x[at])
        return x

    match name:
        case "slice" | "window by gather":
            return rows(x, i if name == "window by gather" or i >= 0 else _from_end(i, len(x)))
        case "slice of a slice":
            return rows(rows(x, _from_end(i, 9), 6), _from_end(i, 6))
        case "update":
            start, out = min(max(_from_end(i, 9), 0), 6), x.copy()
            out[start : start + 3] = -1
            return out
        case "set":
            return put(x, i, lambda v: 0 * v)
        case "add":
            return put(x, i, lambda v: v + x[0])
        case "multiply":
            return put(x, i, lambda v: 3 * v)
        case "set in a loop":
            for k in range(4):
                x = put(x, _wrapped(i + 3 * k), lambda v: v + 1) + rows(x, _from_end(_wrapped(i + 2 * k), 9), 1)
            return x
        case "slice of a padded":
            return rows(np.pad(x, ((2, 2), (0, 0))), _from_end(i, 13))
        case "slice of joined":
            return rows(np.concatenate([x, -x]), _from_end(_wrapped(i + 9), 18))
    return rows(x, _from_end(i, 9))


def _from_end(i: int, n: int) -> int:
    """An index as lax.dynamic_slice understands it: a negative one counts from the end."""
    return _wrapped(i + n) if i < 0 else i


def _wrapped(i: int) -> int:
    return (i + 2**31) % 2**32 - 2**31


WAYS = {
    "of a whole": ("a=3", P(), P("a")),
    "of parts": ("a=3", P("a"), P()),
    "along rows": ("a=2", P(), P(None, "a")),
    "of both": ("a=3,b=2", P("a"), P("a", "b")),
}


def check(name: str, way: str) -> None:
    x = np.arange(54.0, dtype=np.float32).reshape(9, 6)
    mesh, ins, outs = WAYS[way]
    f = pcg.compile(FUNCTIONS[name], mesh, strategy="dataflow", in_shardings=(ins, P()), out_shardings=outs)
    for i in INDICES:
        got = np.asarray(f(x, np.int32(i)))
        np.testing.assert_array_equal(got, right(name, x, i), err_msg=f"{name} at {i} on {mesh}: {ins} -> {outs}")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_on_devices(name: str) -> None:
    """Of a whole operand each device keeps a part of the result."""
    check(name, "of a whole")


@pytest.mark.parametrize("way", list(WAYS)[1:])
@pytest.mark.parametrize("name", ["slice", "set", pytest.param("", marks=pytest.mark.exhaustive)])
def test_on_devices_otherwise(name: str, way: str) -> None:
    for one in [name] if name else FUNCTIONS:
        check(one, way)


def test_within_a_function_that_jax_compiles() -> None:
    x = jnp.arange(48.0).reshape(8, 6)
    f = pcg.compile(
        lambda x, i: x.at[i].set(0.0), "a=4", strategy="dataflow", in_shardings=(P(), P()), out_shardings=P("a")
    )
    f.lower(x, 5)
    got = jax.jit(lambda x, i: f(x + 1, i) - 1)(x, 5)
    np.testing.assert_array_equal(got, x.at[5].set(-1.0))


def test_of_parts_that_jax_takes_before() -> None:
    """jax takes the parts of a whole when it calls the program."""
    x = jnp.arange(48.0).reshape(8, 6)
    whole, parts = (jax.sharding.NamedSharding(jax.make_mesh((4,), ("a",)), s) for s in (P(), P("a")))
    f = pcg.compile(lambda x, i: x.at[i].set(0.0), "a=4", strategy="dataflow", in_shardings=(parts, P()))
    f.lower(x, 5)
    got = jax.jit(lambda x, i: f(x, i), in_shardings=(whole, None))(x, 5)
    np.testing.assert_array_equal(got, x.at[5].set(0.0))


def test_scatters_to_what_a_loop_carries_are_left_as_they_are() -> None:
    def f(x, i):
        return lax.fori_loop(0, 4, lambda k, x: x.at[i + k].add(1.0).at[i - k].mul(2.0), x)

    text = jax.jit(f).lower(jax.ShapeDtypeStruct((8, 6), np.float32), np.int32(3)).as_text()
    changed, names, _ = rewritten(text, 4)
    assert names.count("scatter") == 2 and "dynamic_slice" not in names


def test_a_constant_place_beyond_a_device_s_part() -> None:
    f = pcg.compile(
        lambda x: x.at[5].set(0.0), "a=4", strategy="dataflow", in_shardings=(P(),), out_shardings=P("a")
    )
    np.testing.assert_array_equal(f(jnp.arange(48.0).reshape(8, 6))[:, 0], [0, 6, 12, 18, 24, 0, 36, 42])


def test_a_scatter_may_use_values_from_around_it() -> None:
    text = lowercheck.mesh_op(a=3) + """
    func.func @main(%x: tensor<9x7xf32> {dist.spec = OUT}, %i: tensor<1xi32>, %u: tensor<1x7xf32>, %s: tensor<f32>)
        -> (tensor<9x7xf32> {dist.spec = OUT}) {
      %r = "stablehlo.scatter"(%x, %i, %u) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.multiply %b, %s : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, dist.specs = [OUT]}
        : (tensor<9x7xf32>, tensor<1xi32>, tensor<1x7xf32>) -> tensor<9x7xf32>
      return %r : tensor<9x7xf32>
    }""".replace("OUT", lowercheck.spec("a,-"))
    for i in (-1, 0, 5, 8, 9, 2**31 - 1):
        lowercheck.check(text, [None, np.array([i], np.int32), None, None])


def test_one_device_runs_the_program_as_it_is() -> None:
    """Lowering for a mesh of one device has nothing to keep in range; for more it has."""
    for devices, kept in ((1, 0), (2, 1)):
        with context():
            mesh = f'"dist.mesh"() {{sym_name = "mesh", value = #dist.process_mesh<["x"], [{devices}], []>}} : () -> ()\n'
            module = ir.Module.parse(mesh + program(SLICED))
            pipeline = Pipeline("pcg-normalize,dist-propagate,dist-insert-reshards,dist-fuse-collectives,pcg-lower-spmd")
            pipeline.run(module)
            assert sum(op.name == "stablehlo.clamp" for op in walk(module.operation)) == kept
