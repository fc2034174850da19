"""Meshes and specs as jax sees them: devices, PartitionSpecs, NamedShardings.  Imports jax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec

from pcg.driver.program import Leaf
from pcg.layout import Mesh, MeshError, ShardSpec, refine
from pcg.layout.groups import groups_text
from pcg.runtime import jax_compat


def resolve_mesh(mesh: Any, devices: Sequence[Any] | None = None) -> tuple[Mesh, list[Any]]:
    """A mesh in any form as our mesh and one jax device per position.

    `mesh` is a dict of sizes, `name=size,...` text, a number of devices, a `Mesh`, or a jax mesh.

    Raises:
      MeshError: not a mesh, or it has more positions than there are devices.
    """
    if isinstance(mesh, jax.sharding.Mesh):
        return Mesh.of(dict(mesh.shape)), list(mesh.devices.flat)
    if isinstance(mesh, jax.sharding.AbstractMesh):
        mesh = dict(mesh.shape)
    if isinstance(mesh, bool) or not isinstance(mesh, Mesh | Mapping | str | int):
        raise MeshError(
            f"mesh {mesh!r:.80} of type {type(mesh).__name__}; expected a dict of axis sizes, 'name=size,...',"
            " a number of devices, or a jax.sharding.Mesh"
        )
    if isinstance(mesh, int):
        mesh = Mesh.of({"devices": mesh})
    elif isinstance(mesh, str):
        mesh = Mesh.parse(mesh)
    elif isinstance(mesh, Mapping):
        mesh = Mesh.of(mesh)
    present = list(jax.devices() if devices is None else devices)
    check_devices([mesh], present)
    return mesh, [present[i] for i in (mesh.device_ids or range(mesh.size))]


def check_devices(meshes: Sequence[Mesh], present: Sequence[Any]) -> None:
    """Raises MeshError if meshes need more devices than are present."""
    needed = max(max(mesh.device_ids) + 1 if mesh.device_ids else mesh.size for mesh in meshes)
    if needed > len(present):
        kind = present[0].platform if present else "no"
        what = f"mesh {meshes[0]} needs" if len(meshes) == 1 else f"{groups_text(meshes)} need"
        raise MeshError(
            f"{what} {needed} devices, but there are {len(present)} ({kind});"
            " for a trial on CPU set XLA_FLAGS=--xla_force_host_platform_device_count=" + str(needed)
        )


def partition_spec(spec: ShardSpec) -> PartitionSpec:
    """The PartitionSpec of a layout without partial axes."""
    dims = [None if not d else d[0] if len(d) == 1 else d for d in spec.dims]
    while dims and dims[-1] is None:
        dims.pop()
    return PartitionSpec(*dims)


@dataclass(frozen=True)
class DeviceMesh:
    """A mesh on devices, as jax sees it: NamedShardings are on the user's mesh wherever that can express them.

    A layout that uses only a part of an axis is on the refined mesh, whose axes `x.0`, `x.1` are the parts.
    """

    mesh: Mesh
    user_mesh: jax.sharding.Mesh
    refined_mesh: jax.sharding.Mesh

    @classmethod
    def of(cls, mesh: Mesh, devices: Sequence[Any]) -> DeviceMesh:
        """`mesh`, refined or not, with one device per position."""
        user_mesh = jax_compat.jax_mesh(mesh.origin, devices)
        return cls(mesh, user_mesh, jax_compat.jax_mesh(mesh, devices) if mesh.is_refined else user_mesh)

    def sharding(self, spec: ShardSpec) -> NamedSharding:
        """The sharding of a layout without partial axes."""
        spelled = refine.to_origin(spec, self.mesh)
        if refine.uses_sub_axes(spelled):
            return NamedSharding(self.refined_mesh, partition_spec(spec))
        return NamedSharding(self.user_mesh, partition_spec(spelled))

    def common(self, specs: Sequence[ShardSpec]) -> jax.sharding.Mesh:
        """The mesh that can express all `specs`: the user's if possible."""
        sub = any(refine.uses_sub_axes(refine.to_origin(s, self.mesh)) for s in specs)
        return self.refined_mesh if sub else self.user_mesh


def boundary_spec(spec: ShardSpec, leaf: Leaf) -> ShardSpec:
    """Layout of an argument or result as the user holds it: a key array has no dimensions for its integers.

    Without elements it is replicated: XLA gives a split one the wrong shape.
    """
    if 0 in leaf.shape:
        return ShardSpec.replicated(len(spec.dims) - leaf.key_rank)
    return ShardSpec(spec.dims[: len(spec.dims) - leaf.key_rank]) if leaf.key_rank else spec.without_partial()


