"""When values are alive, found while the graph of a program is built, in program order.  No MLIR here.

As in the schedule of a placed program (`pcg.search.schedule`), names for the bytes of another value and what a compiler
fuses into its readers have no memory of their own: what backs them must be alive when they are read.  An elementwise
kernel writes over an operand that nothing reads later, as XLA's buffer assignment lets it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

#: A value: a node of the graph and the number of its result.
Key = tuple[int, int]


@dataclass
class Lifespans:
    """Positions at which values are defined and read; `clock` is that of the op at hand."""

    clock: int = 0
    _first: dict[Key, tuple[int, float]] = field(default_factory=dict)
    _last: dict[Key, int] = field(default_factory=dict)
    _backing: dict[Key, frozenset[Key]] = field(default_factory=dict)
    _over: dict[Key, frozenset[Key]] = field(default_factory=dict)
    _aliased: dict[Key, list[tuple[int, int]]] = field(default_factory=dict)
    """Values that loops carry unchanged: from when to when they are aliased to the loop's buffer."""

    def define(self, key: Key, size: float, over: frozenset[Key] = frozenset(), at: int | None = None) -> None:
        """A value of `size` global bytes, written at `at` (default: now), over the last of `over` if it can be."""
        self._first[key] = self.clock if at is None else at, size
        if over:
            self._over[key] = over

    def back(self, key: Key, by: frozenset[Key]) -> None:
        """A value without memory of its own, made of what is in that of others."""
        self._backing[key] = by

    def backs(self, key: Key) -> frozenset[Key]:
        """What must be alive for a value to be read: itself, if it has memory of its own."""
        found = self._backing.get(key)
        return frozenset({key}) if found is None else found

    def read(self, key: Key) -> None:
        """A value is read now."""
        for k in self.backs(key):
            self._last[k] = self.clock

    def hand_on(self, key: Key, start: int) -> None:
        """A loop that began at `start` and ends now hands a value on as it is."""
        self._aliased.setdefault(key, []).append((start, self.clock))

    def ranges(
        self, arguments: Iterable[int], donated: Collection[int], layouts: dict[int, int]
    ) -> list[tuple[int, int, float, int, int]]:
        """Of each value its node, slot, global bytes, first and last position.

        Args:
          arguments: their nodes.  They are alive to the end.
          donated: those of them that are free once they have been read.
          layouts: of arguments the nodes through which others read them, which have no memory of their own.
        """
        end = self.clock + 1
        held = {(n, 0) for n in arguments} - {(n, 0) for n in donated}
        for node, layout in layouts.items():
            self._last[node, 0] = max(self._last.get((n, 0), 0) for n in (node, layout))
            self._aliased.setdefault((node, 0), []).extend(self._aliased.get((layout, 0), ()))
        out, taken = [], set(held)
        for key, (first, size) in self._first.items():
            last = end if key in held else self._last.get(key, first)
            for k in self._over.get(key, ()):
                if k not in taken and self._last.get(k) == first and self._first.get(k, (0, 0.0))[1] == size:
                    taken.add(k)
                    first += 1
                    break
            for start, stop in sorted(self._aliased.get(key, ())):
                if first < start <= stop <= last:
                    out.append((*key, size, first, start - 1))
                    first = stop + 1
            if first <= last:
                out.append((*key, size, first, last))
        return out
