"""Plans: the decisions of one compilation as a JSON document that can be read, saved and given back."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch_mlir import ir

from pcg.frontend.module_program import entry_function
from pcg.frontend.program import Leaf
from pcg.ir import shardings
from pcg.ir.locations import file_line_col
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec

#: Version of the document's format.
VERSION = 1
#: Ops that carry no decision of their own.
_SILENT = frozenset({"builtin.module", "func.func", "func.return", "stablehlo.return", "dist.mesh"})


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

    def to_json(self) -> dict[str, Any]:
        row = {"name": self.name, "type": self.type, "spec": str(self.spec)}
        return row | ({"key_rank": self.key_rank} if self.key_rank else {})

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Value:
        return cls(row["name"], row["type"], ShardSpec.parse(row["spec"]), row.get("key_rank", 0))


@dataclass(frozen=True)
class Decision:
    """How one op runs: `at` counts the ops of the normalised program in program order.

    `operands` are the specs that the op needs (None: as they come), `results` those it produces.
    """

    at: int
    op: str
    where: str
    operands: tuple[ShardSpec | None, ...] | None
    results: tuple[ShardSpec | None, ...] | None


@dataclass(frozen=True)
class Reshard:
    """A value that is kept in another layout than it is produced in.

    `value` is `12#0` (result 0 of op 12), `12^1:2` (argument 2 of region 1 of op 12), `@3` (argument
    3 of the program) or `r4` (reshard 4); `uses` are the `(op, operand)` that read the new layout,
    None for all of them.
    """

    value: str
    spec: ShardSpec
    where: str = ""
    uses: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True)
class Plan:
    """The placement of one program on one mesh.

    `constraints` are the tensors inside the program whose placement does not follow from the
    arguments alone, with the source line they come from.  `trees`, when present, are the jax trees
    of arguments and results.
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

    # -- the document --------------------------------------------------------------------------

    def to_json(self) -> str:
        """The plan as text: one line per argument, result and op."""
        head = {
            "pcg_plan": VERSION,
            "program": self.program,
            "fingerprint": self.fingerprint,
            "mesh": {"axes": dict(self.mesh.axes), "device_ids": self.mesh.device_ids},
            "estimate": dict(self.estimate),
            "signature": list(self.signature),
        }
        lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in head.items()]
        tables: dict[str, list[dict[str, Any]]] = {
            "arguments": [v.to_json() for v in self.arguments],
            "results": [v.to_json() for v in self.results],
            "operations": [_decision_json(d) for d in self.operations],
            "reshards": [_reshard_json(r) for r in self.reshards],
        }
        for name, rows in tables.items():
            body = ",\n".join("    " + json.dumps(row) for row in rows)
            lines.append(f'  "{name}": [\n{body}\n  ]' if rows else f'  "{name}": []')
        return "{\n" + ",\n".join(lines) + "\n}\n"

    def save(self, path: str | Path) -> None:
        """Write the document to `path`."""
        Path(path).write_text(self.to_json())

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
            return cls(
                mesh=Mesh.of(d["mesh"]["axes"], d["mesh"]["device_ids"]),
                program=d["program"],
                fingerprint=d["fingerprint"],
                signature=tuple(d["signature"]),
                arguments=tuple(map(Value.from_json, d["arguments"])),
                results=tuple(map(Value.from_json, d["results"])),
                operations=tuple(
                    Decision(o["at"], o["op"], o.get("where", ""), _specs(o.get("operands")), _specs(o.get("results")))
                    for o in d["operations"]
                ),
                reshards=tuple(
                    Reshard(
                        r["value"],
                        ShardSpec.parse(r["spec"]),
                        r.get("where", ""),
                        tuple((a, b) for a, b in r["uses"]) if "uses" in r else None,
                    )
                    for r in d["reshards"]
                ),
                estimate=d.get("estimate", {}),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise PlanError(f"malformed plan: {type(error).__name__}: {error}") from None

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read the document at `path`."""
        return cls.from_json(Path(path).read_text())

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

    # -- from and to IR ------------------------------------------------------------------------

    def apply(self, module: ir.Module) -> None:
        """Write the decisions on a normalised `module`.

        Raises:
          PlanError: the module is not the program that the plan was made for; says what differs.
        """
        self.check(module)
        function, ops = entry_function(module), list(_operations(module))
        shardings.set_signature_specs(function, [v.spec for v in self.arguments], [v.spec for v in self.results])
        for d in self.operations:
            if d.results is not None:
                shardings.set_result_specs(ops[d.at], list(d.results))
            if d.operands is not None:
                shardings.set_operand_specs(ops[d.at], list(d.operands))
        made: list[ir.Operation] = []
        for r in self.reshards:
            made.append(_insert_reshard(r, function, ops, made))

    def check(self, module: ir.Module) -> None:
        """Raise `PlanError` unless the plan was made for the normalised `module`."""
        if fingerprint(module) == self.fingerprint:
            return
        mismatch = f"plan of program {self.program!r} ({self.fingerprint[:12]}) does not fit this one"
        arguments, results = _types(module)
        for what, mine, theirs in (("argument", self.arguments, arguments), ("result", self.results, results)):
            if len(mine) != len(theirs):
                raise PlanError(f"{mismatch}: it has {len(mine)} {what}s, the program {len(theirs)}")
            for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
                if a.type != b:
                    raise PlanError(f"{mismatch}: {what} {i} ({a.name}) is {a.type} in the plan, {b} in the program")
        here = operation_signature(module)
        for i, (x, y) in enumerate(zip(self.signature, here, strict=False)):
            if x != y:
                raise PlanError(f"{mismatch}: operations {i * CHUNK} to {(i + 1) * CHUNK - 1} differ")
        if len(here) != len(self.signature):
            raise PlanError(f"{mismatch}: the program has about {CHUNK * len(here)} operations")
        raise PlanError(f"{mismatch}: same operations and types, but attributes or constants differ")


#: Ops per entry of `Plan.signature`.
CHUNK = 64


def capture(
    module: ir.Module,
    normalised: Sequence[str],
    *,
    program: str,
    leaves: tuple[Sequence[Leaf], Sequence[Leaf]],
    own: Sequence[ir.Operation] = (),
    estimate: Mapping[str, Any] | None = None,
    trees: Any = None,
    devices: Sequence[Any] | None = None,
) -> Plan:
    """The plan written on an annotated `module`.

    `normalised` is the `identity` of the module before it was annotated, `own` the `dist.reshard` ops
    it had then.
    """
    mesh = shardings.mesh_of(module)
    assert mesh is not None
    function = entry_function(module)
    argument_types, result_types = _types(module)
    arguments = []
    for leaf, type_, value in zip(leaves[0], argument_types, function.regions[0].blocks[0].arguments, strict=True):
        spec = shardings.get(value) or ShardSpec.replicated(len(leaf.shape))
        arguments.append(Value(leaf.name, type_, spec, leaf.key_rank))
    results = []
    for leaf, type_, found in zip(leaves[1], result_types, shardings.function_result_specs(function), strict=True):
        results.append(Value(leaf.name, type_, found or ShardSpec.replicated(len(leaf.shape)), leaf.key_rank))
    every, before = list(_operations(module)), set(own)
    inserted = [op for op in every if op.name == "dist.reshard" and op not in before]
    new = set(inserted)
    ops = [op for op in every if op not in new] if new else every
    decisions = []
    for at, op in enumerate(ops):
        if op.name in _SILENT:
            continue
        have, need = shardings.result_specs(op), shardings.operand_specs(op)
        if need is None and not any(have):
            continue
        decisions.append(
            Decision(
                at,
                op.name,
                where(op.location),
                None if need is None else tuple(need),
                tuple(have) if any(have) else None,
            )
        )
    return Plan(
        mesh,
        program,
        normalised[0],
        tuple(normalised[1:]),
        tuple(arguments),
        tuple(results),
        tuple(decisions),
        tuple(_reshards(inserted, {op: at for at, op in enumerate(ops)})) if inserted else (),
        dict(estimate or {}),
        trees,
        None if devices is None else tuple(devices),
    )


def _reshards(inserted: Sequence[ir.Operation], at: Mapping[ir.Operation, int]) -> Iterator[Reshard]:
    order = {op: k for k, op in enumerate(inserted)}
    for op in inserted:
        value = op.operands[0]
        if isinstance(value, ir.BlockArgument):
            parent = value.owner.owner.operation
            region = next(i for i, r in enumerate(parent.regions) if r.blocks[0] == value.owner)
            name = f"@{value.arg_number}" if parent.name == "func.func" else f"{at[parent]}^{region}:{value.arg_number}"
        elif (maker := value.owner.operation) in order:
            name = f"r{order[maker]}"
        else:
            name = f"{at[maker]}#{ir.OpResult(value).result_number}"
        uses = None
        if any(u.owner.operation != op for u in value.uses):
            readers = [u for u in op.results[0].uses if u.owner.operation not in order]
            uses = tuple(sorted((at[u.owner.operation], u.operand_number) for u in readers))
        spec = shardings.get(op.results[0])
        assert spec is not None
        yield Reshard(name, spec, where(op.location), uses)


def _insert_reshard(
    r: Reshard, function: ir.Operation, ops: Sequence[ir.Operation], made: Sequence[ir.Operation]
) -> ir.Operation:
    """Build one `dist.reshard` and let its readers read it."""
    if r.value.startswith("@"):
        value: ir.Value = function.regions[0].blocks[0].arguments[int(r.value[1:])]
    elif r.value.startswith("r"):
        value = made[int(r.value[1:])].results[0]
    elif "^" in r.value:
        at, region, i = map(int, re.split(r"[\^:]", r.value))
        value = ops[at].regions[region].blocks[0].arguments[i]
    else:
        at, i = map(int, r.value.split("#"))
        value = ops[at].results[i]
    if isinstance(value, ir.BlockArgument):
        point, location = ir.InsertionPoint.at_block_begin(value.owner), function.location
    else:
        point, location = ir.InsertionPoint.after(value.owner), value.owner.location
    with function.context:
        attr = shardings.to_attr(r.spec)
        new = ir.Operation.create(
            "dist.reshard",
            results=[value.type],
            operands=[value],
            attributes={"spec": attr, shardings.SPECS: ir.ArrayAttr.get([attr])},
            ip=point,
            loc=location,
        )
    if r.uses is None:
        value.replace_all_uses_except(new.results[0], new)
    for at, i in r.uses or ():
        ops[at].operands[i] = new.results[0]
    return new


def identity(module: ir.Module) -> list[str]:
    """(fingerprint, *signature) of a normalised module, to be taken before it is annotated."""
    return [fingerprint(module), *operation_signature(module)]


def fingerprint(module: ir.Module) -> str:
    """Digest of what a module computes: locations, names and argument attributes do not count."""
    op = module.operation.clone()
    for name in list(op.attributes):
        if not name.startswith("sdy."):
            del op.attributes[name]
    for inner in [o.operation for o in op.regions[0].blocks[0].operations]:
        if inner.name == "dist.mesh":
            inner.erase()
            continue
        for name in ("arg_attrs", "res_attrs", "sym_visibility"):
            if name in inner.attributes:
                del inner.attributes[name]
    text = op.get_asm(assume_verified=True, print_generic_op_form=True)
    return hashlib.sha256(text.encode()).hexdigest()


def operation_signature(module: ir.Module) -> list[str]:
    """Short digests of runs of `CHUNK` ops (names and result types)."""
    out, digest, n = [], hashlib.sha256(), 0
    for op in _operations(module):
        digest.update(f"{op.name}:{','.join(str(r.type) for r in op.results)};".encode())
        n += 1
        if n % CHUNK == 0:
            out.append(digest.hexdigest()[:8])
            digest = hashlib.sha256()
    return [*out, digest.hexdigest()[:8]]


def where(location: ir.Location) -> str:
    """`file.py:12` of the innermost user frame of a location, or an empty string."""
    found = file_line_col(location)
    if found is None:
        return ""
    name = found[0].rsplit("/", 1)[-1]
    return f"line {found[1]}" if name in ("-", "") else f"{name}:{found[1]}"


def _operations(module: ir.Module) -> Iterator[ir.Operation]:
    return (op for op in walk(module.operation) if op.name not in ("builtin.module", "dist.mesh"))


def _types(module: ir.Module) -> tuple[list[str], list[str]]:
    kind = ir.FunctionType(ir.TypeAttr(entry_function(module).attributes["function_type"]).value)
    return [type_text(t) for t in kind.inputs], [type_text(t) for t in kind.results]


def type_text(type_: ir.Type) -> str:
    """`f32[8,16]` for a tensor type."""
    if isinstance(type_, ir.RankedTensorType):
        return f"{type_.element_type}[{','.join(map(str, type_.shape))}]"
    return str(type_)


def _decision_json(d: Decision) -> dict[str, Any]:
    row: dict[str, Any] = {"at": d.at, "op": d.op}
    if d.where:
        row["where"] = d.where
    for name, specs in (("operands", d.operands), ("results", d.results)):
        if specs is not None:
            row[name] = [None if s is None else str(s) for s in specs]
    return row


def _reshard_json(r: Reshard) -> dict[str, Any]:
    row: dict[str, Any] = {"value": r.value, "spec": str(r.spec)}
    if r.where:
        row["where"] = r.where
    if r.uses is not None:
        row["uses"] = [list(u) for u in r.uses]
    return row


def _specs(texts: Sequence[str | None] | None) -> tuple[ShardSpec | None, ...] | None:
    return None if texts is None else tuple(None if t is None else ShardSpec.parse(t) for t in texts)
