"""What a step of a pipeline consists of: compiled fragments, the buffers between them, and copies to other devices.

A device is one of the pipeline: a group of devices with a mesh of its own, which runs a fragment all together.
"""

from __future__ import annotations

import functools
import graphlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pcg.pipeline.errors import PipelineError
from pcg.pipeline.schedule import KINDS

PREPARE, DEFERRED, UPDATE = "prepare", "deferred", "update"


@dataclass(frozen=True)
class Buffer:
    """A value on one device."""

    name: str
    device: int
    bytes: int
    """On each device of the group."""
    varying: bool = True
    """One per microbatch; else one per step."""


@dataclass(frozen=True)
class Fragment:
    """A compiled program.

    `F`, `B`, `W` and `BW` run once per microbatch, `prepare` once before the first microbatch, `update` once after the
    last, `deferred` once behind the forward passes that a device begins with: what is left to do of the step before.
    """

    name: str
    kind: str
    stage: int
    """Of F, B, W and BW the schedule's stage; of others it says only where they come from."""
    device: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    accumulates: tuple[str, ...] = ()
    """Sums over microbatches, which it reads and replaces; its first run reads none of them and begins them."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Pairs of what it reads and what it writes in the same memory: nothing reads the first one after it."""
    workspace: int = 0
    """Bytes of temporaries, on each device of the group, while it runs."""

    @property
    def varying(self) -> bool:
        """Whether it runs once per microbatch."""
        return self.kind in KINDS


@dataclass(frozen=True)
class Transfer:
    """A copy of a buffer on another device."""

    source: str
    target: str


