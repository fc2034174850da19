"""The chosen shape of a pipeline beside a full sweep over published ones.

  python -m bench.pipeline_search                              GPT-3 13B and Llama-3 70B on 64 H100s
  python -m bench.pipeline_search --models gpt3_13b --batch 256
  python -m bench.pipeline_search --models bert_large --cluster summit --nodes 16 --devices 96 --no-sweep

Two searches see the same program, cluster and cost model:

- pcg-choose-pipeline, with nothing said;
- a sweep: every number of groups, of data and of tensor parallelism within them whose product is the number of
  devices, every number of examples per device and microbatch of 1, 2, 4, 8, with the layouts of Megatron (and with the
  optimizer's state over the data axis, as its distributed optimizer has it), under 1F1B and interleaved 1F1B with two
  and four stages per group.

The best of each number of groups is printed, too, as far as it is near the best.  `bench.pipeline_ordering` prints what
pipelines add to all layouts on one group.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
from torch_mlir import ir

from bench.zoo import ZOO
from pcg.driver.module_program import entry_function
from pcg.driver.signature import mark_state
from pcg.driver.state import state_of
from pcg.frontend import jax_program
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.machine import Cluster, Machine
from pcg.passes.pcg_choose_pipeline import ChoosePipelinePass
from pcg.passes.pipeline import Pipeline, uncollected
from pcg.planning.choose_pipeline import best_by_groups
from pcg.planning.pipeline_estimates import Axes, Configuration, Method, PipelineEstimator

#: Sequences of a step: those of the models' publications where 64 devices take them.
BATCHES = {"gpt3_13b": 1024, "llama3_70b": 512}
METHODS = (Method("1f1b", split=False), Method("interleaved", 2, False), Method("interleaved", 4, False))
PLANS = ("megatron", "megatron-zero1")
EXAMPLES = (1, 2, 4, 8)


def load(model: str, devices: int, batch: int | None, **overrides: object) -> ir.Module:
    """The prepared training step of a model, of shapes alone."""
    own = {"batch": batch or BATCHES.get(model) or ZOO[model].batch * devices}
    step, args = ZOO[model].shapes(devices, **own, **overrides)
    program = jax_program.trace(step, args, {})
    module = load_module(program.source, make_context(), model)
    Pipeline("prepare").run(module)
    mark_state(entry_function(module), state_of(program))
    return module


def shapes(devices: int) -> Iterator[tuple[int, Axes]]:
    """(groups, axes of each) for all numbers of data and tensor parallelism."""
    for groups in (g for g in range(1, devices + 1) if devices % g == 0):
        size = devices // groups
        for tensor in (t for t in (1, 2, 4, 8) if size % t == 0):
            data = size // tensor
            yield groups, tuple((n, k) for n, k in (("data", data), ("model", tensor)) if k > 1) or (("data", 1),)


def sweep(module: ir.Module, machine: Machine, devices: int, batch: int) -> tuple[list[Configuration], int]:
    """All published shapes that fit, the fastest first, and how many there are."""
    found: list[Configuration] = []
    count = 0
    engines = {
        e: PipelineEstimator(module.operation, machine, devices, e, machine.device.memory)
        for e in (*PLANS, "data", "zero1")
    }  # fmt: skip
    for plan in PLANS:
        for groups, axes in shapes(devices):
            data = dict(axes).get("data", 1)
            tensor = dict(axes).get("model", 1)
            engine = plan if tensor > 1 else "zero1" if plan.endswith("zero1") else "data"
            for examples in EXAMPLES:
                microbatches = batch // (data * examples)
                if microbatches < 2 or batch % (data * examples):
                    continue
                count += len(METHODS)
                try:
                    found += engines[engine].estimate((axes,) * groups, microbatches, METHODS)[0]
                except PcgError as error:
                    print(f"  {groups} groups, {axes}: {error}")
    return sorted(found, key=lambda c: c.seconds), count


def main() -> None:
    p = argparse.ArgumentParser(description="A chosen pipeline beside a sweep over published ones.")
    p.add_argument("--models", default="gpt3_13b,llama3_70b")
    p.add_argument("--cluster", default="dgx-h100")
    p.add_argument("--nodes", type=int, default=8)
    p.add_argument("--devices", type=int, default=64)
    p.add_argument("--batch", type=int, help="sequences of a step")
    p.add_argument("--no-sweep", action="store_true", help="only choose")
    args = p.parse_args()
    cluster = Cluster.preset(args.cluster, nodes=args.nodes).take(args.devices)
    machine = Machine.of(cluster)
    for model in args.models.split(","):
        batch = args.batch or BATCHES.get(model) or ZOO[model].batch * args.devices
        with uncollected():
            module = load(model, args.devices, batch)
            print(f"{model}, {batch} sequences, {args.devices} devices of {cluster.name}", flush=True)
            start, worked = time.perf_counter(), time.process_time()
            ours = best(module, machine, args.devices)
            seconds, worked = time.perf_counter() - start, time.process_time() - worked
            print(f"  chosen in {seconds:.0f} s, {worked:.0f} s of processor time: {ours};", end=" ")
            print(f"{batch / ours.seconds:.2f} sequences/s", flush=True)
            if args.no_sweep:
                continue
            module = load(model, args.devices, batch)
            start = time.perf_counter()
            found, count = sweep(module, machine, args.devices, batch)
            seconds = time.perf_counter() - start
            print(f"  sweep of {count} in {seconds:.0f} s, {len(found)} fit; the best:")
            for c in found[:5]:
                print(f"    {c}; {batch / c.seconds:.2f} sequences/s")
            if found:
                ratio = found[0].seconds / ours.seconds
                print(f"  chosen over the best of the sweep: {ratio:.3f} times the throughput", flush=True)


def best(module: ir.Module, machine: Machine, devices: int) -> Configuration:
    """What pcg-choose-pipeline chooses."""
    chosen = ChoosePipelinePass(devices=devices, machine=machine)
    Pipeline([chosen]).run(module)
    for c in best_by_groups(chosen.candidates):
        print(f"    {c}")
    return chosen.best


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    main()
