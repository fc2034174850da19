"""The attribute and type classes of StableHLO (dimension numbers, channel handles, ...).

The bindings keep them in a private module; the rest of the project takes them from here.
"""

from torch_mlir._mlir_libs._stablehlo import (
    ChannelHandle,
    ConvDimensionNumbers,
    DotDimensionNumbers,
    GatherDimensionNumbers,
    ScatterDimensionNumbers,
    TokenType,
    eval_module,
)

__all__ = [
    "ChannelHandle",
    "ConvDimensionNumbers",
    "DotDimensionNumbers",
    "GatherDimensionNumbers",
    "ScatterDimensionNumbers",
    "TokenType",
    "eval_module",
]
