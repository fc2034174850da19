"""What a kind of device was measured to do, in place of its published rates: written by `pcg-calibrate`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pcg.layout.brief import brief
from pcg.layout.mesh import MOST_DEVICES
from pcg.machine.curve import Amount, Curve, between
from pcg.machine.errors import LEAST, MOST, ClusterError

#: The version of the format.
VERSION = 2
#: Collectives with curves of their own.
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute")
#: Classes of ops, by what is measured for them.
CLASSES = (
    "contraction", "convolution", "elementwise", "transcendental", "reduce", "copy", "transpose", "reorder",
    "reorder_aligned", "regroup", "layout", "gather", "scatter", "sort", "window", "window_gradient",
)  # fmt: skip
_CLASS_OF = {
    "contraction": ("dot_general", "dot"),
    "convolution": ("convolution",),
    "transcendental": (
        "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "tanh", "power", "sine", "cosine",
        "tan", "atan2", "cbrt", "erf", "erf_inv", "lgamma", "digamma",
    ),
    "reduce": ("reduce",),
    "transpose": ("transpose",),
    "layout": ("layout",),
    "copy": ("concatenate", "pad", "reverse", "slice", "dynamic_slice", "dynamic_update_slice"),
    "gather": ("gather", "torch_index_select"),
    "scatter": ("scatter",),
    "sort": ("sort", "top_k"),
    "window": ("reduce_window",),
    "window_gradient": ("select_and_scatter",),
}  # fmt: skip
#: Classes that are loops over elements, which a compiler fuses with each other.
_LOOPS = frozenset({"elementwise", "transcendental", "reduce", "copy", "transpose"})
_CLASS = {op: cls for cls, ops in _CLASS_OF.items() for op in ops}


#: Bytes apart from which on, in powers of two, what is read side by side shares more and more sets of a cache; at so
#: many all of it falls into one.
_APART, ALIGNED = 256, 4096


@dataclass(frozen=True)
class Reordering:
    """Bytes that a kernel does not read in the order of memory.

    `transposed`: values that it transposes on the way; `slab`: of one of the matrices, if many (0: `transposed`);
    `stride`: from one element to the next that is read (0: not known).  `rows`: values whose rows are in another order.
    """

    transposed: float = 0.0
    slab: float = 0.0
    stride: int = 0
    rows: float = 0.0

    @property
    def aligned(self) -> float:
        """Cache conflicts between the elements of a column: from 0, none, to 1, all in one set."""
        power = self.stride & -self.stride
        return min(1.0, max(0.0, math.log2(max(power, 1) / _APART) / math.log2(ALIGNED / _APART)))


def class_of(op_name: str) -> str:
    """The class that an op is measured with: `stablehlo.tanh` is transcendental; what is not known is elementwise."""
    return _CLASS.get(op_name.partition(".")[2] or op_name, "elementwise")


@dataclass(frozen=True)
class Rates:
    """What one class of ops takes for one element type: the longer of its arithmetic and its memory traffic.

    `flops`: curves of seconds per FLOPs of one op, each for an intensity (FLOPs per byte touched; of a convolution, per
    byte touched or in a patch): thin contractions run slower than square ones.  `bytes`: the curve of seconds per
    bytes touched.  Either may be missing.
    """

    flops: tuple[tuple[float, Curve], ...] = ()
    bytes: Curve | None = None

    def __post_init__(self) -> None:
        if not self.flops and self.bytes is None:
            raise ClusterError("rates have neither 'flops' nor 'bytes'; allowed: one or both")
        at = [a for a, _ in self.flops]
        inside = all(LEAST <= a <= MOST for a in at)
        if not inside or any(math.log(b) <= math.log(a) for a, b in zip(at, at[1:], strict=False)):
            raise ClusterError(f"the intensities of rates are {brief(at)}; allowed: rising numbers above 0", "flops")

    def seconds(self, flops: Amount, touched: Amount, expanded: float | np.ndarray = 0.0) -> Amount:
        """Seconds of one op; `expanded` are bytes of patches, see `pcg.cost.CostModel.seconds`."""
        found: Any = 0.0
        if self.flops:
            ratio = np.asarray(flops, dtype=float) / np.maximum(touched + expanded, 1.0)
            found = between(self.flops, ratio, np.asarray(flops, dtype=float))
        if self.bytes is not None:
            found = np.maximum(found, self.bytes(np.asarray(touched, dtype=float)))
        if isinstance(flops, np.ndarray) or isinstance(touched, np.ndarray):
            return np.asarray(found)  # type: ignore[return-value]
        return float(found)  # type: ignore[return-value]

    def scaled(self, factor: float) -> Rates:
        """Rates of which everything takes so many times as long."""
        flops = tuple((at, curve.scaled(factor)) for at, curve in self.flops)
        return Rates(flops, None if self.bytes is None else self.bytes.scaled(factor))


@dataclass(frozen=True)
class Profile:
    """Measurements of one kind of device, with all `devices` of a host at work at once.

    `kernel`: seconds that one more kernel takes, however small.  `dispatch`: seconds of a program that does nothing,
    `argument`: seconds that one more array in and out of it takes.  `fresh`: seconds that one allocation (a result, or
    all temporaries together) takes because its memory is new, by bytes on one device: a host hands out pages as
    they are touched, and takes those of large allocations back.
    `rates`: per class of ops (see `CLASSES`) and element type; `collectives`: per (collective, group size) the
    seconds by bytes that one device sends.  `waits`: by group size the seconds that devices wait for each other at a
    collective, by the seconds of work since the last one; none where every device has processors of its own.
    `provenance`: what, when and by what it was measured, for people and to tell a profile of another machine.

    What is not in it (an element type, a class) falls back to the rates of the device kind.
    """

    name: str
    devices: int
    kernel: float
    dispatch: float
    argument: float
    rates: Mapping[tuple[str, str], Rates] = field(hash=False)
    collectives: Mapping[tuple[str, int], Curve] = field(hash=False)
    fresh: Curve | None = None
    waits: Mapping[int, Curve] = field(default_factory=dict, hash=False)
    provenance: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)

    def __post_init__(self) -> None:
        where = f"profile {self.name!r}"
        if not 1 <= self.devices <= MOST_DEVICES:
            text = f"{where} is of {brief(self.devices)} devices; allowed: 1 or more, up to {MOST_DEVICES}"
            raise ClusterError(text, "devices")
        for key in ("kernel", "dispatch", "argument"):
            if not 0 <= getattr(self, key) <= MOST:
                raise ClusterError(f"{where}: {key} is {brief(getattr(self, key))} s; allowed: 0 or more", key)
        for cls, _ in self.rates:
            if cls not in CLASSES:
                raise ClusterError(f"{where}: unknown class {cls!r}; allowed: {', '.join(CLASSES)}")
        for kind, _ in self.collectives:
            if kind not in COLLECTIVES:
                raise ClusterError(f"{where}: unknown collective {kind!r}; allowed: {', '.join(COLLECTIVES)}")
        found = [(kind, f"collectives.{kind}", group) for kind, group in self.collectives]
        for what, table, group in [*found, *(("waits", "waits", group) for group in self.waits)]:
            if not 2 <= group <= MOST_DEVICES:
                text = f"{where}: {what} in groups of {brief(group)}; allowed: 2 or more, up to {MOST_DEVICES}"
                raise ClusterError(text, f"{table}.{group}")

    def scaled(self, factor: float) -> Profile:
        """Measurements as of a device on which everything takes `factor` times as long."""
        waits = {n: Curve(tuple(factor * work for work in c.sizes), c.seconds) for n, c in self.waits.items()}
        return replace(
            self, kernel=factor * self.kernel, dispatch=factor * self.dispatch, argument=factor * self.argument,
            rates={key: rates.scaled(factor) for key, rates in self.rates.items()},
            collectives={key: curve.scaled(factor) for key, curve in self.collectives.items()},
            fresh=None if self.fresh is None else self.fresh.scaled(factor),
            waits={n: curve.scaled(factor) for n, curve in waits.items()},
        )  # fmt: skip

    # -- costs ---------------------------------------------------------------------------------

    def seconds(
        self, op_name: str, element: str, flops: Amount, touched: Amount, expanded: float | np.ndarray = 0.0
    ) -> Amount | None:  # fmt: skip
        """Seconds of one op without the overhead of a kernel; None if its class was not measured for the type."""
        cls = class_of(op_name)
        rates = self.rates.get((cls, element))
        if rates is None and cls == "layout":
            rates = self.rates.get(("layout", "f32")) or self.rates.get(("transpose", "f32"))
        if rates is None and cls in ("copy", "transpose", "gather", "scatter"):
            rates = self.rates.get((cls, "f32"))  # the element type does not matter to moving bytes
        return None if rates is None else rates.seconds(flops, touched, expanded)

    def fused(
        self, op_name: str, element: str, parts: Mapping[str, float], touched: float, order: Reordering,
        expanded: float = 0.0,
    ) -> float | None:  # fmt: skip
        """Seconds of a kernel that ends with `op_name`; None if it was not measured.

        Loops over elements take as long as their arithmetic or their memory traffic, whichever is longer.  What they
        transpose on the way is a class of its own (`reorder`: a loop over two operands of which one is transposed):
        a transpose by itself is done in blocks, one inside of a loop is not.  It takes several times as long where
        columns fall into one set of the cache (`reorder_aligned`).  Of many small matrices each stays in a cache.  A
        change of the order of rows is not a copy of everything: `regroup`.
        """
        cls = class_of(op_name)
        if cls not in _LOOPS:
            return self.seconds(op_name, element, sum(parts.values()), touched, expanded)
        plain = self._bytes("elementwise", element)
        if plain is None:
            return None
        stream = self._bytes(cls, element) or plain
        busy: dict[str, float] = {}
        for name, flops in parts.items():
            own = "transcendental" if class_of(name) == "transcendental" else "elementwise"
            busy[own] = busy.get(own, 0.0) + flops
        arithmetic = 0.0
        for own, flops in busy.items():
            rates = self._like(own, element)
            if rates is not None and rates.flops:
                arithmetic += rates.flops[0][1](flops)
        extra, rest = 0.0, touched
        if cls != "transpose" and order.transposed and (loop := self._transposed_loop(element, order)) is not None:
            extra, rest = loop, rest - 3 * order.transposed
        if cls != "transpose" and order.rows and (rows := self._bytes("regroup", element)) is not None:
            extra, rest = extra + rows(2 * order.rows), rest - 2 * order.rows
        return max(stream(max(rest, 0.0)), arithmetic) + extra

    def _transposed_loop(self, element: str, order: Reordering) -> float | None:
        """Seconds of a loop over two operands of which one is transposed; between the two kinds of stride measured it
        is linear in logarithms."""
        free, aligned = self._bytes("reorder", element), self._bytes("reorder_aligned", element)
        if free is None:
            return None
        slab = min(order.slab or order.transposed, order.transposed)
        seconds = free(3 * slab)
        if order.aligned and aligned is not None:
            seconds *= max(1.0, aligned(3 * slab) / seconds) ** order.aligned
        return seconds * order.transposed / slab

    def _like(self, cls: str, element: str) -> Rates | None:
        """The rates of a class for a type, or for f32, which other types resemble."""
        return self.rates.get((cls, element)) or self.rates.get((cls, "f32"))

    def _bytes(self, cls: str, element: str) -> Curve | None:
        """The memory traffic of those rates."""
        rates = self._like(cls, element)
        return None if rates is None else rates.bytes

    def link(self, kind: str, group: int, wire_bytes: float) -> float | None:
        """Seconds of a collective in groups of `group` in which a device sends `wire_bytes`; None if not measured."""
        return _by_group({n: c for (k, n), c in self.collectives.items() if k == kind}, group, wire_bytes)

    def wait(self, group: int, work: float) -> float:
        """Seconds that devices wait at a collective in groups of `group` after `work` seconds since the last one.

        Beyond the longest work measured it is what it was there: over long stretches a host shares its processors
        out evenly.
        """
        work = min(work, max((c.sizes[-1] for c in self.waits.values()), default=0.0))
        return (_by_group(self.waits, group, work) or 0.0) if work > 0 else 0.0


def _by_group(curves: Mapping[int, Curve], group: int, size: float) -> float | None:
    """The value at `size` for groups of `group`; None if that is not among those measured nor between them.

    Between the group sizes measured it is linear in logarithms.
    """
    if group in curves:
        return curves[group](size)
    if not curves or not min(curves) <= group <= max(curves):
        return None
    low, high = max(n for n in curves if n < group), min(n for n in curves if n > group)
    a, b = curves[low](size), curves[high](size)
    share = math.log(group / low) / math.log(high / low)
    return math.exp((1 - share) * math.log(a) + share * math.log(b))
