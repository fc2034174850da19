"""Checking a sharded program against the same program on one device, so that rounding is not taken for an error.

Two questions about every result:

- Does it compute the same?  The lowered program and the unsharded one are both widened to double precision
  (`pcg.emulate.widen`), where rounding is nine digits smaller: a missing reduction or a scaled gradient stays as
  large as it is, also where a large weight beside it masks it in single precision.
- Is what it computed as accurate?  The distance of the sharded program, as it runs, from the widened one may be a small
  multiple of the distance that the program on one device has.

What is not settled by that, because one device was lucky or the program is ill-conditioned, is judged by how far
results move when every operation of the unsharded program errs a little (`pcg.emulate.rounding`).  Imports jax.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from torch_mlir import ir

from pcg.driver.compilation import Compilation
from pcg.driver.program import Leaf
from pcg.emulate.rounding import Noise, perturbed, unit
from pcg.emulate.widen import is_wide, wide_element, widen
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.sdy_text import without_second_regions
from pcg.ir.walk import entry_of
from pcg.passes.pipeline import Pipeline
from pcg.runtime import compare, jax_compat
from pcg.runtime.compare import Comparison
from pcg.runtime.executable import Executable

#: Perturbed runs that a suspicion is judged by, and how many roundings each operation errs by in them: of its own type,
#: and, for the comparison in double precision, of f64.  A wide margin costs nothing there: a fault is larger by far.
RUNS, NARROW, DOUBLE = 7, 4.0, 1024.0
#: Share of the noise of one device in single precision that the double-precision comparison allows without noise runs.
_SHARE = DOUBLE * 2.0**-29

FlatFunction = Callable[[Sequence[np.ndarray]], list[Any]]


@dataclass
class Unsharded:
    """The program on one device: as it is, widened, and with noise; each compiled when it is first run.

    `text` is a global StableHLO module, `where` a device or sharding that its arguments are put on (default: the first
    device).  `partitioned`: it has parts written for each device, and runs under XLA's own partitioner.
    """

    text: str
    arguments: Sequence[Leaf]
    results: Sequence[Leaf]
    where: Any = None
    partitioned: bool = False
    kinds: list[Noise] = field(default_factory=list)

    @functools.cached_property
    def is_wide(self) -> bool:
        """Whether it has no float narrower than f64."""
        return is_wide(self._module())

    @functools.cached_property
    def run(self) -> FlatFunction:
        """The program as it is."""
        return self._function(self.text, self.results)

    @functools.cached_property
    def run_wide(self) -> FlatFunction:
        """The program in double precision.

        Raises:
          PcgError: it has no form in double precision.
        """
        module = self._module()
        widen(module)
        return self._function(text_of(module), _wide(self.results))

    @functools.cached_property
    def run_perturbed(self) -> FlatFunction:
        """The program in double precision; takes the vectors of `kinds` as well, and without them has no noise."""
        module = self._module()
        Pipeline("stablehlo-legalize-composite-to-call,inline,symbol-dce").run(module)
        self.kinds = perturbed(module)
        call = self._function(text_of(module), _wide(self.results))

        def run(inputs: Sequence[np.ndarray]) -> list[Any]:
            vectors = [k.ones() for k in self.kinds] if len(inputs) == len(self.arguments) else []
            return call([*inputs, *vectors])

        return run

    def _module(self) -> Any:
        return load_module(self.text, make_context(allow_unregistered=True), "<program>")

    @functools.cached_property
    def _entry(self) -> str:
        """The name of the function that it runs."""
        if 'sym_name = "main"' in self.text:  # to parse large programs takes long
            return "main"
        return str(ir.StringAttr(entry_of(self._module()).attributes["sym_name"]).value)

    def _function(self, text: str, results: Sequence[Leaf]) -> FlatFunction:
        call = jax_compat.plain_function(text, results, self._entry)

        def run(inputs: Sequence[np.ndarray]) -> list[Any]:
            wide = any(x.dtype.name in ("float64", "int64", "uint64", "complex128") for x in inputs)
            with jax_compat.x64(wide or any(x.element.endswith(("64", "64>")) for x in results)):
                out = jax.block_until_ready(call(*(jax.device_put(x, self.where or jax.devices()[0]) for x in inputs)))
            return flat(out)

        return run


def flat(out: Any) -> list[Any]:
    """The results of a call, of which one is not in a list."""
    return list(out) if isinstance(out, list | tuple) else [out]


def on_mesh(executable: Executable) -> FlatFunction:
    """An executable as a function of flat arguments to arrays on the mesh."""

    def run(inputs: Sequence[np.ndarray]) -> list[Any]:
        with jax_compat.x64(executable.needs_x64):
            out = jax.block_until_ready(executable.direct(*executable.place(inputs)))
        return flat(out)

    return run


def widened(executable: Executable) -> Executable:
    """The same lowered program in double precision, on the same devices.

    Raises:
      PcgError: it has no form in double precision.
    """
    return Executable(widened_compilation(executable.compilation), list(executable.jax_mesh.devices.flat))


def widened_compilation(c: Compilation) -> Compilation:
    """A compilation whose lowered program is in double precision.

    Raises:
      PcgError: it has no form in double precision.
    """
    module = load_module(c.local_text, make_context(), "<lowered>")
    widen(module)
    program = dataclasses.replace(c.program, arguments=_wide(c.program.arguments), results=_wide(c.program.results))
    return dataclasses.replace(c, program=program, modules={**c.modules, "local": module}, _texts={})


@dataclass
class Check:
    """The check of one program: `sharded` and `sharded_wide` run it on the mesh, `unsharded` says what is right.

    `seconds` has the wall time of the unsharded program and of everything else.
    """

    unsharded: Unsharded
    sharded: FlatFunction
    sharded_wide: Callable[[], FlatFunction]
    seconds: dict[str, float] = field(default_factory=dict)

    def __call__(
        self, inputs: Sequence[np.ndarray], got: Sequence[Any] | None = None, seed: int = 0
    ) -> list[Comparison]:
        """Compare every result for one set of inputs; `got` are those of the sharded program, if they are there.

        Raises:
          PcgError: the program has no form in double precision.
        """
        start = time.perf_counter()
        found = self._check(inputs, self.sharded(inputs) if got is None else got, seed)
        self.seconds["check"] = self.seconds.get("check", 0.0) + time.perf_counter() - start
        return found

    def differs_in_double(self, inputs: Sequence[np.ndarray], seed: int = 0) -> list[str]:
        """Names of the results that are wrong in double precision; the program as it is need not be compiled for that.

        Raises:
          PcgError: the program has no form in double precision.
        """
        one = self.unsharded
        values = [compare.as_wide(x) for x in inputs]
        reference = [np.asarray(x) for x in one.run_wide(values)]
        found = zip(one.results, self._wide_run(values), one.run(inputs), reference, strict=True)
        rows = [_Row(leaf, r, np.asarray(o), r, g) for leaf, g, o, r in found]
        if not all(row.agrees for row in rows):
            self._judge_by_noise(rows, values, seed)
        return [row.leaf.name for row in rows if not row.agrees]

    def within(self, inputs: Sequence[np.ndarray], got: Sequence[Any], tolerance: float) -> list[Comparison]:
        """Compare every result with the unsharded program, to a relative tolerance; nothing is widened."""
        rows = []
        for leaf, x, y in zip(self.unsharded.results, got, self.unsharded.run(inputs), strict=True):
            expected = np.asarray(y)
            rows.append(compare.compare(leaf.name, str(leaf), worst_replica(x, expected)[0], expected, tolerance))
        return rows

    def _check(self, inputs: Sequence[np.ndarray], got: Sequence[Any], seed: int) -> list[Comparison]:
        one = self.unsharded
        own = [np.asarray(x) for x in one.run(inputs)]
        wide_inputs = [compare.as_wide(x) for x in inputs]
        reference, double = own, None
        if not one.is_wide:
            reference = [np.asarray(x) for x in one.run_wide(wide_inputs)]
            double = self._wide_run(wide_inputs)
        rows = [
            _Row(leaf, g, o, r, None if double is None else double[i])
            for i, (leaf, g, o, r) in enumerate(zip(one.results, got, own, reference, strict=True))
        ]
        if not all(row.agrees for row in rows):
            self._judge_by_noise(rows, wide_inputs, seed)
        return [row.comparison() for row in rows]

    @functools.cached_property
    def _wide_run(self) -> FlatFunction:
        return self.sharded_wide()

    def _judge_by_noise(self, rows: Sequence[_Row], inputs: Sequence[np.ndarray], seed: int) -> None:
        run = self.unsharded.run_perturbed
        if not self.unsharded.kinds:
            return
        rng = np.random.default_rng(seed)

        def runs(scale: float, double: bool) -> list[list[np.ndarray]]:
            out = []
            for _ in range(RUNS):
                vectors = [k.draw(rng, scale, double) for k in self.unsharded.kinds]
                out.append([np.asarray(x) for x in run([*inputs, *vectors])])
            return out

        base = [np.asarray(x) for x in run(inputs)]
        if any(not row.narrow.found.agrees for row in rows):
            scale = NARROW if not self.unsharded.is_wide else 4 * NARROW
            found = runs(scale, False)
            for i, row in enumerate(rows):
                row.judge_narrow(base[i], [x[i] for x in found])
        if any(row.double is not None and not row.double.found.agrees for row in rows):
            found = runs(DOUBLE, True)
            for i, row in enumerate(rows):
                row.judge_double(base[i], [x[i] for x in found])


class _Judged:
    """A result in one precision, and what is thought of it: `own` is that of the program on one device."""

    def __init__(
        self, arrays: Any, own: np.ndarray, own_apart: np.ndarray, reference: np.ndarray, floor: float,
        share: float = 1.0,
    ) -> None:  # fmt: skip
        self.arrays, self.own, self.floor, self.tiny = arrays, own, floor, _tiny(own.dtype)
        self.got, self.apart = worst_replica(arrays, reference)
        self.found = compare.judge_by_one_device(self.apart, own_apart, reference, floor, self.tiny, share)

    def judge(self, base: np.ndarray, runs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Judge it by noise; returns how far one device and each of the runs are off."""
        self.got, self.apart = worst_replica(self.arrays, base)
        aparts = [compare.distance(x, base) for x in (self.own, *runs)]
        self.found = compare.judge(self.apart, aparts, base, self.floor, self.tiny)
        return aparts


