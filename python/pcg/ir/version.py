"""Which MLIR bindings this is written against, and what happens with others."""

from __future__ import annotations

import warnings
from functools import cache

#: The versions of the torch-mlir wheel that every test of this repository passes on.
TESTED = ("20261001",)


def torch_mlir_version() -> str | None:
    """Version of the installed torch-mlir wheel; None if it is not installed as a distribution."""
    from importlib import metadata

    try:
        return metadata.version("torch-mlir")
    except metadata.PackageNotFoundError:
        return None


def message(found: str | None) -> str | None:
    """What to tell a user whose torch-mlir is `found`; None when it is a tested one."""
    if found in TESTED:
        return None
    have = "is not installed as a package" if found is None else f"{found} is untested"
    return f"torch-mlir {have}; pcg is tested on {', '.join(TESTED)} only: pip install torch-mlir=={TESTED[-1]}"


def _tested_at_a_glance() -> bool:
    """Whether a tested wheel lies beside the imported package (reading metadata properly costs 15 ms)."""
    import os

    import torch_mlir

    site = os.path.dirname(next(iter(torch_mlir.__path__)))
    return any(os.path.isdir(os.path.join(site, f"torch_mlir-{v}.dist-info")) for v in TESTED)


@cache
def warn_if_untested() -> None:
    """Warn, once per process, if the installed torch-mlir is not a tested one."""
    if _tested_at_a_glance():
        return
    if text := message(torch_mlir_version()):
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def versions() -> str:
    """One line for `--version`."""
    from importlib import metadata

    try:
        own = metadata.version("pcg")
    except metadata.PackageNotFoundError:
        own = "(not installed)"
    return f"pcg {own}, torch-mlir {torch_mlir_version()} (tested: {', '.join(TESTED)})"
