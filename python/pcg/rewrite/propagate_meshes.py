"""From annotations on several meshes to the mesh of every op."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import mesh_names, shardings
from pcg.ir.errors import PcgError
from pcg.ir.transformation import Transformation
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import entry, functions, outer_values, walk
from pcg.layout import Mesh, SpecError
from pcg.propagate.meshes import MeshConflict, MeshProblem, propagate_meshes
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.rules.values import free_values
from pcg.search.roles import state_of


@dataclass
class PropagateMeshes(Transformation):
    """Say of every op on which of the program's meshes it runs."""

    def run(self, module: ir.Operation) -> None:
        meshes = shardings.meshes_of(module)
        func = entry(module)
        if not meshes or func is None:
            what = "dist.mesh" if not meshes else "entry function: a public one, or one named main"
            raise PcgError(f"the module has no {what}", module)
        self.declared = frozenset(meshes)
        self._check_layouts(func, meshes)
        for other in functions(module):
            if other != func and next(self._named(other), None) is not None:
                raise PcgError("only the entry function may have layouts; run pcg-normalize first", other)
        devices = {n: frozenset(m.device_ids or range(m.size)) for n, m in meshes.items()}
        self.problem = problem = MeshProblem(devices)
        ops: list[ir.Operation | None] = []
        numbers: dict[ir.Value, int] = {}
        try:
            block = func.regions[0].blocks[0]
            free = free_values(block)
            for i, argument in enumerate(block.arguments):
                found = self._known(func, mesh_names.signature_mesh(func, "arg_attrs", i))
                numbers[argument] = problem.add((), [tensor_bytes(argument.type)], found)[0]
                ops.append(None)
            direct = set(numbers.values())
            *body, last = (op.operation for op in block.operations)
            for op in body:
                for name in self._named(op):
                    self._known(op, name)
                sizes = [0.0 if r in free else tensor_bytes(r.type) for r in op.results]
                taken = [numbers[v] for v in outer_values(op)]
                mesh = mesh_names.op_mesh(op)
                # What an argument goes through on its way to where it is used.
                through = ("stablehlo.broadcast_in_dim", "dist.constraint")
                passes = traits.has(op.name, Trait.FORWARDS) or op.name in through
                holds, from_argument = mesh is not None, passes and bool(taken) and direct.issuperset(taken)
                if passes:
                    # A demand in the middle of a program says where one value is needed, not where what follows
                    # runs; one on an argument, or its cast, is how JAX functions annotate arguments.
                    holds = from_argument and (holds or problem.nodes[problem.defined_by[taken[0]]].pins)
                made = problem.add(taken, sizes, mesh, holds)
                if from_argument:
                    direct.update(made)
                numbers.update(zip(op.results, made, strict=True))
                ops.append(op)
            for i, value in enumerate(last.operands):
                mesh = self._known(func, mesh_names.signature_mesh(func, "res_attrs", i))
                problem.add([numbers[value]], (), mesh)
                ops.append(None)
            solution = propagate_meshes(problem)
        except MeshConflict as error:
            at = ops[error.node] if error.node < len(ops) else None
            where = at if at is not None else func
            raise PcgError(f"'{where.name}' op {error}", where) from None
        except PcgError as error:
            raise PcgError(error.message, error.location or func) from None
        count = len(block.arguments)
        mesh_names.set_signature_meshes(func, "arg_attrs", list(solution.meshes[:count]))
        for at, mesh, distance in zip(ops, solution.meshes, solution.distance, strict=True):
            if at is not None:
                mesh_names.set_op_mesh(at, mesh)
                if distance is None:
                    self.remark(at, f"'{at.name}' op runs on @{mesh}, the first mesh: no annotation is near it")
        mesh_names.set_signature_meshes(func, "res_attrs", list(solution.meshes[count + len(body) :]))
        self.statistics["ops"] += len(body)
        self.statistics["ops moved to save transfers"] += solution.reassigned
        self.statistics["values that cross"] += len(solution.crossing(problem))

    def _check_layouts(self, func: ir.Operation, meshes: Mapping[str, Mesh]) -> None:
        """Every layout on a declared mesh must be one that it can have."""
        for op in walk(func):
            for what, attr in mesh_names.layouts_at(op):
                name = shardings.mesh_symbol(attr)
                if name in meshes:
                    try:
                        shardings.from_attr(attr).check(meshes[name])
                    except (ValueError, SpecError) as error:
                        raise PcgError(f"{what} of '{op.name}' op, on @{name}: {error}", op) from None

    def _named(self, op: ir.Operation) -> Iterator[str]:
        """Every mesh that an op, or its signature, names."""
        yield from mesh_names.layout_meshes(op)
        if mesh_names.ON in op.attributes:
            yield ir.FlatSymbolRefAttr(op.attributes[mesh_names.ON]).value
        if op.name == "func.func":
            for where in ("arg_attrs", "res_attrs"):
                for i in range(len(op.attributes[where]) if where in op.attributes else 0):
                    if (name := mesh_names.signature_mesh(op, where, i)) is not None:
                        yield name

    def _known(self, op: ir.Operation, name: str | None) -> str | None:
        if name is not None and name not in self.declared:
            declared = ", ".join("@" + n for n in sorted(self.declared))
            raise PcgError(f"'{op.name}' op names the mesh @{name}; declared meshes: {declared}", op)
        return name


def place_arguments(func: ir.Operation, home: Mapping[int, str]) -> None:
    """Annotate arguments (by number), and the results that are their next values, with their meshes."""
    block = func.regions[0].blocks[0]
    state, results = state_of(func), block.operations[-1].operation.operands
    mesh_names.set_signature_meshes(func, "arg_attrs", [home.get(i) for i in range(len(block.arguments))])
    mesh_names.set_signature_meshes(func, "res_attrs", [home.get(state.get(r, -1)) for r in range(len(results))])
