"""A plan's layouts as jax shardings, for a `jax.jit` of one's own.  Imports jax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.sharding import NamedSharding

from pcg.driver.plan import Plan
from pcg.driver.plan_document import Value
from pcg.ir.shardings import CONSTRAINTS
from pcg.layout import ShardSpec
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.runtime.placement import DeviceMesh, resolve_mesh


def in_shardings(plan: Plan) -> Any:
    """`jax.jit(fn, in_shardings=pcg.in_shardings(plan))`: NamedShardings in the shape of the arguments.

    A plan that was loaded knows no trees: a list then, flat.

    Raises:
      MeshError: there are fewer devices than the mesh has positions.
    """
    flat = _shardings(plan, plan.arguments)
    if plan.trees is None:
        return flat
    tree = plan.trees[0]
    args, kwargs = jax.tree.unflatten(tree, flat[: tree.num_leaves])  # constants come last, and no caller passes them
    return (args, kwargs) if kwargs else args


def out_shardings(plan: Plan) -> Any:
    """`jax.jit(fn, out_shardings=pcg.out_shardings(plan))`: NamedShardings in the shape of the results.

    A plan that was loaded knows no trees: a list then, flat.

    Raises:
      MeshError: there are fewer devices than the mesh has positions.
    """
    flat = _shardings(plan, plan.results)
    return flat if plan.trees is None else jax.tree.unflatten(plan.trees[1], flat)


def sharding_constraints(plan: Plan) -> list[tuple[str, str, NamedSharding]]:
    """`(source line, op, NamedSharding)` of every contraction, reduction and reshard that is split.

    What `jax.lax.with_sharding_constraint` would say at those lines, where it does not follow from the arguments alone.

    Raises:
      MeshError: there are fewer devices than the mesh has positions.
    """
    placed = _placement(plan)
    chosen = {"stablehlo.reduce", "stablehlo.gather", "stablehlo.scatter", *CONSTRAINTS, *traits.ops(Trait.CONTRACTION)}
    out = []
    for d in plan.operations:
        if d.op in chosen and d.results and d.results[0] is not None and any(d.results[0].dims):
            out.append((d.where, d.op, placed.sharding(d.results[0].without_partial())))
    return out


def _placement(plan: Plan) -> DeviceMesh:
    mesh, devices = resolve_mesh(plan.mesh, plan.devices if plan.devices and not plan.mesh.device_ids else None)
    return DeviceMesh.of(mesh, devices)


def _shardings(plan: Plan, values: Sequence[Value]) -> list[NamedSharding]:
    """One per value, as its user holds it: a key array has no dimensions for its integers."""
    placed = _placement(plan)
    return [placed.sharding(ShardSpec(v.spec.dims[: len(v.spec.dims) - v.key_rank], v.spec.partial)) for v in values]
