"""All passes, by name.  A pass's module is imported when the pass is first asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pcg.passes.pipelines import NATIVE, PIPELINES

if TYPE_CHECKING:
    from pcg.passes.base import Pass

__all__ = ["NATIVE", "PIPELINES", "lookup", "pass_names"]

#: name -> (module, class); alphabetical.
_PASSES = {
    "dist-explain": ("dist_explain", "ExplainPass"),
    "dist-fuse-collectives": ("dist_fuse_collectives", "FuseCollectivesPass"),
    "dist-insert-reshards": ("dist_insert_reshards", "InsertReshardsPass"),
    "dist-measure": ("dist_measure", "MeasurePass"),
    "dist-propagate": ("dist_propagate", "PropagatePass"),
    "dist-propagate-meshes": ("dist_propagate_meshes", "PropagateMeshesPass"),
    "dist-refine-mesh": ("dist_refine_mesh", "RefineMeshPass"),
    "dist-strip": ("dist_strip", "StripPass"),
    "dist-verify": ("dist_verify", "VerifyPass"),
    "pcg-accumulate": ("pcg_accumulate", "AccumulatePass"),
    "pcg-baseline": ("pcg_baseline", "BaselinePass"),
    "pcg-choose-groups": ("pcg_choose_groups", "ChooseGroupsPass"),
    "pcg-choose-mesh": ("pcg_choose_mesh", "ChooseMeshPass"),
    "pcg-emulate": ("pcg_emulate", "EmulatePass"),
    "pcg-emulate-processes": ("pcg_emulate_processes", "EmulateProcessesPass"),
    "pcg-hold-copies": ("pcg_hold_copies", "HoldCopiesPass"),
    "pcg-lint": ("pcg_lint", "LintPass"),
    "pcg-lower-processes": ("pcg_lower_processes", "LowerProcessesPass"),
    "pcg-lower-spmd": ("pcg_lower_spmd", "LowerSpmdPass"),
    "pcg-map-ranks": ("pcg_map_ranks", "MapRanksPass"),
    "pcg-normalize": ("pcg_normalize", "NormalizePass"),
    "pcg-place-stages": ("pcg_place_stages", "PlaceStagesPass"),
    "pcg-reassociate": ("pcg_reassociate", "ReassociatePass"),
    "pcg-recompute": ("pcg_recompute", "RecomputePass"),
    "pcg-search": ("pcg_search", "SearchPass"),
    "pcg-select": ("pcg_select", "SelectPass"),
    "pcg-share-batch": ("pcg_share_batch", "ShareBatchPass"),
    "pcg-simulate": ("pcg_simulate", "SimulatePass"),
    "pcg-sink-invariants": ("pcg_sink_invariants", "SinkInvariantsPass"),
    "pcg-split-meshes": ("pcg_split_meshes", "SplitMeshesPass"),
    "sdy-export": ("sdy_export", "SdyExportPass"),
    "sdy-import": ("sdy_import", "SdyImportPass"),
}


def pass_names() -> list[str]:
    """Names of all Python passes, sorted."""
    return list(_PASSES)


def lookup(name: str) -> type[Pass] | None:
    """The pass class called `name`, or None."""
    if name not in _PASSES:
        return None
    module, cls = _PASSES[name]
    return getattr(importlib.import_module(f"pcg.passes.{module}"), cls)
