"""The file that says where a cluster of this user is, and the key that lets clients in.

One file per cluster, in a folder that only the user may read: `pcg` in XDG_RUNTIME_DIR, else `pcg/clusters` in the
user's cache folder.  Whoever can read the key can run anything as this user.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from pcg.controller.faults import ClusterUnavailable
from pcg.runtime.cluster.wire import parse_address

#: The variable with the key of a cluster that another machine started.
KEY = "PCG_CLUSTER_KEY"


@dataclass(frozen=True)
class ClusterFile:
    """A cluster that was started here."""

    path: Path
    address: str
    key: bytes
    pid: int
    started: str
    """When the process started, as the system counts; numbers of processes are used again."""

    @property
    def is_up(self) -> bool:
        """Whether its process is there."""
        return _start_of(self.pid) == self.started

    @property
    def left_over(self) -> str:
        """What to say of a file whose cluster has ended."""
        return f"its process {self.pid} is gone; {self.path} is left over from it ('pcg-cluster stop' removes it)"

    def remove(self) -> None:
        """The cluster has ended."""
        self.path.unlink(missing_ok=True)


def folder() -> Path:
    """Where the files are."""
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        return Path(runtime) / "pcg"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pcg" / "clusters"


def private_folder() -> Path:
    """That folder, which is there, and which only the user may read.

    Raises:
      OSError: it cannot be created, or is somebody else's.
    """
    where = folder()
    where.mkdir(parents=True, exist_ok=True, mode=0o700)
    if stat.S_IMODE(where.stat().st_mode) & 0o077:
        where.chmod(0o700)
    return where


def new_key() -> bytes:
    """A key that nobody can guess."""
    return secrets.token_bytes(32)


def write(address: str, key: bytes) -> ClusterFile:
    """Note a cluster of this process."""
    path = private_folder() / f"{''.join(c if c.isalnum() or c in '.-' else '_' for c in address)}.json"
    found = ClusterFile(path, address, key, os.getpid(), _start_of(os.getpid()))
    text = json.dumps({"address": address, "key": key.hex(), "pid": found.pid, "started": found.started})
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.unlink(missing_ok=True)
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)
    return found


def files() -> list[ClusterFile]:
    """All that are there, those of clusters that have ended included.

    Raises:
      ClusterUnavailable: a file that others may read, or that is none of ours.
    """
    found = []
    for path in sorted(folder().glob("*.json")) if folder().is_dir() else []:
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue  # it has just ended
        if mode & 0o077:
            raise ClusterUnavailable("", f"{path} has mode {mode:o}, so others may have its key; allowed: 600")
        try:
            d = json.loads(text)
            found.append(
                ClusterFile(path, str(d["address"]), bytes.fromhex(d["key"]), int(d["pid"]), str(d["started"]))
            )
        except (ValueError, KeyError, TypeError):
            raise ClusterUnavailable("", f"{path} does not describe a cluster; remove it") from None
    return found


def find(address: str | None) -> tuple[str, bytes]:
    """Address and key of a cluster: the one at an address, or the only one of this user.

    Raises:
      ClusterUnavailable: there is none, it has ended, several are up, or its key is not known here.
      ValueError: an address that is none.
    """
    if address is not None:
        parse_address(address)
    known = files()
    up = [f for f in known if f.is_up]
    if address is not None:
        own = [f for f in known if f.address == address]
        for file in own:
            if file.is_up:
                return address, file.key
        if (key := os.environ.get(KEY)) is not None:
            try:
                return address, bytes.fromhex(key)
            except ValueError:
                raise ClusterUnavailable(address, f"{KEY} is no hexadecimal number") from None
        if own:
            raise ClusterUnavailable(address, own[0].left_over)
        here = f"; clusters here: {', '.join(f.address for f in up)}" if up else ""
        raise ClusterUnavailable(address, f"its key is not known: no file in {folder()}, and {KEY} is not set{here}")
    if len(up) > 1:
        raise ClusterUnavailable("", f"several are up, say which address: {', '.join(f.address for f in up)}")
    if up:
        return up[0].address, up[0].key
    if known:
        raise ClusterUnavailable(known[0].address, known[0].left_over)
    raise ClusterUnavailable("", f"there is no file in {folder()}; 'pcg-cluster start' starts one")


def _start_of(pid: int) -> str:
    """When a process started; empty if there is none."""
    try:
        # The name of the program, in brackets, may contain anything.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except OSError:
        pass
    if Path("/proc/self/stat").exists():
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "running"
