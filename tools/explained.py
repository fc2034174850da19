"""What `pcg-opt --explain` writes instead of the program."""

from __future__ import annotations

import dataclasses

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.check import check
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.walk import entry_of, walk
from pcg.layout import Mesh
from pcg.passes.pipeline import Pipeline
from pcg.passes.pipelines import Settings
from pcg.planning.evaluate import replace_mesh
from pcg.planning.rewritten import applied_rules
from pcg.planning.search import Search
from pcg.planning.select import Select
from pcg.viz.page.document import Side, page
from pcg.viz.page.graph import graph_of


def explained(
    source: str | bytes, name: str, elements: str | list[str], settings: Settings, pipeline: Pipeline, module: ir.Module
) -> str:
    """The page about a module that `pipeline` has planned; without substitutions `elements` are run on `source` again.

    Raises:
      PcgError: the module has no layouts.
    """
    mesh = _mesh(module)
    before: Side | str | None = None
    if applied := applied_rules(module.operation):
        try:
            before = _without_substitutions(source, name, elements, settings, mesh)
        except PcgError as error:  # only what was rewritten fits, say
            before = error.message
    attributes = module.operation.attributes
    program = str(ir.StringAttr(attributes["sym_name"]).value) if "sym_name" in attributes else name
    return page(program, mesh, applied, _side(pipeline, module, mesh), before)


def _mesh(module: ir.Module) -> Mesh:
    """The mesh that a module is placed on.

    Raises:
      PcgError: it is not.
    """
    mesh = shardings.mesh_of(module)
    if mesh is None or not any(shardings.SPECS in op.attributes for op in walk(entry_of(module))):
        raise PcgError(
            "the program has no layouts, which --explain draws; allowed: pipelines that plan a program for one mesh "
            "and do not lower it, as --auto-parallel",
            module.operation,
        )
    return mesh


def _side(pipeline: Pipeline, module: ir.Module, mesh: Mesh) -> Side:
    outcomes = [p.outcome for p in pipeline.python_passes if isinstance(p, Search | Select) and p.outcome is not None]
    with module.context:
        graph = graph_of(module, mesh)
    return Side(graph, outcomes[-1].seconds, outcomes[-1].by) if outcomes else Side(graph)


def _without_substitutions(
    source: str | bytes, name: str, elements: str | list[str], settings: Settings, mesh: Mesh
) -> Side:
    module = load_module(source, make_context(), name, layouts=False)
    with module.context, ir.Location.unknown():
        # The same mesh as with them, on the same devices.
        replace_mesh(module.operation, mesh.origin)
        check(module)
        pipeline = Pipeline(elements, dataclasses.replace(settings, substitutions=False, devices=None))
        pipeline.run(module)
    found = shardings.mesh_of(module)
    assert found is not None
    return _side(pipeline, module, found)
