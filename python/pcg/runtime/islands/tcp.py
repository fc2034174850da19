"""Connections between machines, of two sides that both know a key.  Needs no jax.

Whoever connects proves that it has the key, and so does the other side, before anything else is read: messages are
pickles.  They are not encrypted, and neither is what jax's transfer servers send: this is for a network of one's own.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import socket
import struct
import threading
from multiprocessing.connection import Connection

from pcg.runtime.islands.launcher import LaunchError

#: Bytes of a random number that the other side must answer to, and of the answer.
_NONCE = 32
#: Seconds that the other side may take to prove that it has the key.
_PROOF = 10
#: A machine that has gone without a word is noticed so: asked after 5 s, every second, 5 times.
_SILENCE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": 5}
#: Longest name of a process, in bytes.
_NAME = 256


class Listener:
    """Where processes connect to a controller, each under a name.

    Args:
      host: the address of this machine, where processes reach it.
    """

    def __init__(self, host: str) -> None:
        self.key = secrets.token_bytes(32)
        self._socket = socket.create_server((host, 0))
        self.address: tuple[str, int] = (host, self._socket.getsockname()[1])
        self._there = threading.Condition()
        self._connections: dict[str, Connection] = {}
        self._failed: dict[str, str] = {}
        threading.Thread(target=self._accept, name="pcg listener", daemon=True).start()

    def connection(self, name: str, seconds: float) -> Connection:
        """What a process of this name has opened, as soon as it has.

        Raises:
          LaunchError: it has not within so many seconds, or `fail` says that it never will.
        """
        with self._there:
            self._there.wait_for(lambda: name in self._connections or name in self._failed, seconds)
            found = self._connections.pop(name, None)
            if found is None:
                raise LaunchError(self._failed.pop(name, f"it did not connect within {seconds:g} s"))
        return found

    def fail(self, name: str, cause: str) -> None:
        """A process has ended."""
        with self._there:
            self._failed[name] = cause
            self._there.notify_all()

    def close(self) -> None:
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                opened, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._greet, args=(opened,), name="pcg greeting", daemon=True).start()

    def _greet(self, opened: socket.socket) -> None:
        try:
            connection = _proved(opened, self.key, b"controller", b"process")
            name = connection.recv_bytes(_NAME).decode()
        except (OSError, EOFError, UnicodeDecodeError):
            opened.close()
            return
        with self._there:
            self._connections[name] = connection
            self._there.notify_all()


def dial(address: tuple[str, int], key: bytes, name: str) -> Connection:
    """Connect to a `Listener`, as the process of this name.

    Raises:
      OSError: it cannot be reached, or does not have the key.
    """
    connection = _proved(socket.create_connection(address, _PROOF), key, b"process", b"controller")
    connection.send_bytes(name.encode())
    return connection


def disconnect(connection: Connection) -> None:
    """Whoever reads from it finds that it has ended."""
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as own:
            own.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it has ended already


def _proved(opened: socket.socket, key: bytes, own: bytes, other: bytes) -> Connection:
    """A socket as a connection, when both sides have proved that they have the key."""
    opened.settimeout(_PROOF)
    number = secrets.token_bytes(_NONCE)
    opened.sendall(number)
    theirs = _exactly(opened, _NONCE)
    opened.sendall(_proof(key, own, theirs))
    if not hmac.compare_digest(_exactly(opened, _NONCE), _proof(key, other, number)):
        opened.close()
        raise ConnectionRefusedError("the other side does not have the key")
    opened.settimeout(None)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _SILENCE.items():
        if hasattr(socket, option):
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return Connection(opened.detach())


def _proof(key: bytes, side: bytes, number: bytes) -> bytes:
    return hmac.new(key, struct.pack("<B", len(side)) + side + number, hashlib.sha256).digest()


def _exactly(opened: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        part = opened.recv(count - len(found))
        if not part:
            raise ConnectionResetError("the other side has closed")
        found += part
    return found
