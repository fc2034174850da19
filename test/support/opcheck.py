"""Lower one op under many strategies, run all of them in the oracle at once, and compare with the op on whole tensors.

Each strategy is lowered by the real lowering, to a program for one device with operands of the
strategy's layouts, partial ones too.  The lock-step emulator turns it into the programs of all devices;
those of many strategies, meshes and element types become one module, for compiling is what costs.  What
every device ends up with is assembled outside, by layouts alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

import ml_dtypes
import numpy as np
from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pcg.emulate.build import create, padded_high, slice_box
from pcg.emulate.lockstep import LockStep
from pcg.ir import stablehlo as _stablehlo
from pcg.ir.identities import integer_range
from pcg.ir.stablehlo import GatherDimensionNumbers, ScatterDimensionNumbers
from pcg.layout import Mesh, ShardSpec
from pcg.lower.in_range import keep_in_range
from pcg.lower.local import clone_mapped
from pcg.lower.spmd import SpmdLowering
from pcg.rules import Assignment, rule_for
from pcg.tools.op_variants import COMPILED, CRASHES, NOT_EXECUTED, Variant
from support import rulecheck
from support.rulecheck import context, last_op, local_type

#: Ops that only move elements: their results must be the same bits in every type.
MOVES = frozenset(f"stablehlo.{n}" for n in (
    "broadcast", "broadcast_in_dim", "bitcast_convert", "complex", "concatenate", "constant", "dynamic_slice",
    "dynamic_update_slice", "gather", "get_dimension_size", "imag", "iota", "optimization_barrier", "pad", "real",
    "reshape", "reverse", "select", "slice", "sort", "torch_index_select", "transpose",
)) | {"chlo.top_k", "chlo.broadcast_select", "chlo.constant_like"}  # fmt: skip
#: What the reference interpreter lacks of complex numbers, besides `COMPILED`; it would end the process.
_NOT_INTERPRETED_COMPLEX = frozenset({
    "stablehlo.remainder", "stablehlo.sort", "stablehlo.select_and_scatter", "chlo.top_k", "chlo.ragged_dot",
    "chlo.broadcast_remainder",
})  # fmt: skip
_CONTRACTIONS = frozenset({"stablehlo.dot", "stablehlo.dot_general", "chlo.ragged_dot"})
_DIVISIONS = frozenset(
    {"stablehlo.divide", "stablehlo.remainder", "chlo.broadcast_divide", "chlo.broadcast_remainder"}
)
Plan = tuple[Mesh, Sequence[Assignment]]


class NotExecutable(Exception):
    """The backend cannot run the op on whole tensors; the text says why."""


@dataclass
class _Strategy:
    what: str
    mesh: Mesh
    specs: list[ShardSpec]
    first: int  # of its results: one per device and result of the op


@dataclass
class _Job:
    """One op in the module under construction."""

    variant: Variant
    inputs: list[np.ndarray]
    first: int = 0  # of the results of the op on whole tensors
    count: int = 0
    strategies: list[_Strategy] = field(default_factory=list)


def check(jobs: Iterable[tuple[Variant, Sequence[Plan]]], interpret: bool | None = None) -> int:
    """Run the given strategies of each program; how many there were.  A program that comes again gets other numbers.

    `interpret`: in the reference interpreter instead of by XLA; None where it can, for it compiles nothing.

    Raises:
      NotExecutable: a program cannot be run even unsharded.
      AssertionError: a result differs, or devices that should hold the same do not.
    """
    jobs = list(jobs)
    if interpret is None:
        interpret = all(interpretable(v) for v, _ in jobs)
    for variant, _ in jobs:
        if NOT_EXECUTED.get((variant.op, variant.key)) == CRASHES:
            raise NotExecutable(CRASHES)
    done, builder, text = _build(jobs, interpret)
    try:
        values = _run(builder, text)
    except Exception as error:
        for variant, _ in jobs:
            if why := why_not_executable(variant, interpret):
                if interpret:
                    return check(jobs, interpret=False)
                raise NotExecutable(why) from error
        keys = [v.key for v, _ in jobs]
        raise AssertionError(f"{keys} run whole, but not on shards: {error}\n{text}") from error
    for job in done:
        _compare(job, values)
    return sum(len(j.strategies) for j in done)


def interpretable(variant: Variant) -> bool:
    """Whether the reference interpreter has the op on this type; what it refuses politely is tried."""
    op, kind = variant.op, variant.dtype_class
    return not (
        op in COMPILED
        or (op in _NOT_INTERPRETED_COMPLEX and kind == "complex")
        or (op in _CONTRACTIONS and "size 0" in variant.what)
    )


def why_not_executable(variant: Variant, interpret: bool) -> str:
    """Why the backend cannot run the program on whole tensors; empty when it can."""
    _, builder, text = _build([(variant, ())], interpret)
    try:
        _run(builder, text)
    except Exception as error:
        return str(error)
    return ""


def _run(builder: _Builder, text: str) -> list[np.ndarray]:
    with context(), ir.Location.unknown():
        if not builder.portable:
            return rulecheck.run_xla(text, builder.inputs)
        module = ir.Module.parse(rulecheck._legalize_chlo(text) if "chlo." in text else text)
        if any(n in text for n in ('"stablehlo.dot"', "stablehlo.dot ", '"stablehlo.broadcast"', "stablehlo.broadcast ")):
            PassManager.parse("builtin.module(func.func(stablehlo-legalize-deprecated-ops))").run(module.operation)
        values = [rulecheck._dense(x, a) for x, a in zip(builder.inputs, builder.types, strict=True)]
        return builder.read([rulecheck._array(r) for r in _stablehlo.eval_module(module, values)])


# -- building ------------------------------------------------------------------------------------


def _build(jobs: Sequence[tuple[Variant, Sequence[Plan]]], portable: bool) -> tuple[list[_Job], _Builder, str]:
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = ir.Operation.create(
                "func.func", regions=1,
                attributes={
                    "sym_name": ir.StringAttr.get("main"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
                },
            )  # fmt: skip
        block = function.regions[0].blocks.append()
        builder = _Builder(block, portable)
        done = [
            builder.job(v, plans, sum(v == earlier for earlier, _ in jobs[:i])) for i, (v, plans) in enumerate(jobs)
        ]
        returned = builder.finish()
        with ir.InsertionPoint(block):
            ir.Operation.create("func.return", operands=returned)
        builder.types = [a.type for a in block.arguments]
        builder.returned = [r.type for r in builder.results]
        function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(builder.types, [r.type for r in returned])
        )
        module.operation.verify()
        return done, builder, str(module)


def _carrier(type_: ir.RankedTensorType) -> ir.RankedTensorType:
    """The type as which numpy and the interpreter exchange tensors of `type_`."""
    element = type_.element_type
    if isinstance(element, ir.IntegerType) and 1 < element.width < 8:
        signless = ir.IntegerType.get_signless(8)
        return ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_unsigned(8) if element.is_unsigned else signless)
    if isinstance(element, ir.FloatType) and element.width < 32:
        return ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_unsigned(element.width))
    return type_


class _Builder:
    """The function that runs everything: `inputs` are its arguments, `results` what it computes.

    `portable`: for the reference interpreter.
    """

    def __init__(self, block: ir.Block, portable: bool) -> None:
        self.block = block
        self.portable = portable
        self.inputs: list[np.ndarray] = []
        self.results: list[ir.Value] = []
        #: Types of arguments and of results; kept, because values do not outlive the module.
        self.types: list[ir.Type] = []
        self.returned: list[ir.Type] = []

    def argument(self, type_: ir.Type, value: np.ndarray) -> ir.Value:
        """An argument of the type; what the interpreter cannot be given comes as integers, or as two numbers."""
        if not self.portable:
            return self.plain(type_, value)
        element = type_.element_type
        with ir.InsertionPoint(self.block):
            if isinstance(element, ir.ComplexType):
                part = ir.RankedTensorType.get(type_.shape, element.element_type)
                halves = [self.plain(part, value.real), self.plain(part, value.imag)]
                return create("stablehlo.complex", halves, type_)
            carrier = _carrier(type_)
            if carrier == type_:
                return self.plain(type_, value)
            if isinstance(element, ir.IntegerType):
                return create("stablehlo.convert", [self.plain(carrier, value.astype(np.uint8 if element.is_unsigned else np.int8))], type_)
            bits = np.ascontiguousarray(value).view(f"u{value.dtype.itemsize}")
            return create("stablehlo.bitcast_convert", [self.plain(carrier, bits)], type_)

    def plain(self, type_: ir.Type, value: np.ndarray) -> ir.Value:
        self.inputs.append(value)
        return self.block.add_argument(type_, ir.Location.unknown())

    def finish(self) -> list[ir.Value]:
        """What the function returns."""
        if not self.portable:
            return self.results
        out = []
        with ir.InsertionPoint(self.block):
            for r in self.results:
                element, carrier = r.type.element_type, _carrier(r.type)
                if isinstance(element, ir.ComplexType):
                    part = ir.RankedTensorType.get(r.type.shape, element.element_type)
                    out += [create(f"stablehlo.{n}", [r], part) for n in ("real", "imag")]
                elif carrier == r.type:
                    out.append(r)
                else:
                    name = "convert" if isinstance(element, ir.IntegerType) else "bitcast_convert"
                    out.append(create(f"stablehlo.{name}", [r], carrier))
        return out

    def read(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results, from what the function returned."""
        if not self.portable:
            return list(values)
        left, out = iter(values), []
        for type_ in self.returned:
            element, dtype = type_.element_type, rulecheck.dtype_of(type_.element_type)
            x = np.asarray(next(left))
            if isinstance(element, ir.ComplexType):
                number = np.empty(x.shape, dtype)
                number.real, number.imag = x, np.asarray(next(left))
                out.append(number)
            elif _carrier(type_) == type_:
                out.append(x)
            else:
                out.append(x.astype(dtype) if isinstance(element, ir.IntegerType) else x.view(dtype))
        return out

    def job(self, variant: Variant, plans: Sequence[Plan], draw: int) -> _Job:
        """One program on numbers of its own: `draw` says which."""
        rng = np.random.default_rng([zlib.crc32(variant.text.encode()), draw])
        source = ir.Module.parse(variant.text)
        op = last_op(source)
        old = op.parent.regions[0].blocks[0]
        job = _Job(variant, inputs_of(op, rng, self.portable), len(self.results), len(op.results))
        values = {a: self.argument(a.type, x) for a, x in zip(old.arguments, job.inputs, strict=True)}
        known = dict(zip(old.arguments, job.inputs, strict=True))
        with ir.InsertionPoint(self.block):
            for inner in list(old.operations)[:-1]:
                whole = clone_mapped(inner.operation, values)
            self.results += list(whole.results)
            rule = rule_for(op)
            for tensor, v in [*zip(rule.operands, op.operands, strict=True), *zip(rule.results, op.results, strict=True)]:
                rulecheck.check_dims(rule, tensor, v, op.name in rulecheck.SLIDING)
            terms: dict[tuple[ir.Value, str, int], ir.Value] = {}
            for mesh, assignments in plans:
                for a in assignments:
                    job.strategies.append(self.strategy(op, mesh, a, values, known, terms, rng))
        return job

    def strategy(
        self, op: ir.Operation, mesh: Mesh, a: Assignment, values: dict[ir.Value, ir.Value],
        known: dict[ir.Value, np.ndarray], terms: dict[tuple[ir.Value, str, int], ir.Value],
        rng: np.random.Generator,
    ) -> _Strategy:  # fmt: skip
        """The program of one device by the lowering, and of all devices by the emulator."""
        rule = rule_for(op)
        ins = [rule.operand_spec(i, a) for i in range(len(op.operands))]
        outs = [rule.result_spec(i, a) for i in range(len(op.results))]
        what = f"{op.name} {rule} on {mesh}: {', '.join(map(str, ins))} -> {', '.join(map(str, outs))}"
        for spec, v in [*zip(ins, op.operands, strict=True), *zip(outs, op.results, strict=True)]:
            spec.check(mesh, tuple(v.type.shape))
        scratch = ir.Module.create()
        types = [local_type(v.type, s, mesh) for v, s in zip(op.operands, ins, strict=True)]
        with ir.InsertionPoint(scratch.body):
            local = ir.Operation.create(
                "func.func", regions=1,
                attributes={
                    "sym_name": ir.StringAttr.get("main"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
                },
            )  # fmt: skip
        block = local.regions[0].blocks.append(*types)
        lowering = SpmdLowering(mesh)
        lowering.shards.local = dict(zip(op.operands, block.arguments, strict=True))
        lowering.shards.specs = dict(zip([*op.operands, *op.results], [*ins, *outs], strict=True))
        with ir.InsertionPoint(block):
            lowering.op(op)
            ir.Operation.create("func.return", operands=[lowering.shards.local[r] for r in op.results])
        keep_in_range(local, mesh.size)
        made = list(list(block.operations)[-1].operation.operands)
        want = [local_type(r.type, s, mesh) for r, s in zip(op.results, outs, strict=True)]
        assert [m.type for m in made] == want, f"{[str(m.type) for m in made]} are not {list(map(str, want))}: {what}"
        machine = LockStep(mesh.size)
        for v, argument, spec in zip(op.operands, block.arguments, ins, strict=True):
            parts = self.parts(v, spec, mesh, values, known, terms, rng)
            for d, env in enumerate(machine.env):
                part = parts[mesh.index(d, spec.partial_axes)]
                where, _ = rulecheck.window(spec, v.type.shape, mesh, d)
                held = slice_box(part, [w.start for w in where], [w.stop for w in where])
                env[argument] = padded_high(held, argument.type)
        first = len(self.results)
        for held in machine.block(block):
            self.results += held
        return _Strategy(what, mesh, outs, first)

    def parts(
        self, v: ir.Value, spec: ShardSpec, mesh: Mesh, values: dict[ir.Value, ir.Value],
        known: dict[ir.Value, np.ndarray], terms: dict[tuple[ir.Value, str, int], ir.Value],
        rng: np.random.Generator,
    ) -> list[ir.Value]:  # fmt: skip
        """A value, or as many as are reduced to it where the layout is partial."""
        n = mesh.axes_size(spec.partial_axes)
        if n == 1:
            return [values[v]]
        kind = spec.partial[0][1]
        row = ir.RankedTensorType.get([1, *v.type.shape], v.type.element_type)
        if (v, kind, n) not in terms:
            assert v in known, f"a constant operand is partial: {spec}"
            stacked = np.stack(split_up(known[v], n, kind, rng))
            type_ = ir.RankedTensorType.get([n, *v.type.shape], v.type.element_type)
            terms[v, kind, n] = self.argument(type_, stacked)
        whole = terms[v, kind, n]
        out = []
        for i in range(n):
            piece = slice_box(whole, [i, *[0] * (row.rank - 1)], [i + 1, *v.type.shape])
            out.append(ir.Operation.create("stablehlo.reshape", results=[v.type], operands=[piece]).result)
        return out


# -- values --------------------------------------------------------------------------------------


def inputs_of(op: ir.Operation, rng: np.random.Generator, interpreted: bool) -> list[np.ndarray]:
    """Values of the arguments of the program whose last op is `op`; indices also beyond the ends.

    `interpreted`: without unsigned indices that the interpreter takes for negative ones, as XLA does not.
    """
    arguments = list(op.parent.regions[0].blocks[0].arguments)
    sizes = _indexed_sizes(op)
    inputs = [index_value(a.type, sizes[a], rng, interpreted) if a in sizes else random_value(a.type, rng) for a in arguments]
    if op.name in _DIVISIONS and len(inputs) > 1:
        inputs[1] = np.where(inputs[1] == 0, np.ones_like(inputs[1]), inputs[1])
    return inputs


def _indexed_sizes(op: ir.Operation) -> dict[ir.Value, int]:
    """Operands of an op that hold indices, and the size of what they index (the largest, if that differs)."""
    operand = list(op.operands[0].type.shape) if len(op.operands) else []
    match op.name:
        case "stablehlo.dynamic_slice" | "stablehlo.dynamic_update_slice":
            first = len(op.operands) - len(operand)
            return {v: n for v, n in zip(list(op.operands)[first:], operand, strict=True)}
        case "stablehlo.gather":
            picked = GatherDimensionNumbers(op.attributes["dimension_numbers"]).start_index_map
            return {op.operands[1]: max((operand[d] for d in picked), default=1)}
        case "stablehlo.scatter":
            numbers = ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
            picked = numbers.scattered_dims_to_operand_dims
            return {op.operands[len(op.results)]: max((operand[d] for d in picked), default=1)}
    return {}


def index_value(
    type_: ir.RankedTensorType, size: int, rng: np.random.Generator, interpreted: bool = False
) -> np.ndarray:
    """Indices of a dimension of `size`: two of three inside, and of those few, so that they repeat."""
    dtype = rulecheck.dtype_of(type_.element_type)
    low, high = integer_range(type_.element_type)
    if interpreted and low == 0:
        high //= 2
    inside = rng.integers(0, max(1, size), max(1, size // 2)).tolist()
    outside = [-1, -size, size - 1, size, size + 1, 2 * size, low, low + 1, high, high - 1]
    pool = np.array([min(max(n, low), high) for n in inside * (20 // len(inside)) + outside], dtype=object)
    return np.asarray(pool[rng.integers(0, len(pool), type_.shape)]).astype(_wide_integer(dtype)).astype(dtype)


def _wide_integer(dtype: np.dtype) -> np.dtype:
    return dtype if dtype.kind in "iu" else np.dtype(np.int8)


def _narrow(dtype: np.dtype) -> bool:
    """8-bit floats: only the smallest integers are exact, and so are sums of a few of them."""
    return dtype.itemsize == 1 and dtype.kind not in "iub" and dtype not in (ml_dtypes.int4, ml_dtypes.uint4)


def random_value(type_: ir.RankedTensorType, rng: np.random.Generator) -> np.ndarray:
    """Numbers of which sums and products are exact: multiples of 1/2 in wide floats, -1, 0 and 1 in narrow ones."""
    dtype = rulecheck.dtype_of(type_.element_type)
    if _narrow(dtype):
        return np.asarray(rng.integers(-1, 2, type_.shape)).astype(np.float32).astype(dtype)
    if dtype in (ml_dtypes.int4, ml_dtypes.uint4):
        return np.asarray(rng.integers(0 if dtype == ml_dtypes.uint4 else -4, 5, type_.shape)).astype(np.int8).astype(dtype)
    x = rulecheck.random_value(type_, rng)
    return x if dtype.kind in "iub" else np.asarray(x / 2).astype(dtype)


def unsigned(dtype: np.dtype) -> bool:
    return dtype.kind == "u" or dtype == ml_dtypes.uint4


def split_up(value: np.ndarray, n: int, kind: str, rng: np.random.Generator) -> list[np.ndarray]:
    """`n` arrays that reduce to `value`; terms of narrow floats stay so small that sums of them are exact."""
    if kind == "prod":
        signs = [np.asarray(rng.integers(1 if unsigned(value.dtype) else 0, 2, value.shape) * 2 - 1) for _ in range(n - 1)]
        rest = [x.astype(np.int8).astype(value.dtype) for x in signs]
        return [reduce(np.multiply, rest, value), *rest]
    if kind == "sum" and _narrow(value.dtype):
        keep = rng.integers(0, n, value.shape)
        return [np.where(keep == i, value.astype(np.float32), np.float32(0)).astype(value.dtype) for i in range(n)]
    if value.dtype in (ml_dtypes.int4, ml_dtypes.uint4):
        wide = np.int8 if value.dtype == ml_dtypes.int4 else np.uint8
        return [x.astype(value.dtype) for x in rulecheck.terms(value.astype(wide), n, kind, rng)]
    if _narrow(value.dtype):
        return [x.astype(value.dtype) for x in rulecheck.terms(value.astype(np.float32), n, kind, rng)]
    return [np.asarray(x) for x in rulecheck.terms(value, n, kind, rng)]


# -- comparing -----------------------------------------------------------------------------------


def tolerance(dtype: np.dtype) -> float:
    """Relative error that arithmetic in another order may make."""
    if dtype.kind == "c":
        dtype = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
    return 16.0 * float(ml_dtypes.finfo(dtype).eps) if dtype.itemsize > 1 else float(ml_dtypes.finfo(dtype).eps)


def _comparable(x: np.ndarray) -> np.ndarray:
    """The same numbers in a type that numpy compares (NaNs of small floats are not NaN to it)."""
    if x.dtype in (ml_dtypes.int4, ml_dtypes.uint4):
        return x.astype(np.int64)
    return x.astype(np.float64) if x.dtype.itemsize == 1 and x.dtype.kind not in "biu" or x.dtype == ml_dtypes.bfloat16 else x


def _rounded(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Reduced numbers as `dtype` holds them."""
    if dtype in (ml_dtypes.int4, ml_dtypes.uint4):
        x = x.astype(np.int8)
    return _comparable(x.astype(dtype))


def _compare(job: _Job, values: Sequence[np.ndarray]) -> None:
    for i in range(job.count):
        for s in job.strategies:
            n = s.mesh.size
            held = values[s.first + i * n : s.first + (i + 1) * n]
            compare(job, i, values[job.first + i], held, s.specs[i], s.mesh, s.what)


def compare(
    job: _Job, i: int, plain: np.ndarray, held: Sequence[np.ndarray], spec: ShardSpec, mesh: Mesh, strategy: str
) -> None:
    """Result `i` of an op on whole tensors, and what each position of `mesh` holds of it under a strategy.

    Raises:
      AssertionError: they differ.
    """
    dtype, want = plain.dtype, _comparable(plain)
    what = f"result {i} of {job.variant.op} ({job.variant.key}), {strategy}\n{job.variant.text}"
    assert {h.dtype for h in held} == {dtype}, what
    got = rulecheck.gather([_comparable(h) for h in held], spec, mesh, want.shape, what)
    if spec.partial:
        got = _rounded(got, dtype)
    if job.variant.op in MOVES or want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want, err_msg=what)
    else:
        t = tolerance(dtype)
        np.testing.assert_allclose(got, want, rtol=t, atol=t, equal_nan=True, err_msg=what)
