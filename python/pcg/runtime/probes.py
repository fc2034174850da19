"""What `pcg-calibrate` runs: small programs of one kind of op, in many sizes.  Imports jax.

A probe is one op, which runs in a loop on every device at once; what an iteration of the loop takes beyond an
empty one is the op's.  FLOPs and bytes are counted as `pcg.cost` and the search count them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from pcg.machine.profile import ALIGNED
from pcg.rules.distributed_sort import sort_flops

#: Bytes per element of the types that can be measured.
BYTES = {"f32": 4, "bf16": 2, "f16": 2, "f64": 8}
DTYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16, "f64": jnp.float64}

#: FLOPs per byte of contractions, and channels in and out of convolutions: more on accelerators, which reach their
#: peak later and do not take long to.  The first convolution is that of an image, with its output channels split.
_INTENSITIES, _MORE_INTENSITIES = (2.0, 8.0, 32.0, 96.0), (384.0, 1024.0)
_CHANNELS, _MORE_CHANNELS = ((3, 2), (8, 8), (32, 32), (128, 128)), ((512, 512),)
#: On accelerators: on how many arrays an iteration runs an op whose operands are smaller than so many bytes.  Choices:
#: an iteration costs the host 20 us and more, which is what these operands take to be read at 3 TB/s.
_REPEATED, _SMALL = 8, 64 * 2**20
#: On accelerators: transcendental and other operations per element of the probes of arithmetic.  Choices: with fewer,
#: as on processors, the time is that of reading and writing the element.
_ARITHMETIC = 16, 512
#: Arrays that a collective is measured on: enough that none is in a cache because it was just written.  A choice.
_COPIES = 4
#: What devices do before they synchronise: the side of the matrices that they work on, and how many layers.
AMOUNTS = ((128, 0), (128, 1), (128, 3), (256, 1), (256, 2), (256, 4))


@dataclass(frozen=True)
class Probe:
    """One op at one size, as one device runs it.

    `row` is what the curve belongs to: (class, element, what) with what `bytes` or `flops`, or
    ("link", collective, group size).  `curve` is which of the curves of its row, `size` the place on it, `intensity`
    FLOPs per byte.  `operands` are local shapes and dtypes; `run` takes one array each.
    """

    row: tuple[str, str, str | int]
    size: float
    operands: tuple[tuple[tuple[int, ...], Any], ...]
    run: Callable[..., Any]
    intensity: float = 0.0
    curve: float = 0.0
    copies: int = 1
    """On how many arrays of that size an iteration runs the op, in turn: operands were written long before."""

    unrolled: bool = False
    """Whether the loop is unrolled, its trip count being an int."""

    def loop(self, iterations: Any, *arrays: Any) -> list[Any]:
        """The op so many times: its first operands and its results after the last.

        `arrays` are `copies` first operands, as many results, and the other operands.  Results are carried, so that all
        of them are computed, and one element of each, which the number of the iteration chooses, goes into the next
        first operand, so that no op can be eliminated, hoisted out of the loop, or fused with another.  Without the
        barrier XLA may compute the element once more, from the operand that it is written into, and copy that operand.
        """
        n = self.copies
        others = arrays[2 * n :]

        def iteration(i: Any, carried: tuple[Any, ...]) -> tuple[Any, ...]:
            xs, results = list(carried[:n]), []
            for k in range(n):
                results.append(lax.optimization_barrier(self.run(xs[k], *others)))
                xs[(k + 1) % n] = _put(xs[(k + 1) % n], _element(results[k], i))
            return (*xs, *results)

        state = arrays[: 2 * n]
        if not self.unrolled:
            return list(lax.fori_loop(0, iterations, iteration, state))
        for i in range(iterations):
            state = iteration(i, state)
        return list(state)


def _element(x: Any, i: Any) -> Any:
    return lax.dynamic_slice(x, (i % x.shape[0], *[0] * (x.ndim - 1)), (1,) * x.ndim)


def _put(x: Any, one: Any) -> Any:
    return lax.dynamic_update_slice(x, one.reshape((1,) * x.ndim).astype(x.dtype), (0,) * x.ndim)


def compute(elements: Sequence[str], largest: float, steps: int, cpu: bool = False) -> Iterator[Probe]:
    """Probes of local ops on operands of up to `largest` bytes; `steps` sizes per curve.

    On XLA's CPU backend (`cpu`) contractions of the rows of a left matrix are not measured: the simulator adds to the
    others what packing it costs (`pcg.simulate.reordering`).  And convolutions are not in loops, where they take many
    times as long.
    """
    for probe in _compute(elements, largest, steps, cpu):
        yield probe if cpu else repeated(probe)


def repeated(probe: Probe) -> Probe:
    """A probe for accelerators: one with small operands runs its op several times in an iteration."""
    small = sum(math.prod(shape) * jnp.dtype(dtype).itemsize for shape, dtype in probe.operands) <= _SMALL
    return replace(probe, copies=_REPEATED) if small else probe


def _compute(elements: Sequence[str], largest: float, steps: int, cpu: bool) -> Iterator[Probe]:
    for element in elements:
        yield from _contractions(element, largest, steps, cpu)
        yield from _convolutions(element, largest, steps, cpu)
        yield from _streams(element, largest, steps, cpu)
    yield from _indexed(largest, steps)


def sizes(low: float, high: float, steps: int) -> list[float]:
    """`steps` sizes from low to high, in equal ratios."""
    ratio = (high / low) ** (1 / max(1, steps - 1))
    return [low * ratio**i for i in range(steps)]


def _contractions(element: str, largest: float, steps: int, cpu: bool) -> Iterator[Probe]:
    """Result, gradient by operand and (but on `cpu`) by weight of [t,s] x [s,s]; the intensity fixes t for s."""
    item, dtype = BYTES[element], DTYPES[element]
    biggest = int(math.sqrt(largest / item))
    for intensity in _INTENSITIES if cpu else _INTENSITIES + _MORE_INTENSITIES:
        per_element = intensity * item  # flops per element touched: 2 t s^2 / (2 t s + s^2)
        smallest = max(32.0, 3.0 * per_element / 2)
        if smallest > biggest:
            continue
        for s_ in sizes(smallest, biggest, steps):
            s = _round(s_)
            t = max(1, round(per_element * s / (2 * s - 2 * per_element)))
            flops = 2.0 * t * s * s
            touched = item * (2.0 * t * s + s * s)
            forms = (
                ((t, s), (s, s), ((1,), (0,))), ((t, s), (s, s), ((1,), (1,))), ((t, s), (t, s), ((0,), (0,))),
            )  # fmt: skip
            for a, b, dims in forms[: 2 if cpu else 3]:
                dot = functools.partial(lax.dot_general, dimension_numbers=(dims, ((), ())))
                row = ("contraction", element, "flops")
                yield Probe(row, flops, ((a, dtype), (b, dtype)), dot, flops / touched, intensity)


def _round(n: float) -> int:
    """The nearest multiple of 8 elements, which fills vector registers."""
    return max(8, 8 * round(n / 8))


def _convolutions(element: str, largest: float, steps: int, cpu: bool) -> Iterator[Probe]:
    """3x3 on [8, h, h, c], and its gradients by operand and kernel; of images as users have them, by kernel only."""
    dtype, item = DTYPES[element], BYTES[element]
    for inputs, outputs in _CHANNELS if cpu else _CHANNELS + _MORE_CHANNELS:
        for image_ in sizes(8, max(9.0, math.sqrt(largest / 4 / item / 8 / inputs)), max(2, steps - 2)):
            image = round(image_)
            x, k = (8, image, image, inputs), (3, 3, inputs, outputs)
            out = (8, image, image, outputs)
            flops = 2.0 * math.prod(out) * 9 * inputs
            touched = item * (math.prod(x) + math.prod(out) + math.prod(k) + flops / 2 / outputs)
            by_input, by_kernel = functools.partial(_by_input, x), functools.partial(_by_kernel, k)
            forms: list[tuple[Any, Any, Any]] = [(_conv, x, k), (by_kernel, x, out), (by_input, out, k)]
            for run, first, second in forms[: 3 if inputs == outputs else 2]:
                row = ("convolution", element, "flops")
                operands = ((first, dtype), (second, dtype))
                yield Probe(row, flops, operands, run, flops / touched, inputs, unrolled=cpu)


def _by_input(shape: tuple[int, ...], g: Any, k: Any) -> Any:
    return jax.vjp(lambda x: _conv(x, k), jnp.zeros(shape, g.dtype))[1](g)[0]


def _by_kernel(shape: tuple[int, ...], x: Any, g: Any) -> Any:
    return jax.vjp(lambda k: _conv(x, k), jnp.zeros(shape, g.dtype))[1](g)[0]


def _conv(x: Any, k: Any) -> Any:
    return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _streams(element: str, largest: float, steps: int, cpu: bool) -> Iterator[Probe]:
    """Ops that take as long as their bytes: element-wise, reductions, transposes; and those that compute."""
    item, dtype = BYTES[element], DTYPES[element]
    for size in sizes(4096, largest, steps):
        columns = 1 << int(math.log2(math.sqrt(size / item)))
        rows = max(1, round(size / item / columns))
        total = item * rows * columns
        shape = ((rows, columns), dtype)
        yield Probe(("elementwise", element, "bytes"), 3.0 * total, (shape, shape), lambda x, y: x * y + x)
        for axis in (0, 1):
            yield Probe(("reduce", element, "bytes"), float(total), (shape,), lambda x, axis=axis: jnp.sum(x, axis))
        # What comes out is one row: else a compiler may choose an order in memory for the carry that makes it free.
        yield Probe(("transpose", element, "bytes"), 2.0 * total, (shape,), lambda x: x.T.reshape(-1))
        heads = ((8, rows, columns // 8), dtype)
        yield Probe(
            ("regroup", element, "bytes"), 2.0 * total, (heads,), lambda x: x.transpose(1, 0, 2).reshape(-1)
        )  # fmt: skip
        # One line of a cache more than a power of two: columns lie in different sets.  At a page they share one.
        yield _transposing("reorder", element, rows + 64 // item, columns)
        page = ALIGNED // item
        if rows * columns >= 16 * page:
            yield _transposing("reorder_aligned", element, page, rows * columns // page)
        yield Probe(("copy", element, "bytes"), 4.0 * total, (shape, shape), lambda x, y: jnp.concatenate([x, y], 1))
        small = min(total, largest / 8) if cpu else total
        n = round(small / item)
        flat = ((n,), dtype)
        several, long = (1, 32) if cpu else _ARITHMETIC
        for op in (jnp.exp, jnp.tanh):
            if several > 1:
                yield Probe(("transcendental", element, "bytes"), 2.0 * item * n, (flat,), op)
            run, flops = functools.partial(_times, op, several), float(several * n)
            yield Probe(("transcendental", element, "flops"), flops, (flat,), run, several / item / 2)
        run = functools.partial(_chain, long)
        yield Probe(("elementwise", element, "flops"), float(long * n), (flat,), run, long / item / 2)


def _transposing(cls: str, element: str, rows: int, columns: int) -> Probe:
    """A loop over two operands of which one is transposed: it reads elements that are `rows` elements apart."""
    transposed, straight = ((columns, rows), DTYPES[element]), ((rows, columns), DTYPES[element])
    size = 3.0 * BYTES[element] * rows * columns
    return Probe((cls, element, "bytes"), size, (transposed, straight), lambda y, x: x - 0.5 * y.T)


def _times(op: Callable[[Any], Any], times: int, x: Any) -> Any:
    """An operation, again and again on what it gives; negated, as exponentials of each other overflow."""
    x = op(x)
    for _ in range(times - 1):
        x = op(-x)
    return x


def _chain(operations: int, x: Any) -> Any:
    """So many operations per element that depend on each other."""
    y = x
    for _ in range(operations // 2):
        y = y * x + x
    return y


def _indexed(largest: float, steps: int) -> Iterator[Probe]:
    """Gathers and scatters of rows, sorts, pooling and its gradient."""
    width = 64
    for size in sizes(4096, largest / 4, max(3, steps - 2)):
        rows = max(4, round(size / 4 / width))
        moved = 4.0 * rows * width
        table, update = ((4 * rows, width), jnp.float32), ((rows, width), jnp.float32)
        ids = ((rows,), jnp.int32)
        yield Probe(
            ("gather", "f32", "bytes"), 2 * moved + 4 * rows, (table, ids), lambda x, i: x[i % x.shape[0]],
        )  # fmt: skip
        yield Probe(("scatter", "f32", "bytes"), 2 * moved + 4 * rows, (update, ids), _scatter)
        n = max(64, round(size / 16))
        yield Probe(("sort", "f32", "flops"), sort_flops(n), (((n,), jnp.float32),), jnp.sort, 1.0)
        image = max(8, 2 * round(math.sqrt(size / 4 / 32) / 2))
        x, pooled = (1, image, image, 32), (1, image // 2, image // 2, 32)
        flops = 9.0 * math.prod(pooled)
        yield Probe(("window", "f32", "flops"), flops, ((x, jnp.float32),), _pool, 0.2)
        both = ((x, jnp.float32), (pooled, jnp.float32))
        yield Probe(("window_gradient", "f32", "flops"), 2 * flops, both, _pool_gradient, 0.4)


def _pool(x: Any) -> Any:
    """Max pooling as in most CNNs: windows of 3x3, half the image."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def _pool_gradient(x: Any, g: Any) -> Any:
    return jax.vjp(_pool, x)[1](g)[0]


