"""Convolutions and pooling of images ``[r, n, c, h, w]``."""

from __future__ import annotations

from abc import abstractmethod
from itertools import product

import numpy as np

from pcg.substitute.entries import Array, Entries
from pcg.substitute.errors import TermError
from pcg.substitute.operators.contraction import in_one_slice, matched, not_in_time
from pcg.substitute.operators.operator import (
    NONE,
    Operator,
    Parameters,
    Types,
    Values,
    activated,
    activation,
    of_one_device,
)
from pcg.substitute.tensor_type import TensorType

#: How much of the border a window may reach over: by half of itself, reading zeros, or not at all.
PADDINGS = ("same", "valid")


def _output(size: int, kernel: int, stride: int, padding: int | str) -> int:
    """Positions of a window."""
    return -(-size // stride) if padding == "same" else (size - kernel) // stride + 1


def _first(kernel: int, padding: int | str) -> int:
    """Elements before the first that the window at position 0 begins with."""
    return (kernel - 1) // 2 if padding == "same" else 0


def _positions(x: TensorType, kernel: tuple[int, int], stride: int | str, padding: int | str) -> tuple[int, int]:
    if padding not in PADDINGS:
        raise TermError(f"padding {padding!r}; allowed: {', '.join(PADDINGS)}")
    if not isinstance(stride, int) or stride < 1:
        raise TermError(f"stride {stride}; allowed: 1 or more")
    sizes = tuple(_output(s, k, stride, padding) for s, k in zip(x.shape[3:], kernel, strict=True))
    if min(sizes) < 1:
        raise TermError(f"a window of {kernel[0]}x{kernel[1]} on {x}; allowed: what fits")
    return sizes[0], sizes[1]


class Conv(Operator):
    """The convolution of ``[r, n, c, h, w]`` with ``[r, o, c / groups, kh, kw]``, an activation applied."""

    name = "conv"
    arity = 2
    parameters = ("stride", "padding", "activation")
    named = frozenset(("padding", "activation"))

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        (x, w), (stride, padding, act) = operands, parameters
        activation(act)
        if x.rank != 5 or w.rank != 5 or x.shape[2] % w.shape[2]:
            raise TermError(f"operands {x} and {w}; allowed: [r, n, c, h, w] and [r, o, c / groups, kh, kw]")
        groups = x.shape[2] // w.shape[2]
        if w.shape[1] % groups:
            raise TermError(f"operands {x} and {w}; allowed: output channels that the {groups} groups divide")
        for dim in (3, 4):
            of_one_device(w, dim, "kernel")
        not_in_time(x, 0, 2)
        in_one_slice(w)
        if groups > 1 and (x.degrees[2] > 1 or w.degrees[1] > 1 or w.degrees[2] > 1):
            raise TermError(f"operands {x} and {w}; allowed: channels that are not split, where there are groups")
        if x.degrees[2] != w.degrees[2]:
            raise TermError(f"operands {x} and {w}; allowed: those whose input channels are split equally")
        if x.degrees[2] > 1 and act != NONE:
            raise TermError(f"activation {act} of partial sums; allowed: none where {x} is split along channels")
        x_copies, w_copies = x.shape[0] // x.degrees[0], w.shape[0] // w.degrees[0]
        if x_copies != 1 or w_copies != 1:
            raise TermError(f"operands {x} and {w}; allowed: one element of the replica dimension on a device")
        common = _common(x, w)
        h, width = _positions(x, (w.shape[3], w.shape[4]), stride, padding)
        out = x.with_dim(0, common * x.degrees[2], common * x.degrees[2]).with_dim(2, w.shape[1], w.degrees[1])
        return out.with_dim(3, h, x.degrees[3]).with_dim(4, width, x.degrees[4])

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        (x, w), (stride, padding, act) = types, parameters
        out = self.type_of(parameters, types)
        common, inner, outer = _common(x, w), x.degrees[2], w.degrees[1]
        found = np.empty(out.shape, dtype=on.constant(0, (1,)).dtype)
        size = [s // d for s, d in zip(out.shape, out.degrees, strict=True)]
        c, i, o = x.shape[2] // inner, w.shape[2] // inner, w.shape[1] // outer
        n = x.shape[1] // x.degrees[1]
        for r, k, q, b, p, s in product(
            range(common), range(inner), range(outer), range(x.degrees[1]), range(x.degrees[3]), range(x.degrees[4])
        ):
            image = values[0][r * outer + q, b * n : (b + 1) * n, k * c : (k + 1) * c]
            copy = ((r * x.degrees[1] + b) * x.degrees[3] + p) * x.degrees[4] + s
            kernel = values[1][copy, q * o : (q + 1) * o, k * i : (k + 1) * i]
            local = _convolve(image, kernel, int(stride), padding, on)
            rows, columns = slice(p * size[3], (p + 1) * size[3]), slice(s * size[4], (s + 1) * size[4])
            found[r * inner + k, b * n : (b + 1) * n, q * o : (q + 1) * o, rows, columns] = local[:, :, rows, columns]
        return activated(act, found, on)


def _common(x: TensorType, w: TensorType) -> int:
    return matched(x.degrees[0], w.degrees[1], w.degrees[0], x.degrees[1] * x.degrees[3] * x.degrees[4], x, w)


def _convolve(x: Array, w: Array, stride: int, padding: int | str, on: Entries) -> Array:
    """``[n, c, h, w]`` with ``[o, c / groups, kh, kw]``."""
    (n, c, h, width), (o, i, kh, kw) = x.shape, w.shape
    groups = c // i
    oh, ow = _output(h, kh, stride, padding), _output(width, kw, stride, padding)
    found = on.constant(0, (n, groups, o // groups, oh * ow))
    for a, b in product(range(kh), range(kw)):
        shifted = on.constant(0, (n, c, oh, ow))
        rows = [(y, y * stride + a - _first(kh, padding)) for y in range(oh)]
        columns = [(y, y * stride + b - _first(kw, padding)) for y in range(ow)]
        rows, columns = [r for r in rows if 0 <= r[1] < h], [q for q in columns if 0 <= q[1] < width]
        if not rows or not columns:
            continue
        to = np.ix_(range(n), range(c), [r[0] for r in rows], [q[0] for q in columns])
        shifted[to] = x[np.ix_(range(n), range(c), [r[1] for r in rows], [q[1] for q in columns])]
        kernel = w[:, :, a, b].reshape(1, groups, o // groups, i)
        found = on.add(found, on.matmul(kernel, shifted.reshape(n, groups, i, oh * ow)))
    return found.reshape(n, o, oh, ow)


class _Pool(Operator):
    arity = 1
    parameters = ("kernel", "stride", "padding")
    named = frozenset(("padding",))

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        (x,), (kernel, stride, padding) = operands, parameters
        if x.rank != 5 or not isinstance(kernel, int) or kernel < 1:
            raise TermError(f"a window of {kernel} on {x}; allowed: 1 or more, on [r, n, c, h, w]")
        h, width = _positions(x, (kernel, kernel), stride, padding)
        return x.with_dim(3, h, x.degrees[3]).with_dim(4, width, x.degrees[4])

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        (x,), (kernel, stride, padding) = types, parameters
        k, before = int(kernel), _first(int(kernel), padding)
        out = self.type_of(parameters, types)
        found = np.empty(out.shape, dtype=on.constant(0, (1,)).dtype)
        for i, j in product(range(out.shape[3]), range(out.shape[4])):
            top, left = i * int(stride) - before, j * int(stride) - before
            window = values[0][..., max(top, 0) : top + k, max(left, 0) : left + k]
            found[..., i, j] = self._of_window(window.reshape(*x.shape[:3], -1), k, on)
        return found

    @abstractmethod
    def _of_window(self, window: Array, kernel: int, on: Entries) -> Array:
        """What becomes of the elements of a window, along the last dimension."""


class PoolAverage(_Pool):
    """The mean of each window, in which what is over the border counts as zeros."""

    name = "pool_average"

    def _of_window(self, window: Array, kernel: int, on: Entries) -> Array:
        return on.divide(on.sum(window, 3), kernel * kernel)


class PoolMax(_Pool):
    """The greatest of each window, in which what is over the border does not count."""

    name = "pool_max"

    def _of_window(self, window: Array, kernel: int, on: Entries) -> Array:
        return on.max(window, 3)


class Enlarge(Operator):
    """A kernel with zeros around it, up to `size` by `size`."""

    name = "enlarge"
    arity = 1
    parameters = ("size",)

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        (w,), size = operands, parameters[0]
        if w.rank != 5 or not isinstance(size, int) or any(s > size or (size - s) % 2 for s in w.shape[3:]):
            raise TermError(f"kernel {w} to {size}; allowed: no smaller, and larger by an even number")
        return w.with_dim(3, size, w.degrees[3]).with_dim(4, size, w.degrees[4])

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        (w,), size = types, int(parameters[0])
        found = on.constant(0, self.type_of(parameters, types).shape)
        top, left = (size - w.shape[3]) // 2, (size - w.shape[4]) // 2
        found[..., top : top + w.shape[3], left : left + w.shape[4]] = values[0]
        return found
