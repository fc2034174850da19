"""Which client's program an island launches next: in the order in which they came, or in proportion to shares."""

from __future__ import annotations

from collections.abc import Mapping

POLICIES = ("fifo", "stride")


class Fifo:
    """The program that has waited longest."""

    def choose(self, waiting: Mapping[str, int]) -> str:
        """The client to serve.  `waiting`: by client, the number of its first program in the order of submission."""
        return min(waiting, key=waiting.__getitem__)

    def launched(self, client: str, seconds: float) -> None:
        """A program of a client is launched, which will use the island for about so long."""

    def correct(self, client: str, seconds: float) -> None:
        """A program used the island for so much longer (negative: less long) than was estimated."""

    def arrive(self, client: str) -> None:
        """A client that had nothing to do has a program again."""

    def forget(self, client: str) -> None:
        """A client is gone."""


class Stride:
    """Proportional share: of clients with programs to run, each gets time in proportion to its weight.

    Stride scheduling (Waldspurger and Weihl 1995): every client has a pass, which grows by the time that it uses over
    its weight; the client with the least pass is next.  One that was idle starts where the others are: idle time is not
    saved up.
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._pass: dict[str, float] = {}
        self._time = 0.0
        """The pass of the client that was served last."""

    def choose(self, waiting: Mapping[str, int]) -> str:
        return min(waiting, key=lambda c: (self._pass.get(c, 0.0), waiting[c]))

    def launched(self, client: str, seconds: float) -> None:
        own = self._pass.get(client, 0.0)
        self._time = max(self._time, own)
        self._pass[client] = max(self._time, own) + seconds / self._weights.get(client, 1.0)

    def correct(self, client: str, seconds: float) -> None:
        if client in self._pass:
            self._pass[client] += seconds / self._weights.get(client, 1.0)

    def arrive(self, client: str) -> None:
        self._pass[client] = max(self._pass.get(client, 0.0), self._time)

    def forget(self, client: str) -> None:
        self._pass.pop(client, None)


def policy(name: str, weights: Mapping[str, float]) -> Fifo | Stride:
    """A policy by its name; `weights` by client may change while it is used.

    Raises:
      ValueError: no such policy.
    """
    if name == "fifo":
        return Fifo()
    if name == "stride":
        return Stride(weights)
    raise ValueError(f"policy {name!r}; allowed: {', '.join(POLICIES)}")
