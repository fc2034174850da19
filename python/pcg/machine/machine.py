"""A machine: what one device can do and how fast each mesh axis moves bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Device:
    """One device kind.

    `flops`: peak FLOP/s per element type; types that are not listed run at `default_flops`.
    `memory_bandwidth` in bytes/s, `memory` in bytes.
    """

    name: str
    flops: Mapping[str, float] = field(hash=False)
    default_flops: float
    memory_bandwidth: float
    memory: float

    def peak(self, element: str) -> float:
        """Peak FLOP/s for `element` (an MLIR type name: f32, bf16, i32, ...)."""
        return self.flops.get(element, self.default_flops)


@dataclass(frozen=True)
class Link:
    """Alpha-beta model of one mesh axis: `bandwidth` in bytes/s per device and direction, `latency` in s per hop."""

    bandwidth: float
    latency: float


@dataclass(frozen=True)
class Machine:
    """A device kind and a link per mesh axis; axes that are not listed use `link`.

    The default is a generic accelerator: an A100-80GB's published arithmetic and memory rates (156 TFLOP/s
    TF32, 312 TFLOP/s BF16, 2.0 TB/s), and per mesh axis 100 GB/s and 2 us a hop, between what collectives
    reach over NVLink and what they reach over several NICs.  Only the ratios matter to which plan wins.
    """

    device: Device
    link: Link
    axis_links: tuple[tuple[str, Link], ...] = ()

    @classmethod
    def default(cls) -> Machine:
        flops = {"f64": 9.7e12, "f32": 156e12, "bf16": 312e12, "f16": 312e12, "i8": 624e12}
        device = Device("generic", flops, 19.5e12, 2.0e12, 80e9)
        return cls(device, Link(bandwidth=100e9, latency=2e-6))

    def with_axis(self, axis: str, link: Link) -> Machine:
        """This machine with another link for `axis`."""
        return replace(self, axis_links=tuple(p for p in self.axis_links if p[0] != axis) + ((axis, link),))

    def link_of(self, axis: str) -> Link:
        return dict(self.axis_links).get(axis, self.link)
