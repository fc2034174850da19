"""The border between input gradients and weight gradients: what is kept from one for the other."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from torch_mlir import ir

from pcg.ir.types import tensor_bytes
from pcg.rewrite.backward.copies import is_generated
from pcg.rewrite.backward.dataflow import BARRIER, Dataflow, contracts, has_effect

#: Most nodes that change sides together.  A choice: the backward part of a layer norm has twenty.
_MOST = 64


class Border:
    """Nodes of the weight part, and what crosses into it; no contraction ever changes sides.

    A value is kept for the weight part if that reads it and neither defines it nor could generate it, arguments of the
    program left out.  Bytes are those of such values, whether the forward or the backward part defines them.
    """

    def __init__(
        self, flow: Dataflow, stages: list[int], backward: set[int], weight: set[int], fixed: Collection[int] = ()
    ) -> None:
        """The border of two parts, which are changed in place; `fixed` stay where they are, as contractions do."""
        self.flow = flow
        self.stages = stages
        self.backward = backward
        self.weight = weight
        self.fixed = set(fixed) | {
            i for i in backward | weight
            if contracts(flow.nodes[i].op) or has_effect(flow.nodes[i].op) or flow.nodes[i].op.name == BARRIER
        }  # fmt: skip

    def improve(self) -> None:
        """Exchange nodes between the two parts as long as that keeps fewer bytes.

        - What only the weight part reads is computed there, if no more is kept for it.
        - Reductions (the gradients of biases and scales), with the ops between them and what they need, are computed in
          the backward part where that makes the values needless that they reduce.
        - So is an op with operands that are kept for it alone, and larger than its result.
        """
        for i in sorted(self.backward - self.fixed, reverse=True):
            if self._only_for_weights(i) and self._change_by_leaving(i) <= 0:
                self.backward.remove(i)
                self.weight.add(i)
        for value in sorted(self.kept(), key=lambda v: -tensor_bytes(v.type)):
            group = self._reducing(value)
            if group and self._change_by_joining(group) < 0:
                self._join(group)
        for i in sorted(self.weight - self.fixed):
            ready = self.weight.isdisjoint(self.flow.reads[i]) and self._from_one_stage(i)
            if ready and self._change_by_joining({i}) < 0:
                self._join({i})

    def _join(self, group: set[int]) -> None:
        self.weight -= group
        self.backward |= group

    def _from_one_stage(self, i: int) -> bool:
        return all(self.stages[j] == self.stages[i] for j in self.flow.reads[i])

    def kept(self) -> dict[ir.Value, None]:
        """The values that are kept for the weight part."""
        return {v: None for i in sorted(self.weight) for v in self.flow.nodes[i].inputs if self._crosses(v)}

    def _crosses(self, value: ir.Value) -> bool:
        source = self.flow.source.get(value)
        return source is not None and source not in self.weight and not is_generated(value)

    def _weight_users(self, value: ir.Value) -> Iterator[int]:
        return (i for i in self.flow.users(value) if i in self.weight)

    def _only_for_weights(self, i: int) -> bool:
        readers = self.flow.readers[i]
        return bool(readers) and all(j in self.weight and self.stages[j] == self.stages[i] for j in readers)

    def _change_by_leaving(self, i: int) -> float:
        """Bytes kept more when node `i` of the backward part becomes one of the weight part."""
        new = [
            v for v in set(self.flow.nodes[i].inputs) if self._crosses(v) and not any(self._weight_users(v))
        ]  # fmt: skip
        return sum(tensor_bytes(v.type) for v in new) - sum(tensor_bytes(v.type) for v in self.flow.nodes[i].results)

    def _reducing(self, value: ir.Value) -> set[int] | None:
        """The nodes by which all that the weight part needs of `value` is reduced; None if it needs more than that."""
        size = tensor_bytes(value.type)
        found: set[int] = set()
        work = list(self._weight_users(value))
        while work:
            i = work.pop()
            if i in found:
                continue
            if i in self.fixed or i not in self.weight or len(found) >= _MOST:
                return None
            found.add(i)
            node = self.flow.nodes[i]
            if self.stages[i] != self.stages[self.flow.source[value]]:
                return None
            work += [j for j in self.flow.reads[i] if j in self.weight]
            if sum(tensor_bytes(r.type) for r in node.results) >= size:
                work += self.flow.readers[i]
        return found

    def _change_by_joining(self, group: set[int]) -> float:
        """Bytes kept more when nodes of the weight part become nodes of the backward part."""
        read = {v for i in group for v in self.flow.nodes[i].inputs if self._crosses(v)}
        gone = [v for v in read if group.issuperset(self._weight_users(v))]
        new = [
            r for i in group for r in self.flow.nodes[i].results
            if not is_generated(r) and not group.issuperset(self._weight_users(r))
        ]  # fmt: skip
        return sum(tensor_bytes(v.type) for v in new) - sum(tensor_bytes(v.type) for v in gone)
