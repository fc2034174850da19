"""Simulating a lowered program."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from torch_mlir import ir

from pcg.cost import COMBINED, CostModel
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry
from pcg.simulate.combine_all_reduces import combine_all_reduces
from pcg.simulate.cpu_order import reorder_for_cpu
from pcg.simulate.host_waits import add_waits
from pcg.simulate.kernels import OpWorks
from pcg.simulate.read import TaskReader
from pcg.simulate.result import Simulation, of_run
from pcg.simulate.schedule import ScheduleOptions, run
from pcg.simulate.task_graph import TaskGraph

BACKENDS = ("accelerator", "cpu")


def simulate(
    module_or_func: Any, model: CostModel, *, donated: Collection[int] = (), backend: str = "accelerator",
    overlap: bool | None = None, ahead: int = 4, combined: float | None = None, works: OpWorks | None = None,
) -> Simulation:  # fmt: skip
    """One step of a lowered program, on the machine and mesh of `model`.

    Args:
      module_or_func: a module, or its function, as `pcg-lower-spmd` makes it: what every device runs.
      model: cost of compute and communication.
      donated: arguments whose memory results may take over, beside those that the function marks.
      backend: "accelerator", or "cpu" for what XLA does there: nothing overlaps, kernels run breadth first, and more is
        copied; devices that share processors wait for each other, if a profile says how long.
      overlap: collectives run beside compute, on a stream of their own; without, one task after another.
      ahead: all-gathers whose results may be waiting for their readers.
      combined: bytes up to which independent all-reduces are sent as one; 0: none are.
      works: what is known of ops of other programs in the same MLIR context, and is added to.

    Raises:
      PcgError: the module has no entry function.
      ValueError: unknown backend.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend {backend!r}; allowed: {', '.join(BACKENDS)}")
    cpu = backend == "cpu"
    overlap = not cpu if overlap is None else overlap
    combined = COMBINED if combined is None else combined
    graph, name = read(module_or_func, model, donated, cpu, works)
    if combined:
        combine_all_reduces(graph, combined, model, cpu)
    if cpu:
        reorder_for_cpu(graph, model.copy)
        add_waits(graph, model)
    done = run(graph, ScheduleOptions(overlap=overlap, ahead=ahead, copy=model.copy, packed=cpu))
    return of_run(done, name)


def read(
    module_or_func: Any, model: CostModel, donated: Collection[int] = (), cpu: bool = False,
    works: OpWorks | None = None,
) -> tuple[TaskGraph, str]:  # fmt: skip
    """The task graph of a module or function, costs by `model`, and its name; arguments and errors as `simulate`."""
    operation = module_or_func.operation
    func = operation if operation.name == "func.func" else entry(operation)
    if func is None:
        raise PcgError("the module has no function to simulate", operation.location)
    module = operation if func is not operation else operation.parent
    with operation.context:  # the rules of some ops make types
        reader = TaskReader(model, module.operation if module is not None else None, cpu, works)
        graph = reader.function(func, donated)
    return graph, ir.StringAttr(func.attributes["sym_name"]).value
