"""Why a factor rule of pcg differs from Shardy's: the one table that `bench.rules_vs_shardy` checks against.

Every difference it finds must have an entry here, and every entry a difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

#: Verdict -> what it says.
VERDICTS = {
    "more": "pcg splits what Shardy does not, or sends less",
    "same": "another way to say the same: no program gets more or less",
    "right": "Shardy's factor cannot be computed on shards as its rule says; XLA's partitioner has to repair it",
    "less": "Shardy is right and goes further: pcg keeps a dimension whole, or splits it over fewer devices",
}


@dataclass(frozen=True)
class Reason:
    """`ops`: patterns of op labels (an op's name, for a custom call ` @` and its target). `kind`: see rule_compare."""

    ops: tuple[str, ...]
    kind: str
    verdict: str
    text: str

    def covers(self, op: str, kind: str) -> bool:
        return kind == self.kind and any(fnmatchcase(op, pattern) for pattern in self.ops)


def _reason(ops: str, kind: str, verdict: str, text: str) -> Reason:
    assert verdict in VERDICTS, verdict
    return Reason(tuple(ops.split(", ")), kind, verdict, text)


REASONS = (
    # -- Shardy has no rule -----------------------------------------------------------------------
    _reason(
        "chlo.*", "no rule", "more",
        "Shardy has no rules for CHLO, which XLA expands before it; `chlo.top_k` becomes `mhlo.topk` then, and the "
        "searched dimension whole. pcg plans CHLO as it is written",
    ),
    _reason(
        "stablehlo.batch_norm_grad, stablehlo.batch_norm_training", "no rule", "more",
        "Features do not meet: each has statistics of its own",
    ),
    _reason(
        "stablehlo.broadcast, stablehlo.einsum, stablehlo.map, stablehlo.torch_index_select", "no rule", "more",
        "Deprecated, but legal: their dimensions are those of the op that replaced them",
    ),
    _reason(
        "stablehlo.constant, stablehlo.iota", "no rule", "same",
        "Nothing flows through an op without operands: Shardy takes any sharding from its users; a factor per "
        "dimension says that",
    ),
    _reason(
        "stablehlo.optimization_barrier, stablehlo.custom_call @Sharding", "no rule", "same",
        "Shardy handles it as an edge between values, not as an op: layouts go through as they are",
    ),
    _reason(
        "stablehlo.get_dimension_size", "no rule", "more",
        "The size is static: the operand may have any layout",
    ),
    _reason(
        "stablehlo.uniform_quantize, stablehlo.uniform_dequantize", "not read", "more",
        "jaxlib has no `quant` dialect; element by element, but for a dimension with scales of its own",
    ),
    # -- pcg splits what Shardy replicates --------------------------------------------------------
    _reason(
        "stablehlo.triangular_solve", "splits", "more",
        "Every right-hand side is solved on its own: its dimension is a plain factor",
    ),
    _reason(
        "stablehlo.scatter", "splits", "more",
        "A row that the indices pick stays a row when the update keeps its dimension with size 1: a shard takes "
        "the updates of its own rows and drops the others",
    ),
    _reason(
        "stablehlo.concatenate", "splits", "more",
        "Blocks of the operands are pieces of blocks of the result: devices exchange those that move. Shardy "
        "replicates",
    ),
    _reason(
        "stablehlo.sort", "splits", "more",
        "Along the sorted dimension every device sorts its block and they exchange elements until all are in order; "
        "Shardy replicates it",
    ),
    _reason(
        "stablehlo.dynamic_slice", "splits", "more",
        "The devices that own elements of the slice contribute them, the others zeros: a partial sum of the size "
        "of the slice. Shardy gathers the operand",
    ),
    _reason(
        "stablehlo.select_and_scatter", "splits", "more",
        "Operand and source are split together, and windows that reach into a block from another one run on both; "
        "Shardy replicates the source",
    ),
    # -- both split, and say differently what that sends -------------------------------------------
    _reason(
        "stablehlo.reduce_window", "communication", "more",
        "Windows as wide as their stride never cross a shard, and a cumulative reduction needs the totals of the "
        "shards before; Shardy calls every window a permutation, and misses a dilated base, which moves elements",
    ),
    _reason(
        "stablehlo.convolution", "communication", "more",
        "A window of 1 reaches no neighbour, so nothing is sent; where input and kernel are split together, the "
        "rule of pcg counts the halo besides the partial sum, and Shardy's only the sum",
    ),
    _reason(
        "stablehlo.reduce", "reduction", "same",
        "A reducer that no all-reduce knows (argmax): what the shards made is gathered and reduced once more. "
        "Shardy says `reduction` and leaves the how to XLA",
    ),
    _reason(
        "stablehlo.slice", "ties", "same",
        "Where few devices divide both sizes, owners contribute what is taken (a partial sum, which a split of the "
        "result turns into a reduce-scatter); elsewhere pieces are exchanged. Shardy says `permutation` for both",
    ),
    _reason(
        "stablehlo.concatenate", "ties", "same",
        "One row beside 7 is replicated, and the device that needs it takes it: a factor has no more parts than its "
        "shortest dimension has elements",
    ),
    # -- Shardy's factor is none -------------------------------------------------------------------
    _reason(
        "stablehlo.reshape", "whole", "right",
        "Where sizes share no divisor (3x4 to 4x3), Shardy gives each side factors that the other side lacks: a "
        "shard of one is no shard of the other, so the op cannot run on it",
    ),
    _reason(
        "stablehlo.convolution", "factors", "right",
        "Of an input position `o * stride + t` Shardy makes the tap t the major factor when the window is larger "
        "than the output: a block of the input is a block of outputs, not of taps",
    ),
    _reason(
        "stablehlo.convolution", "whole, reduced", "right",
        "A stride leaves the input fewer positions per output than the kernel has taps: the factor (2 for 3 taps) "
        "does not even divide the kernel",
    ),
    _reason(
        "stablehlo.dynamic_update_slice", "whole", "right",
        "At constant indices Shardy lets the update be split, though its blocks are not those of the operand",
    ),
    _reason(
        "stablehlo.pad", "communication", "right",
        "Padding by 1 and -1 keeps the size, and Shardy takes the dimension for untouched; every element moves",
    ),
    _reason(
        "stablehlo.custom_call @lapack_sgeqrf_ffi", "whole", "right",
        "A factor of one tensor alone (JAX writes one per matrix dimension) says nothing about the others; the "
        "call needs its matrices whole. The batch is split",
    ),
    _reason(
        "stablehlo.custom_call @Eigh, stablehlo.custom_call @Cholesky", "whole", "right",
        "Rows and columns of a factorization depend on each other; Shardy's own rule of `stablehlo.cholesky` says "
        "so",
    ),
    _reason(
        "stablehlo.rng_bit_generator", "whole", "same",
        "One state gives one stream; XLA, too, draws all of it on every device and cuts its shard out, which pcg's "
        "rule says: replicated, then a free slice",
    ),
    _reason(
        "stablehlo.all_reduce, stablehlo.all_gather, stablehlo.reduce_scatter, stablehlo.collective_*", "whole",
        "right",
        "In a global program the numbers in a collective are devices of that program; on shards they would be "
        "others. Shardy's rule is for axes that a manual computation leaves free, which pcg keeps whole",
    ),
    # -- pcg does less -----------------------------------------------------------------------------
    _reason(
        "stablehlo.custom_call @ApproxTopK", "whole", "less",
        "The searched dimension could be split as that of `chlo.top_k` is; XLA replaces the call to do it",
    ),
    # -- tied, but whole ---------------------------------------------------------------------------
    _reason(
        "*", "whole, tied", "same",
        "Whole for both. Shardy carries a sharding across and then replicates and re-shards; pcg chooses the "
        "layout after the op by what it costs",
    ),
)  # fmt: skip


def reason_of(op: str, kind: str) -> Reason | None:
    """The entry for a difference: the first that covers it."""
    return next((r for r in REASONS if r.covers(op, kind)), None)
