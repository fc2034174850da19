"""The page of a compiled program, which is planned again without substitutions to compare with."""

from __future__ import annotations

import dataclasses

from pcg.driver.compilation import Compilation
from pcg.driver.compile import compile_program
from pcg.driver.cost import cost_of
from pcg.driver.decide import Options
from pcg.driver.plan import Plan
from pcg.ir.errors import PcgError
from pcg.machine import Cluster, Machine
from pcg.viz.page.document import Side, page
from pcg.viz.page.graph import graph_of
from pcg.viz.page.layered import import_igraph


def compiled_page(compilation: Compilation) -> str:
    """The document.

    Raises:
      NoIgraph: igraph is not installed.
    """
    import_igraph()  # before the program is planned again
    c = compilation
    before: Side | str | None = None
    if c.plan.applied_rules:
        try:
            before = _side(_without_substitutions(c))
        except PcgError as error:  # only what was rewritten fits, say
            before = error.message
    return page(c.program.name, c.mesh, c.plan.applied_rules, _side(c), before)


def _side(c: Compilation) -> Side:
    cost = cost_of(c)
    module = c.modules["pcg"]
    with module.context:
        graph = graph_of(module, c.mesh)
    return Side(graph, cost.seconds, cost.by)


def _without_substitutions(c: Compilation) -> Compilation:
    options = c.options
    search = {k: v for k, v in options.search.items() if k not in ("exact", "rules")} | {"substitutions": False}
    if isinstance(options.strategy, Plan):
        if options.strategy.cluster:
            search["machine"] = Machine.of(Cluster.loads(options.strategy.cluster))
        options = Options("auto", options.memory_limit, options.in_specs, options.out_specs, refine=options.refine)
    options = dataclasses.replace(options, search=search)
    return compile_program(c.program, c.target or c.mesh.origin, options, devices=c.plan.devices)
