"""Running tests on a copy of the repository in which a fault is planted."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.source_faults import Fault, planted

#: A fault is caught by the time limit if tests take so many times the processor time that they take without it.
SLOWER = 10
#: Address space of a test process, bytes: a fault that makes a list grow without end must not fill the machine.
MEMORY = 24 << 30
#: Packages of the repository that do not lie in python/pcg.
PARTS = ("dialects", "passes", "tools")
_NOT_COPIED = (".git", ".venv", "__pycache__", ".lit", ".*_cache", ".hypothesis", "*.egg-info", "build", "out")
#: Tests that run by default, and those that `.ci/run` runs besides, as pytest's `-m` takes it.
DEFAULT, SLOW = "not slow and not exhaustive", "slow"
#: pytest in a process with limits; no cores are dumped.
_START = """\
import resource, sys
seconds, memory = int(sys.argv.pop(1)), int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


@dataclass(frozen=True)
class Batch:
    """Tests that run in one process: a file of Python, or the lit tests of one directory.  Paths from the root."""

    name: str
    files: tuple[str, ...]

    def text(self, root: Path) -> str:
        """All source text."""
        return "\n".join((root / f).read_text(encoding="utf-8", errors="replace") for f in self.files)


@dataclass(frozen=True)
class Outcome:
    """What a run of tests came to: `passed`, `failed`, `crashed`, or over its `limit`; processor seconds."""

    status: str
    test: str
    seconds: float


class Workspace:
    """A copy of the repository `root` in `directory`, with the tests of `tests_of` (another checkout) if given.

    `markers`: which of the tests run.
    """

    def __init__(self, root: Path, directory: Path, tests_of: Path | None = None, markers: str = DEFAULT) -> None:
        self._markers = markers
        self.directory = directory
        self._is_stopped = False
        self.tree = directory / "tree"
        ignore = shutil.ignore_patterns(*_NOT_COPIED)
        shutil.copytree(root, self.tree, symlinks=True, ignore=ignore)
        if tests_of:
            shutil.rmtree(self.tree / "test")
            shutil.copytree(tests_of / "test", self.tree / "test", symlinks=True, ignore=ignore)
        # One package `pcg` of links, as CMake makes it.
        package = directory / "path/pcg"
        package.mkdir(parents=True)
        for entry in [*(self.tree / "python/pcg").iterdir(), *(self.tree / p for p in PARTS)]:
            if entry.exists():
                (package / entry.name).symlink_to(entry)

    @contextlib.contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """The copy with a fault.  ValueError if the source is not the one that the fault was found in."""
        file = self.tree / fault.path
        text = file.read_text(encoding="utf-8")
        _write(file, planted(text, fault))
        try:
            yield
        finally:
            _write(file, text)

    def run(self, tests: Batch, seconds: float | None = None) -> Outcome:
        """Run tests until one fails, for at most so many processor seconds."""
        limit = math.ceil(seconds) if seconds else 36000
        command = [
            sys.executable, "-c", _START, str(limit), str(MEMORY), "-x", "-q", "--tb=no", "-rfE", "--color=no",
            "-p", "xdist", "-n", "0", "-m", self._markers, "-p", "no:cacheprovider", "-p", "hypothesispytest",
            "--hypothesis-seed=0",
            f"--basetemp={self.directory / 'temp'}", *tests.files,
        ]  # fmt: skip
        with (self.directory / "output").open("w") as output:
            process = subprocess.Popen(
                command, cwd=self.tree, env=self._environment(), stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            code, used = self._wait(process, 20 * limit)
        if self._is_stopped:
            raise InterruptedError("stopped")
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", self.output(), re.MULTILINE)
        # What failed with one fault must not be tried first with the next.
        shutil.rmtree(self.tree / ".hypothesis", ignore_errors=True)
        if code in (0, 5):  # 5: all tests are slow ones
            return Outcome("passed", "", used)
        if failed:
            return Outcome("failed", failed[1], used)
        return Outcome("limit" if code in (-signal.SIGXCPU, -signal.SIGKILL) else "crashed", tests.name, used)

    def stop(self) -> None:
        """End what runs, now or later, by InterruptedError."""
        self._is_stopped = True

    def output(self) -> str:
        """What the last run printed."""
        return (self.directory / "output").read_text(errors="replace")

    def _wait(self, process: subprocess.Popen, wall: float) -> tuple[int, float]:
        """Exit status of a process, and processor seconds of it and of those that it waited for.

        One that waits for what never comes is ended after `wall` seconds.
        """
        start = time.monotonic()
        while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if self._is_stopped or time.monotonic() - start > wall:
                process.kill()
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError, PermissionError):  # what it started and left behind
            os.killpg(process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, usage.ru_utime + usage.ru_stime

    def _environment(self) -> dict[str, str]:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "PCG_TEST"))}
        # Loading plugins that no test needs takes longer than many tests.
        env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONHASHSEED": "0", "JAX_PLATFORMS": "cpu"}
        return env | {"PYTHONPATH": str(self.directory / "path")}


def _write(file: Path, text: str) -> None:
    """Write a module.  Its bytecode goes: that is told apart by the second and the size, which may be the same."""
    file.write_text(text, encoding="utf-8")
    for kept in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
        kept.unlink()


def digest(root: Path, tests_of: Path | None = None) -> str:
    """What tells source and tests from others."""
    sha = hashlib.sha256()
    for top in [*(root / p for p in ("python", *PARTS)), (tests_of or root) / "test"]:
        for file in sorted(top.rglob("*")):
            if file.suffix in (".py", ".mlir"):
                sha.update(str(file.relative_to(top)).encode() + file.read_bytes())
    return sha.hexdigest()[:16]


def batches_in(root: Path) -> list[Batch]:
    """All tests below `test/`, by name."""
    out = [Batch(str(f.relative_to(root)), (str(f.relative_to(root)),)) for f in (root / "test").rglob("test_*.py")]
    lit: dict[Path, list[str]] = {}
    for file in sorted((root / "test").rglob("*.mlir")):
        if "Inputs" not in file.parts and "RUN:" in file.read_text(encoding="utf-8", errors="replace"):
            lit.setdefault(file.parent, []).append(str(file.relative_to(root)))
    out += [Batch(f"{d.relative_to(root)}/*.mlir", tuple(files)) for d, files in lit.items()]
    return sorted(out, key=lambda t: t.name)


#: Which tests are tried: the unit tests of the fault's room, also those that name its module, or all.
REACHES = ("room", "module", "all")


def ordered(tests: Sequence[Batch], root: Path, fault: Fault, reach: str = "all") -> list[Batch]:
    """The tests in the order in which they are likely to catch a fault.

    First the unit tests of its room (of these the one named after the module, then those that import it), then tests
    that import the module, then all others, those first that name the room most often.
    """
    parts = Path(fault.path).relative_to("python/pcg").with_suffix("").parts
    room, module = parts[0], parts[-1]
    package = r"\.".join(["pcg", *parts[:-1]])
    named = re.compile(rf"\b{package}(?:\.| import (?:\([^)]*|[^(\n]*)\b){module}\b")
    keyed = []
    for t in tests:
        text = t.text(root)
        mentions, is_near = len(named.findall(text)), t.name.startswith(f"test/unit/{room}/")
        tier = 0 if is_near else 1 if mentions else 2
        is_namesake = t.name.endswith(f"/test_{module}.py")
        if tier <= REACHES.index(reach):
            keyed.append(((tier, not is_namesake, -mentions, -text.count(f"pcg.{room}"), t.name), t))
    return [t for _, t in sorted(keyed, key=lambda k: k[0])]
