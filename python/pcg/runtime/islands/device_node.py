"""Nodes of programs on slices, as the devices of this process run them.  Imports jax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pcg.runtime.device_program import DeviceExecutable, DeviceProgram


@dataclass
class DeviceNode:
    """A node on the devices of a slice; see `pcg.runtime.islands.backend.Function`."""

    name: str
    source: str
    device_program: DeviceProgram
    devices: Sequence[Any]
    limited: bool
    """Whether the memory of devices is limited, so that its temporaries matter."""
    _prepared: dict[tuple[int, ...], DeviceExecutable] = field(default_factory=dict, kw_only=True)

    def executable(self, donates: Sequence[int] = ()) -> DeviceExecutable:
        """What XLA compiles, with arguments that it may take over."""
        key = tuple(donates)
        if key not in self._prepared:
            self._prepared[key] = DeviceExecutable(self.device_program, self.devices, key)
        return self._prepared[key]

    def prepared(self, donates: Sequence[int]) -> Callable[..., Sequence[Any]]:
        # XLA does not take over the buffers of random keys.
        leaves = self.device_program.program.inputs
        executable = self.executable([i for i in donates if not leaves[i].key])
        # Arguments are on the mesh from the first call on, so jax.jit compiles once; its calls take less time than
        # those of what was compiled ahead.
        if self.device_program.program.constants or executable.needs_x64 or executable.calls_host:
            return lambda *args: executable.call(args, {})
        return executable.jitted

    @property
    def workspace(self) -> int:
        """Bytes per device of temporaries; 0 where memory is not limited, because XLA compiles once more to say it."""
        analysis = self.executable().compiled.memory_analysis() if self.limited else None
        return 0 if analysis is None else int(analysis.temp_size_in_bytes)
