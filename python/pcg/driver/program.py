"""What every front end produces: StableHLO, and what its arguments and results are called.  No jax here."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

#: MLIR element type -> numpy dtype name (the names of ml_dtypes where numpy has none).
ELEMENT_DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
    "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E4M3": "float8_e4m3",
    "f8E3M4": "float8_e3m4", "f8E8M0FNU": "float8_e8m0fnu", "f4E2M1FN": "float4_e2m1fn",
    "i1": "bool", "i4": "int4", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "ui4": "uint4", "ui8": "uint8", "ui16": "uint16", "ui32": "uint32", "ui64": "uint64",
    "i2": "int2", "ui2": "uint2", "complex<f32>": "complex64", "complex<f64>": "complex128",
}  # fmt: skip
#: Types of which several elements share a byte in some memories.
PACKED = frozenset({"i2", "ui2", "i4", "ui4", "f4E2M1FN"})
_BITS = {"i1": 8, "complex<f32>": 64, "complex<f64>": 128}


def element_bytes(element: str) -> float:
    """Bytes of one element of an MLIR element type; 4 for an unknown one."""
    if element in _BITS:
        return _BITS[element] / 8
    digits = "".join(c if c.isdigit() else " " for c in element).split()
    return int(digits[0]) / 8 if digits else 4.0


def tensor_bytes(shape: Sequence[int], element: str) -> float:
    """Bytes of a tensor of an MLIR element type."""
    return math.prod(shape) * element_bytes(element)


class ProgramError(ValueError):
    """A program cannot be brought in, or was called with what it does not take; one line."""


@dataclass(frozen=True)
class Leaf:
    """One argument or result tensor.

    `name` is how the user reaches it (`params['w1']`), `element` an MLIR element type, `shape` the
    shape of the module's tensor.  For a typed PRNG key, `key` is its generator and the last
    `key_rank` dimensions are the integers of one key.  `weak`: the dtype gives way to that of what it meets, as those
    of Python numbers do; `empty`: the tensor stands for a derivative by integers (jax's float0), which holds nothing.
    """

    name: str
    shape: tuple[int, ...]
    element: str
    key: str | None = None
    key_rank: int = 0
    weak: bool = False
    empty: bool = False

    @property
    def dtype(self) -> str:
        """Name of the numpy (or ml_dtypes) dtype."""
        if self.element not in ELEMENT_DTYPES:
            raise ProgramError(f"{self.name}: element type {self.element} has no numpy dtype")
        return ELEMENT_DTYPES[self.element]

    @property
    def bytes(self) -> float:
        """Bytes of the whole tensor."""
        return tensor_bytes(self.shape, self.element)

    def __str__(self) -> str:
        return f"{self.element}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Program:
    """A single-device program.

    `source` is StableHLO text or bytes.  `in_tree` / `out_tree` are jax tree definitions when the
    program is called with trees, and None for a module that is called with a flat list.
    `donated` are indices of flat arguments whose buffers the program may reuse.  `callbacks` are the Python functions
    that it calls, by the number that its custom calls give; `ordered`: in an order that holds from run to run, too.
    `constants` are the arrays that it closed over, in place of the last arguments, which callers do not give.
    """

    name: str
    source: str | bytes = field(repr=False)
    arguments: tuple[Leaf, ...]
    results: tuple[Leaf, ...]
    in_tree: Any = None
    out_tree: Any = None
    donated: frozenset[int] = frozenset()
    path: str | None = None
    callbacks: tuple[Callable[..., Any], ...] = field(default=(), repr=False)
    ordered: bool = False
    constants: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def inputs(self) -> tuple[Leaf, ...]:
        """The arguments that callers give."""
        return self.arguments[: len(self.arguments) - len(self.constants)]

    @cached_property
    def constant_digests(self) -> tuple[str, ...]:
        """Short digests of what the constants hold."""
        found = []
        for value in self.constants:
            held = np.ascontiguousarray(np.asarray(value))
            found.append(hashlib.blake2b(held.view(np.uint8).data, digest_size=12).hexdigest())
        return tuple(found)

    @property
    def has_64_bit(self) -> bool:
        """Whether an argument or result is 64 bits wide per (real) element."""
        return any(x.element in ("f64", "i64", "ui64", "complex<f64>") for x in (*self.arguments, *self.results))


def module_source(program: Any) -> tuple[str | bytes, str | None] | None:
    """`program` as (StableHLO text or bytes, path it came from), or None when it is a function.

    Raises:
      ProgramError: a path that does not exist, or something that is no program at all.
    """
    if isinstance(program, bytes):
        return program, None
    if isinstance(program, Path) or (isinstance(program, str) and _is_path(program)):
        path = Path(program)
        if not path.is_file():
            raise ProgramError(f"no such file: {str(path)!r}")
        data = path.read_bytes()
        return (data if b"\0" in data[:4096] or data[:2] == b"ML" else data.decode()), str(path)
    if isinstance(program, str):
        return program, None
    if hasattr(program, "as_text") and hasattr(program, "compiler_ir"):  # jax.stages.Lowered
        return program.as_text(debug_info=True), None
    if hasattr(program, "mlir_module_serialized"):  # jax.export.Exported
        return bytes(program.mlir_module_serialized), None
    if isinstance(program, Callable):  # type: ignore[arg-type]
        return None
    raise ProgramError(
        "a program is a function, StableHLO text, bytes, or a path; "
        f"got {program!r:.80} of type {type(program).__name__}"
    )


def _is_path(text: str) -> bool:
    return "\n" not in text and (re.fullmatch(r"[^\s(){}]+", text) is not None or Path(text).is_file())
