"""Modules of programs on islands, at any stage, as what a controller runs.  Needs no jax.

A module has calls on slices, with or without islands (as `pcg-assign-islands` writes them), or a function per island
(as `pcg-split-islands` does); the functions that are called have bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch_mlir import ir

from pcg.controller.streams import IslandProgram
from pcg.dialects import checks
from pcg.driver.module_program import entry_function
from pcg.driver.program import ELEMENT_DTYPES, Leaf, Program, ProgramError
from pcg.ir import shardings
from pcg.ir.clone import clone_module
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import body, functions, is_private, walk
from pcg.layout import Mesh, ShardSpec
from pcg.passes.pcg_assign_islands import AssignIslandsPass
from pcg.passes.pipeline import Pipeline
from pcg.rewrite.islands import nodes
from pcg.rewrite.islands.read import read_program

#: On calls of a program: what a plain program has no use for.
_ON_CALLS = ("mesh", shardings.IN_SPECS, shardings.OUT_SPECS, nodes.LAST_USES)


@dataclass(frozen=True)
class NodeSource:
    """A function that a program calls, as a program of its own."""

    text: str
    slice: str
    in_specs: tuple[ShardSpec, ...]
    out_specs: tuple[ShardSpec, ...]
    source: str
    """Where it is called."""


@dataclass(frozen=True)
class IslandModule:
    """A program on islands, and what it calls."""

    program: IslandProgram
    functions: Mapping[str, NodeSource]
    """By the name that calls in the streams have."""
    devices: Mapping[str, int]
    """How many each island must have."""
    leaves: tuple[tuple[Leaf, ...], tuple[Leaf, ...]]
    """Arguments and results."""
    plain: str | None
    """The same program without slices; None where the module has a function per island."""


def read_island_module(source: str | bytes, path: str | None, count: int) -> IslandModule:
    """A module as a program on `count` islands; slices without islands are put on them in turn.

    Raises:
      ProgramError: it has no calls on slices, another number of islands, or calls a function without a body.
      PcgError: it is not valid.
    """
    module = load_module(source, make_context(), path or "<program>")
    split = [f for f in functions(module) if isinstance(checks.entry(f.attributes, nodes.ISLAND), ir.StringAttr)]
    programs = split or [entry_function(module)]
    if not split and not is_on_slices(module):
        raise ProgramError(
            f"{path or 'the module'} has no calls on slices; allowed with islands: functions that are called with a"
            " mesh and layouts, as pcg-assign-islands takes them"
        )
    plain = None if split else plain_text(module)
    functions_of = _named_apart(module, programs)
    if not split:
        assigned = [op for op in _meshes(module) if nodes.ISLAND in op.attributes]
        if len(assigned) < len(_meshes(module)):
            if assigned:
                absent = next(op for op in _meshes(module) if nodes.ISLAND not in op.attributes)
                raise ProgramError(f"slice @{nodes.symbol(absent)} is on no island, others are; allowed: all or none")
            Pipeline([AssignIslandsPass(assignment=_round_robin(shardings.meshes_of(module), count))]).run(module)
        Pipeline("lower-islands").run(module)
    program = read_program(module)
    program.check()
    islands = list(dict.fromkeys(island for island, _ in program.slices.values()))
    if split or assigned:
        if len(islands) != count:
            names = ", ".join(islands)
            raise ProgramError(f"{path or 'the module'} is for {len(islands)} islands ({names}), not {count}")
    devices: dict[str, int] = dict.fromkeys(islands, 0)
    for island, mesh in program.slices.values():
        devices[island] = max(devices[island], *(d + 1 for d in mesh.device_ids or range(mesh.size)))
    return IslandModule(program, functions_of, devices, _leaves(program), plain)


def is_on_slices(module: ir.Module) -> bool:
    """Whether the entry of a module calls functions on slices."""
    return any(op.name == "func.call" and "mesh" in op.attributes for op in nodes.ops_of(entry_function(module)))


def plain_text(module: ir.Module) -> str:
    """A program on slices without them: what it computes on one device."""
    copy = clone_module(module)
    func = entry_function(copy)
    for op in nodes.ops_of(func):
        if op.name == "pcg.transfer":
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
            continue
        for name in _ON_CALLS:
            if name in op.attributes:
                del op.attributes[name]
    Pipeline("dist-strip").run(copy)
    for op in _meshes(copy):
        op.erase()
    return str(copy.operation.get_asm(print_generic_op_form=True))


def _meshes(module: ir.Module) -> list[ir.Operation]:
    return [op.operation for op in body(module).operations if op.operation.name == "dist.mesh"]


def _round_robin(meshes: Mapping[str, Mesh], count: int) -> dict[str, tuple[str, list[int]]]:
    """Slices on islands, one after another, each with devices of its own."""
    used = [0] * count
    found = {}
    for i, (name, mesh) in enumerate(meshes.items()):
        first = used[i % count]
        used[i % count] += mesh.size
        found[name] = f"island{i % count}", list(range(first, first + mesh.size))
    return found


def _named_apart(module: ir.Module, programs: list[ir.Operation]) -> dict[str, NodeSource]:
    """The functions that programs call; one called on several slices, or in several layouts, becomes several."""
    by_name = {nodes.symbol(f): f for f in functions(module)}
    known: dict[tuple[str, ...], str] = {}
    found: dict[str, NodeSource] = {}
    for program in programs:
        nodes.check_program(module.operation, program)
        for op in nodes.ops_of(program):
            if op.name != "func.call":
                continue
            callee = nodes.symbol(op, "callee")
            key = callee, *(str(op.attributes[n]) for n in _ON_CALLS[:3])
            if key not in known:
                if not any(block.operations for block in by_name[callee].regions[0].blocks):
                    raise ProgramError(f"function @{callee} has no body; a program runs if all that it calls have one")
                name, number = callee, 0
                while name in found or (name != callee and name in by_name):
                    name, number = f"{callee}_{number}", number + 1
                known[key] = name
                ins, outs = (tuple(map(shardings.from_attr, ir.ArrayAttr(op.attributes[n]))) for n in _ON_CALLS[1:3])
                text = _alone(module, callee, programs)
                found[name] = NodeSource(text, nodes.symbol(op, "mesh"), ins, outs, _where(op))
                if name != callee:
                    copy = by_name[callee].clone()
                    with module.context:
                        copy.attributes["sym_name"] = ir.StringAttr.get(name)
                    body(module).append(copy)
            with module.context:
                op.attributes["callee"] = ir.FlatSymbolRefAttr.get(known[key])
    return found


def _alone(module: ir.Module, name: str, programs: list[ir.Operation]) -> str:
    """A module of one function, and of what it calls."""
    copy = clone_module(module)
    others = {nodes.symbol(f) for f in programs}
    for func in functions(copy):
        own = nodes.symbol(func)
        if own in others:
            func.erase()
        elif own == name:
            with copy.context:
                func.attributes["sym_name"] = ir.StringAttr.get("main")
            if is_private(func):
                del func.attributes["sym_visibility"]
        else:
            with copy.context:
                func.attributes["sym_visibility"] = ir.StringAttr.get("private")
    for op in _meshes(copy):
        op.erase()
    Pipeline("symbol-dce").run(copy)
    if bad := next((op for op in walk(copy.operation) if op.name.startswith(("pcg.", "dist."))), None):
        raise ProgramError(f"'{bad.name}' op in function @{name}, which runs on one slice; allowed: a plain program")
    return str(copy.operation.get_asm(print_generic_op_form=True, enable_debug_info=True))


def _where(op: ir.Operation) -> str:
    """File and line of an op; empty if it has none."""
    text = str(op.location)
    return text.removeprefix('loc("').partition('"')[0] if text.startswith('loc("') else ""


def _leaves(program: IslandProgram) -> tuple[tuple[Leaf, ...], tuple[Leaf, ...]]:
    sides = (("argument", program.arguments), ("result", program.results))
    found = []
    for what, numbers in sides:
        values = [program.values[v] for v in numbers]
        if unknown := [v.dtype for v in values if v.dtype not in ELEMENT_DTYPES]:
            raise ProgramError(f"{what} of element type {unknown[0]}; allowed: {', '.join(ELEMENT_DTYPES)}")
        found.append(tuple(Leaf(f"{what} {i}", v.shape, v.dtype) for i, v in enumerate(values)))
    return found[0], found[1]


def argument_values(module: ir.Module) -> list[ir.Value]:
    """The arguments of a program that has a function per island, in order; what is called is inlined for that."""
    Pipeline("inline").run(module)
    found = {}
    for func in nodes.island_functions(module.operation).values():
        for argument in func.regions[0].blocks[0].arguments:
            number = checks.entry(func.attributes["arg_attrs"][argument.arg_number], nodes.ARGUMENT)
            found[ir.IntegerAttr(number).value] = argument
    return [found[i] for i in range(len(found))]


def island_program(module: IslandModule, name: str, source: str | bytes, path: str | None) -> Program:
    """The signature of a program on islands."""
    return Program(name, source, *module.leaves, path=path)
