"""dist-measure: what a placed program costs, by estimate."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.walk import functions, is_private
from pcg.machine import Machine
from pcg.passes.base import Pass
from pcg.search.measure import measure
from pcg.search.roles import state_of
from pcg.search.terms import Measure


@dataclass
class MeasurePass(Pass):
    """Remark what each public function costs under its layouts: the measure that propagation is judged by.

    Every value and op must have its layouts, as after `dist-propagate` or `pcg-search`; the program is not
    changed.  The remark gives the estimated time of a step, how much of it is compute and how much
    redistribution and collectives, and the bytes that one device sends.  A result that is the next
    value of an argument is counted as moved to that argument's layout.

    Before:
    ```mlir
    func.func @main(%x: tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"]], {}>})
        -> (tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [[]], {}>}) {
      return %x : tensor<8xf32>
    }
    ```
    With `--remarks`: time of a step, of which compute and redistribution, and 16 bytes sent per device.
    """

    name = "dist-measure"
    plain_axes = True
    machine: Machine = field(default_factory=Machine.default)

    def __post_init__(self) -> None:
        super().__post_init__()
        #: By name of the function.
        self.measures: dict[str, Measure] = {}

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError at an op that lacks layouts, or cannot have those that it has."""
        mesh = shardings.mesh_of(module)
        if mesh is None:
            raise PcgError("there is no dist.mesh, so nothing is placed", module)
        model = CostModel(self.machine, mesh)
        for func in functions(module):
            if is_private(func) or not len(func.regions[0].blocks):
                continue
            found = measure(func, model, state_of(func))
            self.measures[ir.StringAttr(func.attributes["sym_name"]).value] = found
            self.statistics["bytes sent"] += round(found.bytes)
            self.remark(func, str(found))
