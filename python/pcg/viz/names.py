"""Names of tensors, those of repeated layers as one."""

from __future__ import annotations

import re
from collections.abc import Sequence


def pattern(name: str) -> str:
    """A name with its numbers starred, so that repeated layers look alike."""
    return re.sub(r"\d+", "*", name)


def common(names: Sequence[str]) -> str:
    """Names that differ in numbers only as one: the numbers that vary are starred (`layers[*]['w1']`)."""
    numbers = [re.findall(r"\d+", n) for n in names]
    varies = [len(set(column)) > 1 for column in zip(*numbers, strict=True)]
    shown = iter("*" if v else n for v, n in zip(varies, numbers[0], strict=True))
    return re.sub(r"\d+", lambda _: next(shown), names[0])
