"""The process of an island that works for some time on the host before it puts a run into its queues.

`python -m bench.islands_stages` starts it in place of `pcg.runtime.islands.worker`; variable ISLANDS_HOST_WORK has the
seconds.  The work is a sleep, so that it takes no core from other islands: it stands for hosts that there are not.
"""

from __future__ import annotations

import os
import time

from pcg.runtime.islands import worker
from pcg.runtime.islands.protocol import Run

_SECONDS = float(os.environ.get("ISLANDS_HOST_WORK", "0"))


class SlowWorker(worker.Worker):
    """A worker with emulated host work."""

    def _run(self, run: Run) -> None:
        time.sleep(_SECONDS)
        super()._run(run)


if __name__ == "__main__":
    worker.Worker = SlowWorker  # type: ignore[misc]
    worker.main()
