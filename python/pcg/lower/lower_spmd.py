"""The program that every device runs."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.check_lowered import GLOBAL_TYPE
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Transformation
from pcg.ir.walk import entry, functions, walk
from pcg.layout import ShardSpec
from pcg.lower.in_range import keep_in_range
from pcg.lower.permutes import join_permutes
from pcg.lower.spmd import SpmdLowering
from pcg.rules.collectives import check_replicas
from pcg.rules.manual import manual_bodies
from pcg.rules.registry import shape


@dataclass
class LowerSpmd(Transformation):
    """Replace the annotated program by per-device StableHLO with collectives."""

    def __post_init__(self) -> None:
        super().__post_init__()
        #: Channel of each collective -> number of the op it was lowered from, in the walk of the function.
        self.sources: dict[int, int] = {}

    def run(self, module: ir.Operation) -> None:
        mesh = shardings.mesh_of(module)
        if mesh is None:
            raise PcgError("the module has no dist.mesh; add one with --mesh name=size,...", module)
        main = entry(module)
        if main is None:
            names = ", ".join(ir.StringAttr(f.attributes["sym_name"]).value for f in functions(module)) or "none"
            raise PcgError(f"the module has no function @main to lower; its functions: {names}", module)
        check_replicas(module)
        with module.context, main.location:
            lowering = SpmdLowering(mesh)
            arguments = main.regions[0].blocks[0].arguments
            in_specs = [lowering.shards.spec(a) for a in arguments]
            inlined = manual_bodies(module)
            new = lowering.function(main)
            results = main.regions[0].blocks[0].operations[-1].operation.operands
            out_specs = [lowering.shards.spec(v) for v in results]
            signature = [*zip(arguments, in_specs, strict=True), *zip(results, out_specs, strict=True)]
            if any(s.uneven_dims(shape(v), mesh) for v, s in signature):
                kind = ir.FunctionType.get([a.type for a in arguments], [v.type for v in results])
                module.attributes[GLOBAL_TYPE] = ir.TypeAttr.get(kind)
            self.sources = lowering.sources
            joined = join_permutes(new, mesh.size)
            self.statistics["collectives"] += lowering.collectives.channels - joined
            main.erase()
            for op in list(module.regions[0].blocks[0].operations):
                if op.operation.name == "dist.mesh":
                    op.operation.erase()
                elif op.operation.name == "func.func" and op.operation != new:
                    if ir.StringAttr(op.operation.attributes["sym_name"]).value in inlined:
                        op.operation.erase()
                        continue
                    _strip(op.operation)
            if mesh.size > 1:
                self.statistics["indices kept in range"] += keep_in_range(module, mesh.size)
            i32 = ir.IntegerType.get_signless(32)
            module.attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(i32, mesh.size)
            module.attributes["pcg.mesh"] = ir.StringAttr.get(str(mesh))
            if mesh.device_ids is not None:
                module.attributes["pcg.device_ids"] = ir.DenseI64ArrayAttr.get(list(mesh.device_ids))
            module.attributes["pcg.in_specs"] = _strings(in_specs)
            module.attributes["pcg.out_specs"] = _strings(out_specs)


def _strings(specs: list[ShardSpec]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.StringAttr.get(str(s)) for s in specs])


def _strip(func: ir.Operation) -> None:
    """Remove layouts from a function that only a composite or a custom call refers to."""
    for argument in func.regions[0].blocks[0].arguments if len(func.regions[0].blocks) else ():
        if shardings.get(argument) is not None:
            shardings.set(argument, None)
    for i, spec in enumerate(shardings.function_result_specs(func)):
        if spec is not None:
            shardings.set_function_result_spec(func, i, None)
    for op in walk(func):
        for name in (shardings.SPECS, shardings.OPERAND_SPECS):
            if name in op.attributes:
                del op.attributes[name]
