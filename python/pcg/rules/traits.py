"""Op traits: yes-or-no facts about an op that its factor rule does not say, stated where the rule is registered.

`@rule("stablehlo.tanh", traits=Trait.EXPENSIVE | Trait.ROUNDS)` states them; `has("stablehlo.tanh", Trait.EXPENSIVE)`
asks.  An op that is registered nowhere has none.  No MLIR here: ops are names, and what states the traits (the files of
this room) is imported at the first question.
"""

from __future__ import annotations

import enum
import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache


class Trait(enum.Flag):
    """What is true of an op whatever its operands are; `MEANINGS` says what each trait promises."""

    NONE = 0
    CONTRACTION = enum.auto()
    MATMUL = enum.auto()
    SCALAR_BODY = enum.auto()
    ANCHOR = enum.auto()
    HEAVY = enum.auto()
    CHEAP = enum.auto()
    EXPENSIVE = enum.auto()
    WORK_IN_ATTRIBUTES = enum.auto()
    UNFUSABLE = enum.auto()
    NONLOCAL = enum.auto()
    VIEW = enum.auto()
    READS_WINDOW = enum.auto()
    UPDATE = enum.auto()
    IN_PLACE = enum.auto()
    GENERATOR = enum.auto()
    PROPAGATES_GENERATOR = enum.auto()
    SPREADS = enum.auto()
    FORWARDS = enum.auto()
    SLICE = enum.auto()
    SAME_ELEMENTS = enum.auto()
    COLLECTIVE = enum.auto()
    HOST_IO = enum.auto()
    TOKEN = enum.auto()
    DEVICE_NUMBER = enum.auto()
    UNREPEATABLE = enum.auto()
    PINNED = enum.auto()
    ROUNDS = enum.auto()
    KEEPS_INTEGERS = enum.auto()
    YIELDS_INTEGERS = enum.auto()


#: Trait -> what it promises, and an op that has it.
MEANINGS: dict[Trait, tuple[str, str]] = {
    Trait.CONTRACTION: (
        "multiplies two tensors and sums over dimensions that they share; matrix units compute it",
        "stablehlo.dot_general",
    ),
    Trait.MATMUL: (
        "a contraction that reads its operands in any order of dimensions and writes a matrix either way round: a "
        "transpose beside it costs nothing (next to a convolution it is a copy)", "stablehlo.dot_general",
    ),
    Trait.SCALAR_BODY: ("its body computes the numbers of its result, one scalar at a time", "stablehlo.reduce"),
    Trait.ANCHOR: (
        "its layout is a decision of its own, which the elementwise ops around it follow", "stablehlo.concatenate",
    ),
    Trait.HEAVY: (
        "takes long enough to be started early.  Not all anchors do: of a concatenation it is the layout that matters",
        "stablehlo.cholesky",
    ),
    Trait.CHEAP: ("computed element by element at next to no cost, or made from nothing", "stablehlo.add"),
    Trait.EXPENSIVE: ("a compiler does not duplicate it into several fusions", "stablehlo.tanh"),
    Trait.WORK_IN_ATTRIBUTES: ("its FLOPs depend on more than the types of operands and results", "stablehlo.sort"),
    Trait.UNFUSABLE: (
        "a compiler does not fuse it with others: operands are read from, and results written to, memory",
        "stablehlo.sort",
    ),
    Trait.NONLOCAL: (
        "an element of the result needs elements elsewhere in an operand, so it cannot be written over that operand",
        "stablehlo.reverse",
    ),
    Trait.VIEW: ("the bytes of its operand under another name", "stablehlo.reshape"),
    Trait.READS_WINDOW: (
        "reads of its first operand no more than it yields", "stablehlo.dynamic_slice",
    ),
    Trait.UPDATE: ("yields its first operand with a part of it overwritten", "stablehlo.scatter"),
    Trait.IN_PLACE: (
        "an update whose result takes over the memory of its first operand also by the search's account; the "
        "simulator looks at each update", "stablehlo.dynamic_update_slice",
    ),
    Trait.GENERATOR: ("made from nothing, by any device in any layout", "stablehlo.iota"),
    Trait.PROPAGATES_GENERATOR: ("made in any layout for nothing where its operand is", "stablehlo.negate"),
    Trait.SPREADS: (
        "repeats, reshapes or converts its operand; one copy for each use of it is worth what it costs",
        "stablehlo.broadcast_in_dim",
    ),
    Trait.FORWARDS: (
        "its operand in another shape, order of dimensions or element type, each element once", "stablehlo.transpose",
    ),
    Trait.SLICE: ("one block of its first operand", "stablehlo.slice"),
    Trait.SAME_ELEMENTS: ("holds only elements of its first operand", "stablehlo.gather"),
    Trait.COLLECTIVE: ("devices exchange data in it", "stablehlo.all_reduce"),
    Trait.HOST_IO: ("exchanges data with a host or another program", "stablehlo.infeed"),
    Trait.TOKEN: ("makes a token, which orders effects and holds no data", "stablehlo.after_all"),
    Trait.DEVICE_NUMBER: ("yields the number of the device that runs it", "stablehlo.partition_id"),
    Trait.UNREPEATABLE: ("run twice it may yield, or do, something else", "stablehlo.rng"),
    Trait.PINNED: (
        "could be repeated, but rematerialisation leaves it where it is", "stablehlo.optimization_barrier",
    ),
    Trait.ROUNDS: (
        "its result carries a rounding error of its own; products and quotients only hand on those of their operands",
        "stablehlo.add",
    ),
    Trait.KEEPS_INTEGERS: ("yields integers, in whatever type, where all its operands hold integers", "stablehlo.abs"),
    Trait.YIELDS_INTEGERS: ("yields integers whatever its operands hold", "stablehlo.floor"),
}  # fmt: skip

