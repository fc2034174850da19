"""pcg: takes the program you wrote for one device and finds, explains and runs it on many.

`import pcg` imports neither jax nor MLIR; `pcg.compile` does when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pcg.api import Compiled, compile
    from pcg.frontend.annotate import shard, shard_op
    from pcg.frontend.program import ProgramError
    from pcg.ir.errors import PcgError
    from pcg.layout import Mesh, MeshError, ShardSpec, SpecError
    from pcg.layout.strategy import StrategyError
    from pcg.machine import Cluster, ClusterError
    from pcg.plan import Plan, PlanError

__all__ = [
    "Cluster", "ClusterError", "Compiled", "Mesh", "MeshError", "PcgError", "Plan", "PlanError", "ProgramError",
    "ShardSpec", "SpecError", "StrategyError", "__version__", "compile", "shard", "shard_op",
]  # fmt: skip
__version__ = "0.1.0"

_HOME = {
    "Compiled": "pcg.api", "compile": "pcg.api",
    "shard": "pcg.frontend.annotate", "shard_op": "pcg.frontend.annotate", "StrategyError": "pcg.layout.strategy",
    "Plan": "pcg.plan", "PlanError": "pcg.plan",
    "PcgError": "pcg.ir.errors", "ProgramError": "pcg.frontend.program",
    "Cluster": "pcg.machine", "ClusterError": "pcg.machine",
    "Mesh": "pcg.layout", "MeshError": "pcg.layout", "ShardSpec": "pcg.layout", "SpecError": "pcg.layout",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    import importlib

    if name in ("processes", "reshard"):
        return importlib.import_module(f"pcg.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'pcg' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
