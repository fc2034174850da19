"""The sample of each op with every other element type, index type and degenerate shape that it takes.

Which types an op takes is not written down here: the sample is rewritten, and kept when it parses and
verifies.  The tests run these programs and the status page counts them, both through this module.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from torch_mlir import ir

from pcg.ir.context import make_context
from pcg.layout import Mesh
from pcg.rules import Assignment, FactorRule, rule_for
from pcg.tools import op_forms, op_samples

#: Class -> element types of it.
CLASSES: dict[str, tuple[str, ...]] = {
    "f64": ("f64",),
    "f32": ("f32",),
    "half": ("bf16", "f16"),
    "fp8": ("f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4", "f8E4M3B11FNUZ", "f8E4M3FNUZ", "f8E5M2FNUZ"),
    "int": ("i32", "i64", "i16", "i8", "ui32", "ui64", "ui16", "ui8"),
    "int4": ("i4", "ui4"),
    "bool": ("i1",),
    "complex": ("complex<f32>", "complex<f64>"),
}
CLASS_OF = {element: c for c, elements in CLASSES.items() for element in elements}
WIDTH = {
    "f64": 64, "f32": 32, "bf16": 16, "f16": 16, "i1": 1,
    **{t: 8 for t in CLASSES["fp8"]},
    **{t: int(t.lstrip("ui")) for t in (*CLASSES["int"], *CLASSES["int4"])},
    "complex<f32>": 64, "complex<f64>": 128,
}  # fmt: skip

#: The meshes of the tests.
MESHES = {"1-D": Mesh.of({"x": 2}), "2-D": Mesh.of({"x": 2, "y": 2})}
#: How many strategies of one program the default suite runs on each mesh, besides replication on the first.
SAMPLED = {"1-D": 1, "2-D": 2}

_INDEXED = {
    "stablehlo.gather", "stablehlo.scatter", "stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice",
    "stablehlo.torch_index_select", "chlo.ragged_dot",
}  # fmt: skip
_NUMBER = re.compile(r"-?\d+\.\d+")
_DENSE = re.compile(r"dense<([^>]*)> : tensor<((?:\d+x)*)f32>")


@dataclass(frozen=True)
class Variant:
    """One program: `element` is the type put in place of the sample's own, `what` says which of several it is."""

    op: str
    element: str
    what: str
    text: str

    @property
    def key(self) -> str:
        """Unique among the variants of its op."""
        return f"{self.element} {self.what}".strip()

    @property
    def dtype_class(self) -> str:
        return CLASS_OF[self.element]


def component(element: str) -> str:
    """`complex<f32>` -> `f32`; any other type is its own."""
    return element[8:-1] if element.startswith("complex<") else element


def number(text: str, element: str) -> str:
    """The literal `text` of a float as a literal of `element`."""
    value = float(text)
    if element.startswith("complex<"):
        return f"({value}, 0.0)"
    if element == "i1":
        return "true" if value else "false"
    return str(int(value)) if element.lstrip("u").startswith("i") else text


def substitute(text: str, old: str, new: str) -> str:
    """`text` with tensors of `old` made tensors of `new`, and constants and comparisons of them with it."""
    if old == "f32":

        def dense(m: re.Match[str]) -> str:
            return f"dense<{_NUMBER.sub(lambda n: number(n[0], new), m[1])}> : tensor<{m[2]}f32>"

        text = _DENSE.sub(dense, text)
        text = re.sub(r"value = (-?[\d.]+) : f32", lambda m: f"value = {number(m[1], new)} : {new}", text)
        kind = "UNSIGNED" if new.startswith("ui") or new == "i1" else "SIGNED" if new.startswith("i") else "FLOAT"
        text = text.replace("comparison_type FLOAT", f"comparison_type {kind}")
        if new.startswith("complex<"):  # they have no order
            text = text.replace("comparison_direction LT", "comparison_direction EQ")
    return re.sub(rf"(?<=[x<]){re.escape(old)}(?=>)", new, text)


def primary(name: str) -> str:
    """The element type of a sample that the others are put in place of."""
    text = op_samples.SAMPLES[name]
    if name == "stablehlo.rng_bit_generator":
        return "ui32"
    return next(t for t in ("complex<f32>", "f32", "i32") if re.search(rf"[x<]{re.escape(t)}>", text))


