"""pcg-baseline: the layouts of a plan that experts use, by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch_mlir import ir

from pcg.baselines.annotate import annotate
from pcg.baselines.layouts import decide, read
from pcg.baselines.recipe import PLANS, SYNONYMS, RecipeError, recipe, roles
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry_of
from pcg.passes.base import Pass, option
from pcg.search.roles import state_of


@dataclass
class BaselinePass(Pass):
    """Give the arguments of a program the layouts of a plan that experts use, to be propagated from there.

    Nothing of the plan need be in the program: what is data, weight and optimizer state, which contractions are the
    forward pass and which weights make a column and row pair is read from the graph.  Plans:

    - `data`: the batch is split over all axes, the rest is replicated.
    - `zero1` (or `zero2`): also optimizer state is split, each device updates its part; gradients are reduce-scattered,
      new weights gathered.  `zero3` (`zero`, `fsdp`): weights are split too, and gathered at each use.
    - `megatron`: over the model axes the first of two weights is split by columns, the second by rows, attention by
      heads, embeddings and the logits by vocabulary; the batch over the other axes.  `megatron-zero1`,
      `megatron-zero3`: with optimizer state, or all state, split over the other axes.
    - `dlrm`: embedding tables are split over all axes by their columns, as far as these go, then by rows (`dlrm-rows`:
      the other way round); the rest is data parallel.  `dlrm-whole`: each of several tables that are stacked in one
      array lies on one device, on some none if there are more of these.
    - `experts`: stacked experts are split over the expert axis, the rest is data parallel; also `experts-zero1`,
      `experts-zero3`, `experts-megatron`, `experts-megatron-zero1`, `experts-megatron-zero3`.

    Layouts that arguments have already are kept.  `dist-propagate{engine=dataflow}` completes the plan.

    Before:
    ```mlir
    func.func @main(%w: tensor<4x4xf32>, %x: tensor<8x4xf32>) -> tensor<8x4xf32> {
    ```
    After, with `plan=data`:
    ```mlir
    func.func @main(%w: tensor<4x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>},
                    %x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>}) -> tensor<8x4xf32> {
    ```
    """

    name: ClassVar[str] = "pcg-baseline"
    plain_axes = True
    plan: str = option("data", "The plan.", (*PLANS, *SYNONYMS))
    model: tuple[str, ...] = option((), "Axes of tensor parallelism; default: model, tensor, tp or mp, else the last.")
    experts: tuple[str, ...] = option((), "Axes of experts; default: expert, experts or ep, else the last data axis.")
    zero: tuple[str, ...] = option((), "Axes over which ZeRO splits state; default: all data axes.")

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError where there is no mesh, or the axes named are not its."""
        module = module.operation
        mesh = shardings.mesh_of(module)
        if mesh is None:
            raise PcgError("there is no mesh to plan for; give --mesh name=size,... or a dist.mesh", module)
        func = entry_of(module)
        try:
            scheme = recipe(self.plan)
            who = roles(scheme, mesh, self.model, self.experts, self.zero)
            program = read(func, state_of(func))
            layouts = decide(program, scheme, who, mesh)
        except RecipeError as error:
            raise PcgError(str(error), func) from None
        given = {i: s for i, a in enumerate(func.regions[0].blocks[0].arguments) if (s := shardings.get(a)) is not None}
        self.statistics["redistributions"] = annotate(program, layouts, mesh, given)
        held = [i for i in layouts.kept if i not in layouts.data]
        split = sum(any(layouts.used[i].dims) for i in held)
        kept = sum(any(layouts.kept[i].dims) for i in held)
        self.statistics["state split"] = kept
        self.remark(
            func,
            f"plan={self.plan}: {len(layouts.data)} arguments are data, {len(held)} state, of which {split} are used"
            f" and {kept} kept in parts",
        )
