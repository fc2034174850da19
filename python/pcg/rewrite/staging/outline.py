"""Fragments of a pipeline: what runs of each stage in each phase, as a `pcg.stage` on the mesh of its device group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import emit, mesh_names
from pcg.ir.errors import PcgError
from pcg.ir.stages import PHASE, PREDICTED, STAGE, UNREAD, WAITS, create_stage, stage_number
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import defining_op, entry_of
from pcg.pipeline.placement import FORMS
from pcg.rewrite.staging.fragments import VARYING, Fragment, Fragments
from pcg.rewrite.staging.groups import declare_groups, group_meshes, mesh_name, placed_on
from pcg.search.roles import state_of


@dataclass
class OutlineStages(Transformation):
    """Make programs of the stages of a pipeline: one per phase, with transfers between meshes."""

    placement: str = option(
        "", "which group of devices has which stages, as in pcg-schedule; default: what pcg-choose-pipeline has "
        "chosen, else linear, or interleaved where groups have several", ("", *FORMS),
    )  # fmt: skip
    axis: str = option("stage", "axis of the mesh along which the groups lie; the mesh of a group has its other axes")

    def run(self, module: ir.Operation) -> None:
        func = entry_of(module)
        stages = 1 + max((s for op in _ops(func) if (s := stage_number(op)) is not None), default=-1)
        if not stages:
            raise PcgError("no op has a stage; run pcg-assign-stages first", func)
        meshes = group_meshes(module, self.axis)
        if not meshes:
            raise PcgError(f"the module has no mesh; add one with --mesh {self.axis}=size,...", func)
        groups = placed_on(module, func, self.placement, stages, len(meshes))
        declare_groups(module, meshes)
        outline = _Outline(func, groups)
        with module.context, func.location:
            outline.run()
        self.statistics["fragments"] += len(outline.order)
        self.statistics["transfers"] += outline.transfers


class _Outline(Fragments):
    """The rewriting of one function."""

    def __init__(self, func: ir.Operation, groups: Sequence[int]) -> None:
        super().__init__(func, groups)
        self.at: dict[tuple[ir.Value, int], ir.Value] = {}
        """(value of the program, group) -> the value on the mesh of the group."""
        self.transfers = 0

    def run(self) -> None:
        homes = self._argument_homes()
        state, unread = state_of(self.func), self.unread()
        with ir.InsertionPoint(self.last):
            for a, group in zip(self.block.arguments, homes, strict=True):
                self.at[a, group] = a
            waiting = [i for i, op in enumerate(self.ops) if op.name in ("pcg.pipeline", "pcg.batch")]
            for number, fragment in enumerate(self.order):
                waiting = [i for i in waiting if not self._step(i)]
                self._write(fragment, number)
            waiting = [i for i in waiting if not self._step(i)]
            assert not waiting, "microbatches of values that no stage has"
        results = list(self.last.operands)
        names: list[str | None] = []
        with ir.InsertionPoint(self.last):
            for r, value in enumerate(results):
                group = homes[state[r]] if r in state else self._any_group(value)
                self.last.operands[r] = self._get(value, group)
                names.append(mesh_name(group))
        if unread:
            self.func.attributes[UNREAD] = ir.DenseI64ArrayAttr.get([int(n) for each in unread for n in each])
        for op in reversed(self.ops):
            op.erase()
        mesh_names.set_signature_meshes(self.func, "arg_attrs", [mesh_name(g) for g in homes])
        mesh_names.set_signature_meshes(self.func, "res_attrs", names)

    def _argument_homes(self) -> list[int]:
        """The group of each argument: state is where its next value is computed, others where they are read first."""
        read: dict[ir.Value, int] = {}
        for fragment in self.order:
            for i in self.contents[fragment]:
                for v in self.reads[i]:
                    op = defining_op(v)
                    if op is not None and op.name == "pcg.pipeline":
                        v = op.operands[0]
                    read.setdefault(v, self.group(fragment))
        homes = [read.get(a, 0) for a in self.block.arguments]
        for r, a in state_of(self.func).items():
            at = self.index.get(self.last.operands[r])
            if at in self.home:
                homes[a] = self.group(self.home[at])
            elif at in self.returned:
                homes[a] = self.group(self.returned[at])
            elif at is not None and (stage := stage_number(self.ops[at])) is not None:
                homes[a] = self.groups[stage]
        return homes

    def _any_group(self, value: ir.Value) -> int:
        return next((g for v, g in self.at if v == value), 0)

    def _write(self, fragment: Fragment, number: int) -> None:
        contents, group = self.contents[fragment], self.group(fragment)
        inner = {r for i in contents for r in self.ops[i].results}
        read = dict.fromkeys(v for i in contents for v in self.reads[i] if v not in inner)
        inputs = {v: self._get(v, group) for v in read}
        outputs = [r for i in contents for r in self.ops[i].results if self.leaves(r, fragment)]
        made = create_stage(
            [self.ops[i] for i in contents], inputs, outputs, mesh_name(group), number, self.func.location
        )
        if made:
            stage = made[0].owner.operation.operands[0].owner.operation
            stage.attributes[PHASE] = ir.StringAttr.get(fragment.phase)
            if fragment.phase in VARYING:
                stage.attributes[STAGE] = emit.i64(fragment.place)
            numbers = {v: n for n, v in enumerate(self.predictions.values)}
            if fragment.predicted:
                stage.attributes[WAITS] = ir.UnitAttr.get()
            if own := [(i, numbers[v]) for i, v in enumerate(outputs) if v in numbers]:
                stage.attributes[PREDICTED] = ir.DenseI64ArrayAttr.get([n for pair in own for n in pair])
        self.at.update(((v, group), r) for v, r in zip(outputs, made, strict=True))

    def _step(self, i: int) -> bool:
        """Write a `pcg.pipeline` or `pcg.batch` op, if what it reads is there; whether it was."""
        op = self.ops[i]
        value = op.operands[0]
        if op.name == "pcg.batch":
            stage = stage_number(op)
            assert stage is not None
            if not any(v == value for v, _ in self.at):
                return False
            group = self.groups[stage]
            self.at[op.results[0], group] = self._copy(op, self._get(value, group))
            return True
        groups = self.groups_reading(op.results[0])
        if value in self.index and not all((value, g) in self.at for g in groups):
            return False
        for g in groups:
            self.at[op.results[0], g] = self._copy(op, self._get(value, g))
        return True

    def _copy(self, op: ir.Operation, operand: ir.Value) -> ir.Value:
        """The same op of another operand."""
        attributes = {n: op.attributes[n] for n in op.attributes if n not in (STAGE, PHASE)}
        return ir.Operation.create(
            op.name, results=[op.results[0].type], operands=[operand], attributes=attributes, loc=op.location
        ).result

    def _get(self, value: ir.Value, group: int) -> ir.Value:
        """A value on the mesh of a group: transferred there, if it is on another one."""
        if (value, group) not in self.at:
            i = self.index.get(value)
            if i is not None and i not in self.home and value in self.free:
                self._write_free(value, i, group)
            else:
                source = next((r for (v, _), r in self.at.items() if v == value), None)
                assert source is not None, "a value that no group has"
                self.at[value, group] = emit.create(
                    "pcg.transfer", [source], value.type, mesh=ir.FlatSymbolRefAttr.get(mesh_name(group))
                )
                self.transfers += 1
        return self.at[value, group]

    def _write_free(self, value: ir.Value, i: int, group: int) -> None:
        """A constant that is not read by a fragment, but returned or divided into microbatches: by one of its own."""
        need: dict[int, None] = {i: None}
        for j in range(i, -1, -1):
            if j in need:
                need.update((k, None) for v in self.reads[j] if (k := self.index.get(v)) is not None)
        made = create_stage(
            [self.ops[j] for j in sorted(need)], {}, [value], mesh_name(group), len(self.order), self.func.location
        )
        made[0].owner.operation.operands[0].owner.operation.attributes[PHASE] = ir.StringAttr.get("prepare")
        self.at[value, group] = made[0]


def _ops(func: ir.Operation) -> list[ir.Operation]:
    return [op.operation for op in func.regions[0].blocks[0].operations]


def fragments_of(func: ir.Operation) -> list[ir.Operation]:
    """The `pcg.stage` ops of a pipeline, in order."""
    return [op for op in _ops(func) if op.name == "pcg.stage" and PHASE in op.attributes]
