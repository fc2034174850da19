"""A compiled program: its plan, its layouts, and the module at every stage on the way.  Needs no jax."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch_mlir import ir

from pcg.driver.decide import Options, run
from pcg.driver.plan import Plan
from pcg.driver.program import Program
from pcg.ir.clone import clone_module
from pcg.ir.native import run_native
from pcg.ir.sdy_text import without_second_regions
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Machine
from pcg.passes.sdy_export import SdyExportPass

#: Stages of `Compilation.as_text`.
STAGES = ("stablehlo", "plan", "pcg", "collectives", "local", "sdy")


@dataclass
class Compilation:
    """One program, compiled for one mesh: a module per stage.

    `mesh` is refined where the plan uses parts of axes (`mesh.origin` is the user's).  `in_specs` /
    `out_specs` are the layouts of the lowered function; `remarks` are `(pass, where, text)`; `seconds` is
    the time of each step; `report` is what the search says about its choice.
    """

    program: Program
    mesh: Mesh
    plan: Plan
    in_specs: tuple[ShardSpec, ...]
    out_specs: tuple[ShardSpec, ...]
    modules: dict[str, ir.Module] = field(repr=False)
    remarks: list[tuple[str, str, str]] = field(repr=False)
    seconds: dict[str, float] = field(repr=False)
    report: Any = field(default=None, repr=False)
    machine: Machine = field(default_factory=Machine.default, repr=False)
    backend: str = "accelerator"
    """What it is compiled for, `accelerator` or `cpu`: see `pcg.planning.evaluate.Context`."""
    sources: dict[int, int] = field(default_factory=dict, repr=False)
    """Channel of each collective of the lowered program -> the op it comes from, by its number in the walk of the entry
    function at stage `collectives`."""
    options: Options = field(default_factory=Options, repr=False)
    """What the user fixed."""
    target: Mesh | None = field(default=None, repr=False)
    """The mesh that it was compiled for, before it was refined."""
    _texts: dict[str, str] = field(default_factory=dict, repr=False)

    def as_text(self, stage: str = "pcg", *, generic: bool | None = None) -> str:
        """The module at `stage`: one of `STAGES`.

        `stablehlo` is the normalised program, `plan` the program with every layout, `pcg` the
        parallel computation graph, `collectives` the graph with collectives, `local` what one
        device runs, `sdy` the plan as StableHLO with Shardy attributes.

        Raises:
          ValueError: unknown stage.
        """
        if stage not in STAGES:
            raise ValueError(f"unknown stage {stage!r}; stages are {', '.join(STAGES)}")
        if stage == "sdy" and stage not in self._texts:
            copy = clone_module(self.modules["plan"])
            run(copy, [SdyExportPass()], [], {})
            self.modules["sdy"] = copy
            generic = True if generic is None else generic
        key = f"{stage}{generic}"
        if key not in self._texts:
            generic = stage == "sdy" if generic is None else generic
            self._texts[key] = without_second_regions(
                self.modules[stage].operation.get_asm(print_generic_op_form=generic, assume_verified=True)
            )
        return self._texts[key]

    @property
    def local_text(self) -> str:
        """The lowered module in the form that jax reads, with equal subexpressions once.

        Lowering leaves constants and what is broadcast from them one per use, a third of the ops of a training step.
        """
        if "read" not in self._texts:
            copy = clone_module(self.modules["local"]).operation
            run_native(copy, "cse")
            text = copy.get_asm(print_generic_op_form=True, assume_verified=True)
            self._texts["read"] = without_second_regions(text)
        return self._texts["read"]
