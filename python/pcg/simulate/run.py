"""Simulating a lowered program."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from torch_mlir import ir

from pcg.cost import COMBINED, CostModel
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry
from pcg.simulate.combine import combine
from pcg.simulate.cpu import for_cpu
from pcg.simulate.program import Program
from pcg.simulate.read import Reader
from pcg.simulate.result import Simulation, of_run
from pcg.simulate.schedule import Options, run
from pcg.simulate.waiting import add_waits

BACKENDS = ("accelerator", "cpu")


def simulate(
    module_or_func: Any, model: CostModel, *, donated: Collection[int] = (), backend: str = "accelerator",
    overlap: bool | None = None, ahead: int = 4, combined: float | None = None,
) -> Simulation:  # fmt: skip
    """One step of a lowered program, on the machine and mesh of `model`.

    Args:
      module_or_func: a module, or its function, as `pcg-lower-spmd` makes it: what every device runs.
      model: prices compute and communication.
      donated: arguments whose memory results may take over, beside those that the function marks.
      backend: "accelerator", or "cpu" for what XLA does there: nothing overlaps, kernels run breadth first, and more is
        copied; devices that share processors wait for each other, if a profile says how long.
      overlap: collectives run beside compute, on a stream of their own; without, one thing after another.
      ahead: all-gathers whose results may be waiting for their readers.
      combined: bytes up to which independent all-reduces are sent as one; 0: none are.

    Raises:
      PcgError: the module has no entry function.
      ValueError: unknown backend.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend {backend!r}; allowed: {', '.join(BACKENDS)}")
    cpu = backend == "cpu"
    overlap = not cpu if overlap is None else overlap
    combined = COMBINED if combined is None else combined
    program, name = read(module_or_func, model, donated, cpu)
    if combined:
        combine(program, combined, model, cpu)
    if cpu:
        for_cpu(program, model.copy)
        add_waits(program, model)
    done = run(program, Options(overlap=overlap, ahead=ahead, copy=model.copy, packed=cpu))
    return of_run(done, name)


def read(
    module_or_func: Any, model: CostModel, donated: Collection[int] = (), cpu: bool = False
) -> tuple[Program, str]:
    """The tasks of a module or function, priced by `model`, and its name; arguments and errors as of `simulate`."""
    operation = module_or_func.operation
    func = operation if operation.name == "func.func" else entry(operation)
    if func is None:
        raise PcgError("the module has no function to simulate", operation.location)
    module = operation if func is not operation else operation.parent
    with operation.context:  # the rules of some ops make types
        program = Reader(model, module.operation if module is not None else None, cpu).function(func, donated)
    return program, ir.StringAttr(func.attributes["sym_name"]).value
