"""Rows of integers by kind."""

from __future__ import annotations

import numpy as np


def distinct(rows: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Of rows of integers below `most` the first of each kind, in order, and per row the number of its kind."""
    codes = np.zeros(len(rows), np.int64)
    room = 1
    for column in rows.T:
        if room * most >= 2**62:
            codes = np.unique(codes, return_inverse=True)[1]
            room = len(rows)
        codes = codes * most + column
        room *= most
    _, first, kinds = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    numbers = np.empty(len(order), np.intp)
    numbers[order] = np.arange(len(order))
    return first[order], numbers[kinds]
