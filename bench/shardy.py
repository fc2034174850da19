"""The other side of the comparison: XLA's own partitioning (Shardy) of a program, as compiled HLO and as a jax call."""

from __future__ import annotations

import subprocess
import sys
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


#: Run in a process of its own: some of Shardy's passes abort on programs that they do not expect.
_PROPAGATE = """
import sys
from jax._src.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir, passmanager
with make_ir_context():
    module = ir.Module.parse(sys.stdin.read())
    passmanager.PassManager.parse("builtin.module(sdy-propagation-pipeline)").run(module.operation)
    print(module)
"""


def propagated(text: str) -> str:
    """A StableHLO module with `sdy` shardings on its signature, after Shardy's own propagation: shardings on every op.

    Constants come back as StableHLO's. A value without a sharding is one that Shardy leaves whole.

    Raises:
      RuntimeError: the passes in jaxlib fail; with what they said.
    """
    done = subprocess.run([sys.executable, "-c", _PROPAGATE], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Shardy's propagation failed: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout.replace("sdy.constant", "stablehlo.constant")
