"""The pipeline that was chosen for a module: what `pcg-choose-pipeline` says to the passes behind it."""

from __future__ import annotations

from typing import NamedTuple

from torch_mlir import ir

#: On a module.
_CHOICE = "pcg.pipeline_choice"


class PipelineChoice(NamedTuple):
    """Numbers of a pipeline; the meshes of its groups are in the module."""

    stages: int
    microbatches: int
    placement: str
    schedule: str


def set_pipeline_choice(module: ir.Operation, choice: PipelineChoice) -> None:
    with module.context:
        number = ir.IntegerType.get_signless(64)
        module.attributes[_CHOICE] = ir.DictAttr.get({
            name: ir.IntegerAttr.get(number, value) if isinstance(value, int) else ir.StringAttr.get(value)
            for name, value in choice._asdict().items()
        })  # fmt: skip


def pipeline_choice(module: ir.Operation) -> PipelineChoice | None:
    """What was chosen for a module; None where nothing was."""
    if _CHOICE not in module.operation.attributes:
        return None
    said = ir.DictAttr(module.operation.attributes[_CHOICE])
    stages, microbatches = (int(ir.IntegerAttr(said[name]).value) for name in ("stages", "microbatches"))
    placement, schedule = (str(ir.StringAttr(said[name]).value) for name in ("placement", "schedule"))
    return PipelineChoice(stages, microbatches, placement, schedule)
