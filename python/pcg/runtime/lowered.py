"""Running the output of pcg-lower-spmd: a per-device program with its mesh and layouts, without a plan.

Imports jax.
"""

from __future__ import annotations

import dataclasses
import operator
from typing import Any, cast

from torch_mlir import ir

from pcg.driver.compilation import Compilation
from pcg.driver.module_program import module_program
from pcg.driver.program import Program
from pcg.emulate.program import global_types, lowered_layouts
from pcg.ir.errors import PcgError
from pcg.runtime.executable import Executable


def lowered_program(module: ir.Module, source: str | bytes, path: str | None) -> Program:
    """The program that a lowered module is part of: its arguments and results are the global tensors.

    Raises:
      PcgError: the layouts that it has do not go with its signature.
    """
    mesh, ins, outs = lowered_layouts(module)
    local = module_program(module, source, path=path)
    global_ = global_types(module)
    sides = []
    for leaves, specs, types in (
        (local.arguments, ins, global_.inputs if global_ else None),
        (local.results, outs, global_.results if global_ else None),
    ):
        if len(leaves) != len(specs) or any(len(x.shape) != len(s.dims) for x, s in zip(leaves, specs, strict=True)):
            raise PcgError("the layouts of the lowered program do not go with its signature", path)
        shapes = (
            [tuple(ir.RankedTensorType(t).shape) for t in types] if types is not None
            else [tuple(map(operator.mul, x.shape, s.shards(mesh))) for x, s in zip(leaves, specs, strict=True)]
        )  # fmt: skip
        sides.append(tuple(dataclasses.replace(x, shape=n) for x, n in zip(leaves, shapes, strict=True)))
    return dataclasses.replace(local, arguments=sides[0], results=sides[1])


def lowered_executable(module: ir.Module, program: Program, devices: list[Any]) -> Executable:
    """A lowered module on `devices`, one for each position of its mesh.

    Raises:
      PcgError: an argument or result is split into blocks of unequal sizes, which jax cannot hold.
    """
    mesh, ins, outs = lowered_layouts(module)
    for leaf, spec in ((*zip(program.arguments, ins, strict=True), *zip(program.results, outs, strict=True))):
        for size, count in zip(leaf.shape, spec.shards(mesh), strict=True):
            if size % count:
                raise PcgError(
                    f"{leaf.name} is {leaf}, split by {spec} on mesh {mesh} into {count} blocks of unequal sizes; a"
                    " lowered program runs only with even ones at its boundary (pcg.compile makes them so)",
                    program.path,
                )
    compilation = Compilation(
        program, mesh, cast(Any, None), tuple(ins), tuple(outs), {"local": module}, remarks=[], seconds={}
    )  # fmt: skip
    return Executable(compilation, devices)
