"""The named pipelines, what `--auto-parallel` and its like stand for, and the C++ passes worth knowing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NamedPipeline:
    """A pipeline with a name: usable as a flag and as an element of `--pass-pipeline`."""

    summary: str
    elements: str


#: name -> pipeline.  `pcg-opt --NAME` runs it; several on one command line run one after another.
PIPELINES: dict[str, NamedPipeline] = {
    "prepare": NamedPipeline(
        "A program as the search reads it: annotations imported, normalised, and nothing carried through loops that "
        "they can make. The first part of --auto-parallel.",
        "sdy-import,pcg-normalize,pcg-reassociate,pcg-sink-invariants",
    ),
    "auto-parallel": NamedPipeline(
        "StableHLO to an optimised parallel computation graph: import annotations, normalise, search, insert reshards. "
        "With a cluster the plan is the fastest of several by simulation.",
        "prepare,pcg-choose-groups,pcg-choose-mesh,"
        "dist-refine-mesh{reshapes=true max-axes=2},pcg-select{generic=false},pcg-search,"
        "dist-insert-reshards,pcg-recompute{planned=true},dist-verify",
    ),
    "auto-propagate": NamedPipeline(
        "As --auto-parallel, but placement is propagated from the annotations in the program instead of searched.",
        "sdy-import,pcg-normalize,pcg-reassociate,dist-refine-mesh{reshapes=true max-axes=2},"
        "dist-propagate,dist-insert-reshards,dist-verify",
    ),
    "lint": NamedPipeline(
        "What the layouts in the program cost and which to change first; as a flag it prints that, not the program.",
        "sdy-import,pcg-normalize,pcg-reassociate,dist-refine-mesh{reshapes=true max-axes=2},pcg-lint",
    ),
    "lower": NamedPipeline(
        "A parallel computation graph to the per-device StableHLO program with collectives.",
        "dist-fuse-collectives,pcg-lower-spmd",
    ),
    "split-meshes": NamedPipeline(
        "A program annotated for several meshes to placed stages, one mesh each, with transfers between them.",
        "sdy-import,pcg-normalize,dist-propagate-meshes,pcg-split-meshes,pcg-place-stages,dist-verify",
    ),
    "lower-processes": NamedPipeline(
        "Placed stages to one program per process, with sends and receives.",
        "pcg-lower-processes",
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
