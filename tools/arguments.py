"""What the command lines share: numbers that are checked where they are read, and errors of one line."""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
from collections.abc import Callable
from typing import NoReturn, TypeVar

#: Exit status of a program that cannot do what it is asked to.
FAILED = 2

T = TypeVar("T", int, float)


def fail(program: str, message: str, status: int = FAILED) -> int:
    """Say in one line why a program gives up; the exit status, for `main` to return."""
    print(f"{program}: error: {message}", file=sys.stderr)
    return status


class Parser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one line, without the usage, and exits with 2."""

    def error(self, message: str) -> NoReturn:
        sys.exit(fail(self.prog, message))


def _number(kind: Callable[[str], T], fits: Callable[[T], bool], allowed: str) -> Callable[[str], T]:
    """The type of an argument that is a number of a kind which fits."""

    def read(text: str) -> T:
        with contextlib.suppress(ValueError):
            if fits(value := kind(text)):
                return value
        raise argparse.ArgumentTypeError(f"'{text}'; allowed: {allowed}")

    return read


def integer(least: int, most: int | None = None) -> Callable[[str], int]:
    """The type of an argument that is a whole number from `least` to `most`."""
    allowed = f"a whole number from {least} to {most}" if most is not None else f"a whole number, {least} or more"
    return _number(int, lambda n: least <= n and (most is None or n <= most), allowed)


def real(*, zero: bool) -> Callable[[str], float]:
    """The type of an argument that is a finite number above zero, or zero too."""
    allowed = "a finite number, 0 or more" if zero else "a finite number above 0"
    return _number(float, lambda x: 0 < x < math.inf or (zero and x == 0), allowed)


#: A seed of random numbers: as large as 64 bits hold.
seed = integer(0, 2**64 - 1)
