"""What the entries of arrays are when a term is evaluated; floats are one kind."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

#: An array of entries, of numpy.
Array: TypeAlias = Any


class Entries(Protocol):
    """Arithmetic on arrays of entries, elementwise but for `matmul`."""

    def constant(self, value: int, shape: tuple[int, ...]) -> Array:
        """An array of one integer."""

    def add(self, x: Array, y: Array) -> Array:
        """The sum."""

    def mul(self, x: Array, y: Array) -> Array:
        """The product."""

    def matmul(self, x: Array, y: Array) -> Array:
        """The matrix product over the last two dimensions, those before broadcast as numpy does."""

    def sum(self, x: Array, axis: int) -> Array:
        """The sum over a dimension."""

    def max(self, x: Array, axis: int) -> Array:
        """The greatest over a dimension."""

    def divide(self, x: Array, by: int) -> Array:
        """The quotient."""

    def apply(self, function: str, x: Array) -> Array:
        """A function of one argument, as relu."""


class Floats:
    """Entries as machines have them: what is not equal here is not equal.  NaN where a function has no value."""

    _FUNCTIONS = {
        "relu": lambda x: np.maximum(x, 0.0),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "tanh": np.tanh,
        "gelu": lambda x: 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))),
        "exp": np.exp,
        "log": np.log,
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "reciprocal": lambda x: 1 / x,
    }

    def constant(self, value: int, shape: tuple[int, ...]) -> Array:
        return np.full(shape, float(value))

    def add(self, x: Array, y: Array) -> Array:
        return np.asarray(x + y)

    def mul(self, x: Array, y: Array) -> Array:
        return np.asarray(x * y)

    def matmul(self, x: Array, y: Array) -> Array:
        return np.asarray(np.matmul(x, y))

    def sum(self, x: Array, axis: int) -> Array:
        return np.asarray(x.sum(axis))

    def max(self, x: Array, axis: int) -> Array:
        return np.asarray(x.max(axis))

    def divide(self, x: Array, by: int) -> Array:
        return np.asarray(x / by)

    def apply(self, function: str, x: Array) -> Array:
        with np.errstate(all="ignore"):
            found = np.asarray(self._FUNCTIONS[function](x))
        return np.where(np.isfinite(found), found, np.nan)
