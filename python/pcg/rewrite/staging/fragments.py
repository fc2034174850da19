"""Which op of a step belongs to which program of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.stages import PHASE, stage_number, symbols_used
from pcg.ir.walk import in_block, outer_values
from pcg.rewrite.backward.phases import ORDER
from pcg.rewrite.microbatch_loop import of_microbatches
from pcg.rewrite.staging.predictions import Predictions, Unread
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.rules.values import free_values
from pcg.search.roles import state_of

#: What a `pcg.stage` does: "prepare" (once, before the microbatches), "forward", "backward", "weight" (gradients of
#: parameters; these three once per microbatch), or "update" (once, after them).
PHASES = ("prepare", *ORDER)
#: Those that run once per microbatch.
VARYING = PHASES[1:4]


class Fragment(NamedTuple):
    """Which program an op belongs to."""

    phase: str
    place: int
    """The stage; of what runs once per step the group, which may have several stages."""
    round: int = 0
    """Of updates: how often what it reads has come from another group, where it reads no number that is predicted."""
    predicted: int = 0
    """Of updates: how many of the predicted numbers that it depends on depend on each other."""


def phase_of(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes[PHASE]).value if PHASE in op.attributes else ""


@dataclass
class Fragments:
    """Which op of a function, all of whose ops have stages and phases, is in which fragment; nothing is changed.

    Raises:
      PcgError: an op has no stage or phase, or fragments would need each other's results.
    """

    func: ir.Operation
    groups: Sequence[int]
    """The group of each stage."""
    order: list[Fragment] = field(init=False)
    """All fragments, each after those that it needs."""

    def __post_init__(self) -> None:
        self.block = self.func.regions[0].blocks[0]
        *self.ops, self.last = (op.operation for op in self.block.operations)
        self.reads = [outer_values(op) for op in self.ops]
        self.index = {v: i for i, op in enumerate(self.ops) for v in op.results}
        for op in self.ops:
            if found := symbols_used(op):
                raise PcgError(f"'{op.name}' op refers to the function {found[0]}; allowed: ops without calls", op)
        self.free = free_values(self.block)
        inside = of_microbatches(self.func)
        self.inside = [op in inside for op in self.ops]
        self.predictions = self._predictions()
        self.home: dict[int, Fragment] = {}
        """By number of the op: its fragment; of those before the microbatches none, they go where they are read."""
        self.returned: dict[int, Fragment] = {}
        """Of those that are returned: the fragment whose result that is."""
        self._fragments()
        self.contents: dict[Fragment, dict[int, None]] = {}
        for i, fragment in self.home.items():
            self.contents.setdefault(fragment, {})[i] = None
        self._prepare()
        self.order = self._ordered()

    def group(self, fragment: Fragment) -> int:
        """The group that runs a fragment."""
        return self.groups[fragment.place] if fragment.phase in VARYING else fragment.place

    def _fragments(self) -> None:
        """The fragments of the ops that have a stage."""
        rounds: dict[ir.Value, tuple[int, int, int]] = {}  # of values of the update: (round, predicted, group)
        predicted = set(self.predictions.values)
        for i, op in enumerate(self.ops):
            stage = stage_number(op)
            if op.name in ("pcg.pipeline", "pcg.batch"):
                if op.name == "pcg.batch":
                    if stage is None:
                        raise PcgError("'pcg.batch' op has no stage; run pcg-assign-stages first", op)
                    rounds[op.results[0]] = 0, 0, self.groups[stage]
                continue
            if op.results and op.results[0] in self.free:
                continue
            if self.inside[i]:
                phase = phase_of(op)
                if stage is None or phase not in VARYING:
                    raise PcgError(
                        f"'{op.name}' op of a microbatch has stage {stage} and phase {phase!r}; run pcg-assign-stages"
                        " and pcg-split-backward first", op,
                    )  # fmt: skip
                self.home[i] = Fragment(phase, stage)
            elif read := [v for v in self.reads[i] if v in rounds]:
                if stage is None:
                    raise PcgError(f"'{op.name}' op has no stage; run pcg-assign-stages first", op)
                group = self.groups[stage]
                number = level = 0
                speculates = any(r in self.predictions.needed and r not in predicted for r in op.results)
                for v in read:
                    r, p, g = rounds[v]
                    if speculates and v in predicted:
                        level = max(level, p + 1)
                    else:
                        number, level = max(number, r + (g != group)), max(level, p)
                self.home[i] = Fragment("update", group, number, level)
                rounds.update(dict.fromkeys(op.results, (number, level, group)))

    def _predictions(self) -> Predictions:
        """The numbers on which the updates of several groups wait."""
        found: dict[ir.Value, int] = {}
        ops: list[ir.Operation] = []
        group: dict[ir.Operation, int] = {}
        for i, op in enumerate(self.ops):
            stage = stage_number(op)
            if stage is None or self.inside[i] or op.name == "pcg.pipeline" or any(r in self.free for r in op.results):
                continue
            if op.name != "pcg.batch" and any(v in found for v in self.reads[i]):
                ops.append(op)
                group[op] = self.groups[stage]
            elif op.name != "pcg.batch":
                continue
            found.update(dict.fromkeys(op.results, self.groups[stage]))
        sums = {v: g for v, g in found.items() if v.owner.operation.name == "pcg.batch"}
        return Predictions(ops, group, sums, [self.last.operands[r] for r in state_of(self.func)])

    def unread(self) -> list[Unread]:
        """Which predicted numbers do not matter for which values of others."""
        return self.predictions.unread(
            lambda op: self.home[self.index[op.results[0]]].predicted > 0, list(self.last.operands)
        )  # fmt: skip

    def _light(self, i: int) -> bool:
        """Whether an op is repeated in each fragment that reads it rather than kept for all microbatches."""
        op = self.ops[i]
        return all(r in self.free for r in op.results) or traits.has(op.name, Trait.FORWARDS | Trait.SPREADS)

    def _prepare(self) -> None:
        """Put ops from before the microbatches where they are read; those that are not light run once per step."""
        for fragment in list(self.contents):
            self._take(fragment, list(self.contents[fragment]))
        for op in self.ops:
            if op.name == "pcg.pipeline":
                for group in self.groups_reading(op.results[0]):
                    self._need(Fragment("prepare", group), op.operands[0])
        for v in self.last.operands:  # as a number of steps
            i = self.index.get(v)
            if i is None or i in self.home or v in self.free or self.ops[i].name in ("pcg.pipeline", "pcg.batch"):
                continue
            updates = [f for f, ops in self.contents.items() if f.phase == "update" and i in ops]
            self.returned[i] = min(updates, default=Fragment("prepare", 0))
            if not updates:
                self._need(self.returned[i], v)
        for fragment, contents in self.contents.items():
            self.contents[fragment] = dict.fromkeys(sorted(contents))

    def _take(self, fragment: Fragment, work: list[int]) -> None:
        """Add what the ops `work` of a fragment read from before the microbatches."""
        while work:
            for v in self.reads[work.pop()]:
                i = self.index.get(v)
                if i is None or i in self.home or self.ops[i].name in ("pcg.pipeline", "pcg.batch"):
                    continue
                if self._light(i) or fragment.phase in ("prepare", "update"):
                    if i not in self.contents[fragment]:
                        self.contents[fragment][i] = None
                        work.append(i)
                else:
                    self._need(Fragment("prepare", self.group(fragment)), v)

    def _need(self, fragment: Fragment, value: ir.Value) -> None:
        """Let a group prepare a value."""
        i = self.index.get(value)
        if i is not None and i not in self.contents.setdefault(fragment, {}):
            self.contents[fragment][i] = None
            self._take(fragment, [i])

    def groups_reading(self, value: ir.Value) -> list[int]:
        return sorted({self.group(f) for f, ops in self.contents.items() if any(value in self.reads[i] for i in ops)})

    def _ordered(self) -> list[Fragment]:
        """The fragments, each after what it reads; of those that are ready, as the phases are."""
        needs: dict[Fragment, set[Fragment]] = {}
        for fragment, contents in self.contents.items():
            found: set[Fragment] = set()
            for i in contents:
                for v in self.reads[i]:
                    j = self.index.get(v)
                    while j is not None and self.ops[j].name in ("pcg.pipeline", "pcg.batch"):
                        j = self.index.get(self.ops[j].operands[0])
                    if j is not None and j not in contents:
                        found.add(self.home.get(j, Fragment("prepare", self.group(fragment))))
            needs[fragment] = found - {fragment}

        def key(f: Fragment) -> tuple[int, int, int, int]:
            place = -f.place if f.phase in ("backward", "weight") else f.place
            return PHASES.index(f.phase), f.predicted, f.round, place

        order: list[Fragment] = []
        left = sorted(needs, key=key)
        while left:
            ready = next((f for f in left if needs[f] <= set(order)), None)
            if ready is None:
                names = ", ".join(f"{f.phase} {f.place}" for f in left)
                raise PcgError(f"fragments need each other's results: {names}", self.func)
            order.append(ready)
            left.remove(ready)
        return order

    def leaves(self, value: ir.Value, fragment: Fragment) -> bool:
        """Whether what a fragment computes is read outside of it."""
        i = self.index[value]
        if i in self.home and self.home[i] != fragment:
            return False
        for use in value.uses:
            op = in_block(use.owner.operation, self.func)
            if op == self.last:
                leaves = i in self.home or self.returned.get(i) == fragment
            elif op.name == "pcg.batch":
                leaves = True
            elif op.name == "pcg.pipeline":
                leaves = i in self.home or (
                    fragment.phase == "prepare" and fragment.place in self.groups_reading(op.results[0])
                )
            elif i in self.home:
                leaves = any(f != fragment for f in self._places(op))
            else:  # each group prepares its own
                places = [f for f in self._places(op) if i not in self.contents[f]]
                leaves = fragment.phase == "prepare" and any(self.group(f) == fragment.place for f in places)
            if leaves:
                return True
        return False

    def _places(self, op: ir.Operation) -> list[Fragment]:
        """The fragments that an op is in."""
        i = self.index[op.results[0]]
        return [self.home[i]] if i in self.home else [f for f, ops in self.contents.items() if i in ops]
