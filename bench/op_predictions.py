"""What single ops of training steps are predicted to take, and what they take.

  pcg-calibrate --devices 1 -o device.toml
  python bench/op_predictions.py [MODEL ...] [--profile device.toml] [--most 8] [--rounds 3] [--json FILE]
  python bench/op_predictions.py [MODEL ...] --devices 8 --profile cpu.toml     # processors as eight devices

Models are those of `bench/one_device.py`; on several devices the ops are those that each runs by our plan, all of them
at once.  Of every op name of a lowered step the costliest forms (operand and result types and attributes) are taken, at
most three, and of them the `--most` that are predicted to take longest; none of less than 5 us.  Each is measured as
`pcg-calibrate` measures its probes: in a loop inside of one program, less an empty loop.  `detected` is predicted by
the rates of `Cluster.detect()`, `profile` by what was measured of other ops (nothing of these models is in a profile),
both by simulating a program of the one op, less a kernel's overhead.

`ratio` is predicted over measured; the last lines have its geometric mean, the share within a factor of 1.5 and 2, and
Kendall's tau, by class and of all.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import jax.numpy as jnp
from torch_mlir import ir

import pcg
from bench import one_device
from bench.ranking import kendall
from pcg.cost import CostModel
from pcg.ir.clone import clone_mapped
from pcg.ir.context import make_context
from pcg.machine import Cluster, Machine
from pcg.machine.profile import class_of
from pcg.runtime import jax_compat
from pcg.runtime.calibrate import Calibration
from pcg.runtime.probes import Probe, repeated
from pcg.simulate import simulate

#: Forms of an op name that are measured, of each model, and the least seconds that they are predicted to take.
_FORMS, _LEAST = 3, 5e-6
_ELEMENTS = {"i1": "bool", "f32": "float32", "bf16": "bfloat16", "i32": "int32", "ui32": "uint32"}
_SKIPPED = {
    "stablehlo.constant", "stablehlo.return", "stablehlo.while", "stablehlo.if", "stablehlo.case", "stablehlo.iota",
    "stablehlo.rng_bit_generator", "stablehlo.custom_call", "stablehlo.composite", "stablehlo.broadcast_in_dim",
    "stablehlo.reshape", "stablehlo.optimization_barrier", "stablehlo.get_tuple_element", "stablehlo.tuple",
}  # fmt: skip


@dataclass
class Row:
    """One op of one model: seconds."""

    model: str
    op: str
    types: str
    detected: float
    profile: float | None
    measured: float
    text: str
    """The program of the op."""


@dataclass(frozen=True)
class Form:
    """An op by itself: a program of it, the shapes and element types of its operands, and of its result."""

    name: str
    types: str
    text: str
    operands: tuple[Any, ...]
    result: Any


def ops_of(operation: Any) -> Iterator[Any]:
    """All ops in `operation`, those of loops and branches too, but not of what reductions do per element."""
    for region in operation.regions:
        for block in region.blocks:
            for op in block.operations:
                yield op.operation
                if op.operation.name in ("func.func", "stablehlo.while", "stablehlo.case", "stablehlo.if"):
                    yield from ops_of(op.operation)


def form(op: Any) -> Form | None:
    """`op` as a program of its own; None where it cannot be: it has no operand, several results, or is a call."""
    if not op.name.startswith("stablehlo.") or op.name in _SKIPPED or len(op.results) != 1 or not len(op.operands):
        return None
    shapes = [_shape(v.type) for v in (*op.operands, op.results[0])]
    if any(s is None for s in shapes):
        return None
    with op.context, ir.Location.unknown():
        module = ir.Module.create()
        types = [v.type for v in op.operands]
        with ir.InsertionPoint(module.body):
            function = ir.Operation.create("func.func", regions=1, attributes={
                "sym_name": ir.StringAttr.get("main"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [op.results[0].type])),
            })  # fmt: skip
        block = function.regions[0].blocks.append(*types)
        with ir.InsertionPoint(block):
            one = clone_mapped(op, dict(zip(op.operands, block.arguments, strict=True)))
            ir.Operation.create("func.return", operands=[one.results[0]])
        text = module.operation.get_asm(print_generic_op_form=True)
    shown = f"{', '.join(str(t)[7:-1] for t in types)} -> {str(op.results[0].type)[7:-1]}"
    return Form(op.name, shown, text, tuple(shapes[:-1]), shapes[-1])


def _shape(type_: Any) -> Any:
    element = _ELEMENTS.get(str(getattr(type_, "element_type", "")))
    return None if element is None else jax.ShapeDtypeStruct(tuple(type_.shape), jnp.dtype(element))


def forms(module: Any, model: CostModel, backend: str, most: int) -> list[Form]:
    """The forms of a step that are measured."""
    found: dict[str, Form] = {}
    for op in ops_of(module.operation):
        one = form(op)
        if one is not None:
            found.setdefault(one.text, one)
    seconds = {f: predicted(f, model, backend) for f in found.values()}
    by_name: dict[str, list[Form]] = {}
    for f in sorted(found.values(), key=lambda f: -seconds[f]):
        if seconds[f] >= _LEAST and len(by_name.setdefault(f.name, [])) < _FORMS:
            by_name[f.name].append(f)
    return sorted((f for fs in by_name.values() for f in fs), key=lambda f: -seconds[f])[:most]


def predicted(one: Form, model: CostModel, backend: str) -> float:
    """Seconds of a form, without the overhead of its kernel."""
    with make_context():
        step = simulate(ir.Module.parse(one.text), model, backend=backend)
    device = model.machine.device
    return max(step.seconds - (device.kernel_overhead if device.profile is None else device.profile.kernel), 1e-9)


def probe(one: Form) -> Probe:
    """What measures a form; indices, which are integers, stay inside of the first operand's first dimension."""
    results = (jax.ShapeDtypeStruct(one.result.shape, one.result.dtype),)
    program = jax_compat.LocalProgram(one.text, results)
    rows = max(1, one.operands[0].shape[0] if one.operands[0].shape else 1)

    def run(*arrays: Any) -> Any:
        given = [x % rows if jnp.issubdtype(x.dtype, jnp.integer) else x for x in arrays]
        given = [x.reshape(s.shape).astype(s.dtype) for x, s in zip(given, one.operands, strict=True)]
        return jnp.atleast_1d(jax_compat.inline_call(program, *given)[0])

    operands = tuple((s.shape or (1,), s.dtype if s.dtype != jnp.bool_ else jnp.float32) for s in one.operands)
    cpu = jax.default_backend() == "cpu"
    out = Probe(("op", "", "bytes"), 1.0, operands, run, unrolled=cpu and one.name == "stablehlo.convolution")
    return out if cpu else repeated(out)  # both as in `pcg.runtime.probes`


