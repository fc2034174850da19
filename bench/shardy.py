"""The other side of the comparison: XLA's own partitioning (Shardy) of a program, as compiled HLO and as a jax call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from bench.collectives import Traffic
from bench.hlo import of_hlo


def jitted(step: Callable[..., Any], in_shardings: Any, out_shardings: Any) -> Any:
    """What a user writes without pcg: `jax.jit` with shardings on the signature, Shardy does the rest."""
    return jax.jit(step, in_shardings=in_shardings, out_shardings=out_shardings)


def compiled_traffic(function: Any, args: Any, devices: int) -> Traffic:
    """Traffic of a jitted function after XLA's partitioner and optimisations; `args` may be shapes."""
    return of_hlo(function.lower(*args).compile().as_text(), devices)


def annotated_traffic(sdy_text: str, devices: int) -> Traffic:
    """Traffic of a StableHLO module with `sdy` shardings on its ops, partitioned by XLA with Shardy."""
    from jax._src.compiler import get_compile_options
    from jaxlib import _jax

    cpus = jax.devices()[:devices]
    options = get_compile_options(num_replicas=1, num_partitions=devices, device_assignment=[[d.id for d in cpus]])
    options.executable_build_options.use_spmd_partitioning = True
    options.executable_build_options.use_shardy_partitioner = True
    executable = cpus[0].client.compile_and_load(sdy_text.encode(), _jax.DeviceList(tuple(cpus)), options)
    return of_hlo(executable.hlo_modules()[0].to_string(), devices)