def shard_spec(sharding: Any, rank: int, mesh: Mesh) -> ShardSpec | None:
    """A user's sharding (NamedSharding, PartitionSpec, ShardSpec, its text) as a layout; None stays None.

    Raises:
      MeshError: it is none of these, names more dimensions than there are, or is of another mesh.
    """
    if sharding is None:
        return None
    if isinstance(sharding, str):
        sharding = ShardSpec.parse(sharding)
    if isinstance(sharding, ShardSpec):
        return sharding
    if isinstance(sharding, NamedSharding):
        sharding = _by_user_axes(sharding, rank)
        if isinstance(sharding, ShardSpec):
            return sharding
        theirs = {n: s for n, s in sharding.mesh.shape.items()}
        used = [a for d in sharding.spec for a in (d if isinstance(d, tuple) else (d,)) if isinstance(a, str)]
        for axis in used:
            if axis in mesh.parts and mesh.origin.axis_size(axis) != theirs[axis]:
                raise MeshError(f"axis {axis!r} has size {theirs[axis]} in {sharding}; in the mesh it has {mesh}")
        sharding = sharding.spec
    if not isinstance(sharding, PartitionSpec):
        raise MeshError(
            f"sharding {sharding!r:.80} of type {type(sharding).__name__};"
            " expected a NamedSharding, PartitionSpec, pcg ShardSpec or None"
        )
    if len(sharding) > rank:
        raise MeshError(f"{sharding} names {len(sharding)} dimensions; the tensor has {rank}")
    return _of_partition_spec(sharding, rank)


def _of_partition_spec(spec: PartitionSpec, rank: int) -> ShardSpec:
    dims = [() if d is None else (d,) if isinstance(d, str) else tuple(d) for d in spec]
    return ShardSpec.of(dims + [()] * (rank - len(dims)))


def _by_user_axes(sharding: NamedSharding, rank: int) -> NamedSharding | ShardSpec:
    """A sharding on a refined mesh (such as `Placement.sharding` returns) by axes and sub-axes; others stay."""
    if not any("." in str(n) for n in sharding.mesh.shape):
        return sharding
    return refine.to_origin(_of_partition_spec(sharding.spec, rank), Mesh.of(dict(sharding.mesh.shape)))


def flat_shardings(shardings: Any, tree: Any, leaves: Sequence[Leaf], mesh: Mesh, what: str) -> dict[int, ShardSpec]:
    """User shardings (a tree that is a prefix of `tree`, None: free) as layouts by flat index.

    Raises:
      MeshError: the structure does not fit, or a leaf is not a sharding.
    """
    if shardings is None:
        return {}
    template = jax.tree.unflatten(tree, list(range(len(leaves))))
    out: dict[int, ShardSpec] = {}

    def visit(sharding: Any, template: Any, path: str) -> None:
        if sharding is None:
            return
        if is_sharding(sharding):
            for i in jax.tree.leaves(template):
                rank = len(leaves[i].shape) - leaves[i].key_rank
                try:
                    spec = shard_spec(sharding, rank, mesh)
                except ValueError as error:
                    raise MeshError(f"{what}: {leaves[i].name}: {error}") from None
                assert spec is not None
                out[i] = ShardSpec.of([*spec.dims, *[()] * leaves[i].key_rank], spec.partial)
            return
        if isinstance(sharding, Mapping) and isinstance(template, Mapping):
            if unknown := [k for k in sharding if k not in template]:
                raise MeshError(f"{what}{path}: unknown key {unknown[0]!r}; there are {sorted(map(str, template))}")
            for key in sharding:
                visit(sharding[key], template[key], f"{path}[{key!r}]")
            return
        if isinstance(sharding, list | tuple) and isinstance(template, list | tuple):
            if len(sharding) != len(template):
                raise MeshError(f"{what}{path} has {len(sharding)} entries; expected {len(template)}")
            for i, (g, t) in enumerate(zip(sharding, template, strict=True)):
                visit(g, t, f"{path}[{i}]")
            return
        ours = jax.tree.flatten(sharding, is_leaf=lambda x: x is None or is_sharding(x))
        theirs = jax.tree.flatten(template, is_leaf=lambda x: x is None)
        if ours[1] != theirs[1]:
            raise MeshError(
                f"{what}{path} is {sharding!r:.60}; expected a sharding, None, or the structure {theirs[1]}"
            )
        for g, t in zip(ours[0], theirs[0], strict=True):
            visit(g, t, path)

    if what == "in_shardings" and shardings[1] is None:
        visit(shardings[0], template[0], "")
    else:
        visit(shardings, template, "")
    return out


def is_sharding(x: Any) -> bool:
    """Whether `x` is one sharding (and not a tree of them)."""
    return isinstance(x, NamedSharding | PartitionSpec | ShardSpec | str)


def to_processes(x: Any, sharding: NamedSharding, name: str) -> Any:
    """Argument `name` on devices of several processes: an array of all of them, or one of the host equal in each.

    Raises:
      MeshError: it is on devices of this process alone, or differs from what others pass.
    """
    if isinstance(x, jax.Array) and jax_compat.is_key(x.dtype) and x.is_fully_addressable:
        data = to_processes(jax.device_get(jax.random.key_data(x)), sharding, name)
        return jax.random.wrap_key_data(data, impl=jax_compat.key_impl(x.dtype))
    if isinstance(x, jax.Array) and x.is_fully_addressable and x.committed:
        raise MeshError(
            f"argument {name} is on devices of process {jax.process_index()} alone, {x.sharding}; allowed: an array"
            " of the host that is the same in every process, or one of all devices"
            " (jax.make_array_from_process_local_data)"
        )
    try:
        return jax.device_put(x, sharding)
    except AssertionError:
        raise MeshError(
            f"argument {name} is an array of the host, and not the same in process {jax.process_index()} as in the"
            " first one; allowed: equal values, or an array of all devices (jax.make_array_from_process_local_data)"
        ) from None
