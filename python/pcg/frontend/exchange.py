"""Rows that go from the shards of one slice to those of another, as data says, and back: in traces.  Imports jax.

The gradient of one direction is the other one: both only move rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core
from jax.extend import source_info_util
from jax.interpreters import batching

from pcg.driver.program import ProgramError

source_info_util.register_exclusion(__file__)


@dataclass(frozen=True)
class Route:
    """From which shards rows go to which."""

    source: str
    """Mark of the slice that has the rows."""
    target: str
    axis: str
    """The axis of the source's mesh whose positions are the senders."""
    to_axis: str
    """The axis of the target's mesh whose positions are the receivers."""
    senders: int
    receivers: int
    capacity: int
    """Rows that a receiver has room for."""
    drop: bool
    """Whether rows beyond the capacity are left out; else they are an error."""
    run: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    """Runs (function, *arrays) as a program of its own, where nothing is traced."""


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def exchange(rows: Any, destination: Any, route: Route) -> tuple[Any, Any]:
    """[tokens, ...] and [tokens] -> [receivers, capacity, ...], and rows from each sender [receivers, senders]."""
    received, counts = _exchange_p.bind(rows, destination, route=route)
    return received, counts


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def exchange_back(rows: Any, counts: Any, destination: Any, route: Route) -> Any:
    """[receivers, capacity, ...], counts and destinations of the exchange -> [tokens, ...]."""
    (out,) = _back_p.bind(rows, counts, destination, route=route)
    return out


def _forward(rows: Any, destination: Any, route: Route) -> tuple[Any, Any]:
    received, counts = exchange(rows, destination, route)
    return (received, counts), (counts, destination)


def _backward(route: Route, residuals: Any, cotangents: Any) -> tuple[Any, Any]:
    counts, destination = residuals
    received = cotangents[0]
    if received.dtype == jax.dtypes.float0:
        return _no_gradient((*destination.shape, *received.shape[2:])), _no_gradient(destination.shape)
    return exchange_back(received, counts, destination, route), _no_gradient(destination.shape)


exchange.defvjp(_forward, _backward)


def _forward_back(rows: Any, counts: Any, destination: Any, route: Route) -> tuple[Any, Any]:
    return exchange_back(rows, counts, destination, route), (counts, destination)


def _backward_back(route: Route, residuals: Any, cotangent: Any) -> tuple[Any, Any, Any]:
    counts, destination = residuals
    none = _no_gradient(counts.shape), _no_gradient(destination.shape)
    if cotangent.dtype == jax.dtypes.float0:
        return _no_gradient((route.receivers, route.capacity, *cotangent.shape[1:])), *none
    return exchange(cotangent, destination, route)[0], *none


exchange_back.defvjp(_forward_back, _backward_back)


def _no_gradient(shape: Sequence[int]) -> np.ndarray:
    return np.zeros(shape, jax.dtypes.float0)


# -- the primitives --------------------------------------------------------------------------------

_exchange_p = jex_core.Primitive("pcg_exchange")
_exchange_p.multiple_results = True
_back_p = jex_core.Primitive("pcg_exchange_back")
_back_p.multiple_results = True


def _exchanged(rows: Any, destination: Any, *, route: Route) -> list[Any]:
    return [
        jax.core.ShapedArray((route.receivers, route.capacity, *rows.shape[1:]), rows.dtype),
        jax.core.ShapedArray((route.receivers, route.senders), jnp.dtype(jnp.int32)),
    ]


def _returned(rows: Any, counts: Any, destination: Any, *, route: Route) -> list[Any]:
    return [jax.core.ShapedArray((*destination.shape, *rows.shape[2:]), rows.dtype)]


def _refuse(*_: Any, route: Route) -> Any:
    raise ProgramError("an exchange inside of jax.vmap, or outside of a program; allowed: in programs of clients")


_exchange_p.def_abstract_eval(_exchanged)
_back_p.def_abstract_eval(_returned)
for _p in (_exchange_p, _back_p):
    _p.def_impl(_refuse)
    batching.primitive_batchers[_p] = _refuse


def route_of(eqn: Any) -> tuple[Route, bool] | None:
    """The route of an equation that exchanges rows, and whether they return; None for other equations."""
    if eqn.primitive is not _exchange_p and eqn.primitive is not _back_p:
        return None
    return eqn.params["route"], eqn.primitive is _back_p
