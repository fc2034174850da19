"""Check a factor rule and its local form by executing them.

`check_op(text, mesh)` takes a module whose `@main` ends in one op (anything before it computes its
operands).  For strategies of the op's rule it splits the operands by the operand specs, runs the
local form once per device, puts the results together by the result specs, and compares with the
unsharded module.  Partial operands become random terms (or maxima, ...) of the value.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import ml_dtypes
import numpy as np
from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pcg.ir import stablehlo as _stablehlo
from pcg.ir.context import make_context
from pcg.layout import Mesh, ShardSpec
from pcg.layout.uneven import blocks
from pcg.lower.collectives import CollectiveBuilder
from pcg.lower.local import MeshContext, local_form_of
from pcg.rules import Assignment, FactorRule, rule_for

os.environ.setdefault("JAX_PLATFORMS", "cpu")

#: Ops the reference interpreter lacks; it would abort the process on them.
_NOT_INTERPRETED = (
    "custom_call", "rng_bit_generator", "stablehlo.rng", "batch_norm", "cholesky", "create_token", "uniform_",
    "triangular_solve", "set_dimension_size", "stablehlo.map", "stablehlo.einsum", "complex<", "bf16", "f16", "f8",
    "stablehlo.fft", "stablehlo.convolution", "stablehlo.dot ", '"stablehlo.dot"', "unary_einsum", "trace",
    "torch_index_select", "chlo.", "i4", "stablehlo.broadcast ",
)  # fmt: skip
_DTYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i1": np.bool_,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui16": np.uint16,
    "ui32": np.uint32, "ui64": np.uint64, "complex<f32>": np.complex64, "complex<f64>": np.complex128,
    "i4": ml_dtypes.int4, "ui4": ml_dtypes.uint4, "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3": ml_dtypes.float8_e4m3, "f8E3M4": ml_dtypes.float8_e3m4, "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}  # fmt: skip
_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + b, "max": np.maximum, "min": np.minimum, "prod": lambda a, b: a * b,
    "and": np.bitwise_and, "or": np.bitwise_or,
}  # fmt: skip


@cache
def context() -> ir.Context:
    """The one context of the harness (executables are cached by module text)."""
    return make_context()


#: Ops whose windows slide, or that cut, pad or join: the tensors of one factor may be multiples of it.
SLIDING = frozenset({"stablehlo.convolution", "stablehlo.reduce_window", "stablehlo.select_and_scatter"}) | frozenset(
    {"stablehlo.slice", "stablehlo.pad", "stablehlo.concatenate"}
)


@dataclass(frozen=True)
class Checked:
    """What `check_op` looked at: the rule, all its legal strategies, and how many of them it ran."""

    rule: FactorRule
    strategies: list[Assignment]
    ran: int


def check_op(
    text: str,
    mesh: Mesh,
    *,
    max_strategies: int = 64,
    inputs: Sequence[np.ndarray | None] | None = None,
    rtol: float = 1e-5,
    assignments: Iterable[Assignment] | None = None,
    seed: int = 0,
) -> Checked:
    """Run the last op of `@main` under strategies of its rule and compare with the unsharded result.

    `inputs`: one array per argument, None for random small integers.  `assignments`: exactly these
    strategies instead of a sample of at most `max_strategies`.

    Raises:
      AssertionError: a result differs; the text names the strategy, the specs and the values.
    """
    rng = np.random.default_rng(seed)
    with context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        op = last_op(module)
        arguments = list(op.parent.regions[0].blocks[0].arguments)
        given = list(inputs) if inputs is not None else [None] * len(arguments)
        values = [
            random_value(a.type, rng) if g is None else np.asarray(g, dtype_of(a.type.element_type))
            for a, g in zip(arguments, given, strict=True)
        ]
        rule = rule_for(op)
        assert len(rule.operands) == len(op.operands), f"rule has {len(rule.operands)} operands: {rule}"
        assert len(rule.results) == len(op.results), f"rule has {len(rule.results)} results: {rule}"
        for tensor, value in [
            *zip(rule.operands, op.operands, strict=True),
            *zip(rule.results, op.results, strict=True),
        ]:
            check_dims(rule, tensor, value, op.name in SLIDING)
        everything = run(_returning(text), values)
        operands, expected = everything[: len(op.operands)], everything[len(op.operands) :]
        all_strategies = list(rule.strategies(mesh))
        # Where devices must talk, one device's part cannot be run by itself: see test/unit/lower/test_scan.py.
        silent = [a for a in all_strategies if not any(x.wire_elements(a, mesh) for x in rule.exchanges)]
        chosen = list(assignments) if assignments is not None else silent
        if assignments is None and len(chosen) > max_strategies:
            chosen = [chosen[0], *random.Random(seed).sample(chosen[1:], max_strategies - 1)]
        for a in chosen:
            check_strategy(op, rule, a, mesh, operands, expected, rng, rtol)
    return Checked(rule, all_strategies, len(chosen))


def check_dims(rule: FactorRule, tensor: tuple[tuple[int, ...], ...], value: ir.Value, slides: bool) -> None:
    """Factors of each dimension multiply to its size (unnamed ones are never split); where windows slide, to a part."""
    shape = tuple(value.type.shape) if isinstance(value.type, ir.RankedTensorType) else ()
    assert len(tensor) == len(shape), f"rank of {value.type} against {tensor} in {rule}"
    for factors, size in zip(tensor, shape, strict=True):
        if factors:
            product = int(np.prod([rule.factors[f].size for f in factors]))
            own = size in rule.factors[factors[0]].sizes
            fits = own or (size % product == 0 if slides else product == size)
            assert fits, f"factors {factors} of {rule} do not multiply to {size} of {value.type}"


def check_strategy(
    op: ir.Operation, rule: FactorRule, a: Assignment, mesh: Mesh, operands: Sequence[np.ndarray],
    expected: Sequence[np.ndarray], rng: np.random.Generator, rtol: float,
) -> None:  # fmt: skip
    """Run one strategy on all devices and compare."""
    in_specs = [rule.operand_spec(i, a) for i in range(len(op.operands))]
    out_specs = [rule.result_spec(i, a) for i in range(len(op.results))]
    what = f"{op.name} {rule} {a}: {', '.join(map(str, in_specs))} -> {', '.join(map(str, out_specs))}"
    again = rule.infer(in_specs, out_specs, mesh)
    assert [rule.operand_spec(i, again) for i in range(len(in_specs))] == in_specs, f"infer gives {again} for {what}"
    for spec, value in [*zip(in_specs, op.operands, strict=True), *zip(out_specs, op.results, strict=True)]:
        spec.check(mesh, value.type.shape if isinstance(value.type, ir.RankedTensorType) else ())
    local = local_module(op, rule, a, mesh, in_specs, out_specs)
    shards = [split(v, s, mesh, rng) for v, s in zip(operands, in_specs, strict=True)]
    per_device = [
        run(local, [*(s[p] for s in shards), np.array(p, np.uint32)]) for p in range(mesh.size)
    ]  # the last argument stands for partition_id
    for i, (want, spec) in enumerate(zip(expected, out_specs, strict=True)):
        got = gather([r[i] for r in per_device], spec, mesh, want.shape, what)
        assert got.dtype == want.dtype, what
        both = [x.astype(np.float64) if x.dtype.kind in "fV" else x for x in (got, want)]
        np.testing.assert_allclose(*both, rtol=rtol, atol=rtol, equal_nan=True, err_msg=f"{what}\n{local}")


def local_module(
    op: ir.Operation, rule: FactorRule, a: Assignment, mesh: Mesh, in_specs: Sequence[ShardSpec],
    out_specs: Sequence[ShardSpec],
) -> str:  # fmt: skip
    """Text of a module that holds the local form; its last argument is the partition id."""
    in_types = [local_type(v.type, s, mesh) for v, s in zip(op.operands, in_specs, strict=True)]
    out_types = [local_type(v.type, s, mesh) for v, s in zip(op.results, out_specs, strict=True)]
    u32 = ir.RankedTensorType.get([], ir.IntegerType.get_unsigned(32))
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = ir.Operation.create(
            "func.func", regions=1,
            attributes={
                "sym_name": ir.StringAttr.get("main"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get([*in_types, u32], out_types)),
            },
        )  # fmt: skip
    block = function.regions[0].blocks.append(*in_types, u32)
    with ir.InsertionPoint(block):
        ctx = MeshContext(op, list(block.arguments)[:-1], out_types, rule, a, CollectiveBuilder(mesh))
        results = list(local_form_of(op)(ctx))
        ir.Operation.create("func.return", operands=results)
    for inner in list(block.operations):
        if inner.operation.name == "stablehlo.partition_id":
            inner.operation.results[0].replace_all_uses_with(block.arguments[len(in_types)])
            inner.operation.erase()
    assert [r.type for r in results] == out_types, (
        f"{[str(r.type) for r in results]} are not {list(map(str, out_types))}"
    )
    module.operation.verify()
    return str(module)


def last_op(module: ir.Module) -> ir.Operation:
    """The op before the terminator of `@main`."""
    main = next(f for f in module.body.operations if f.operation.name == "func.func")
    return list(main.operation.regions[0].blocks[0].operations)[-2].operation


def _returning(text: str) -> str:
    """`text` with `@main` returning the operands of its last op, then its results."""
    module = ir.Module.parse(text)
    op = last_op(module)
    block = op.parent.regions[0].blocks[0]
    values = [*op.operands, *op.results]
    list(block.operations)[-1].operation.erase()
    with ir.InsertionPoint(block):
        ir.Operation.create("func.return", operands=values)
    op.parent.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in values])
    )
    for name in ("arg_attrs", "res_attrs"):
        if name in op.parent.attributes:
            del op.parent.attributes[name]
    return str(module)


def local_type(type_: ir.Type, spec: ShardSpec, mesh: Mesh) -> ir.Type:
    if not isinstance(type_, ir.RankedTensorType):
        return type_
    return ir.RankedTensorType.get(spec.local_shape(type_.shape, mesh), type_.element_type)


# -- values --------------------------------------------------------------------------------------


def dtype_of(element: ir.Type) -> np.dtype:
    """numpy dtype of an element type."""
    return np.dtype(_DTYPES[str(element)])


def random_value(type_: ir.Type, rng: np.random.Generator) -> np.ndarray:
    """Small integers of the type's dtype, so that sums and products are exact."""
    dtype = dtype_of(type_.element_type)
    if dtype.kind == "b":
        return rng.integers(0, 2, type_.shape).astype(bool)
    values = rng.integers(0 if dtype.kind == "u" else -4, 5, type_.shape)
    if dtype.kind == "c":
        return (values + 1j * rng.integers(-4, 5, type_.shape)).astype(dtype)
    return np.asarray(values).astype(dtype)


