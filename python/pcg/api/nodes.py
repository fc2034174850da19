"""Nodes of programs on slices, compiled by pcg for the slice's mesh.  Imports jax."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend import core

from pcg.api.compile import compile as pcg_compile
from pcg.driver.compilation import Compilation
from pcg.frontend.slice_calls import Node
from pcg.layout import ShardSpec
from pcg.runtime.executable import device_program
from pcg.runtime.islands.device_node import DeviceNode


@dataclass
class CompiledNode(DeviceNode):
    """A node on the devices of a slice, with what it was planned to be."""

    compilation: Compilation
    in_specs: tuple[ShardSpec, ...]
    out_specs: tuple[ShardSpec, ...]


class Nodes:
    """Compiled nodes by what they compute, where, and in which layouts their arguments are."""

    def __init__(self, limited: bool) -> None:
        self._limited = limited
        self._known: dict[Any, list[tuple[CompiledNode, Any]]] = {}
        self._numbers = itertools.count()

    def compile(
        self, node: Node, slice: Any, known: Sequence[ShardSpec | None], options: Mapping[str, Any]
    ) -> CompiledNode:
        """A node, compiled once for several places of a program that compute the same.

        Args:
          known: layouts in which arguments are on the slice already; None is the planner's choice.

        Raises:
          PcgError: it cannot be placed.
        """
        # Arrays that a function closes over print as their types, so such functions are told apart by themselves.
        own = id(node.jaxpr) if _has_constants(node.jaxpr) else None
        key = str(node.jaxpr), own, slice.name, slice.version, tuple(sorted(options.items()))
        before = self._known.setdefault(key, [])
        for found, _ in before:
            if all(k is None or k == have for k, have in zip(known, found.in_specs, strict=True)):
                return found
        found = self._compile(node, slice, known, options)
        before.append((found, node.jaxpr))  # whose id stays its own as long as it is here
        return found

    def _compile(
        self, node: Node, slice: Any, known: Sequence[ShardSpec | None], options: Mapping[str, Any]
    ) -> CompiledNode:
        function = core.jaxpr_as_fun(node.jaxpr)

        def run(*args: Any) -> Any:
            return function(*args)

        name = "".join(c if c.isalnum() else "_" for c in node.name).strip("_") or "node"
        run.__name__ = run.__qualname__ = name
        devices = slice.devices
        options = {"strategy": "auto", "refine": False, **options}
        # Users do not see the dimensions that a random key has inside.
        own = [
            None if spec is None else ShardSpec(spec.dims[: v.aval.ndim])
            for spec, v in zip(known, node.jaxpr.jaxpr.invars, strict=True)
        ]
        compiled = pcg_compile(run, slice.mesh, devices=devices, in_shardings=tuple(own), **options)
        avals = [v.aval for v in node.jaxpr.jaxpr.invars]
        executable = compiled.lower(*[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals])
        c = executable.compilation
        count = len(c.program.inputs)
        ins, outs = (tuple(s.without_partial() for s in specs) for specs in (c.in_specs[:count], c.out_specs))
        limited = self._limited and isinstance(devices[0], jax.Device)  # XLA of another process does not say it
        own_name = f"{name}_{next(self._numbers)}"
        return CompiledNode(own_name, node.source, device_program(c), devices, limited, c, ins, outs)


def _has_constants(jaxpr: core.ClosedJaxpr) -> bool:
    inner = [j for eqn in jaxpr.jaxpr.eqns for j in core.jaxprs_in_params(eqn.params)]
    return bool(jaxpr.consts) or any(_has_inner_constants(j) for j in inner)


def _has_inner_constants(jaxpr: Any) -> bool:
    if getattr(jaxpr, "consts", None):
        return True
    body = getattr(jaxpr, "jaxpr", jaxpr)
    return any(_has_inner_constants(j) for eqn in body.eqns for j in core.jaxprs_in_params(eqn.params))


