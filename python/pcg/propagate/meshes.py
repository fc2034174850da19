"""Which mesh everything runs on, when a program is annotated for several.

A program is a graph of nodes: arguments, ops, results.  Annotated nodes stay on their mesh, and so do the direct users
of pinning nodes (an argument with a mesh, say).  Every other node goes to the mesh of the nearest annotated node that
it depends on (distance counts the ops in between) or, without any, that depends on it.  Among meshes that are equally
near, one that contains another wins; of disjoint ones, that which has the most bytes of the operands.  A local search
then reassigns nodes that are not pinned to a neighbour's mesh where that lowers the bytes transferred: a weight's
gradient goes to the weight's mesh if the activations are there anyway.  No MLIR here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

#: Sweeps of the local search.  A choice: each lowers the bytes transferred, nearly all in the first two.
_SWEEPS = 8
#: Nodes that are reassigned together at most.  A choice: more than a chain of casts and transposes, of which each
#: alone saves no bytes.
_TOGETHER = 16


class MeshConflict(ValueError):
    """The neighbours of an op are on two overlapping meshes, and no annotation says which; `node` is its index."""

    def __init__(self, node: int, message: str) -> None:
        super().__init__(message)
        self.node = node


@dataclass
class MeshNode:
    """An argument (no operands), an op, or what takes a result of the program (no results).

    `mesh` is the annotated mesh, or None.  A direct user of a node that `pins` is not reassigned by the local search.
    """

    operands: tuple[int, ...]
    results: tuple[int, ...]
    mesh: str | None = None
    pins: bool = False


@dataclass
class MeshProblem:
    """Nodes that run on meshes, and the values between them.

    `devices` are the logical devices of each mesh.  Values are numbers into `bytes`; a node is added after
    those that define its operands.
    """

    devices: Mapping[str, frozenset[int]]
    bytes: list[float] = field(default_factory=list)
    nodes: list[MeshNode] = field(default_factory=list)
    defined_by: list[int] = field(default_factory=list)
    users: list[list[int]] = field(default_factory=list)

    def add(
        self, operands: Iterable[int], results: Iterable[float], mesh: str | None = None, pins: bool | None = None
    ) -> tuple[int, ...]:
        """Add a node that takes the values `operands` and defines values of so many bytes; returns the latter.

        Without `pins`, it pins if it is annotated.
        """
        node = len(self.nodes)
        operands = tuple(operands)
        for v in set(operands):
            self.users[v].append(node)
        defined = []
        for size in results:
            defined.append(len(self.bytes))
            self.bytes.append(size)
            self.defined_by.append(node)
            self.users.append([])
        self.nodes.append(MeshNode(operands, tuple(defined), mesh, mesh is not None if pins is None else pins))
        return tuple(defined)

    def before(self, node: int) -> list[int]:
        """Nodes that define the operands, each once."""
        return list(dict.fromkeys(self.defined_by[v] for v in self.nodes[node].operands))

    def after(self, node: int) -> list[int]:
        """Nodes that take the results, each once."""
        return list(dict.fromkeys(t for v in self.nodes[node].results for t in self.users[v]))


@dataclass(frozen=True)
class MeshSolution:
    """The mesh of every node, and how many ops it is away from an annotation (None: nothing reaches it)."""

    meshes: tuple[str, ...]
    distance: tuple[int | None, ...]
    reassigned: int

    def crossing(self, problem: MeshProblem) -> list[tuple[int, str]]:
        """(value, mesh it goes to) of everything that crosses, in order of values."""
        found = []
        for v, users in enumerate(problem.users):
            home = self.meshes[problem.defined_by[v]]
            found += [(v, m) for m in dict.fromkeys(self.meshes[t] for t in users) if m != home]
        return found


def propagate_meshes(problem: MeshProblem) -> MeshSolution:
    """A mesh for every node.

    Raises:
      MeshConflict: the nearest annotations of a node are on meshes that share some devices, but not all of one.
    """
    where: list[str | None] = [t.mesh for t in problem.nodes]
    distance: list[int | None] = [None if m is None else 0 for m in where]
    order = list(range(len(where)))
    changed = True
    while changed:
        changed = False
        for nodes, neighbours, choose in (
            (order, problem.before, _of_operands), (order[::-1], problem.after, _of_users)
        ):  # fmt: skip
            for i in nodes:
                near = [(d, n) for n in neighbours(i) if (d := distance[n]) is not None]
                if where[i] is None and near:
                    if choose is _of_operands and (pinning := [(d, n) for d, n in near if problem.nodes[n].pins]):
                        near = pinning
                    least = min(d for d, _ in near)
                    where[i] = choose(problem, where, i, {n for d, n in near if d == least})
                    distance[i], changed = least + 1, True
    default = next(iter(problem.devices))
    meshes = [m if m is not None else default for m in where]
    reassigned = _local_search(problem, meshes)
    return MeshSolution(tuple(meshes), tuple(distance), reassigned)


def _of_operands(problem: MeshProblem, where: list[str | None], node: int, near: set[int]) -> str:
    """The mesh of a node of which the operands defined by `near` decide."""
    size: dict[str, float] = {}
    for v in dict.fromkeys(problem.nodes[node].operands):
        if problem.defined_by[v] in near and (mesh := where[problem.defined_by[v]]) is not None:
            size[mesh] = size.get(mesh, 0.0) + problem.bytes[v]
    names = _outermost(problem, size)
    for i, a in enumerate(names):
        for b in names[:i]:
            shared = problem.devices[a] & problem.devices[b]
            if shared and problem.devices[a] != problem.devices[b]:
                raise MeshConflict(
                    node, f"has neighbours on @{b} and @{a}, which share devices {sorted(shared)} while neither "
                    "contains the other; annotate on which mesh it runs",
                )
    return max(names, key=lambda m: size[m])


def _of_users(problem: MeshProblem, where: list[str | None], node: int, near: set[int]) -> str:
    """The mesh of a node of whose users those in `near` decide: it may be with any of them."""
    return _outermost(problem, [m for n in problem.after(node) if n in near and (m := where[n]) is not None])[0]


def _outermost(problem: MeshProblem, meshes: Iterable[str]) -> list[str]:
    """Those of `meshes` that no other of them contains."""
    names = list(dict.fromkeys(meshes))
    return [a for a in names if not any(problem.devices[a] < problem.devices[b] for b in names)]


def _local_search(problem: MeshProblem, meshes: list[str]) -> int:
    """Reassign nodes that are not pinned to neighbours' meshes while that saves transfers; returns how many.

    Arguments and results of the program that are not annotated follow the ops they are next to.
    """
    nodes = problem.nodes
    follows = [t.mesh is None and (not t.operands or not t.results) for t in nodes]

    def cost(v: int) -> float:
        """Bytes of value `v` that are transferred."""
        defining = problem.defined_by[v]
        wanted = {meshes[t] for t in problem.users[v] if not follows[t]}
        crossings = max(0, len(wanted) - 1) if follows[defining] else len(wanted - {meshes[defining]})
        return problem.bytes[v] * crossings

    def crossing(node: int, mesh: str) -> float:
        """Bytes of the operands and results of a node that are transferred if it is on `mesh`."""
        kept, meshes[node] = meshes[node], mesh
        total = sum(cost(v) for v in (*dict.fromkeys(nodes[node].operands), *nodes[node].results))
        meshes[node] = kept
        return total

    free = {
        i for i, t in enumerate(nodes)
        if t.mesh is None and not follows[i] and not any(nodes[n].pins for n in problem.before(i))
    }  # fmt: skip

    def neighbours(i: int) -> list[int]:
        return [n for n in (*problem.before(i), *problem.after(i)) if not follows[n]]

    def together(first: int, mesh: str) -> list[int]:
        """The nodes from `first` on that lower the bytes most if all go to `mesh`; none if they do not."""
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

    reassigned: set[int] = set()
    for _ in range(_SWEEPS):
        changed = False
        for i in sorted(free):
            for mesh in dict.fromkeys(meshes[n] for n in neighbours(i)):
                if mesh != meshes[i] and (group := together(i, mesh)):
                    changed = True
                    reassigned.update(group)
                    for n in group:
                        meshes[n] = mesh
        if not changed:
            break
    for i, t in enumerate(nodes):
        if follows[i]:
            near = dict.fromkeys(meshes[n] for n in (problem.before(i) if t.operands else problem.after(i)))
            if near and meshes[i] not in near:
                meshes[i] = next(iter(near))
    return len(reassigned)