def split(
    value: np.ndarray, spec: ShardSpec, mesh: Mesh, rng: np.random.Generator | None = None
) -> list[np.ndarray]:
    """What each position of `mesh` holds of `value` under `spec`; padding is poison.

    `rng` makes the terms (or maxima, ...) where the layout is partial.
    """
    parts = [value]
    if spec.partial:
        kinds = {k for _, k in spec.partial}
        assert rng is not None and len(kinds) == 1, f"partial by several reductions: {spec}"
        parts = terms(value, mesh.axes_size(spec.partial_axes), kinds.pop(), rng)
    local, out = spec.local_shape(value.shape, mesh), []
    for p in range(mesh.size):
        where, real = window(spec, value.shape, mesh, p)
        block = np.full(local, poison(value.dtype), value.dtype)
        block[real] = parts[mesh.index(p, spec.partial_axes)][where]
        out.append(block)
    return out


def poison(dtype: np.dtype) -> Any:
    """What shows in a result that read it: NaN, or the largest integer."""
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    try:
        return np.nan if dtype.kind in "fc" else ml_dtypes.iinfo(dtype).max
    except ValueError:
        return np.nan


def terms(value: np.ndarray, n: int, kind: str, rng: np.random.Generator) -> list[np.ndarray]:
    """`n` arrays that reduce to `value` by `kind`."""
    if n == 1:
        return [value]
    combine = _COMBINE[kind]
    if kind in ("sum", "prod"):
        low = 1 if kind == "prod" else -4 if value.dtype.kind not in "u" else 0
        rest = [np.asarray(rng.integers(low, 5, value.shape)).astype(value.dtype) for _ in range(n - 1)]
        total = reduce(combine, rest)
        return [(value - total if kind == "sum" else value / total).astype(value.dtype), *rest]
    noise = [np.asarray(rng.integers(0, 2, value.shape)).astype(value.dtype) for _ in range(n)]
    if kind == "max" and value.dtype.kind == "u":
        noise = [np.minimum(x, value) for x in noise]
    parts = [value if kind in ("and", "or") else value - x if kind == "max" else value + x for x in noise]
    keep = rng.integers(0, n, value.shape)
    identity = {"and": lambda x: ~np.zeros_like(x), "or": np.zeros_like}.get(kind)
    return [np.where(keep == i, value, p if identity is None else identity(p)) for i, p in enumerate(parts)]


