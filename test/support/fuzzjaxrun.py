"""Running a case of the jax fuzzer: one device by `jax.jit` against the mesh by `pcg.compile`.

Exact results must be equal; where arithmetic rounds, a result may be as far from one in 64 bits as a small multiple
of how far the result of one device is.
"""

from __future__ import annotations

import os
import tempfile
import traceback
import warnings
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

import pcg
from pcg.ir import shardings
from pcg.ir.walk import walk
from support import fuzzjax
from support.fuzzjaxprogram import Case, Program

#: Errors that say what cannot be done; anything else is a crash.
REFUSALS: tuple[type[Exception], ...] = (
    pcg.PcgError, pcg.ProgramError, pcg.MeshError, pcg.SpecError, pcg.PlanError, pcg.StrategyError, pcg.ClusterError,
)  # fmt: skip
#: What a case may be refused for.
ALLOWED = ("no plan fits in",)


@dataclass
class Outcome:
    """What became of a case: `failure` is empty or one line that stays the same when the case is cut down."""

    failure: str = ""
    details: str = ""
    #: Whether some value was split unevenly, was rounded, could not be judged, or the case was refused with reason.
    uneven: bool = False
    rounded: bool = False
    unjudged: bool = False
    refused: bool = False
    #: Whether XLA on one device computes something else than the program says, and the mesh does not.
    reference_wrong: bool = False


def run(case: Case) -> Outcome:
    """Run a case in this process, on the devices that it has."""
    with jax.enable_x64(case.setting.x64), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _run(case)


def _run(case: Case) -> Outcome:
    out = Outcome()
    try:
        names = fuzzjax.namespace(case)
        f, args = names["f"], names["args"]
        want = [np.asarray(x) for x in jax.jit(f)(*args)]  # type: ignore[operator, misc]
    except Exception as error:
        return Outcome(f"the program itself fails: {_line(error)}", traceback.format_exc()[-3000:])
    for v, x in zip(case.program.returns, want, strict=True):
        if (v.shape, v.dtype) != (x.shape, str(x.dtype)):
            return Outcome(f"the generator is wrong: {v.shape} {v.dtype} is {x.shape} {x.dtype}", case.program.source())
    try:
        compiled = _compiled(case, names)
        executable = compiled.lower(*args)
        out.uneven = uneven(executable.compilation)
        first = [np.asarray(x) for x in compiled(*args)]
        placed = [jax.device_put(x, s) for x, s in zip(args, compiled.input_shardings, strict=True)]
        second = [np.asarray(x) for x in compiled(*placed)]
    except Exception as error:
        text = traceback.format_exc()[-3000:]
        if isinstance(error, REFUSALS):
            if any(a in str(error) for a in ALLOWED):
                out.refused = True
                return out
            return replace(out, failure=f"refused: {_line(error)}", details=text)
        return replace(out, failure=f"crash: {_line(error)}", details=text)
    for what, got in (("", first), (" when called again", second)):
        bad = [i for i, (g, w) in enumerate(zip(got, want, strict=True)) if not same(g, w)]
        if bad:
            _judge(case, bad, got, want, what, out)
        if out.failure:
            break
    return out


def _compiled(case: Case, names: dict[str, Any]) -> Any:
    compiled = eval(f"pcg.compile({fuzzjax.call(case)})", names)
    if case.setting.strategy != "plan":
        return compiled
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plan.json")
        compiled.lower(*names["args"]).plan.save(path)
        return eval(f"pcg.compile({fuzzjax.from_plan(case, path)})", names)


