"""Strategies as MindSpore writes them: slices per input dimension, and the tensor layouts they mean.

A strategy such as `((2,1),(1,4))` says into how many slices each dimension of each operand is split.  For
a matrix product on 8 devices it means a *device matrix* `(2,1,4)` (one entry per factor of the op, and
one for devices that repeat the work) and, per tensor, a *tensor map*: for each dimension the entry of
the device matrix that splits it, counted from the right, or -1.  The left operand has the map `(2,1)`,
the right one `(1,0)`, the product `(2,0)`.

On a mesh with named axes an entry of the device matrix is one axis or several, so layouts and
`ShardSpec`s say the same thing and are printed in either form.  No MLIR here.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pcg.layout.mesh import Mesh
from pcg.layout.spec import ShardSpec
from pcg.machine.collectives import primes

if TYPE_CHECKING:
    from pcg.rules.factor import FactorRule

#: Slices per dimension of one tensor.
Slices = tuple[int, ...]
#: Slices per operand of an op.
Strategy = tuple[Slices, ...]


class StrategyError(ValueError):
    """A strategy is malformed, or does not fit its op or its devices."""


@dataclass(frozen=True)
class TensorLayout:
    """A tensor on a matrix of devices.

    `tensor_map[d]` are the entries of `device_matrix` that split dimension `d`, major to minor, counted
    from the right as MindSpore does; `()` where nothing does.
    """

    device_matrix: tuple[int, ...]
    tensor_map: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        entries = ("-1" if not m else str(m[0]) if len(m) == 1 else _row(m) for m in self.tensor_map)
        return f"device matrix {_row(self.device_matrix)}, tensor map ({','.join(entries)})"

    @property
    def slices(self) -> Slices:
        """Into how many slices each dimension is split."""
        n = len(self.device_matrix)
        return tuple(math.prod(self.device_matrix[n - 1 - e] for e in m) for m in self.tensor_map)

    def spec(self, mesh: Mesh) -> ShardSpec:
        """This layout by the axes of `mesh`.

        Raises:
          StrategyError: no axes of the mesh have the sizes of the device matrix.
        """
        axes, n = matrix_axes(self.device_matrix, mesh), len(self.device_matrix)
        return ShardSpec.of([a for e in m for a in axes[n - 1 - e]] for m in self.tensor_map)

    def insert(self, dim: int) -> TensorLayout:
        """The layout of a tensor with one more dimension, which is not split, at `dim`."""
        return TensorLayout(self.device_matrix, (*self.tensor_map[:dim], (), *self.tensor_map[dim:]))

    @classmethod
    def of(cls, spec: ShardSpec, mesh: Mesh) -> TensorLayout:
        """The layout that `spec` means on `mesh`, whose axes are the device matrix; partial axes do not show."""
        last = len(mesh.axes) - 1
        return cls(mesh.sizes, tuple(tuple(last - mesh.names.index(a) for a in axes) for axes in spec.dims))


# -- reading and printing --------------------------------------------------------------------------


def parse_strategy(value: Any) -> Strategy:
    """A strategy from its text or nested sequences; an operand's `4` (which Python makes of `(4)`) is one dimension.

    Raises:
      StrategyError: it is not made of positive integers, one sequence per operand.
    """
    if isinstance(value, str):
        try:
            # As lists, so that ((4)) stays one operand.
            value = ast.literal_eval(value.strip().translate(str.maketrans("()", "[]")))
        except (ValueError, SyntaxError):
            raise StrategyError(f"cannot read strategy {value!r}; write ((2,1),(1,4)): slices per dimension") from None
    if not isinstance(value, tuple | list):
        raise StrategyError(f"strategy {value!r}; expected one tuple of slices per operand, as in ((2,1),(1,4))")
    return tuple(map(parse_slices, value))


def parse_slices(value: Any) -> Slices:
    """Slices per dimension of one tensor.

    Raises:
      StrategyError: not a positive integer per dimension.
    """
    row = (value,) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(row, tuple | list):
        raise StrategyError(f"slices {value!r}; expected a positive integer per dimension, as in (2,1)")
    for n in row:
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise StrategyError(f"slices {tuple(row)} have {n!r}; expected a positive integer per dimension")
    return tuple(row)


def format_strategy(strategy: Iterable[Slices]) -> str:
    """`((2,1),(1,4))`; one dimension is `(4)`."""
    return "(" + ",".join(map(_row, strategy)) + ")"


def _row(numbers: Iterable[int]) -> str:
    return "(" + ",".join(map(str, numbers)) + ")"


# -- from a strategy to layouts --------------------------------------------------------------------


@dataclass(frozen=True)
class OpLayout:
    """What a strategy makes of an op: the layout of each operand and, once reduced, of each result.

    `reduced` are the entries of the device matrix, from the right, over which results are partial sums.
    """

    device_matrix: tuple[int, ...]
    operands: tuple[TensorLayout, ...]
    results: tuple[TensorLayout, ...]
    reduced: tuple[int, ...] = ()


def derive(strategy: Strategy, rule: FactorRule, devices: int | None = None) -> OpLayout:
    """The layouts that `strategy` means for an op with `rule` on `devices` devices (None: as many as it takes).

    The device matrix has an entry per factor of the operands, in the order in which they appear, and a
    last one for devices that repeat the work.

    Raises:
      StrategyError: it does not fit the op (number of operands, ranks, sizes, one factor split
        differently by two operands, a factor that cannot be split) or the number of devices.
    """
    text = format_strategy(strategy)
    if len(strategy) != len(rule.operands):
        raise StrategyError(f"strategy {text} is for {len(strategy)} operands; the operation has {len(rule.operands)}")
    parts: dict[int, tuple[int, int, int]] = {}
    for i, (slices, dims) in enumerate(zip(strategy, rule.operands, strict=True)):
        if len(slices) != len(dims):
            raise StrategyError(
                f"strategy {text} has {len(slices)} dimensions for operand {i}; it has {len(dims)}"
            )
        for d, (n, factors) in enumerate(zip(slices, dims, strict=True)):
            for f, part in _over_factors(n, factors, rule, f"strategy {text} splits dimension {d} of operand {i}"):
                before = parts.setdefault(f, (part, i, d))
                if before[0] != part:
                    raise StrategyError(
                        f"strategy {text} splits dimension {d} of operand {i} into {part} and dimension {before[2]} of"
                        f" operand {before[1]}, which is the same factor, into {before[0]}; they must agree"
                    )
    matrix = [part for part, _, _ in parts.values()]
    used = math.prod(matrix)
    if devices is not None:
        if devices % used:
            raise StrategyError(
                f"strategy {text} makes {used} slices ({' * '.join(map(str, matrix))}), which does not divide"
                f" {devices} devices"
            )
        if devices != used:
            matrix.append(devices // used)
    where = {f: len(matrix) - 1 - k for k, f in enumerate(parts)}

    def layout(dims: tuple[tuple[int, ...], ...]) -> TensorLayout:
        return TensorLayout(
            tuple(matrix), tuple(tuple(where[f] for f in d if f in where and parts[f][0] > 1) for d in dims)
        )

    reduced = tuple(where[f] for f, (part, _, _) in parts.items() if part > 1 and rule.factors[f].reduce)
    return OpLayout(tuple(matrix), tuple(map(layout, rule.operands)), tuple(map(layout, rule.results)), reduced)


def _over_factors(n: int, factors: tuple[int, ...], rule: FactorRule, what: str) -> Iterable[tuple[int, int]]:
    """Split the factors of one dimension into `n` slices, the major ones first: (factor, slices)."""
    left = n
    for f in factors:
        size = rule.factors[f].size
        part = size if left > size and left % size == 0 else left
        if part > 1 and not rule.factors[f].splittable:
            raise StrategyError(f"{what} into {n}, but it cannot be split: {rule.factors[f].reason}")
        if not rule.factors[f].divides(part):
            raise StrategyError(f"{what} of size {size} into {part}, which does not divide it")
        yield f, part
        left //= part
    if left > 1:
        why = rule.reason or "its size is 1, or no rule splits it"
        raise StrategyError(f"{what} into {n}, but it cannot be split: {why}")


# -- device matrices and meshes --------------------------------------------------------------------


@lru_cache(maxsize=4096)
def matrix_axes(matrix: tuple[int, ...], mesh: Mesh) -> tuple[tuple[str, ...], ...]:
    """The axes of `mesh` that each entry of a device matrix is: in mesh order if that fits, else any that do.

    Raises:
      StrategyError: there are none.
    """
    found: list[tuple[str, ...]] = []

    def search(k: int, free: tuple[str, ...]) -> bool:
        if k == len(matrix):
            return True
        for count in range(len(free) + 1):
            for axes in itertools.combinations(free, count):
                if math.prod(mesh.axis_size(a) for a in axes) == matrix[k]:
                    found.append(axes)
                    if search(k + 1, tuple(a for a in free if a not in axes)):
                        return True
                    found.pop()
        return False

    if not search(0, tuple(n for n, size in mesh.axes if size > 1)):
        raise StrategyError(f"no axes of mesh {mesh} make the device matrix {_row(matrix)}")
    return tuple(found)


def factorise(devices: int, matrices: Sequence[tuple[int, ...]]) -> Mesh:
    """The coarsest mesh of `devices` devices, axes `d0`, `d1`, ..., on which every device matrix can be expressed.

    Matrices that nest (every product of leading entries divides the next larger one) share their boundaries,
    so that all of them enumerate devices in the same order; otherwise the axes are prime.

    Raises:
      StrategyError: a matrix has more entries than there are devices to fill.
    """
    boundaries = {1, devices}
    for matrix in matrices:
        if devices % math.prod(matrix):
            raise StrategyError(f"device matrix {_row(matrix)} does not divide {devices} devices")
        boundaries.update(itertools.accumulate(matrix, lambda a, b: a * b))
    ordered = sorted(boundaries)
    if any(b % a for a, b in itertools.pairwise(ordered)):
        sizes = primes(devices)
    else:
        sizes = [b // a for a, b in itertools.pairwise(ordered)] or [1]
    mesh = Mesh.of((f"d{i}", n) for i, n in enumerate(sizes))
    for matrix in matrices:
        matrix_axes(matrix, mesh)
    return mesh
