"""What a plan costs: compute (roofline), communication (alpha-beta), memory.  No MLIR here."""

from pcg.cost.model import COMBINED, CostModel

__all__ = ["COMBINED", "CostModel"]
