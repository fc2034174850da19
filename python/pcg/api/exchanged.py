"""Rows on the slice that they were exchanged to, and how they return: what `slice.exchange` gives.  Imports jax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import source_info_util

from pcg.api.on_slice import OnSlice
from pcg.frontend import exchange as traced
from pcg.layout import Mesh
from pcg.runtime import jax_compat

source_info_util.register_exclusion(__file__)  # a node's source is the user's call

#: What is done with rows for which a receiver has no room.
OVERFLOW = ("error", "drop")


@dataclass(frozen=True)
class Exchanged:
    """Rows that were exchanged; a tree of arrays, as programs take and return them."""

    rows: Any
    """[receivers, capacity, ...], on the slice that they went to, a receiver per position of its axis: what each
    sender has for it, by sender and then in the order that they had there; behind them zeros."""
    counts: Any
    """[receivers, senders] int32, there: how many rows each sender had for each receiver."""
    destination: Any
    """[tokens] int32, where the rows come from."""
    route: traced.Route

    def valid(self) -> Any:
        """[receivers, capacity], whether a row is one that was exchanged."""
        return jnp.arange(self.route.capacity) < jnp.sum(self.counts, 1, keepdims=True)

    def dropped(self) -> Any:
        """[receivers] int32, how many rows there was no room for."""
        return jnp.maximum(jnp.sum(self.counts, 1) - self.route.capacity, 0)

    def back(self, rows: Any) -> Any:
        """Bring rows, or what was computed of each, back to where they came from.

        Args:
          rows: [receivers, capacity, ...].

        Returns:
          [tokens, ...] on the slice where the rows came from; zeros for what went nowhere or was dropped.

        Raises:
          ValueError: rows of another shape.
        """
        route = self.route
        if tuple(rows.shape[:2]) != (route.receivers, route.capacity):
            allowed = f"({route.receivers}, {route.capacity}, ...)"
            raise ValueError(f"rows of shape {tuple(rows.shape)} cannot go back; allowed: {allowed}")
        return _run(route, lambda *arrays: traced.exchange_back(*arrays, route), rows, self.counts, self.destination)


jax.tree_util.register_dataclass(Exchanged, ["rows", "counts", "destination"], ["route"])


def exchange(
    rows: Any, destination: Any, source: tuple[OnSlice, str, str | None], target: tuple[OnSlice, str, str | None],
    capacity: int | None, overflow: str, run: Callable[..., Any],
) -> Exchanged:  # fmt: skip
    """See `pcg.api.controller.ClientSlice.exchange`; slices come with their marks in traces, and axes."""
    if overflow not in OVERFLOW:
        raise ValueError(f"overflow {overflow!r}; allowed: {', '.join(OVERFLOW)}")
    shape = tuple(rows.shape)
    if not shape or 0 in shape or jax_compat.is_key(rows.dtype):
        allowed = "arrays of numbers, with elements, [tokens, ...]"
        raise ValueError(f"rows of type {rows.dtype}{list(shape)}; allowed: {allowed}")
    axis, to_axis = (_axis(slice.mesh, own) for slice, _, own in (source, target))
    senders, receivers = source[0].mesh.axis_size(axis), target[0].mesh.axis_size(to_axis)
    if shape[0] % senders:
        raise ValueError(f"{shape[0]} rows on {senders} shards of {source[0]}; allowed: as many on each")
    if tuple(destination.shape) != shape[:1] or not jnp.issubdtype(destination.dtype, jnp.integer):
        found = f"{destination.dtype}{list(destination.shape)}"
        raise ValueError(f"destinations {found}; allowed: an integer for each of {shape[0]} rows")
    room = shape[0] if capacity is None else capacity
    if isinstance(room, bool) or not isinstance(room, int) or room < 1:
        raise ValueError(f"capacity {capacity!r}; allowed: 1 or more rows")
    route = traced.Route(source[1], target[1], axis, to_axis, senders, receivers, room, overflow == "drop", run)

    def exchanged(rows: Any, destination: Any) -> Exchanged:
        destination = jnp.asarray(destination, jnp.int32)
        received, counts = traced.exchange(rows, destination, route)
        return Exchanged(received, counts, destination, route)

    return _run(route, exchanged, rows, destination)


def _run(route: traced.Route, function: Callable[..., Any], *arrays: Any) -> Any:
    """In a program, or as one of its own."""
    if route.run is None or jax_compat.is_traced_here():
        return function(*arrays)
    return route.run(function, *arrays)


def _axis(mesh: Mesh, axis: str | None) -> str:
    if axis is None:
        if len(mesh.axes) != 1:
            names = ", ".join(mesh.names)
            raise ValueError(f"mesh {mesh} has several axes; name the one whose positions exchange rows: {names}")
        return str(mesh.names[0])
    if axis not in mesh.names:
        raise ValueError(f"axis {axis!r}; mesh {mesh} has {', '.join(mesh.names)}")
    return axis
