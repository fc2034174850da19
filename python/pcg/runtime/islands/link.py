"""The controller's end of one process of an island: reads what it says, and notices when it is gone.  Needs no jax."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pcg.runtime.islands.launcher import Launched, LaunchError
from pcg.runtime.islands.protocol import Channel, Packed

#: Seconds until a process must have started.
START = 120.0
#: Seconds that a process has to end by itself.
END = 2.0


class Link:
    """A process, and a thread that reads what comes from it.

    Args:
      take: called with (this, message).
      gone: called once with (this, cause) when the process has ended.
    """

    def __init__(
        self, process: Launched, name: str, take: Callable[[Link, Any], None], gone: Callable[[Link, str], None]
    ) -> None:  # fmt: skip
        self.process = process
        self._take, self._gone = take, gone
        self._channel: Channel | None = None
        self._thread = threading.Thread(target=self._read, name=f"pcg {name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def send(self, packed: Packed) -> None:
        """Raises OSError if it is gone, or not there yet."""
        if self._channel is None:
            raise OSError("not connected")
        self._channel.send_packed(packed)

    def _read(self) -> None:
        cause = ""
        try:
            self._channel = channel = Channel(self.process.connect(START))
            while True:
                self._take(self, channel.receive())
        except LaunchError as error:
            cause = str(error)
        except (EOFError, OSError):
            pass
        ended = self.process.wait(END)
        if ended is None:
            self.process.kill()
            ended = self.process.wait(END)
        self._gone(self, cause or ended or "its process does not end")
