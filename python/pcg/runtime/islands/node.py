"""A computation of a program on the devices of a slice, ready to run.  Imports jax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pcg.layout import ShardSpec
from pcg.runtime.device_program import DeviceExecutable, DeviceProgram


@dataclass
class CompiledNode:
    """What all devices of a slice do together, once; a `pcg.runtime.islands.backend.Function`."""

    name: str
    source: str
    code: DeviceProgram
    devices: Sequence[Any]
    in_specs: tuple[ShardSpec, ...]
    """Of the arguments, without constants, as they are on the slice."""
    out_specs: tuple[ShardSpec, ...]
    limited: bool
    """Whether the memory of devices is limited, so that its temporaries matter."""
    estimate: Callable[[], float]
    """What it takes, in seconds."""
    _prepared: dict[tuple[int, ...], DeviceExecutable] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return self.estimate()

    def executable(self, donates: Sequence[int] = ()) -> DeviceExecutable:
        """What XLA compiles, with arguments that it may take over."""
        # XLA does not take over the buffers of random keys.
        leaves = self.code.program.inputs
        key = tuple(i for i in donates if not leaves[i].key)
        if key not in self._prepared:
            self._prepared[key] = DeviceExecutable(self.code, self.devices, key)
        return self._prepared[key]

    @property
    def workspace(self) -> int:
        """Bytes per device of temporaries; 0 where memory is not limited, because XLA compiles once more to say it."""
        analysis = self.executable().compiled.memory_analysis() if self.limited else None
        return 0 if analysis is None else int(analysis.temp_size_in_bytes)