def _elements(name: str) -> Iterator[tuple[str, str, str]]:
    """(element, what, program) of candidates; not all of them are legal."""
    for what, text in op_forms.FORMS.get(name, {}).items():
        for element in CLASS_OF:
            yield element, what, substitute(text, primary(name), element)
    sample, own = op_samples.SAMPLES[name], primary(name)
    for element in CLASS_OF:
        if name == "stablehlo.bitcast_convert":
            yield from _bitcasts(element)
        elif name == "stablehlo.convert":
            for a, b in ((element, "f32"), ("f32", element), (element, "i32"), ("i32", element)):
                text = op_samples.program(name, [f"tensor<4x6x{a}>"], [f"tensor<4x6x{b}>"])
                yield element, f"to {b}" if a == element else f"from {a}", text
        elif name == "stablehlo.fft" and not element.startswith("complex"):
            for kind, a, b in (("RFFT", element, f"complex<{element}>"), ("IRFFT", f"complex<{element}>", element)):
                shapes = (8, 5) if kind == "RFFT" else (5, 8)
                yield element, kind, op_samples.program(
                    name, [f"tensor<4x{shapes[0]}x{a}>"], [f"tensor<4x{shapes[1]}x{b}>"],
                    f"fft_type = #stablehlo<fft_type {kind}>, fft_length = array<i64: 8>",
                )  # fmt: skip
        elif own == "complex<f32>":
            marked = substitute(sample, "complex<f32>", "own")
            yield element, "", substitute(substitute(marked, "f32", component(element)), "own", element)
        else:
            text = substitute(sample, own, element)
            yield element, "", text
            if element.startswith("complex<"):  # abs, and ops that make a complex number
                head, arrow, tail = text.rpartition("->")
                made = f"complex<{component(element)}>"
                real = head + arrow + tail.replace(made, component(element))
                yield element, "", re.sub(r"(@main\(.*?\) -> \()(.*?)(\) \{)", _component_results, real, count=1)


def _component_results(m: re.Match[str]) -> str:
    return m[1] + re.sub(r"complex<(f\d+)>", r"\1", m[2]) + m[3]


def _bitcasts(element: str) -> Iterator[tuple[str, str, str]]:
    name, width = "stablehlo.bitcast_convert", WIDTH[element]
    for to in (element, "ui4", "ui8", "i16", "f32", "f64"):
        w = WIDTH[to]
        a = f"4x6x{w // width}" if w > width else "4x6"
        b = f"4x6x{width // w}" if w < width else "4x6"
        yield element, f"to {to}", op_samples.program(name, [f"tensor<{a}x{element}>"], [f"tensor<{b}x{to}>"])


def _indices(name: str) -> Iterator[tuple[str, str, str]]:
    """Other types of indices."""
    if name not in _INDEXED:
        return
    own = "i64" if name == "chlo.ragged_dot" else "i32"
    for element in (*CLASSES["int"], *CLASSES["int4"]):
        if element != own:
            yield element, "indices", substitute(op_samples.SAMPLES[name], own, element)


def _shapes(name: str) -> Iterator[tuple[str, str, str]]:
    """A dimension of size 0, and no dimensions at all."""
    sample, own = op_samples.SAMPLES[name], primary(name)
    scalar = re.sub(r"tensor<[\dx]*x(?=[a-z!])", "tensor<", sample)
    yield own, "of rank 0", scalar
    for size in ("4", "6", "2", "8"):
        empty = _emptied(sample, r"(?<=tensor<)[\dx]+", rf"\b{size}(?=x)|(?<=x){size}(?=x)")
        if empty != sample:
            yield own, f"of size 0 for {size}", empty
            yield own, f"of size 0 for {size}", _emptied(empty, r"array<i64: [\d, ]*>", rf"\b{size}\b")


def _emptied(text: str, where: str, size: str) -> str:
    """`text` with 0 for each match of `size` inside matches of `where`."""
    inner = re.compile(size)
    return re.sub(where, lambda m: inner.sub("0", m[0]), text)


@cache
def variants(name: str) -> tuple[Variant, ...]:
    """All legal programs of the op, the sample itself among them; where two have a name, the first that is legal."""
    found: dict[str, Variant] = {}
    allowed = _of_the_plain_op(name)
    with _context(), ir.Location.unknown():
        for element, what, text in (*_elements(name), *_indices(name), *_shapes(name)):
            v = Variant(name, element, what, text)
            known = element in allowed and f"{element}>" in text
            if known and v.key not in found and _legal(text):
                found[v.key] = v
    return tuple(found.values())


def _of_the_plain_op(name: str) -> frozenset[str]:
    """Element types; for an op that broadcasts those of the op after it, for its own verifier takes any."""
    plain = name.removeprefix("chlo.broadcast_")
    for of in (f"stablehlo.{plain}", f"chlo.{plain}"):
        if plain != name and of in op_samples.SAMPLES:
            return frozenset(v.element for v in variants(of))
    return frozenset(CLASS_OF)


@cache
def _context() -> ir.Context:
    context = make_context()
    context.emit_error_diagnostics = False
    return context


