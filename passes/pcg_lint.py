"""pcg-lint: what the annotations of a program cost, and which to change first."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.locations import argument_names, result_names
from pcg.ir.transformation import Bytes, option
from pcg.ir.walk import entry_of
from pcg.lint import Advice, Finding, Space, advise, findings
from pcg.lint.annotations import spec_text
from pcg.machine import Machine
from pcg.passes.base import Pass
from pcg.planning.progress import Progress
from pcg.planning.propagation_graph import PropagationGraph
from pcg.planning.target import cost_model, limit_of
from pcg.propagate import ENGINES, propagate
from pcg.search.roles import state_of


@dataclass
class LintPass(Pass):
    """Say what the annotated layouts of a program cost, what others would, and which to change first.

    The cost of the program is estimated as annotated (completed by the global engine of `dist-propagate`), without
    annotations, and without each of them: layouts that are repeated (layers of a stack; an argument and the result that
    is its next value) are one annotation.  Then changes are made one after another, each the one that gains most, or
    several that gain only together, until nothing helps.  All figures are of the measure of `dist-measure`.  Remarks at
    the function have the outcome and the changes, remarks at annotations the findings: resharding that they force,
    padding, replicated large tensors, contradictions, axes that nothing uses.

    The program itself does not change.  It must have a mesh, and no layouts but those of the user: run it after
    `sdy-import` and `pcg-normalize`, before anything that places.
    """

    name = "pcg-lint"
    plain_axes = True
    memory_limit: Bytes | None = option(
        None, "bytes per device that a plan may need, as 16GiB; default: what a device of the cluster, if any, has"
    )
    budget: int = option(300, "how many variants of the annotations are estimated at most")
    progress: bool = option(True, "show progress on stderr when it takes longer than two seconds")
    machine: Machine = field(default_factory=Machine.default)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.space: Space | None = None
        self.advice: Advice | None = None
        self.findings: list[Finding] = []
        self.names: tuple[list[str], list[str]] | None = None
        """What arguments and results are called, if the caller knows better than the program."""

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError without a mesh, and for a program that is placed already."""
        module = module.operation
        mesh = shardings.mesh_of(module)
        if mesh is None:
            text = "there is no mesh that the annotations are for; give --mesh name=size,... or a dist.mesh"
            raise PcgError(text, module)
        func = entry_of(module)
        model = cost_model(module, self.machine, mesh)
        limit = limit_of(self.memory_limit, model.machine)
        graph = PropagationGraph(func, mesh)
        if graph.opaque:
            op = graph.opaque[0]
            raise PcgError(f"'{op.name}' op: the program is placed already; lint it before it is", op)
        names = self.names or (argument_names(func), result_names(func))
        with module.context, Progress(self.progress, self.name) as progress:
            solutions = {e: propagate(graph.problem, True, e, model.link) for e in ENGINES}
            decided = [graph.decided(name, s) for name, s in solutions.items()]
            self.space = space = Space(func, decided, model, state_of(func), names, limit, progress)
            progress(f"estimating {len(space.annotations)} annotations")
            self.advice = advice = advise(space, self.budget)
            self.findings = findings(space, advice)
        self.statistics["annotations"] = len(space.annotations)
        self.statistics["variants estimated"] = space.solved
        self._remark(func, space, advice)
        for f in self.findings:
            self.remark(f.location if f.location is not None else func, f"{f.text} [{f.code}]")

    def _remark(self, func: ir.Operation, space: Space, advice: Advice) -> None:
        now, free = advice.annotated, advice.free
        as_is = f"{1e6 * now.seconds:.1f} us" if now.possible else "impossible"
        more = f" ({100 * advice.excess:.1f}% more)" if math.isfinite(advice.excess) and advice.excess > 0 else ""
        self.remark(func, f"as annotated {as_is} per step, without annotations {1e6 * free.seconds:.1f} us{more}")
        for i, change in enumerate(advice.changes):
            what = "; ".join(
                f"{space.annotations[a].name} from {spec_text(space.annotations[a].spec, space.mesh)} to "
                + " or ".join(spec_text(s, space.mesh) for s in to)
                for a, to in zip(change.annotations, change.to, strict=True)
            )
            before = f"{1e6 * change.before.seconds:.1f} us" if change.before.possible else "impossible"
            when = "then" if i else "first"
            self.remark(func, f"change {when}: {what}: {before} -> {1e6 * change.after.seconds:.1f} us")
