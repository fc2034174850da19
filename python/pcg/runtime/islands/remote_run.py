"""A run on islands of other processes whose exchanges wait for data, as the controller sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pcg.runtime.islands.backend import Unfinished
from pcg.runtime.islands.exchange import in_thread
from pcg.runtime.islands.remote_value import Keeper, RunOnIsland


class RemoteRun(Unfinished):
    """A run of which each island says when all of its part is in the queues, or has failed."""

    def __init__(
        self, parts: Sequence[tuple[Keeper, RunOnIsland]], values: Sequence[Any], tokens: Mapping[str, Any]
    ) -> None:  # fmt: skip
        self._parts, self._launched = parts, (values, tokens)

    def start(self, go_on: Callable[[], None]) -> None:
        def wait() -> None:
            for keeper, run in self._parts:
                keeper.wait(run.enqueued, f"putting {run} into queues")
            go_on()

        in_thread(wait, "pcg exchange")

    def advance(self) -> tuple[Sequence[Any], Mapping[str, Any]] | None:
        return self._launched if all(run.enqueued.is_set() for _, run in self._parts) else None
