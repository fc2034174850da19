"""Plans: the decisions of one compilation as a JSON document that can be read, saved and given back."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcg.layout import Mesh, ShardSpec, refine

if TYPE_CHECKING:
    from pcg.machine import Cluster
    from pcg.plan_price import Price

#: Version of the document's format.
VERSION = 1


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

    def to_json(self, mesh: Mesh) -> dict[str, Any]:
        row = {"name": self.name, "type": self.type, "spec": str(refine.to_origin(self.spec, mesh))}
        return row | ({"key_rank": self.key_rank} if self.key_rank else {})

    @classmethod
    def from_json(cls, row: Mapping[str, Any], mesh: Mesh) -> Value:
        return cls(row["name"], row["type"], _spec(row["spec"], mesh), row.get("key_rank", 0))


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
    """What saves memory: `sink` (loops make what does not change in them), `microbatches`, and `recompute`, the bytes
    per device that recomputation brings a step to."""
    constants: tuple[str, ...] = field(default=(), repr=False)
    """Digests of the arrays that the program closed over, which are its last arguments."""

    # -- the document --------------------------------------------------------------------------

    def to_json(self, program: bool = True) -> str:
        """The plan as text: one line per argument, result and op; the last has the program, unless it is left out."""
        head = {
            "pcg_plan": VERSION,
            "program": self.program,
            "fingerprint": self.fingerprint,
            "mesh": _mesh_json(self.mesh),
            "estimate": dict(self.estimate),
            "signature": list(self.signature),
        }
        if self.state:
            head["state"] = [list(pair) for pair in self.state]
        if self.donated:
            head["donated"] = list(self.donated)
        if self.constants:
            head["constants"] = list(self.constants)
        if self.cluster:
            head["cluster"] = self.cluster
        if self.memory:
            head["memory"] = dict(self.memory)
        lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in head.items()]
        tables: dict[str, list[dict[str, Any]]] = {
            "arguments": [v.to_json(self.mesh) for v in self.arguments],
            "results": [v.to_json(self.mesh) for v in self.results],
            "operations": [_decision_json(d, self.mesh) for d in self.operations],
            "reshards": [_reshard_json(r, self.mesh) for r in self.reshards],
        }
        for name, rows in tables.items():
            body = ",\n".join("    " + json.dumps(row) for row in rows)
            lines.append(f'  "{name}": [\n{body}\n  ]' if rows else f'  "{name}": []')
        if program and self.source:
            packed = base64.b64encode(zlib.compress(self.source.encode(), 9)).decode()
            lines.append(f'  "source": {json.dumps(packed)}')
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def save(self, path: str | Path, program: bool = True) -> None:
        """Write the document to `path`; without the `program` it can be given back, but not priced by itself."""
        Path(path).write_text(self.to_json(program))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Read a document.

        Raises:
          PlanError: not a plan, or of a version that this pcg does not read.
        """
        try:
            d = json.loads(text)
        except json.JSONDecodeError as error:
            raise PlanError(f"a plan is a JSON document: {error}") from None
        if not isinstance(d, dict) or "pcg_plan" not in d:
            raise PlanError("not a plan: the document has no 'pcg_plan' entry")
        if d["pcg_plan"] != VERSION:
            raise PlanError(f"plan has version {d['pcg_plan']}; this pcg reads version {VERSION}")
        try:
            mesh = Mesh.of(d["mesh"]["axes"], d["mesh"]["device_ids"]).refined(d["mesh"].get("refined", {}))
            return cls(
                mesh=mesh,
                program=d["program"],
                fingerprint=d["fingerprint"],
                signature=tuple(d["signature"]),
                arguments=tuple(Value.from_json(v, mesh) for v in d["arguments"]),
                results=tuple(Value.from_json(v, mesh) for v in d["results"]),
                operations=tuple(
                    Decision(
                        o["at"],
                        o["op"],
                        o.get("where", ""),
                        _specs(o.get("operands"), mesh),
                        _specs(o.get("results"), mesh),
                    )
                    for o in d["operations"]
                ),
                reshards=tuple(
                    Reshard(
                        r["value"],
                        _spec(r["spec"], mesh),
                        r.get("where", ""),
                        tuple((a, b) for a, b in r["uses"]) if "uses" in r else None,
                        bool(r.get("apart", False)),
                    )
                    for r in d["reshards"]
                ),
                estimate=d.get("estimate", {}),
                state=tuple((int(r), int(a)) for r, a in d.get("state", ())),
                donated=tuple(map(int, d.get("donated", ()))),
                cluster=d.get("cluster", ""),
                constants=tuple(map(str, d.get("constants", ()))),
                memory={str(k): float(v) for k, v in d.get("memory", {}).items()},
                source=zlib.decompress(base64.b64decode(d["source"])).decode() if d.get("source") else "",
            )
        except (KeyError, TypeError, ValueError, zlib.error) as error:
            raise PlanError(f"malformed plan: {type(error).__name__}: {error}") from None

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read the document at `path`."""
        return cls.from_json(Path(path).read_text())

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
        from pcg.plan_price import price

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


def _mesh_json(mesh: Mesh) -> dict[str, Any]:
    """The mesh as the user knows it, and the sizes of the parts of the axes that are cut."""
    row: dict[str, Any] = {"axes": dict(mesh.origin.axes), "device_ids": mesh.device_ids}
    cut = {axis: [mesh.axis_size(p) for p in parts] for axis, parts in mesh.parts.items() if len(parts) > 1}
    return row | ({"refined": cut} if cut else {})


def _decision_json(d: Decision, mesh: Mesh) -> dict[str, Any]:
    row: dict[str, Any] = {"at": d.at, "op": d.op}
    if d.where:
        row["where"] = d.where
    for name, specs in (("operands", d.operands), ("results", d.results)):
        if specs is not None:
            row[name] = [None if s is None else str(refine.to_origin(s, mesh)) for s in specs]
    return row


def _reshard_json(r: Reshard, mesh: Mesh) -> dict[str, Any]:
    row: dict[str, Any] = {"value": r.value, "spec": str(refine.to_origin(r.spec, mesh))}
    if r.where:
        row["where"] = r.where
    if r.uses is not None:
        row["uses"] = [list(u) for u in r.uses]
    if r.apart:
        row["apart"] = True
    return row


def _spec(text: str, mesh: Mesh) -> ShardSpec:
    return refine.to_parts(ShardSpec.parse(text), mesh)


def _specs(texts: Sequence[str | None] | None, mesh: Mesh) -> tuple[ShardSpec | None, ...] | None:
    return None if texts is None else tuple(None if t is None else _spec(t, mesh) for t in texts)
