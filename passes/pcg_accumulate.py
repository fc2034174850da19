"""pcg-accumulate: run a step in microbatches, one after another, and add up what it reduces over the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.walk import entry
from pcg.passes.base import Pass, option
from pcg.rewrite.microbatches import Microbatches, is_placed
from pcg.rewrite.temporal import Temporal, batch_arguments
from pcg.search.roles import data_of, state_of

#: On the entry function: into how many microbatches its step was split.
MICROBATCHES = "pcg.microbatches"


@dataclass
class AccumulatePass(Pass):
    """Turn a step into a loop over microbatches that accumulates gradients.

    The batch is split over a temporal axis by the same factor rules that split it over devices: what is reduced over
    the batch becomes a partial sum over time, which the loop adds up; what is made of these sums (the optimizer) runs
    once, after the loop.  Activations are those of one microbatch.  An op that combines each example with a reduction
    over the whole batch (batch normalisation) can no more be split in time than in space by a partial sum: the pass
    fails and names it.  Means are right because the program divides by its own batch size.

    Data are the arguments that are not state; their first dimension is the batch.  Results with a batch dimension are
    put together again.  Runs before layouts are chosen.

    Before:
    ```mlir
    %g = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x2xf32>) -> ...
    %n = stablehlo.subtract %w, %g : tensor<4x2xf32>
    ```
    After, with microbatches=2:
    ```mlir
    %xs = stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<4x2x1x4xf32>
    %l:4 = stablehlo.while(%i = %c0, %sum = %zeros, %xs_ = %xs, %ds_ = %ds) ... do {
      ...
      %g = stablehlo.dot_general %xi, %di, contracting_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x2xf32>) -> ...
      %s = stablehlo.add %sum, %g : tensor<4x2xf32>
      ...
    }
    %n = stablehlo.subtract %w, %l#1 : tensor<4x2xf32>
    ```
    """

    name: ClassVar[str] = "pcg-accumulate"

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
        what = Temporal(func, self.microbatches, data, batch)
        rewriting = Microbatches(what)
        rewriting.run()
        with module.context:
            i64 = ir.IntegerType.get_signless(64)
            func.attributes[MICROBATCHES] = ir.IntegerAttr.get(i64, self.microbatches)
        self.statistics["values accumulated"] = len(rewriting.accumulated)
        hoisted = f"; {len(what.hoisted)} ops run on the whole batch before the loop" if what.hoisted else ""
        self.remark(
            func,
            f"a batch of {batch} runs in {self.microbatches} microbatches; {len(rewriting.accumulated)} values are "
            f"added up over them{hoisted}",
        )
