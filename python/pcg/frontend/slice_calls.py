"""Programs whose functions run on slices: traced by jax as one function, divided into one node per call.  Imports jax.

A function on a slice is traced as a `jax.jit` with a name that says which slice it is on.  jax keeps that name when it
differentiates, so that the gradient of a call is on the slice of the call.  What the program computes between calls (an
optimizer's update, sums of losses) goes to the slice where most of what it reads is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
from jax.extend import core, source_info_util

from pcg.driver.program import ProgramError
from pcg.frontend.exchange import Route, route_of
from pcg.runtime import jax_compat

_MARK = re.compile(r"pcg_slice_(\w+?)__(.*)", re.S)

source_info_util.register_exclusion(__file__)


@dataclass
class Node:
    """What one slice computes at once: `jaxpr` of the values `reads`, which gives the values `writes`."""

    slice: str
    name: str
    jaxpr: core.ClosedJaxpr
    reads: list[int]
    writes: list[int]
    source: str
    """File and line of the call."""
    route: Route | None = None
    """Of an exchange, which computes nothing: it reads and writes what its equation does; `slice` has the results."""
    back: bool = False
    """Whether its rows return."""


@dataclass
class SliceGraph:
    """A traced program: values by number, nodes in program order."""

    values: list[Any] = field(default_factory=list)
    """Shape and dtype of each value."""
    arguments: list[int] = field(default_factory=list)
    constants: list[tuple[int, Any]] = field(default_factory=list)
    """Values that the program closes over, with their arrays."""
    nodes: list[Node] = field(default_factory=list)
    results: list[int] = field(default_factory=list)


def on_slice(function: Callable[..., Any], slice: str) -> Callable[..., Any]:
    """`function`, so that `trace` knows that it runs on a slice; `slice` is an identifier."""

    def marked(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    name = getattr(function, "__name__", "function")
    marked.__name__ = marked.__qualname__ = f"pcg_slice_{slice}__{name}"
    return jax.jit(marked)


def trace(function: Callable[..., Any], avals: Sequence[Any], default: str) -> SliceGraph:
    """The nodes of a program of flat arguments and results.

    Args:
      default: the slice of what reads nothing that is on one.

    Raises:
      ProgramError: a call on a slice inside of a loop, or of a function that is mapped.
    """
    # jax does not know who has called it: where a function on a slice is called by itself, that is the user's line.
    here = _summary(source_info_util.current())
    closed = jax.make_jaxpr(function)(*avals)
    graph = _Division(closed, default).graph
    for node in graph.nodes:
        node.source = node.source or here
    return graph


@dataclass
class _Group:
    """Equations of one node, in order."""

    slice: str
    name: str
    eqns: list[Any]
    before: int
    """The groups that it depends on, as bits."""


class _Division:
    """Equations at the top level, as groups on slices."""

    def __init__(self, closed: core.ClosedJaxpr, default: str) -> None:
        self.graph = SliceGraph()
        self._number: dict[Any, int] = {}
        self._group_of: dict[Any, int] = {}
        """The group that computes a variable."""
        self._groups: list[_Group] = []
        self._open: dict[str, int] = {}
        """The last group between calls, by slice."""
        jaxpr = closed.jaxpr
        self._names = jax_compat.no_names(jaxpr)
        for v in jaxpr.invars:
            self.graph.arguments.append(self._value(v))
        for v, x in zip(jaxpr.constvars, closed.consts, strict=True):
            self.graph.constants.append((self._value(v), x))
        eqns, replaced = _flat(jaxpr.eqns)
        outvars = [replaced.get(v, v) if not _literal(v) else v for v in jaxpr.outvars]
        slices = self._slices(eqns, default)
        for eqn, where in zip(eqns, slices, strict=True):
            self._add(eqn, where)
        last = {v for v in outvars if not _literal(v)}
        literals = [v for v in outvars if _literal(v)]
        if literals:
            self._add_literals(literals, slices[-1] if slices else default)
        self._finish(last)
        self.graph.results = [self._number[id(v) if _literal(v) else v] for v in outvars]

    def _value(self, v: Any) -> int:
        self._number[v] = len(self.graph.values)
        self.graph.values.append(v.aval)
        return self._number[v]

    @staticmethod
    def _slices(eqns: Sequence[Any], default: str) -> list[str]:
        """The slice of each equation: as marked, else where most of what it reads is, else where it is first read."""
        found: list[str | None] = []
        at: dict[Any, str] = {}
        for eqn in eqns:
            mark = _mark(eqn)
            where = mark[0] if mark else None
            if where is None:
                size: dict[str, int] = {}
                for v in eqn.invars:
                    if not _literal(v) and v in at:
                        size[at[v]] = size.get(at[v], 0) + _nbytes(v.aval)
                where = max(size, key=size.__getitem__) if size else None
            found.append(where)
            if where is not None:
                at.update((v, where) for v in eqn.outvars)
        wanted: dict[Any, str] = {}
        for i in range(len(eqns) - 1, -1, -1):
            if found[i] is None:
                found[i] = next((wanted[v] for v in eqns[i].outvars if v in wanted), None)
            if (where := found[i]) is not None:
                wanted.update((v, w) for v, w in zip(eqns[i].invars, _read_at(eqns[i], where), strict=True)
                              if not _literal(v))  # fmt: skip
        return [where or default for where in found]

    def _add(self, eqn: Any, where: str) -> None:
        direct = {self._group_of[v] for v in eqn.invars if not _literal(v) and v in self._group_of}
        before = 0
        for g in direct:
            before |= self._groups[g].before | 1 << g
        mark = _mark(eqn)
        joined = self._open.get(where) if mark is None else None
        if joined is not None:
            # It joins the last group of its slice unless it needs what another group computes from that one.
            others = [g for g in direct if g != joined]
            if any(self._groups[g].before >> joined & 1 for g in others):
                joined = None
        if joined is None:
            joined = len(self._groups)
            self._groups.append(_Group(where, mark[1] if mark else "between", [], 0))
            # What comes behind a call stays behind it: sums of gradients are accumulated as they come.
            if mark is None:
                self._open[where] = joined
            else:
                self._open.pop(where, None)
        group = self._groups[joined]
        group.eqns.append(eqn)
        group.before |= before & ~(1 << joined)
        for other in self._groups:  # what depends on it now depends on all of that, too
            if other.before >> joined & 1:
                other.before |= group.before
        for v in eqn.outvars:
            self._group_of[v] = joined

    def _add_literals(self, literals: Sequence[Any], where: str) -> None:
        """Results that are constants of the program's text are arrays as others."""
        for v in literals:
            if id(v) not in self._number:
                self._number[id(v)] = len(self.graph.values)
                self.graph.constants.append((len(self.graph.values), v.val))
                self.graph.values.append(v.aval)

    def _finish(self, results: set[Any]) -> None:
        """Nodes in an order in which each comes after what it reads: groups may have got equations later."""
        used: list[set[Any]] = [{v for e in g.eqns for v in e.invars if not _literal(v)} for g in self._groups]
        readers: dict[Any, set[int]] = {}
        for i, own in enumerate(used):
            for v in own:
                readers.setdefault(v, set()).add(i)
        for i in _in_order(self._groups):
            group = self._groups[i]
            if (exchanged := route_of(group.eqns[0])) is not None:
                eqn = group.eqns[0]
                if any(v in results or readers.get(v) for v in eqn.outvars):
                    numbers = [self._number[v] for v in eqn.invars], [self._value(v) for v in eqn.outvars]
                    empty = core.ClosedJaxpr(core.Jaxpr([], [], [], [], set(), self._names), ())
                    self.graph.nodes.append(
                        Node(group.slice, group.name, empty, *numbers, _source(eqn), exchanged[0], exchanged[1])
                    )
                continue
            computed = {v: None for e in group.eqns for v in e.outvars}
            reads = list(
                dict.fromkeys(v for e in group.eqns for v in e.invars if not _literal(v) and v not in computed)
            )
            writes = [v for v in computed if v in results or readers.get(v, set()) - {i}]
            if not writes:
                continue  # nobody reads it
            effects = {x for e in group.eqns for x in e.effects}
            jaxpr = core.Jaxpr([], reads, writes, group.eqns, effects, self._names)
            numbers = [self._number[v] for v in reads], [self._value(v) for v in writes]
            self.graph.nodes.append(
                Node(group.slice, group.name, core.ClosedJaxpr(jaxpr, ()), *numbers, _source(group.eqns[0]))
            )