def _scatter(x: Any, i: Any) -> Any:
    """Rows added up in a table of a quarter as many."""
    table = jnp.zeros((max(1, x.shape[0] // 4), x.shape[1]), x.dtype)
    return table.at[i % table.shape[0]].add(x)


def links(groups: Sequence[int], largest: float, steps: int) -> Iterator[Probe]:
    """Collectives over the mesh axis `group`, in groups of each size; `size` is what one device sends."""
    for n in groups:
        for size in sizes(256, largest, steps):
            elements = max(n * n, n * n * round(size / 4 / n / n))
            total = 4.0 * elements
            operand = (((elements,), jnp.float32),)
            part = (((elements // n,), jnp.float32),)
            share = (n - 1) / n
            ring = [(i, (i + 1) % n) for i in range(n)]
            for kind, operands, sent, run in (
                ("all_reduce", operand, 2 * share * total, lambda x: lax.psum(x, "group")),
                ("reduce_scatter", operand, share * total, lambda x: lax.psum_scatter(x, "group", tiled=True)),
                ("all_gather", part, share * total, lambda x: lax.all_gather(x, "group", tiled=True)),
                ("all_to_all", operand, share * total, lambda x: lax.all_to_all(x, "group", 0, 0, tiled=True)),
                ("permute", operand, total, lambda x, ring=ring: lax.ppermute(x, "group", ring)),
            ):
                yield Probe(("link", kind, n), sent, operands, run, copies=_COPIES)


def inner_gathers(group: int, largest: float, steps: int) -> Iterator[Probe]:
    """All-gathers along the innermost of two dimensions, over all devices; `size` is what one device sends.

    They take longer than those along the outermost by what XLA transposes before and after.
    """
    for size in sizes(1024, largest, steps):
        rows = 1 << int(math.log2(math.sqrt(size / 4)))
        part = max(1, round(size / 4 / rows / group))
        # Rows: see `transpose`.
        yield Probe(
            ("link", "inner_gather", group), 4.0 * rows * part * (group - 1), (((rows * part,), jnp.float32),),
            lambda x, shape=(rows, part): lax.all_gather(x.reshape(shape), "group", axis=1, tiled=True).reshape(-1),
            copies=_COPIES,
        )  # fmt: skip


def layer(x: Any, weight: Any) -> Any:
    """Kernels of all kinds on square matrices, as in a layer of a model."""
    h = jnp.tanh(x @ weight)
    h = h - h.mean(1, keepdims=True)
    h = h * lax.rsqrt((h * h).mean(1, keepdims=True) + 1e-3)
    quarter = x.shape[1] // 4
    mixed = jax.nn.softmax(h[:, :quarter] @ h[:, quarter : 2 * quarter].T, axis=-1) @ h
    return 0.5 * mixed + 0.5 * x.T


def work_and_all_reduce(amount: int, reduces: bool, iterations: Any, x: Any, weight: Any, one: Any) -> list[Any]:
    """Iterations of `amount` layers and, if it `reduces`, an all-reduce of a few elements."""

    def iteration(_: Any, carried: tuple[Any, ...]) -> tuple[Any, ...]:
        x, one = carried
        for _ in range(amount):
            x = layer(x, weight)
        one = 0.5 * one + x[0, : one.shape[0]]
        if reduces:
            one = 0.1 * lax.psum(one, "group")
        return _put(x, one[:1]), one

    return list(lax.fori_loop(0, iterations, iteration, (x, one)))