class _Row:
    """What is known of one result."""

    def __init__(self, leaf: Leaf, got: Any, own: np.ndarray, reference: np.ndarray, wide: Any | None) -> None:
        self.leaf, self.reference = leaf, reference
        self.own_apart = compare.distance(own, reference)
        self.narrow = _Judged(got, own, self.own_apart, reference, unit(leaf.element))
        self.double: _Judged | None = None
        self.decided = True
        if wide is not None:
            # An overflow in the type of the program is none in double precision, and excuses nothing there.
            finite = np.where(np.isinf(self.own_apart), 0.0, self.own_apart)
            self.double = _Judged(wide, reference, finite, reference, DOUBLE * unit("f64"), _SHARE)

    @property
    def agrees(self) -> bool:
        return self.narrow.found.agrees and (self.double is None or self.double.found.agrees)

    def judge_narrow(self, base: np.ndarray, runs: Sequence[np.ndarray]) -> None:
        if not self.narrow.found.agrees:
            aparts = self.narrow.judge(base, runs)
            self.own_apart = aparts[0]
            if self.double is None:
                self._decide(aparts, base)

    def judge_double(self, base: np.ndarray, runs: Sequence[np.ndarray]) -> None:
        if self.double is not None and not self.double.found.agrees:
            self._decide(self.double.judge(base, runs), base)

    def _decide(self, aparts: Sequence[np.ndarray], base: np.ndarray) -> None:
        noise = sorted(compare.relative(x, base) for x in aparts)
        self.decided = noise[len(noise) // 2] < 0.1

    def comparison(self) -> Comparison:
        double, apart = self.double, self.narrow.apart
        wrong = double if self.narrow.found.agrees and double is not None and not double.found.agrees else self.narrow
        one = compare.relative(self.own_apart, self.reference)
        wide = None if double is None else compare.relative(double.apart, self.reference)
        row = compare.described(self.leaf.name, str(self.leaf), wrong.got, wrong.own, wrong.found, apart, one, wide)
        return dataclasses.replace(row, error=compare.relative(apart, self.reference), decided=self.decided)


def worst_replica(array: Any, reference: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A result as on the device where each element is farthest from the reference, and that distance.

    Devices may have replicas of one shard, of which one can be wrong.
    """
    shards = getattr(array, "addressable_shards", None)
    worst = np.asarray(array)
    apart = compare.distance(worst, reference)
    if not shards or len(shards) == 1:
        return worst, apart
    worst = worst.copy()
    for shard in shards:
        if shard.replica_id == 0:
            continue
        data = np.asarray(shard.data)
        here = compare.distance(data, reference[shard.index])
        worse = here > apart[shard.index]
        worst[shard.index] = np.where(worse, data, worst[shard.index])
        apart[shard.index] = np.where(worse, here, apart[shard.index])
    return worst, apart


def _tiny(dtype: np.dtype) -> float:
    """Least magnitude that a type resolves: below it, results may be flushed to zero."""
    return 0.0 if compare.is_exact(dtype) else float(jax.numpy.finfo(dtype).smallest_normal)


def _wide(leaves: Sequence[Leaf]) -> tuple[Leaf, ...]:
    """Arguments or results in double precision."""
    return tuple(dataclasses.replace(x, element=wide_element(x.element)) for x in leaves)


def text_of(module: Any) -> str:
    """A module in the generic form that jax reads."""
    return without_second_regions(module.operation.get_asm(print_generic_op_form=True, assume_verified=True))
