"""Equal matrices are kept once: layers that repeat have the same costs between their decisions."""

from __future__ import annotations

import weakref

import numpy as np


class Equal:
    """Arrays that are in use, to find one that equals another.  They must not be changed."""

    def __init__(self) -> None:
        self._known: weakref.WeakValueDictionary[tuple[object, ...], np.ndarray] = weakref.WeakValueDictionary()

    def one(self, m: np.ndarray) -> np.ndarray:
        """An equal array that is in use, laid out alike; `m` if none is known.

        Of unequal ones with the same sum the last one is known.
        """
        key = (m.shape, m.strides, float(m.sum()))
        known = self._known.get(key)
        if known is not None and (known == m).all():
            return known
        self._known[key] = m
        return m
