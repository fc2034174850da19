"""Clients of a controller, and their slices.  Imports jax."""

from __future__ import annotations

import functools
import itertools
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import jax
from jax.extend import source_info_util

from pcg.api.by_shapes import numbers
from pcg.api.exchanged import Exchanged, exchange
from pcg.api.lowering import FunctionOnSlice, Lowering
from pcg.api.names import published
from pcg.api.on_slice import Lowers, OnSlice, Submits
from pcg.api.slice_program import NewProgram, SliceFunction, SliceProgram, as_called
from pcg.controller.slices import Placement, Slice
from pcg.layout import Mesh

source_info_util.register_exclusion(__file__)  # the source of an exchange is the user's call


class Shared(Protocol):
    """What clients share: a `Controller`, or a connection to one in another process."""

    @property
    def resources(self) -> Any: ...
    @property
    def backend(self) -> Lowers: ...
    @property
    def dispatcher(self) -> Submits: ...
    @property
    def names(self) -> Any: ...
    @property
    def functions(self) -> dict[str, FunctionOnSlice]: ...
    @property
    def clients(self) -> dict[str, Any]: ...
    def wait_for_restarts(self) -> bool: ...


class Client:
    """One user of a controller: its slices, functions, programs and buffers."""

    def __init__(self, controller: Shared, name: str, deadline: float) -> None:
        self.controller, self.name = controller, name
        self.lowering = Lowering(name, controller.backend, controller.dispatcher, controller.functions, deadline)
        self._slices: dict[str, ClientSlice] = {}
        self._blocks: dict[Any, Any] = {}
        """Programs that were written as blocks."""
        self._numbers = itertools.count()

    def request(
        self, shape: int | str | Sequence[int] | Mapping[str, int] | Mesh, *, kind: str | None = None,
        memory: int | None = None, island: str | None = None, topology: str = "any", shared: bool = False,
    ) -> ClientSlice:  # fmt: skip
        """A slice: virtual devices of one island, as a mesh.

        Args:
          shape: a mesh, or its axes by name; sizes or a number of devices get the names d0, d1, ...
          kind: device kind, as the cluster calls it.
          memory: bytes that each device must have.
          island: the island by name.
          topology: "box": neighbours; "torus": rings that are closed; "any".
          shared: other slices that are shared may have the same devices; programs on them then run in turn.

        Raises:
          ResourceError: there is no such place, or it is above the client's quota.
        """
        found = self.controller.resources.request(
            Mesh.parse(shape) if isinstance(shape, str) else shape, kind=kind, memory=memory, island=island,
            topology=topology, client=self.name, shared=shared,
        )  # fmt: skip
        return self._stand_for(found)

    def _stand_for(self, found: Slice) -> ClientSlice:
        """What the client gets for devices."""
        slice = ClientSlice(self, f"{self.name}_{next(self._numbers)}", found)
        self._slices[slice.name] = slice
        return slice

    def publish(self, name: str, value: Any) -> None:
        """Let every client of the controller look a value up by a name; one of this client's is replaced.

        It stays where it is, and this client's: it is there until the client is closed, or says `unpublish`.

        Args:
          value: a tree of futures.

        Raises:
          TypeError: something else is in the tree.
          ResourceError: another client has published something by this name.
        """
        futures, tree = published(value)
        self.controller.names.publish(self.name, name, futures, pickle.dumps(tree))

    def unpublish(self, name: str) -> None:
        """Nobody finds what this client has published by a name any more.

        Raises:
          ResourceError: it has published nothing by this name.
        """
        self.controller.names.remove(self.name, name)

    def lookup(self, name: str, seconds: float = 0.0) -> Any:
        """What a client has published by a name: a tree of futures, on that client's slices, without a copy.

        Args:
          seconds: how long to wait until it is published.

        Raises:
          ResourceError: nothing is.
        """
        found = self.controller.names.look_up(name, seconds)
        return jax.tree.unflatten(pickle.loads(found.tree), found.values)

    def program(
        self, function: Callable[..., Any] | None = None, *, donate_argnums: int | Sequence[int] = (),
        static_argnums: int | Sequence[int] = (),
    ) -> Any:  # fmt: skip
        """Make one program of a function that calls functions on slices, also as a decorator; or of a block.

        ```python
        with client.program() as block:             # nothing runs in the block
            hidden = encode(w, x)
            value, grad = block.call(jax.value_and_grad(loss), v, hidden)
            v = v - 0.1 * grad
        print(float(value))                         # it ran as one program when the block was left
        ```

        The function is traced as a whole, as `jax.jit` does: its arguments may be trees of arrays and futures, its
        calls may be differentiated; what it computes itself runs on the slice that has most of what it reads.  Where
        Python needs a value (`if loss > 1`), the function is run call by call instead, and waits there: the slow path.
        """
        donated, static = numbers(donate_argnums), numbers(static_argnums)
        if function is not None:
            return SliceProgram(self.lowering, function, donated, static)
        new = functools.partial(SliceProgram, self.lowering, donate_argnums=donated, static_argnums=static)
        return NewProgram(new, self._blocks, bool(donated or static))

    def close(self) -> None:
        """Give everything back: runs that wait are not launched, buffers are freed, slices released."""
        self.controller.names.forget(self.name)
        self.controller.dispatcher.forget(self.name)
        for slice in list(self._slices.values()):
            slice.release()
        self.controller.clients.pop(self.name, None)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ClientSlice(OnSlice):
    """Virtual devices; functions run on them.  Accepted by `pcg.compile` in place of a mesh."""

    def __init__(self, client: Client, name: str, slice: Slice) -> None:
        self.client, self.name, self._slice = client, "".join(c if c.isalnum() else "_" for c in name), slice
        self._mark = ""

    @property
    def mesh(self) -> Mesh:
        """The mesh of virtual devices."""
        return self._slice.mesh

    @property
    def virtual(self) -> Slice:
        return self._slice

    @property
    def island(self) -> str:
        """Where it is now."""
        return self.physical().island

    @property
    def device_numbers(self) -> tuple[int, ...]:
        """Their numbers in the island."""
        return self.physical().devices

    def physical(self) -> Placement:
        """Island and devices that it has now, or has when islands that are being started anew are there.

        Raises:
          ResourceError: it has no devices.
        """
        if self._slice.lost:
            self.client.controller.wait_for_restarts()
        return self._slice.physical()

    @property
    def devices(self) -> list[Any]:
        """The devices themselves, or stand-ins where another process has them."""
        return self.client.controller.backend.devices(self.island, self.device_numbers)

    @property
    def jax_mesh(self) -> jax.sharding.Mesh:
        """The mesh of the devices that it is on now; an abstract one where another process has them."""
        return self.client.controller.backend.mesh(self.island, self.mesh, self.device_numbers)

    @property
    def version(self) -> int:
        """Changes when it is placed elsewhere."""
        return self._slice.version

    @property
    def programs(self) -> Lowering:
        """What runs the client's programs."""
        return self.client.lowering

    def function(self, function: Callable[..., Any], **options: Any) -> SliceFunction:
        """`function`, on this slice: called by itself a program of one node, in a program one of its nodes.

        Args:
          options: `strategy`, `memory_limit` and search options as for `pcg.compile`; `in_shardings` as a tuple with a
            layout, or None, per argument.
        """
        return SliceFunction(self.client.lowering, function, self, options)

    def exchange(
        self, rows: Any, destination: Any, to: ClientSlice, *, axis: str | None = None, to_axis: str | None = None,
        capacity: int | None = None, overflow: str = "error",
    ) -> Exchanged:  # fmt: skip
        """Give each row to the shard of another slice that `destination` says; only the rows that there are go there.

        ```python
        routed = dense.exchange(x, expert_of_token, experts)
        y = routed.back(expert(w, routed.rows))
        ```

        Derivatives return along the same route.  What is behind an exchange is put into queues when it is known which
        rows go where; other programs run meanwhile.

        Args:
          rows: [tokens, ...], tokens divisible by the size of `axis`; each of its positions sends its part.
          destination: [tokens] integers, positions of `to_axis` from 0; negative: the row goes nowhere.
          axis: of this slice's mesh; to_axis: of that of `to`.  They may be left out where there is one.
          capacity: rows that each receiver has room for; default: all of them.
          overflow: what becomes of rows beyond it: "error", or "drop".

        Returns:
          `Exchanged`: `rows` [receivers, capacity, ...] and `counts` on `to`, and `back(...)`.

        Raises:
          ValueError: shapes, an axis or an option that are not possible.
          RunError: in place of the results, a destination that `to_axis` does not have, or more rows than `capacity`.
        """
        lowering = self.client.lowering

        def run(function: Callable[..., Any], *arrays: Any) -> Any:
            function.__name__ = "exchange"
            return as_called(SliceProgram(lowering, function)(*arrays))

        return exchange(rows, destination, (self, self.mark(), axis), (to, to.mark(), to_axis), capacity, overflow, run)

    def mark(self) -> str:
        """What says in traces that something is on this slice."""
        self._mark = self._mark or self.client.lowering.register(_OnlySlice(self))
        return self._mark

    def release(self) -> None:
        """Give the devices back."""
        if self.client._slices.pop(self.name, None) is not None:
            self.client.controller.resources.release(self._slice)

    def __str__(self) -> str:
        where = "no devices" if self._slice.lost else self._slice.island
        return f"{self.name} ({self.mesh} on {where})"

    def __repr__(self) -> str:
        return f"<slice {self}>"


class _OnlySlice:
    """A slice, for what is on it without being a function."""

    def __init__(self, slice: OnSlice) -> None:
        self.slice, self.options = slice, dict[str, Any]()
