"""dist-explain: say why every value is laid out as it is and why every collective is there."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.explain.causes import Causes, without_reshards
from pcg.explain.chains import chain_text
from pcg.explain.conflicts import conflicts
from pcg.explain.origins import Origins, Result, Site
from pcg.ir import shardings
from pcg.ir.transformation import option
from pcg.ir.walk import functions, is_private
from pcg.machine import Machine
from pcg.passes.base import Pass
from pcg.search.roles import state_of


@dataclass
class ExplainPass(Pass):
    """Remark why layouts are as they are.  Nothing is changed; run it after dist-insert-reshards, with `--remarks`.

    Remarks at the function have, for every argument and result, the chain of values from it to the annotation that
    its layout comes from (or who chose it), and every conflict of two annotations and how it was settled.  Remarks at
    redistributions have the two decisions that force each collective: why the value is made as it is, and why its
    reader wants it otherwise; with bytes sent per device, time, how often it runs, and what the reader's
    other choice would cost.  With `values` every op's results are explained, too.

    `dist-propagate` and `pcg-search` record what the user annotated as `dist.annotated`; without it all is "chosen".
    """

    name = "dist-explain"
    values: bool = option(False, "Explain the results of every op, not arguments and results of functions alone.")
    machine: Machine = field(default_factory=Machine.default)

    def run(self, module: ir.Operation) -> None:
        mesh = shardings.mesh_of(module)
        if mesh is None:
            return
        model = CostModel(self.machine, mesh)
        with module.context:
            copy = without_reshards(module)
            for func, before in zip(functions(module), functions(copy), strict=True):
                if is_private(func) or not len(func.regions[0].blocks):
                    continue
                origins = Origins(func, mesh)
                sites: list[Site] = [*origins.block.arguments, *map(Result, range(len(origins.results)))]
                for site in sites:
                    for line in chain_text(origins, site):
                        self.remark(func, line)
                causes = Causes(origins, model, before, state_of(before))
                found = causes.all()
                for cause in found:
                    self.statistics["collectives explained"] += 1
                    self.remark(cause.op, causes.text(cause))
                for text in conflicts(causes, found):
                    self.statistics["conflicts"] += 1
                    self.remark(func, f"conflict: {text}")
                if self.values:
                    for op in origins.computing_ops():
                        for result in op.results:
                            for line in chain_text(origins, result):
                                self.remark(op, line)
