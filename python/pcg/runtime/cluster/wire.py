"""Messages over a socket between processes that have one key; arrays go beside them, without a copy into the message.

Nothing is unpickled before both sides have proved that they have the key.  Who has it is trusted completely: a pickle
may run anything.
"""

from __future__ import annotations

import os
import pickle
import select
import socket
import struct
import threading
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

import numpy as np

#: Seconds that the proof of the key may take.
HANDSHAKE = 10.0
#: Seconds in which the other side must take some bytes of a message.
_STALLED = 30
_HEAD = struct.Struct("<IQ")
#: Messages up to this size are copied together with what describes them.
_SMALL = 1 << 16
#: A message above this is not one of ours.  Arrays go beside messages, which are small.
_LARGEST = 1 << 34


class Wire:
    """Both ends of a connection: messages in order, each completely or not at all.

    Raises:
      OSError, EOFError: the other side is gone.
    """

    def __init__(self, own: socket.socket) -> None:
        self._socket = own
        self._lock = threading.Lock()
        self.heard = time.monotonic()
        """When something came last."""
        self._ends = select.poll()
        self._ends.register(own, getattr(select, "POLLRDHUP", 0))
        own.settimeout(None)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _STALLED, 0))
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A machine that is gone sends no end: after some seconds without an answer it is known.
        for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 4), ("TCP_USER_TIMEOUT", 20000)):
            if (number := getattr(socket, name, None)) is not None:
                own.setsockopt(socket.IPPROTO_TCP, number, value)

    def send(self, message: Any) -> None:
        """Any thread may send."""
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        raw = [b.raw() for b in buffers]
        head = _HEAD.pack(len(raw), len(data)) + struct.pack(f"<{len(raw)}Q", *(len(b) for b in raw))
        with self._lock:
            if len(data) <= _SMALL:
                self._socket.sendall(head + data)
            else:
                self._socket.sendall(head)
                self._socket.sendall(data)
            for b in raw:
                self._socket.sendall(b)

    def receive(self) -> Any:
        """One thread receives."""
        count, length = _HEAD.unpack(self._bytes(_HEAD.size))
        sizes = struct.unpack(f"<{count}Q", self._bytes(8 * count)) if count else ()
        if length > _LARGEST:
            raise EOFError("no message of pcg")
        data = self._bytes(length)
        return pickle.loads(data, buffers=[self._bytes(n) for n in sizes])

    def _bytes(self, size: int) -> Any:
        found = np.empty(size, np.uint8) if size > _SMALL else bytearray(size)  # the first is not filled with zeros
        view = memoryview(found)
        while view:
            n = self._socket.recv_into(view)
            if not n:
                raise EOFError
            self.heard = time.monotonic()
            view = view[n:]
        return found

    def is_over(self) -> bool:
        """Whether the other side has ended it, even if there is more to receive."""
        return bool(self._ends.poll(0))

    def close(self) -> None:
        """End it, for both sides."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended
        self._socket.close()


def prove(own: socket.socket, key: bytes, first: bool) -> None:
    """Both sides show that they have the key, without showing it; `first`: this one begins.

    Raises:
      AuthenticationError: the other side has another key.
      OSError, EOFError: it is gone, or does not answer.
    """
    own.settimeout(None)
    limit = struct.pack("ll", int(HANDSHAKE), 0)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    try:
        with Connection(os.dup(own.fileno())) as connection:
            for step in (deliver_challenge, answer_challenge) if first else (answer_challenge, deliver_challenge):
                step(connection, key)
    except AssertionError:  # what came is no challenge
        raise AuthenticationError("no challenge came") from None
    own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 0))


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `host:port`.

    Raises:
      ValueError: it is none.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"address {text!r}; allowed: host:port, with a port from 0 to 65535")
    return host.strip("[]"), int(port)
