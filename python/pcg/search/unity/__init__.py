"""Unity's search for the parallelisation of a graph: dynamic programming over its series-parallel structure.

After "Unity: Accelerating DNN Training Through Joint Optimization of Algebraic Transformations and Parallelization"
(Unger, Jia et al., OSDI'22), section 5, without the substitutions. Written from the paper; see decision 13.
"""

from __future__ import annotations

from pcg.search.unity.dynamic import PARTS, Dynamic, OutOfTime, Rules, Work
from pcg.search.unity.optimize import UnityOptimizer
from pcg.search.unity.problem import DecisionGraph, Segment

#: How `pcg-search` may choose.
ALGORITHMS = ("exact", "unity")

__all__ = [
    "ALGORITHMS", "PARTS", "DecisionGraph", "Dynamic", "OutOfTime", "Rules", "Segment", "UnityOptimizer", "Work",
]  # fmt: skip
