"""Connections of a controller with processes: none without the key, none under a name that has failed."""

from __future__ import annotations

import socket
import threading

import pytest

from pcg.runtime.islands.launcher import LaunchError, parts
from pcg.runtime.islands.tcp import Listener, dial, disconnect


def test_who_has_the_key_is_connected() -> None:
    listener = Listener("127.0.0.1")
    theirs = dial(listener.address, listener.key, "island0.0")
    ours = listener.connection("island0.0", 5)
    theirs.send_bytes(b"x" * (1 << 20))
    assert len(ours.recv_bytes()) == 1 << 20
    ours.send_bytes(b"y")
    assert theirs.recv_bytes() == b"y"
    reader = threading.Timer(0.05, lambda: disconnect(ours))
    reader.start()
    with pytest.raises((EOFError, OSError)):
        ours.recv_bytes()
    listener.close()


def test_who_has_another_key_is_not() -> None:
    listener = Listener("127.0.0.1")
    with pytest.raises(OSError):
        dial(listener.address, b"another key", "island0.0")
    with socket.create_connection(listener.address) as silent:
        silent.sendall(b"\0" * 64)
        assert len(silent.recv(32)) == 32
    with pytest.raises(LaunchError, match="it did not connect within 0.1 s"):
        listener.connection("island0.0", 0.1)
    dial(listener.address, listener.key, "island0.0")  # others still can
    listener.connection("island0.0", 5)
    listener.close()


def test_a_process_that_has_failed_is_not_waited_for() -> None:
    listener = Listener("127.0.0.1")
    threading.Timer(0.05, lambda: listener.fail("island0.0", "its actor died")).start()
    with pytest.raises(LaunchError, match="its actor died"):
        listener.connection("island0.0", 60)
    listener.close()


def test_devices_are_divided_among_processes() -> None:
    assert parts("abcdef", 3, "island0") == ["ab", "cd", "ef"]
    with pytest.raises(ValueError, match="island island0: 4 processes for 6 devices; allowed: a divisor"):
        parts("abcdef", 4, "island0")
