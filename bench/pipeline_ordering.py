"""What kinds of parallelism add to data parallelism, one after another (Unity, OSDI'22, figure 15a).

  python -m bench.pipeline_ordering                              BERT-Large on 96 V100 of Summit, 4 sequences each
  python -m bench.pipeline_ordering --devices 24,96 --per-device 1,4
  python -m bench.pipeline_ordering --per-node 4                 on 24 nodes, four of the six devices of each

Each row adds to what the one before may use, and takes the best that is found in it, by the same cost model:

  data         the batch is split over all devices; with ZeRO-1 where that is faster
  parameters   every layout on one group in which the results of attention's contractions (those with two batching
               dimensions, example and head) have all heads
  heads        every layout on one group
  pipelines    any number of groups, steps one after another (`updates="synchronous"`)
  2bw          the same where steps follow each other without a barrier, as in Unity: a step takes its longest span
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
from torch_mlir import ir

from bench.pipeline_search import load
from bench.zoo import ZOO
from pcg.ir import shardings, stablehlo
from pcg.ir.walk import walk
from pcg.layout import ShardSpec
from pcg.machine import Cluster, Machine
from pcg.passes.pcg_choose_pipeline import ChoosePipelinePass
from pcg.passes.pipeline import Pipeline, uncollected
from pcg.planning.pipeline_estimates import Configuration, Method, PipelineEstimator, Profiles

#: Devices of a node.
_NODE = {"summit": 6, "dgx-h100": 8}


def keep_heads_together(module: ir.Module) -> int:
    """Demand that results of attention have all heads: of contractions with two batching dimensions, the second one.

    Returns the number of these.
    """
    found = 0
    for op in [o for o in walk(module.operation) if o.name == "stablehlo.dot_general"]:
        numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
        if len(numbers.lhs_batching_dimensions) < 2:
            continue
        found += 1
        result = op.results[0]
        readers = [(use.owner.operation, use.operand_number) for use in result.uses]
        following = list(op.block.operations)
        with ir.InsertionPoint(following[1 + [o.operation for o in following].index(op)]):
            constrained = _whole(result, 1, op)
        for reader, i in readers:
            reader.operands[i] = constrained
    return found


def _whole(value: ir.Value, dim: int, at: ir.Operation) -> ir.Value:
    """`value` with one dimension in one piece."""
    rank = ir.RankedTensorType(value.type).rank
    i64 = ir.IntegerType.get_signless(64)
    free = [ir.IntegerAttr.get(i64, d) for d in range(rank) if d != dim]
    attributes = {"spec": shardings.to_attr(ShardSpec.replicated(rank)), shardings.OPEN: ir.ArrayAttr.get(free)}
    return ir.Operation.create("dist.constraint", [value.type], [value], attributes, loc=at.location).results[0]


@dataclass
class Ordering:
    """The rows for one model, batch and number of devices."""

    model: str
    machine: Machine
    devices: int
    batch: int

    def rows(self) -> Iterator[tuple[str, Configuration | None]]:
        module = load(self.model, self.devices, self.batch)
        yield "data", self._data(module)
        whole = load(self.model, self.devices, self.batch)
        with whole.context, whole.operation.location:
            assert keep_heads_together(whole), "no attention"
        yield "parameters", self._best(whole, {}, groups=1)
        profiles: Profiles = {}
        yield "heads", self._best(module, profiles, groups=1)
        yield "pipelines", self._best(load(self.model, self.devices, self.batch), profiles)
        yield "2bw", self._best(load(self.model, self.devices, self.batch), profiles, objective="span")

    def _data(self, module: ir.Module) -> Configuration | None:
        found: list[Configuration] = []
        for engine in ("data", "zero1"):
            estimator = PipelineEstimator(module.operation, self.machine, self.devices, engine, self._memory)
            for examples in (4, 2, 1):
                microbatches = self.batch // (self.devices * examples)
                if microbatches > 1 and self.batch % (self.devices * examples) == 0:
                    found += estimator.estimate(((("data", self.devices),),), microbatches, [Method("1f1b")])[0]
        return min(found, key=lambda c: c.seconds, default=None)

    def _best(self, module: ir.Module, profiles: Profiles, **fixed: object) -> Configuration:
        chosen = ChoosePipelinePass(devices=self.devices, machine=self.machine, progress=False, **fixed)  # type: ignore[arg-type]
        chosen.profiles = profiles
        Pipeline([chosen]).run(module)
        return chosen.best

    @property
    def _memory(self) -> float | None:
        return self.machine.device.memory


def _cluster(name: str, devices: int, each: int) -> Cluster:
    """As few nodes as have so many devices, `each` of every node used, evenly over its parts."""
    nodes, size = math.ceil(devices / each), _NODE[name]
    of_one = Cluster.preset(name, nodes=1).take(each).devices
    return Cluster.preset(name, nodes=nodes).only([n * size + d for n in range(nodes) for d in of_one]).take(devices)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default="bert_large")
    p.add_argument("--cluster", default="summit", choices=_NODE)
    p.add_argument("--devices", default="96", help="numbers of devices")
    p.add_argument("--per-node", type=int, help="devices of each node that are used; default: all")
    p.add_argument("--per-device", help="sequences of a step, per device; default: the model's")
    args = p.parse_args()
    for devices in map(int, args.devices.split(",")):
        machine = Machine.of(_cluster(args.cluster, devices, args.per_node or _NODE[args.cluster]))
        for each in map(int, (args.per_device or str(ZOO[args.model].batch)).split(",")):
            where = f"{devices} devices of {args.cluster}, {args.per_node or 'all'} of each node"
            print(f"{args.model}, {each * devices} sequences on {where}", flush=True)
            first: float | None = None
            worked = time.process_time()
            with uncollected():
                for name, found in Ordering(args.model, machine, devices, each * devices).rows():
                    if found is None:
                        why = "no memory, or fewer sequences in a microbatch than devices"
                        print(f"  {name:<10}  none: {why}", flush=True)
                        continue
                    rate = each * devices / found.seconds
                    first = first or rate
                    print(f"  {name:<10} {rate:8.1f} sequences/s {rate / first:6.3f}  {found}", flush=True)
            print(f"  in {time.process_time() - worked:.0f} s of processor time", flush=True)


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    main()
