"""The operators of terms, by name."""

from __future__ import annotations

from pcg.substitute.operators.constant import ConvIdentity, Identity, OnesLike, PoolKernel, Zeros
from pcg.substitute.operators.contraction import Embedding, Linear, Matmul, ScatterAdd
from pcg.substitute.operators.elementwise import Add, Mul, Multiple, Neg, Scale, Unary
from pcg.substitute.operators.operator import Operator
from pcg.substitute.operators.parallel import Batch, Combine, Partition, Pipeline, Reduce, Replicate
from pcg.substitute.operators.reduction import ReduceMax, ReduceSum, Softmax
from pcg.substitute.operators.structure import Broadcast, Concat, Merge, Slice, Transpose, Unmerge
from pcg.substitute.operators.window import Conv, Enlarge, PoolAverage, PoolMax

OPERATORS: dict[str, Operator] = {
    op.name: op
    for op in (
        Add(), Mul(), Scale(), Neg(), Multiple(), Unary(),
        Matmul(), Linear(), Embedding(), ScatterAdd(), Conv(),
        ReduceSum(), ReduceMax(), Softmax(), PoolAverage(), PoolMax(),
        Concat(), Slice(), Transpose(), Merge(), Unmerge(), Broadcast(), Enlarge(),
        OnesLike(), Zeros(), Identity(), ConvIdentity(), PoolKernel(),
        Partition(), Combine(), Replicate(), Reduce(), Pipeline(), Batch(),
    )
}  # fmt: skip
