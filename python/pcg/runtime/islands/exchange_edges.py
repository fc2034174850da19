"""Exchanges between processes: who has rows arms them, whoever gets them pulls them when it knows how many there are.

The plan of each sender (`pcg.runtime.islands.exchange.Sender`) is armed as soon as it is in the queues, and is its
punctuation: it says which parcels there are, and what size they have.  Imports jax.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import SingleDeviceSharding

from pcg.controller.faults import RunError
from pcg.runtime.islands.edges import Edges
from pcg.runtime.islands.exchange import Exchanged, Receiver, Sender, dtype_of, parcel_rows, read_plan
from pcg.runtime.islands.mailbox import Mailbox

#: Numbers of messages of exchanges: above those of values, by run, tag, and what of it.
_FIRST, _RUNS, _BITS = 1 << 62, (1 << 22) - 1, 20


def _number(run: int, tag: int, part: int) -> int:
    return _FIRST | (run & _RUNS) << 2 * _BITS | tag << _BITS | part


def arm_plans(edges: Edges, run: int, sender: Sender, launched: Sequence[tuple[Any, Any]] | RunError) -> None:
    """Let the receivers have each sender's plan, or an error in its place; only puts work into queues."""
    first = sender.senders * sender.receivers
    for s in range(sender.senders):
        number = _number(run, sender.what.tag, first + s)
        if isinstance(launched, RunError):
            edges.arm_error(number, (2 * sender.receivers + 1,), jnp.int32, sender.devices[s], launched)
        else:
            edges.arm(number, launched[s][1])


def deliver(edges: Edges, run: int, sender: Sender, launched: Sequence[tuple[Any, Any]]) -> Exchanged:
    """Arm the parcels that there are; waits until it is known.  What goes wrong with plans their receivers see."""

    def parcel(s: int, r: int, x: Any) -> None:
        edges.arm(_number(run, sender.what.tag, s * sender.receivers + r), x)

    def lost(s: int, r: int, rows: int, error: RunError) -> None:
        number = _number(run, sender.what.tag, s * sender.receivers + r)
        shape = (rows, *sender.row_shape)
        edges.arm_error(number, shape, sender.dtype, sender.devices[s], error)

    try:
        return sender.deliver(launched, parcel, lambda s, counts: None, lost)
    except RunError:
        return {}


def pull(edges: Edges, run: int, receiver: Receiver, mailbox: Mailbox) -> None:
    """Pull what the senders have for these receivers; waits for it.  Errors go into the mailbox."""
    tag, peer, count = receiver.what.tag, receiver.what.peer, receiver.receivers
    dtype = dtype_of(receiver.value)

    def take(part: int, shape: Sequence[int], kind: Any, device: Any) -> Any:
        aval = jax.ShapeDtypeStruct(tuple(shape), kind, sharding=SingleDeviceSharding(device))
        return edges.take(peer, _number(run, tag, part), aval)

    try:
        first = receiver.senders * count
        plans = [take(first + s, (2 * count + 1,), jnp.int32, receiver.devices[0]) for s in range(receiver.senders)]
        parcels = []
        for s, plan in enumerate(plans):
            counts, _ = read_plan(plan, count)
            for r, rows in enumerate(counts):
                if rows:
                    shape = (parcel_rows(rows, receiver.rows), *receiver.row_shape)
                    parcels.append((s, r, take(s * count + r, shape, dtype, receiver.devices[r])))
            mailbox.punctuate(s, counts)
        for s, r, x in parcels:
            mailbox.arrive(s, r, x.block_until_ready())
    except Exception as error:
        mailbox.fail(receiver.failed(error))

