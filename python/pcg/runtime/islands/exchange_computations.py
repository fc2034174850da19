"""What devices compute of exchanges: rows by where they go, and rows as they came; each of one device.  Imports jax."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, static_argnames="receivers")
def by_destination(rows: Any, destination: Any, receivers: int) -> tuple[Any, Any]:
    """Rows by where they go, in order; and the plan."""
    valid = (destination >= 0) & (destination < receivers)
    group = jnp.where(valid, destination, receivers)
    counts = jnp.sum(group[:, None] == jnp.arange(receivers), 0, dtype=jnp.int32)
    starts = jnp.cumsum(counts) - counts
    wrong = jnp.sum(destination >= receivers, dtype=jnp.int32)
    plan = jnp.concatenate([counts, starts, wrong[None]]).astype(jnp.int32)
    return rows[jnp.argsort(group, stable=True)], plan


@jax.jit
def by_counts(rows: Any, counts: Any) -> tuple[Any, Any]:
    """[1, capacity, ...] rows that lie by where they came from, of which there were [1, receivers]; and the plan."""
    counts = counts[0]
    starts = jnp.cumsum(counts) - counts
    kept = jnp.clip(rows.shape[1] - starts, 0, counts)
    return rows[0], jnp.concatenate([kept, starts, jnp.zeros(1, jnp.int32)]).astype(jnp.int32)


@functools.partial(jax.jit, static_argnums=2)
def take_rows(rows: Any, start: Any, size: int) -> Any:
    return jnp.take(rows, start + jnp.arange(size), axis=0, mode="clip")


@functools.partial(jax.jit, donate_argnums=0)
def place_rows(out: Any, parcel: Any, offset: Any, count: Any) -> Any:
    """[1, capacity, ...] with the first `count` rows of a parcel from `offset` on, as far as there is room."""
    n = jnp.arange(parcel.shape[0])
    at = jnp.where(n < count, offset + n, out.shape[1])
    return out.at[0, at].set(parcel, mode="drop")


@jax.jit
def ranks(destination: Any) -> Any:
    """Of each row, how many before it go to the same receiver."""
    order = jnp.argsort(destination, stable=True)
    ordered = destination[order]
    rank = jnp.arange(order.size) - jnp.searchsorted(ordered, ordered, side="left")
    return jnp.zeros_like(order).at[order].set(rank.astype(order.dtype))


@functools.partial(jax.jit, donate_argnums=0)
def return_rows(out: Any, parcel: Any, sender: Any, count: Any, destination: Any, rank: Any) -> Any:
    """Rows with those that went to `sender` replaced by what came back of them."""
    here = (destination == sender) & (rank < count)
    found = jnp.take(parcel, rank, axis=0, mode="clip")
    return jnp.where(here.reshape(-1, *[1] * (out.ndim - 1)), found, out)
