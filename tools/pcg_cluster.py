"""pcg-cluster: a controller that stays up, for clients in other processes (`pcg.connect`)."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pcg.controller.faults import ClusterUnavailable
from pcg.controller.policies import POLICIES
from pcg.controller.scheduler import IN_FLIGHT
from pcg.runtime.cluster import state
from pcg.runtime.cluster.wire import parse_address
from pcg.tools import arguments

DONE, FAILED = 0, 2
#: Seconds until a cluster must have started.
START = 180.0
#: Seconds until one that is stopped must have ended.
_END = 75.0
#: Seconds that a cluster may take to say how it is.
_SOON = 30.0
#: Columns of what goes to no terminal.
_WIDTH = 120
#: The variable with the number of the pipe on which a cluster in the background says that it is ready, or why not.
_REPORT = "PCG_CLUSTER_REPORT"
_HERE = "127.0.0.1:0"


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit status: 0 it did what it was to, 2 it did not."""
    args = parser().parse_args(argv)
    try:
        if args.command == "start":
            return _serve(args) if args.foreground else _start(args, [*(sys.argv[1:] if argv is None else argv)])
        return _status(args) if args.command == "status" else _stop(args)
    except (ClusterUnavailable, ValueError, OSError) as error:
        return _fail(args.command, str(error))
    except KeyboardInterrupt:
        return FAILED


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = arguments.Parser(prog="pcg-cluster", description=__doc__)
    commands = p.add_subparsers(
        dest="command", required=True, metavar="start|status|stop", parser_class=arguments.Parser
    )
    for name, own in subcommands().items():
        commands.add_parser(name, parents=[own], help=own.description, description=own.description)
    return p


def subcommands() -> dict[str, arguments.Parser]:
    """The options of each."""

    def sub(name: str, description: str) -> arguments.Parser:
        return arguments.Parser(prog=f"pcg-cluster {name}", description=description, add_help=False)

    start = sub("start", "Start a cluster in the background; prints its address when it is ready.")
    add = start.add_argument
    add(
        "--islands", type=arguments.integer(1), default=1, metavar="N",
        help="number of islands, into which the devices are divided evenly (default %(default)s)",
    )  # fmt: skip
    add(
        "--devices", type=arguments.integer(1), metavar="K",
        help="use the first K devices; processors are divided into as many",
    )  # fmt: skip
    add(
        "--cluster", metavar="FILE|preset:NAME[:SIZE]",
        help="islands as the groups of a cluster, in place of --islands",
    )  # fmt: skip
    add(
        "--backend", choices=("embedded", "processes", "ray"), default="embedded",
        help="what runs programs: the cluster's own process, a process per island, or Ray (default %(default)s)",
    )  # fmt: skip
    add(
        "--policy", choices=POLICIES, default="stride",
        help="clients get time by their weights (stride), or programs run as they come (default %(default)s)",
    )  # fmt: skip
    add(
        "--in-flight", type=arguments.integer(1), default=IN_FLIGHT, metavar="N",
        help="programs in the queues of an island's devices at most (default %(default)s)",
    )  # fmt: skip
    add(
        "--restarts", type=arguments.integer(0), default=0, metavar="N",
        help="how often the processes of each island are started anew when they have ended (default %(default)s)",
    )  # fmt: skip
    add(
        "--memory", type=arguments.integer(1), metavar="BYTES",
        help="bytes per device for programs and their results (default: what the cluster says, or not limited)",
    )  # fmt: skip
    add(
        "--address", default=_HERE, metavar="HOST:PORT",
        help="where clients connect; port 0 is any that is free (default %(default)s)",
    )  # fmt: skip
    add("--foreground", action="store_true", help="do not go to the background; Ctrl-C stops it")
    status = sub("status", "Print islands and clients.")
    stop = sub("stop", "Stop a cluster when what its clients have submitted is done.")
    for p in (status, stop):
        p.add_argument(
            "--address", metavar="HOST:PORT", help="of the cluster (default: the only one of this user on this machine)"
        )
    status.add_argument("--watch", action="store_true", help="refresh twice a second, until Ctrl-C")
    status.add_argument("--json", action="store_true", help="print JSON; with --watch, a line each time")
    stop.add_argument("--now", action="store_true", help="at once, whatever runs")
    return {"start": start, "status": status, "stop": stop}


def _fail(command: str, message: str) -> int:
    return arguments.fail(f"pcg-cluster {command}", message)


