"""Where weight gradients run: behind input gradients that do not need them."""

from __future__ import annotations

import heapq

from pcg.rewrite.backward.dataflow import Dataflow, contracts, has_effect
from pcg.rewrite.backward.phases import BACKWARD, FORWARD, UPDATE, WEIGHT, Phases

#: Orders of the weight part; `LAST`: behind all input gradients; `OVERLAP`: each op behind the first contraction of the
#: backward part by which its operands are there; `PROGRAM`: as the program has it.
LAST, OVERLAP, PROGRAM = ORDERS = ("last", "overlap", "program")


def sort(phases: Phases, order: str) -> None:
    """Move the ops of the function's block, whose phases these are."""
    if order == PROGRAM:
        return
    for op in [phases.flow.nodes[i].op for i in _sorted(phases, eager=order == OVERLAP)]:
        op.move_before(phases.flow.end)


def _sorted(phases: Phases, eager: bool) -> list[int]:
    """The first nodes of all ops in their new order; effects of the weight part keep theirs, as other ops do."""
    flow, of = phases.flow, phases.of
    ops = sorted(set(flow.first))
    missing, readers = _dependences(flow, ops, [i for i in ops if of[i] == WEIGHT and has_effect(flow.nodes[i].op)])
    ready = [i for i in ops if of[i] == WEIGHT and not missing[i]]
    new: list[int] = []

    def put(i: int) -> None:
        new.append(i)
        for reader in readers[i]:
            missing[reader] -= 1
            if not missing[reader] and of[reader] == WEIGHT:
                heapq.heappush(ready, reader)

    def put_ready() -> None:
        while ready:
            put(heapq.heappop(ready))

    for i in (i for i in ops if of[i] in (FORWARD, BACKWARD)):
        put(i)
        if eager and of[i] == BACKWARD and contracts(flow.nodes[i].op):
            put_ready()
    put_ready()
    for i in (i for i in ops if of[i] == UPDATE):
        put(i)
    return new


def _dependences(
    flow: Dataflow, ops: list[int], effects: list[int]
) -> tuple[dict[int, int], dict[int, list[int]]]:
    """How many ops each op waits for, and which wait for it: those that read its results, and the next of `effects`."""
    edges = {(flow.first[j], flow.first[i]) for i, sources in enumerate(flow.reads) for j in sources}
    edges |= set(zip(effects, effects[1:], strict=False))
    missing = dict.fromkeys(ops, 0)
    readers: dict[int, list[int]] = {i: [] for i in ops}
    for source, reader in edges:
        missing[reader] += 1
        readers[source].append(reader)
    return missing, readers
