"""Names of tensors, those of repeated layers as one; lists that are shortened."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def pattern(name: str) -> str:
    """A name with its numbers starred, so that repeated layers have the same."""
    return re.sub(r"\d+", "*", name)


def common(names: Sequence[str]) -> str:
    """Names that differ in numbers only as one: the numbers that vary are starred (`layers[*]['w1']`)."""
    numbers = [re.findall(r"\d+", n) for n in names]
    varies = [len(set(column)) > 1 for column in zip(*numbers, strict=True)]
    shown = iter("*" if v else n for v, n in zip(varies, numbers[0], strict=True))
    return re.sub(r"\d+", lambda _: next(shown), names[0])


def listed(items: Iterable[str], limit: int = 3) -> str:
    """Items once each, empty ones left out, with commas; those past `limit` are counted: `a, b and 5 more`."""
    found = list(dict.fromkeys(filter(None, items)))
    return ", ".join(found[:limit]) + (f" and {len(found) - limit} more" if len(found) > limit else "")
