"""The process of an island that arms nothing of what it is to send, while a file is there: a fault to test with.

`PCG_TEST_UNARMED` has the path of the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pcg.runtime.islands import edges, worker

_sender = edges.Edges.sender


def sender(self: edges.Edges, *what: Any) -> Callable[[int, int, Any], None]:
    send = _sender(self, *what)

    def perhaps(run: int, tag: int, x: Any) -> None:
        if not os.path.exists(os.environ["PCG_TEST_UNARMED"]):
            send(run, tag, x)

    return perhaps


if __name__ == "__main__":
    edges.Edges.sender = sender  # type: ignore[method-assign]
    worker.main()
