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
    "dist-fuse-collectives": ("fuse_collectives", "FuseCollectivesPass"),
    "dist-insert-reshards": ("insert_reshards", "InsertReshardsPass"),
    "dist-propagate": ("dist_propagate", "PropagatePass"),
    "dist-strip": ("dist_strip", "StripPass"),
    "dist-verify": ("dist_verify", "VerifyPass"),
    "pcg-emulate": ("emulate", "EmulatePass"),
    "pcg-lower-spmd": ("lower_spmd", "LowerSpmdPass"),
    "pcg-normalize": ("normalize", "NormalizePass"),
    "pcg-reassociate": ("pcg_reassociate", "ReassociatePass"),
    "pcg-search": ("pcg_search", "SearchPass"),
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
