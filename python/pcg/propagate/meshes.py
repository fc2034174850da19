"""Which mesh everything runs on, when a program is annotated for several.

What is annotated stays where it is.  What is made directly from something that holds it (an argument with a mesh,
say) is there too.  Everything else goes to the mesh of the nearest annotated thing that it is made from (distance
counts the ops in between) or, without any, that is made from it.  Among meshes that are equally near, one that
contains another wins; of disjoint ones, that which has the most bytes of the operands.  What nothing holds is then
moved to a neighbour's mesh where that lowers the bytes that cross: a weight's gradient goes to the weight's mesh if
the activations are there anyway.  No MLIR here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

#: Sweeps over the ops that look for a better neighbouring mesh; each lowers the bytes that cross.
_SWEEPS = 8
#: So many things at most are moved together: a chain of casts and transposes crosses as a whole or not at all.
_TOGETHER = 16


class MeshConflict(ValueError):
    """Nothing says on which of two overlapping meshes an op runs; `thing` is its index."""

    def __init__(self, thing: int, message: str) -> None:
        super().__init__(message)
        self.thing = thing


@dataclass
class Thing:
    """An argument (no operands), an op, or what takes a result of the program (no results).

    `mesh` is the annotated mesh, or None.  What is made directly from a thing that `holds` stays on the mesh that it
    is near, whatever the bytes.
    """

    operands: tuple[int, ...]
    results: tuple[int, ...]
    mesh: str | None = None
    holds: bool = False


@dataclass
class MeshProblem:
    """Things that run on meshes, and the values between them.

    `devices` are the logical devices of each mesh.  Values are numbers into `bytes`; a thing is added after
    those that make its operands.
    """

    devices: Mapping[str, frozenset[int]]
    bytes: list[float] = field(default_factory=list)
    things: list[Thing] = field(default_factory=list)
    makers: list[int] = field(default_factory=list)
    takers: list[list[int]] = field(default_factory=list)

    def add(
        self, operands: Iterable[int], results: Iterable[float], mesh: str | None = None, holds: bool | None = None
    ) -> tuple[int, ...]:
        """Add a thing that takes the values `operands` and makes values of so many bytes; returns the latter.

        Without `holds`, it holds if it is annotated.
        """
        thing = len(self.things)
        operands = tuple(operands)
        for v in set(operands):
            self.takers[v].append(thing)
        made = []
        for size in results:
            made.append(len(self.bytes))
            self.bytes.append(size)
            self.makers.append(thing)
            self.takers.append([])
        self.things.append(Thing(operands, tuple(made), mesh, mesh is not None if holds is None else holds))
        return tuple(made)

    def before(self, thing: int) -> list[int]:
        """Things that make the operands, each once."""
        return list(dict.fromkeys(self.makers[v] for v in self.things[thing].operands))

    def after(self, thing: int) -> list[int]:
        """Things that take the results, each once."""
        return list(dict.fromkeys(t for v in self.things[thing].results for t in self.takers[v]))


@dataclass(frozen=True)
class MeshSolution:
    """The mesh of every thing, and how many ops it is away from an annotation (None: nothing reaches it)."""

    meshes: tuple[str, ...]
    distance: tuple[int | None, ...]
    moved: int

    def crossing(self, problem: MeshProblem) -> list[tuple[int, str]]:
        """(value, mesh it goes to) of everything that crosses, in order of values."""
        found = []
        for v, takers in enumerate(problem.takers):
            home = self.meshes[problem.makers[v]]
            found += [(v, m) for m in dict.fromkeys(self.meshes[t] for t in takers) if m != home]
        return found


def propagate_meshes(problem: MeshProblem) -> MeshSolution:
    """A mesh for every thing.

    Raises:
      MeshConflict: the nearest annotations of a thing are on meshes that share some devices, but not all of one.
    """
    where: list[str | None] = [t.mesh for t in problem.things]
    distance: list[int | None] = [None if m is None else 0 for m in where]
    order = list(range(len(where)))
    changed = True
    while changed:
        changed = False
        for things, neighbours, choose in (
            (order, problem.before, _of_operands), (order[::-1], problem.after, _of_users)
        ):  # fmt: skip
            for i in things:
                near = [(d, n) for n in neighbours(i) if (d := distance[n]) is not None]
                if where[i] is None and near:
                    if choose is _of_operands and (holders := [(d, n) for d, n in near if problem.things[n].holds]):
                        near = holders
                    least = min(d for d, _ in near)
                    where[i] = choose(problem, where, i, {n for d, n in near if d == least})
                    distance[i], changed = least + 1, True
    default = next(iter(problem.devices))
    meshes = [m if m is not None else default for m in where]
    moved = _fewer_bytes(problem, meshes)
    return MeshSolution(tuple(meshes), tuple(distance), moved)


def _of_operands(problem: MeshProblem, where: list[str | None], thing: int, near: set[int]) -> str:
    """The mesh of a thing of whose operands those made by `near` decide."""
    held: dict[str, float] = {}
    for v in dict.fromkeys(problem.things[thing].operands):
        if problem.makers[v] in near and (mesh := where[problem.makers[v]]) is not None:
            held[mesh] = held.get(mesh, 0.0) + problem.bytes[v]
    names = _outermost(problem, held)
    for i, a in enumerate(names):
        for b in names[:i]:
            shared = problem.devices[a] & problem.devices[b]
            if shared and problem.devices[a] != problem.devices[b]:
                raise MeshConflict(
                    thing, f"has neighbours on @{b} and @{a}, which share devices {sorted(shared)} while neither "
                    "contains the other; annotate on which mesh it runs",
                )
    return max(names, key=lambda m: held[m])


def _of_users(problem: MeshProblem, where: list[str | None], thing: int, near: set[int]) -> str:
    """The mesh of a thing of whose users those in `near` decide: it may be with any of them."""
    return _outermost(problem, [m for n in problem.after(thing) if n in near and (m := where[n]) is not None])[0]


def _outermost(problem: MeshProblem, meshes: Iterable[str]) -> list[str]:
    """Those of `meshes` that no other of them contains."""
    names = list(dict.fromkeys(meshes))
    return [a for a in names if not any(problem.devices[a] < problem.devices[b] for b in names)]


def _fewer_bytes(problem: MeshProblem, meshes: list[str]) -> int:
    """Move things that nothing holds to neighbours' meshes while fewer bytes cross; how many were moved.

    Arguments and results of the program that are not annotated follow the ops they are next to.
    """
    things = problem.things
    follows = [t.mesh is None and (not t.operands or not t.results) for t in things]

    def cost(v: int) -> float:
        """Bytes of value `v` that cross."""
        maker = problem.makers[v]
        wanted = {meshes[t] for t in problem.takers[v] if not follows[t]}
        crossings = max(0, len(wanted) - 1) if follows[maker] else len(wanted - {meshes[maker]})
        return problem.bytes[v] * crossings

    def crossing(thing: int, mesh: str) -> float:
        """Bytes of the values next to a thing that cross if it is on `mesh`."""
        kept, meshes[thing] = meshes[thing], mesh
        total = sum(cost(v) for v in (*dict.fromkeys(things[thing].operands), *things[thing].results))
        meshes[thing] = kept
        return total

    free = {
        i for i, t in enumerate(things)
        if t.mesh is None and not follows[i] and not any(things[n].holds for n in problem.before(i))
    }  # fmt: skip

    def neighbours(i: int) -> list[int]:
        return [n for n in (*problem.before(i), *problem.after(i)) if not follows[n]]

    def together(first: int, mesh: str) -> list[int]:
        """The things from `first` on that lower the bytes most if all go to `mesh`; none if they do not."""
        old, group, total, best, length = meshes[first], [first], 0.0, 0.0, 0
        step = crossing(first, mesh) - crossing(first, old)
        while True:
            meshes[group[-1]] = mesh
            total += step
            if total < best:
                best, length = total, len(group)
            near = {n for i in group for n in neighbours(i) if n in free and meshes[n] == old}
            if not near or len(group) == _TOGETHER:
                break
            step, n = min((crossing(n, mesh) - crossing(n, old), n) for n in near)
            group.append(n)
        for i in group:
            meshes[i] = old
        return group[:length]

    moved: set[int] = set()
    for _ in range(_SWEEPS):
        changed = False
        for i in sorted(free):
            for mesh in dict.fromkeys(meshes[n] for n in neighbours(i)):
                if mesh != meshes[i] and (group := together(i, mesh)):
                    changed = True
                    moved.update(group)
                    for n in group:
                        meshes[n] = mesh
        if not changed:
            break
    for i, t in enumerate(things):
        if follows[i]:
            near = dict.fromkeys(meshes[n] for n in (problem.before(i) if t.operands else problem.after(i)))
            if near and meshes[i] not in near:
                meshes[i] = next(iter(near))
    return len(moved)
