"""A transformation before its turn, beside the work before it, in case the program is still the same when it comes."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from torch_mlir import ir

from pcg.ir.clone import take_contents
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Transformation
from pcg.ir.walk import walk
from pcg.planning.written import Written
from pcg.rules.registry import registered
from pcg.solve import beside
from pcg.solve.beside import Beside

if TYPE_CHECKING:
    from pcg.solve.other_process import OtherProcess

T = TypeVar("T", bound=Transformation)
#: Ops of a program for which a transformation begins before its turn.  A choice: a copy of the process takes 10 ms, to
#: have its plan back some microseconds per op.
_LARGE = 500


def is_large(module: ir.Operation) -> bool:
    """Whether it pays to begin with a program before its turn."""
    return count(module) >= _LARGE


def count(module: ir.Operation) -> int:
    """Its ops."""
    return sum(1 for _ in walk(module))


def expect(ops: int) -> None:
    """Have the process ready that `Ahead` would take for a program of so many ops, where it cannot have a copy of this
    one."""
    if ops >= _LARGE and not beside.is_copied():
        from pcg.solve import other_process  # only where there is one: it imports multiprocessing

        other_process.start("pcg.planning.search")


class Ahead(Generic[T]):
    """What a transformation makes of a program, found beside what comes before it; nothing where there is no other
    core.

    It is found in a copy of this process (`Beside`), or in another one where there cannot be a copy (`OtherProcess`).
    What that is sent and sends back is the program as it is, with the order in which values list their readers: nothing
    depends on where it was found.
    """

    def __init__(self, transformation: T, module: ir.Operation) -> None:
        self._found: _Found[T] | None = None
        self._elsewhere: Beside[_Found[T]] | OtherProcess[_Found[T]]
        if beside.is_copied():
            self._elsewhere = Beside(lambda: _done(transformation, module))
        else:
            from pcg.solve.other_process import OtherProcess

            lenient = module.context.allow_unregistered_dialects
            self._elsewhere = OtherProcess(_parsed_and_done, transformation, Written(module), lenient)

    def by(self, ended: Callable[[], bool] = lambda: False) -> T | None:
        """The transformation that found it; None where nothing was found, or `ended` says so before it is found."""
        if self._found is None:
            self._found = self._elsewhere.found(ended)
        return None if self._found is None else self._found[2]

    def into(self, module: ir.Operation, ended: Callable[[], bool]) -> T | None:
        """Make `module` what was found, and return the transformation that found it.

        None, and nothing is changed, where nothing was found, where `module` is not the program any more that it was
        found for, or where `ended` says so before it is found.
        """
        now = _key(module)  # before what may take a while
        if self.by(ended) is None or self._found is None:
            return None
        program, written, transformation = self._found
        if program != now:
            return None
        take_contents(module, written.module(module.context))
        transformation.here(module.context)
        return transformation

    def abandon(self) -> None:
        """End it: nobody wants what it finds."""
        self._elsewhere.abandon()


@contextmanager
def checking(
    check: Transformation, module: ir.Operation, here: Callable[[], None], elsewhere: bool
) -> Iterator[None]:
    """A program is checked before what is done meanwhile, by `here`; or `elsewhere`, a large one, in another process.

    What the check raises comes before what is raised meanwhile, which may be because of it.
    """
    if not elsewhere or not beside.is_spare() or not is_large(module):
        here()
        yield
        return
    pending = Ahead(check, module)
    try:
        yield
    except PcgError:
        if pending.by() is None:
            here()
        raise
    except BaseException:
        pending.abandon()
        raise
    if pending.by() is None:
        here()


#: What the program was, what it is made, and the transformation that did.
_Found = tuple[str, Written, T]


def _done(transformation: T, module: ir.Operation) -> _Found[T]:
    """In another process, which makes no others, so that there are no more of them than cores."""
    beside.forbid()
    program = _key(module)
    transformation.run(module)
    return program, Written(module), transformation


def _parsed_and_done(transformation: T, program: Written, lenient: bool) -> _Found[T]:
    """The same, for a program that comes from elsewhere."""
    gc.disable()  # as passes do
    try:
        with make_context(allow_unregistered=lenient) as context, ir.Location.unknown():
            return _done(transformation, program.module(context))
    finally:
        gc.enable()


def _key(module: ir.Operation) -> str:
    """What has to be the same: the program, and the ops that have rules, which somebody may have added some to."""
    digest = hashlib.sha256(" ".join(sorted(registered())).encode())
    digest.update(Written(module).bytecode())
    return digest.hexdigest()
