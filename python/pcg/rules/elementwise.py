"""Rules of elementwise ops: every dimension is a factor, shared by all operands and results.

What differs is which partial values pass through.  `add` passes sums when both operands are partial,
`multiply` when exactly one is; a non-linear op passes none.
"""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir.types import is_bool
from pcg.layout.spec import REDUCTIONS
from pcg.rules.build import Factors, linear, pointwise
from pcg.rules.factor import FactorRule, Linear, replicated_rule
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait
from pcg.rules.values import is_zero

_SUM_0 = (linear("sum", 0),)
_SUM_BOTH = (linear("sum", 0, 1),)
_SUM_EITHER = (linear("sum", 0), linear("sum", 1))

#: Element type of a float -> float types to which its partial sums may be converted before they
#: are added.  Wider ones, and bf16 for f32: the same range, so no term overflows where the sum
#: would not.
_SUM_CONVERTS = {
    "bf16": {"f32", "f64"},
    "f16": {"f32", "f64"},
    "f32": {"bf16", "f64"},
}


def _idempotent(kind: str) -> tuple[Linear, ...]:
    """max(max_d x_d, y) = max_d max(x_d, y): one or both operands may be partial."""
    return (linear(kind, 0, 1), linear(kind, 0), linear(kind, 1))


_LINEAR: dict[str, tuple[Linear, ...]] = {
    "stablehlo.add": _SUM_BOTH,
    "stablehlo.subtract": _SUM_BOTH,
    "stablehlo.complex": _SUM_BOTH,
    "stablehlo.negate": _SUM_0,
    "stablehlo.real": _SUM_0,
    "stablehlo.imag": _SUM_0,
    "chlo.conj": _SUM_0,
    "stablehlo.multiply": _SUM_EITHER,
    "stablehlo.divide": _SUM_0,
    "stablehlo.maximum": _idempotent("max"),
    "stablehlo.minimum": _idempotent("min"),
    "stablehlo.and": _idempotent("and"),
    "stablehlo.or": _idempotent("or"),
}
NON_LINEAR_UNARY = (
    "abs", "cbrt", "ceil", "cosine", "count_leading_zeros", "exponential", "exponential_minus_one", "floor",
    "is_finite", "log", "log_plus_one", "logistic", "not", "popcnt", "reduce_precision", "round_nearest_afz",
    "round_nearest_even", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh",
)  # fmt: skip
NON_LINEAR_BINARY = (
    "atan2", "compare", "power", "remainder", "shift_left", "shift_right_arithmetic", "shift_right_logical", "xor",
)  # fmt: skip
CHLO = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "cosh", "digamma", "erf", "erf_inv", "erfc",
    "is_inf", "is_neg_inf", "is_pos_inf", "lgamma", "next_after", "polygamma", "sinh", "square", "tan", "zeta",
    "constant_like", "mulhi", "_asin_acos_kernel",
)  # fmt: skip
CHLO_BROADCAST = (
    "add", "and", "atan2", "compare", "complex", "divide", "maximum", "minimum", "multiply", "next_after", "or",
    "polygamma", "power", "remainder", "shift_left", "shift_right_arithmetic", "shift_right_logical", "subtract",
    "xor", "zeta",
)  # fmt: skip
#: What compilers expand to long sequences, rounding at the end; other ops of CHLO are taken for the like.
_MATH = Trait.EXPENSIVE | Trait.ROUNDS
_EXACT = Trait.CHEAP | Trait.KEEPS_INTEGERS
_TRAITS = {
    **dict.fromkeys((f"stablehlo.{n}" for n in (*NON_LINEAR_UNARY, *NON_LINEAR_BINARY)), Trait.NONE),
    **dict.fromkeys(_LINEAR, Trait.NONE),
    **{
        f"stablehlo.{name}": traits
        for traits, names in (
            (_MATH, (
                "atan2", "cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic",
                "power", "rsqrt", "sine", "sqrt", "tan", "tanh",
            )),
            (_EXACT | Trait.ROUNDS, ("add", "subtract")),
            (_EXACT | Trait.PROPAGATES_GENERATOR, ("negate",)),
            (_EXACT, ("abs", "clamp", "maximum", "minimum", "multiply")),
            (Trait.CHEAP | Trait.YIELDS_INTEGERS, ("sign",)),
            (Trait.CHEAP, ("and", "compare", "not", "or", "xor")),
            (Trait.YIELDS_INTEGERS, ("ceil", "floor", "round_nearest_afz", "round_nearest_even")),
            (Trait.ROUNDS, ("reduce_precision",)),
        )
        for name in names
    },
    **dict.fromkeys(("chlo.conj", *(f"chlo.{n}" for n in CHLO)), Trait.EXPENSIVE),
}  # fmt: skip


