"""pcg: takes the program you wrote for one device and finds, explains and runs it on many.

`import pcg` imports neither jax nor MLIR; `pcg.compile` does when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pcg.api.compile import compile
    from pcg.api.compiled import Compiled
    from pcg.api.connect import connect
    from pcg.api.controller import Controller
    from pcg.api.pipeline_options import PipelineOptions
    from pcg.api.pipelined import Pipelined
    from pcg.driver.plan import Plan
    from pcg.driver.plan_cost import PlanCost, plan_cost
    from pcg.driver.plan_document import PlanError
    from pcg.driver.program import ProgramError
    from pcg.frontend.annotate import shard, shard_op
    from pcg.frontend.boundary import stage_boundary
    from pcg.ir.errors import PcgError
    from pcg.layout import Mesh, MeshError, ShardSpec, SpecError
    from pcg.machine import Cluster, ClusterError
    from pcg.pipeline.errors import PipelineError
    from pcg.rules.strategy import StrategyError
    from pcg.runtime.plan_shardings import in_shardings, out_shardings, sharding_constraints
    from pcg.viz.plan import diff_plans

__all__ = [
    "Cluster", "ClusterError", "Compiled", "Controller", "Mesh", "MeshError", "PcgError", "PipelineError",
    "PipelineOptions", "Pipelined", "Plan", "PlanCost", "PlanError", "ProgramError", "ShardSpec", "SpecError",
    "StrategyError", "__version__", "compile", "connect", "diff_plans", "in_shardings", "out_shardings", "plan_cost",
    "shard", "shard_op", "sharding_constraints", "stage_boundary",
]  # fmt: skip
__version__ = "0.1.0"

_HOME = {
    "Compiled": "pcg.api.compiled", "compile": "pcg.api.compile", "Controller": "pcg.api.controller",
    "connect": "pcg.api.connect",
    "Pipelined": "pcg.api.pipelined", "PipelineOptions": "pcg.api.pipeline_options",
    "PipelineError": "pcg.pipeline.errors", "stage_boundary": "pcg.frontend.boundary",
    "shard": "pcg.frontend.annotate", "shard_op": "pcg.frontend.annotate", "StrategyError": "pcg.rules.strategy",
    "Plan": "pcg.driver.plan", "PlanError": "pcg.driver.plan_document",
    "PlanCost": "pcg.driver.plan_cost", "plan_cost": "pcg.driver.plan_cost", "diff_plans": "pcg.viz.plan",
    "in_shardings": "pcg.runtime.plan_shardings", "out_shardings": "pcg.runtime.plan_shardings",
    "sharding_constraints": "pcg.runtime.plan_shardings",
    "PcgError": "pcg.ir.errors", "ProgramError": "pcg.driver.program",
    "Cluster": "pcg.machine", "ClusterError": "pcg.machine",
    "Mesh": "pcg.layout", "MeshError": "pcg.layout", "ShardSpec": "pcg.layout", "SpecError": "pcg.layout",
}  # fmt: skip

#: Modules that are part of the API.
_MODULES = {"processes": "pcg.api.processes", "reshard": "pcg.reshard"}


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'pcg' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
