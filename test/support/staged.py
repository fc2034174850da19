"""Training steps taken through the passes of a pipeline, and the same ones run on one device after each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from torch_mlir import ir

from pcg.driver.module_program import entry_function
from pcg.driver.signature import mark_state
from pcg.driver.state import state_of
from pcg.frontend import jax_program
from pcg.frontend.boundary import dividing
from pcg.ir import mesh_names, shardings
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.stages import inline_stage
from pcg.layout import Mesh
from pcg.passes.pipeline import Pipeline
from pcg.runtime import jax_compat


def prepared(step: Callable[..., Any], args: Sequence[Any], stages: int = 1) -> tuple[Any, ir.Module]:
    """(traced program, its normalised module) with a mesh of so many groups of one device."""
    with dividing():
        program = jax_program.trace(step, args, {})
    module = load_module(program.source, make_context())
    Pipeline("sdy-import,pcg-normalize,pcg-reassociate").run(module)
    mark_state(entry_function(module), state_of(program))
    shardings.set_mesh(module, Mesh.of({"stage": stages}))
    return program, module


def inline(module: ir.Module) -> None:
    """Put fragments back where they stand, and take transfers away."""
    func = entry_function(module)
    for op in [o.operation for o in func.regions[0].blocks[0].operations]:
        if op.name == "pcg.stage":
            inline_stage(op)
    for op in [o.operation for o in func.regions[0].blocks[0].operations]:
        if op.name == "pcg.transfer":
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
    block = func.regions[0].blocks[0]
    mesh_names.set_signature_meshes(func, "arg_attrs", [None] * len(block.arguments))
    mesh_names.set_signature_meshes(func, "res_attrs", [None] * len(block.operations[-1].operands))


def run(program: Any, module: ir.Module, args: Sequence[Any]) -> list[Any]:
    """Flat results of a module in microbatches, on one device."""
    Pipeline("pcg-accumulate,dist-strip").run(module)
    text = module.operation.get_asm(print_generic_op_form=True)
    return list(jax_compat.plain_function(text, program.results)(*jax.tree.leaves(args)))
