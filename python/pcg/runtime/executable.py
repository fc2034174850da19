"""A compiled program as one jitted call.  Imports jax."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from jax.sharding import NamedSharding, PartitionSpec
from torch_mlir import ir

from pcg.driver.compilation import Compilation
from pcg.driver.plan import Plan
from pcg.ir.walk import entry_of, walk
from pcg.rules.custom_call import has_side_effect
from pcg.runtime.device_program import DeviceExecutable, DeviceProgram


def device_program(compilation: Compilation) -> DeviceProgram:
    """What every device of a compilation runs."""
    c = compilation
    module = c.modules["local"].operation
    effects = any(has_side_effect(op) for op in walk(module))
    entry = ir.StringAttr(entry_of(module).attributes["sym_name"]).value
    program = dataclasses.replace(c.program, source="")
    return DeviceProgram(program, c.mesh, c.in_specs, c.out_specs, c.local_text, effects, entry)


class Executable(DeviceExecutable):
    """One compilation, for one argument structure and one set of shapes, ready to run.

    Called with the arguments of the program (trees, or a flat list for a module).  `jitted` is the jax function behind
    it, `compiled` what XLA makes of that; calling it directly skips the placement of arguments.  Both take the
    constants of the program, if it has any, as a tuple before the arguments; `direct` has them already.
    """

    def __init__(self, compilation: Compilation, devices: Sequence[Any], donate: Sequence[int] = ()) -> None:
        self.compilation = compilation
        super().__init__(device_program(compilation), devices, donate)
        self.program = compilation.program

    # -- what it is ----------------------------------------------------------------------------

    @property
    def input_shardings(self) -> Any:
        """NamedShardings in the structure of the positional arguments (then a dict of keyword arguments)."""
        return self.call_tree.in_tree(self._in[: len(self.program.inputs)])

    @property
    def output_shardings(self) -> Any:
        """NamedShardings in the structure of the result."""
        return self.call_tree.unflatten(self._out)

    @property
    def replicated(self) -> NamedSharding:
        """The sharding of an array that is replicated over the mesh."""
        return NamedSharding(self.jax_mesh, PartitionSpec())

    @property
    def plan(self) -> Plan:
        """The plan, bound to this executable's trees."""
        return self.compilation.plan

    def as_text(self, stage: str = "pcg", *, generic: bool | None = None) -> str:
        """The module at `stage`; see `Compilation.as_text`."""
        return self.compilation.as_text(stage, generic=generic)

    @property
    def cost(self) -> Any:
        """Estimated time, communication and memory; see `pcg.driver.cost.Cost`."""
        from pcg.driver.cost import cost_of

        return cost_of(self.compilation)

    def simulate(self, machine: Any = None, **options: Any) -> Any:
        """One step on `machine` (default: that of the plan); see `pcg.simulate.simulate` for the options."""
        from pcg.driver.cost import simulation_of

        return simulation_of(self.compilation, machine, **options)

    def lint(self, budget: int | None = None) -> Any:
        """What the annotations cost, and which to change first; see `Compiled.lint`."""
        from pcg.viz.lint import lint_program

        c = self.compilation
        return lint_program(c.program, c.target or c.mesh, c.options, budget)

    def explain(self, tensor: str | int | None = None, *, verbose: bool = False, format: str = "text") -> str:
        """A report: what is sharded how, what it costs, what was rejected and why; see `Compiled.explain`."""
        from pcg.viz.explain import FORMATS, explain
        from pcg.viz.page.compiled import compiled_page

        if format not in FORMATS:
            raise ValueError(f"format {format!r}; allowed: {', '.join(map(repr, FORMATS))}")
        if format == "html":
            if tensor is not None:
                raise ValueError(f"format 'html' is of all tensors; explain({tensor!r}) is text")
            return compiled_page(self.compilation)
        return self.why(tensor) if tensor is not None else explain(self.compilation, self.cost, verbose=verbose)

    def why(self, tensor: str | int) -> str:
        """Why one tensor is sharded as it is; see `Compiled.why`."""
        from pcg.viz.why import why

        return why(self.compilation, tensor)
