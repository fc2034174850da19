"""Compiling in every process of a multi-controller job: all must run one program, or none.  Imports jax.

In a job of `jax.distributed` each process traces, plans and compiles by itself, and all devices run what comes of it.
Processes that do not run the same collectives in the same order get wrong values, or wait for each other for ever.  So
whoever compiles for devices of several processes compares what came of it with the others, by jax's coordination
service: a message to the process with the lowest number and one back, without a computation on devices.

Plans are the same for the same program, unless a search ended by its time limit, or processes know different machines:
then all take that of the process with the lowest number.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from pcg.driver.plan import Plan
from pcg.driver.program import Leaf, ProgramError
from pcg.layout import MeshError
from pcg.runtime import jax_compat
from pcg.runtime.executable import Executable

#: Seconds until every process must have compiled what one of them has.
DEADLINE = 600.0
#: Characters of a description above which its digest is compared.
_LONG = 20_000
_PLAN = "plan"
_lock = threading.Lock()
_counters: dict[tuple[int, ...], Iterator[int]] = {}


class AgreementError(ProgramError):
    """Processes of a job do not compile the same program."""


@dataclass(frozen=True)
class Processes:
    """The processes that have the devices of a mesh, of which this one, `own`, is one."""

    numbers: tuple[int, ...]
    own: int

    def compile(
        self, build: Callable[[], Executable], planned: Callable[[Plan], Executable], options: Mapping[str, str]
    ) -> Executable:
        """What `build` compiles, if all processes compile the same; else what `planned` makes of the plan of one.

        Args:
          options: what else must be the same in all of them, as text by name.

        Raises:
          AgreementError: the processes compile different programs, one could not compile it, or did not till the
            deadline.
        """
        executable, verdict = self._compared(build, options)
        if verdict.get(_PLAN):
            plan = Plan.from_json(_unpacked(verdict[_PLAN]))
            executable, verdict = self._compared(lambda: planned(plan), options)
            if verdict.get(_PLAN):
                raise AgreementError(
                    f"{executable.program.name}: the processes {list(self.numbers)} lower one plan differently;"
                    " allowed: the same versions of pcg and jax in all of them"
                )
        return executable

    def _compared(
        self, build: Callable[[], Executable], options: Mapping[str, str]
    ) -> tuple[Executable, dict[str, str]]:
        with _lock:
            number = next(_counters.setdefault(self.numbers, itertools.count()))
        try:
            executable = build()
        except Exception as error:
            first = (str(error).strip() or type(error).__name__).splitlines()[0]
            self._exchange(number, {"error": first[:500]}, lambda: "")
            raise
        plan = executable.plan
        found = _description(executable) | dict(options)
        verdict = self._exchange(number, found, lambda: _packed(plan.to_json(program=False)))
        if "error" in verdict:
            raise AgreementError(verdict["error"])
        return executable, verdict

    def _exchange(self, number: int, message: Mapping[str, str], plan: Callable[[], str]) -> dict[str, str]:
        """Tell the first process what this one compiled; what that says about all of them."""
        service = jax_compat.coordination()
        key = hashlib.sha256(repr(self.numbers).encode()).hexdigest()[:12]
        place = f"pcg/compiled/{key}"
        first, *others = self.numbers
        end = time.monotonic() + DEADLINE
        if self.own != first:
            service.set(f"{place}/{number}/{self.own}", json.dumps(message))
            if "error" in message:
                return {}
            text = service.get(f"{place}/{number}/verdict", DEADLINE)
            if text is None:
                text = service.set_first(f"{place}/{number}/verdict", json.dumps(_missing(first, message["program"])))
            return dict(json.loads(text))
        verdict: dict[str, str] = {}
        for process in others:
            if "error" in message:
                verdict = {"error": f"process {first} of {list(self.numbers)} could not compile: {message['error']}"}
                break
            text = service.get(f"{place}/{number}/{process}", max(end - time.monotonic(), 0.0))
            if text is None:
                verdict = _missing(process, message["program"])
                break
            theirs = json.loads(text)
            if (difference := _difference((first, message), (process, theirs))) is not None:
                verdict = {"error": difference}
                break
            if message[_PLAN] != theirs[_PLAN]:
                verdict = {_PLAN: "differs"}
        if verdict.get(_PLAN):
            verdict = {_PLAN: plan()}
        # A process that did not wait so long has written that there is none.
        verdict = json.loads(service.set_first(f"{place}/{number}/verdict", json.dumps(verdict)))
        if number and "error" not in verdict:  # all have read what was before
            service.delete(f"{place}/{number - 1}")
        return verdict


def processes_of(devices: Sequence[Any]) -> Processes | None:
    """The processes that have `devices`; None if this one has all, or if they are stand-ins for devices.

    Raises:
      MeshError: none of the devices is this process's, which could not run anything on them.
    """
    if jax.process_count() == 1 or not all(isinstance(d, jax.Device) for d in devices):
        return None
    numbers, own = tuple(sorted({d.process_index for d in devices})), jax.process_index()
    if numbers == (own,):
        return None
    if own not in numbers:
        raise MeshError(
            f"the {len(devices)} devices of the mesh belong to processes {list(numbers)}, this is process {own} of"
            f" {jax.process_count()}; allowed: compiling for a mesh in the processes that have its devices"
        )
    return Processes(numbers, own)


def _description(executable: Executable) -> dict[str, str]:
    """What a process compiled, as texts by what they say."""
    c, program = executable.compilation, executable.program
    donated = [program.arguments[i].name for i in sorted(program.donated)]
    return {
        "program": program.name,
        "mesh": str(c.mesh.origin),
        "devices": str([d.id for d in executable.jax_mesh.devices.flat]),
        "arguments": _leaves(program.arguments),
        "results": _leaves(program.results),
        "donated": ", ".join(donated) or "nothing",
        "constants": _digest(*program.constant_digests),
        "body": _digest(c.plan.source),
        _PLAN: _digest(c.local_text, str(c.mesh), *map(str, c.in_specs), *map(str, c.out_specs)),
    }


def _leaves(leaves: Sequence[Leaf]) -> str:
    text = "\n".join(f"{x.name}: {x}" for x in leaves)
    return text if len(text) <= _LONG else _digest(text)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _is_digest(text: str) -> bool:
    return re.fullmatch("[0-9a-f]{64}", text) is not None


def _difference(one: tuple[int, Mapping[str, str]], other: tuple[int, Mapping[str, str]]) -> str | None:
    """The first thing in which what two processes compiled differs, but for the plan."""
    (p, ours), (q, theirs) = one, other
    if "error" in theirs:
        return f"process {q} could not compile {ours['program']}: {theirs['error']}"
    for what in (k for k in ours if k != _PLAN):
        a, b = ours[what], theirs.get(what, "nothing")
        if a == b:
            continue
        if "\n" in a or "\n" in b:
            rows = itertools.zip_longest(a.splitlines(), b.splitlines(), fillvalue="none")
            a, b = next((x, y) for x, y in rows if x != y)
        which = what if _is_digest(a) and _is_digest(b) else f"{what}: {a:.160} in process {p}, {b:.160} in process {q}"
        return (
            f"processes {p} and {q} compile different programs named {ours['program']}; they differ in {which};"
            " allowed: the same programs in the same order in every process"
        )
    return None


def _missing(process: int, program: str) -> dict[str, str]:
    text = (
        f"process {process} has not compiled program {program!r} after {DEADLINE:g} s; allowed: the same programs in"
        " the same order in every process that has devices of the mesh"
    )
    return {"error": text}


def _packed(text: str) -> str:
    return base64.b85encode(zlib.compress(text.encode())).decode()


def _unpacked(text: str) -> str:
    return zlib.decompress(base64.b85decode(text)).decode()


def option_texts(**options: Any) -> dict[str, str]:
    """Options as texts that are equal where they mean the same; of a plan its digest."""
    return {
        name: f"plan {_digest(value.to_json(program=False))}" if isinstance(value, Plan) else str(value)
        for name, value in options.items()
    }
