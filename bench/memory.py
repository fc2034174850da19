"""Peak memory per device as the simulator predicts it, against XLA's own `memory_analysis()` on forced CPU devices.

  python bench/memory.py                       all cases
  python bench/memory.py gpt-tp dlrm           some of them
  python bench/memory.py --dump DIR gpt-tp     XLA's buffer assignments too

XLA's figure is arguments + results - aliased results + temporaries. The models of `examples/` are compiled for a mesh,
with parameters and optimizer state donated or not, and nothing is run.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


@dataclass(frozen=True)
class Case:
    """A model of `examples/` on a mesh; `specs` are the layouts of (parameters, state, batch), None: searched."""

    module: str
    mesh: str
    overrides: dict[str, Any] = field(default_factory=dict)
    size: str = "small"
    donate: bool = True
    specs: tuple[Any, Any, Any] | None = None
    limit: str | None = None


DATA = (None, None, ("data",))
_GPT = {"layers": 4, "hidden": 256, "heads": 4, "vocab": 1024, "seq": 128, "batch": 16}
_BERT = {"layers": 3, "hidden": 256, "heads": 4, "ffn": 1024, "vocab": 2048, "seq": 64, "batch": 16, "masked": 16}
_LLAMA = {"layers": 4, "hidden": 256, "ffn": 512, "heads": 4, "groups": 2, "vocab": 1024, "seq": 128, "batch": 8}

CASES: dict[str, Case] = {
    "mlp": Case("unity_mlp", "data=2,model=4", {"batch": 256, "hidden": 1024}),
    "mlp-kept": Case("unity_mlp", "data=8", {"batch": 256, "hidden": 1024}, donate=False),
    "bert": Case("bert", "data=2,model=4", _BERT),
    "bert-data": Case("bert", "data=8", _BERT, specs=DATA),
    "gpt": Case("gpt", "data=2,model=4", {"layers": 4, "vocab": 1024}, "medium"),
    "gpt3-scan": Case("gpt3", "data=2,model=2", {"scan": True}),
    "llama": Case("llama", "data=2,model=4", {}),
    "llama-scan": Case("llama", "data=4", {"scan": True}),
    "vit": Case("vit", "data=4", {"image": 32, "hidden": 256, "ffn": 1024, "batch": 16, "classes": 64}, specs=DATA),
    "dlrm": Case("dlrm", "data=8", {"tables": (20_000,) * 8, "batch": 512}, "medium"),
    "resnet": Case("resnet", "data=4", {"image": 32, "stem": 32, "widths": (32, 64), "blocks": (2, 2), "batch": 32}),
    "lstm": Case("rnn", "data=4", {"seq": 16, "width": 128, "hidden": 256, "vocab": 512}, "medium"),
    "moe": Case("moe", "expert=4", {"batch": 16, "seq": 64, "hidden": 128, "ffn": 512, "experts": 8, "capacity": 24},
        "medium"),
    "unet": Case("unet", "data=4", {}),
    "evoformer": Case("evoformer", "data=2,model=2", {}),
    "mixtral": Case("mixtral", "data=2,model=2", {}),
    "candle": Case("candle_uno", "data=4", {}),
    "inception": Case("inception", "data=4", {}),
    "resnext": Case("resnext", "data=2", {}),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """Bytes per device: predicted, and XLA's, with its parts."""

    name: str
    predicted: float
    xla: float
    arguments: float
    temporaries: float

    @property
    def error(self) -> float:
        """Relative."""
        return self.predicted / self.xla - 1


def compare(name: str, case: Case) -> tuple[Row, Any]:
    """The row of a case, and the simulation."""
    from jax.sharding import PartitionSpec

    import pcg

    step, arguments = importlib.import_module(f"examples.{case.module}").shapes(case.size, **case.overrides)
    options: dict[str, Any] = {}
    if case.specs is not None:
        spec = [PartitionSpec() if s is None else PartitionSpec(*s) for s in case.specs]
        options = {"in_shardings": tuple(spec), "strategy": "dataflow"}
    compiled = pcg.compile(
        step, case.mesh, donate_argnums=(0, 1) if case.donate else (), memory_limit=case.limit, **options
    )
    executable = compiled.lower(*arguments)
    xla = executable.compiled.memory_analysis()
    total = (
        xla.argument_size_in_bytes + xla.output_size_in_bytes - xla.alias_size_in_bytes + xla.temp_size_in_bytes
    )
    found = compiled.simulate(backend="cpu")
    return Row(name, found.peak_bytes, total, xla.argument_size_in_bytes, xla.temp_size_in_bytes), found


def main(argv: list[str] | None = None) -> int:
    """Print the table."""
    p = argparse.ArgumentParser(description="Predicted peak memory against XLA's.")
    p.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}")
    p.add_argument("--dump", metavar="DIR", help="where XLA writes what it makes of the programs")
    args = p.parse_args(argv)
    if unknown := [c for c in args.cases if c not in CASES]:
        p.error(f"unknown case {', '.join(unknown)}; cases are {', '.join(CASES)}")
    flags = "--xla_force_host_platform_device_count=8"
    if args.dump:
        flags += f" --xla_dump_to={args.dump} --xla_dump_hlo_as_text"
    os.environ["XLA_FLAGS"] = flags
    rows = []
    print(f"{'case':12s} {'predicted':>10s} {'XLA':>10s} {'error':>7s}   (MiB; {'arguments':>9s} {'temporaries':>11s})")
    for name in args.cases or CASES:
        row, _ = compare(name, CASES[name])
        rows.append(row)
        total, xla, held, temporary = (x / 2**20 for x in (row.predicted, row.xla, row.arguments, row.temporaries))
        figures = f"{total:10.2f} {xla:10.2f} {row.error:+7.1%}   ({'':5s}{held:9.2f} {temporary:11.2f})"
        print(f"{name:12s} {figures}", flush=True)
    errors = [abs(r.error) for r in rows]
    print(f"median error {statistics.median(errors):.1%}, worst {max(errors):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
