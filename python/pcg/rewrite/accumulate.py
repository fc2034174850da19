"""Microbatches of a step, and gradient accumulation: they run one after another and their reductions are added up."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.errors import PcgError
from pcg.ir.pipeline_choice import pipeline_choice
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import entry
from pcg.rewrite.microbatch_loop import MicrobatchLoop, has_microbatches
from pcg.rewrite.microbatches import Microbatches, is_placed
from pcg.rewrite.temporal import TemporalLayouts, batch_arguments
from pcg.search.roles import data_of, state_of

#: On the entry function: the number of microbatches of its step.
MICROBATCHES = "pcg.microbatches"


@dataclass
class Microbatch(Transformation):
    """Let a step work on one microbatch at a time, and accumulate gradients."""

    microbatches: int = option(
        1, "number of microbatches; the batch must be a multiple of it; 0: what pcg-choose-pipeline has chosen"
    )

    def run(self, module: ir.Operation) -> None:
        func = entry(module)
        count = self.microbatches
        if count == 0:
            choice = pipeline_choice(module)
            if choice is None:
                raise PcgError("the number of microbatches is not chosen; run pcg-choose-pipeline first", module)
            count = choice.microbatches
        if count < 1:
            raise PcgError(f"{count} microbatches; allowed: 1 or more", module)
        if func is None or count == 1:
            return
        if is_placed(func):
            raise PcgError("the program has layouts already; it runs in microbatches only before they are chosen", func)
        if has_microbatches(func):
            raise PcgError("the program runs in microbatches already: it has a 'pcg.pipeline' op", func)
        state = state_of(func)
        data, batch = batch_arguments(func, data_of(func, state), count)
        layouts = TemporalLayouts(func, count, data, batch)
        rewriting = Microbatches(layouts)
        rewriting.run()
        with module.context:
            func.attributes[MICROBATCHES] = emit.i64(count)
        self.statistics["values accumulated"] = len(rewriting.accumulated)
        hoisted = f"; {len(layouts.hoisted)} ops run on the whole batch before the loop" if layouts.hoisted else ""
        self.remark(
            func,
            f"a batch of {batch} runs in {count} microbatches; {len(rewriting.accumulated)} values are "
            f"added up over them{hoisted}",
        )


@dataclass
class Accumulate(Microbatch):
    """Turn a step into a loop over microbatches that accumulates gradients."""

    def run(self, module: ir.Operation) -> None:
        func = entry(module)
        if func is None or not has_microbatches(func):
            super().run(module)
        elif self.microbatches != 1:
            raise PcgError("the program runs in microbatches already; allowed: no microbatches=", func)
        if func is not None and has_microbatches(func):
            MicrobatchLoop(func).run()
