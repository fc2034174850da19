"""JAX functions as programs.  Imports jax."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.extend import source_info_util

from pcg.driver.program import ELEMENT_DTYPES, Leaf, Program, ProgramError
from pcg.frontend import annotate, constants, host_calls
from pcg.layout import Mesh
from pcg.runtime import jax_compat
from pcg.search.roles import CONSTANT

# Locations in the module are those of the user's frames, not of ours.
for _file in (__file__, jax_compat.__file__, str(Path(__file__).parents[1] / "api/compiled.py")):
    source_info_util.register_exclusion(_file)

_ELEMENTS = {dtype: element for element, dtype in ELEMENT_DTYPES.items()}


def abstract(name: str, value: Any) -> jax.ShapeDtypeStruct:
    """Shape and dtype of one argument leaf, as jax will see it.

    Raises:
      ProgramError: it is not an array; names the argument.
    """
    if isinstance(value, jax.ShapeDtypeStruct):
        dtype = value.dtype if jax_compat.is_key(value.dtype) else jax.dtypes.canonicalize_dtype(value.dtype)
        return jax.ShapeDtypeStruct(value.shape, dtype)
    try:
        aval = jax.typeof(value)
        if not jax_compat.is_reference(aval):
            return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
    except OverflowError as error:
        raise ProgramError(f"argument {name}: {error}") from None
    except (TypeError, ValueError, AttributeError):
        raise ProgramError(
            f"argument {name} is {value!r:.60} of type {type(value).__name__}; expected a numpy or jax array or a"
            " number (name it in static_argnums if it is a constant of the program)"
        ) from None
    raise ProgramError(f"argument {name} is a mutable array (jax.new_ref); pass its value, return the new one")


def parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    """Names of the first `count` positional parameters; `args[i]` past the named ones."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [*named[:count], *(f"args[{i}]" for i in range(len(named), count))]


