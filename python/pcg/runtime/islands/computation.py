"""Calls and copies of streams on devices of this process: errors take the place of values.  Imports jax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jax.sharding import NamedSharding

from pcg.controller.faults import NodeError, RunError
from pcg.controller.streams import Value
from pcg.layout import Mesh, ShardSpec
from pcg.runtime import array_copies
from pcg.runtime.islands.island_queue import Island
from pcg.runtime.placement import DeviceMesh

#: Arguments to results, or errors in their places.
Computation = Callable[[list[Any]], Sequence[Any]]


@dataclass(frozen=True)
class Node:
    """A node of a program, to be put into the queues of an island."""

    call: Callable[..., Any]
    """What runs it on arrays; it returns the result, if there is one, else a sequence of them."""
    names: tuple[str, str, str]
    """Of the program, the node, and the user's line."""
    sizes: Sequence[int]
    """Bytes of each result."""
    island: Island
    gang: bool
    """It has several devices."""

    @property
    def smallest(self) -> int:
        """The result that takes least to keep."""
        return self.sizes.index(min(self.sizes))

    def failed(self, error: Exception, arguments: Sequence[Any]) -> list[RunError]:
        """What is in the place of its results."""
        # What is an error already is not looked for before: nearly all calls have none.
        lost = next((a for a in arguments if isinstance(a, RunError)), None)
        return [lost or NodeError(*self.names, error).because(error)] * len(self.sizes)


def computation(node: Node) -> Computation:
    """What puts a node into the queues of its island."""
    call, island, gang, smallest, one = node.call, node.island, node.gang, node.smallest, len(node.sizes) == 1

    def compute(arguments: list[Any]) -> Sequence[Any]:
        island.launched += 1
        try:
            out = call(*arguments)
        except Exception as error:
            return node.failed(error, arguments)
        if one:
            out = (out,)
        island.newest = done = out[smallest]
        if gang:
            island.gang(done)
        return out

    return compute


def copier(sharding: Any, shape: Sequence[int]) -> Callable[[Any], Any]:
    """What copies arrays, of whatever layouts, to one; an error stays what it is."""
    known: dict[Any, Callable[[Any], Any]] = {}

    def copy(x: Any) -> Any:
        if isinstance(x, RunError):
            return x
        found = known.get(x.sharding)
        if found is None:
            found = known[x.sharding] = array_copies.copying(x.sharding, sharding, shape[: x.ndim])
        return found(x)

    return copy


def sharding_of(value: Value, mesh: Mesh, devices: Sequence[Any]) -> NamedSharding:
    """The layout of a value on devices, one for each position of a mesh."""
    # XLA gives an array without elements that is split the wrong shape.
    spec = ShardSpec.replicated(len(value.spec.dims)) if 0 in value.shape else value.spec
    return DeviceMesh.of(Mesh(mesh.axes), devices).sharding(spec)
