"""The published schemes of parallelism, and the roles that they give to mesh axes.  No MLIR here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pcg.layout import Mesh

#: Names by which a mesh axis says itself that it is for tensor or for expert parallelism.
_MODEL_NAMES = ("model", "tensor", "tp", "mp")
_EXPERT_NAMES = ("expert", "experts", "ep")


class RecipeError(ValueError):
    """No such plan, or axes that do not go with it."""


@dataclass(frozen=True)
class Recipe:
    """A scheme.

    `zero`: what is split over the data axes beside the batch: 0 nothing; 1 optimizer state, with gradients reduced
    to the same parts (ZeRO-1 and 2; inside one program gradients do not outlive the step); 3 weights too.
    `tensor`: Megatron's split of contractions over the model axes.  `tables`: how embedding tables are split over all
    axes, by "columns" (the vectors) or "rows" (the vocabulary), as far as the sizes go, or where they are stacked, each
    "whole" on one device, with none on some devices if there are more of these; empty: not.
    `experts`: stacked experts are split over the expert axes.
    """

    zero: int = 0
    tensor: bool = False
    tables: str = ""
    experts: bool = False


#: Plans by name.
PLANS: dict[str, Recipe] = {
    "data": Recipe(),
    "zero1": Recipe(zero=1),
    "zero3": Recipe(zero=3),
    "megatron": Recipe(tensor=True),
    "megatron-zero1": Recipe(tensor=True, zero=1),
    "megatron-zero3": Recipe(tensor=True, zero=3),
    "dlrm": Recipe(tables="columns"),
    "dlrm-rows": Recipe(tables="rows"),
    "dlrm-whole": Recipe(tables="whole"),
    "experts": Recipe(experts=True),
    "experts-zero1": Recipe(experts=True, zero=1),
    "experts-zero3": Recipe(experts=True, zero=3),
    "experts-megatron": Recipe(experts=True, tensor=True),
    "experts-megatron-zero1": Recipe(experts=True, tensor=True, zero=1),
    "experts-megatron-zero3": Recipe(experts=True, tensor=True, zero=3),
}
#: Other names of the same plans.
SYNONYMS: dict[str, str] = {
    "zero": "zero3", "zero2": "zero1", "fsdp": "zero3", "megatron-zero": "megatron-zero3", "expert-dlrm": "dlrm",
}  # fmt: skip


def recipe(name: str) -> Recipe:
    """The scheme called `name`.

    Raises:
      RecipeError: there is none.
    """
    found = PLANS.get(SYNONYMS.get(name, name))
    if found is None:
        raise RecipeError(f"plan {name!r}; expected one of {', '.join((*PLANS, *SYNONYMS))}")
    return found


@dataclass(frozen=True)
class Roles:
    """Mesh axes by what a plan does with them, in mesh order; a refined axis is there with all its parts.

    `data` split the batch; `model` the weights of contractions; `experts` (some of `data`) stacked experts;
    `zero` (some of `data`) state.
    """

    data: tuple[str, ...]
    model: tuple[str, ...] = ()
    experts: tuple[str, ...] = ()
    zero: tuple[str, ...] = ()


def roles(
    r: Recipe, mesh: Mesh, model: Sequence[str] = (), experts: Sequence[str] = (), zero: Sequence[str] = ()
) -> Roles:
    """Who does what on `mesh` under scheme `r`.

    Without `model`, the model axis is that called model, tensor, tp or mp, else the last one (by custom the axis of
    the fastest links).  Without `experts`, it is that called expert, experts or ep, else the last data axis.  Without
    `zero`, all data axes.

    Raises:
      RecipeError: an axis that the mesh has not, or an expert or ZeRO axis that is a model axis.
    """
    parts = mesh.parts
    for axis in (*model, *experts, *zero):
        if axis not in parts:
            raise RecipeError(f"axis {axis!r}; the mesh has {', '.join(map(repr, parts))}")
    names = list(parts)
    if not r.tensor:
        chosen: Sequence[str] = ()
    else:
        chosen = model or [n for n in names if n in _MODEL_NAMES] or names[-1:]
    data = [n for n in names if n not in chosen]
    if wrong := [n for n in (*experts, *zero) if n not in data]:
        others = ", ".join(map(repr, data)) or "none"
        raise RecipeError(f"axis {wrong[0]!r} is a model axis; the data axes are {others}")
    spread = experts or [n for n in data if n in _EXPERT_NAMES] or data[-1:] if r.experts else ()
    state = zero or data if r.zero else ()

    def fine(axes: Sequence[str]) -> tuple[str, ...]:
        return mesh.order(p for a in axes for p in parts[a])

    return Roles(fine(data), fine(chosen), fine(spread), fine(state))
