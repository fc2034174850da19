"""Values from the devices of one process to those of another, without the controller and without the host's pickles.

A sender arms a value under a number that both sides compute from the run and the tag; the receiver pulls it, before or
after that.  Both only put work into queues.  Measured of `jax.experimental.transfer` (jax 0.10):

- the i-th device of the receiver gets the shard of the sender's i-th: other layouts give wrong values, or errors.  So
  the sender brings a value into the receiver's layout first, on as many devices; where its island has fewer, onto
  one device, and the receiver distributes it.
- what is armed must not be donated or deleted before it is pulled, and `jax.device_put` may return the same buffers.
  So what is armed is always a copy.
- a pull from a process that ends fails at once if there was a connection, and never if there was none.  So connections
  are made as soon as an address is known.
- of several shards some may have come when the sender ends.  A collective that follows would wait on their devices for
  the others, until XLA gives up and ends the process.  So nobody reads a shard before all are there (`_all_or_none`).

Imports jax.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import transfer
from jax.sharding import NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

from pcg.controller.faults import RunError
from pcg.controller.routes import Route
from pcg.controller.streams import Value
from pcg.driver.program import ELEMENT_DTYPES
from pcg.layout import Mesh
from pcg.runtime import array_copies, jax_compat
from pcg.runtime.inputs import np_dtype
from pcg.runtime.islands.computation import sharding_of
from pcg.runtime.islands.pieces import Absent, joins, kinds, takes

#: Sockets between two processes.
_SOCKETS = 4
#: Bytes that are sent at once: 8 MB take 6 ms so, and 14 to 41 with what jax chooses.
_CHUNK = 256 << 10
#: Messages of a run at most, and processes of an island.
_TAGS, _PROCESSES = 1 << 20, 1 << 10


class Edges:
    """One process's end of all messages.

    Args:
      host: the address of this machine, where others pull from.
    """

    def __init__(self, devices: Sequence[Any], host: str) -> None:
        self.devices = devices
        here, client = f"{host}:0", jax.local_devices()[0].client
        self._server = transfer.start_transfer_server(client, here, [here] * _SOCKETS, transfer_size=_CHUNK)
        self._peers: dict[str, Sequence[Any]] = {}

    @property
    def address(self) -> str:
        """Where others pull from."""
        return str(self._server.address())

    def connect(self, addresses: Mapping[str, Sequence[str]]) -> None:
        """Processes of other islands are at these addresses; those of an island without are gone."""
        for island, own in addresses.items():
            self._peers[island] = [self._server.connect(address) for address in own]

    def sender(
        self, value: Value, mesh: Mesh, devices: Sequence[Any], route: Route | None
    ) -> Callable[[int, int, Any], None]:
        """What arms a value, as (run, tag, array or error).

        Args:
          value, mesh: as the receiver has it.
          devices: of the slice that it comes from.
          route: of its shards, if one of the islands has several processes.
        """
        if route is not None:
            return self._piecewise(value, mesh, devices, route)
        near = [*devices, *(d for d in self.devices if d not in devices)]
        if mesh.size <= len(near):
            target: Sharding = sharding_of(value, mesh, near[: mesh.size])
        else:
            target = SingleDeviceSharding(near[0])
        kind = _kind(value, target)
        copies: dict[Any, Callable[[Any], Any]] = {}

        def send(run: int, tag: int, x: Any) -> None:
            if isinstance(x, RunError):
                self._server.await_pull(_number(run, tag), [transfer.make_error_array(kind, str(x))])
                return
            if jax_compat.is_key(x.dtype):
                x = jax.random.key_data(x)
            copy = copies.get(x.sharding)
            if copy is None:
                copy = copies[x.sharding] = _copying(x.sharding, target, value.shape)
            self._server.await_pull(_number(run, tag), [copy(x)])

        return send

    def _piecewise(
        self, value: Value, mesh: Mesh, devices: Sequence[Any], route: Route
    ) -> Callable[[int, int, Any], None]:  # fmt: skip
        rank = jax.process_index()
        take = takes(value, mesh, devices, route)
        parts = {q: which for q in sorted(set(route.receivers)) if (which := route.between(rank, q))}

        def send(run: int, tag: int, x: Any) -> None:
            lost = isinstance(x, RunError)
            pieces = {} if lost else take(x)
            for q, which in parts.items():
                if lost:
                    own = kinds(value, mesh, [devices[route.sources[i]] for i in which], which)
                    found = [transfer.make_error_array(kind, str(x)) for kind in own]
                else:
                    found = [pieces[i] for i in which]
                self._server.await_pull(_number(run, tag, q), found)

        return send

    def receiver(
        self, value: Value, mesh: Mesh, devices: Sequence[Any], peer: str, most: int, key: str | None,
        route: Route | None,
    ) -> tuple[Callable[[int, int], Any], Callable[[Any], Any]]:  # fmt: skip
        """What pulls a value, as (run, tag) -> x, and what makes the array of that, for which nobody needs to wait.

        Args:
          devices: of the slice that receives.
          peer: the island that it comes from, which has `most` devices.
          key: the generator, if it is an array of random keys.
          route: of its shards, if one of the islands has several processes.

        Raises:
          RunError: the peer is gone.
        """
        if route is not None:
            join = self._joining(value, mesh, devices, peer, route)
            return lambda run, tag: join(run, tag, key), lambda x: x
        own = sharding_of(value, mesh, devices)
        gathered = mesh.size > most
        kind = _kind(value, SingleDeviceSharding(devices[0]) if gathered else own)
        distribute = functools.partial(jax.device_put, device=own) if gathered else _all_or_none(own)

        def pull(run: int, tag: int) -> Any:
            return self.take(peer, _number(run, tag), kind)

        def finish(x: Any) -> Any:
            x = distribute(x)
            return x if key is None else jax.random.wrap_key_data(x, impl=key)

        return pull, finish

    def take(self, peer: str, number: int, kind: jax.ShapeDtypeStruct) -> Any:
        """Pull what another island, of one process, has armed, or will, under a number.

        Raises:
          RunError: the island is gone.
        """
        (link,) = self._links(peer)
        (x,) = link.pull(number, [kind])
        return x

    def arm(self, number: int, x: Any) -> None:
        """Let others pull an array that nobody donates or deletes."""
        self._server.await_pull(number, [x])

    def arm_error(self, number: int, shape: Sequence[int], dtype: Any, device: Any, error: RunError) -> None:
        """Let others pull an error in place of an array of one device."""
        kind = jax.ShapeDtypeStruct(tuple(shape), dtype, sharding=SingleDeviceSharding(device))
        self.arm(number, transfer.make_error_array(kind, str(error)))

    def _joining(
        self, value: Value, mesh: Mesh, devices: Sequence[Any], peer: str, route: Route
    ) -> Callable[[int, int, str | None], Any]:  # fmt: skip
        rank = jax.process_index()
        join = joins(value, mesh, devices)
        parts = {
            p: (which, kinds(value, mesh, [devices[i] for i in which], which))
            for p in sorted(set(route.senders)) if (which := route.between(p, rank))
        }  # fmt: skip

        def receive(run: int, tag: int, key: str | None) -> Any:
            links = self._links(peer)
            pieces: dict[int, Any] = {}
            for p, (which, own) in parts.items():
                pieces.update(zip(which, links[p].pull(_number(run, tag, rank), own), strict=True))
            return join(pieces, key)

        return receive

    def mover(
        self, value: Value, mesh: Mesh, source: Sequence[Any], target: Sequence[Any], island: str, route: Route
    ) -> Callable[[int, int, Any], Any]:
        """What brings a value to other devices of this island, as (run, tag, array or error) -> array or error."""
        send = self._piecewise(value, mesh, source, route)
        receive = self._joining(value, mesh, target, island, route)

        def move(run: int, tag: int, x: Any) -> Any:
            if isinstance(x, Absent):
                return receive(run, tag, x.key)
            key = jax_compat.key_impl(x.dtype) if isinstance(x, jax.Array) and jax_compat.is_key(x.dtype) else None
            send(run, tag, x)
            return receive(run, tag, key)

        return move

    def _links(self, peer: str) -> Sequence[Any]:
        links = self._peers.get(peer)
        if not links:
            raise RunError(f"island {peer}, which a message is from, is gone")
        return links


def _number(run: int, tag: int, receiver: int = 0) -> int:
    """What a message of a run is armed and pulled under."""
    return (run * _TAGS + tag) * _PROCESSES + receiver


def _kind(value: Value, sharding: Sharding) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(value.shape, np_dtype(ELEMENT_DTYPES[value.dtype]), sharding=sharding)


def _all_or_none(own: NamedSharding) -> Callable[[Any], Any]:
    """A function that gives an array whose shards are there, or lost, all at once; it neither waits nor copies.

    Programs wait for all their arguments, and fail with them, even for those that they do not use.
    """
    devices = list(own.mesh.devices.flat)
    if len(devices) == 1:
        return lambda x: x
    each = NamedSharding(jax.sharding.Mesh(own.mesh.devices.reshape(-1), "d"), PartitionSpec("d"))
    everywhere = NamedSharding(own.mesh, PartitionSpec())
    mark = jax.jit(
        lambda x: jnp.zeros(len(devices), jnp.int8), in_shardings=own, out_shardings=each, keep_unused=True
    )  # fmt: skip
    join = jax.jit(lambda *marks: jnp.int8(0), keep_unused=True)
    gate = jax.jit(
        lambda x, mark: jax.lax.optimization_barrier((x, mark))[0], in_shardings=(own, everywhere), out_shardings=own,
        donate_argnums=0, keep_unused=True,
    )  # fmt: skip

    to_one, to_each = array_copies.copies(devices[:1] * len(devices)), array_copies.copies(devices)

    def distribute(x: Any) -> Any:
        joined = join(*to_one([shard.data for shard in mark(x).addressable_shards]))
        marks = to_each([joined] * len(devices))
        return gate(x, jax.make_array_from_single_device_arrays((), everywhere, marks))

    return distribute


def _copying(source: Sharding, target: Sharding, shape: Sequence[int]) -> Callable[[Any], Any]:
    """A function that copies an array into a layout, and shares no buffer with it."""
    indices = [tuple(s.devices_indices_map(tuple(shape)).values()) for s in (source, target)]
    copy = array_copies.duplicating(target)
    return copy if indices[0] == indices[1] else lambda x: copy(jax.device_put(x, target))
