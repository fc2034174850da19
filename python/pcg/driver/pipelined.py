"""A pipelined program: its fragments as each device runs them, and what goes between them.  Needs no jax."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pcg.driver.program import Program, tensor_bytes
from pcg.driver.state import state_of
from pcg.layout import Mesh, ShardSpec
from pcg.pipeline.overlap import (
    POST_VALIDATED,
    SYNCHRONOUS,
    TWO_VERSIONS,
    Overlap,
    Update,
    post_validated,
    two_versions,
)  # fmt: skip
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.step import Buffer, Fragment, Step, Transfer


@dataclass(frozen=True)
class Value:
    """A tensor between fragments, on one group of devices."""

    name: str
    group: int
    shape: tuple[int, ...]
    """Of the tensor; each device has the part that `spec` says."""
    element: str
    spec: ShardSpec
    varying: bool
    """One per microbatch; else one per step."""

    def bytes(self, mesh: Mesh) -> int:
        """On one device."""
        return int(tensor_bytes(self.spec.local_shape(self.shape, mesh), self.element))


@dataclass(frozen=True)
class FragmentProgram:
    """What a group runs of a stage in one phase."""

    name: str
    phase: str
    stage: int
    """Of phases that run once per step: the group."""
    group: int
    reads: tuple[str, ...]
    outputs: tuple[str | None, ...]
    """Names of the program's results; None of those that are only added up."""
    sums: tuple[tuple[str, int, str], ...]
    """(sum over microbatches, number of the result that is added to it, kind of reduction)."""
    text: str = field(repr=False)
    """The program of each device, StableHLO in generic form: of what it reads, and the sums so far, to what it writes,
    and the sums; see `pcg.lower.fragment`."""
    start: str = field(repr=False)
    """The program of each device that returns what the sums begin with; empty if there are none."""
    in_specs: tuple[ShardSpec, ...]
    out_specs: tuple[ShardSpec, ...]
    out_types: tuple[tuple[tuple[int, ...], str], ...]
    """(shape, element type) of each result, over all devices of the group."""
    seconds: float = 0.0
    """Estimated time of one run."""
    waits: bool = False
    """Whether it depends on numbers that are predicted."""

    @property
    def writes(self) -> tuple[str, ...]:
        return tuple(n for n in self.outputs if n is not None)


@dataclass(frozen=True)
class Division:
    """A value of the step as its microbatches (`source` -> `target`), or microbatches as a value of the step."""

    source: str
    target: str
    dim: int
    block: int


