"""Runs pcg-opt, pcg-run and FileCheck for lit tests in processes that have imported them.

A lit test runs some hundred short commands, and importing takes most of each.  `Server` keeps one process with
the imports done; the command line of a test is `client(...)`, which hands its arguments, directory, environment,
and standard streams to that process, and ends with the status of what that runs:

- pcg-opt and FileCheck one after the other in one copy of the process;
- pcg-run in a new copy each time, since it chooses the devices of its process.

Commands of a pipe would wait for each other there, so a client reads what comes through a pipe to its end first.
"""

from __future__ import annotations

import marshal
import os
import socket
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # the client is to start quickly
    from collections.abc import Callable

#: What the environment calls the socket of the running server.
ADDRESS = "PCG_TEST_TOOLS"
#: Modules with a `main`, and whether each run gets a process of its own.
TOOLS = {"pcg.tools.pcg_opt": False, "pcg.tools.pcg_run": True, "filecheck.main": False}
#: Imported beforehand: what these tools import where it is first used.
_LAZY = (
    "pcg.runtime", "pcg.passes", "pcg.planning", "pcg.search", "pcg.solve", "pcg.reshard", "pcg.kernels",
    "pcg.simulate", "pcg.lint",
)  # fmt: skip


class Server:
    """The process, until `close` or the end of the process that made it."""

    def __init__(self, address: str) -> None:
        """Start it; it listens at `address`, a path of at most 100 characters, once this returns."""
        import subprocess

        self._process = subprocess.Popen(
            [sys.executable, __file__, "serve", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError("the process for the tools of lit tests did not start")

    def close(self) -> None:
        """End it; tools that still run are left to end by themselves."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def client(tool: str) -> list[str]:
    """The command that runs one of `TOOLS`: in the server if there is one, else as a process of its own."""
    if ADDRESS not in os.environ:
        return [sys.executable, "-m", tool.removesuffix(".main")]
    # Without the site's packages, which take longest to set up.
    return [sys.executable, "-S", "-E", __file__, "run", os.environ[ADDRESS], tool]


def _run(address: str, arguments: list[str]) -> None:
    """Have the server run a tool; ends as that does."""
    standard_input = 0
    if stat.S_ISFIFO(os.fstat(0).st_mode):
        standard_input = os.memfd_create("input")
        while part := os.read(0, 1 << 20):
            os.write(standard_input, part)
        os.lseek(standard_input, 0, os.SEEK_SET)
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(address if TOOLS[arguments[0]] else f"{address}.one")
        message = marshal.dumps((os.getcwd(), dict(os.environ), arguments))
        socket.send_fds(s, [len(message).to_bytes(8, "little")], [standard_input, 1, 2])
        s.sendall(message)
        answer = s.recv(8)
    status = os.waitstatus_to_exitcode(int.from_bytes(answer, "little")) if answer else 1
    if status < 0:
        import signal

        signal.signal(-status, signal.SIG_DFL) if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -status)
    sys.exit(status)


def _serve(address: str) -> None:
    """Run what clients ask for until standard input ends."""
    import select
    import signal

    mains = _load()
    listener = _listen(address)
    one = _listen(f"{address}.one")
    one_pid = os.fork()
    if one_pid == 0:
        listener.close()
        _serve_one_after_the_other(one, mains)
    one.close()
    read, write = socket.socketpair()
    write.setblocking(False)
    read.setblocking(False)
    signal.set_wakeup_fd(write.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, socket.socket] = {}
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([0, read, listener], [], [])
        if read in ready:
            read.recv(4096)
            _answer(running)
        if listener in ready:
            asked, _ = listener.accept()
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for s in (read, write, listener, *running.values()):
                    s.close()
                run = _taken_over(asked, mains)
                asked.close()
                sys.exit(run())
            running[pid] = asked
        if 0 in ready:
            os.kill(one_pid, signal.SIGTERM)
            return


def _listen(address: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    return listener


def _serve_one_after_the_other(listener: socket.socket, mains: dict[str, Callable[[], int | None]]) -> None:
    """Run what clients ask for in this process, until it or its parent is ended."""
    import traceback

    own, parent = [os.dup(fd) for fd in (0, 1, 2)], os.getppid()
    listener.settimeout(5)
    while os.getppid() == parent:
        try:
            asked, _ = listener.accept()
        except TimeoutError:
            continue
        with asked:
            run = _taken_over(asked, mains)
            try:
                status = run()
            except SystemExit as end:
                status = end.code
            except BaseException:
                traceback.print_exc()
                status = 1
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except OSError:  # nobody reads it any more
                    pass
            if isinstance(status, str):
                os.write(2, f"{status}\n".encode())
            code = status if isinstance(status, int) else bool(status)
            for target, fd in enumerate(own):  # the pipes of the tool end here
                os.dup2(fd, target)
            try:
                asked.sendall((code << 8).to_bytes(8, "little"))
            except OSError:  # the client was ended
                pass
    sys.exit()


def _load() -> dict[str, Callable[[], int | None]]:
    """The tools' main functions, with everything imported that they may need."""
    import gc
    import importlib
    import pkgutil

    import jax  # noqa: F401 - not started: that does not work in forks
    import numpy as np

    for name in _LAZY:
        package = importlib.import_module(name)
        for module in pkgutil.iter_modules(package.__path__, f"{name}."):
            importlib.import_module(module.name)
    from pcg.kernels.paths import shortest

    nothing = np.zeros(0, np.int64)
    shortest(nothing, np.zeros(1, np.int64), nothing, np.zeros(0))  # LLVM sets itself up at the first call
    mains = {tool: importlib.import_module(tool).main for tool in TOOLS}
    gc.collect()
    gc.freeze()  # else each fork searches, and so copies, everything that is imported
    return mains


def _answer(running: dict[int, socket.socket]) -> None:
    """Tell the clients whose tools have ended how."""
    for pid in list(running):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            with running.pop(pid) as s:
                try:
                    s.sendall(status.to_bytes(8, "little"))
                except OSError:  # the client was ended
                    pass


def _taken_over(asked: socket.socket, mains: dict[str, Callable[[], int | None]]) -> Callable[[], int | None]:
    """Become the process that a client asks for; the function that it runs."""
    head, fds, _, _ = socket.recv_fds(asked, 8, 3)
    left, parts = int.from_bytes(head, "little"), []
    while left:
        parts.append(asked.recv(left))
        left -= len(parts[-1])
    directory, environment, arguments = marshal.loads(b"".join(parts))
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
        os.close(fd)
    # New objects, for those of this process know what its own streams were (a file, a pipe).
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments
    return mains[arguments[0]]


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve(sys.argv[2])
    else:
        _run(sys.argv[2], sys.argv[3:])