@dataclass(frozen=True)
class Step:
    """A step of `microbatches` on `devices`.

    Raises PipelineError for names that are not there, buffers that nothing or more than one thing writes, readers on
    other devices or before what they read can be there, and fragments that wait for each other.
    """

    microbatches: int
    devices: int
    buffers: tuple[Buffer, ...]
    fragments: tuple[Fragment, ...]
    transfers: tuple[Transfer, ...] = ()
    arguments: tuple[str, ...] = ()
    """Buffers that are there before the step, of varying ones those of all microbatches."""
    donated: tuple[str, ...] = ()
    """Arguments that the step may free or write over; the others belong to the caller."""
    results: tuple[str, ...] = ()
    """Buffers that are there after the step."""
    verdict: tuple[str, ...] = ()
    """Buffers that are there until it is known whether the update of the step before was right."""

    def __post_init__(self) -> None:
        if self.microbatches < 1 or self.devices < 1:
            raise PipelineError(f"{self.microbatches} microbatches on {self.devices} devices; allowed: 1 or more")
        _unique("buffers", (b.name for b in self.buffers))
        _unique("fragments", (f.name for f in self.fragments))
        for b in self.buffers:
            if not 0 <= b.device < self.devices:
                raise PipelineError(f"buffer {b.name} on device {b.device}; allowed: 0 to {self.devices - 1}")
            if b.bytes < 0:
                raise PipelineError(f"buffer {b.name} of {b.bytes} bytes; allowed: 0 or more")
        for name in ("arguments", "donated", "results", "verdict"):
            names = getattr(self, name)
            _unique(name, names)
            self._known(name, names)
        if other := [n for n in self.donated if n not in self.arguments]:
            raise PipelineError(f"{other[0]} is donated and no argument; allowed: arguments")
        for f in self.fragments:
            self._check_fragment(f)
        self._check_transfers()
        self._check_writers()
        self._check_stages()
        self._check_phases()
        _ = self.sequence

    @functools.cached_property
    def buffer(self) -> dict[str, Buffer]:
        """By name."""
        return {b.name: b for b in self.buffers}

    @functools.cached_property
    def fragment(self) -> dict[str, Fragment]:
        """By name."""
        return {f.name: f for f in self.fragments}

    @functools.cached_property
    def sums(self) -> frozenset[str]:
        """Buffers that fragments accumulate."""
        return frozenset(n for f in self.fragments for n in f.accumulates)

    @functools.cached_property
    def copies(self) -> dict[str, tuple[int, ...]]:
        """The transfers of each buffer that is copied, as numbers."""
        found: dict[str, tuple[int, ...]] = {}
        for n, t in enumerate(self.transfers):
            found[t.source] = (*found.get(t.source, ()), n)
        return found

    @functools.cached_property
    def sequence(self) -> tuple[Fragment, ...]:
        """All fragments, each after those whose results it reads."""
        writer = {n: f.name for f in self.fragments for n in (*f.writes, *f.accumulates)}
        source = {t.target: t.source for t in self.transfers}
        graph = {f.name: [writer[n] for r in f.reads if (n := source.get(r, r)) in writer] for f in self.fragments}
        try:
            return tuple(self.fragment[n] for n in graphlib.TopologicalSorter(graph).static_order())
        except graphlib.CycleError as error:
            raise PipelineError(f"fragments wait for each other: {', '.join(error.args[1])}") from None

    def instances(self, name: str) -> Iterator[int | None]:
        """The microbatches of a buffer; None of one per step."""
        yield from range(self.microbatches) if self.buffer[name].varying else (None,)

    def instance(self, name: str, microbatch: int | None) -> tuple[str, int | None]:
        """What a run for a microbatch uses of a buffer."""
        return name, microbatch if self.buffer[name].varying else None

    def _known(self, where: str, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.buffer:
                raise PipelineError(f"{where}: there is no buffer {name!r}")

    def _check_fragment(self, f: Fragment) -> None:
        where = f"fragment {f.name}"
        if f.kind not in (kinds := (*KINDS, PREPARE, DEFERRED, UPDATE)):
            raise PipelineError(f"{where} is of kind {f.kind!r}; allowed: {', '.join(kinds)}")
        if not 0 <= f.device < self.devices:
            raise PipelineError(f"{where} on device {f.device}; allowed: 0 to {self.devices - 1}")
        if f.workspace < 0:
            raise PipelineError(f"{where} has a workspace of {f.workspace} bytes; allowed: 0 or more")
        names = (*f.reads, *f.writes, *f.accumulates)
        _unique(where, names)
        self._known(where, names)
        for n in names:
            if self.buffer[n].device != f.device:
                other = self.buffer[n].device
                raise PipelineError(f"{where} on device {f.device} uses {n}, which is on device {other}")
        for n in f.writes if f.varying else (*f.reads, *f.writes):
            if self.buffer[n].varying != f.varying:
                runs, kind = ("microbatch", "one per step") if f.varying else ("step", "one per microbatch")
                raise PipelineError(f"{where} runs once per {runs} and uses {n}, {kind}")
        for n in f.accumulates:
            if not f.varying or self.buffer[n].varying:
                raise PipelineError(f"{where} accumulates {n}; allowed: F, B, W, BW, in buffers that are one per step")
        _unique(f"{where}, aliases", (n for pair in f.aliases for n in pair))
        for old, new in f.aliases:
            if old not in f.reads or new not in f.writes:
                raise PipelineError(f"{where} writes {new} over {old}; allowed: what it writes over what it reads")
            if self.buffer[old].bytes != self.buffer[new].bytes or self.buffer[old].varying != self.buffer[new].varying:
                raise PipelineError(f"{where} writes {new} over {old}; allowed: buffers of the same size")
            if old in self.results or (old in self.arguments and old not in self.donated):
                raise PipelineError(f"{where} writes over {old}, which is there after the step")

    def _check_transfers(self) -> None:
        targets = {t.target for t in self.transfers}
        for t in self.transfers:
            where = f"transfer from {t.source} to {t.target}"
            self._known(where, (t.source, t.target))
            a, b = self.buffer[t.source], self.buffer[t.target]
            if a.device == b.device:
                raise PipelineError(f"{where}: both are on device {a.device}; allowed: two devices")
            if a.varying != b.varying:
                raise PipelineError(f"{where}: one is one per microbatch, the other one per step")
            if t.source in targets:
                raise PipelineError(f"{where}: {t.source} is a copy itself; allowed: what a fragment writes, arguments")

    def _check_writers(self) -> None:
        writers = [("an argument", n) for n in self.arguments]
        writers += [(f"fragment {f.name}", n) for f in self.fragments for n in (*f.writes, *f.accumulates)]
        writers += [(f"a transfer from {t.source}", t.target) for t in self.transfers]
        by: dict[str, str] = {}
        for who, name in writers:
            if name in by:
                raise PipelineError(f"buffer {name} is written twice: {by[name]}, {who}")
            by[name] = who
        for b in self.buffers:
            if b.name not in by:
                raise PipelineError(f"nothing writes buffer {b.name}, and it is no argument")

    def _check_stages(self) -> None:
        seen: dict[tuple[int, str], Fragment] = {}
        device: dict[int, Fragment] = {}
        for f in self.fragments:
            if not f.varying:
                continue
            others = {"BW": ("B", "W", "BW"), "F": ("F",)}.get(f.kind, (f.kind, "BW"))
            for kind in others:
                if (f.stage, kind) in seen:
                    other = seen[f.stage, kind]
                    raise PipelineError(
                        f"stage {f.stage} has fragments {other.name} ({other.kind}) and {f.name} ({f.kind}); allowed:"
                        " one F, and one B and one W or one BW"
                    )
            seen[f.stage, f.kind] = f
            first = device.setdefault(f.stage, f)
            if first.device != f.device:
                raise PipelineError(
                    f"stage {f.stage} is on device {first.device} ({first.name}) and on {f.device} ({f.name})"
                )

    def _check_phases(self) -> None:
        """What is read once per microbatch, or before the first one, is there by then."""
        source = {t.target: t.source for t in self.transfers}
        after = {n for f in self.fragments if f.kind == UPDATE for n in f.writes} | self.sums
        for f in self.fragments:
            for n in f.reads if f.kind != UPDATE else ():
                if source.get(n, n) in after:
                    when = "which is there after all microbatches"
                    raise PipelineError(f"fragment {f.name} ({f.kind}) reads {n}, {when}")
        for n in self.verdict:
            if source.get(n, n) not in self.arguments:
                raise PipelineError(f"the verdict on the step before needs {n}; allowed: arguments, and copies of them")


def _unique(where: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise PipelineError(f"{where}: {name!r} is there {count} times")
