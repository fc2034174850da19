"""What the command lines share: numbers that are checked where they are read, and errors of one line."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from typing import NoReturn

#: Largest seed: what 64 bits hold.
LARGEST_SEED = 2**64 - 1


class Parser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one line, without the usage, and exits with 2."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: error: {message}", file=sys.stderr)
        sys.exit(2)


def integer(least: int, most: int | None = None) -> Callable[[str], int]:
    """The type of an argument that is a whole number from `least` to `most`."""
    allowed = f"a whole number from {least} to {most}" if most is not None else f"a whole number, {least} or more"

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}'; allowed: {allowed}") from None
        if value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"'{text}'; allowed: {allowed}")
        return value

    return read


def real(*, zero: bool) -> Callable[[str], float]:
    """The type of an argument that is a finite number above zero, or zero too."""
    allowed = "a finite number, 0 or more" if zero else "a finite number above 0"

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < 0 or (value == 0 and not zero):
            raise argparse.ArgumentTypeError(f"'{text}'; allowed: {allowed}")
        return value

    return read


#: A seed of random numbers.
seed = integer(0, LARGEST_SEED)
