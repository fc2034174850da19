"""Fetching what the windows of a block read: the local form of `pcg.rules.window_ranges`."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.lower.blocks import rearrange, scalar_zero
from pcg.lower.local import LocalContext
from pcg.rules.window_ranges import Ranges


def read_range(
    ctx: LocalContext, value: ir.Value, dim: int, axes: Sequence[str], read: Ranges, fill: ir.Value | None = None
) -> ir.Value:
    """The elements of dimension `dim` that this device's windows read, with `fill` (0 if None) beyond the ends.

    The op on them needs no padding along `dim`, and they are dilated if its input was.
    """
    n = ctx.mesh.axes_size(axes)
    outside = scalar_zero(ctx, value.type.element_type) if fill is None else fill
    return rearrange(ctx, [value], dim, axes, read.spans, n * read.length, outside, fill is None, read.used)
