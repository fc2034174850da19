"""What propagation works on: values, the ops between them as factor rules, and annotations.  No MLIR here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from pcg.layout import Mesh, ShardSpec
from pcg.rules.factor import Assignment, Factor, FactorRule, Linear


@dataclass
class LayoutVariable:
    """One layout to decide: a tensor, or several that must share one (a loop carry and its block arguments).

    `fixed` is an annotation, which propagation never changes, except that dimensions in `open` may
    be split further; `name` says whose it is.  `priorities` are those of its dimensions, all 0 if there
    are none: only `engine="priority"` asks.  `size` is in bytes.
    """

    shape: tuple[int, ...]
    size: float = 0.0
    fixed: ShardSpec | None = None
    name: str = ""
    open: tuple[int, ...] = ()
    priorities: tuple[int, ...] = ()

    @property
    def closed(self) -> tuple[int, ...]:
        """Dimensions that stay as they are."""
        return () if self.fixed is None else tuple(d for d in range(len(self.shape)) if d not in self.open)


@dataclass
class OpNode:
    """One op.  `operands` and `results` are indices into `PropagationProblem.values`.

    A `structural` node executes nothing: it ties the operand of a loop, a branch or a return to the
    value it becomes, between which a reshard may stand.
    """

    rule: FactorRule
    operands: tuple[int, ...]
    results: tuple[int, ...]
    structural: bool = False


@dataclass
class PropagationProblem:
    """A program.  Nodes are in program order, inner regions where their op is."""

    mesh: Mesh
    values: list[LayoutVariable] = field(default_factory=list)
    nodes: list[OpNode] = field(default_factory=list)

    def value(
        self, shape: tuple[int, ...], size: float = 0.0, fixed: ShardSpec | None = None, name: str = "",
        open: Sequence[int] = (), priorities: Sequence[int] = (),
    ) -> int:  # fmt: skip
        """Add a value; returns its index."""
        self.values.append(LayoutVariable(tuple(shape), size, fixed, name, tuple(open), tuple(priorities)))
        return len(self.values) - 1

    def node(self, rule: FactorRule, operands: tuple[int, ...], results: tuple[int, ...]) -> int:
        """Add an op; returns its index."""
        self.nodes.append(OpNode(rule, tuple(operands), tuple(results)))
        return len(self.nodes) - 1

    def tie(self, source: int, target: int) -> int:
        """Let `source` become `target`, both of one shape, with a reshard between if need be."""
        self.nodes.append(OpNode(identity_rule(self.values[source].shape), (source,), (target,), structural=True))
        return len(self.nodes) - 1

    def nodes_of_values(self) -> list[list[int]]:
        """Per value the nodes that have it as an operand or a result, in program order."""
        found: list[list[int]] = [[] for _ in self.values]
        for n, node in enumerate(self.nodes):
            for v in dict.fromkeys((*node.operands, *node.results)):
                found[v].append(n)
        return found


@cache
def identity_rule(shape: tuple[int, ...]) -> FactorRule:
    """The rule of an op that returns its operand."""
    dims = tuple((i,) for i in range(len(shape)))
    return FactorRule(tuple(map(Factor, shape)), (dims,), (dims,), (Linear("sum", frozenset({0})),), 1.0)


@dataclass
class PropagationResult:
    """The outcome.

    `specs[v]` is the layout that propagation gives value `v`, never partial.  `assignments[n]` is
    the strategy of node `n` (None for structural ones); what the op yields by itself, partial sums
    included, is `natives[v]`.  `origins[v][axis]` is the value whose annotation put `axis` there.
    """

    specs: list[ShardSpec]
    assignments: list[Assignment | None]
    natives: list[ShardSpec]
    origins: list[dict[str, int]]
    delayed: int = 0

    def why(self, problem: PropagationProblem, v: int, axis: str) -> str:
        """Name of the annotation from which value `v` has `axis`; empty if it has not."""
        source = self.origins[v].get(axis)
        return "" if source is None else problem.values[source].name
