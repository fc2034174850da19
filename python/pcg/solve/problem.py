"""The problem: nodes with strategies, edge costs, liveness and a memory limit; reader and writer.

Every node takes one of its strategies.  That costs `costs[node][strategy]`, and per edge an entry of the edge's table;
at every time step the usages of the nodes that are live then must together stay within the limit.  The file format is
that of the ASPLOS/EuroSys 2025 contest on intra-operator parallelism (github.com/google/iopddl, README).
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

#: Costs that may mean "not allowed" are no smaller (the contest's files write 10^18).
_LARGE = 10**15
#: So many of the costs from there on are looked at.
_LARGEST = 16


class ProblemError(ValueError):
    """A problem or solution that cannot be read; the text names the node or edge and the value."""


class Infeasible(ProblemError):
    """No choice fits the memory; `needed` is a limit below which nothing fits."""

    def __init__(self, message: str, needed: int) -> None:
        super().__init__(message)
        self.needed = needed


@dataclass
class Problem:
    """Nodes 0..n-1.  Costs and usages are int64, one per strategy; equal edge tables are one object."""

    costs: list[np.ndarray]
    usages: list[np.ndarray]
    intervals: np.ndarray
    """[n, 2]: a node is live at the steps start <= t < end; never if end <= start."""
    edges: np.ndarray
    """[m, 2]: the ends of each edge."""
    tables: list[np.ndarray]
    """Per edge the cost [strategy of the first end, strategy of the second]."""
    limit: int | None = None
    """Bytes; None for no limit."""
    name: str = ""
    _sizes: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._sizes = np.array([len(c) for c in self.costs], dtype=np.int64)
        _check(self)

    @cached_property
    def forbidden(self) -> int | None:
        """Costs from here on mean "not allowed": one of them is more than all smaller ones can add up to.

        A solution that pays one is the last resort, and yet the cheapest where it is returned.  None: there are none.
        """
        rows = [*self.costs, *self.tables]
        count: dict[int, int] = {}
        for r in rows:
            count[id(r)] = count.get(id(r), 0) + 1
        once = list({id(r): r for r in rows}.values())
        large = [r for r in once if r.max(initial=0) >= _LARGE]
        if not large:
            return None
        found = np.unique(np.concatenate([r[r >= _LARGE] for r in large]))
        rest = sum(count[id(r)] * int(r.max(initial=0)) for r in once if r.max(initial=0) < _LARGE)
        for least in found[:_LARGEST].tolist():
            if rest + sum(count[id(r)] * int(r[r < least].max(initial=0)) for r in large) < least:
                return int(least)
        return None

    @cached_property
    def times(self) -> np.ndarray:
        """The steps at which a node begins or ceases to be live, rising: between two of them nothing changes."""
        live = self.intervals[self.intervals[:, 1] > self.intervals[:, 0]]
        return np.unique(live)

    @cached_property
    def spans(self) -> np.ndarray:
        """[n, 2]: a node is live from `times[spans[i, 0]]` to `times[spans[i, 1]]`; never if both are the same."""
        live = self.intervals[:, 1] > self.intervals[:, 0]
        return np.where(live[:, None], np.searchsorted(self.times, self.intervals), 0)

    @property
    def sizes(self) -> np.ndarray:
        """Strategies per node."""
        return self._sizes

    def cost(self, x: Sequence[int]) -> int:
        """Exact total cost (a Python int: entries of 10^18 may add up beyond 64 bits)."""
        total = sum(int(c[k]) for c, k in zip(self.costs, x, strict=True))
        return total + sum(int(t[x[i], x[j]]) for (i, j), t in zip(self.edges.tolist(), self.tables, strict=True))

    def usage(self, x: Sequence[int]) -> np.ndarray:
        """Bytes live between each two of `times`."""
        taken = np.array([u[k] for u, k in zip(self.usages, x, strict=True)], dtype=np.int64)
        change = np.zeros(max(len(self.times), 1), dtype=np.int64)
        np.add.at(change, self.spans[:, 0], taken)
        np.subtract.at(change, self.spans[:, 1], taken)
        return np.cumsum(change)[:-1]

    def peak(self, x: Sequence[int]) -> int:
        """Most bytes live at any step."""
        return int(self.usage(x).max(initial=0))

    def feasible(self, x: Sequence[int]) -> bool:
        """Whether memory stays within the limit and nothing forbidden is taken."""
        if self.limit is not None and self.peak(x) > self.limit:
            return False
        if self.forbidden is None:
            return True
        if any(c[k] >= self.forbidden for c, k in zip(self.costs, x, strict=True)):
            return False
        return all(t[x[i], x[j]] < self.forbidden for (i, j), t in zip(self.edges.tolist(), self.tables, strict=True))


def _check(p: Problem) -> None:
    n = len(p.costs)
    if len(p.usages) != n or p.intervals.shape != (n, 2):
        raise ProblemError(
            f"{n} nodes have costs, {len(p.usages)} usages and {len(p.intervals)} intervals; want as many"
        )
    if len(p.edges) != len(p.tables):
        raise ProblemError(f"{len(p.edges)} edges, but {len(p.tables)} lists of edge costs; want as many")
    total = 0
    for i, (c, u) in enumerate(zip(p.costs, p.usages, strict=True)):
        if len(c) == 0:
            raise ProblemError(f"node {i} has no strategy; it needs at least one")
        if len(u) != len(c):
            raise ProblemError(f"node {i} has {len(c)} costs, but {len(u)} usages; want one of each per strategy")
        if c.min() < 0:
            raise ProblemError(f"node {i}, strategy {int(c.argmin())}: cost {c.min()} is negative")
        if u.min() < 0:
            raise ProblemError(f"node {i}, strategy {int(u.argmin())}: usage {u.min()} is negative")
        if p.intervals[i, 0] < 0:
            raise ProblemError(f"node {i}: interval starts at {p.intervals[i, 0]}; times start at 0")
        total += int(u.max())
    if total >= 2**62:
        raise ProblemError(f"usages add up to {total} bytes; up to {2**62 - 1} can be added exactly")
    for e, ((i, j), t) in enumerate(zip(p.edges.tolist(), p.tables, strict=True)):
        for end in (i, j):
            if not 0 <= end < n:
                raise ProblemError(f"edge {e} names node {end}; nodes are 0 to {n - 1}")
        if t.shape != (len(p.costs[i]), len(p.costs[j])):
            want = len(p.costs[i]) * len(p.costs[j])
            raise ProblemError(f"edge {e} between nodes {i} and {j} has {t.size} costs; want {want}")
    negative = {id(t): e for e, t in enumerate(p.tables) if t.min(initial=0) < 0}
    for e in negative.values():
        raise ProblemError(f"edge {e}: cost {p.tables[e].min()} is negative")
    if p.limit is not None and p.limit < 0:
        raise ProblemError(f"usage_limit is {p.limit}; it cannot be negative")


def read_problem(path: str | Path) -> Problem:
    """Read `path`, JSON or gzipped JSON; raise ProblemError (naming the node or edge) or OSError."""
    raw = Path(path).read_bytes()
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise ProblemError(f"{path}: broken gzip data: {error}") from error
    try:
        text = raw.decode("utf-8-sig")
        data = json.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits, and what is not UTF-8
        raise ProblemError(f"{path}: not JSON: {error}") from error
    try:
        return parse_problem(data, "true" in text or "false" in text)
    except ProblemError as error:
        raise ProblemError(f"{path}: {error}") from None


def parse_problem(data: Any, booleans: bool = True) -> Problem:
    """The problem that the decoded JSON `data` describes; `booleans`: whether there may be some (a slower reading).

    Raises:
      ProblemError: it describes none; the text names the node or edge and the value.
    """
    integers = partial(_integers, booleans=booleans)
    data = _member(data, "problem", dict, "the file")
    nodes = _member(data, "nodes", dict, "problem")
    edges = _member(data, "edges", dict, "problem")
    costs = [integers(c, f"node {i}: costs") for i, c in enumerate(_member(nodes, "costs", list, "problem.nodes"))]
    usages = [integers(u, f"node {i}: usages") for i, u in enumerate(_member(nodes, "usages", list, "problem.nodes"))]
    intervals = _pairs(_member(nodes, "intervals", list, "problem.nodes"), "node", "interval", integers)
    ends = _pairs(_member(edges, "nodes", list, "problem.edges"), "edge", "nodes", integers)
    shared: dict[tuple[int, int, bytes], np.ndarray] = {}
    tables = []
    for e, values in enumerate(_member(edges, "costs", list, "problem.edges")):
        flat = integers(values, f"edge {e}: costs")
        shape = (0, 0)
        if e < len(ends) and 0 <= ends[e].min() and ends[e].max() < len(costs):
            shape = (len(costs[ends[e, 0]]), len(costs[ends[e, 1]]))
        if shape[0] * shape[1] != flat.size:  # not square, or not known yet: _check says what is wrong
            shape = (1, flat.size)
        key = (*shape, flat.tobytes())
        tables.append(shared.setdefault(key, flat.reshape(shape)))
    limit = data.get("usage_limit")
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool)):
        raise ProblemError(f"usage_limit is {_excerpt(limit)}; want a whole number of bytes")
    name = data.get("name", "")
    return Problem(costs, usages, intervals, ends, tables, limit, name if isinstance(name, str) else "")


def problem_data(p: Problem) -> dict[str, Any]:
    """The JSON structure that `parse_problem` reads."""
    body: dict[str, Any] = {
        "name": p.name,
        "nodes": {
            "intervals": p.intervals.tolist(),
            "costs": [c.tolist() for c in p.costs],
            "usages": [u.tolist() for u in p.usages],
        },
        "edges": {"nodes": p.edges.tolist(), "costs": [t.ravel().tolist() for t in p.tables]},
    }
    if p.limit is not None:
        body["usage_limit"] = p.limit
    return {"problem": body}


def write_problem(p: Problem, path: str | Path) -> None:
    """Write `p`; gzipped if the name ends in .gz."""
    text = json.dumps(problem_data(p)).encode()
    Path(path).write_bytes(gzip.compress(text) if str(path).endswith(".gz") else text)


def _member(data: Any, name: str, kind: type, where: str) -> Any:
    if not isinstance(data, dict) or name not in data:
        raise ProblemError(f"{where} has no {name!r}")
    if not isinstance(data[name], kind):
        raise ProblemError(f"{where}: {name!r} is a {type(data[name]).__name__}; want a {kind.__name__}")
    return data[name]


def _integers(values: Any, what: str, booleans: bool = True) -> np.ndarray:
    if not isinstance(values, list):
        raise ProblemError(f"{what} is {_excerpt(values)}; want a list of whole numbers")
    try:
        array = np.array(values) if values else np.zeros(0, dtype=np.int64)
    except (ValueError, OverflowError):
        array = np.zeros(0)
    if array.dtype == np.int64 and array.ndim == 1 and not (booleans and any(type(v) is bool for v in values)):
        return array
    for k, v in enumerate(values):
        if not isinstance(v, int) or isinstance(v, bool):
            raise ProblemError(f"{what}: entry {k} is {_excerpt(v)}; want a whole number")
        if not -(2**63) <= v < 2**63:
            raise ProblemError(f"{what}: entry {k} is {_excerpt(v)}, which does not fit in 64 bits")
    return np.array(values, dtype=np.int64)


def _pairs(values: list[Any], owner: str, what: str, integers: Callable[[Any, str], np.ndarray]) -> np.ndarray:
    for i, v in enumerate(values):
        if not isinstance(v, list) or len(v) != 2:
            raise ProblemError(f"{owner} {i}: {what} is {_excerpt(v)}; want two whole numbers")
    flat = [x for v in values for x in v]
    try:
        return integers(flat, "").reshape(-1, 2)
    except ProblemError:  # which one it is
        return np.stack([integers(v, f"{owner} {i}: {what}") for i, v in enumerate(values)])


def _excerpt(value: Any) -> str:
    """A value in an error: in one line, and not the whole of a long one."""
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:56]} ..."
