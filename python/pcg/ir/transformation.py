"""Transformations of a module: their options, what they did, and what they have to say."""

from __future__ import annotations

import abc
import dataclasses
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch_mlir import ir

from pcg.ir.errors import location_of
from pcg.ir.locations import parse_location


class Bytes(int):
    """A number of bytes that may be written `16GiB`, `512MB`, `1.5e9` or `4096`."""

    _UNITS: ClassVar[dict[str, int]] = {
        "": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
        "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
        "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40,
    }  # fmt: skip

    def __new__(cls, value: str | float) -> Bytes:
        if not isinstance(value, str):
            if not 0 <= value < math.inf:
                raise ValueError(f"{value} is not a number of bytes; allowed: 0 or more")
            return super().__new__(cls, int(value))
        m = re.fullmatch(r"\s*(\d+(?:\.\d*)?(?:[eE]\+?\d+)?)\s*([A-Za-z]*)\s*", value)
        if m is None or m[2].lower() not in cls._UNITS:
            raise ValueError(f"'{value}' is not a number of bytes; write 16GiB, 512MB or 4096")
        size = float(m[1]) * cls._UNITS[m[2].lower()]
        if not math.isfinite(size):
            raise ValueError(f"'{value}' is not a number of bytes; it is too large")
        return super().__new__(cls, int(size))


def option(default: Any, help: str, choices: Sequence[str] | None = None) -> Any:
    """A dataclass field that is a pass option with a help sentence."""
    return dataclasses.field(default=default, metadata={"help": help, "choices": choices})


@dataclass
class Transformation(abc.ABC):
    """What can be done to a module.  The dataclass fields of a subclass are its options.

    A library has its transformations as subclasses with a `run`; a pass is one of them with a name.  Field types may be
    bool, int, float, str, `Bytes`, `tuple[T, ...]`, or one of these with `| None`.
    """

    def __post_init__(self) -> None:
        self.statistics: Counter[str] = Counter()
        self.remarks: list[tuple[ir.Location, str]] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "remarks": [(str(location), text) for location, text in self.remarks]}

    def here(self, context: ir.Context) -> None:
        """Put the places of remarks that were made in another process into `context`."""
        self.remarks = [
            (parse_location(where, context) if isinstance(where, str) else where, text) for where, text in self.remarks
        ]

    @abc.abstractmethod
    def run(self, module: ir.Operation) -> None:
        """Transform `module` (the builtin.module operation) in place.  Raise `PcgError` to fail."""

    def remark(self, where: Any, message: str) -> None:
        """Tell the user something about `where` (an op, a value or a location)."""
        found = location_of(where)
        assert isinstance(found, ir.Location)
        self.remarks.append((found, message))

    def take_notes(self, other: Transformation, name: str) -> None:
        """Add the remarks and statistics of `other`, a part of this one; its statistics get `name` before them."""
        self.remarks += other.remarks
        self.statistics.update({f"{name}: {k}": n for k, n in other.statistics.items()})
