"""Calls and copies of streams on devices of this process: errors take the place of values.  Imports jax."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import NamedSharding

from pcg.controller.faults import NodeError, RunError
from pcg.controller.streams import Value
from pcg.layout import Mesh, ShardSpec
from pcg.runtime import array_copies, jax_compat
from pcg.runtime.device_program import DeviceExecutable
from pcg.runtime.direct_call import DirectCall
from pcg.runtime.islands.island_queue import Island
from pcg.runtime.placement import DeviceMesh

#: Arguments to results, or errors in their places.
Computation = Callable[[list[Any]], Sequence[Any]]


@dataclass(frozen=True)
class Node:
    """A node of a program, to be put into the queues of an island."""

    executable: DeviceExecutable
    names: tuple[str, str, str]
    """Of the program, the node, and the user's line."""
    sizes: Sequence[int]
    """Bytes of each result."""
    island: Island
    gang: bool
    """It has several devices."""

    @functools.cached_property
    def call(self) -> Callable[..., Any]:
        """What runs it on arrays; it returns the result, if there is one, else a sequence of them."""
        # Arguments are on the mesh from the first call on, so jax.jit compiles once; its calls take less time than
        # those of what was compiled ahead.
        call: Callable[..., Any] = self.executable.jitted
        if not self._is_jitted:
            call = lambda *args: self.executable.call(args, {})  # noqa: E731
        program = self.executable.program
        if len(program.results) == 1 and not (program.out_tree and jax.tree_util.treedef_is_leaf(program.out_tree)):
            return lambda *args: call(*args)[0]
        return call

    def direct(self, arrays: Sequence[jax.Array]) -> DirectCall | None:
        """How to run it on arrays that are as these, without what `jax.jit` looks at; None if that is not all."""
        return self.executable.direct_call(arrays) if self._is_jitted else None

    @property
    def _is_jitted(self) -> bool:
        """Whether a call is one of `jax.jit`, and nothing else."""
        executable = self.executable
        return not (executable.program.constants or executable.needs_x64 or executable.calls_host)

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
    """What copies arrays, of whatever layouts, to one; an error stays what it is.

    Args:
      shape: of the array; of one of random keys, of the integers in it.
    """
    known: dict[Any, Callable[[Any], Any]] = {}

    def copy(x: Any) -> Any:
        if isinstance(x, RunError):
            return x
        found = known.get(x.sharding)
        if found is None:
            if jax_compat.is_key(x.dtype):  # whose copy is that of its integers
                known[x.sharding] = found = functools.partial(_copy_key, copier(sharding, shape), x.dtype)
            else:
                known[x.sharding] = found = array_copies.copying(x.sharding, sharding, shape)
        return found(x)

    return copy


def _copy_key(copy: Callable[[Any], Any], dtype: Any, x: Any) -> Any:
    return jax.random.wrap_key_data(copy(jax.random.key_data(x)), impl=jax_compat.key_impl(dtype))


def sharding_of(value: Value, mesh: Mesh, devices: Sequence[Any]) -> NamedSharding:
    """The layout of a value on devices, one for each position of a mesh."""
    # XLA gives an array without elements that is split the wrong shape.
    spec = ShardSpec.replicated(len(value.spec.dims)) if 0 in value.shape else value.spec
    return DeviceMesh.of(Mesh(mesh.axes), devices).sharding(spec)