def window(
    spec: ShardSpec, shape: Sequence[int], mesh: Mesh, position: int
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Slices of the global tensor that `position` holds, and where in its block they are: before the padding."""
    found = [blocks(n, axes, mesh)[position] for n, axes in zip(shape, spec.dims, strict=True)]
    starts = [min(first, n) for (first, _), n in zip(found, shape, strict=True)]
    where = tuple(slice(start, start + length) for start, (_, length) in zip(starts, found, strict=True))
    return where, tuple(slice(0, length) for _, length in found)


def gather(parts: Sequence[np.ndarray], spec: ShardSpec, mesh: Mesh, shape: Sequence[int], what: str) -> np.ndarray:
    """Global value of per-device shards, without their padding, reduced if they are partial; replicas must agree."""
    n = mesh.axes_size(spec.partial_axes)
    whole = np.zeros((n, *shape), parts[0].dtype)
    seen: dict[tuple[Any, ...], np.ndarray] = {}
    for p, part in enumerate(parts):
        k = mesh.index(p, spec.partial_axes)
        where, real = window(spec, shape, mesh, p)
        key = (k, *((s.start, s.stop) for s in where))
        if key in seen:
            np.testing.assert_array_equal(part[real], seen[key], err_msg=f"replicas differ, position {p}: {what}")
        seen[key] = part[real]
        whole[(k, *where)] = part[real]
    if n == 1:
        return whole[0]
    return np.asarray(reduce(_COMBINE[spec.partial[0][1]], list(whole)).astype(whole.dtype))


# -- execution -----------------------------------------------------------------------------------


def run(text: str, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run a single-device module: in the reference interpreter where it can, else by XLA on CPU."""
    if any(word in text for word in _NOT_INTERPRETED):
        return run_xla(text, inputs)
    module, types = _parsed(text)
    values = [_dense(x, t) for x, t in zip(inputs, types, strict=True)]
    return [_array(r) for r in _stablehlo.eval_module(module, values)]


@cache
def _parsed(text: str) -> tuple[ir.Module, list[ir.Type]]:
    module = ir.Module.parse(text)
    types = list(ir.FunctionType(next(iter(module.body)).operation.attributes["function_type"].value).inputs)
    return module, types


def _dense(x: np.ndarray, type_: ir.Type) -> ir.Attribute:
    if x.dtype == np.bool_ and x.size:
        return ir.DenseElementsAttr.get([ir.BoolAttr.get(bool(b)) for b in x.flat], type_)
    return ir.DenseElementsAttr.get(np.ascontiguousarray(x), type=type_)


def _array(attr: ir.Attribute) -> np.ndarray:
    type_ = ir.RankedTensorType(attr.type)
    dtype = dtype_of(type_.element_type)
    return np.array(np.asarray(attr), dtype).reshape(tuple(type_.shape))


def _legalize_chlo(text: str) -> str:
    module = ir.Module.parse(text)
    PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo))").run(module.operation)
    return str(module)


