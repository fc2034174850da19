"""Stages (`pcg.stage`): building them, and looking at one as a program of its own."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import mesh_names, shardings
from pcg.ir.clone import clone_mapped
from pcg.ir.walk import body, entry, walk
from pcg.layout import Mesh

#: On ops, and on the `pcg.stage` that was made of them: their phase, and the number of their stage in a pipeline.
PHASE, STAGE = "pcg.phase", "pcg.stage"
#: On a `pcg.stage` of the update: pairs of a result and the number that it has among those that are predicted.
PREDICTED = "pcg.predicted"
#: On a `pcg.stage` of the update: it depends on what is predicted.
WAITS = "pcg.waits"
#: On the function: triples of a predicted number, a predicted predicate, and the value of that for which no state
#: depends on the first one.
UNREAD = "pcg.unread"


def stage_number(op: ir.Operation) -> int | None:
    """The stage of a pipeline that an op is of; None where it has none."""
    return int(ir.IntegerAttr(op.attributes[STAGE]).value) if STAGE in op.attributes else None


def stages_of(func: ir.Operation) -> list[ir.Operation]:
    """The stages of a function, in program order."""
    return [op.operation for op in func.regions[0].blocks[0].operations if op.operation.name == "pcg.stage"]


def has_stages(module: ir.Module | ir.Operation) -> bool:
    """Whether the entry function of a module has been split into stages: then passes for one mesh have no work."""
    func = entry(module)
    return func is not None and any(op.operation.name == "pcg.stage" for op in func.regions[0].blocks[0].operations)


def stage_mesh(stage: ir.Operation) -> str:
    """Symbol of the mesh that a stage runs on."""
    return ir.FlatSymbolRefAttr(stage.operation.attributes["mesh"]).value


def inputs_of(stage: ir.Operation) -> list[ir.Value]:
    """The values in the tuple that a stage takes."""
    return list(stage.operation.operands[0].owner.operation.operands)


def outputs_of(stage: ir.Operation) -> list[ir.Value | None]:
    """What is taken from each element of a stage's results; None for what nobody takes."""
    result = stage.operation.results[0]
    found: list[ir.Value | None] = [None] * ir.TupleType(result.type).num_types
    for use in result.uses:
        op = use.owner.operation
        if op.name == "stablehlo.get_tuple_element":
            found[ir.IntegerAttr(op.attributes["index"]).value] = op.results[0]
    return found


def yielded(stage: ir.Operation) -> list[ir.Value]:
    """The values inside a stage that are its results."""
    last = stage.operation.regions[0].blocks[0].operations[-1].operation
    return list(last.operands[0].owner.operation.operands)


def create_stage(
    ops: Sequence[ir.Operation], inputs: dict[ir.Value, ir.Value], outputs: Sequence[ir.Value], mesh: str, index: int,
    location: ir.Location,
) -> list[ir.Value]:
    """A stage, at the insertion point, of copies of `ops`; returns its results, one per value in `outputs`.

    `inputs` maps what `ops` use from outside to the values that go in.
    """
    types = [v.type for v in outputs]
    taken = list(dict.fromkeys(inputs.values()))
    with location:
        packed = ir.Operation.create(
            "stablehlo.tuple", results=[ir.TupleType.get_tuple([v.type for v in taken])], operands=taken
        ).result
        i64 = ir.IntegerType.get_signless(64)
        stage = ir.Operation.create(
            "pcg.stage", results=[ir.TupleType.get_tuple(types)], operands=[packed], regions=1,
            attributes={"mesh": ir.FlatSymbolRefAttr.get(mesh), "index": ir.IntegerAttr.get(i64, index)},
        )
        block = stage.regions[0].blocks.append(*[v.type for v in taken], arg_locs=[v.location for v in taken])
        position = {v: i for i, v in enumerate(taken)}
        values = {outer: block.arguments[position[v]] for outer, v in inputs.items()}
        with ir.InsertionPoint(block):
            for op in ops:
                mesh_names.set_op_mesh(clone_mapped(op, values), None)
            _yield([values[v] for v in outputs])
        i32 = ir.IntegerType.get_signless(32)
        return [
            ir.Operation.create(
                "stablehlo.get_tuple_element", results=[t], operands=[stage.result],
                attributes={"index": ir.IntegerAttr.get(i32, i)},
            ).result
            for i, t in enumerate(types)
        ]


