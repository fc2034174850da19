"""A transformation before its turn, in a copy of this process, in case the program is still the same when it comes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Generic, TypeVar

from torch_mlir import ir

from pcg.ir.clone import take_contents
from pcg.ir.transformation import Transformation
from pcg.planning.written import Written
from pcg.solve import beside
from pcg.solve.beside import Beside

T = TypeVar("T", bound=Transformation)


class Ahead(Generic[T]):
    """What a transformation makes of a program, found beside what comes before it; nothing where there cannot be a copy
    of this process (`Beside`).

    The copy has the program as it is, with the order in which values list their readers, and so has what it sends back:
    nothing depends on where it was found.
    """

    def __init__(self, transformation: T, module: ir.Operation) -> None:
        self._beside = Beside(lambda: _done(transformation, module))

    def into(self, module: ir.Operation, ended: Callable[[], bool]) -> T | None:
        """Make `module` what was found, and return the transformation that found it.

        None, and nothing is changed, where nothing was found, where `module` is not the program any more that it was
        found for, or where `ended` says so before it is found.
        """
        found = self._beside.found(ended)
        if found is None:
            return None
        program, written, transformation = found
        if program != _key(module):
            return None
        take_contents(module, written.module(module.context))
        transformation.here(module.context)
        return transformation

    def abandon(self) -> None:
        """End it: nobody wants what it finds."""
        self._beside.abandon()


def _done(transformation: T, module: ir.Operation) -> tuple[str, Written, T]:
    """In the copy of the process, which makes no others, so that there are no more of them than cores."""
    beside.forbid()
    program = _key(module)
    transformation.run(module)
    return program, Written(module), transformation


def _key(module: ir.Operation) -> str:
    text = module.get_asm(print_generic_op_form=True, assume_verified=True)
    return hashlib.sha256(text.encode()).hexdigest()