@dataclass(frozen=True)
class PipelineProgram:
    """A step on groups of devices, each with a mesh of its own.

    First come the ops of `first`, in order: transfers, divisions and fragments that run before the microbatches; then
    what `step()` describes, and at last the microbatches of results are joined (`joins`).
    """

    program: Program
    microbatches: int
    meshes: tuple[Mesh, ...]
    """By group; device numbers are positions among the devices of all groups."""
    placement: tuple[int, ...]
    """The group of each stage."""
    values: Mapping[str, Value]
    fragments: tuple[FragmentProgram, ...]
    transfers: tuple[tuple[str, str], ...]
    first: tuple[Division | FragmentProgram | tuple[str, str], ...]
    joins: tuple[Division, ...]
    arguments: tuple[str, ...]
    """The value of each argument of the program; of one that is stacked over layers, those of its layers."""
    results: tuple[str, ...]
    """The value of each result, or those of its layers; of a join its target."""
    text: str = field(repr=False)
    """The module of placed fragments."""
    remarks: tuple[tuple[str, str, str], ...] = field(repr=False)
    stacked_arguments: tuple[int, ...] = ()
    """For each argument of the program the layers of which each is a value, with dimension 0; 0: it is one value."""
    stacked_results: tuple[int, ...] = ()
    predicted: tuple[str, ...] = ()
    """Numbers of the update that wait for several groups, and on which the state of each of them depends."""
    unread: tuple[tuple[str, str, bool], ...] = ()
    """(one of them, another one that is a predicate, its value for which no state depends on the first one)."""
    transfer: float = 0.0
    """Seconds that what one fragment sends to another group for a microbatch takes, the longest."""
    updates: str = SYNCHRONOUS
    """How steps follow each other, one of `pcg.pipeline.overlap.UPDATES`."""

    @cached_property
    def donated(self) -> frozenset[str]:
        """Arguments that the step may free: those that the caller donates, and the layers of stacked ones, which are
        copies."""
        counts = self.stacked_arguments or (0,) * len(self.arguments)
        owned = (
            own for i, own in enumerate(_grouped(self.arguments, counts)) if counts[i] or i in self.program.donated
        )
        return frozenset(n for own in owned for n in own)

    @cached_property
    def aliases(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """By fragment of the update: what it reads for the last time, and writes something of the same form over.

        That are gradients, which nothing reads after the optimizer, and state that the caller donates.  With
        post-validation state is not written over, and nothing by what waits; with two versions of the parameters no
        state that is read before all fragments.
        """
        readers = Counter(n for f in self.fragments for n in f.reads)
        readers.update(source for source, _ in self.transfers)
        readers.update(self.results)
        free = self.donated | {n for f in self.fragments for n, _, _ in f.sums}
        if self.updates == POST_VALIDATED:
            free -= {*self.arguments}
        elif self.updates == TWO_VERSIONS:
            free -= self.early
        found = {}
        for f in self.fragments:
            if f.phase != "update" or (f.waits and self.updates == POST_VALIDATED):
                continue
            old = [n for n in f.reads if n in free and readers[n] == 1]
            pairs = []
            for new in f.writes:
                form = self._form(new)
                over = next((n for n in old if self._form(n) == form), None)
                if over is not None:
                    old.remove(over)
                    pairs.append((over, new))
            found[f.name] = tuple(pairs)
        return found

    @property
    def early(self) -> frozenset[str]:
        """What is read before all fragments of the step."""
        found: set[str] = set()
        for op in self.first:
            if isinstance(op, FragmentProgram):
                found.update(op.reads)
            else:
                found.add(op.source if isinstance(op, Division) else op[0])
        return frozenset(found)

    @cached_property
    def state(self) -> Mapping[str, str]:
        """Result -> the argument whose next value it is, of both the value, or those of its layers."""
        if self.program.in_tree is None:
            return {}
        arguments, results = (
            _grouped(names, counts or (0,) * len(names))
            for names, counts in ((self.arguments, self.stacked_arguments), (self.results, self.stacked_results))
        )
        pairs = [(results[r], arguments[a]) for r, a in state_of(self.program).items()]
        return {n: a for new, old in pairs if len(new) == len(old) for n, a in zip(new, old, strict=True)}

    def overlap(self, step: Step) -> Overlap | None:
        """Steps that follow each other as `updates` says; None where each one is by itself."""
        waiting = frozenset(f.name for f in self.fragments if f.waits)
        update = Update(step, self.predicted, waiting, self.state)
        if self.updates == POST_VALIDATED and waiting:
            return post_validated(update)
        if self.updates == TWO_VERSIONS:
            single = [n for n in self.arguments if math.prod(self.values[n].shape) == 1]
            return two_versions(update, single, self.early)
        return None

    def _form(self, name: str) -> tuple[object, ...]:
        value = self.values[name]
        return value.shape, value.element, value.spec

    def problem(self) -> Pipeline:
        """What schedules are made for: estimated seconds, and bytes of activations on a device."""
        count = len(self.placement)
        times = {kind: [0.0] * count for kind in ("forward", "backward", "weight")}
        until_backward, until_weight = [0.0] * count, [0.0] * count
        by_stage = {(f.phase, f.stage): f for f in self.fragments if f.phase in times}
        for (phase, stage), f in by_stage.items():
            times[phase][stage] = f.seconds
        for stage, group in enumerate(self.placement):
            mesh = self.meshes[group]
            forward, backward, weight = (by_stage.get((kind, stage)) for kind in times)
            own = {n for f in (forward,) if f for n in (*f.reads, *f.writes) if self.values[n].varying}
            later = {n for f in (backward, weight) if f for n in f.reads if self.values[n].varying}
            made = {n for f in (backward,) if f for n in f.writes}
            final = {n for n in (weight.reads if weight else ()) if self.values[n].varying} & (own | made)
            until_backward[stage] = float(sum(self.values[n].bytes(mesh) for n in own & later))
            until_weight[stage] = float(sum(self.values[n].bytes(mesh) for n in final))
        # A stage whose F makes nothing for its B (only recomputation) still has its own input.
        activation = [max(a, w, 1.0) for a, w in zip(until_backward, until_weight, strict=True)]
        least = max((f.seconds for f in by_stage.values()), default=0.0) * 1e-6 or 1e-12
        forward_times, backward_times = (tuple(max(t, least) for t in times[k]) for k in ("forward", "backward"))
        return Pipeline(
            self.placement, self.microbatches, forward_times, backward_times, tuple(times["weight"]), self.transfer,
            tuple(activation), tuple(until_weight),
        )  # fmt: skip

    def step(self, workspace: Mapping[str, int] | None = None) -> Step:
        """What the instructions of devices are made from; `workspace`: bytes of temporaries by fragment."""
        workspace = workspace or {}
        ours = {n for f in self.fragments for n in (*f.reads, *f.writes, *(s for s, _, _ in f.sums))}
        ours |= {n for pair in self.transfers for n in pair}
        joined = {j.target: j.source for j in self.joins}
        results = dict.fromkeys(joined.get(n, n) for n in self.results)
        ours |= {*results}
        written = {n for f in self.fragments for n in (*f.writes, *(s for s, _, _ in f.sums))}
        written |= {target for _, target in self.transfers}
        there = sorted(ours - written, key=list(self.values).index)
        kept = {*self.arguments} - self.donated
        kinds = {"forward": "F", "backward": "B", "weight": "W", "update": "update"}
        results.update(dict.fromkeys(self.predicted if self.updates == POST_VALIDATED else ()))
        return Step(
            self.microbatches,
            len(self.meshes),
            tuple(
                Buffer(v.name, v.group, v.bytes(self.meshes[v.group]), v.varying)
                for v in self.values.values() if v.name in ours
            ),
            tuple(
                Fragment(
                    f.name, kinds[f.phase], f.stage, f.group, tuple(dict.fromkeys(f.reads)), f.writes,
                    tuple(s for s, _, _ in f.sums), self.aliases.get(f.name, ()), workspace.get(f.name, 0),
                )
                for f in self.fragments
            ),
            tuple(Transfer(a, b) for a, b in self.transfers),
            tuple(there),
            tuple(n for n in there if n not in kept and n not in results),
            tuple(results),
        )  # fmt: skip


def _grouped(names: Sequence[str], counts: Sequence[int]) -> list[tuple[str, ...]]:
    """The values of each argument, or result; `counts`: its layers, of which each is one, or 0."""
    left = iter(names)
    return [tuple(itertools.islice(left, count or 1)) for count in counts]
