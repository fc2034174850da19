"""The values of a program while it is read, and which results take the memory of which arguments."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir.types import tensor_bytes
from pcg.simulate.task_graph import TaskGraph


@dataclass
class Scope:
    """The values of a block; `captured` are those of the blocks around it that it reads, by their numbers there."""

    graph: TaskGraph
    parent: Scope | None
    values: dict[ir.Value, int] = field(default_factory=dict)
    captured: dict[int, None] = field(default_factory=dict)

    def knows(self, value: ir.Value) -> bool:
        """Whether a value is in memory; constants, and values inside of a kernel, are not."""
        return value in self.values or (self.parent is not None and self.parent.knows(value))

    def number(self, value: ir.Value) -> int:
        """The number of a value here; one that is captured takes no memory here."""
        found = self.values.get(value)
        if found is None:
            assert self.parent is not None
            self.captured[self.parent.number(value)] = None
            found = self.values[value] = self.graph.value(0.0)
        return found

    def new(self, value: ir.Value) -> int:
        """A value that a task writes."""
        found = self.values[value] = self.graph.value(tensor_bytes(value.type))
        return found

    def results(self, op: ir.Operation) -> tuple[int, ...]:
        """The results of `op` as values that a task writes."""
        return tuple(self.new(r) for r in op.results)


def aliases_of(
    func: ir.Operation, terminator: ir.Operation, donated: Collection[int]
) -> tuple[frozenset[int], dict[int, int]]:
    """Donated arguments, and result -> argument whose memory it takes, by attributes or else by type."""
    unused: dict[ir.Type, list[int]] = {}
    for r, v in reversed(list(enumerate(terminator.operands))):
        unused.setdefault(v.type, []).append(r)
    arguments = list(func.regions[0].blocks[0].arguments)
    donors, aliases = set(donated), {}
    attrs = func.attributes["arg_attrs"] if "arg_attrs" in func.attributes else ()
    for i, own in enumerate(map(ir.DictAttr, attrs)):
        if "tf.aliasing_output" in own:
            aliases[ir.IntegerAttr(own["tf.aliasing_output"]).value] = i
            donors.add(i)
        elif "jax.buffer_donor" in own:
            donors.add(i)
    for i in sorted(donors - set(aliases.values())):
        same = unused.get(arguments[i].type, [])
        while same and same[-1] in aliases:
            same.pop()
        if same:
            aliases[same.pop()] = i
    return frozenset(aliases.values()), aliases
