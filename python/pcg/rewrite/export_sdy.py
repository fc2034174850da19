"""Layouts (`dist.*`) become Shardy annotations (`sdy.*`)."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import emit, shardings
from pcg.ir.annotation import remove
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import body, functions, walk
from pcg.layout import Mesh, ShardSpec, refine
from pcg.lower.collectives import CollectiveBuilder
from pcg.lower.manual import body_of, inlined
from pcg.lower.redistribution_ops import REDISTRIBUTION_OPS
from pcg.rules import traits
from pcg.rules.manual import is_manual, manual_bodies
from pcg.rules.traits import Trait


@dataclass
class ExportSdy(Transformation):
    """Replace layouts by Shardy annotations, and PCG operators by nothing."""

    constraints: str = option(
        "key", "which values get a sharding_constraint: 'key' (contractions, reshards) or 'all'", choices=("key", "all")
    )

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError for a module without a mesh."""
        module = module.operation
        mesh = shardings.mesh_of(module)
        if mesh is None:
            raise PcgError("the module has no dist.mesh, so there are no layouts to export", module)
        self.mesh = mesh
        self.collectives = CollectiveBuilder(mesh)
        context = module.context
        context.allow_unregistered_dialects = True
        remove(module)
        with context, ir.Location.unknown():
            for function in functions(module):
                self._signature(function, mesh)
            bodies = manual_bodies(module)
            kept = [f for f in functions(module) if ir.StringAttr(f.attributes["sym_name"]).value not in bodies]
            dropped = [f for f in functions(module) if f not in kept]
            for op in [op for f in kept for op in walk(f)]:
                if op.name in REDISTRIBUTION_OPS:  # identities on logical values: Shardy need not see them
                    self._identity(op)
                elif is_manual(op):
                    self._manual(op, mesh)
                elif shardings.SPECS in op.attributes:
                    self._constrain(op)
            for function in dropped:
                function.erase()
            self._meshes(module, mesh)

    def _meshes(self, module: ir.Operation, mesh: Mesh) -> None:
        for op in list(body(module).operations):
            if op.operation.name == "dist.mesh":
                op.operation.erase()
        axes = ", ".join(f'"{n}"={s}' for n, s in mesh.origin.axes)
        order = f", device_ids=[{', '.join(map(str, mesh.device_ids))}]" if mesh.device_ids else ""
        ir.Operation.create(
            "sdy.mesh",
            attributes={
                "sym_name": ir.StringAttr.get(shardings.MESH),
                "mesh": ir.Attribute.parse(f"#sdy.mesh<[{axes}]{order}>"),
            },
            ip=ir.InsertionPoint.at_block_begin(body(module)),
        )
        i32 = ir.IntegerType.get_signless(32)
        module.attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(i32, mesh.size)
        module.attributes["mhlo.num_replicas"] = ir.IntegerAttr.get(i32, 1)

    def _signature(self, function: ir.Operation, mesh: Mesh) -> None:
        for key in ("arg_attrs", "res_attrs"):
            if key not in function.attributes:
                continue
            every = []
            for attrs in ir.ArrayAttr(function.attributes[key]):
                own = {n.name: n.attr for n in ir.DictAttr(attrs) if not n.name.startswith("pcg.")}
                spec = own.pop(shardings.SPEC, None)
                if spec is not None:
                    own["sdy.sharding"] = sharding_attr(shardings.from_attr(spec), mesh)
                every.append(ir.DictAttr.get(own))
            function.attributes[key] = ir.ArrayAttr.get(every)

    def _identity(self, op: ir.Operation) -> None:
        """A constraint or reshard becomes a sharding constraint, a move nothing."""
        spec = shardings.get(op.results[0])
        value = op.operands[0]
        if spec is not None and not spec.partial:
            with ir.InsertionPoint(op), op.location:
                value = self._constraint(value, spec)
        op.results[0].replace_all_uses_with(value)
        op.erase()

    def _manual(self, op: ir.Operation, mesh: Mesh) -> None:
        """A manual computation gets its body back as a region; axes that it left automatic become manual, too."""
        block = body_of(op)
        every = {
            side: ", ".join(map(str, (sharding_attr(shardings.from_attr(s), mesh) for s in op.attributes[name])))
            for side, name in (("in", shardings.IN_SPECS), ("out", shardings.OUT_SPECS))
        }
        # Inside a list the attributes are written without their dialect's prefix.
        per_value = {k: f"#sdy.sharding_per_value<[{v.replace('#sdy.sharding', '')}]>" for k, v in every.items()}
        axes = ", ".join(f'"{n}"' for n in mesh.parts)
        new = ir.Operation.create(
            "sdy.manual_computation",
            results=[r.type for r in op.results], operands=list(op.operands), regions=1,
            attributes={
                "in_shardings": ir.Attribute.parse(per_value["in"]),
                "out_shardings": ir.Attribute.parse(per_value["out"]),
                "manual_axes": ir.Attribute.parse(f"#sdy<manual_axes{{{axes}}}>"),
            },
            ip=ir.InsertionPoint(op), loc=op.location,
        )  # fmt: skip
        inside = new.regions[0].blocks.append(*[a.type for a in block.arguments])
        last = block.operations[-1].operation
        with ir.InsertionPoint(inside):
            results = inlined(op, list(inside.arguments), self.collectives)
            ir.Operation.create("sdy.return", operands=results, loc=last.location)
        for old, fresh in zip(op.results, new.results, strict=True):
            old.replace_all_uses_with(fresh)
        op.erase()

    def _constrain(self, op: ir.Operation) -> None:
        specs = shardings.result_specs(op)
        for name in (shardings.SPECS, shardings.OPERAND_SPECS):
            if name in op.attributes:
                del op.attributes[name]
        if self.constraints == "key" and not traits.has(op.name, Trait.CONTRACTION):
            return
        for value, spec in zip(op.results, specs, strict=True):
            if spec is None or spec.partial or not any(spec.dims):
                continue
            with ir.InsertionPoint.after(op), op.location:
                new = self._constraint(value, spec)
            value.replace_all_uses_except(new, new.owner.operation)

    def _constraint(self, value: ir.Value, spec: ShardSpec) -> ir.Value:
        return emit.create("sdy.sharding_constraint", [value], value.type, sharding=sharding_attr(spec, self.mesh))


def sharding_attr(spec: ShardSpec, mesh: Mesh) -> ir.Attribute:
    """`#sdy.sharding<@mesh, [{"data"}, {"x":(1)2}]>`: closed dimensions; partial axes are left out."""
    dims = ", ".join("{" + ", ".join(map(_axis, refine.origin_names(d, mesh))) + "}" for d in spec.dims)
    return ir.Attribute.parse(f"#sdy.sharding<@{shardings.MESH}, [{dims}]>")


def _axis(name: str) -> str:
    axis, colon, part = name.partition(":")
    return f'"{axis}"{colon}{part}'
