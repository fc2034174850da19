"""Strategy tables: what a node of the search may choose, as arrays.

Ops with the same rule share one table, so a 24-layer model has a few dozen.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

import numpy as np

from pcg.layout import Mesh, ShardSpec
from pcg.rules.factor import Assignment, FactorRule, numbers_of
from pcg.search.assignments import Assignments
from pcg.search.axis_specs import AxisSpecs
from pcg.search.port import Port


@dataclass(frozen=True, eq=False)
class Table:
    """Strategies of a node: specs per operand and result, and into how many parts the work is split."""

    index: int
    ins: tuple[Port, ...]
    outs: tuple[Port, ...]
    parts: np.ndarray
    assignments: Sequence[Assignment] | None = None
    counts: np.ndarray | None = None
    """Per strategy and factor of the rule, into how many parts it is split."""
    groups: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    """Groups of the choices, and which are uniform, by classes of interchangeable axes (`axis_groups`)."""
    _wholest: dict[Mesh, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.parts)

    def wholest(self, mesh: Mesh) -> int:
        """The strategy that splits the least: replication, where it is one."""
        found = self._wholest.get(mesh)
        if found is None:
            parts = self.parts.copy()
            for port in (*self.ins, *self.outs):
                parts = parts + port.shards(mesh) - 1 + port.is_partial()
            found = self._wholest[mesh] = int(np.argmin(parts))
        return found


@dataclass
class Tables:
    """Makes and shares tables on one mesh.

    `Tables.on` is for programs and searches one after another: what ops may do does not depend on where the mesh lies.
    """

    mesh: Mesh
    _rules: dict[FactorRule, Table] = field(default_factory=dict)
    _by_legality: dict[Hashable, Table] = field(default_factory=dict)
    """By what rules may be split into."""
    _value_tables: dict[tuple, Table] = field(default_factory=dict)
    _fixed: dict[ShardSpec, Table] = field(default_factory=dict)
    _wider: dict[tuple, Table] = field(default_factory=dict)
    _have: dict[int, frozenset[Assignment]] = field(default_factory=dict)
    _count: int = 0

    @classmethod
    def on(cls, mesh: Mesh) -> Tables:
        """Tables for meshes with these axes, shared by all that ask in this thread."""
        found = _shared(mesh.axes, threading.get_ident())
        if found._count > _MANY:
            _shared.cache_clear()
            found = _shared(mesh.axes, threading.get_ident())
        return found

    def _next(self) -> int:
        self._count += 1
        return self._count

    def of_rule(self, rule: FactorRule) -> Table:
        """All strategies of an op with `rule`."""
        table = self._rules.get(rule)
        if table is None:
            like = rule.legality(self.mesh)
            known = self._by_legality.get(like)
            if known is None:
                choices = rule.choices(self.mesh, uneven=True)
                found, counts = Assignments(rule, self.mesh, choices), rule.counts(choices, self.mesh)
                table = Table(self._next(), *found.ports(), _parts(rule, counts), found, counts)
                self._by_legality[like] = table
            else:  # convolutions of other widths, say: but for how much is padding everything is the same
                assert known.counts is not None
                parts = _parts(rule, known.counts) if self._pads(rule) else known.parts
                table = replace(known, index=self._next(), parts=parts, _wholest={})
            self._rules[rule] = table
        return table

    def with_strategies(self, rule: FactorRule, more: Sequence[Assignment]) -> Table:
        """The strategies of `of_rule` and, behind them, those of `more` that are not among them."""
        table = self.of_rule(rule)
        have = self._have.get(table.index)
        if have is None:
            have = self._have[table.index] = frozenset(table.assignments or ())
        new = tuple(dict.fromkeys(a for a in more if a not in have))
        if not new:
            return table
        key = (rule, new)
        if key not in self._wider:
            self._wider[key] = self._of_assignments(rule, [*(table.assignments or ()), *new])
        return self._wider[key]

    def only(self, rule: FactorRule, a: Assignment) -> Table:
        """Nothing but strategy `a`."""
        key = (rule, a)
        if key not in self._wider:
            self._wider[key] = self._of_assignments(rule, [a])
        return self._wider[key]

    def with_specs(self, table: Table, more: Iterable[ShardSpec]) -> Table:
        """What a value may be kept in by `table`, and the specs of `more`."""
        have = table.outs[0].specs
        new = tuple(dict.fromkeys(s for s in more if s not in have))
        if not new:
            return table
        key = (table.index, new)
        if key not in self._wider:
            self._wider[key] = self._of_specs([*have, *new])
        return self._wider[key]

    def _of_assignments(self, rule: FactorRule, found: list[Assignment]) -> Table:
        counts = self._counts_of(found)
        specs = [rule.specs(a) for a in found]
        ins = tuple(Port.of([operands[i] for operands, _ in specs]) for i in range(len(rule.operands)))
        outs = tuple(Port.of([results[i] for _, results in specs]) for i in range(len(rule.results)))
        return Table(self._next(), ins, outs, _parts(rule, counts), tuple(found), counts)

    def _counts_of(self, found: Sequence[Assignment]) -> np.ndarray:
        """Into how many parts each assignment (rows) splits each factor."""
        size = cache(self.mesh.axes_size)
        return np.array([[size(axes) for axes in a.axes] for a in found], np.int64).reshape(len(found), -1)

    def _pads(self, rule: FactorRule) -> bool:
        """Whether some strategy of `rule` may leave padding."""
        numbers = numbers_of(self.mesh)
        return any(
            x.splittable and rule.may_pad(f) and any(x.size % n for n in numbers) for f, x in enumerate(rule.factors)
        )

    def of_value(self, shape: Sequence[int], partial: str | None, extra: Iterable[ShardSpec] = ()) -> Table:
        """Every spec with equal shards a value of `shape` may be kept in, and `extra`; also partial by `partial`."""
        extra = tuple(dict.fromkeys(extra))
        key = (tuple(shape), partial, extra)
        table = self._value_tables.get(key)
        if table is None:
            specs = dict.fromkeys(self._enumerate(tuple(shape), partial))
            specs.update(dict.fromkeys(extra))
            table = self._value_tables[key] = self._of_specs(list(specs))
        return table

    def of_port(self, shape: tuple[int, ...], port: Port) -> Table:
        """What a value of `shape` that comes in the specs of `port` may be kept in."""
        key = (shape, port)
        table = self._value_tables.get(key)
        if table is None:
            table = self._value_tables[key] = self.of_value(shape, port.waits_for, port.specs)
        return table

    def fixed(self, spec: ShardSpec) -> Table:
        """A value that must have `spec`."""
        if spec not in self._fixed:
            self._fixed[spec] = self._of_specs([spec])
        return self._fixed[spec]

    def extending(self, spec: ShardSpec, open_dims: Sequence[int], shape: Sequence[int]) -> Table:
        """A value whose dimensions have the axes of `spec`, and possibly more on `open_dims`."""
        if not open_dims:
            return self.fixed(spec)
        key = (spec, tuple(open_dims), tuple(shape))
        if key not in self._value_tables:

            def fits(other: ShardSpec) -> bool:
                pairs = enumerate(zip(spec.dims, other.dims, strict=True))
                return all(b[: len(a)] == a if d in open_dims else a == b for d, (a, b) in pairs)

            found = [s for s in self._enumerate(tuple(shape), None) if fits(s)]
            self._value_tables[key] = self._of_specs(list(dict.fromkeys([spec, *found])))
        return self._value_tables[key]

    def _of_specs(self, specs: list[ShardSpec]) -> Table:
        port = Port.of(specs)
        return Table(self._next(), (port,), (port,), np.ones(len(specs)))

    def _enumerate(self, shape: tuple[int, ...], partial: str | None) -> Iterable[ShardSpec]:
        specs = AxisSpecs.on(len(shape), self.mesh.names)
        options: list[list[int]] = []
        for _, size in self.mesh.axes:
            dims = [specs.split(d) for d, n in enumerate(shape) if size > 1 and n > 1 and n % size == 0]
            options.append([AxisSpecs.IDLE, *dims] + ([specs.partial(partial)] if partial and size > 1 else []))
        does = np.stack(np.meshgrid(*options, indexing="ij"), axis=-1).reshape(-1, len(options))
        sizes = np.array(self.mesh.sizes)
        even = [n % np.where(does == specs.split(d), sizes, 1).prod(axis=1) == 0 for d, n in enumerate(shape)]
        return specs.of(does[np.logical_and.reduce(even)] if even else does)[0]


def _parts(rule: FactorRule, counts: np.ndarray) -> np.ndarray:
    """Into how many parts strategies split the work of an op; padding is worked on, too."""
    parts = np.ones(len(counts))
    for x, n in zip(rule.factors, counts.T, strict=True):
        if x.size:
            parts *= x.size / -(-x.size // n)
    return parts


#: Tables of one mesh from which a new search begins with none: programs that are long done with would pile up. Chosen:
#: a few dozen programs.
_MANY = 20_000


@lru_cache(maxsize=16)
def _shared(axes: tuple[tuple[str, int], ...], _thread: int) -> Tables:
    return Tables(Mesh(axes))
