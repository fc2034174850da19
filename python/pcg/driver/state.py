"""Which results of a program are the next values of its arguments, told by tree structure.  No jax here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pcg.driver.program import Leaf, Program

_ROOT = re.compile(r"result\[\d+\]|[^\[.]+")


def state_of(program: Program) -> dict[int, int]:
    """Result number -> argument number: a training step's parameters and optimizer state.

    A whole argument is matched with a whole result (the first one not taken) that has the same tree
    of the same tensors.  A lone tensor proves little, so nothing is matched unless some matched
    argument has several leaves, or several arguments match.
    """
    arguments, results = _groups(program.inputs), _groups(program.results)
    taken: set[int] = set()
    state: dict[int, int] = {}
    for result in results:
        for j, argument in enumerate(arguments):
            if j not in taken and result[1] == argument[1]:
                taken.add(j)
                state.update(zip(result[0], argument[0], strict=True))
                break
    return state if len(state) >= 2 else {}


def _groups(leaves: Sequence[Leaf]) -> list[tuple[list[int], list[tuple[str, str]]]]:
    """Leaves by the argument or result they belong to: their numbers, and (path below it, type) of each."""
    groups: dict[str, tuple[list[int], list[tuple[str, str]]]] = {}
    for i, leaf in enumerate(leaves):
        m = _ROOT.match(leaf.name)
        root = m[0] if m else leaf.name
        numbers, shape = groups.setdefault(root, ([], []))
        numbers.append(i)
        shape.append((leaf.name[len(root) :], str(leaf)))
    return list(groups.values())
