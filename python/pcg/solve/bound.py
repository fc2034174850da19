"""Lower bounds: Lagrange multipliers on memory, message passing on what remains.

For any prices >= 0 per byte and step, the cheapest assignment under costs + prices x bytes, less prices x capacity,
costs no more than the best one that fits.  Finding that cheapest assignment is hard too;
TRW-S bounds it from below.
"""

from __future__ import annotations

import numpy as np

from pcg.solve.kernels import trws
from pcg.solve.model import Model


class MessagePassing:
    """Messages that persist from one set of prices to the next."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.to_i = np.zeros(int(model.size[model.ei].sum()))
        self.to_j = np.zeros(int(model.size[model.ej].sum()))

    def run(self, price: np.ndarray, sweeps: int) -> tuple[float, np.ndarray]:
        """A lower bound at these prices (without the reduction's constant), and a rounding."""
        m = self.model
        x = np.zeros(m.n, dtype=np.int64)
        bound = trws(
            sweeps, m.size, m.offset, m.priced(price), m.ei, m.ej, m.table, m.tables,
            m.near_offset, m.near_node, m.near_edge, self.to_i, self.to_j, x,
        )  # fmt: skip
        return float(bound) - float(price @ m.capacity), x
