"""All passes, by name.  A pass's module is imported when the pass is first asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pcg.passes.pipelines import NATIVE, PIPELINES

if TYPE_CHECKING:
    from pcg.passes.base import Pass

__all__ = ["NATIVE", "PIPELINES", "lookup", "pass_names"]

#: name -> class, which is in the file of the pass's name; alphabetical.
_PASSES = {
    "dist-explain": "ExplainPass",
    "dist-fuse-collectives": "FuseCollectivesPass",
    "dist-insert-reshards": "InsertReshardsPass",
    "dist-measure": "MeasurePass",
    "dist-propagate": "PropagatePass",
    "dist-propagate-meshes": "PropagateMeshesPass",
    "dist-refine-mesh": "RefineMeshPass",
    "dist-strip": "StripPass",
    "dist-verify": "VerifyPass",
    "pcg-accumulate": "AccumulatePass",
    "pcg-baseline": "BaselinePass",
    "pcg-choose-groups": "ChooseGroupsPass",
    "pcg-choose-mesh": "ChooseMeshPass",
    "pcg-emulate": "EmulatePass",
    "pcg-emulate-processes": "EmulateProcessesPass",
    "pcg-insert-remat-barriers": "InsertRematBarriersPass",
    "pcg-lint": "LintPass",
    "pcg-lower-processes": "LowerProcessesPass",
    "pcg-lower-spmd": "LowerSpmdPass",
    "pcg-map-ranks": "MapRanksPass",
    "pcg-normalize": "NormalizePass",
    "pcg-place-stages": "PlaceStagesPass",
    "pcg-reassociate": "ReassociatePass",
    "pcg-recompute": "RecomputePass",
    "pcg-search": "SearchPass",
    "pcg-select": "SelectPass",
    "pcg-simulate": "SimulatePass",
    "pcg-sink-invariants": "SinkInvariantsPass",
    "pcg-split-meshes": "SplitMeshesPass",
    "pcg-uneven-data-parallelism": "UnevenDataParallelismPass",
    "sdy-export": "SdyExportPass",
    "sdy-import": "SdyImportPass",
}


def pass_names() -> list[str]:
    """Names of all Python passes, sorted."""
    return list(_PASSES)


def lookup(name: str) -> type[Pass] | None:
    """The pass class called `name`, or None."""
    if name not in _PASSES:
        return None
    return getattr(importlib.import_module(f"pcg.passes.{name.replace('-', '_')}"), _PASSES[name])
