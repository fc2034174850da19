"""StableHLO modules as programs: argument and result types of `@main`.  Needs no jax."""

from __future__ import annotations

from torch_mlir import ir

from pcg.frontend.program import Leaf, Program, ProgramError
from pcg.ir.locations import argument_names, result_names
from pcg.ir.walk import entry, functions


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
    """
    function = entry_function(module)
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    names = argument_names(function)
    arguments = tuple(_leaf(n, t) for n, t in zip(names, kind.inputs, strict=True))
    results = tuple(_leaf(n, t) for n, t in zip(result_names(function), kind.results, strict=True))
    if bad := sorted(i for i in donated if not 0 <= i < len(arguments)):
        raise ProgramError(f"donate_argnums {bad} are out of range: the program has {len(arguments)} arguments")
    name = ir.StringAttr(function.attributes["sym_name"]).value
    return Program(name, source, arguments, results, donated=donated, path=path)


def _leaf(name: str, type_: ir.Type) -> Leaf:
    if not isinstance(type_, ir.RankedTensorType):
        raise ProgramError(f"{name} has type {type_}; programs take and return ranked tensors")
    if not type_.has_static_shape:
        raise ProgramError(f"{name} has type {type_}; dynamic shapes are not supported, give every size")
    return Leaf(name, tuple(type_.shape), str(type_.element_type))
