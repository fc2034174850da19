"""StableHLO modules as programs: argument and result types of `@main`.  Needs no jax."""

from __future__ import annotations

from torch_mlir import ir

from pcg.driver.program import Leaf, Program, ProgramError
from pcg.ir.errors import PcgError
from pcg.ir.locations import argument_names, result_names
from pcg.ir.walk import entry, functions, walk
from pcg.rules import traits
from pcg.rules.custom_call import is_host_callback, target
from pcg.rules.traits import Trait


def entry_function(module: ir.Module) -> ir.Operation:
    """`@main`, or the only public function of `module`.

    Raises:
      ProgramError: there is none, or more than one candidate.
    """
    found = entry(module)
    if found is None:
        names = ", ".join("@" + ir.StringAttr(f.attributes["sym_name"]).value for f in functions(module))
        raise ProgramError(
            f"a program needs a function @main or a single public function; the module has {names or 'no function'}"
        )
    return found


def module_program(
    module: ir.Module, source: str | bytes, *, donated: frozenset[int] = frozenset(), path: str | None = None
) -> Program:
    """`module` (already parsed from `source`) as a program that is called with a flat list of arrays.

    Raises:
      ProgramError: no entry function, a dynamic shape, an argument that is not a tensor.
      PcgError: an op that only the process that made the module could run; at its location.
    """
    for op in walk(module.operation):
        _check_host(op)
    function = entry_function(module)
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    names = argument_names(function)
    arguments = tuple(_leaf(n, t) for n, t in zip(names, kind.inputs, strict=True))
    results = tuple(_leaf(n, t) for n, t in zip(result_names(function), kind.results, strict=True))
    if bad := sorted(i for i in donated if not 0 <= i < len(arguments)):
        raise ProgramError(f"donate_argnums {bad} are out of range: the program has {len(arguments)} arguments")
    name = ir.StringAttr(function.attributes["sym_name"]).value
    return Program(name, source, arguments, results, donated=donated, path=path)


def _check_host(op: ir.Operation) -> None:
    """Refuse what a module that was written down cannot do."""
    if traits.has(op.name, Trait.HOST_IO):
        raise PcgError(f"'{op.name}' op talks to a host program, which there is none of; it cannot be run", op.location)
    if is_host_callback(op):
        raise PcgError(
            f"custom call @{target(op)} is a Python function of the process that made the program (jax.pure_callback,"
            " io_callback, jax.debug.print, ...), which a file does not have; compile the jax function itself",
            op.location,
        )
    if op.name == "stablehlo.custom_call" and target(op) == "InspectSharding":
        raise PcgError("custom call @InspectSharding asks XLA's partitioner, which does not run here", op.location)


def _leaf(name: str, type_: ir.Type) -> Leaf:
    if not isinstance(type_, ir.RankedTensorType):
        raise ProgramError(f"{name} has type {type_}; programs take and return ranked tensors")
    if not type_.has_static_shape:
        raise ProgramError(f"{name} has type {type_}; dynamic shapes are not supported, give every size")
    return Leaf(name, tuple(type_.shape), str(type_.element_type))
