"""The ends of exchanges on devices of this process: rows by where they go, in parcels, and assembled again.

Which rows go where is known when a shard has computed it, so a thread waits for that; how much room rows may take is
known before.  A parcel has the rows of one sender for one receiver, rounded up to a power of two, so that few programs
are compiled; where there are no rows there is no parcel.  All computations are of one device: they take part in no
order of collectives.  Imports jax.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pcg.controller.faults import NodeError, RunError
from pcg.controller.streams import Collect, Dispatch, IslandProgram, Value
from pcg.driver.program import ELEMENT_DTYPES
from pcg.layout import Mesh
from pcg.runtime.inputs import np_dtype
from pcg.runtime.islands.computation import sharding_of
from pcg.runtime.islands.exchange_computations import (
    by_counts,
    by_destination,
    place_rows,
    ranks,
    return_rows,
    take_rows,
)
from pcg.runtime.islands.mailbox import Mailbox

#: Rows of the smallest parcel.
SMALLEST = 8
#: What moves, by name: parcels, rows in them, bytes of them with what they are rounded up by.
Exchanged = Mapping[str, int]


def parcel_rows(rows: int, most: int) -> int:
    """Rows of the parcel that has room for so many, where a sender has `most`."""
    return min(most, max(SMALLEST, 1 << (rows - 1).bit_length()))


@dataclass(frozen=True)
class Side:
    """The devices at one end of an exchange."""

    value: Value
    """The rows there."""
    mesh: Mesh
    devices: Sequence[Any]
    """One for each position of the mesh; none if they are not of this process."""

    @property
    def shards(self) -> int:
        """How many parts there are."""
        return self.mesh.axes_size(self.value.spec.dims[0])

    @property
    def local_rows(self) -> int:
        """Rows of each part."""
        return self.value.shape[0] // self.shards

    def groups(self) -> list[list[Any]]:
        """The devices of each part; the first of them speaks for it."""
        found: list[list[Any]] = [[] for _ in range(self.shards)]
        for position, device in enumerate(self.devices):
            found[self.mesh.index(position, self.value.spec.dims[0])].append(device)
        return found


def side(program: IslandProgram, value: int, devices: Sequence[Any]) -> Side:
    """A value of a program at one end of an exchange.

    Args:
      devices: of the island that it is on, if it is one of this process.
    """
    found = program.values[value]
    mesh = program.slices[found.slice][1]
    own = [devices[i] for i in mesh.device_ids or range(mesh.size)] if devices else []
    return Side(found, mesh, own)


def sender_of(program: IslandProgram, what: Dispatch, devices: Sequence[Any]) -> Sender:
    """The end that has the rows; `devices`: of its island."""
    source, target = side(program, what.values[0], devices), side(program, what.target, ())
    return Sender(what, source, target, (program.name, what.source))


def receiver_of(program: IslandProgram, what: Collect, devices: Sequence[Any]) -> Receiver:
    """The end that gets the rows; `devices`: of its island."""
    targets = [side(program, v, devices) for v in what.values]
    return Receiver(what, side(program, what.origin, ()), targets, (program.name, what.source))


class Sender:
    """The end of an exchange that has the rows.

    Args:
      names: of the program, and the user's line.
    """

    def __init__(self, what: Dispatch, source: Side, target: Side, names: tuple[str, str]) -> None:
        self.what, self.names = what, names
        self.senders, self.receivers = source.shards, target.shards
        self.devices = [group[0] for group in source.groups()]
        self.dtype = dtype_of(source.value)
        self.row_shape = source.value.shape[2:] if what.back else source.value.shape[1:]
        self._rows = source.value.shape[1] if what.back else source.local_rows
        """Rows that each sender has."""
        # One function for all programs: jax keeps what it has compiled of it.
        by_receiver = functools.partial(by_destination, receivers=self.receivers)
        self._group: Callable[[Any, Any], tuple[Any, Any]] = by_counts if what.back else by_receiver

    def launch(self, rows: Any, routing: Any) -> list[tuple[Any, Any]] | RunError:
        """Of each sender its rows by receiver, and its plan, in the queues of its devices.

        A plan has the number of rows for each receiver, where they begin, and the number of destinations that there are
        not.
        """
        for x in (rows, routing):
            if isinstance(x, RunError):
                return x
        try:
            own, by = ({s.device: s.data for s in x.addressable_shards} for x in (rows, routing))
            return [self._group(own[d], by[d]) for d in self.devices]
        except Exception as error:
            return self.failed(error)

    def failed(self, error: BaseException) -> RunError:
        """An error, as what takes the place of the rows."""
        return _failed(error, self.what, self.names)

    def deliver(
        self, launched: Sequence[tuple[Any, Any]], parcel: Callable[[int, int, Any], None],
        punctuate: Callable[[int, Sequence[int]], None], lost: Callable[[int, int, int, RunError], None],
    ) -> Exchanged:  # fmt: skip
        """Give what there is to those that it is for; waits until it is known.

        Args:
          parcel: takes (sender, receiver, rows).
          punctuate: takes (sender, rows for each receiver).
          lost: takes (sender, receiver, size of the parcel, why there is none).

        Raises:
          RunError: a destination that there is not, or what the computations before it failed with.
        """
        found = dict.fromkeys(("parcels", "rows", "bytes"), 0)
        for sender, (buffer, plan) in enumerate(launched):
            counts, starts = self.read(plan)
            for receiver, count in enumerate(counts):
                if count:
                    size = parcel_rows(count, self._rows)
                    try:
                        x = take_rows(buffer, starts[receiver], size)
                    except Exception as error:
                        lost(sender, receiver, size, self.failed(error))
                        continue
                    parcel(sender, receiver, x)
                    found["parcels"] += 1
                    found["rows"] += count
                    found["bytes"] += x.nbytes
            punctuate(sender, counts)
        return found

    def read(self, plan: Any) -> tuple[list[int], list[int]]:
        """Rows for each receiver, and where they begin; waits for them.

        Raises:
          RunError: as `deliver`.
        """
        try:
            return read_plan(plan, self.receivers)
        except Exception as error:
            raise self.failed(error) from None


def read_plan(plan: Any, receivers: int) -> tuple[list[int], list[int]]:
    """Rows for each receiver, and where they begin; waits for them.

    Raises:
      ValueError: there are destinations that there are not.
    """
    numbers = np.asarray(plan).tolist()
    if wrong := numbers[2 * receivers]:
        allowed = "allowed: 0 to that, or negative"
        raise ValueError(f"{wrong} rows of a shard have destinations above {receivers - 1}; {allowed}")
    return numbers[:receivers], numbers[receivers : 2 * receivers]


class Receiver:
    """The end of an exchange that gets the rows."""

    def __init__(
        self, what: Collect, source: Side, targets: Sequence[Side], names: tuple[str, str]
    ) -> None:
        self.what, self.names = what, names
        self._targets = targets
        self.senders, self.receivers = source.shards, targets[0].shards
        self.value = targets[0].value
        self.rows = source.value.shape[1] if what.back else source.local_rows
        """Rows that each sender has."""
        self.row_shape = source.value.shape[2:] if what.back else source.value.shape[1:]
        self._groups = targets[0].groups()
        self.devices = [group[0] for group in self._groups]
        shape = targets[0].value.shape
        self._local = (shape[0] // self.receivers, *shape[1:])
        self._dtype = dtype_of(targets[0].value)
        self._shardings = [sharding_of(t.value, t.mesh, t.devices) for t in targets]

    def assemble(self, mailbox: Mailbox, destination: Any = None) -> list[Any]:
        """The values that it writes, in the queues of their devices; errors in their places."""
        try:
            if mailbox.error is not None:
                raise mailbox.error
            if isinstance(destination, RunError):
                raise destination
            return self._back(mailbox, destination) if self.what.back else self._forth(mailbox)
        except Exception as error:
            return [self.failed(error)] * len(self.what.writes)

    def failed(self, error: BaseException) -> RunError:
        """An error, as what takes the place of the values."""
        return _failed(error, self.what, self.names)

    def _forth(self, mailbox: Mailbox) -> list[Any]:
        counts, capacity = mailbox.counts, self._local[1]
        total = counts.sum(0)
        if not self.what.drop and (full := int(total.max(initial=0))) > capacity:
            allowed = "allowed: a larger one, or overflow='drop'"
            raise ValueError(f"receiver {int(total.argmax())} gets {full} rows; its capacity is {capacity} ({allowed})")
        parts = []
        for receiver, device in enumerate(self.devices):
            out, offset = self._zeros(device), 0
            for sender in range(self.senders):
                count = int(counts[sender, receiver])
                if count and offset < capacity:
                    out = place_rows(out, mailbox.parcels[sender, receiver], offset, count)
                offset += count
            parts.append(out)
        known = [jax.device_put(counts[:, r : r + 1].T, d) for r, d in enumerate(self.devices)]
        return [self._joined(i, own) for i, own in enumerate((parts, known))]

    def _back(self, mailbox: Mailbox, destination: Any) -> list[Any]:
        counts = mailbox.counts
        own = {s.device: s.data for s in destination.addressable_shards}
        parts = []
        for receiver, device in enumerate(self.devices):
            out = self._zeros(device)
            came = [s for s in range(self.senders) if counts[s, receiver]]
            rank = ranks(own[device]) if came else None
            for sender in came:
                parcel = mailbox.parcels[sender, receiver]
                out = return_rows(out, parcel, sender, int(counts[sender, receiver]), own[device], rank)
            parts.append(out)
        return [self._joined(0, parts)]

    def _zeros(self, device: Any) -> Any:
        return jnp.zeros(self._local, self._dtype, device=device)

    def _joined(self, i: int, parts: Sequence[Any]) -> Any:
        """One value of its parts; on devices that have the same part a copy is."""
        arrays = [
            part if device is group[0] else jax.device_put(part, device)
            for part, group in zip(parts, self._groups, strict=True) for device in group
        ]  # fmt: skip
        return jax.make_array_from_single_device_arrays(self._targets[i].value.shape, self._shardings[i], arrays)


def deliver_here(
    sender: Sender, launched: list[tuple[Any, Any]] | RunError, mailbox: Mailbox, devices: Sequence[Any]
) -> Exchanged:
    """Give parcels to devices of this process, as soon as it is known which; errors go into the mailbox."""
    try:
        if isinstance(launched, RunError):
            raise launched
        return sender.deliver(
            launched, lambda s, r, x: mailbox.arrive(s, r, jax.device_put(x, devices[r])), mailbox.punctuate,
            lambda s, r, size, error: mailbox.fail(error),
        )  # fmt: skip
    except Exception as error:
        mailbox.fail(sender.failed(error))
        return {}


def in_thread(function: Callable[[], None], name: str) -> None:
    """Run something that waits: it has a thread of its own, since others may wait for what it waits for."""
    threading.Thread(target=function, name=name, daemon=True).start()


def _failed(error: BaseException, what: Dispatch | Collect, names: tuple[str, str]) -> RunError:
    if isinstance(error, RunError):
        return error
    program, source = names
    return NodeError(program, "exchange_back" if what.back else "exchange", source, error).because(error)


def dtype_of(value: Value) -> Any:
    """The dtype of a value's arrays."""
    return np_dtype(ELEMENT_DTYPES[value.dtype])
