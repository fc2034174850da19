"""Buying memory with time: sharded state, recomputation and microbatches, whichever combination is fastest."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry, walk
from pcg.layout import Mesh
from pcg.lower.microbatches import is_placed
from pcg.lower.temporal import CannotSplit, batch_arguments
from pcg.passes.base import Bytes, PassError
from pcg.passes.fuse_collectives import FuseCollectivesPass
from pcg.passes.insert_reshards import InsertReshardsPass
from pcg.passes.lower_spmd import LowerSpmdPass
from pcg.passes.pcg_accumulate import MICROBATCHES, AccumulatePass
from pcg.passes.pcg_hold_copies import HoldCopiesPass
from pcg.passes.pcg_recompute import LIMIT, RecomputePass, read_placed
from pcg.search.optimize import Alternative, DoesNotFit
from pcg.search.recompute import Recomputation, Recomputer
from pcg.search.roles import data_of, state_of
from pcg.simulate import simulate

if TYPE_CHECKING:
    from pcg.passes.pcg_search import SearchPass

#: A limit that every plan fits in.
UNLIMITED = Bytes(1 << 62)
#: Most microbatches that are tried.
_MOST = 64
#: How much slower (relative) than the fastest plan that ignores memory one may be for the search to end.
_GOOD = 0.05
#: Limits for the sharding alone, over the given one, that are tried where nothing fits: recomputation does the rest.
_LOOSER = (2.0, 1.4)
#: Rounds of asking recomputation for less where the lowered program needs more than the placed one seemed to.
_ROUNDS = 3
#: What was given in the program before the search, on `dist.reshard`.
GIVEN = "pcg.given"


@dataclass
class Candidate:
    """A plan: a module with its layouts, what it takes, and the limit that recomputation brings it to (None: none)."""

    module: ir.Operation
    search: SearchPass
    microbatches: int
    seconds: float
    peak: float
    recompute: float | None

    def __str__(self) -> str:
        parts = ["sharding"]
        if self.recompute is not None:
            parts.append("recomputation")
        if self.microbatches > 1:
            parts.append(f"{self.microbatches} microbatches")
        return ", ".join(parts)


@dataclass
class MemoryPlanner:
    """Finds the fastest plan for `module` within `limit` bytes per device by the means that `search` allows.

    `placed` is the module with the layouts of the best plan that ignores memory, and `fastest` its estimate.
    """

    search: SearchPass
    module: ir.Operation
    placed: ir.Operation
    limit: float
    fastest: float
    tried: list[Candidate] = field(default_factory=list)
    needed: float = math.inf
    """Least bytes that a plan was found for."""
    most: int = 1
    """Most microbatches that were tried."""
    why_whole: str = ""
    """Why the batch was not split, if it could not be."""

    def run(self) -> Candidate:
        """Raises PassError, which names the smallest limit that would work, where no plan fits."""
        best: Candidate | None = None
        count = 1
        while count <= _MOST:
            base = self._split(count)
            if base is None:
                break
            self.most = count
            found = self._within(base, count, best is None)
            if found is not None:
                if best is not None and found.seconds >= best.seconds:
                    break
                best = found
                if best.recompute is None or best.seconds <= self.fastest * (1 + _GOOD):
                    break
            count *= 2
        if best is None:
            func = entry(self.module)
            self.search.needed = self.needed
            means = ["sharding"] + ["recomputation"] * self.search.recompute
            means += [f"{self.most} microbatches"] if self.most > 1 else []
            text = f"{DoesNotFit(self.limit, self.needed)} ({math.ceil(self.needed)} bytes, by {', '.join(means)})"
            error = PassError(func, text + (f"; {self.why_whole}" if self.why_whole else ""))
            error.needed = self.needed
            raise error
        return best

    # -- candidates ----------------------------------------------------------------------------

    def _split(self, count: int) -> ir.Operation | None:
        """The program in `count` microbatches, without layouts; None if it cannot be split so."""
        copy = copy_of(self.module)
        if count == 1:
            return copy
        func = entry(copy)
        if not self.search.accumulate or func is None or is_placed(func):
            return None
        try:
            batch_arguments(func, data_of(func, state_of(func)), count)
            AccumulatePass(count).run(copy)
        except (CannotSplit, PcgError, PassError) as error:
            if count == 2:
                self.why_whole = f"the batch cannot be split into microbatches: {getattr(error, 'message', error)}"
            return None
        return copy

    def _within(self, base: ir.Operation, count: int, first: bool) -> Candidate | None:
        """The fastest plan found for one number of microbatches; if it is not the `first`, only where that is quick."""
        best = self._plan(base, count, UNLIMITED)
        if not first:
            return best
        if best is None or best.seconds > self.fastest * (1 + _GOOD):
            sharded = self._plan(base, count, self.limit)
            if sharded is not None and (best is None or sharded.seconds < best.seconds):
                best = sharded
        if best is None and self.search.recompute:
            best = next((c for f in _LOOSER if (c := self._plan(base, count, f * self.limit)) is not None), None)
        if best is None and (least := self._least(base)) < math.inf:
            best = self._plan(base, count, least)
        return best

    def _least(self, base: ir.Operation) -> float:
        """The least bytes that the search alone finds a plan for."""
        search = self._search(Bytes(1))
        try:
            search.run(copy_of(base))
        except PassError:
            return search.needed * (1 + 1e-9) + 1
        return 1.0

    def _search(self, limit: float) -> SearchPass:
        return dataclasses.replace(
            self.search, memory_limit=Bytes(int(limit)), recompute=False, accumulate=False, progress=False,
            quick=True,
        )

    def _plan(self, base: ir.Operation, count: int, limit: float) -> Candidate | None:
        """The plan of the search within `limit`, recomputed to the limit that counts; None if that is too much."""
        search = self._search(limit)
        if count == 1 and limit == UNLIMITED:
            copy = copy_of(self.placed)
            search.outcome, search.built = self.search.outcome, self.search.built
        else:
            copy = copy_of(base)
            try:
                search.run(copy)
            except PassError:
                return None
        assert search.outcome is not None
        placed = copy_of(copy)
        InsertReshardsPass(machine=self.search.machine).run(placed)
        mesh = shardings.mesh_of(placed)
        assert isinstance(mesh, Mesh)
        model = CostModel(self.search.machine, mesh)
        func = entry(placed)
        assert func is not None
        line = read_placed(func, model).line
        solver = Recomputer(line)
        peak = self._peak(placed, None, model)
        made = Candidate(copy, search, count, search.outcome.seconds, peak, None)
        self._note(made)
        if peak <= self.limit or not self.search.recompute:
            return made if peak <= self.limit else None
        # What is fused, or copied, differs in the lowered program: where that decides, ask for less from the start.
        target = self.limit if line.peak() > self.limit else 0.98 * line.peak() * self.limit / peak
        for last in [False] * _ROUNDS + [True]:
            known = solver.least() if last else solver.fit(target)
            if known is None or not known.redo:
                continue
            peak = self._peak(placed, known, model)
            found = dataclasses.replace(
                made, seconds=made.seconds + known.seconds, peak=peak, recompute=0.0 if last else target
            )
            self._note(found)
            if peak <= self.limit:
                return found
            target *= 0.98 * self.limit / peak
        return None

    def _note(self, candidate: Candidate) -> None:
        self.tried.append(candidate)
        self.needed = min(self.needed, candidate.peak)

    def _peak(self, placed: ir.Operation, known: Recomputation | None, model: CostModel) -> float:
        """Peak of the lowered program."""
        copy = copy_of(placed)
        if known is not None:
            again = RecomputePass(machine=self.search.machine)
            again.known = known
            again.run(copy)
        FuseCollectivesPass(machine=self.search.machine).run(copy)
        LowerSpmdPass().run(copy)
        if self.search.backend == "cpu":
            HoldCopiesPass().run(copy)
        return float(simulate(copy, model, backend=self.search.backend).peak_bytes)


def copy_of(module: ir.Operation) -> ir.Operation:
    """A module of its own with the same contents (a clone of an op alone has no parent to ask for)."""
    with module.context:
        copy = ir.Module.create(module.location)
        for name in module.attributes:
            copy.operation.attributes[name] = module.attributes[name]
        for op in module.regions[0].blocks[0].operations:
            copy.body.append(op.operation.clone())
    return copy.operation


def mark_given(module: ir.Operation) -> None:
    """Mark the `dist.reshard` ops of the program itself: the search adds its own."""
    for op in walk(module):
        if op.name == "dist.reshard":
            with op.context:
                op.attributes[GIVEN] = ir.UnitAttr.get()


def take(module: ir.Operation, chosen: Candidate) -> None:
    """Make `module` the program of `chosen`, and note what is to be recomputed."""
    block, other = (m.regions[0].blocks[0] for m in (module, chosen.module))
    for op in [op.operation for op in block.operations]:
        op.erase()
    for op in [op.operation for op in other.operations]:
        block.append(op)
    func = entry(module)
    assert func is not None
    if chosen.recompute is not None:
        with module.context, ir.Location.unknown():
            func.attributes[LIMIT] = ir.FloatAttr.get(ir.F64Type.get(), chosen.recompute)


def alternatives(planner: MemoryPlanner, chosen: Candidate) -> list[Alternative]:
    """What else was tried, for the report."""
    return [Alternative(str(c), c.seconds, c.peak, c.peak <= planner.limit) for c in planner.tried if c is not chosen]


def microbatches_of(func: ir.Operation) -> int:
    """Into how many microbatches the step of a function was split."""
    attrs = func.operation.attributes
    return int(ir.IntegerAttr(attrs[MICROBATCHES]).value) if MICROBATCHES in attrs else 1