# -- start -------------------------------------------------------------------------------------------


def _start(args: argparse.Namespace, argv: list[str]) -> int:
    """Have a process of its own serve, and wait until it says that it does."""
    parse_address(args.address)
    if taken := _conflict(args):
        return _fail("start", taken)
    log = state.private_folder() / f"cluster-{os.getpid()}.log"
    reads, writes = os.pipe()
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pcg.tools.pcg_cluster", *argv, "--foreground"],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=[writes], start_new_session=True,
            env={**os.environ, _REPORT: str(writes)},
        )  # fmt: skip
    os.close(writes)
    try:
        said = _line(reads, START)
    except KeyboardInterrupt:
        process.kill()
        raise
    finally:
        os.close(reads)
    if said.startswith("ready "):
        print(said.removeprefix("ready "))
        return DONE
    process.kill()
    process.wait()
    if not said:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        said = f"it did not start: {lines[-1] if lines else 'it said nothing'} ({log})"
    else:
        log.unlink(missing_ok=True)
    return _fail("start", said)


def _line(pipe: int, seconds: float) -> str:
    """What comes from a pipe until it ends, or a line is complete; empty if nothing comes in time."""
    end, found = time.monotonic() + seconds, b""
    while not found.endswith(b"\n"):
        ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
        part = os.read(pipe, 4096) if ready else b""
        if not part:
            break
        found += part
    return found.decode(errors="replace").strip()


def _conflict(args: argparse.Namespace) -> str:
    """A cluster that is up already, if it is one too many; what is left over from one that is not is removed."""
    for file in state.files():
        if not file.is_up:
            file.remove()
        elif args.address == _HERE:
            return f"cluster {file.address} is up; 'pcg-cluster stop' stops it, --address=HOST:PORT starts another one"
        elif file.address == args.address:
            return f"cluster {file.address} is up"
    return ""


def _serve(args: argparse.Namespace) -> int:
    """Be the cluster."""
    report = os.environ.pop(_REPORT, None)

    def refuse(error: BaseException | str) -> int:
        text = " ".join(str(error).split())
        if report is None:
            return _fail("start", text)
        with contextlib.suppress(OSError), open(int(report), "w", encoding="utf-8") as pipe:
            print(text, file=pipe)
        return FAILED

    if report is None and (taken := _conflict(args)):
        return refuse(taken)
    from pcg.machine import Cluster, ClusterError

    try:
        cluster = Cluster.parse(args.cluster) if args.cluster else None
    except (ClusterError, OSError) as error:
        return refuse(error)
    if cluster is not None and args.islands != 1:
        return refuse(f"--islands {args.islands} with --cluster, whose groups are the islands; allowed: one of them")
    count = args.devices or (cluster.size if cluster is not None else None)
    flags = os.environ.get("XLA_FLAGS", "")
    if count is not None:
        # Says into how many devices the processors are divided; it does nothing to GPUs.
        flags = " ".join(f for f in flags.split() if "xla_force_host_platform_device_count" not in f)
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={count}".strip()
    # Arrays have the dtypes that clients say, whatever this process would choose.
    os.environ["JAX_ENABLE_X64"] = "1"
    try:
        import jax

        import pcg
        from pcg.api.cluster_server import Server
    except ImportError as error:
        return refuse(f"needs jax: pip install 'pcg[jax]' ({error})")
    try:
        present = jax.devices()
        if count is not None and count > len(present):
            return refuse(f"--devices {count}; there are {len(present)} ({present[0].platform})")
        controller = pcg.Controller(
            cluster if cluster is not None else args.islands, devices=present[:count], policy=args.policy,
            in_flight=args.in_flight, memory=args.memory, backend=args.backend, restarts=args.restarts,
        )  # fmt: skip
    except (ValueError, RuntimeError, OSError, ImportError) as error:
        return refuse(error)
    key = state.new_key()
    try:
        server = Server(controller, args.address, key)
    except (ValueError, OSError) as error:
        controller.backend.close()
        return refuse(f"--address {args.address}: {getattr(error, 'strerror', None) or error}")
    file = state.write(server.address, key)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: server.stop(now=False))
    if report is None:
        print(server.address, flush=True)
    else:
        with contextlib.suppress(OSError), open(int(report), "w", encoding="utf-8") as pipe:
            print(f"ready {server.address}", file=pipe)
    while not server.stopped.wait(1.0):
        pass  # signals are seen here
    file.remove()
    server.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(DONE)  # threads that wait for what never comes do not keep it


