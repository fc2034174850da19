"""Plans: the decisions of one compilation as a JSON document that can be read, saved and given back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcg.layout import Mesh, ShardSpec

if TYPE_CHECKING:
    from pcg.driver.plan_price import Price
    from pcg.machine import Cluster


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
class Plan:
    """The placement of one program on one mesh.

    On a refined mesh the specs are by its parts; the document has the axes and sub-axes of `mesh.origin`.
    `constraints` are the tensors inside the program whose placement does not follow from the
    arguments alone, with the source line they come from.  `trees`, when present, are the jax trees
    of arguments and results.

    `source` is the normalised program that the plan is for (StableHLO in generic form), so that a plan can be priced
    from its document alone; `state` says which result is the next value of which argument, `donated` which arguments
    give their memory to results, and `cluster` is the machine it was made for, as TOML (empty: the generic one).
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
    trees: Any = field(default=None, compare=False, repr=False)
    devices: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)
    state: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    donated: tuple[int, ...] = field(default=(), repr=False)
    cluster: str = field(default="", compare=False, repr=False)
    source: str = field(default="", compare=False, repr=False)
    memory: Mapping[str, float] = field(default_factory=dict)
    """What saves memory: `microbatches`, and `recompute`, the bytes per device that recomputation brings a step to."""
    constants: tuple[str, ...] = field(default=(), repr=False)
    """Digests of the arrays that the program closed over, which are its last arguments."""

    # -- the document --------------------------------------------------------------------------

    def to_json(self, program: bool = True) -> str:
        """The plan as text: one line per argument, result and op; the last has the program, unless it is left out."""
        from pcg.driver import plan_document

        return plan_document.write(self, program)

    def save(self, path: str | Path, program: bool = True) -> None:
        """Write the document to `path`; without the `program` it can be given back, but not priced by itself."""
        Path(path).write_text(self.to_json(program), encoding="utf-8")

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Read a document.

        Raises:
          PlanError: not a plan, or of a version that this pcg does not read; one line that names the place in the
            document, the value there and what is allowed.
        """
        from pcg.driver import plan_document

        return plan_document.read(text)

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read the document at `path`.

        Raises:
          PlanError: as `from_json`, with the name of the file before it.
          OSError: the file cannot be read.
        """
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise PlanError(f"{path}: a plan is a JSON document: byte {error.start} is not UTF-8") from None
        except PlanError as error:
            raise PlanError(f"{path}: {error}") from None

    # -- questions -----------------------------------------------------------------------------

    def price(self, cluster: Cluster | str | None = None, *, program: str | bytes | Path | None = None,
        remap: bool = False, simulate: bool = True) -> Price:  # fmt: skip
        """What this very plan costs on a machine; nothing is searched, so equal plans have equal prices.

        Args:
          cluster: the machine, as for `pcg.compile`; None: the one that the plan was made for.
          program: the program, where the document was saved without it: StableHLO text, bytes or a path.
          remap: lay the mesh where the plan runs fastest on the cluster, instead of on the devices it names.
          simulate: lower the program, too, and simulate a step.

        Raises:
          PlanError: the program is missing, or another one.
          ClusterError: the mesh does not fit on the cluster.
        """
        from pcg.driver.plan_price import price

        return price(self, cluster, program=program, remap=remap, simulated=simulate)

    def diff(self, other: Plan) -> str:
        """How `other` differs: mesh, layouts of tensors and ops, reshards and estimates; empty if it does not."""
        from pcg.viz.plan import diff

        return diff(self, other)

    # -- for the user's own jax.jit ------------------------------------------------------------

    @property
    def in_shardings(self) -> Any:
        """`jax.jit(fn, in_shardings=plan.in_shardings)`: NamedShardings in the shape of the arguments."""
        from pcg.runtime import placement

        return placement.plan_shardings(self, results=False)

    @property
    def out_shardings(self) -> Any:
        """`jax.jit(fn, out_shardings=plan.out_shardings)`."""
        from pcg.runtime import placement

        return placement.plan_shardings(self, results=True)

    @property
    def constraints(self) -> list[tuple[str, str, Any]]:
        """`(source line, op, NamedSharding)` of every contraction, reduction and reshard that is split.

        What `jax.lax.with_sharding_constraint` would say at those lines.
        """
        from pcg.runtime import placement

        return placement.plan_constraints(self)