def measure(
    name: str, count: int, rounds: int, most: int, detected: Cluster, profiled: Cluster | None
) -> list[Row]:  # fmt: skip
    """All rows of a model on so many devices."""
    module, size, overrides = one_device.sizes(name)
    step, args = importlib.import_module(f"examples.{module}").shapes(size, **overrides)
    executable = pcg.compile(step, {"x": 1} if count == 1 else profiled or detected).lower(*args)
    backend = "cpu" if jax.default_backend() == "cpu" else "accelerator"
    models = [CostModel(Machine.of(c), executable.mesh) for c in (detected, profiled) if c is not None]
    chosen = forms(executable.compilation.modules["local"], models[-1], backend, most)
    measured = Calibration(jax.devices()[:count], rounds).measure([probe(one) for one in chosen])
    rows = []
    for one, (_, seconds) in zip(chosen, measured, strict=True):
        by = [predicted(one, m, backend) for m in models]
        rows.append(Row(name, one.name, one.types, by[0], by[1] if len(by) > 1 else None, seconds, one.text))
    return rows


def summary(rows: Sequence[Row]) -> str:
    """The last lines."""
    classes: dict[str, list[Row]] = {}
    for r in rows:
        classes.setdefault(class_of(r.op), []).append(r)
    lines = []
    for label, found in [*sorted(classes.items()), ("all", list(rows))]:
        cells = [f"{label:<16}{len(found):>4}"]
        for side in ("detected", "profile"):
            pairs = [(getattr(r, side), r.measured) for r in found if getattr(r, side) is not None]
            if not pairs:
                continue
            logs = [math.log(p / m) for p, m in pairs]
            within = [sum(abs(x) <= math.log(f) for x in logs) / len(logs) for f in (1.5, 2.0)]
            tau = f", tau {kendall([p for p, _ in pairs], [m for _, m in pairs]):.2f}" if len(pairs) > 2 else ""
            cells.append(f"{side}: mean {math.exp(statistics.fmean(logs)):.2f}, within 1.5x {100 * within[0]:.0f}%, "
                         f"2x {100 * within[1]:.0f}%{tau}")  # fmt: skip
        lines.append("  ".join(cells))
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    models = one_device.MODELS
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(models)} (default: all)")
    parser.add_argument("--profile", type=Path, help="what pcg-calibrate wrote for one such device")
    parser.add_argument("--devices", type=int, default=1, metavar="N", help="devices at work (default 1)")
    parser.add_argument("--most", type=int, default=8, help="ops of a model (default 8)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no model later than this")
    options = parser.parse_args(argv)
    if unknown := [m for m in options.models if m not in models]:
        parser.error(f"no model {unknown[0]!r}; there are {', '.join(models)}")
    start = time.perf_counter()
    if options.devices > 1:
        flag = f"--xla_force_host_platform_device_count={options.devices}"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}"
    detected, profiled = one_device.machines(options.profile, options.devices)
    print(f"{jax.devices()[0].device_kind}, jax {jax.__version__}; detected: {detected.kinds[0].name}")
    print(f"{'model':<10}{'us':>10}{'detected':>10}{'ratio':>7}{'profile':>10}{'ratio':>7}  op")
    rows: list[Row] = []
    for name in options.models or models:
        if time.perf_counter() - start > options.seconds:
            break
        for r in measure(name, options.devices, options.rounds, options.most, detected, profiled):
            rows.append(r)
            cells = [f"{1e6 * r.measured:>10.1f}{1e6 * r.detected:>10.1f}{r.detected / r.measured:>7.2f}"]
            cells.append(" " * 17 if r.profile is None else f"{1e6 * r.profile:>10.1f}{r.profile / r.measured:>7.2f}")
            print(f"{name:<10}{''.join(cells)}  {r.op.partition('.')[2]} {r.types}", flush=True)
        gc.collect()
        if options.json:
            options.json.write_text(json.dumps([asdict(r) for r in rows], indent=1), encoding="utf-8")
    print(summary(rows) if rows else "no op")
    return 0


if __name__ == "__main__":
    sys.exit(main())