def _without_chlo(text: str) -> str:
    """With CHLO expanded as far as the pass knows how; XLA may still know the rest."""
    try:
        return _legalize_chlo(text)
    except ir.MLIRError:
        return text


@cache
def _compiled(text: str) -> Any:
    import jax
    from jax._src.lib import xla_client
    from jaxlib import _jax

    device = jax.devices("cpu")[0]
    devices = _jax.DeviceList((device,))
    options = xla_client.CompileOptions()
    try:
        return device.client.compile_and_load(text.encode(), devices, options), device
    except jax.errors.JaxRuntimeError as error:
        if "UNIMPLEMENTED" not in str(error):
            raise
        # The quick emitters lack comparisons of complex numbers.
        options.env_option_overrides = [("xla_cpu_use_fusion_emitters", True)]
        return device.client.compile_and_load(text.encode(), devices, options), device


def run_xla(text: str, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run a single-device module by XLA on CPU; a module is compiled once."""
    import jax

    executable, device = _compiled(_without_chlo(text) if "chlo." in text else text)
    with jax.enable_x64(True):
        results = executable.execute_sharded([jax.device_put(x, device) for x in inputs])
        # np.asarray would refuse random bits of i4, which XLA has as ui4.
        arrays = [x[0] for x in results.disassemble_into_single_device_arrays()]
        return [x._single_device_array_to_np_array_did_copy()[0] for x in arrays]
