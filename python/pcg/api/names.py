"""Values that clients publish by name for others.  Imports jax."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax

from pcg.controller.errors import ResourceError
from pcg.layout.brief import brief
from pcg.runtime.islands.future import ShardedFuture


@dataclass(frozen=True)
class Named:
    """A tree of futures of a client; `tree` is its pickled structure, which need not be known where this is kept."""

    client: str
    values: Sequence[ShardedFuture]
    tree: bytes


class Names:
    """What is published, by name; every method may be called from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._found: dict[str, Named] = {}

    def publish(self, client: str, name: str, values: Sequence[ShardedFuture], tree: bytes) -> None:
        """Replace what the client has published by this name.

        Raises:
          ResourceError: another client has published something by it.
        """
        with self._changed:
            known = self._found.get(name)
            if known is not None and known.client != client:
                raise ResourceError(f"client {brief(known.client)} has published {brief(name)}; names are used once")
            self._found[name] = Named(client, tuple(values), tree)
            self._changed.notify_all()

    def remove(self, client: str, name: str) -> None:
        """The name is free again.

        Raises:
          ResourceError: the client has published nothing by it.
        """
        with self._changed:
            known = self._found.get(name)
            if known is None or known.client != client:
                own = ", ".join(n for n, v in self._found.items() if v.client == client) or "nothing"
                raise ResourceError(f"client {brief(client)} has not published {brief(name)}; it has published {own}")
            del self._found[name]

    def look_up(self, name: str, seconds: float) -> Named:
        """What is published by a name, some seconds from now at most.

        Raises:
          ResourceError: nothing is.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: name in self._found, max(0.0, seconds)):
                known = ", ".join(self._found) or "nothing"
                raise ResourceError(f"nothing is published by the name {brief(name)}; published: {known}")
            return self._found[name]

    def forget(self, client: str) -> None:
        """A client is gone, and with it what it has published."""
        with self._changed:
            for name in [n for n, v in self._found.items() if v.client == client]:
                del self._found[name]


def published(value: Any) -> tuple[list[ShardedFuture], Any]:
    """The futures of a tree, and its structure.

    Raises:
      TypeError: something else is in it.
    """
    leaves, tree = jax.tree.flatten(value, is_leaf=lambda x: isinstance(x, ShardedFuture))
    for leaf in leaves:
        if not isinstance(leaf, ShardedFuture):
            raise TypeError(f"a {type(leaf).__name__} is published; allowed: trees of futures, which programs return")
    return leaves, tree