_STATED: dict[str, Trait] = {}
#: The same as numbers: questions are asked for every op of large programs, and `&` on flags is slow.
_BITS: dict[str, int] = {}
_READS: dict[str, tuple[int, ...]] = {}
_WINDOWED = Trait.READS_WINDOW | Trait.UPDATE


def state(names: Iterable[str], traits: Trait, reads: tuple[int, ...] | None = None) -> None:
    """State the traits of ops; those of an op with a rule are stated by `pcg.rules.registry.rule`.

    Args:
      names: of the ops.
      traits: all that they have.
      reads: of ops with READS_WINDOW or UPDATE, and of no others: the operands that they read in full.

    Raises:
      ValueError: the traits of an op were stated before; `reads` is missing, or given of another op.
    """
    for name in names:
        if name in _STATED:
            raise ValueError(f"the traits of op {name!r} are stated twice")
        if (reads is not None) != bool(traits & _WINDOWED):
            raise ValueError(f"op {name!r}: `reads` belongs to READS_WINDOW and UPDATE; got {traits}, reads={reads}")
        _STATED[name], _BITS[name] = traits, traits.value
        if reads is not None:
            _READS[name] = reads


#: What is never rematerialised.
ONCE = Trait.UNREPEATABLE | Trait.COLLECTIVE | Trait.PINNED


@cache
def load_all() -> None:
    """Import every file of this room: they register rules and state traits."""
    package = importlib.import_module("pcg.rules")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"pcg.rules.{module.name}")


def has(op_name: str, traits: Trait) -> bool:
    """Whether an op has a trait; of several (`Trait.TOKEN | Trait.HOST_IO`), any."""
    bits = _BITS.get(op_name)
    if bits is None:
        load_all()
        bits = _BITS.get(op_name, 0)
    return bits & traits._value_ != 0


def of(op_name: str) -> Trait:
    """All traits of an op."""
    load_all()
    return _STATED.get(op_name, Trait.NONE)


def ops(traits: Trait) -> frozenset[str]:
    """The ops that have a trait; of several, any."""
    load_all()
    return frozenset(name for name in _STATED if has(name, traits))


def reads(op_name: str) -> tuple[int, ...]:
    """The operands that an op with READS_WINDOW or UPDATE reads in full; of an UPDATE the last is what it writes."""
    load_all()
    return _READS[op_name]


def stated() -> frozenset[str]:
    """The ops whose traits are stated, be it that they have none."""
    load_all()
    return frozenset(_STATED)
