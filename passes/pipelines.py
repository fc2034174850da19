"""The named pipelines as functions from settings to passes, and the C++ passes worth knowing.

`--auto-parallel` is `auto_parallel(settings)`; its parts are functions too, for who runs them one by one.  Passes are
imported when a pipeline is made, so that naming one costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from pcg.ir.transformation import Bytes
from pcg.machine import Machine
from pcg.passes.base import Pass, lookup

#: No mesh is refined beyond so many axes for reshapes: each axis makes a search many times longer.
MAX_AXES = 2


@dataclass(frozen=True)
class Settings:
    """What is fixed for all passes of a pipeline: a pass takes what it has a field of the same name for.

    `machine`: what is planned for; `memory_limit`: bytes per device that a plan may need; `devices`: how many a mesh
    that is chosen is made of; `budget`: how many variants of annotations the linter estimates; `jobs`: in how many
    processes candidates are evaluated; `effort`: when a plan is good enough; `explain`: whether anybody reads remarks;
    `exact`: whether rewriting may change no rounding; `substitutions`: whether programs are rewritten by rules;
    `stages`, `microbatches`, `placement`: of a pipeline, which a program is divided into where there are `stages`; with
    0 stages all is chosen.
    None leaves the pass its own default.
    """

    machine: Machine | None = None
    memory_limit: Bytes | None = None
    devices: int | None = None
    budget: int | None = None
    jobs: int | None = None
    effort: str | None = None
    explain: bool | None = None
    exact: bool | None = None
    substitutions: bool | None = None
    stages: int | None = None
    microbatches: int | None = None
    placement: str | None = None

    def of(self, cls: type[Pass]) -> dict[str, Any]:
        """The settings that passes of a class take, as arguments of their constructor."""
        own = {f.name for f in fields(cls) if f.init}
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if value is not None and name in own}


def _passes(settings: Settings, *elements: str) -> list[Pass]:
    """Passes by name, with options as in `pcg-select{generic=false}`, made with what they take of `settings`."""
    made = []
    for element in elements:
        name, _, options = element.removesuffix("}").partition("{")
        cls = lookup(name)
        assert cls is not None
        made.append(cls.from_options(options, settings.of(cls)))
    return made


def prepare(settings: Settings) -> list[Pass]:
    """Annotations imported, calls inlined, and nothing carried through loops that they can make."""
    return _passes(settings, "sdy-import", "pcg-normalize", "pcg-reassociate", "pcg-sink-invariants")


def choose(settings: Settings) -> list[Pass]:
    """The mesh, or what each of heterogeneous groups does; nothing where the program has a mesh with its devices."""
    return _passes(settings, "pcg-choose-groups", "pcg-choose-mesh")


def refine(reshapes: bool | None = None) -> list[Pass]:
    """Mesh axes cut where layouts name their parts.

    `reshapes`: also where a reshape needs it, or not; None: as long as the mesh has no more than `MAX_AXES` axes.
    """
    options = f"reshapes max-axes={MAX_AXES}" if reshapes is None else f"reshapes={str(reshapes).lower()}"
    return _passes(Settings(), f"dist-refine-mesh{{{options}}}")


def substitute(settings: Settings) -> list[Pass]:
    """Proved rules, where they make the best plan faster; mesh axes are cut where the new program needs it."""
    return [*_passes(settings, "pcg-substitute"), *refine()]


def decide(settings: Settings) -> list[Pass]:
    """The layouts: of a cluster by simulation of several plans, else those of the search."""
    return _passes(settings, "pcg-select{generic=false}", "pcg-search")


def place(settings: Settings) -> list[Pass]:
    """From layouts to the parallel computation graph, with what the plan recomputes, checked."""
    return _passes(settings, "dist-insert-reshards", "pcg-recompute{planned}", "dist-verify")


def auto_parallel(settings: Settings) -> list[Pass]:
    """StableHLO to an optimised parallel computation graph, or to the fragments of a pipeline."""
    if settings.stages is not None:
        return [*prepare(settings), *pipelined(settings)]
    rewriting, deciding = substitute(settings), decide(settings)
    _search_ahead(rewriting, deciding)
    return [*prepare(settings), *choose(settings), *refine(), *rewriting, *deciding, *place(settings)]


def _search_ahead(rewriting: list[Pass], deciding: list[Pass]) -> None:
    """Have the search begin with the program as it is while substitutions are looked for."""
    from pcg.planning.search import Search
    from pcg.planning.substitute import Substitute

    for p in rewriting:
        if isinstance(p, Substitute):
            p.search = next(s for s in deciding if isinstance(s, Search))


def pipelined(settings: Settings, engine: str = "search") -> list[Pass]:
    """A prepared training step to the placed fragments of a pipeline."""
    choose: list[Pass] = []
    if settings.stages == 0:
        choose = _passes(settings, f"pcg-choose-pipeline{{engine={engine}}}")
        settings = replace(settings, microbatches=0)
    names = (
        "pcg-unroll", "pcg-unstack", "pcg-microbatch", "pcg-assign-stages", "pcg-split-backward", "pcg-outline-stages"
    )  # fmt: skip
    return [*choose, *_passes(settings, *names, f"pcg-place-stages{{engine={engine}}}", "dist-verify")]


def auto_propagate(settings: Settings) -> list[Pass]:
    """StableHLO with annotations to a parallel computation graph."""
    return [*_annotated(), *_passes(settings, "dist-propagate", "dist-insert-reshards", "dist-verify")]


def lint(settings: Settings) -> list[Pass]:
    """What the annotations of a program cost."""
    return [*_annotated(), *_passes(settings, "pcg-lint")]


def _annotated() -> list[Pass]:
    """A program whose annotations stay where they are: nothing is taken out of loops."""
    return [*_passes(Settings(), "sdy-import", "pcg-normalize", "pcg-reassociate"), *refine()]


def lower(settings: Settings) -> list[Pass]:
    """A parallel computation graph to the program of each device."""
    return _passes(settings, "dist-fuse-collectives", "pcg-lower-spmd")


def split_meshes(settings: Settings, engine: str = "dataflow") -> list[Pass]:
    """A program annotated for several meshes to placed stages; `engine` finds the layouts inside a stage."""
    from pcg.passes.pcg_place_stages import PlaceStagesPass  # says itself which engines there are

    return [
        *_passes(settings, "sdy-import", "pcg-normalize", "dist-propagate-meshes", "pcg-split-meshes"),
        PlaceStagesPass(engine=engine, **settings.of(PlaceStagesPass)), *_passes(settings, "dist-verify"),
    ]  # fmt: skip


def lower_processes(settings: Settings) -> list[Pass]:
    """Placed stages to one program per process."""
    return _passes(settings, "pcg-lower-processes")


def lower_islands(settings: Settings) -> list[Pass]:
    """A program on slices that have islands to one stream per island, checked."""
    names = "pcg-insert-transfers pcg-merge-transfers pcg-mark-last-uses pcg-split-islands pcg-verify-islands"
    return _passes(settings, *names.split())


@dataclass(frozen=True)
class NamedPipeline:
    """A pipeline with a name: usable as a flag and as an element of `--pass-pipeline`."""

    summary: str
    passes: Callable[[Settings], list[Pass]]

    def __str__(self) -> str:
        """The pipeline as text, as it may be written itself."""
        return ",".join(map(str, self.passes(Settings())))


#: name -> pipeline.  `pcg-opt --NAME` runs it; several on one command line run one after another.
PIPELINES: dict[str, NamedPipeline] = {
    "prepare": NamedPipeline(
        "A program as the search reads it: annotations imported, normalised, and nothing carried through loops that "
        "they can make. The first part of --auto-parallel.",
        prepare,
    ),
    "auto-parallel": NamedPipeline(
        "StableHLO to an optimised parallel computation graph: import annotations, normalise, rewrite, search, insert "
        "reshards. "
        "With a cluster the plan is the fastest of several by simulation.  With --stages the result is a pipeline.",
        auto_parallel,
    ),
    "auto-propagate": NamedPipeline(
        "As --auto-parallel, but placement is propagated from the annotations in the program instead of searched.",
        auto_propagate,
    ),
    "lint": NamedPipeline(
        "What the layouts in the program cost and which to change first; as a flag it prints that, not the program.",
        lint,
    ),
    "lower": NamedPipeline(
        "A parallel computation graph to the per-device StableHLO program with collectives.",
        lower,
    ),
    "split-meshes": NamedPipeline(
        "A program annotated for several meshes to placed stages, one mesh each, with transfers between them.",
        split_meshes,
    ),
    "lower-processes": NamedPipeline(
        "Placed stages to one program per process, with sends and receives.",
        lower_processes,
    ),
    "lower-islands": NamedPipeline(
        "Calls on slices, behind pcg-assign-islands, to one function per island, with sends and receives, checked.",
        lower_islands,
    ),
}

#: C++ passes of MLIR and StableHLO worth using on these programs (any registered one may be named).
NATIVE: dict[str, str] = {
    "canonicalize": "Apply the simplifications that ops define.",
    "chlo-legalize-to-stablehlo": "Expand CHLO ops (erf, top_k, ...) into StableHLO.",
    "control-flow-sink": "Sink ops into the branch that uses them.",
    "cse": "Merge equal ops without effects.",
    "inline": "Inline calls.",
    "loop-invariant-code-motion": "Hoist what does not change out of loops.",
    "print-op-stats": "Print how often each op occurs.",
    "remove-dead-values": "Remove unused results, arguments and block arguments.",
    "sccp": "Propagate constants.",
    "snapshot-op-locations": "Write the program to a file and point locations into it.",
    "stablehlo-canonicalize-dynamism": "Replace dynamic ops by static ones where shapes are known.",
    "stablehlo-complex-math-expander": "Expand complex functions.",
    "stablehlo-legalize-composite-to-call": "Replace composites by calls of their decompositions.",
    "stablehlo-legalize-deprecated-ops": "Replace deprecated ops.",
    "stablehlo-refine-shapes": "Infer static shapes from those of the arguments.",
    "strip-debuginfo": "Remove source locations.",
    "symbol-dce": "Remove private functions that nothing uses.",
    "view-op-graph": "Print the program as a Graphviz graph.",
}
