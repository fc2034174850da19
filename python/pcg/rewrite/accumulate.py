"""Gradient accumulation: run a step in microbatches, one after another, and add up its reductions over the batch."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import entry
from pcg.rewrite.microbatches import Microbatches, is_placed
from pcg.rewrite.temporal import TemporalLayouts, batch_arguments
from pcg.search.roles import data_of, state_of

#: On the entry function: the number of microbatches of its step.
MICROBATCHES = "pcg.microbatches"


@dataclass
class Accumulate(Transformation):
    """Turn a step into a loop over microbatches that accumulates gradients."""

    microbatches: int = option(1, "number of microbatches; the batch must be a multiple of it")

    def run(self, module: ir.Operation) -> None:
        func = entry(module)
        if self.microbatches < 1:
            raise PcgError(f"{self.microbatches} microbatches; allowed: 1 or more", module)
        if func is None or self.microbatches == 1:
            return
        if is_placed(func):
            raise PcgError("the program has layouts already; pcg-accumulate runs before they are chosen", func)
        state = state_of(func)
        data, batch = batch_arguments(func, data_of(func, state), self.microbatches)
        layouts = TemporalLayouts(func, self.microbatches, data, batch)
        rewriting = Microbatches(layouts)
        rewriting.run()
        with module.context:
            func.attributes[MICROBATCHES] = emit.i64(self.microbatches)
        self.statistics["values accumulated"] = len(rewriting.accumulated)
        hoisted = f"; {len(layouts.hoisted)} ops run on the whole batch before the loop" if layouts.hoisted else ""
        self.remark(
            func,
            f"a batch of {batch} runs in {self.microbatches} microbatches; {len(rewriting.accumulated)} values are "
            f"added up over them{hoisted}",
        )
