"""The models that benchmarks plan for: what they are, at which size and batch, and how large they are published to be.

  python bench/zoo.py                          all models: parameters, work and length of a training step
  python bench/zoo.py llama3_8b unet --devices 8

`ZOO` maps a name to an `Entry`: an example of `examples/`, its size, and what the size does not say. Models are traced
from shapes alone, so that those which fit on no machine cost nothing. FLOPs are those of the factor rules times the
trip counts of the loops around them: `products` are the contractions and convolutions, recomputation included.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
from torch_mlir import ir

from pcg.ir.context import make_context
from pcg.ir.loops import ASSUMED_ITERATIONS, trip_count
from pcg.ir.parse import load_module
from pcg.passes.pipeline import Pipeline
from pcg.rules import traits
from pcg.rules.registry import BRANCHES, rule_for
from pcg.rules.traits import Trait

Step = Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Entry:
    """A model of the zoo.

    `batch` is per device: the Unity paper's where it has the model, else what its publication gives a device, else what
    suits one of 80 GB. `published` is the number of parameters and `source` who says so. `gflop` is the published work
    of a forward pass per sample. `tiny` are overrides of size "small" for running it in seconds; `note` says what makes
    the model hard to place.
    """

    module: str
    size: str
    batch: int
    published: float
    source: str
    overrides: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    tiny: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    gflop: float | None = None
    note: str = ""

    @property
    def example(self) -> ModuleType:
        """The module in `examples`."""
        return importlib.import_module(f"examples.{self.module}")

    def shapes(self, devices: int = 1, **overrides: Any) -> tuple[Step, tuple[Any, Any, Any]]:
        """The training step at full size, and the shapes of its arguments, with the batch of `devices` devices."""
        return self.example.shapes(self.size, **{**self.overrides, "batch": self.batch * devices, **overrides})

    def make_tiny(self, seed: int = 0, **overrides: Any) -> tuple[Step, tuple[Any, Any, Any]]:
        """The training step at a size that runs in seconds, and numpy arguments."""
        return self.example.make("small", seed, **{**self.tiny, **overrides})


_BERT = {"vocab": 30_522, "scan": True}
_SCAN = {"scan": True}

#: The seven models of the Unity paper first, with variants that its artifact ships.
ZOO: dict[str, Entry] = {
    "resnext50": Entry(
        "resnext", "50", 64, 25.0e6, "ResNeXt paper, 32x4d", gflop=8.461,
        note="activations: 112 x 112 images after the stem",
    ),
    "resnext50_chain": Entry(
        "resnext", "50", 64, 22_222_056, "Unity artifact's default", {"residual": False}, {"residual": False}, 7.7416,
    ),
    "inception_v3": Entry(
        "inception", "v3", 64, 27_161_264, "torchvision, with auxiliary classifier", tiny={"norm": True, "image": 91},
        note="batch statistics of 96 normalisations are reduced over the batch",
    ),
    "inception_v3_unity": Entry("inception", "unity", 64, 21_788_842, "Unity artifact's default", gflop=11.6283),
    "bert_large": Entry(
        "bert", "large", 4, 335e6, "BERT paper (340M, with pooler and unused rows)", _BERT, _SCAN, 335.0074,
    ),
    "transformer_unity": Entry(
        "unity_transformer", "unity", 4, 75_498_496, "Unity artifact's default", gflop=90.195361792,
    ),
    "transformer_residual": Entry(
        "unity_transformer", "residual", 4, 151_045_121, "Unity artifact of April 2021", tiny={"residual": True},
        gflop=180.389675008,
    ),
    "dlrm": Entry(
        "unity_dlrm", "summit", 1024, 2_062_680_064, "Unity artifact, run on Summit", gflop=0.029360128,
        note="7.6 GiB of tables, as much again for gradients: too much for a 16 GB device with data parallelism",
    ),
    "dlrm_default": Entry(
        "unity_dlrm", "default", 1024, 256_024_960, "Unity artifact's default", tiny={"top": (32, 2)},
    ),
    "dlrm_criteo": Entry(
        "unity_dlrm", "criteo", 256, 103_422_544, "Unity artifact, Criteo Kaggle rows",
        tiny={"tables": (139, 55, 17, 5, 29, 2, 211, 3)}, note="26 tables of unlike lengths, 3 to 1,761,917 rows",
    ),
    "xdl": Entry(
        "unity_dlrm", "xdl", 1024, 256_131_584, "Unity artifact", {}, {"dense": 0, "bottom": ()}, 0.000263168,
        note="nearly all parameters are tables",
    ),
    "candle_uno": Entry(
        "candle_uno", "unity", 256, 820_948_704, "Unity artifact", gflop=1.6419,
        note="five towers that meet at one concatenation; gradients outweigh activations",
    ),
    "candle_uno_ecp": Entry("candle_uno", "ecp", 256, 32_599_001, "ECP-CANDLE Pilot1", {}, {"bias": True}, 0.0652),
    "mlp": Entry(
        "mlp_towers", "unity", 256, 956_301_312, "Unity artifact", gflop=1.9126,
        note="two towers; gradients (3.6 GiB) outweigh activations",
    ),
    "gpt3_1.3b": Entry(
        "gpt3", "1.3b", 8, 1_315_758_080, "OPT-1.3B, of GPT-3's dimensions", note="512 sequences in all",
    ),
    "gpt3_13b": Entry(
        "gpt3", "13b", 4, 12.85e9, "OPT-13B, of GPT-3's dimensions", {}, _SCAN,
        note="1024 sequences in all; state of 192 GiB must be split over at least 3 devices of 80 GB",
    ),
    "llama3_8b": Entry(
        "llama", "8b", 1, 8_030_261_248, "model card", {}, {},
        note="512 sequences in all; 8 key heads bound a split by heads; logits of 4 GiB per sequence",
    ),
    "llama3_70b": Entry(
        "llama", "70b", 1, 70_553_706_496, "model card", {}, _SCAN,
        note="512 sequences in all; state of 1.03 TiB, at least 15 devices of 80 GB before any activation",
    ),
    "mixtral_8x7b": Entry(
        "mixtral", "8x7b", 1, 46_702_792_704, "model card", note="45.1e9 of the parameters are in 8 experts per layer",
    ),
    "vit_h14": Entry(
        "vit", "h14", 64, 632_045_800, "torchvision",
        note="4096 images in all; 257 tokens divide evenly over no mesh",
    ),
    "unet": Entry(
        "unet", "sd1", 4, 859_520_964, "Stable Diffusion 1", note="2048 images in all; skip connections live long",
    ),
    "evoformer": Entry(
        "evoformer", "alphafold", 1, 87_837_696, "48 blocks, summed by hand from the supplement", {}, _SCAN,
        note="128 proteins in all; activations: 65,536 pairs, scores of 256 x 256 x 256 x 4 in each triangle attention",
    ),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Work:
    """FLOPs of a program: all, and those of its contractions and convolutions."""

    total: float
    products: float


def work(text: str) -> Work:
    """The work of a StableHLO program by the factor rules; loops count their trips, branches all count."""
    module = load_module(text, make_context(), "zoo")
    Pipeline("sdy-import,pcg-normalize").run(module)
    total = products = 0.0

    def visit(block: ir.Block, times: int) -> None:
        nonlocal total, products
        for op in block.operations:
            op = op.operation
            if op.name == "stablehlo.while":
                trips = trip_count(op)
                visit(op.regions[1].blocks[0], times * (ASSUMED_ITERATIONS if trips is None else trips))
            elif op.name in BRANCHES:
                for region in op.regions:
                    visit(region.blocks[0], times)
            elif op.name not in ("stablehlo.return", "func.return"):
                flops = times * rule_for(op).flops
                total += flops
                products += flops if traits.has(op.name, Trait.CONTRACTION) else 0.0

    for op in module.body.operations:
        if op.operation.name == "func.func":
            visit(op.operation.regions[0].blocks[0], 1)
    return Work(total, products)


def parameters(tree: Any) -> int:
    """Elements of all leaves."""
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(tree))


def state_bytes(args: tuple[Any, Any, Any]) -> int:
    """Bytes of parameters, gradients and optimizer state: what data parallelism holds on every device."""
    params, state, _ = args
    return sum(math.prod(x.shape) * x.dtype.itemsize for x in jax.tree.leaves((params, params, state)))


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="MODEL", help=f"any of {', '.join(ZOO)} (default: all)")
    parser.add_argument("--devices", type=int, default=1, help="how many devices' batch (default: 1)")
    options = parser.parse_args(argv)
    if unknown := [name for name in options.names if name not in ZOO]:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(ZOO)}")
    print(f"jax {jax.__version__}; batch of {options.devices} device(s); state: parameters, gradients, optimizer")
    head = f"{'model':<20}{'parameters':>15}{'published':>15}{'off %':>7}{'state GiB':>11}{'batch':>7}"
    print(f"{head}{'TFLOP':>11}{'products':>11}{'lines':>8}{'trace s':>9}{'count s':>9}")
    wrong = 0
    for name in options.names or ZOO:
        entry = ZOO[name]
        start = time.perf_counter()
        step, args = entry.shapes(options.devices)
        text = jax.jit(step).lower(*args).as_text()
        traced = time.perf_counter()
        found = work(text)
        counted = time.perf_counter()
        count = parameters(args[0])
        off = 100 * (count / entry.published - 1)
        wrong += abs(off) > 1
        row = f"{name:<20}{count:>15,}{entry.published:>15,.0f}{off:>7.2f}{state_bytes(args) / 2**30:>11.2f}"
        row += f"{entry.batch * options.devices:>7}{found.total / 1e12:>11.4g}{found.products / 1e12:>11.4g}"
        print(f"{row}{text.count(chr(10)):>8}{traced - start:>9.2f}{counted - traced:>9.2f}", flush=True)
    if wrong:
        print(f"{wrong} model(s) more than 1% off the published number of parameters", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
