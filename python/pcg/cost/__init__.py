"""What a plan costs: compute (roofline), communication (alpha-beta), memory.  No MLIR here."""

from pcg.cost.model import COMBINED, CostModel, Timing

__all__ = ["COMBINED", "CostModel", "Timing"]
