"""What a plan document says: the placement of a program, op by op."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pcg.layout import Mesh, ShardSpec
from pcg.substitute.applied import AppliedRules


class PlanError(ValueError):
    """A plan document is malformed, or belongs to another program or mesh; one line."""


@dataclass(frozen=True)
class Value:
    """An argument or result of the program: its name, type (`f32[8,16]`) and spec.

    The last `key_rank` dimensions are the integers of a typed PRNG key.
    """

    name: str
    type: str
    spec: ShardSpec
    key_rank: int = 0


@dataclass(frozen=True)
class Decision:
    """How one op runs: `at` counts the ops of the normalised program in program order.

    `operands` are the specs that the op needs (None: as they come), `results` those it produces.
    """

    at: int
    op: str
    where: str = field(compare=False)
    operands: tuple[ShardSpec | None, ...] | None
    results: tuple[ShardSpec | None, ...] | None


@dataclass(frozen=True)
class Reshard:
    """A value that is kept in another layout than it is produced in.

    `value` is `12#0` (result 0 of op 12), `12^1:2` (argument 2 of region 1 of op 12), `@3` (argument
    3 of the program) or `r4` (reshard 4); `uses` are the `(op, operand)` that read the new layout,
    None for all of them.  `apart`: done for these uses alone, right before the first, though others need the same.
    """

    value: str
    spec: ShardSpec
    where: str = field(default="", compare=False)
    uses: tuple[tuple[int, int], ...] | None = None
    apart: bool = False


@dataclass(frozen=True)
class PlanDocument:
    """The placement of one program on one mesh.

    On a refined mesh the specs are by its parts; the text has the axes and sub-axes of `mesh.origin`.

    `source` is the normalised program that the plan is for (StableHLO in generic form), so that the cost of a plan can
    be estimated from its document alone; `state` says which result is the next value of which argument, `donated`
    which arguments give their memory to results, and `cluster` is the machine it was made for, as TOML; without,
    it was made for `mesh.size` devices of the jax platform `platform` (see `Machine.of_platform`; empty: any).
    """

    mesh: Mesh
    program: str
    fingerprint: str
    signature: tuple[str, ...]
    arguments: tuple[Value, ...]
    results: tuple[Value, ...]
    operations: tuple[Decision, ...] = field(repr=False)
    reshards: tuple[Reshard, ...] = field(default=(), repr=False)
    estimate: Mapping[str, Any] = field(default_factory=dict, compare=False)
    state: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    donated: tuple[int, ...] = field(default=(), repr=False)
    cluster: str = field(default="", compare=False, repr=False)
    platform: str = field(default="", compare=False, repr=False)
    source: str = field(default="", compare=False, repr=False)
    memory: Mapping[str, float] = field(default_factory=dict)
    """What saves memory: `microbatches`, and `recompute`, the bytes per device that recomputation brings a step to."""
    substitutions: str = ""
    """How the program was rewritten by rules: options of `pcg-substitute`."""
    applied_rules: tuple[AppliedRules, ...] = field(default=(), compare=False, repr=False)
    """The same for people: by which rules, where, from what they are proved, and what they save."""
    constants: tuple[str, ...] = field(default=(), repr=False)
    """Digests of the arrays that the program closed over, which are its last arguments."""
