"""Unity's search over substitutions (OSDI'22, section 6.1): backtracking over programs in the order of their costs.

A program costs what Unity's dynamic program finds for it (`pcg.search.unity`), with its splits of the graph and its
cache of machine mappings.  The cheapest program of a queue is taken, every rule is applied to it at every place where
it matches, and what costs at most `alpha` times the best so far joins the queue.  The search ends when the queue is
empty, or after `budget` programs.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.clone import clone_module
from pcg.ir.walk import entry_of, walk
from pcg.rewrite.substitutions.apply import erase_unused
from pcg.rewrite.substitutions.emit import emit_destination
from pcg.rewrite.substitutions.match import Rules, matches
from pcg.search.build import Builder
from pcg.search.roles import state_of
from pcg.search.table import Tables
from pcg.search.unity import UnityOptimizer
from pcg.substitute.schema import Schema


@dataclass(frozen=True)
class Program:
    """A program, the rules that made it with the places where they were applied, and seconds of its best plan."""

    module: ir.Operation
    applied: tuple[tuple[ir.Location, str], ...]
    seconds: float


@dataclass
class Backtracking:
    """`alpha` and `budget` as in the paper; `progress` is told how many programs were looked at."""

    rules: Sequence[Schema]
    model: CostModel
    alpha: float = 1.05
    budget: int = 30
    progress: Callable[[str], None] = lambda _: None
    looked_at: int = 0
    """Programs that were costed."""
    _seen: set[str] = field(default_factory=set)

    def run(self, module: ir.Operation) -> Program:
        """The best program that is found; `module` stays as it is."""
        best = first = Program(clone_module(module).operation, (), self._seconds(module))
        self._seen.add(_text(module))
        queue, count = [(first.seconds, 0, first)], 0
        for _ in range(self.budget):
            if not queue:
                break
            seconds, _, program = heapq.heappop(queue)
            if seconds > self.alpha * best.seconds:
                break
            for new in self._neighbours(program):
                best = min(best, new, key=lambda p: p.seconds)
                if new.seconds <= self.alpha * best.seconds:
                    count += 1
                    heapq.heappush(queue, (new.seconds, count, new))
        return best

    def _neighbours(self, program: Program) -> Iterator[Program]:
        """What one application of one rule makes of a program, but what there was before."""
        rules = Rules(self.rules)
        places = [
            (number, k, schema)
            for number, op in enumerate(walk(program.module))
            for schema in rules.of(op)
            for k, _ in enumerate(matches(schema, op))
        ]
        for number, k, schema in places:
            copy = clone_module(program.module).operation
            op = list(walk(copy))[number]
            where = op.location
            match = list(matches(schema, op))[k]
            value = emit_destination(match)
            op.results[0].replace_all_uses_with(value)
            erase_unused([op])
            text = _text(copy)
            if text in self._seen:
                continue
            self._seen.add(text)
            self.looked_at += 1
            self.progress(f"{self.looked_at} programs")
            yield Program(copy, (*program.applied, (where, schema.name)), self._seconds(copy))

    def _seconds(self, module: ir.Operation) -> float:
        func = entry_of(module)
        built = Builder(self.model, Tables.on(self.model.mesh)).build(func, state_of(func))
        return UnityOptimizer(built.quotient(self.model)).run().seconds


def _text(module: ir.Operation) -> str:
    return str(module.get_asm(print_generic_op_form=True, assume_verified=True))