def _legal(text: str) -> bool:
    try:
        return bool(ir.Module.parse(text).operation.verify())
    except (ir.MLIRError, ValueError):
        return False


def rule_of(variant: Variant) -> FactorRule:
    """The rule of the last op of a program."""
    with _context(), ir.Location.unknown():
        module = ir.Module.parse(variant.text)
        return rule_for(list(module.body.operations[0].regions[0].blocks[0].operations)[-2].operation)


# -- what is run ---------------------------------------------------------------------------------

#: (op, variant) that nothing at hand runs even on whole tensors, and why; the tests find exactly these.
NOT_EXECUTED: dict[tuple[str, str], str] = {
    **{
        (op, f"{element}{form}"): why
        for element in CLASSES["complex"]
        for op, form, why in (
            ("stablehlo.remainder", "", "XLA crashes"),
            ("chlo.broadcast_remainder", "", "XLA crashes"),
            ("chlo.ragged_dot", "", "XLA crashes"),
            ("chlo.bessel_i1e", "", "CHLO expands it on real numbers only"),
            ("stablehlo.sort", "", "XLA does not order complex numbers"),
            ("stablehlo.sort", " of pairs", "XLA does not order complex numbers"),
            ("chlo.top_k", "", "XLA does not order complex numbers"),
            ("chlo.top_k", " of halves", "XLA does not order complex numbers"),
        )
    },
    **{
        (op, element): "CHLO expands it on wider floats only"
        for op in ("chlo.bessel_i1e", "chlo.erfc") for element in CLASSES["fp8"]
    },
    ("chlo.ragged_dot", "ui64 indices"): "its expansion does not verify",
    ("chlo.ragged_dot", "f32 of size 0 for 2"): "XLA has no ragged dot without groups",
    ("stablehlo.einsum", "f32 of rank 0"): "XLA crashes",
    ("stablehlo.rng_bit_generator", "ui32 of rank 0"): "XLA makes arrays only",
    ("stablehlo.rng_bit_generator", "ui32 of size 0 for 2"): "XLA needs a state",
    ("stablehlo.torch_index_select", "f32 of rank 0"): "XLA needs a dimension to pick from",
}
#: Why a process that tried would end.
CRASHES = "XLA crashes"

#: Ops that only XLA runs, not the interpreter: compiling takes long.
COMPILED = frozenset(f"stablehlo.{n}" for n in (
    "batch_norm_grad", "batch_norm_inference", "batch_norm_training", "cholesky", "einsum", "fft", "rng_bit_generator",
    "torch_index_select",
)) | {"chlo.broadcast_select"}  # fmt: skip


def strategies(rule: FactorRule, mesh: Mesh, limit: int | None = None, seed: str = "") -> list[Assignment]:
    """All legal strategies on `mesh`, replication first, or that and a sample of `limit` others."""
    every = list(rule.strategies(mesh))
    if limit is None or len(every) <= limit + 1:
        return every
    return [every[0], *random.Random(seed).sample(every[1:], limit)]


@dataclass(frozen=True)
class Case:
    """A program with its rule, and the strategies of it that the default suite runs on each mesh."""

    variant: Variant
    rule: FactorRule
    legal: int
    chosen: tuple[tuple[Mesh, tuple[Assignment, ...]], ...]

    @property
    def runs(self) -> bool:
        """Whether a backend runs the program; see `NOT_EXECUTED`."""
        return (self.variant.op, self.variant.key) not in NOT_EXECUTED

    @property
    def count(self) -> int:
        """Strategies that the default suite runs."""
        return sum(len(a) for _, a in self.chosen) if self.runs else 0


def _standing(name: str) -> set[Variant]:
    """One variant of each class of types and form, which the default suite runs: of other types for other ops."""
    classes: dict[tuple[str, str], list[Variant]] = {}
    for v in variants(name):
        classes.setdefault((v.dtype_class, v.what), []).append(v)
    start, found = zlib.crc32(name.encode()), set()
    for every in classes.values():
        run = [v for v in every if (v.op, v.key) not in NOT_EXECUTED] or every
        found.add(run[start % len(run)])
    return found


@cache
def cases(name: str) -> tuple[Case, ...]:
    """What there is to run of an op.  On the status page and in the tests."""
    out = []
    standing = _standing(name)
    for v in variants(name):
        rule = rule_of(v)
        every = {n: strategies(rule, m) for n, m in MESHES.items()}
        # Replication is the same on all meshes.
        chosen = () if v not in standing else tuple(
            (m, tuple(strategies(rule, m, SAMPLED[n], f"{name} {v.key} {n}")[i > 0 :]))
            for i, (n, m) in enumerate(MESHES.items())
        )
        out.append(Case(v, rule, sum(map(len, every.values())), chosen))
    return tuple(out)