@rule(
    *(f"stablehlo.{n}" for n in (*NON_LINEAR_UNARY, *NON_LINEAR_BINARY)), "stablehlo.clamp",
    *(f"chlo.{n}" for n in CHLO), traits=_TRAITS,
)  # fmt: skip
def non_linear(op: ir.Operation) -> FactorRule:
    """No partial value passes; scalar bounds of `clamp` are held by every device."""
    return pointwise(shape(op.results[0]), tuple(shape(v) for v in op.operands), padding=_padding(op))


def _padding(op: ir.Operation) -> str:
    """What padding may hold: anything, but 1 where integers divide, for nothing defines a division by zero."""
    divides = op.name.endswith(("divide", "remainder"))
    return "prod" if divides and isinstance(op.results[0].type.element_type, ir.IntegerType) else "any"


@rule(*_LINEAR, traits=_TRAITS)
def with_linear(op: ir.Operation) -> FactorRule:
    """Partial values pass as in `_LINEAR`; arithmetic on booleans is logic, so none pass there."""
    type_, name = op.results[0].type, op.name
    logic = is_bool(type_) and name not in ("stablehlo.and", "stablehlo.or")
    rounds = name == "stablehlo.divide" and isinstance(type_.element_type, ir.IntegerType)
    s = shape(op.results[0])
    return pointwise(s, (s,) * len(op.operands), () if logic or rounds else _LINEAR[name], padding=_padding(op))


@rule("stablehlo.convert", traits=_EXACT | Trait.SPREADS | Trait.FORWARDS | Trait.PROPAGATES_GENERATOR)
def convert(op: ir.Operation) -> FactorRule:
    """Partial sums pass between floats where no term can overflow (see `_SUM_CONVERTS`)."""
    s = shape(op.results[0])
    source, target = str(op.operands[0].type.element_type), str(op.results[0].type.element_type)
    ok = source == target or target in _SUM_CONVERTS.get(source, ())
    return pointwise(s, (s,), _SUM_0 if ok else ())


@rule("pcg.alternatives", traits=Trait.VIEW)
def alternatives(op: ir.Operation) -> FactorRule:
    """One of the operands under another name: whatever they wait for, the result waits for."""
    s = shape(op.results[0])
    return pointwise(s, (s, s), tuple(linear(kind, 0, 1) for kind in REDUCTIONS))


@rule("stablehlo.select", traits=_EXACT)
def select(op: ir.Operation) -> FactorRule:
    """Sums pass when both cases are partial, or one is and the other is zero: the sum of zeros."""
    s = shape(op.results[0])
    passes = [linear("sum", 1, 2)]
    if is_bool(op.results[0].type):
        passes = []
    elif is_zero(op.operands[2]):
        passes = [linear("sum", 1)]
    elif is_zero(op.operands[1]):
        passes = [linear("sum", 2)]
    return pointwise(s, (shape(op.operands[0]), s, s), tuple(passes))


@rule("stablehlo.bitcast_convert", traits=Trait.NONE)
def bitcast_convert(op: ir.Operation) -> FactorRule:
    """Between widths one side has a trailing dimension, the pieces of one element: never split."""
    a, b = shape(op.operands[0]), shape(op.results[0])
    if len(a) == len(b):
        return pointwise(b, (a,))
    f = Factors()
    common = f.dims(a[: min(len(a), len(b))])
    longer = max(a, b, key=len)
    pieces = (f.replicated(longer[-1], "it holds the pieces of one element"),)
    return f.rule(
        [common + pieces if len(a) > len(b) else common], [common + pieces if len(b) > len(a) else common]
    )  # fmt: skip


@rule(*(f"chlo.broadcast_{n}" for n in CHLO_BROADCAST), "chlo.broadcast_select", traits=Trait.EXPENSIVE)
def broadcasting(op: ir.Operation) -> FactorRule:
    """numpy-style broadcasting: trailing dimensions are aligned."""
    s = shape(op.results[0])
    shapes = tuple(shape(v) for v in op.operands)
    if "broadcast_dimensions" in op.attributes:
        small = min(map(len, shapes))
        where = list(op.attributes["broadcast_dimensions"])
        if where != list(range(len(s) - small, len(s))):
            reason = f"broadcast_dimensions {where} do not align trailing ones"
            return replicated_rule([*map(len, shapes)], [len(s)], reason)
    return pointwise(s, shapes, padding=_padding(op))
