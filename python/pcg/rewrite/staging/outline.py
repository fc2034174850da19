"""Fragments of a pipeline: what runs of each stage in each phase, as a `pcg.stage` on the mesh of its device group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torch_mlir import ir

from pcg.ir import emit, mesh_names, shardings
from pcg.ir.errors import PcgError
from pcg.ir.stages import PHASE, STAGE, create_stage, symbols_used
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import defining_op, entry_of, in_block, outer_values
from pcg.layout import MeshError
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.placement import FORMS, placement
from pcg.rewrite.backward.phases import ORDER
from pcg.rewrite.microbatch_loop import of_microbatches
from pcg.rewrite.staging.assign import stage_number
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.rules.values import free_values
from pcg.search.roles import state_of

#: What a `pcg.stage` does: "prepare" (once, before the microbatches), "forward", "backward", "weight" (gradients of
#: parameters; these three once per microbatch), or "update" (once, after them).
PHASES = ("prepare", *ORDER)




class Fragment(NamedTuple):
    """Which program an op belongs to."""

    phase: str
    place: int
    """The stage; of what runs once per step the group, which may have several stages."""
    round: int = 0
    """Of updates: how often what it reads has come from another group."""


def mesh_name(group: int) -> str:
    """The symbol of the mesh of a group of devices."""
    return f"group{group}"


def phase_of(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes[PHASE]).value if PHASE in op.attributes else ""


@dataclass
class OutlineStages(Transformation):
    """Make programs of the stages of a pipeline: one per phase, with transfers between meshes."""

    placement: str = option(
        "", "which group of devices has which stages, as in pcg-schedule; default: linear, or interleaved where groups "
        "have several", ("", *FORMS),
    )  # fmt: skip
    axis: str = option("stage", "axis of the mesh along which the groups lie; the mesh of a group has its other axes")

    def run(self, module: ir.Operation) -> None:
        func = entry_of(module)
        stages = 1 + max((s for op in _ops(func) if (s := stage_number(op)) is not None), default=-1)
        if not stages:
            raise PcgError("no op has a stage; run pcg-assign-stages first", func)
        count = declare_groups(module, func, self.axis)
        if stages % count:
            raise PcgError(f"{stages} stages on {count} groups of devices; allowed: a multiple of the groups", func)
        chunks = stages // count
        form = self.placement or ("linear" if chunks == 1 else "interleaved")
        try:
            groups = placement(form, count, chunks)
        except PipelineError as error:
            raise PcgError(str(error), func) from None
        outline = _Outline(func, groups)
        with module.context, func.location:
            outline.run()
        self.statistics["fragments"] += len(outline.order)
        self.statistics["transfers"] += outline.transfers


def declare_groups(module: ir.Operation, func: ir.Operation, axis: str) -> int:
    """Declare the meshes @group0, @group1, ... of the groups, unless they are; how many there are."""
    meshes = shardings.meshes_of(module)
    if mesh_name(0) not in meshes:
        mesh = shardings.mesh_of(module)
        if mesh is None:
            raise PcgError(f"the module has no mesh; add one with --mesh {axis}=size,...", func)
        try:
            groups = mesh.along(axis)
        except MeshError as error:
            raise PcgError(f"groups of devices lie along an axis: {error}", func) from None
        for op in [op.operation for op in module.regions[0].blocks[0].operations]:
            if op.name == "dist.mesh":
                op.erase()
        for g, own in enumerate(groups):
            shardings.set_mesh(module, own, mesh_name(g))
        return len(groups)
    count = 0
    while mesh_name(count) in meshes:
        count += 1
    return count


@dataclass
class _Outline:
    """The rewriting of one function."""

    func: ir.Operation
    groups: Sequence[int]
    """The group of each stage."""
    order: list[Fragment] = field(init=False)
    """All fragments, each after those that it needs."""
    transfers: int = 0

    def __post_init__(self) -> None:
        self.block = self.func.regions[0].blocks[0]
        *self.ops, self.last = (op.operation for op in self.block.operations)
        self.reads = [outer_values(op) for op in self.ops]
        self.index = {v: i for i, op in enumerate(self.ops) for v in op.results}
        for op in self.ops:
            if found := symbols_used(op):
                raise PcgError(f"'{op.name}' op refers to the function {found[0]}; allowed: ops without calls", op)
        self.free = free_values(self.block)
        inside = of_microbatches(self.func)
        self.inside = [op in inside for op in self.ops]
        self.home: dict[int, Fragment] = {}
        """By number of the op: its fragment; of those before the microbatches none, they go where they are read."""
        self.returned: dict[int, Fragment] = {}
        """Of those that are returned: the fragment whose result that is."""
        self._fragments()
        self.contents: dict[Fragment, dict[int, None]] = {}
        for i, fragment in self.home.items():
            self.contents.setdefault(fragment, {})[i] = None
        self._prepare()
        self.order = self._ordered()
        self.at: dict[tuple[ir.Value, int], ir.Value] = {}
        """(value of the program, group) -> the value on the mesh of the group."""

    def _group(self, fragment: Fragment) -> int:
        return self.groups[fragment.place] if fragment.phase in PHASES[1:4] else fragment.place

    # -- which op goes where -------------------------------------------------------------------

    def _fragments(self) -> None:
        """The fragments of the ops that have a stage."""
        rounds: dict[ir.Value, tuple[int, int]] = {}  # of values of the update: (round, group)
        for i, op in enumerate(self.ops):
            stage = stage_number(op)
            if op.name in ("pcg.pipeline", "pcg.batch"):
                if op.name == "pcg.batch":
                    if stage is None:
                        raise PcgError("'pcg.batch' op has no stage; run pcg-assign-stages first", op)
                    rounds[op.results[0]] = 0, self.groups[stage]
                continue
            if op.results and op.results[0] in self.free:
                continue
            if self.inside[i]:
                phase = phase_of(op)
                if stage is None or phase not in PHASES[1:4]:
                    raise PcgError(
                        f"'{op.name}' op of a microbatch has stage {stage} and phase {phase!r}; run pcg-assign-stages"
                        " and pcg-split-backward first", op,
                    )  # fmt: skip
                self.home[i] = Fragment(phase, stage)
            elif read := [rounds[v] for v in self.reads[i] if v in rounds]:
                if stage is None:
                    raise PcgError(f"'{op.name}' op has no stage; run pcg-assign-stages first", op)
                group = self.groups[stage]
                number = max(r + (g != group) for r, g in read)
                self.home[i] = Fragment("update", group, number)
                rounds.update(dict.fromkeys(op.results, (number, group)))

    def _light(self, i: int) -> bool:
        """Whether an op is repeated in each fragment that reads it rather than kept for all microbatches."""
        op = self.ops[i]
        return all(r in self.free for r in op.results) or traits.has(op.name, Trait.FORWARDS | Trait.SPREADS)

    def _prepare(self) -> None:
        """Put ops from before the microbatches where they are read; those that are not light run once per step."""
        for fragment in list(self.contents):
            self._take(fragment, list(self.contents[fragment]))
        for op in self.ops:
            if op.name == "pcg.pipeline":
                for group in self._groups_reading(op.results[0]):
                    self._need(Fragment("prepare", group), op.operands[0])
        for v in self.last.operands:  # as a number of steps
            i = self.index.get(v)
            if i is None or i in self.home or v in self.free or self.ops[i].name in ("pcg.pipeline", "pcg.batch"):
                continue
            updates = [f for f, ops in self.contents.items() if f.phase == "update" and i in ops]
            self.returned[i] = min(updates, default=Fragment("prepare", 0))
            if not updates:
                self._need(self.returned[i], v)
        for fragment, contents in self.contents.items():
            self.contents[fragment] = dict.fromkeys(sorted(contents))

    def _take(self, fragment: Fragment, work: list[int]) -> None:
        """Add what the ops `work` of a fragment read from before the microbatches."""
        while work:
            for v in self.reads[work.pop()]:
                i = self.index.get(v)
                if i is None or i in self.home or self.ops[i].name in ("pcg.pipeline", "pcg.batch"):
                    continue
                if self._light(i) or fragment.phase in ("prepare", "update"):
                    if i not in self.contents[fragment]:
                        self.contents[fragment][i] = None
                        work.append(i)
                else:
                    self._need(Fragment("prepare", self._group(fragment)), v)

    def _need(self, fragment: Fragment, value: ir.Value) -> None:
        """Let a group prepare a value."""
        i = self.index.get(value)
        if i is not None and i not in self.contents.setdefault(fragment, {}):
            self.contents[fragment][i] = None
            self._take(fragment, [i])

    def _groups_reading(self, value: ir.Value) -> list[int]:
        return sorted({self._group(f) for f, ops in self.contents.items() if any(value in self.reads[i] for i in ops)})

    def _ordered(self) -> list[Fragment]:
        """The fragments, each after what it reads; of those that are ready, as the phases are."""
        needs: dict[Fragment, set[Fragment]] = {}
        for fragment, contents in self.contents.items():
            found: set[Fragment] = set()
            for i in contents:
                for v in self.reads[i]:
                    j = self.index.get(v)
                    while j is not None and self.ops[j].name in ("pcg.pipeline", "pcg.batch"):
                        j = self.index.get(self.ops[j].operands[0])
                    if j is not None and j not in contents:
                        found.add(self.home.get(j, Fragment("prepare", self._group(fragment))))
            needs[fragment] = found - {fragment}

        def key(f: Fragment) -> tuple[int, int, int]:
            return PHASES.index(f.phase), f.round, -f.place if f.phase in ("backward", "weight") else f.place

        order: list[Fragment] = []
        left = sorted(needs, key=key)
        while left:
            ready = next((f for f in left if needs[f] <= set(order)), None)
            if ready is None:
                names = ", ".join(f"{f.phase} {f.place}" for f in left)
                raise PcgError(f"fragments need each other's results: {names}", self.func)
            order.append(ready)
            left.remove(ready)
        return order

    # -- writing -------------------------------------------------------------------------------

    def run(self) -> None:
        homes = self._argument_homes()
        state = state_of(self.func)
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
                    read.setdefault(v, self._group(fragment))
        homes = [read.get(a, 0) for a in self.block.arguments]
        for r, a in state_of(self.func).items():
            at = self.index.get(self.last.operands[r])
            if at in self.home:
                homes[a] = self._group(self.home[at])
            elif at in self.returned:
                homes[a] = self._group(self.returned[at])
            elif at is not None and (stage := stage_number(self.ops[at])) is not None:
                homes[a] = self.groups[stage]
        return homes

    def _any_group(self, value: ir.Value) -> int:
        return next((g for v, g in self.at if v == value), 0)

    def _write(self, fragment: Fragment, number: int) -> None:
        contents, group = self.contents[fragment], self._group(fragment)
        inner = {r for i in contents for r in self.ops[i].results}
        read = dict.fromkeys(v for i in contents for v in self.reads[i] if v not in inner)
        inputs = {v: self._get(v, group) for v in read}
        outputs = [r for i in contents for r in self.ops[i].results if self._leaves(r, fragment)]
        made = create_stage(
            [self.ops[i] for i in contents], inputs, outputs, mesh_name(group), number, self.func.location
        )
        if made:
            stage = made[0].owner.operation.operands[0].owner.operation
            stage.attributes[PHASE] = ir.StringAttr.get(fragment.phase)
            if fragment.phase in PHASES[1:4]:
                stage.attributes[STAGE] = emit.i64(fragment.place)
        self.at.update(((v, group), r) for v, r in zip(outputs, made, strict=True))

    def _leaves(self, value: ir.Value, fragment: Fragment) -> bool:
        """Whether what a fragment computes is read outside of it."""
        i = self.index[value]
        if i in self.home and self.home[i] != fragment:
            return False
        for use in value.uses:
            op = in_block(use.owner.operation, self.func)
            if op == self.last:
                leaves = i in self.home or self.returned.get(i) == fragment
            elif op.name == "pcg.batch":
                leaves = True
            elif op.name == "pcg.pipeline":
                leaves = i in self.home or (
                    fragment.phase == "prepare" and fragment.place in self._groups_reading(op.results[0])
                )
            elif i in self.home:
                leaves = any(f != fragment for f in self._places(op))
            else:  # each group prepares its own
                places = [f for f in self._places(op) if i not in self.contents[f]]
                leaves = fragment.phase == "prepare" and any(self._group(f) == fragment.place for f in places)
            if leaves:
                return True
        return False

    def _places(self, op: ir.Operation) -> list[Fragment]:
        """The fragments that an op is in."""
        i = self.index[op.results[0]]
        return [self.home[i]] if i in self.home else [f for f, ops in self.contents.items() if i in ops]

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
        groups = self._groups_reading(op.results[0])
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
