"""What every device of a mesh runs, as data, and the jitted call that it becomes where the devices are.  Imports jax.

A `DeviceProgram` can be pickled: a process that has the devices needs nothing else to run a compilation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import jax
from jax.sharding import NamedSharding

from pcg.driver.program import PACKED, Leaf, Program
from pcg.layout import Mesh, ShardSpec, refine
from pcg.runtime import jax_compat, placement, replicas
from pcg.runtime.call_tree import CallTree, SignatureError, tensor
from pcg.runtime.direct_call import DirectCall, direct_call
from pcg.runtime.host import HostErrors
from pcg.runtime.inputs import np_dtype


@dataclass(frozen=True)
class DeviceProgram:
    """A per-device program with its mesh and layouts."""

    program: Program
    """The signature; its source is not needed."""
    mesh: Mesh
    in_specs: tuple[ShardSpec, ...]
    out_specs: tuple[ShardSpec, ...]
    text: str = field(repr=False)
    """The StableHLO module that a device runs."""
    effects: bool
    """Whether it does something besides computing its results."""
    entry: str = "main"
    """The function of the module that it runs."""


class DeviceExecutable:
    """A device program on devices, ready to run; see `pcg.runtime.executable.Executable`, which is one."""

    def __init__(self, local: DeviceProgram, devices: Sequence[Any], donate: Sequence[int] = ()) -> None:
        self._local = local
        program = self.program = local.program
        self.mesh = local.mesh
        self.placement = placement.DeviceMesh.of(self.mesh, devices)
        self.jax_mesh = self.placement.user_mesh
        self.call_tree = CallTree(program)
        self._in = [self._sharding(s, x) for s, x in zip(local.in_specs, program.arguments, strict=True)]
        self._out = [self._sharding(s, x) for s, x in zip(local.out_specs, program.results, strict=True)]
        self._errors = HostErrors(program.name) if program.callbacks and self.mesh.size > 1 else None
        self.jitted = self._build(tuple(donate))

    def _sharding(self, spec: Any, leaf: Leaf) -> NamedSharding:
        return self.placement.sharding(placement.boundary_spec(spec, leaf))

    def _build(self, donate: tuple[int, ...]) -> Any:
        program, c = self.program, self._local
        local_arguments = self._types(program.arguments, c.in_specs)
        local_results = self._types(program.results, c.out_specs)
        local = jax_compat.LocalProgram(
            c.text, tuple(local_results), c.entry, callbacks=program.callbacks, effects=c.effects, errors=self._errors
        )
        # One mesh for all: the per-device program knows positions, not axes.
        mesh = self.placement.common([*c.in_specs, *c.out_specs])
        specs = [c.in_specs, c.out_specs]
        if mesh is self.placement.user_mesh:
            specs = [tuple(refine.to_origin(s, self.mesh) for s in side) for side in specs]
        # Arrays without elements are created where they are needed: XLA cannot split them.
        ins, outs = (
            [placement.partition_spec(s) for s, x in zip(side, leaves, strict=True) if 0 not in x.shape]
            for side, leaves in zip(specs, (program.arguments, program.results), strict=True)
        )

        def on_device(*args: Any) -> list[Any]:
            results = jax_compat.inline_call(local, *_with_empty(args, local_arguments))
            return [x for x in results if x.size]

        body = jax_compat.shard_map(on_device, mesh, tuple(ins), outs)

        def run(*args: Any) -> Any:
            constants: Sequence[Any] = ()
            if program.constants:
                constants, *args = args  # type: ignore[assignment]
            flat = self.call_tree.flatten(args)
            self.call_tree.check(flat)
            if any(map(jax_compat.is_typed_by_mesh, flat)):
                raise SignatureError("arguments on a mesh with explicit axes are moved before the call")
            data = [tensor(x, leaf) for x, leaf in zip(flat, program.inputs, strict=True)]
            out = _with_empty(body(*(x for x in [*data, *constants] if x.size)), program.results)
            return self.call_tree.result(out)

        run.__name__ = run.__qualname__ = program.name
        count = len(program.inputs)
        shardings = self.call_tree.in_tree(self._in[:count])
        if program.constants:
            shardings, donate = (tuple(self._in[count:]), *shardings), tuple(i + 1 for i in donate)
        results = self.call_tree.unflatten(self._out)
        return jax.jit(run, in_shardings=shardings, out_shardings=results, donate_argnums=donate)

    def _types(self, leaves: Sequence[Leaf], specs: Sequence[ShardSpec]) -> list[jax.ShapeDtypeStruct]:
        """Local shapes and dtypes of `leaves`."""
        return [
            jax.ShapeDtypeStruct(s.local_shape(x.shape, self.mesh), np_dtype(x.dtype))
            for x, s in zip(leaves, specs, strict=True)
        ]

    @functools.cached_property
    def compiled(self) -> jax.stages.Compiled:
        """The program as XLA compiled it, once.

        jax.jit would compile again for the second step of a loop, whose arguments are on the mesh and no longer on the
        host.
        """
        with jax_compat.x64(self.needs_x64):
            types = self.call_tree.in_tree([_jax_type(x) for x in self.program.inputs])
            if self.program.constants:
                types = (tuple(map(_jax_type, self.program.arguments[len(self.program.inputs) :])), *types)
            return replicas.compile_lowered(self.jitted.lower(*types))

    @functools.cached_property
    def direct(self) -> Callable[..., Any]:
        """What a call runs once its arguments are placed: `compiled`, with its constants.

        Where elements are narrower than a byte it is `jitted`: what jax compiled ahead refuses such arrays, because it
        takes them to be packed.
        """
        call = self.jitted if any(x.element in PACKED for x in self.program.arguments) else self.compiled
        return functools.partial(call, self._constants) if self.program.constants else call

    @functools.cached_property
    def _constants(self) -> tuple[Any, ...]:
        shardings = self._in[len(self.program.inputs) :]
        return tuple(jax_compat.put(x, s) for x, s in zip(self.program.constants, shardings, strict=True))

    def direct_call(self, arrays: Sequence[jax.Array]) -> DirectCall | None:
        """How to call what `jitted` compiles for such arrays, if they are where it wants them; for any that are so.

        None if they are elsewhere, or a call does more than to compute its results from them.
        """
        if not all(x.sharding.is_equivalent_to(s, x.ndim) for x, s in zip(arrays, self._in, strict=True)):
            return None
        return direct_call(self.jitted.lower(*arrays).compile())

    @property
    def is_compiled(self) -> bool:
        """Whether XLA has compiled the program."""
        return "compiled" in self.__dict__

    def allocated(self) -> int | None:
        """Bytes per device that XLA allocates: arguments, results and temporaries; None if it does not say."""
        found = self.compiled.memory_analysis()
        if found is None:
            return None
        sizes = found.argument_size_in_bytes, found.output_size_in_bytes, found.temp_size_in_bytes
        return int(sum(sizes) - found.alias_size_in_bytes)

    # -- calling -------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(args, kwargs)

    def call(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run: check the arguments, place those that are elsewhere, dispatch; or become part of what is being traced.

        Raises:
          SignatureError: the arguments do not fit; names the first that does not.
        """
        packed = self.call_tree.packed(args, kwargs)
        with jax_compat.x64(self.needs_x64):
            flat = self.call_tree.flatten(packed)
            if jax_compat.any_traced(flat):
                if self.program.ordered:
                    raise SignatureError(
                        f"{self.program.name} does things on the host in a fixed order (ordered=True), which holds only"
                        " from call to call; it cannot be part of another jax function"
                    )
                constants = (self.program.constants,) if self.program.constants else ()
                return self.jitted(*constants, *self.call_tree.in_tree(flat))
            self.call_tree.check_donated(flat)
            placed = self.call_tree.in_tree(self.place(flat))
            return self._run_with_host(placed) if self.calls_host else self.direct(*placed)

    @property
    def calls_host(self) -> bool:
        """Whether a run calls Python functions, and the call waits until they are done."""
        return self._errors is not None or self.program.ordered

    def _run_with_host(self, placed: Sequence[Any]) -> Any:
        if self.program.ordered:  # what other programs do on the host in order comes before
            jax.effects_barrier()
        direct = self.direct
        with nullcontext() if self._errors is None else self._errors.raised():
            out = jax.block_until_ready(direct(*placed))
            jax.effects_barrier()
        return out

    def place(self, flat: Sequence[Any]) -> list[Any]:
        """Flat arguments, checked, as jax Arrays where the program wants them.

        Raises:
          SignatureError: one has another shape or dtype than the program was compiled for.
        """
        self.call_tree.check(flat)
        return [
            self._place(x, s, leaf.name)
            for x, s, leaf in zip(flat, self._in[: len(self.program.inputs)], self.program.inputs, strict=True)
        ]

    def _place(self, x: Any, sharding: NamedSharding, name: str) -> Any:
        if isinstance(x, jax.Array) and x.sharding.is_equivalent_to(sharding, x.ndim):
            return x
        if sharding.is_fully_addressable:
            return jax.device_put(x, sharding)
        return placement.to_processes(x, sharding, name)

    # -- structure -----------------------------------------------------------------------------

    @property
    def needs_x64(self) -> bool:
        """Whether calls must enable 64-bit arrays because the process has not."""
        return self.program.has_64_bit and not jax.config.jax_enable_x64


def _with_empty(values: Iterable[Any], types: Sequence[Leaf | jax.ShapeDtypeStruct]) -> list[Any]:
    """`values`, and in their places arrays without elements, so that there is one for each of `types`."""
    left = iter(values)
    return [jax.numpy.zeros(t.shape, np_dtype(str(t.dtype))) if 0 in t.shape else next(left) for t in types]


def _jax_type(leaf: Leaf) -> jax.ShapeDtypeStruct:
    """Shape and dtype of an argument as jax sees it."""
    if leaf.key:
        return jax.ShapeDtypeStruct(leaf.shape[: len(leaf.shape) - leaf.key_rank], jax_compat.key_dtype(leaf.key))
    dtype = jax.dtypes.float0 if leaf.empty else np_dtype(leaf.dtype)
    return jax.ShapeDtypeStruct(leaf.shape, dtype, weak_type=leaf.weak)
