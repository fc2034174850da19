"""Lower one op under many strategies and run them by XLA on CPU devices: the second oracle beside `opcheck`.

The emulator runs what the lowering wrote; XLA simplifies it first, and ops that are right by themselves can become
wrong where they meet.  So the op is not run alone: each device has whole operands, takes its own blocks of them, runs
the op, and takes its own part of what is not split yet, once along each dimension.  All strategies on one mesh are one program, for compiling
is what costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from torch_mlir import ir

from pcg.layout import Mesh, ShardSpec
from pcg.lower.collectives import CollectiveBuilder
from pcg.lower.in_range import keep_in_range
from pcg.lower.local import clone_mapped
from pcg.lower.spmd import SpmdLowering
from pcg.reshard import Slice
from pcg.rules import Assignment, rule_for
from pcg.tools.op_variants import Variant
from support import opcheck, rulecheck
from support.rulecheck import context, last_op

pytest.importorskip("jax")

from support import ondevices


@dataclass
class _Made:
    """One strategy in the program of a mesh: what it is; (which result of the op, layout, number in the program)."""

    job: opcheck._Job
    what: str
    results: list[tuple[int, ShardSpec, int]]


@dataclass
class _Program:
    """The program of one device of `mesh` under construction."""

    mesh: Mesh
    block: ir.Block
    collectives: CollectiveBuilder
    given: list[list[np.ndarray]] = field(default_factory=list)
    ins: list[ShardSpec] = field(default_factory=list)
    outs: list[ShardSpec] = field(default_factory=list)
    results: list[ir.Value] = field(default_factory=list)
    made: list[_Made] = field(default_factory=list)

    def argument(self, type_: ir.Type, held: list[np.ndarray], spec: ShardSpec) -> ir.Value:
        self.given.append(held)
        self.ins.append(spec)
        return self.block.add_argument(type_, ir.Location.unknown())


def check(jobs: Iterable[tuple[Variant, Sequence[opcheck.Plan]]], interpret: bool = False) -> int:
    """Run the given strategies of each program; how many there were.  A program that comes again gets other numbers.

    `interpret`: ask the reference interpreter what is right, where XLA on one device is not to be trusted.

    Raises:
      NotExecutable: a program cannot be run even unsharded.
      AssertionError: a result differs from that of the op on one device, or devices that should hold the same do not.
    """
    jobs = list(jobs)
    for v, _ in jobs:
        if opcheck.NOT_EXECUTED.get((v.op, v.key)) == opcheck.CRASHES:
            raise opcheck.NotExecutable(opcheck.CRASHES)
    done, builder, text = opcheck._build([(v, ()) for v, _ in jobs], interpret)
    try:
        wanted = opcheck._run(builder, text)
    except Exception as error:
        raise opcheck.NotExecutable(str(error)) from error
    ran = 0
    for mesh in dict.fromkeys(m for _, plans in jobs for m, _ in plans):
        program, text = _program(mesh, [
            (job, [a for m, some in plans if m == mesh for a in some]) for job, (_, plans) in zip(done, jobs, strict=True)
        ])  # fmt: skip
        held = ondevices.run_blocks(text, mesh, program.ins, program.outs, program.given)
        for one in program.made:
            for i, spec, number in one.results:
                opcheck.compare(one.job, i, wanted[one.job.first + i], held[number], spec, mesh, one.what)
        ran += len(program.made)
    return ran


def _program(mesh: Mesh, jobs: Sequence[tuple[opcheck._Job, Sequence[Assignment]]]) -> tuple[_Program, str]:
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = ir.Operation.create(
                "func.func", regions=1,
                attributes={
                    "sym_name": ir.StringAttr.get("main"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
                },
            )  # fmt: skip
        block = function.regions[0].blocks.append()
        program = _Program(mesh, block, CollectiveBuilder(mesh))
        with ir.InsertionPoint(block):
            for job, assignments in jobs:
                _add(program, job, assignments)
            ir.Operation.create("func.return", operands=program.results)
        function.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get([a.type for a in block.arguments], [r.type for r in program.results])
        )
        keep_in_range(function, mesh.size)
        module.operation.verify()
        made = str(module)
        return program, rulecheck._without_chlo(made) if "chlo." in made else made  # XLA on CPU lacks some of it


def _add(program: _Program, job: opcheck._Job, assignments: Sequence[Assignment]) -> None:
    """One op on whole tensors, and all strategies of it."""
    rng = np.random.default_rng(0)
    source = ir.Module.parse(job.variant.text)  # kept: it owns the op
    op = last_op(source)
    old = op.parent.regions[0].blocks[0]
    values: dict[ir.Value, ir.Value] = {}
    known = dict(zip(old.arguments, job.inputs, strict=True))
    for a, x in known.items():
        values[a] = program.argument(a.type, [x] * program.mesh.size, ShardSpec.replicated(x.ndim))
    for inner in list(old.operations)[:-2]:
        clone_mapped(inner.operation, values)
    for a in assignments:
        _strategy(program, job, op, a, values, known, rng)


def _strategy(
    program: _Program, job: opcheck._Job, op: ir.Operation, a: Assignment, values: dict[ir.Value, ir.Value],
    known: dict[ir.Value, np.ndarray], rng: np.random.Generator,
) -> None:  # fmt: skip
    mesh, rule = program.mesh, rule_for(op)
    ins = [rule.operand_spec(i, a) for i in range(len(op.operands))]
    outs = [rule.result_spec(i, a) for i in range(len(op.results))]
    lowering = SpmdLowering(mesh)
    lowering.collectives = program.collectives
    lowering.shards.specs = dict(zip([*op.operands, *op.results], [*ins, *outs], strict=True))
    local: dict[ir.Value, ir.Value] = {}
    for v, spec in zip(op.operands, ins, strict=True):
        local[v] = _own(program, _held(program, v, spec, values, known, rng), spec)
    lowering.shards.local = {**values, **local}
    lowering.op(op)
    made = _Made(job, f"{op.name} {rule} on {mesh}: {', '.join(map(str, [*ins, '->', *outs]))}", [])
    for i, (r, spec) in enumerate(zip(op.results, outs, strict=True)):
        for value, further in _parts(program, lowering.shards.local[r], spec):
            made.results.append((i, further, len(program.results)))
            program.results.append(value)
            program.outs.append(further)
    program.made.append(made)


def _held(
    program: _Program, v: ir.Value, spec: ShardSpec, values: dict[ir.Value, ir.Value],
    known: dict[ir.Value, np.ndarray], rng: np.random.Generator,
) -> ir.Value:  # fmt: skip
    """The whole operand, or what this device adds to it."""
    mesh = program.mesh
    n = mesh.axes_size(spec.partial_axes)
    if n == 1:
        return values[v]
    terms = opcheck.split_up(known[v], n, spec.partial[0][1], rng)
    whole = ShardSpec.of([[] for _ in spec.dims], dict(spec.partial))
    return program.argument(v.type, [terms[mesh.index(p, spec.partial_axes)] for p in range(mesh.size)], whole)


def _own(program: _Program, value: ir.Value, spec: ShardSpec) -> ir.Value:
    """This device's block of a whole value."""
    for d, axes in enumerate(spec.dims):
        if axes:
            value = program.collectives.slice(value, d, axes)
    return value


def _parts(program: _Program, value: ir.Value, spec: ShardSpec) -> Iterator[tuple[ir.Value, ShardSpec]]:
    """A device's parts of its block along each dimension, where devices still hold the same; else the block."""
    used = {a for d in spec.dims for a in d} | set(spec.partial_axes)
    free = tuple(a for a in program.mesh.names if a not in used)
    dims = [d for d, axes in enumerate(spec.dims) if free and not axes and value.type.shape[d] > 1]
    if not dims:
        yield value, spec
    for d in dims:
        yield program.collectives.slice(value, d, free), Slice(d, free).apply(spec)
