"""What a plan costs: compute (roofline), communication (alpha-beta), memory.  No MLIR here."""

from pcg.cost.model import CostModel

__all__ = ["CostModel"]
