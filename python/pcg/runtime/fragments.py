"""Fragments of a pipeline as compiled programs on their groups of devices.  Imports jax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from pcg.driver.pipelined import Division, FragmentProgram, Value
from pcg.driver.program import ELEMENT_DTYPES, Leaf, Program
from pcg.layout import Mesh, ShardSpec
from pcg.lower.fragment import outside_shape, outside_spec
from pcg.runtime import placement
from pcg.runtime.device_program import DeviceExecutable, DeviceProgram
from pcg.runtime.inputs import np_dtype


@dataclass(frozen=True)
class Group:
    """One group of devices with its mesh."""

    mesh: Mesh
    placed: placement.DeviceMesh

    @classmethod
    def of(cls, mesh: Mesh, devices: Sequence[Any]) -> Group:
        return cls(mesh, placement.DeviceMesh.of(mesh, devices))

    def sharding(self, spec: ShardSpec) -> NamedSharding:
        """Of an array with a layout.

        One that is partial over axes has leading dimensions of their sizes, one after another, that hold its terms.
        """
        return self.placed.sharding(outside_spec(spec))

    def shape(self, shape: Sequence[int], spec: ShardSpec) -> tuple[int, ...]:
        """The shape of such an array."""
        return outside_shape(shape, spec, self.mesh)

    def aval(self, shape: Sequence[int], element: str, spec: ShardSpec) -> jax.ShapeDtypeStruct:
        """Such an array to compile for."""
        dtype = np.dtype(np_dtype(ELEMENT_DTYPES[element]))
        return jax.ShapeDtypeStruct(self.shape(shape, spec), dtype, sharding=self.sharding(spec))


def fragment_code(
    f: FragmentProgram, mesh: Mesh, values: Mapping[str, Value], leaves: Mapping[str, Leaf] | None = None
) -> DeviceProgram:
    """What the devices of a group run of a fragment: of what it reads, and the sums so far, to what it writes, and the
    sums, as a list.

    Args:
      leaves: of values that are no plain arrays outside: random keys.
    """

    def leaf(name: str, shape: Sequence[int], element: str, spec: ShardSpec) -> Leaf:
        known = (leaves or {}).get(name)
        return known or Leaf(name, outside_shape(shape, spec, mesh), element)

    types = [(*t, s) for t, s in zip(f.out_types, f.out_specs, strict=True)]
    reads = [leaf(n, values[n].shape, values[n].element, s) for n, s in zip(f.reads, f.in_specs, strict=True)]
    writes = [(leaf(n, *t), t[2]) for n, t in zip(f.outputs, types, strict=True) if n is not None]
    sums = [(leaf(n, *types[i]), types[i][2]) for n, i, _ in f.sums]
    ins, outs = [*f.in_specs, *(s for _, s in sums)], [s for _, s in (*writes, *sums)]
    arguments, results = [*reads, *(x for x, _ in sums)], [x for x, _ in (*writes, *sums)]
    return device_code(f.name, f.text, mesh, arguments, results, ins, outs)


def start_code(f: FragmentProgram, mesh: Mesh) -> DeviceProgram:
    """What the sums of a fragment begin with, as a list."""
    sums = [(Leaf(n, outside_shape(f.out_types[i][0], f.out_specs[i], mesh), f.out_types[i][1]), f.out_specs[i])
            for n, i, _ in f.sums]  # fmt: skip
    return device_code(f"{f.name}_start", f.start, mesh, [], [x for x, _ in sums], [], [s for _, s in sums])


def device_code(
    name: str, text: str, mesh: Mesh, arguments: Sequence[Leaf], results: Sequence[Leaf], ins: Sequence[ShardSpec],
    outs: Sequence[ShardSpec],
) -> DeviceProgram:  # fmt: skip
    """A StableHLO module for each device of a mesh, with types and layouts of the arrays outside; it returns a list."""
    program = Program(name, "", tuple(arguments), tuple(results))
    in_specs, out_specs = (tuple(map(outside_spec, side)) for side in (ins, outs))
    return as_list(DeviceProgram(program, mesh, in_specs, out_specs, text, False))


def as_list(code: DeviceProgram) -> DeviceProgram:
    """A device program whose results are a list."""
    tree = jax.tree.structure([0] * len(code.program.results))
    return replace(code, program=replace(code.program, out_tree=tree))


class CompiledFragment:
    """A fragment that is ready to run.

    `run` takes what the fragment reads, and the sums over microbatches so far, whose memory it takes over; it returns
    what it writes, and the sums.  `start` returns the sums before the first microbatch.  It takes over the memory of
    `donated`, names of what it reads, too.
    """

    def __init__(
        self, program: FragmentProgram, group: Group, values: Mapping[str, Value], donated: Sequence[str] = ()
    ) -> None:
        self.program = program
        devices = list(group.placed.user_mesh.devices.flat)
        code = fragment_code(program, group.mesh, values)
        count, sums = len(program.reads), len(program.sums)
        donate = [*(i for i, n in enumerate(program.reads) if n in donated), *range(count, count + sums)]
        pairs = zip(code.program.arguments, code.in_specs, strict=True)
        avals = [group.aval(x.shape, x.element, s) for x, s in pairs]
        self._lowered: Any = DeviceExecutable(code, devices, donate).jitted.lower(*avals)
        self.start: Any = DeviceExecutable(start_code(program, group.mesh), devices).jitted if sums else None
        self.run: jax.stages.Compiled

    def compile(self) -> None:
        """Let XLA compile it.  Several fragments can be compiled at a time, by threads."""
        self.run = self._lowered.compile()
        del self._lowered

    @property
    def workspace(self) -> int:
        """Bytes of temporaries on each device."""
        found = self.run.memory_analysis()
        return 0 if found is None else int(found.temp_size_in_bytes)


def divide(group: Group, source: Value, target: Value, how: Division, parts: int) -> jax.stages.Compiled:
    """A program that takes a value of the step and returns its microbatches."""
    d, block = how.dim, how.block
    n = source.shape[d]

    def split(x: Any) -> list[Any]:
        seen = x.reshape(*x.shape[:d], n // (parts * block), parts, block, *x.shape[d + 1 :])
        return [jax.numpy.take(seen, t, axis=d + 1).reshape(target.shape) for t in range(parts)]

    out = [group.sharding(target.spec)] * parts
    return jax.jit(split, out_shardings=out).lower(group.aval(source.shape, source.element, source.spec)).compile()


def join(group: Group, source: Value, target: Value, how: Division, parts: int) -> jax.stages.Compiled:
    """A program that takes the microbatches of a value, in order, and returns the value of the step."""
    d, block = how.dim, how.block
    n = target.shape[d]

    def together(*xs: Any) -> Any:
        shape = *source.shape[:d], n // (parts * block), block, *source.shape[d + 1 :]
        return jax.numpy.stack([x.reshape(shape) for x in xs], axis=d + 1).reshape(target.shape)

    avals = [group.aval(source.shape, source.element, source.spec)] * parts
    return jax.jit(together, out_shardings=group.sharding(target.spec)).lower(*avals).compile()
