"""The layouts of a program's arguments and results, as the user annotates them, and the mesh that they are on."""

from __future__ import annotations

from collections.abc import Mapping

from torch_mlir import ir

from pcg.driver.decide import Options
from pcg.driver.module_program import entry_function
from pcg.driver.program import Program
from pcg.driver.state import state_of
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.layout import Mesh, MeshError, ShardSpec, SpecError, refine
from pcg.rewrite.refine_mesh import rewrite
from pcg.search.roles import STATE


def declare_mesh(module: ir.Module, mesh: Mesh) -> None:
    """The user's mesh, unrefined but for what the module itself refines: a program has one form on one mesh."""
    found, new = shardings.mesh_of(module), mesh.origin
    if found is not None and found.origin.axes == new.axes:
        new = Mesh(found.axes, new.device_ids)
    shardings.set_mesh(module, new)


def check_mesh(module: ir.Module, mesh: Mesh) -> None:
    found = shardings.mesh_of(module)
    if found is not None and found.origin.axes != mesh.origin.axes:
        raise PcgError(f"the program has shardings on mesh {found}; it is compiled for mesh {mesh}")


def annotate(module: ir.Module, program: Program, mesh: Mesh, options: Options) -> None:
    """Write the fixed argument and result layouts; refine the mesh as the user's is refined."""
    function = entry_function(module)
    if mesh.is_refined:
        have = shardings.mesh_of(module)
        assert have is not None
        try:
            fine = refine.refine_at(have, ((p.axis, p.end) for p in (refine.resolve(n, mesh) for n in mesh.names)))
        except MeshError as error:
            raise PcgError(f"mesh {mesh} does not go with the sub-axes in the program: {error}") from None
        rewrite(module.operation, fine)
    arguments = function.regions[0].blocks[0].arguments
    for what, leaves, specs in (
        ("argument", program.arguments, options.in_specs), ("result", program.results, options.out_specs)
    ):  # fmt: skip
        for i, spec in specs.items():
            try:
                refine.check(spec, mesh, leaves[i].shape, even=True)
                spec = refine.to_origin(spec, mesh)
            except SpecError as error:
                raise PcgError(f"sharding of {what} {leaves[i].name} ({leaves[i]}): {error}") from None
            if spec.partial:
                text = f"{spec} is partial over {', '.join(map(repr, spec.partial_axes))}; allowed: no partial axes"
                raise PcgError(f"sharding of {what} {leaves[i].name} ({leaves[i]}): {text}")
            if what == "argument":
                shardings.set(arguments[i], spec)
            else:
                shardings.set_function_result_spec(function, i, spec)
    if program.in_tree is not None:
        mark_state(function, state_of(program))
    for i, leaf in enumerate(program.arguments):
        if leaf.key_rank and shardings.get(arguments[i]) is None and len(leaf.shape) == leaf.key_rank:
            shardings.set(arguments[i], ShardSpec.replicated(len(leaf.shape)))
    for i, leaf in enumerate(program.results):
        if leaf.key_rank and len(leaf.shape) == leaf.key_rank:
            shardings.set_function_result_spec(function, i, ShardSpec.replicated(len(leaf.shape)))


def replicate_uneven(module: ir.Module, mesh: Mesh) -> None:
    """Replicate arguments and results that cannot be split equally, as the shards of a `jax.Array` are."""
    function = entry_function(module)
    block = function.regions[0].blocks[0]
    returned = block.operations[-1].operation.operands
    for argument in block.arguments:
        spec = shardings.get(argument)
        if spec is not None and (even := _even(spec, argument, mesh)) != spec:
            shardings.set(argument, even)
    for i, (value, own) in enumerate(zip(returned, shardings.function_result_specs(function), strict=True)):
        spec = own or shardings.get(value)
        if spec is not None and (even := _even(spec.without_partial(), value, mesh)) != spec.without_partial():
            shardings.set_function_result_spec(function, i, even)


def _even(spec: ShardSpec, value: ir.Value, mesh: Mesh) -> ShardSpec:
    if not isinstance(value.type, ir.RankedTensorType):
        return spec
    for d in spec.uneven_dims(value.type.shape, mesh):
        spec = spec.with_dim(d, ())
    return spec


def mark_state(function: ir.Operation, state: Mapping[int, int]) -> None:
    """Note for the search which results keep the layout of which argument; nothing else reads it."""
    if "res_attrs" not in function.attributes:
        return
    with function.context:
        i64 = ir.IntegerType.get_signless(64)
        every = [{n.name: n.attr for n in ir.DictAttr(d) if n.name != STATE} for d in function.attributes["res_attrs"]]
        for result, argument in state.items():
            every[result][STATE] = ir.IntegerAttr.get(i64, argument)
        function.attributes["res_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(d) for d in every])