def same(got: np.ndarray, want: np.ndarray) -> bool:
    """Equal in type, shape and every element; NaN equals NaN."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype.kind in "fcV":
        wide = np.complex128 if got.dtype.kind == "c" else np.float64
        return np.array_equal(got.astype(wide), want.astype(wide), equal_nan=True)
    return np.array_equal(got, want)


def _judge(case: Case, bad: list[int], got: list[np.ndarray], want: list[np.ndarray], what: str, out: Outcome) -> None:
    """Tell rounding from errors, by the same program in 64 bits; and from an error of XLA's on one device."""
    try:
        plain = unsimplified(case)
        if all(same(got[i], plain[i]) for i in bad):
            out.reference_wrong = True
            return
    except Exception as error:
        out.details = f"the program fails unsimplified: {_line(error)}"
    soft = [case.program.returns[i].soft for i in bad]
    if all(soft) and all(close(got[i], want[i], 0.0, 1e-6) for i in bad):
        out.rounded = True
        return
    try:
        wide = widened(case)
    except Exception as error:
        out.unjudged, out.details = True, f"the program fails in 64 bits: {_line(error)}"
        return
    exact = all(
        same(np.asarray(w).astype(x.dtype), x)
        for x, w, v in zip(wide, want, case.program.returns, strict=True) if not v.soft
    )  # fmt: skip
    for i in bad:
        v = case.program.returns[i]
        if not v.soft and not exact:
            out.unjudged, out.details = True, "its numbers are too large to be exact"
        elif not v.soft or not close(got[i], wide[i], _distance(want[i], wide[i]), 1e-5):
            name = f"result {i}{what}"
            out.failure = "results differ"
            out.details = f"{name}: got\n{got[i]}\nexpected\n{want[i]}" + (f"\nin 64 bits\n{wide[i]}" if v.soft else "")
            return
        else:
            out.rounded = True


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):
        d = np.abs(a.astype(b.dtype) - b)
    return float(np.max(d[np.isfinite(d)], initial=0))


def close(got: np.ndarray, want: np.ndarray, distance: float, relative: float) -> bool:
    """Whether `got` is nearer to `want` than 32 times `distance`, with some slack; infinities and NaN must agree."""
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    a, b = got.astype(wide), want.astype(wide)
    finite = np.isfinite(b)
    if a.shape != b.shape or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    allowed = 32 * distance + relative * float(np.max(np.abs(b[finite]), initial=0)) + 1e-6 * relative
    return bool(np.all(np.abs(a[finite] - b[finite]) <= allowed))


def unsimplified(case: Case) -> list[np.ndarray]:
    """The results on one device without XLA's algebraic simplifier.

    It makes one dynamic slice of two, and forgets to move the starts of both back into range.
    """
    names = fuzzjax.namespace(case)
    f, args = names["f"], names["args"]
    compiled = jax.jit(f).lower(*args).compile({"xla_disable_hlo_passes": "algsimp"})  # type: ignore[arg-type, misc]
    return [np.asarray(x) for x in compiled(*args)]  # type: ignore[misc]


def widened(case: Case) -> list[np.ndarray]:
    """The results in 64 bits on one device."""

    def wide(text: str) -> str:
        return text.replace("float32", "float64").replace("complex64", "complex128")

    class Wide(Program):
        def source(self, name: str = "f") -> str:
            return wide(super().source(name))

    p = case.program
    arguments = tuple(replace(v, dtype=wide(v.dtype)) for v in p.arguments)
    other = replace(case, program=Wide(arguments, p.statements, p.returns))
    with jax.enable_x64(True):
        names = fuzzjax.namespace(other)
        return [np.asarray(x) for x in jax.jit(names["f"])(*names["args"])]  # type: ignore[arg-type, misc]


def uneven(compilation: Any) -> bool:
    """Whether some value of the program is split into shards of unequal sizes."""
    mesh = compilation.mesh
    for op in walk(compilation.modules["plan"].operation):
        if op.name == "func.func":
            continue
        for value in op.results:
            spec = shardings.get(value)
            dims = getattr(value.type, "shape", ()) if spec is not None else ()
            if spec is not None and any(n % mesh.axes_size(a) for n, a in zip(dims, spec.dims, strict=True) if a):
                return True
    return False


def _line(error: BaseException) -> str:
    """An error in a few words that stay the same when its case is cut down."""
    text = " ".join(str(error).split("\n")[0].split())
    words = [w for w in text.split() if w.strip("'\",.:()").isalpha()]
    return f"{type(error).__name__}: {' '.join(words[:10])}"
