"""Fragments of a pipeline as compiled programs on their groups of devices.  Imports jax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


class CompiledFragment:
    """A fragment that is ready to run.

    `run` takes the sums over microbatches so far, whose memory it takes over, and what the fragment reads; it returns
    what that writes, and the sums.  `start` returns the sums before the first microbatch.  It takes over the memory of
    `donated`, names of what it reads, too.
    """

    def __init__(
        self, program: FragmentProgram, group: Group, arguments: Sequence[Value], donated: Sequence[str] = ()
    ) -> None:
        self.program, self.group, self.arguments = program, group, tuple(arguments)
        self._donated = [i for i, name in enumerate(program.reads) if name in donated]
        mesh = group.mesh
        results = tuple(
            jax.ShapeDtypeStruct(s.local_shape(shape, mesh), np_dtype(ELEMENT_DTYPES[element]))
            for (shape, element), s in zip(program.out_types, program.out_specs, strict=True)
        )
        self._local = jax_compat.LocalProgram(program.text, results)
        self._sums = [group.aval(*program.out_types[i], program.out_specs[i]) for _, i, _ in program.sums]
        self.start = self._start()
        self._lowered = self._lower()
        self.run: jax.stages.Compiled

    def compile(self) -> None:
        """Let XLA compile it.  Several fragments can be compiled at a time, by threads."""
        self.run = self._lowered.compile()
        del self._lowered

    def _start(self) -> Any:
        kinds = [kind for _, _, kind in self.program.sums]

        def start() -> list[Any]:
            pairs = zip(self._sums, kinds, strict=True)
            return [jax.numpy.full(x.shape, _neutral(kind, x.dtype), x.dtype) for x, kind in pairs]

        return jax.jit(start, out_shardings=[x.sharding for x in self._sums])

    def _lower(self) -> Any:
        """The program on global arrays: the sums so far, then what it reads; results, then sums."""
        p, count = self.program, len(self.program.sums)

        def on_device(*args: Any) -> tuple[Any, ...]:
            before, own = args[:count], args[count:]
            out = jax_compat.inline_call(self._local, *map(_without_terms, own, p.in_specs))
            out = [_with_terms(x, s) for x, s in zip(out, p.out_specs, strict=True)]
            sums = [_REDUCERS[kind](b, out[i]) for b, (_, i, kind) in zip(before, p.sums, strict=True)]
            return *(x for x, name in zip(out, p.outputs, strict=True) if name is not None), *sums

        ins = [*(p.out_specs[i] for _, i, _ in p.sums), *p.in_specs]
        outs = [s for s, name in zip(p.out_specs, p.outputs, strict=True) if name is not None]
        outs += [p.out_specs[i] for _, i, _ in p.sums]
        shardings = tuple(tuple(map(self.group.sharding, side)) for side in (ins, outs))
        specs = [tuple(s.spec for s in side) for side in shardings]
        body = jax_compat.shard_map(on_device, self.group.placed.common([*ins, *outs]), *specs)
        body.__name__ = body.__qualname__ = p.name
        avals = [*self._sums]
        avals += [self.group.aval(v.shape, v.element, s) for v, s in zip(self.arguments, p.in_specs, strict=True)]
        donated = (*range(count), *(count + i for i in self._donated))
        jitted = jax.jit(body, in_shardings=shardings[0], out_shardings=shardings[1], donate_argnums=donated)
        return jitted.lower(*avals)

    @property
    def workspace(self) -> int:
        """Bytes of temporaries on each device."""
        found = self.run.memory_analysis()
        return 0 if found is None else int(found.temp_size_in_bytes)


def _neutral(kind: str, dtype: Any) -> Any:
    """What a reduction of a kind starts from."""
    if kind in ("sum", "prod"):
        return int(kind == "prod")
    if jax.numpy.issubdtype(dtype, jax.numpy.bool_):
        return kind == "min"
    if jax.numpy.issubdtype(dtype, jax.numpy.integer):
        info = jax.numpy.iinfo(dtype)
        return info.max if kind == "min" else info.min
    return jax.numpy.inf if kind == "min" else -jax.numpy.inf


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
