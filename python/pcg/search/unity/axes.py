"""What the strategies of a table use of the mesh."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcg.search.table import Table


def used_axes(table: Table, names: Sequence[str]) -> np.ndarray:
    """Per strategy the mesh axes that it uses, as bits in the order of `names`."""
    bit = {name: 1 << b for b, name in enumerate(names)}
    out = np.zeros(len(table), dtype=np.int64)
    for port in (*table.ins, *table.outs):
        per = np.array([sum(bit[a] for a in spec.used_axes) for spec in port.specs], dtype=np.int64)
        out |= per[port.ids]
    return out


def is_reduced(table: Table) -> np.ndarray:
    """Per strategy whether no result is a sum (or another reduction) still to come."""
    out = np.ones(len(table), dtype=bool)
    for port in table.outs:
        out &= ~port.is_partial()
    return out