# -- status and stop -------------------------------------------------------------------------------------


@contextlib.contextmanager
def _connected(address: str | None) -> Iterator[Any]:
    from pcg.runtime.cluster.connection import Connection

    connection = Connection(*state.find(address))
    try:
        yield connection
    finally:
        connection.close()


def _status(args: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.live import Live

    from pcg.runtime.cluster.messages import Status

    with _connected(args.address) as connection:
        found = connection.query(Status(), _SOON)
        if args.json:
            print(json.dumps(found, indent=None if args.watch else 2), flush=True)
            while args.watch:
                time.sleep(0.5)
                print(json.dumps(connection.query(Status(), _SOON)), flush=True)
            return DONE
        console = Console(width=None if sys.stdout.isatty() else _WIDTH)
        if not args.watch:
            console.print(_tables(found))
            return DONE
        with Live(_tables(found), console=console, auto_refresh=False) as live, contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(0.5)
                live.update(_tables(connection.query(Status(), _SOON)), refresh=True)
    return DONE


def _tables(found: Mapping[str, Any]) -> Any:
    """Islands and clients as rich shows them."""
    from rich.console import Group

    islands = _table("island", "devices", "kind", "state", "in flight", "waiting", "busy", "bytes per device")
    islands.title = f"cluster {found['address']}, process {found['pid']}, up {_time(found['seconds'])}"
    for i in found["islands"]:
        if i["state"] != "up":
            islands.add_row(i["name"], "", "", i["state"])
            continue
        limit = "" if i["bytes_limit"] is None else f" of {_bytes(i['bytes_limit'])}"
        islands.add_row(
            i["name"], f"{i['devices_used']} of {i['devices']}", i["kind"], i["state"], str(i["in_flight"]),
            str(i["waiting"]), f"{i['utilisation']:.0%}", f"{_bytes(i['bytes'])}{limit}",
        )  # fmt: skip
    clients = _table("client", "from", "weight", "slices", "devices", "programs", "queued", "bytes", "handles")
    for c in found["clients"]:
        quota = c["quota"]
        clients.add_row(
            c["name"], c["from"], f"{c['weight']:g}", str(c["slices"]), _of(c["devices"], quota["devices"]),
            str(c["programs"]), _of(c["queued"], quota["queued"]), _of(c["bytes"], quota["bytes"], _bytes),
            str(c["handles"]),
        )  # fmt: skip
    return Group(islands, clients if found["clients"] else "no clients")


def _table(*columns: str) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title_justify="left")
    for name in columns:
        left = name in ("island", "kind", "state", "client", "from")
        # What does not fit is broken where a cell has words: amounts of quotas, and why an island is gone.
        words = name in ("state", "devices", "queued", "bytes", "bytes per device")
        table.add_column(name, justify="left" if left else "right", overflow="ellipsis", no_wrap=not words)
    return table


def _of(value: int, quota: int | None, text: Any = str) -> str:
    return text(value) if quota is None else f"{text(value)} of {text(quota)}"


def _bytes(n: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024:
            return f"{n:.0f} {unit}" if unit == "B" or n >= 100 else f"{n:.3g} {unit}"
        n /= 1024
    return f"{n:.1f} TiB"


def _time(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


def _stop(args: argparse.Namespace) -> int:
    from pcg.runtime.cluster.messages import Stop

    known = [f for f in state.files() if args.address in (None, f.address)]
    for file in known:
        if not file.is_up:
            file.remove()
            print(f"cluster {file.address} had ended: {file.path} is removed")
    up = [f for f in known if f.is_up]
    if known and not up:
        return DONE
    try:
        with _connected(args.address) as connection:
            connection.query(Stop(args.now), _SOON)
    except ClusterUnavailable:
        if not (up and args.now):
            raise
    if len(up) == 1:
        _wait_for_end(up[0], args.now)
    return DONE


def _wait_for_end(file: state.ClusterFile, now: bool) -> None:
    """Until the process has ended; one that does not is killed."""
    end = time.monotonic() + (5.0 if now else _END)
    while file.is_up and time.monotonic() < end:
        time.sleep(0.02)
    if file.is_up:
        os.kill(file.pid, signal.SIGKILL)
        while file.is_up and time.monotonic() < end + 5.0:
            time.sleep(0.02)
    file.remove()
    for log in Path(file.path.parent).glob("cluster-*.log"):
        if log.stat().st_size == 0:
            log.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
