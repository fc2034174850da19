"""Rules of random number generators: every device draws all numbers and slices its part.

StableHLO leaves it to the implementation which bits `rng_bit_generator` makes of a state.  XLA:CPU of jaxlib
0.10.2 lets 32-bit elements 2i and 2i + 1 along the first even dimension of a THREE_FRY tensor be the two words that
counter + i makes (checked by execution, and the same as in XLA's expander for CPU and GPU); that is a choice of this
expander, not of the algorithm.  DEFAULT, which JAX's `rbg` keys ask for, is whatever a backend prefers (on CPU,
Philox), and JAX's documentation says that its bits differ between CPU, GPU and TPU.  A device that computed its part
of the bits by itself could do so for one implementation, and a lowered program does not know which one will run it.
Drawing all of them sends nothing: what is wasted is the work, and the memory of the full result.

JAX's default generator is made of ordinary integer ops on an iota, which are split like any others.
"""

from __future__ import annotations

from torch_mlir import ir

from pcg.rules.factor import FactorRule
from pcg.rules.opaque import run_replicated
from pcg.rules.registry import rule
from pcg.rules.traits import Trait


@rule("stablehlo.rng_bit_generator", traits=Trait.UNFUSABLE | Trait.UNREPEATABLE)
def rng_bit_generator(op: ir.Operation) -> FactorRule:
    return run_replicated(
        op, "which bits a state gives is up to the backend, so that only one that draws all of them gets the right part"
    )


@rule("stablehlo.rng", traits=Trait.UNFUSABLE | Trait.UNREPEATABLE)
def rng(op: ir.Operation) -> FactorRule:
    return run_replicated(op, "the state of its generator is not visible, so devices agree only if each draws all")
