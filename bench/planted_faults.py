"""The power of the test suite: small faults planted in a copy of the source, one at a time, and the tests run.

  python bench/planted_faults.py --list                          the faults that would be planted
  python bench/planted_faults.py --results faults.json           plant them; started again, it goes on where it was
  python bench/planted_faults.py --reach room                    with the unit tests of the fault's room alone
  python bench/planted_faults.py --survivors left.json           keep the faults that no test caught,
  python bench/planted_faults.py --from left.json --slow         and try those with the tests that only CI runs
  python bench/planted_faults.py --from left.json --tree ../new  or with the tests of another checkout

The faults are changes of the syntax tree (a comparison, a constant, a `not`, an exchanged pair of arguments, a branch
that is never taken, ...), spread evenly over rooms, files and kinds, the same for one tree and seed.  For each, test
files run one after another, those most likely to catch it first, until a test fails.  Tests must pass without the
fault first; those that do not are left out, and said.  A fault that makes tests take ten times their processor time
is caught by the time limit; one that survives changes nothing that can be observed (an equivalent mutant), or
shows a test that is missing.  A survivor costs a run of all tests: minutes.
"""

from __future__ import annotations

import argparse
import json
import queue
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.fault_runs import DEFAULT, REACHES, SLOW, SLOWER, Batch, Outcome, Workspace, batches_in, digest, ordered
from bench.fault_sample import sample
from bench.source_faults import Fault

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("rules", "lower", "reshard", "search", "simulate")


@dataclass(frozen=True)
class Verdict:
    """What became of a fault: the `status` of the last outcome (`passed`: it survives so far), by which test, after how
    many processor seconds of tests, and which of them passed with it."""

    fault: Fault
    status: str = "passed"
    test: str = ""
    seconds: float = 0.0
    passed: tuple[str, ...] = ()

    def __str__(self) -> str:
        survived = f"SURVIVED {len(self.passed)} runs" if self.passed else "no tests"
        by = {"passed": survived, "limit": f"time limit in {self.test}", "crashed": f"crash in {self.test}"}
        return f"{self.seconds:8.1f} s  {self.fault.kind:11} {self.fault}\n{'':12}{by.get(self.status, self.test)}"

    def then(self, tests: Batch, outcome: Outcome) -> Verdict:
        """After one more run."""
        seconds = self.seconds + outcome.seconds
        passed = (*self.passed, tests.name) if outcome.status == "passed" else self.passed
        return Verdict(self.fault, outcome.status, outcome.test, seconds, passed)


class Results:
    """Verdicts, and what tests do without faults; kept in a file, if one is named.

    ValueError if the file has results of other source or tests, told apart by `digest`.
    """

    def __init__(self, file: Path | None, digest: str) -> None:
        self._file, self._digest, self._lock = file, digest, threading.Lock()
        self.baseline: dict[str, Outcome] = {}
        self.verdicts: dict[Fault, Verdict] = {}
        if file and file.exists():
            kept = json.loads(file.read_text())
            if kept["digest"] != digest:
                raise ValueError(f"{file} has results of other source or tests")
            self.baseline = {name: Outcome(**o) for name, o in kept["baseline"].items()}
            for d in kept["verdicts"]:
                fault = Fault(**d["fault"])
                self.verdicts[fault] = Verdict(**{**d, "fault": fault, "passed": tuple(d["passed"])})

    def of(self, fault: Fault) -> Verdict:
        """What is known about a fault."""
        return self.verdicts.get(fault, Verdict(fault))

    def keep(self, tests: Batch, outcome: Outcome, verdict: Verdict | None = None) -> None:
        """Add what `tests` did: with a fault, which has this verdict now, or without."""
        with self._lock:
            if verdict:
                self.verdicts[verdict.fault] = verdict
            else:
                self.baseline[tests.name] = outcome
            if self._file:
                kept = {
                    "digest": self._digest,
                    "baseline": {name: asdict(o) for name, o in self.baseline.items()},
                    "verdicts": [asdict(v) for v in self.verdicts.values()],
                }
                self._file.write_text(json.dumps(kept, indent=1))


def judge(fault: Fault, workspace: Workspace, tests: Sequence[Batch], results: Results) -> Verdict:
    """Run tests with the fault until one fails; each first without it, if that is not known.

    RuntimeError if tests cannot run at all without it.
    """
    verdict = results.of(fault)
    for t in tests:
        if verdict.status != "passed":
            break
        if t.name not in results.baseline:
            outcome = workspace.run(t)
            if outcome.status == "crashed":
                raise RuntimeError(f"{t.name} does not run without a fault:\n{workspace.output()}")
            results.keep(t, outcome)
        without = results.baseline[t.name]
        if without.status != "passed" or t.name in verdict.passed:
            continue
        with workspace.planted(fault):
            outcome = workspace.run(t, SLOWER * without.seconds)
        verdict = verdict.then(t, outcome)
        results.keep(t, outcome, verdict)
    return verdict


