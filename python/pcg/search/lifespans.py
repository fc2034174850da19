"""When values are alive, found while the graph of a program is built, in program order.  No MLIR here.

As in the schedule of a placed program (`pcg.search.schedule`), names for the bytes of another value and what a compiler
fuses into its readers have no memory of their own: what backs them must be alive when they are read.  An elementwise
kernel writes over an operand that nothing reads later, as XLA's buffer assignment lets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

#: A value: a node of the graph and the number of its result.
Key = tuple[int, int]


def of_operand(key: Key) -> Key:
    """The value that an operand, (node, operand), is in the layout in which the node reads it."""
    node, operand = key
    return node, ~operand


@dataclass
class Lifespans:
    """Positions at which values are defined and read; `clock` is that of the op at hand."""

    clock: int = 0
    _first: dict[Key, tuple[int, float]] = field(default_factory=dict)
    _last: dict[Key, int] = field(default_factory=dict)
    _alone: dict[Key, tuple[int, float]] = field(default_factory=dict)
    """As `_first`, where nothing backs anything or is written over anything."""
    _last_alone: dict[Key, int] = field(default_factory=dict)
    _backing: dict[Key, frozenset[Key]] = field(default_factory=dict)
    _over: dict[Key, frozenset[Key]] = field(default_factory=dict)
    _resharded: dict[Key, tuple[int, float, Key]] = field(default_factory=dict)
    written_over: list[tuple[int, int, float, int, int, int]] = field(default_factory=list)
    """Of `ranges`: node, slot, global bytes and first position of what is written over a value, and that value."""
    _aliased: dict[Key, list[tuple[int, int]]] = field(default_factory=dict)
    """Values that loops carry unchanged: from when to when they are aliased to the loop's buffer."""

    def define(self, key: Key, size: float, over: frozenset[Key] = frozenset(), at: int | None = None) -> None:
        """A value of `size` global bytes, written at `at` (default: now), over the last of `over` if it can be."""
        self._first[key] = self._alone[key] = self.clock if at is None else at, size
        if over:
            self._over[key] = over

    def back(self, key: Key, by: frozenset[Key], size: float | None = None) -> None:
        """A value without memory of its own, made of what is in that of others; of `size` bytes if it had some."""
        self._backing[key] = by
        if size is not None:
            self._alone[key] = self.clock, size

    def backs(self, key: Key) -> frozenset[Key]:
        """What must be alive for a value to be read: itself, if it has memory of its own."""
        found = self._backing.get(key)
        return frozenset({key}) if found is None else found

    def read(self, key: Key) -> None:
        """A value is read now."""
        self._last_alone[key] = self.clock
        for k in self.backs(key):
            self._last[k] = self.clock

    def reshard(self, operand: Key, size: float, source: Key) -> None:
        """An operand of `size` global bytes, (node, operand), is read now, in a layout other than that of `source`."""
        self._resharded[operand] = self.clock, size, source

    def resharded(self) -> list[tuple[int, int, float, int, int, int, int]]:
        """Of each its node, operand, global bytes, first and last position, and node and slot of the source."""
        return [
            (*key, size, first, max(first, self._last.get(of_operand(key), first)), *source)
            for key, (first, size, source) in self._resharded.items()
        ]

    def hand_on(self, key: Key, start: int) -> None:
        """A loop that began at `start` and ends now hands a value on as it is."""
        self._aliased.setdefault(key, []).append((start, self.clock))

    def alone(
        self, arguments: Iterable[int], donated: Iterable[int], layouts: Mapping[int, int]
    ) -> list[tuple[int, int, float, int, int]]:
        """As `ranges`, if all values had memory of their own, each until it is read for the last time."""
        end, held = self.clock + 1, set(arguments) - set(donated)
        out: list[tuple[int, int, float, int, int]] = []
        for key, (first, size) in self._alone.items():
            node = key[0]
            last = max(self._last_alone.get(k, first) for k in (key, (layouts.get(node, node), key[1])))
            out += self._unaliased(key, size, first, end if node in held else last)
        return out

    def _unaliased(self, key: Key, size: float, first: int, last: int) -> Iterator[tuple[int, int, float, int, int]]:
        """A range without the parts in which a loop has the value."""
        for start, stop in sorted(self._aliased.get(key, ())):
            if first < start <= stop <= last:
                yield *key, size, first, start - 1
                first = stop + 1
        if first <= last:
            yield *key, size, first, last

    def ranges(
        self, arguments: Iterable[int], donated: Mapping[int, Key | None], layouts: Mapping[int, int]
    ) -> list[tuple[int, int, float, int, int]]:
        """Of each value its node, slot, global bytes, first and last position.

        Args:
          arguments: their nodes.  They are alive to the end.
          donated: those of them that are free once they have been read, with the result that ends in their memory.  It
            is written over them, or copied to them when all is done.
          layouts: of arguments the nodes through which others read them.
        """
        end = self.clock + 1
        held = {(n, 0) for n in arguments if n not in donated}
        for node, layout in layouts.items():
            self._aliased.setdefault((node, 0), []).extend(self._aliased.get((layout, 0), ()))
        targets = {result: (node, 0) for node, result in donated.items() if result is not None}
        placed: set[Key] = set()
        out: list[tuple[int, int, float, int, int]] = []
        taken = set(held)
        for key, (first, size) in self._first.items():
            last = end if key in held else self._last.get(key, first)
            for k in sorted(self._over.get(key, ()), key=lambda k: (k != targets.get(key), k)):
                if k not in taken and self._last.get(k) == first and self._first.get(k, (0, 0.0))[1] == size:
                    taken.add(k)
                    first += 1
                    self.written_over.append((*key, size, first, *k))
                    if k == targets.get(key):
                        placed.add(key)
                    break
            out += self._unaliased(key, size, first, last)
        for result, argument in targets.items():
            if result in self._first and result not in placed:
                out.append((*argument, self._first[argument][1], end, end))
        return out


class Untracked(Lifespans):
    """Of a graph of which nobody asks what it holds in memory: nothing is kept."""

    def define(self, key: Key, size: float, over: frozenset[Key] = frozenset(), at: int | None = None) -> None:
        """Nothing."""

    def back(self, key: Key, by: frozenset[Key], size: float | None = None) -> None:
        """Nothing."""

    def read(self, key: Key) -> None:
        """Nothing."""

    def reshard(self, operand: Key, size: float, source: Key) -> None:
        """Nothing."""

    def hand_on(self, key: Key, start: int) -> None:
        """Nothing."""
