"""Which MLIR bindings this is written against, and what happens with others."""

from __future__ import annotations

import warnings
from functools import cache
from importlib import metadata

#: The versions of the torch-mlir wheel that every test of this repository passes on.
TESTED = ("20261001",)


def torch_mlir_version() -> str | None:
    """Version of the installed torch-mlir wheel; None if it is not installed as a distribution."""
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


@cache
def warn_if_untested() -> None:
    """Warn, once per process, if the installed torch-mlir is not a tested one."""
    if text := message(torch_mlir_version()):
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def versions() -> str:
    """One line for `--version`."""
    try:
        own = metadata.version("pcg")
    except metadata.PackageNotFoundError:
        own = "(not installed)"
    return f"pcg {own}, torch-mlir {torch_mlir_version()} (tested: {', '.join(TESTED)})"
