"""Plans from and to IR: reading the decisions off an annotated module, and writing them on another one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from torch_mlir import ir

from pcg.driver.module_program import entry_function
from pcg.driver.plan import Plan
from pcg.driver.plan_document import Decision, PlanError, Reshard, Value
from pcg.driver.program import Leaf
from pcg.ir import shardings
from pcg.ir.locations import place
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec, SpecError
from pcg.layout.brief import brief
from pcg.substitute.applied import AppliedRules

#: Ops that carry no decision of their own.
_SILENT = frozenset({"builtin.module", "func.func", "func.return", "stablehlo.return", "dist.mesh"})
#: Ops per entry of `Plan.signature`.
CHUNK = 64
#: Where an op of the user's program is.
where = place


def apply(plan: Plan, module: ir.Module) -> None:
    """Write the decisions of `plan` on a normalised `module`.

    Raises:
      PlanError: the module is not the program that the plan was made for; says what differs.
    """
    check(plan, module)
    write(plan, module)


def write(plan: Plan, module: ir.Module) -> None:
    """`apply` without the check: the module is known to be the plan's program, on the plan's mesh.

    Raises:
      PlanError: a decision is about an op or a value that the program does not have, or does not fit it.
    """
    function, ops = entry_function(module), list(_operations(module))
    arguments, returned = function.regions[0].blocks[0].arguments, _types(module)[1]
    if len(plan.arguments) != len(arguments) or len(plan.results) != len(returned):
        raise PlanError(f"the plan has {len(plan.arguments)} arguments and {len(plan.results)} results; the program "
                        f"has {len(arguments)} and {len(returned)}")  # fmt: skip
    shardings.set_signature_specs(function, [v.spec for v in plan.arguments], [v.spec for v in plan.results])
    fine: set[tuple[ShardSpec | None, ir.Type]] = set()
    for n, d in enumerate(plan.operations):
        op = _placed(d, ops, plan.mesh, f"operations[{n}]", fine)
        if d.results is not None:
            shardings.set_result_specs(op, list(d.results))
            if "spec" in op.attributes and d.results[0] is not None:  # a constraint, now as it was decided
                with module.context:
                    op.attributes["spec"] = shardings.to_attr(d.results[0])
                for name in (shardings.OPEN, shardings.PRIORITIES):
                    if name in op.attributes:
                        del op.attributes[name]
        if d.operands is not None:
            shardings.set_operand_specs(op, list(d.operands))
    inserted: list[ir.Operation] = []
    for n, r in enumerate(plan.reshards):
        inserted.append(_insert_reshard(r, function, ops, inserted, plan.mesh, f"reshards[{n}]"))


def _placed(
    d: Decision, ops: Sequence[ir.Operation], mesh: Mesh, at: str, fine: set[tuple[ShardSpec | None, ir.Type]]
) -> ir.Operation:
    """The op that a decision is about; `fine` are the layouts and types that are known to fit.

    Raises:
      PlanError: there is none, it is another one, or has other operands and results than there are layouts.
    """
    if d.at >= len(ops):
        raise PlanError(f"{at}.at is {d.at}; the program has operations 0 to {len(ops) - 1}")
    op = ops[d.at]
    if op.name != d.op or op.name in _SILENT:
        allowed = "an op that a plan places" if op.name in _SILENT else repr(op.name)
        raise PlanError(f"{at}.op is {brief(d.op)}; allowed for operation {d.at}: {allowed}")
    for what, specs, values in (("operands", d.operands, op.operands), ("results", d.results, op.results)):
        if specs is None:
            continue
        if len(specs) != len(values):
            raise PlanError(f"{at}.{what} has {len(specs)} layouts; '{op.name}' has {len(values)} {what}")
        for i, (spec, value) in enumerate(zip(specs, values, strict=True)):
            if (key := (spec, value.type)) not in fine:
                _fits(spec, value, mesh, f"{at}.{what}[{i}]")
                fine.add(key)
    return op


def _fits(spec: ShardSpec | None, value: ir.Value, mesh: Mesh, at: str) -> None:
    """Raise `PlanError` unless a layout is one of a value of this type."""
    if spec is None:
        return
    shaped = isinstance(value.type, ir.RankedTensorType)
    try:
        spec.check(mesh, tuple(value.type.shape) if shaped else ())
    except SpecError as error:
        raise PlanError(f"{at} of a {value.type}: {error}") from None


def check(plan: Plan, module: ir.Module) -> None:
    """Raise `PlanError` unless `plan` was made for the normalised `module`."""
    if fingerprint(module) == plan.fingerprint:
        return
    mismatch = f"plan of program {brief(plan.program)} ({plan.fingerprint[:12]}) does not fit this one"
    arguments, results = _types(module)
    for what, mine, theirs in (("argument", plan.arguments, arguments), ("result", plan.results, results)):
        if len(mine) != len(theirs):
            raise PlanError(f"{mismatch}: it has {len(mine)} {what}s, the program {len(theirs)}")
        for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            if a.type != b:
                raise PlanError(f"{mismatch}: {what} {i} ({a.name}) is {a.type} in the plan, {b} in the program")
    here = operation_signature(module)
    for i, (x, y) in enumerate(zip(plan.signature, here, strict=False)):
        if x != y:
            raise PlanError(f"{mismatch}: operations {i * CHUNK} to {(i + 1) * CHUNK - 1} differ")
    if len(here) != len(plan.signature):
        raise PlanError(f"{mismatch}: the program has about {CHUNK * len(here)} operations")
    raise PlanError(f"{mismatch}: same operations and types, but attributes or constants differ")


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
    state: Mapping[int, int] | None = None,
    donated: Iterable[int] = (),
    cluster: str = "",
    platform: str = "",
    source: str = "",
    memory: Mapping[str, float] | None = None,
    substitutions: str = "",
    applied_rules: tuple[AppliedRules, ...] = (),
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
    new = {*inserted, *(op for op in every if shardings.APART in op.attributes)}
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
        state=tuple(sorted((state or {}).items())),
        donated=tuple(sorted(donated)),
        cluster=cluster,
        platform=platform,
        source=source,
        memory=dict(memory or {}),
        substitutions=substitutions,
        applied_rules=applied_rules,
        trees=trees,
        devices=None if devices is None else tuple(devices),
    )


def _reshards(inserted: Sequence[ir.Operation], at: Mapping[ir.Operation, int]) -> Iterator[Reshard]:
    order = {op: k for k, op in enumerate(inserted)}
    for op in inserted:
        value = op.operands[0]
        apart = not isinstance(value, ir.BlockArgument) and shardings.APART in value.owner.operation.attributes
        if apart:
            value = value.owner.operation.operands[0]
        if isinstance(value, ir.BlockArgument):
            parent = value.owner.owner.operation
            region = next(i for i, r in enumerate(parent.regions) if r.blocks[0] == value.owner)
            name = f"@{value.arg_number}" if parent.name == "func.func" else f"{at[parent]}^{region}:{value.arg_number}"
        elif (source := value.owner.operation) in order:
            name = f"r{order[source]}"
        else:
            name = f"{at[source]}#{ir.OpResult(value).result_number}"
        uses = None
        if any(u.owner.operation != op for u in value.uses):
            readers = [u for u in op.results[0].uses if u.owner.operation in at]
            uses = tuple(sorted((at[u.owner.operation], u.operand_number) for u in readers))
        spec = shardings.get(op.results[0])
        assert spec is not None
        yield Reshard(name, spec, where(op.location), uses, apart)


def _insert_reshard(
    r: Reshard, function: ir.Operation, ops: Sequence[ir.Operation], inserted: Sequence[ir.Operation], mesh: Mesh,
    at: str,
) -> ir.Operation:  # fmt: skip
    """Build one `dist.reshard` and let its readers read it.

    Raises:
      PlanError: the program has no such value or reader, or the layout does not fit it.
    """
    value = _resharded(r.value, function, ops, inserted)
    if value is None or not isinstance(value.type, ir.RankedTensorType):
        raise PlanError(f"{at}.value is {brief(r.value)}; the program has no such tensor")
    _fits(r.spec, value, mesh, f"{at}.spec")
    for n, (reader, i) in enumerate(r.uses or ()):
        if reader >= len(ops) or i >= len(ops[reader].operands) or ops[reader].operands[i] != value:
            raise PlanError(f"{at}.uses[{n}] is operand {i} of operation {reader}; that is not {brief(r.value)}")
    if r.apart and r.uses:
        point, location = ir.InsertionPoint(ops[r.uses[0][0]]), ops[r.uses[0][0]].location
        with function.context:
            layout = ir.ArrayAttr.get([shardings.to_attr(_spec_of(value, r))])
            held = {shardings.SPECS: layout, shardings.OPERAND_SPECS: layout, shardings.APART: ir.UnitAttr.get()}
            value = ir.Operation.create(
                "stablehlo.optimization_barrier", results=[value.type], operands=[value], attributes=held, ip=point,
                loc=location,
            ).result  # fmt: skip
    elif isinstance(value, ir.BlockArgument):
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
    for reader, i in r.uses or ():
        ops[reader].operands[i] = new.results[0]
    return new


def _resharded(
    name: str, function: ir.Operation, ops: Sequence[ir.Operation], inserted: Sequence[ir.Operation]
) -> ir.Value | None:
    """The value that a name stands for; None if there is none."""
    numbers = [int(n) for n in re.findall(r"\d+", name)]
    try:
        if name.startswith("@"):
            return function.regions[0].blocks[0].arguments[numbers[0]]
        if name.startswith("r"):
            return inserted[numbers[0]].results[0]
        op = ops[numbers[0]]
        if "^" in name:
            return op.regions[numbers[1]].blocks[0].arguments[numbers[2]]
        return op.results[numbers[1]]
    except (IndexError, OverflowError):
        return None


def _spec_of(value: ir.Value, r: Reshard) -> ShardSpec:
    spec = shardings.get(value)
    if spec is None:
        raise PlanError(f"reshard of {r.value}: the plan has no layout for that value")
    return spec


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
    text: dict[tuple[ir.Type, ...], str] = {}
    for op in _operations(module):
        types = tuple([r.type for r in op.results])
        if types not in text:
            text[types] = ",".join(map(str, types))
        digest.update(f"{op.name}:{text[types]};".encode())
        n += 1
        if n % CHUNK == 0:
            out.append(digest.hexdigest()[:8])
            digest = hashlib.sha256()
    return [*out, digest.hexdigest()[:8]]


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
