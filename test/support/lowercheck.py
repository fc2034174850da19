"""Check the lowering of an annotated program by executing it.

The program runs as it is (layouts never change what it means), and once more after insert-reshards,
fuse, lower and emulate; results must agree, and devices that hold the same shard must hold the same
bits.  A share of the programs (by their text, so always the same ones) also runs by XLA on CPU devices.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from torch_mlir import ir

from pcg.ir.walk import walk
from pcg.machine import Machine
from pcg.passes.dist_fuse_collectives import FuseCollectivesPass
from pcg.passes.dist_insert_reshards import InsertReshardsPass
from pcg.passes.pcg_emulate import EmulatePass
from pcg.passes.pcg_lower_spmd import LowerSpmdPass
from support.rulecheck import context, random_value, run, run_xla

#: One in so many programs runs on devices: XLA takes longer to compile one than everything else takes.
_SHARE = 24
COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "collective_permute")


def spec(dims: str, **partial: str) -> str:
    """`spec("data,-", model="sum")` is the attribute of [data, -] sum(model)."""
    parts = [d.strip() for d in dims.split(",")] if dims else []
    text = ", ".join("[" + ", ".join(f'"{a}"' for a in p.split("+")) + "]" if p != "-" else "[]" for p in parts)
    kinds = ", ".join(f'{a} = "{k}"' for a, k in partial.items())
    return f"#dist.shard_spec<@mesh, [{text}], {{{kinds}}}>"


def mesh_op(**axes: int) -> str:
    names = ", ".join(f'"{a}"' for a in axes)
    sizes = ", ".join(map(str, axes.values()))
    return f'"dist.mesh"() {{sym_name = "mesh", value = #dist.process_mesh<[{names}], [{sizes}], []>}} : () -> ()\n'


def lower(text: str, fuse: bool = True, machine: Machine | None = None) -> ir.Module:
    """The per-device module of an annotated program, of `machine` or the default one; every pass leaves valid IR."""
    of = {} if machine is None else {"machine": machine}
    with context():
        module = ir.Module.parse(text)
        passes = [InsertReshardsPass(**of), *([FuseCollectivesPass(**of)] if fuse else []), LowerSpmdPass()]
        for p in passes:
            p.run(module.operation)
            module.operation.verify()
    return module


def collectives(module: ir.Module) -> Counter[str]:
    """Number of collectives of each kind in a module."""
    names = (op.name.removeprefix("stablehlo.") for op in walk(module.operation))
    return Counter(n for n in names if n in COLLECTIVES)


def strip(module: ir.Module) -> None:
    """Remove every layout."""
    for op in walk(module.operation):
        for name in ("dist.specs", "dist.operand_specs"):
            if name in op.attributes:
                del op.attributes[name]
        if op.name == "func.func":
            for name in ("arg_attrs", "res_attrs"):
                if name in op.attributes:
                    del op.attributes[name]
        if op.name in ("dist.constraint", "dist.reshard"):
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()


def check(
    text: str, inputs: Sequence[np.ndarray | None] | None = None, rtol: float = 1e-6, seed: int = 0, fuse: bool = True,
    devices: bool | None = None, machine: Machine | None = None,
) -> tuple[Counter[str], str]:  # fmt: skip
    """Run `text` before and after lowering; (collectives, text of the per-device module).

    `devices`: whether by XLA on devices too; None leaves it to chance, as far as there are that many.

    Raises:
      AssertionError: results differ or replicas disagree.
    """
    rng = np.random.default_rng(seed)
    with context():
        plain = ir.Module.parse(text)
        strip(plain)
        for op in list(plain.body.operations):
            if op.operation.name == "dist.mesh":
                op.operation.erase()
        main = list(plain.body.operations)[0].operation
        arguments = list(main.regions[0].blocks[0].arguments)
        given = inputs if inputs is not None else [None] * len(arguments)
        values = [random_value(a.type, rng) if g is None else g for a, g in zip(arguments, given, strict=True)]
        original = str(plain)
        want = run(original, values)
        local = lower(text, fuse, machine)
        lowered = str(local)
        assert "dist." not in lowered and '"pcg.' not in lowered.partition("{\n")[2], lowered
        emulated = ir.Module.parse(lowered)
        EmulatePass(check_replicas=True).run(emulated.operation)
        emulated.operation.verify()
        assert not collectives(emulated)
        *got, agree = run(str(emulated), values)
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol, err_msg=f"result {i}\n{lowered}")
        assert bool(agree), f"replicas differ\n{lowered}"
        if _sampled(text, local) if devices is None else devices:
            _check_devices(local, original, values, want, rtol)
        return collectives(local), lowered


def _sampled(text: str, local: ir.Module) -> bool:
    """Whether a program is one of those that run on devices: small enough, and drawn by its text."""
    count = int(ir.IntegerAttr(local.operation.attributes["mhlo.num_partitions"]).value)
    return count <= 8 and len(text) < 20_000 and zlib.crc32(text.encode()) % _SHARE == 0


def _check_devices(
    local: ir.Module, plain: str, values: Sequence[np.ndarray], want: Sequence[np.ndarray], rtol: float
) -> None:
    """By XLA on devices.  What it computes otherwise than the interpreter on one device it may here too.

    How often a padded window or a scattered one meets a start that is not neutral is such a thing.
    """
    pytest.importorskip("jax")
    from support import ondevices

    got = ondevices.run(local, values)
    if not all(np.allclose(*_numbers(g, w), rtol=rtol, atol=rtol, equal_nan=True) for g, w in zip(got, want, strict=True)):
        want = run_xla(plain, values)
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        np.testing.assert_allclose(*_numbers(g, w), rtol=rtol, atol=rtol, err_msg=f"on devices: result {i}\n{local}")


def _numbers(*arrays: np.ndarray) -> list[np.ndarray]:
    """Arrays as numpy compares them."""
    return [x.astype(np.float64) if x.dtype.kind in "fV" else x for x in arrays]
