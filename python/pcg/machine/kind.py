"""Device kinds: what one device can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pcg.layout.brief import brief
from pcg.machine.errors import ClusterError, positive
from pcg.machine.profile import Profile

#: Element types whose rate a kind may give (MLIR names).
ELEMENTS = ("f64", "f32", "f16", "bf16", "f8", "i8", "i32")


@dataclass(frozen=True)
class DeviceKind:
    """One kind of device.

    `flops`: peak FLOP/s of contractions per element type; types that are not listed run at `default_flops`, which
    is also what the vector units reach: anything that is not a contraction runs at no more.
    `memory_bandwidth` in bytes/s, `memory` in bytes; `kernel_overhead` in seconds per kernel, and
    `collective_overhead` in seconds per collective or message, however small it is.  Their defaults are chosen, of the
    order of what the presets cite.
    `source`: where the figures are from, by the name of the figure ("" for all).
    `profile`: what was measured, which goes before these figures where it says something.
    """

    name: str
    flops: Mapping[str, float] = field(hash=False)
    default_flops: float
    memory_bandwidth: float
    memory: float
    kernel_overhead: float = 2e-6
    collective_overhead: float = 2e-6
    source: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False, repr=False)
    profile: Profile | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        where = f"device kind {self.name!r}"
        for element, rate in self.flops.items():
            if element not in ELEMENTS:
                text = f"{where}: unknown element type {brief(element)}; allowed: {', '.join(ELEMENTS)}"
                raise ClusterError(text, "flops")
            positive(f"{where}: flops.{element}", rate, f"flops.{element}")
        for key in ("default_flops", "memory_bandwidth", "memory"):
            positive(f"{where}: {key}", getattr(self, key), key)
        for key in ("kernel_overhead", "collective_overhead"):
            if not 0 <= getattr(self, key) < 1:
                raise ClusterError(f"{where}: {key} is {brief(getattr(self, key))} s; allowed: 0 up to 1 s", key)

    def peak(self, element: str) -> float:
        """Peak FLOP/s for `element` (an MLIR type name: f32, bf16, i32, ...)."""
        return self.flops.get(element, self.default_flops)


def generic() -> DeviceKind:
    """An A100-80GB by NVIDIA's data sheet, where nothing says what the device is."""
    flops = {"f64": 9.7e12, "f32": 156e12, "bf16": 312e12, "f16": 312e12, "i8": 624e12}
    return DeviceKind("generic", flops, 19.5e12, 2.0e12, 80e9)


def slowest(kinds: Sequence[DeviceKind]) -> DeviceKind:
    """The kind that does everything as slowly, and holds as little, as the worst of `kinds`.

    Of several kinds it has no profile: which is the slowest depends on the op.
    """
    if len(kinds) == 1:
        return kinds[0]
    elements = {e for k in kinds for e in k.flops}
    return DeviceKind(
        "+".join(dict.fromkeys(k.name for k in kinds)),
        {e: min(k.peak(e) for k in kinds) for e in sorted(elements)},
        min(k.default_flops for k in kinds),
        min(k.memory_bandwidth for k in kinds),
        min(k.memory for k in kinds),
        max(k.kernel_overhead for k in kinds),
        max(k.collective_overhead for k in kinds),
    )