def _in_order(groups: Sequence[_Group]) -> Iterator[int]:
    """Groups, each after those it depends on; else as they come."""
    done = 0
    left = list(range(len(groups)))
    while left:
        ready = next(i for i in left if not groups[i].before & ~done)
        done |= 1 << ready
        left.remove(ready)
        yield ready


def _flat(eqns: Iterable[Any]) -> tuple[list[Any], dict[Any, Any]]:
    """Equations with the calls that contain calls on slices taken off, and variables by the ones that replace them."""
    out: list[Any] = []
    renamed: dict[Any, Any] = {}

    def fresh(v: Any) -> Any:
        return core.Var(v.aval) if not _drop(v) else v

    def visit(eqns: Iterable[Any], names: dict[Any, Any]) -> None:
        for eqn in eqns:
            read = [v if _literal(v) else names.get(v, v) for v in eqn.invars]
            if _mark(eqn) is None and _contains_calls(eqn):
                inner = _taken_off(eqn)
                body = _open(inner)
                own: dict[Any, Any] = dict(zip(body.invars, read, strict=True))
                for v, x in zip(body.constvars, getattr(inner, "consts", ()), strict=True):
                    own[v] = core.Literal(x, v.aval)
                visit([e if _source(e) else e.replace(source_info=eqn.source_info) for e in body.eqns], own)
                for v, w in zip(eqn.outvars, body.outvars, strict=True):
                    names[v] = w if _literal(w) else own.get(w, w)
                continue
            written = [fresh(v) if names is not renamed else v for v in eqn.outvars]
            names.update(zip(eqn.outvars, written, strict=True))
            out.append(eqn.replace(invars=read, outvars=written))

    visit(eqns, renamed)
    return out, renamed