def leaf_names(names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """How a user reaches each leaf of `(args, kwargs)`: `params['w1']`, `batch[0]`."""
    return [
        name + jax.tree_util.keystr(path)
        for name, value in [*zip(names, args, strict=True), *sorted(kwargs.items())]
        for path, _ in jax.tree_util.tree_flatten_with_path(value)[0]
    ]


def leaf(name: str, aval: Any) -> Leaf:
    """The module's tensor behind one traced value."""
    if jax_compat.is_key(aval.dtype):
        inner = jax_compat.key_data_shape(aval.dtype)
        return Leaf(name, (*aval.shape, *inner), "ui32", jax_compat.key_impl(aval.dtype), len(inner))
    if aval.dtype == jax.dtypes.float0:
        return Leaf(name, tuple(aval.shape), "i1", empty=True)
    dtype = np.dtype(aval.dtype).name
    if dtype not in _ELEMENTS:
        raise ProgramError(f"{name} has dtype {dtype}, which StableHLO does not have")
    return Leaf(name, tuple(aval.shape), _ELEMENTS[dtype], weak=bool(getattr(aval, "weak_type", False)))


def trace(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    static: Mapping[int, Any] | None = None,
    donate_argnums: Sequence[int] = (),
    mesh: jax.sharding.Mesh | None = None,
    remesh: Callable[[list[tuple[int, ...]]], jax.sharding.Mesh] | None = None,
    meshes: Mapping[str, Mesh] | None = None,
    traced_to: Callable[[int], None] = lambda equations: None,
) -> Program:
    """Trace `function` for arguments of these shapes into a program.

    `args` are the dynamic positional arguments (trees of arrays or ShapeDtypeStructs); `static` maps
    positions among all positional arguments to constants.  `donate_argnums` count all positional
    arguments.  `mesh` is the mesh that bare PartitionSpecs and `pcg.shard` in the function refer to; if constraints
    are slices, `remesh` makes another one from the device matrices that they need.  `meshes`,
    instead, are the meshes that `pcg.shard` names in a program on several.  `traced_to` gets the number of equations
    before they are lowered, which takes half as long as to trace them.

    Raises:
      ProgramError: an argument is not an array, or a constraint does not fit the mesh.
    """
    static = dict(static or {})
    count = len(args) + len(static)
    all_names = parameter_names(function, count)
    dynamic = [i for i in range(count) if i not in static]
    names = leaf_names([all_names[i] for i in dynamic], args, kwargs)
    flat, in_tree = jax.tree.flatten((tuple(args), dict(kwargs)))
    avals = [abstract(n, x) for n, x in zip(names, flat, strict=True)]
    kept_args, kept_kwargs = jax.tree.unflatten(in_tree, avals)

    def call(*args: Any, **kwargs: Any) -> Any:
        dynamic_args = iter(args)
        return function(*(static[i] if i in static else next(dynamic_args) for i in range(count)), **kwargs)

    call.__name__ = call.__qualname__ = getattr(function, "__name__", "main")
    if not static:
        call.__wrapped__ = function  # type: ignore[attr-defined]  # what jax says of it is about the user's function
    donated_args = [dynamic.index(i) for i in donate_argnums if i in dynamic]
    owners = [i for i, value in enumerate(args) for _ in jax.tree.leaves(value)]
    donated = {leaf for leaf, i in enumerate(owners) if i in donated_args}
    jitted = jax.jit(call, keep_unused=True, donate_argnums=donated_args)
    with jax_compat.tracing_mesh(mesh):
        traced = _not_too_deep(call.__name__, lambda: jitted.trace(*kept_args, **kept_kwargs))
        if remesh is not None and (needed := annotate.device_matrices(traced.jaxpr)):
            mesh = remesh(needed)
        traced_to(host_calls.check(traced.jaxpr))
        if any(jax_compat.is_reference(v.aval) for v in traced.jaxpr.jaxpr.constvars):
            raise ProgramError(
                f"{call.__name__} closes over a mutable array (jax.new_ref); take its value, return the new one"
            )
        target = mesh if meshes is None else meshes
        if target is not None:
            annotate.check(traced.jaxpr, target)
        # On several meshes a constant stays in the program, where it is used.
        hoisted = constants.hoist(traced.jaxpr) if meshes is None else None
        with annotate.tracing_for(target), jax_compat.any_order(traced.jaxpr):
            lower = traced.lower
            if hoisted is not None:
                lower = functools.partial(_lower_hoisted, hoisted, avals, traced.out_info, call.__name__, donated)
            lowered = _not_too_deep(call.__name__, lambda: jax_compat.quietly(lower))
    out_flat, out_tree = jax.tree_util.tree_flatten_with_path(traced.out_info)
    values, apart = (hoisted.values, hoisted.names) if hoisted is not None else ((), ())
    module = lowered.compiler_ir("stablehlo")
    callbacks = jax_compat.callbacks_of(lowered)
    if meshes is not None and callbacks:
        raise ProgramError(f"{call.__name__} calls Python functions on the host; a program on several meshes cannot")
    if ordered := jax_compat.has_ordered_effects(lowered):
        host_calls.without_tokens(module)
    jax_compat.name_arguments(module, [*names, *apart], len(values), CONSTANT)
    return Program(
        name=call.__name__,
        source=module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True),
        arguments=tuple(leaf(n, a) for n, a in zip((*names, *apart), (*avals, *values), strict=True)),
        results=tuple(leaf("result" + jax.tree_util.keystr(p), a) for p, a in out_flat),
        in_tree=in_tree,
        out_tree=out_tree,
        donated=frozenset(donated),
        callbacks=callbacks,
        ordered=ordered,
        constants=values,
    )


def _not_too_deep(name: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except RecursionError:
        raise ProgramError(
            f"{name}: functions are nested too deeply for jax to trace under Python's recursion limit of"
            f" {sys.getrecursionlimit()}; sys.setrecursionlimit raises it"
        ) from None


def _lower_hoisted(
    hoisted: constants.Hoisted, avals: Sequence[Any], results: Any, name: str, donated: Collection[int]
) -> Any:
    """The lowered function with its constants as last arguments."""
    tree = jax.tree.structure(results)

    def call(*flat: Any) -> Any:
        return jax.tree.unflatten(tree, hoisted.function(flat[len(avals) :], flat[: len(avals)]))

    call.__name__ = call.__qualname__ = name
    jitted = jax.jit(call, keep_unused=True, donate_argnums=sorted(donated))
    constant_avals = [abstract(n, v) for n, v in zip(hoisted.names, hoisted.values, strict=True)]
    return jitted.lower(*avals, *constant_avals)
