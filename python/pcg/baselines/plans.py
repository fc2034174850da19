"""The baselines that there are for a program: on one mesh, or on every mesh of a number of devices.  No MLIR here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from pcg.baselines.recipe import Roles, recipe, roles
from pcg.layout import Mesh

_ZERO = ("", "-zero1", "-zero3")
_ON_DATA_AXES = (("data", "data"), ("zero", "zero1"), ("zero", "zero3"))


@dataclass(frozen=True)
class BaselinePlan:
    """One plan (of `pcg.baselines.PLANS`) on one mesh, with the axes of every role where their names do not say it.

    `group` is the kind of plan: data, zero, megatron, hybrid, tables, whole (tables on one device each) or experts.
    """

    group: str
    plan: str
    mesh: Mesh
    zero: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    experts: tuple[str, ...] = ()

    @property
    def without_zero(self) -> BaselinePlan:
        """The same plan with state replicated over the data axes; itself if it is."""
        if self.plan.startswith("zero"):
            everything = Mesh.of({"data": self.mesh.size}) if self.zero == ("shard",) else self.mesh
            return BaselinePlan("data", "data", everything)
        return replace(self, plan=self.plan.removesuffix("-zero1").removesuffix("-zero3"))

    @property
    def _roles(self) -> Roles:
        return roles(recipe(self.plan), self.mesh.origin, self.model, self.experts, self.zero)

    @property
    def tensor_degree(self) -> int:
        """Among how many devices it splits weights of contractions as Megatron does; 1 if it does not."""
        return self.mesh.origin.axes_size(self._roles.model)

    @property
    def series(self) -> tuple[str, int]:
        """What plans have in common that differ in the tensor degree (1: no tensor parallelism) and ZeRO alone."""
        plan = self.without_zero.plan
        plan = {"megatron": "data", "experts-megatron": "experts"}.get(plan, plan)
        return plan, self.mesh.origin.axes_size(self._roles.experts)

    @property
    def on_numbered_axes(self) -> BaselinePlan:
        """The same plan on a mesh with axes d0, d1, ..., as are those of the meshes that are chosen for a cluster."""
        found, axes = self._roles, self.mesh.origin.axes
        new = {name: f"d{i}" for i, (name, _) in enumerate(axes)}
        zero, model, experts = (tuple(new[a] for a in of) for of in (found.zero, found.model, found.experts))
        mesh = Mesh.of([(new[name], size) for name, size in axes], self.mesh.device_ids)
        return replace(self, mesh=mesh, zero=zero, model=model, experts=experts)

    @property
    def label(self) -> str:
        """Plan, mesh and roles in one line."""
        roles = (("zero", self.zero), ("model", self.model), ("experts", self.experts))
        return f"{self.plan} {self.mesh.origin}" + "".join(f" {r}={'+'.join(axes)}" for r, axes in roles if axes)


@dataclass(frozen=True)
class ModelTraits:
    """Which plans suit a model.

    `tables`: those that split embedding tables.  `stacks` are the numbers of tables that are stacked in one array,
    `experts` the numbers of experts in its mixtures.
    """

    tables: bool = False
    stacks: frozenset[int] = frozenset()
    experts: frozenset[int] = frozenset()

    def for_tables(self, mesh: Mesh) -> list[BaselinePlan]:
        """The plans for tables on `mesh`."""
        found = [BaselinePlan("tables", plan, mesh) for plan in ("dlrm", "dlrm-rows")] if self.tables else []
        if self.tables and any(n % mesh.size == 0 for n in self.stacks):
            found.append(BaselinePlan("whole", "dlrm-whole", mesh))
        return found


def on_devices(count: int, kinds: ModelTraits) -> list[BaselinePlan]:
    """All baselines on `count` devices, whatever the mesh, for a model of `kinds`."""
    everything = Mesh.of({"data": count})
    out = [BaselinePlan(group, plan, everything) for group, plan in _ON_DATA_AXES]
    proper = [n for n in _divisors(count) if 1 < n < count]
    for n in proper:
        mesh = Mesh.of({"data": count // n, "shard": n})
        out += [BaselinePlan("zero", plan, mesh, ("shard",)) for plan in ("zero1", "zero3")]
    out.append(BaselinePlan("megatron", "megatron", Mesh.of({"model": count})))
    for n in proper:
        mesh = Mesh.of({"data": count // n, "model": n})
        out += [BaselinePlan("hybrid", "megatron" + zero, mesh) for zero in _ZERO]
    out += kinds.for_tables(everything)
    for n in proper:
        out += kinds.for_tables(Mesh.of({"a": n, "b": count // n}))
    for n in sorted({e for number in kinds.experts for e in _divisors(number) if e > 1 and count % e == 0}):
        for m in _divisors(count // n):
            sizes = {"data": count // n // m, "expert": n, "model": m}
            mesh = Mesh.of({a: s for a, s in sizes.items() if s > 1})
            plan = "experts" if m == 1 else "experts-megatron"
            out += [BaselinePlan("experts", plan + zero, mesh) for zero in _ZERO]
    return out


def on_mesh(mesh: Mesh, kinds: ModelTraits) -> list[BaselinePlan]:
    """All baselines on `mesh`, its axes in every role, for a model of `kinds`."""
    origin = mesh.origin
    axes = [a for a, n in origin.axes if n > 1]
    out = [BaselinePlan(group, plan, mesh) for group, plan in _ON_DATA_AXES]
    if len(axes) > 1:
        out += [BaselinePlan("zero", plan, mesh, (a,)) for a in axes for plan in ("zero1", "zero3")]
    out.append(BaselinePlan("megatron", "megatron", mesh, model=tuple(axes) or origin.names[:1]))
    for chosen in _proper_subsets(axes):
        out += [BaselinePlan("hybrid", "megatron" + zero, mesh, model=chosen) for zero in _ZERO]
    out += kinds.for_tables(mesh)
    for a in axes:
        if not any(number % origin.axis_size(a) == 0 for number in kinds.experts):
            continue
        out += [BaselinePlan("experts", "experts" + zero, mesh, experts=(a,)) for zero in _ZERO]
        for chosen in (c for c in _subsets([b for b in axes if b != a]) if c):
            out += [BaselinePlan("experts", "experts-megatron" + z, mesh, model=chosen, experts=(a,)) for z in _ZERO]
    return out


def _subsets(axes: Iterable[str]) -> Iterator[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()]
    for a in axes:
        found += [(*s, a) for s in found]
    yield from sorted(found, key=len)


def _proper_subsets(axes: Collection[str]) -> Iterator[tuple[str, ...]]:
    yield from (s for s in _subsets(axes) if 0 < len(s) < len(axes))


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]
