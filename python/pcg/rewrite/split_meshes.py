"""One stage per mesh, and per return of the data to it, with transfers between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import mesh_names, shardings
from pcg.ir.errors import PcgError
from pcg.ir.stages import create_stage, symbols_used
from pcg.ir.transformation import Transformation
from pcg.ir.walk import entry_of, outer_values
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.rules.values import free_values


@dataclass
class SplitMeshes(Transformation):
    """Outline a program on several meshes into stages, each on one mesh, with transfers between meshes."""

    def run(self, module: ir.Operation) -> None:
        func = entry_of(module)
        with module.context, func.location:
            _Splitter(self, func, list(shardings.meshes_of(module))).run()


class _Splitter:
    """Splits one function."""

    def __init__(self, owner: SplitMeshes, func: ir.Operation, meshes: list[str]) -> None:
        self.owner, self.func, self.meshes = owner, func, meshes
        self.block = func.regions[0].blocks[0]
        *self.ops, self.last = (op.operation for op in self.block.operations)
        self.uses = {op: outer_values(op) for op in self.ops}
        self.free = free_values(self.block)
        self.home: dict[ir.Value, str] = {}
        self.mesh: dict[ir.Operation, str] = {}
        #: (value of the program, mesh) -> the value in the program of stages.
        self.at: dict[tuple[ir.Value, str], ir.Value] = {}

    def run(self) -> None:
        for i, argument in enumerate(self.block.arguments):
            self.home[argument] = self._named(mesh_names.signature_mesh(self.func, "arg_attrs", i), f"argument {i}")
        for op in self.ops:
            if op.name in ("pcg.stage", "pcg.transfer"):
                raise PcgError(f"the program is split already: it has a '{op.name}' op", op)
            if found := symbols_used(op):
                raise PcgError(f"'{op.name}' op refers to the function {found[0]}; allowed: ops without calls", op)
            self.mesh[op] = self._named(mesh_names.op_mesh(op), f"'{op.name}' op", op)
            self.home.update(dict.fromkeys(op.results, self.mesh[op]))
        self.results = [
            mesh_names.signature_mesh(self.func, "res_attrs", i) or self.home[v]
            for i, v in enumerate(self.last.operands)
        ]
        stages = self._stages()
        self.needed = self._needed()
        with ir.InsertionPoint(self.last):
            for argument in self.block.arguments:
                self._transfer(argument, argument)
            for index, (mesh, ops) in enumerate(stages):
                self._stage(index, mesh, ops)
        for i, (value, mesh) in enumerate(zip(list(self.last.operands), self.results, strict=True)):
            self.last.operands[i] = self.at[value, mesh]
        for op in reversed(self.ops):
            op.erase()
        self.owner.statistics["stages"] += len(stages)

    def _named(self, name: str | None, what: str, op: ir.Operation | None = None) -> str:
        where = op if op is not None else self.func
        if name is None:
            raise PcgError(f"{what} has no mesh; run dist-propagate-meshes first", where)
        if name not in self.meshes:
            raise PcgError(f"{what} is on @{name}; declared meshes: {', '.join('@' + m for m in self.meshes)}", where)
        return name

    def _stages(self) -> list[tuple[str, list[ir.Operation]]]:
        """(mesh, ops) of each stage, in an order in which they can run."""
        #: How many times the data of a value has changed meshes: stages of a mesh are told apart by it.
        crossings: dict[ir.Value, int] = dict.fromkeys(self.block.arguments, 0)
        found: dict[tuple[int, str], list[ir.Operation]] = {}
        for op in self.ops:
            if len(op.results) and op.results[0] in self.free:
                continue  # recomputed where it is used
            mesh = self.mesh[op]
            read = [crossings[v] + (self.home[v] != mesh) for v in self.uses[op] if v not in self.free]
            crossings.update(dict.fromkeys(op.results, max(read, default=0)))
            found.setdefault((max(read, default=0), mesh), []).append(op)
        for value in self.last.operands:  # what is only returned
            if value in self.free:
                found.setdefault((0, self.home[value]), [])
        self._merge(found)
        order = sorted(found, key=lambda k: (k[0], self.meshes.index(k[1])))
        return [(mesh, found[number, mesh]) for number, mesh in order]

    def _merge(self, found: dict[tuple[int, str], list[ir.Operation]]) -> None:
        """Merge stages without expensive ops, whose values all stay on the mesh, into the mesh's next stage."""
        leaves = {v for op in self.ops for v in self.uses[op] if v not in self.free and self.mesh[op] != self.home[v]}
        leaves.update(v for v, mesh in zip(self.last.operands, self.results, strict=True) if self.home[v] != mesh)
        place = {op: i for i, op in enumerate(self.ops)}
        for number, mesh in sorted(found):
            later = sorted(n for n, m in found if m == mesh and n > number)
            ops = found[number, mesh]
            if later and not any(traits.has(op.name, Trait.HEAVY) or len(op.regions) for op in ops):
                if not any(r in leaves for op in ops for r in op.results):
                    found[later[0], mesh] = sorted([*ops, *found[later[0], mesh]], key=place.__getitem__)
                    del found[number, mesh]

    def _needed(self) -> dict[ir.Value, list[str]]:
        """The meshes, besides its own, that need a value."""
        found: dict[ir.Value, list[str]] = {}
        takers = [(v, self.mesh[op]) for op in self.ops for v in self.uses[op] if v not in self.free]
        for value, mesh in (*takers, *zip(self.last.operands, self.results, strict=True)):
            if mesh != self.home[value] and mesh not in found.setdefault(value, []):
                found[value].append(mesh)
        return {v: sorted(m, key=self.meshes.index) for v, m in found.items()}

    def _transfer(self, value: ir.Value, now: ir.Value) -> None:
        """`now` is `value` on its mesh; transfer it to the meshes that need it."""
        self.at[value, self.home[value]] = now
        for mesh in self.needed.get(value, ()):
            if not isinstance(value.type, ir.RankedTensorType):
                raise PcgError(
                    f"a {value.type} cannot go from @{self.home[value]} to @{mesh}; allowed: tensors", value.owner
                )
            self.at[value, mesh] = ir.Operation.create(
                "pcg.transfer", results=[value.type], operands=[now], loc=value.location,
                attributes={"mesh": ir.FlatSymbolRefAttr.get(mesh)},
            ).result
            self.owner.statistics["transfers"] += 1

    def _generators(self, values: Iterable[ir.Value]) -> list[ir.Operation]:
        """The ops, in order, that compute those of `values` that are free."""
        needed: set[ir.Operation] = set()
        todo = [v.owner.operation for v in values if v in self.free]
        while todo:
            op = todo.pop()
            if op not in needed:
                needed.add(op)
                todo += [v.owner.operation for v in op.operands]
        return [op for op in self.ops if op in needed]

    def _stage(self, index: int, mesh: str, ops: list[ir.Operation]) -> None:
        taken = [v for op in ops for v in self.uses[op]]
        returned = [v for v in self.last.operands if v in self.free and self.home[v] == mesh]
        returned = [v for v in returned if (v, mesh) not in self.at]
        body = [*self._generators([*taken, *returned]), *ops]
        own = {r for op in body for r in op.results}
        inputs = {v: self.at[v, mesh] for v in taken if v not in own}
        mine = set(ops)
        outside = {v for op in self.ops if op not in mine for v in self.uses[op]} | set(self.last.operands)
        outputs = [r for op in ops for r in op.results if r in outside] + list(dict.fromkeys(returned))
        location = body[0].location
        for value, now in zip(outputs, create_stage(body, inputs, outputs, mesh, index, location), strict=True):
            self._transfer(value, now)
