"""Fragments of a pipeline as compiled programs on their groups of devices.  Imports jax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from pcg.driver.pipelined import Division, FragmentProgram, Value
from pcg.driver.program import ELEMENT_DTYPES
from pcg.layout import Mesh, ShardSpec
from pcg.runtime import jax_compat, placement
from pcg.runtime.inputs import np_dtype

_REDUCERS = {"sum": jax.numpy.add, "max": jax.numpy.maximum, "min": jax.numpy.minimum, "prod": jax.numpy.multiply}


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
        terms = [axis for axis, _ in spec.partial]
        if not terms:
            return self.placed.sharding(spec)
        dims = placement.partition_spec(spec.without_partial())
        return NamedSharding(self.placed.common([spec]), PartitionSpec(*terms, *dims))

    def shape(self, shape: Sequence[int], spec: ShardSpec) -> tuple[int, ...]:
        """The shape of such an array."""
        return (*(self.mesh.axis_size(axis) for axis, _ in spec.partial), *shape)

    def aval(self, shape: Sequence[int], element: str, spec: ShardSpec) -> jax.ShapeDtypeStruct:
        """Such an array to compile for."""
        dtype = np.dtype(np_dtype(ELEMENT_DTYPES[element]))
        return jax.ShapeDtypeStruct(self.shape(shape, spec), dtype, sharding=self.sharding(spec))


@dataclass(frozen=True)
class CompiledFragment:
    """A fragment that is ready to run: in the first microbatch, which begins its sums, and in later ones."""

    program: FragmentProgram
    group: Group
    arguments: tuple[Value, ...]
    _local: jax_compat.LocalProgram = field(init=False, repr=False)

    def __post_init__(self) -> None:
        p, mesh = self.program, self.group.mesh
        results = tuple(
            jax.ShapeDtypeStruct(s.local_shape(shape, mesh), np_dtype(ELEMENT_DTYPES[element]))
            for (shape, element), s in zip(p.out_types, p.out_specs, strict=True)
        )
        object.__setattr__(self, "_local", jax_compat.LocalProgram(p.text, results))

    def _function(self, add: bool) -> Any:
        """The program on global arrays: the sums so far, if it adds to them, then what it reads; results, then sums."""
        p, count = self.program, len(self.program.sums) if add else 0

        def on_device(*args: Any) -> tuple[Any, ...]:
            before, own = args[:count], args[count:]
            out = jax_compat.inline_call(self._local, *map(_without_terms, own, p.in_specs))
            out = [_with_terms(x, s) for x, s in zip(out, p.out_specs, strict=True)]
            sums = [out[i] for _, i, _ in p.sums]
            if add:
                sums = [_REDUCERS[kind](b, x) for b, x, (_, _, kind) in zip(before, sums, p.sums, strict=True)]
            return *(x for x, name in zip(out, p.outputs, strict=True) if name is not None), *sums

        ins = [*(p.out_specs[i] for _, i, _ in p.sums[:count]), *p.in_specs]
        outs = [s for s, name in zip(p.out_specs, p.outputs, strict=True) if name is not None]
        outs += [p.out_specs[i] for _, i, _ in p.sums]
        specs = [tuple(self.group.sharding(s).spec for s in side) for side in (ins, outs)]
        mesh = self.group.placed.common([*ins, *outs])
        body = jax_compat.shard_map(on_device, mesh, *specs)
        body.__name__ = body.__qualname__ = p.name
        shardings = tuple(tuple(map(self.group.sharding, side)) for side in (ins, outs))
        return jax.jit(
            body, in_shardings=shardings[0], out_shardings=shardings[1], donate_argnums=tuple(range(count))
        )  # fmt: skip

    def _compile(self, add: bool) -> jax.stages.Compiled:
        p, avals = self.program, []
        for _, i, _ in p.sums if add else ():
            avals.append(self.group.aval(*p.out_types[i], p.out_specs[i]))
        avals += [self.group.aval(v.shape, v.element, s) for v, s in zip(self.arguments, p.in_specs, strict=True)]
        return self._function(add).lower(*avals).compile()

    @cached_property
    def begin(self) -> jax.stages.Compiled:
        """Takes what the fragment reads; returns what it writes, and its sums of this microbatch alone."""
        return self._compile(False)

    @cached_property
    def add(self) -> jax.stages.Compiled:
        """Takes the sums so far, whose memory it takes over, and what the fragment reads."""
        return self._compile(True) if self.program.sums else self.begin

    @property
    def workspace(self) -> int:
        """Bytes of temporaries on each device."""
        found = [c.memory_analysis() for c in (self.begin, self.add)]
        return max((int(f.temp_size_in_bytes) for f in found if f is not None), default=0)


def _without_terms(x: Any, spec: ShardSpec) -> Any:
    return x.reshape(x.shape[len(spec.partial) :])


def _with_terms(x: Any, spec: ShardSpec) -> Any:
    return x.reshape((1,) * len(spec.partial) + x.shape)


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