def run(faults: Sequence[Fault], args: argparse.Namespace, results: Results) -> None:
    """Judge the faults, with as many copies of the tree as there are workers."""
    waiting: queue.SimpleQueue[Fault] = queue.SimpleQueue()
    for fault in faults:
        waiting.put(fault)
    workspaces: list[Workspace] = []

    def work(directory: Path) -> None:
        workspace = Workspace(args.root, directory, args.tree, SLOW if args.slow else DEFAULT)
        workspaces.append(workspace)
        tests = batches_in(workspace.tree)
        if args.tests:
            tests = [t for t in tests if any(Path(t.name).is_relative_to(p) for p in args.tests)]
        while True:
            try:
                fault = waiting.get_nowait()
            except queue.Empty:
                return
            print(judge(fault, workspace, ordered(tests, workspace.tree, fault, args.reach), results), flush=True)

    with tempfile.TemporaryDirectory(prefix="planted-faults-") as directory:
        with ThreadPoolExecutor(args.workers) as pool:
            try:
                list(pool.map(work, [Path(directory) / str(i) for i in range(args.workers)]))
            except BaseException:
                for workspace in workspaces:
                    workspace.stop()
                raise


def report(faults: Sequence[Fault], root: Path, results: Results) -> None:
    """The sum, and what no test caught."""
    verdicts = [results.of(f) for f in faults]
    survived = [v.fault for v in verdicts if v.status == "passed"]
    by_time = sum(v.status == "limit" for v in verdicts)
    print(f"{len(verdicts) - len(survived)} of {len(verdicts)} faults caught, {by_time} of them by the time limit")
    if broken := [name for name, o in results.baseline.items() if o.status != "passed"]:
        print(f"left out, as they fail without a fault: {', '.join(sorted(broken))}")
    for fault in survived:
        line = (root / fault.path).read_text(encoding="utf-8").splitlines()[fault.line - 1]
        print(f"survived: {fault}\n    {line.strip()}")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--faults", type=int, default=40, help="how many (default: 40)")
    p.add_argument("--seed", type=int, default=0, help="which (default: 0)")
    p.add_argument("--rooms", nargs="+", default=ROOMS, metavar="ROOM", help=f"where (default: {' '.join(ROOMS)})")
    p.add_argument("--from", dest="kept", type=Path, metavar="FILE", help="the faults that --survivors wrote instead")
    p.add_argument("--only", type=int, metavar="K", help="fault number K of the list alone")
    p.add_argument("--list", action="store_true", help="print the faults and stop")
    p.add_argument("--tests", nargs="+", metavar="PATH", help="test files or directories below test/ (default: all)")
    p.add_argument("--reach", choices=REACHES, default="all", help="unit tests of the room; also tests that import the "
                   "module; all (default)")  # fmt: skip
    p.add_argument("--slow", action="store_true", help="the tests marked slow, not those that run by default")
    p.add_argument("--tree", type=Path, metavar="DIR", help="take the tests of another checkout")
    p.add_argument("--root", type=Path, default=ROOT, metavar="DIR", help="plant in another checkout")
    p.add_argument("--workers", type=int, default=1, help="copies of the tree that run tests at once (default: 1)")
    p.add_argument("--results", type=Path, metavar="FILE", help="keep results, and go on from those that are there")
    p.add_argument("--survivors", type=Path, metavar="FILE", help="write the faults that no test caught")
    args = p.parse_args(argv)
    if args.kept:
        faults = [Fault(**d) for d in json.loads(args.kept.read_text())]
    else:
        faults = sample(args.root, list(args.rooms), args.faults, args.seed)
    if args.list:
        for k, fault in enumerate(faults):
            print(f"{k:4} {fault.kind:11} {fault}")
        return 0
    if args.only is not None:
        faults = [faults[args.only]]
    results = Results(args.results, digest(args.root, args.tree))
    run(faults, args, results)
    report(faults, args.root, results)
    if args.survivors:
        left = [asdict(f) for f in faults if results.of(f).status == "passed"]
        args.survivors.write_text(json.dumps(left, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the copies are removed
    sys.exit(main())