def _contains_calls(eqn: Any) -> bool:
    return any(_mark(e) for inner in core.jaxprs_in_params(eqn.params) for e in jax_compat.equations(inner))


def _taken_off(eqn: Any) -> Any:
    """The jaxpr of a call that contains calls on slices, which become nodes of the program.

    What a checkpoint computes again stays a computation of its own: nodes are not simplified together.
    """
    if (inner := jax_compat.called(eqn)) is not None:
        return inner
    if eqn.primitive.name in ("checkpoint", "remat2"):
        return eqn.params["jaxpr"]
    if eqn.primitive.name in ("custom_vjp_call", "custom_jvp_call"):  # nobody differentiates it any more
        return eqn.params["call_jaxpr"]
    raise ProgramError(
        f"{_source(eqn)}: a call on a slice inside of {eqn.primitive.name}; allowed: in the program itself, and in"
        " functions under jax.jit, jax.grad and jax.checkpoint"
    )


def _open(jaxpr: Any) -> Any:
    """The jaxpr of a closed one."""
    return jaxpr.jaxpr if isinstance(jaxpr, core.ClosedJaxpr) else jaxpr


def _literal(v: Any) -> bool:
    return isinstance(v, core.Literal)


def _drop(v: Any) -> bool:
    return type(v).__name__ == "DropVar"


def _mark(eqn: Any) -> tuple[str, str] | None:
    """(slice, function) of a call on a slice; an exchange is on the slice that has its results."""
    if (exchanged := route_of(eqn)) is not None:
        route, back = exchanged
        return (route.source, "exchange_back") if back else (route.target, "exchange")
    name = eqn.params.get("name") if eqn.primitive.name in ("jit", "pjit") else None
    found = _MARK.fullmatch(name) if isinstance(name, str) else None
    return None if found is None else (found[1], found[2])


def _read_at(eqn: Any, where: str) -> list[str]:
    """The slice on which an equation that is on `where` reads each of its operands."""
    if (exchanged := route_of(eqn)) is None:
        return [where] * len(eqn.invars)
    route, back = exchanged
    return [route.target, route.target, route.source] if back else [route.source, route.source]


def _nbytes(aval: Any) -> int:
    return int(aval.size * aval.dtype.itemsize) if hasattr(aval, "dtype") else 0


def _source(eqn: Any) -> str:
    """File and line of an equation; empty if unknown."""
    return _summary(eqn.source_info)


def _summary(info: Any) -> str:
    return source_info_util.summarize(info).split(" (")[0]
