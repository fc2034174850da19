"""What a plan costs: compute (roofline), communication (alpha-beta), memory.  No MLIR here."""

from pcg.cost.model import COMBINED, NO_OVERLAP, CostModel, Overlap, Timing, slowest_copy

__all__ = ["COMBINED", "NO_OVERLAP", "CostModel", "Overlap", "Timing", "slowest_copy"]
