"""The MPMD partitioner in jaxlib, and what is read from its result: the order of fragments per mesh, and transfers.

It runs in a process of its own (`python -m bench.mpmd_partition`, a request on standard input), because it ends the
process on programs that it does not expect.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from bench.mpmd_program import Question
from pcg.driver.program import tensor_bytes

#: Schedules of the partitioner that pcg has too, by name of pcg's.
SCHEDULES = {
    "gpipe": "GPipe", "1f1b": "1F1B", "zb-h1": "ZeroBubbleH1", "zb-h2": "ZeroBubbleH2ZeroTxLatency",
}  # fmt: skip
#: Those that need backward passes split into B and W.
SPLIT = ("zb-h1", "zb-h2")

_FRAGMENT = re.compile(
    r'mpmd\.fragment<mesh="mesh(\d+)", origin=\[([^\]]*)\], stage=\d+[^>]*> \([^)]*\)'
    r" \{([^}]*call_counter = (\d+)[^}]*)\}"
)
_CALL = re.compile(r'mpmd\.fragment_call<mesh="mesh(\d+)", origin=\[([^\]]*)\]')
_TRANSFER = re.compile(
    r'mpmd\.transfer (?:\{[^}]*\} )?\S+ : \(!mpmd\.mesh_tensor<"mesh(\d+)", tensor<([^<>]*)>[^)]*\)'
    r' -> !mpmd\.mesh_tensor<"mesh(\d+)"'
)


class PartitionerError(RuntimeError):
    """The partitioner is not there, or failed; with what it said."""


@dataclass(frozen=True)
class Copy:
    """A transfer of one array."""

    source: int
    target: int
    bytes: int


@dataclass(frozen=True)
class Partitioned:
    """A step as the partitioner divided and ordered it."""

    orders: tuple[str, ...]
    """By mesh, as `pcg.pipeline.schedule.Schedule.parse` reads them."""
    copies: tuple[Copy, ...]
    """All of one step."""

    @property
    def bytes(self) -> int:
        return sum(c.bytes for c in self.copies)


def orders(text: str, meshes: int) -> tuple[str, ...]:
    """The order of each mesh from a module of scheduled fragments: `F0 F1 B0 W0`, or `BW0` where one is not split.

    Fragments that no microbatch numbers (sums, the optimizer) are not among them.
    """
    found: list[list[str]] = [[] for _ in range(meshes)]
    for mesh, origin, attributes, counter in _FRAGMENT.findall(text):
        if "(1)" not in origin:
            kind = "F"
        elif "split_keep_transferred" in attributes:
            kind = "B"
        else:
            kind = "W" if "split_drop_transferred" in attributes else "BW"
        found[int(mesh)].append(f"{kind}{counter}")
    return tuple(" ".join(own) for own in found)


def directions(text: str, meshes: int) -> tuple[str, ...]:
    """Of each mesh `F` or `B` for every call in a partitioned module that runs a stage, in order."""
    found = [""] * meshes
    for mesh, origin in _CALL.findall(text):
        if origin:
            found[int(mesh)] += "B" if "(1)" in origin else "F"
    return tuple(found)


def copies(text: str) -> tuple[Copy, ...]:
    """The transfers between meshes in a module.

    Raises:
      PartitionerError: a transfer of another form than is read here, so that its bytes would be missing.
    """
    found = []
    for line in text.splitlines():
        if "mpmd.transfer" not in line:
            continue
        match = _TRANSFER.search(line)
        if match is None:
            raise PartitionerError(f"a transfer that is not understood: {line.strip()[:200]}")
        source, kind, target = match.groups()
        *shape, element = kind.split("x")
        if source != target:
            found.append(Copy(int(source), int(target), int(tensor_bytes([int(s) for s in shape], element))))
    return tuple(found)


def partitioned(question: Question, schedule: str) -> Partitioned:
    """What the partitioner makes of a step by one of `SCHEDULES`.

    Raises:
      PartitionerError: it is not there, or it fails.
    """
    chosen: dict[str, bool | str] = {"mpmd_infer_transfers": True, "mpmd_pipeline_schedule": SCHEDULES[schedule]}
    if schedule in SPLIT:
        chosen["mpmd_split_bwd_fragments"] = True
    request = json.dumps({**dataclasses.asdict(question), "options": chosen})
    env = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
    done = subprocess.run(
        [sys.executable, "-m", __name__], input=request, capture_output=True, text=True, check=False, env=env
    )
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "rror" in line] or [f"exit code {done.returncode}"]
        raise PartitionerError(said[-1].strip()[:500])
    # The partitioner prints on the same stream.
    answer = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    meshes = len(question.assignment)
    order = orders(answer["scheduled"], meshes)
    expected = tuple("".join("F" if task[0] == "F" else "B" for task in own.split()) for own in order)
    if expected != (calls := directions(answer["final"], meshes)):
        raise PartitionerError(f"calls {calls} of the partitioned module are not in the order of the schedule, {order}")
    return Partitioned(order, copies(answer["final"]))


def available() -> str | None:
    """Why the partitioner cannot be used, None where it can."""
    done = subprocess.run([sys.executable, "-m", __name__, "--check"], capture_output=True, text=True, check=False)
    return (done.stderr.strip().splitlines() or ["no reason"])[-1] if done.returncode else None


def _partitioner() -> Any:
    """The extension module; it asks for jaxlib under its name in another package."""
    import jaxlib
    import jaxlib._jax

    sys.modules["jax.jaxlib"] = jaxlib
    sys.modules["jax.jaxlib._jax"] = jaxlib._jax
    from jaxlib import _sdy_mpmd

    return _sdy_mpmd


def _answer(request: dict[str, Any]) -> dict[str, str]:
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import mpmd

    partitioner = _partitioner()
    phases = partitioner.PartitioningPhase

    def mesh(number: int | None) -> str | None:
        return None if number is None else f"mesh{number}"

    def run(which: Any) -> str:
        with make_ir_context() as context:
            mpmd.register_dialect(context)
            module = ir.Module.parse(request["text"])
            found = partitioner.apply_mpmd_partitioning(
                module, "main", [(f"mesh{n}", [("x", 1)]) for n in range(len(request["assignment"]))],
                {name: (f"mesh{n}", n) for name, n in request["assignment"].items()},
                [mesh(n) for n in request["inputs"]], [mesh(n) for n in request["outputs"]], [],
                partitioning_options=request["options"], fragment_merge_rules=[], fragment_schedule_rules=[],
                phases=which,
            )  # fmt: skip
            return str(found.mpmd_module)

    return {"scheduled": run(phases.IMPORT | phases.OPTIMIZE), "final": run(phases.ALL)}


def main() -> None:
    if "--check" in sys.argv:
        _partitioner()
        return
    print("\n" + json.dumps(_answer(json.load(sys.stdin))))


if __name__ == "__main__":
    main()