def _yield(values: Sequence[ir.Value]) -> None:
    packed = ir.Operation.create(
        "stablehlo.tuple", results=[ir.TupleType.get_tuple([v.type for v in values])], operands=list(values)
    ).result
    ir.Operation.create("pcg.yield", operands=[packed])


def stage_module(stage: ir.Operation, mesh: Mesh) -> ir.Module:
    """A stage as a module of its own: one mesh, called @mesh, and one function @main.

    Layouts of inputs and results become those of the function.  One of a pipeline has its phase: such a function may
    return partial sums, which are accumulated over microbatches before they are reduced.
    """
    stage = stage.operation
    name = stage_mesh(stage)
    old = stage.regions[0].blocks[0]
    with stage.context, stage.location:
        module = ir.Module.create(stage.location)
        shardings.set_mesh(module, mesh)
        inputs, results = [a.type for a in old.arguments], [v.type for v in yielded(stage)]
        with ir.InsertionPoint(module.body):
            func = ir.Operation.create(
                "func.func", regions=1,
                attributes={
                    "sym_name": ir.StringAttr.get("main"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, results)),
                },
            )
        if PHASE in stage.attributes:
            func.attributes[PHASE] = stage.attributes[PHASE]
        block = func.regions[0].blocks.append(*inputs, arg_locs=[a.location for a in old.arguments])
        values: dict[ir.Value, ir.Value] = dict(zip(old.arguments, block.arguments, strict=True))
        *ops, pack, last = (op.operation for op in old.operations)
        with ir.InsertionPoint(block):
            renamed: dict[ir.Attribute, ir.Attribute] = {}
            for op in ops:
                mesh_names.rename(clone_mapped(op, values), name, shardings.MESH, renamed)
            ir.Operation.create("func.return", operands=[values[v] for v in pack.operands], loc=last.location)
        ins, outs = (shardings.boundary_specs(stage, w) for w in (shardings.IN_SPECS, shardings.OUT_SPECS))
        shardings.set_signature_specs(func, ins, outs)
    return module


def take_body(stage: ir.Operation, module: ir.Module) -> None:
    """Give a stage the body and the layouts of the function in `module`, as `stage_module` made it."""
    stage, func = stage.operation, entry(module)
    assert func is not None
    name, old = stage_mesh(stage), stage.regions[0].blocks[0]
    new = func.regions[0].blocks[0]
    with stage.context:
        for op in reversed(list(old.operations)):
            op.operation.erase()
        values: dict[ir.Value, ir.Value] = dict(zip(new.arguments, old.arguments, strict=True))
        *ops, last = (op.operation for op in new.operations)
        with ir.InsertionPoint(old):
            renamed: dict[ir.Attribute, ir.Attribute] = {}
            for op in ops:
                mesh_names.rename(clone_mapped(op, values), shardings.MESH, name, renamed)
            with last.location:
                _yield([values[v] for v in last.operands])
    ins = [shardings.get(a) for a in new.arguments]
    shardings.set_boundary_specs(stage, shardings.IN_SPECS, ins, name)
    shardings.set_boundary_specs(stage, shardings.OUT_SPECS, shardings.function_result_specs(func), name)


def inline_stage(stage: ir.Operation) -> None:
    """Put the ops of a stage where it stands, and take the stage away."""
    stage = stage.operation
    block = stage.regions[0].blocks[0]
    values: dict[ir.Value, ir.Value] = dict(zip(block.arguments, inputs_of(stage), strict=True))
    *ops, pack, _ = (op.operation for op in block.operations)
    with ir.InsertionPoint(stage):
        for op in ops:
            clone_mapped(op, values)
    results = [values[v] for v in pack.operands]
    for use in list(stage.results[0].uses):
        op = use.owner.operation
        op.results[0].replace_all_uses_with(results[ir.IntegerAttr(op.attributes["index"]).value])
        op.erase()
    packed = stage.operands[0].owner.operation
    stage.erase()
    if next(iter(packed.results[0].uses), None) is None:
        packed.erase()


def symbols_used(op: ir.Operation) -> list[str]:
    """Functions that an op or its regions call or refer to by the attributes that StableHLO has for that."""
    found = []
    for inner in walk(op):
        for name in ("callee", "decomposition", "called_computations"):
            if name in inner.attributes and "@" in (text := str(inner.attributes[name])):
                found.append(text)
    return found


def functions_besides(module: ir.Operation, func: ir.Operation) -> list[ir.Operation]:
    """Functions of a module other than `func`."""
    return [
        op.operation for op in body(module).operations if op.operation.name == "func.func" and op.operation != func
    ]
