"""A pipelined program on groups of devices, driven by one process.  Imports jax.

One thread puts the work of all groups into their queues in the order of the schedule; devices run it as soon as they
are free and the values are there, so a call returns before the step is over, as one of `jax.jit` does.
"""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax

from pcg.driver.pipelined import Division, FragmentProgram, PipelineProgram
from pcg.pipeline.check import check
from pcg.pipeline.instructions import (
    Instance,
    Instruction,
    Instructions,
    Receive,
    Run,
    Send,
    Verdict,
    global_order,
)  # fmt: skip
from pcg.pipeline.lowering import lower
from pcg.pipeline.overlap import value_of
from pcg.pipeline.schedule import Schedule
from pcg.pipeline.step import Step
from pcg.runtime import array_copies, jax_compat
from pcg.runtime.call_tree import CallTree, SignatureError, returned, tensor
from pcg.runtime.dispatch import Dispatch, Watch
from pcg.runtime.fragments import CompiledFragment, Group, divide, join
from pcg.runtime.layer_stack import LayerStack, LayerStacks
from pcg.runtime.messages import Threads
from pcg.viz.page.timeline import timeline_page
from pcg.viz.timeline import Timeline, planned_step


class PipelineExecutable:
    """A pipelined program, compiled for one argument structure and one set of shapes.

    Arguments and results that are stacked over layers outside are values of single layers inside; how such an array is
    placed says `pcg.runtime.layer_stack`.

    Raises:
      PipelineError: the schedule is not one of this program.
    """

    def __init__(self, program: PipelineProgram, devices: Sequence[Any], schedule: Schedule) -> None:
        self.program, self.schedule = program, schedule
        self.groups = tuple(Group.of(m, [devices[i] for i in m.device_ids or range(m.size)]) for m in program.meshes)
        self._tree = CallTree(program.program)
        self._copies: dict[tuple[str, str], Callable[[Any], Any]] = {}
        first = [f for f in program.first if isinstance(f, FragmentProgram)]
        with jax_compat.x64(self.needs_x64):
            self.compiled = {f.name: self._compiled(f) for f in (*first, *program.fragments)}
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(CompiledFragment.compile, self.compiled.values()))
            self.step = program.step({name: c.workspace for name, c in self.compiled.items()})
            self.instructions = lower(self.step, schedule)
            check(self.instructions)
            self.overlap = program.overlap(self.step)
            self.between = None if self.overlap is None else lower(self.overlap.step, schedule)
            self.finishing = None if self.overlap is None else lower(self.overlap.finish, schedule)
            self.steady = self.between or self.instructions
            """The instructions of a step between others."""
            for listed in (self.between, self.finishing):
                if listed is not None:
                    check(listed)
            self.first = [self._first_op(x) for x in program.first]
            self.argument_values, self.stacked_arguments = self._stacked(program.arguments, program.stacked_arguments)
            self.result_values, self.stacked_results = self._stacked(program.results, program.stacked_results)
            self._joins = {j.target: (j.source, self._division(join, j)) for j in program.joins}
        self._order = [(d, self.action(self.step, what)) for d, what in global_order(self.instructions)]

    # -- what is compiled ----------------------------------------------------------------------

    @property
    def needs_x64(self) -> bool:
        """Whether calls must enable 64-bit arrays because the process has not."""
        return self.program.program.has_64_bit and not jax.config.jax_enable_x64

    def _compiled(self, f: FragmentProgram) -> CompiledFragment:
        donated = [old for old, _ in self.program.aliases.get(f.name, ())]
        return CompiledFragment(f, self.groups[f.group], self.program.values, donated)

    def _sharding(self, name: str) -> Any:
        value = self.program.values[name]
        return self.groups[value.group].sharding(value.spec)

    def _copying(self, source: str, target: str) -> Callable[[Any], Any]:
        """What copies a value to the group of another one."""
        if (source, target) not in self._copies:
            value = self.program.values[source]
            shape = self.groups[value.group].shape(value.shape, value.spec)
            self._copies[source, target] = array_copies.copying(self._sharding(source), self._sharding(target), shape)
        return self._copies[source, target]

    def _division(self, make: Callable[..., Any], how: Division) -> Any:
        source, target = (self.program.values[n] for n in (how.source, how.target))
        return make(self.groups[target.group], source, target, how, self.program.microbatches)

    def _stacked(self, names: Sequence[str], counts: Sequence[int]) -> tuple[list[tuple[str, ...]], LayerStacks]:
        """The values of each argument, or result, of the program, and those that are stacked, in order."""
        left = iter(names)
        found = [tuple(itertools.islice(left, count or 1)) for count in counts]
        values = self.program.values
        stacks = [
            LayerStack([values[n] for n in own], self.groups) for own, n in zip(found, counts, strict=True) if n
        ]  # fmt: skip
        return found, LayerStacks(stacks)

    def _first_op(self, op: Division | FragmentProgram | tuple[str, str]) -> Callable[[dict[str, Any]], None]:
        """What happens before the first microbatch, as a function of the values by name."""
        if isinstance(op, Division):
            split = self._division(divide, op)

            def act(values: dict[str, Any]) -> None:
                values[op.target] = split(values[op.source])
        elif isinstance(op, FragmentProgram):
            run = self.compiled[op.name].run

            def act(values: dict[str, Any]) -> None:
                out = run(*(values[n] for n in op.reads))
                values.update(zip(op.writes, out, strict=True))
        else:
            source, target = op
            copy = self._copying(source, target)

            def act(values: dict[str, Any]) -> None:
                values[target] = copy(values[source])

        return act

    # -- running -------------------------------------------------------------------------------

    def action(
        self, step: Step, what: Instruction, deletes: bool = True
    ) -> Callable[[list[Any], dict[Any, Any]], None]:
        """An instruction as a function of the slots of its device and of the channels, for one thread.

        `deletes`: what is donated is gone for its caller as well.
        """
        if isinstance(what, Run):
            compiled = self.compiled[what.fragment]
            run, start, begins = compiled.run, compiled.start, what.begins
            sums, reads, writes = what.accumulates, what.reads, (*what.writes, *what.accumulates)

            def act(slots: list[Any], channels: dict[Any, Any]) -> None:
                before = start() if begins else [slots[i] for i in sums]
                for slot, x in zip(writes, run(*[slots[i] for i in reads], *before), strict=True):
                    slots[slot] = x
        elif isinstance(what, Send):
            copy, tag, slot = self.copying(step, what), what.tag, what.slot

            def act(slots: list[Any], channels: dict[Any, Any]) -> None:
                channels[tag] = copy(slots[slot])
        elif isinstance(what, Receive):
            tag, slot = what.tag, what.slot

            def act(slots: list[Any], channels: dict[Any, Any]) -> None:
                slots[slot] = channels.pop(tag)
        elif isinstance(what, Verdict):
            raise TypeError("a verdict is no action of one step")
        elif deletes and what.buffer in self.program.donated:
            slot = what.slot

            def act(slots: list[Any], channels: dict[Any, Any]) -> None:
                slots[slot].delete()
                slots[slot] = None
        else:
            slot = what.slot

            def act(slots: list[Any], channels: dict[Any, Any]) -> None:
                slots[slot] = None

        return act

    def copying(self, step: Step, what: Send) -> Callable[[Any], Any]:
        """What copies a value to where it is sent."""
        transfer = step.transfers[what.tag // step.microbatches]
        return self._copying(value_of(transfer.source), value_of(transfer.target))

    def call(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run one step: check the arguments, place those that are elsewhere, dispatch.

        Raises:
          SignatureError: the arguments do not fit; names the first that does not.
        """
        with jax_compat.x64(self.needs_x64):
            slots = self._begin(args, kwargs)
            channels: dict[Any, Any] = {}
            for device, act in self._order:
                act(slots[device], channels)
            return self._end(slots)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(args, kwargs)

    def _begin(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[list[Any]]:
        """The slots of all groups, with what is there before the step."""
        flat = self.flat(args, kwargs)
        self._tree.check_donated(flat)
        values = self.named(flat)
        for i, x in enumerate(flat):
            placed = values[self.argument_values[i][0]]
            if i in self.program.program.donated and isinstance(x, jax.Array) and placed is not x:
                x.delete()
        for act in self.first:
            act(values)
        return self.filled(self.instructions, values)

    def flat(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments of a call, checked, as a list.

        Raises:
          SignatureError: they do not fit.
        """
        program = self.program.program
        flat = self._tree.flatten(self._tree.packed(args, kwargs))
        if jax_compat.any_traced(flat):
            raise SignatureError(f"{program.name} is a pipeline, which cannot be part of another jax function")
        self._tree.check(flat)
        return flat

    def named(self, flat: Sequence[Any], without: Container[str] = ()) -> dict[str, Any]:
        """Arguments where the step has them, by name; `without`: those that are not needed."""
        program = self.program.program
        data = [tensor(x, leaf) for x, leaf in zip(flat, program.inputs, strict=True)] + list(program.constants)
        counts = self.program.stacked_arguments
        values: dict[str, Any] = {}
        stacks = []
        for names, x, n in zip(self.argument_values, data, counts, strict=True):
            if n:
                stacks.append((names, x))
            elif names[0] not in without:
                values[names[0]] = self.place(x, names[0])
        if any(n not in without for names, _ in stacks for n in names):
            for (names, _), rows in zip(stacks, self.stacked_arguments.take_apart([x for _, x in stacks]), strict=True):
                values.update((n, row) for n, row in zip(names, rows, strict=True) if n not in without)
        return values

    @staticmethod
    def filled(instructions: Instructions, values: Mapping[str, Any]) -> list[list[Any]]:
        """The slots of all groups with values; what has none is None."""
        slots: list[list[Any]] = [[None] * n for n in instructions.slots]
        for own, places in zip(slots, instructions.places, strict=True):
            for (name, microbatch), slot in places.items():
                own[slot] = values.get(name) if microbatch is None else values[name][microbatch]
        return slots

    def place(self, x: Any, name: str) -> Any:
        """An array on the group of a value, in its layout."""
        sharding = self._sharding(name)
        if isinstance(x, jax.Array) and x.sharding.is_equivalent_to(sharding, x.ndim):
            return x
        return jax.device_put(x, sharding)

    def _end(self, slots: Sequence[Sequence[Any]]) -> Any:
        """The result of the step."""
        at = there_after(self.instructions, slots)
        counts = self.program.stacked_results
        stacked = [names for names, n in zip(self.result_values, counts, strict=True) if n]
        arrays = iter(self.stacked_results.assemble([[at[name, None] for name in names] for names in stacked]))
        out: list[Any] = []
        for names, n in zip(self.result_values, counts, strict=True):
            out.append(next(arrays) if n else self.result(names[0], at))
        return self._tree.result(out)

    def outside(self, values: Mapping[str, Any]) -> list[Any]:
        """Arguments as the caller has them, from values by name; None where there is none."""
        leaves, counts = self.program.program.inputs, self.program.stacked_arguments
        stacked = [names for names, n in zip(self.argument_values, counts, strict=True) if n]
        rows = [[values.get(n) for n in names] for names in stacked]
        known = all(x is not None for own in rows for x in own)
        arrays = iter(self.stacked_arguments.assemble(rows) if known else ())
        found = []
        for leaf, names, n in zip(leaves, self.argument_values, counts, strict=False):
            x = next(arrays, None) if n else values.get(names[0])
            found.append(None if x is None else returned(x, leaf))
        return found

    def unflatten(self, out: Sequence[Any]) -> Any:
        """Results as the program returns them."""
        return self._tree.unflatten(out)

    def result(self, name: str, at: Mapping[Instance, Any]) -> Any:
        """A result that is not stacked, from what is there after a step."""
        if name not in self._joins:
            return at[name, None]
        source, together = self._joins[name]
        return together(*(at[source, t] for t in range(self.program.microbatches)))

    # -- by messages ---------------------------------------------------------------------------

    def run_by_messages(self, *args: Any, **kwargs: Any) -> tuple[Any, Timeline]:
        """Run one step with a thread per group, which waits for what other groups send it.

        Each run of a fragment starts when the values that it reads are there, and is waited for.  Returns the result,
        and when each ran, in seconds since the step began.
        """
        with jax_compat.x64(self.needs_x64):
            slots = self._begin(args, kwargs)
            jax.block_until_ready([x for own in slots for x in own if x is not None])
            threads = Threads(
                self.instructions, self.schedule, slots, functools.partial(self.action, self.step),
                functools.partial(self.copying, self.step), self.needs_x64,
            )  # fmt: skip
            events = threads.run()
            names = tuple(f"device {d}" for d in range(len(self.groups)))
            return self._end(slots), Timeline(f"{self.schedule.name}, measured", names, events, units=True)

    def write_timeline(self, path: str | Path, *measured: Timeline) -> None:
        """Write an HTML page with the planned step, and below it, to the same scale, steps as they were measured."""
        planned = planned_step(self.schedule, self.instructions)
        page = timeline_page([planned, *measured], self.program.program.name)
        Path(path).write_text(page, encoding="utf-8")

    def dispatched(self, *args: Any, **kwargs: Any) -> list[Dispatch]:
        """Run one step; when each instruction was dispatched, and when the values of runs were there."""
        with jax_compat.x64(self.needs_x64):
            slots = self._begin(args, kwargs)
            channels: dict[Any, Any] = {}
            watch = Watch(len(self.groups))
            for (device, act), (_, what) in zip(self._order, global_order(self.instructions), strict=True):
                start = time.perf_counter()
                act(slots[device], channels)
                watch.note(device, what, start, slots[device])
            return watch.result()

    # -- memory --------------------------------------------------------------------------------

    def counted(self, *args: Any, **kwargs: Any) -> tuple[int, ...]:
        """By group: the most bytes on one of its devices that arrays of the step, and temporaries, take in a run.

        Counted over the arrays that are there after each instruction; donated sums count once.
        """
        with jax_compat.x64(self.needs_x64):
            slots = self._begin(args, kwargs)
            channels: dict[Any, Any] = {}
            peaks = [0] * len(slots)
            for (device, act), (_, what) in zip(self._order, global_order(self.instructions), strict=True):
                act(slots[device], channels)
                self.count(device, what, slots, channels, peaks)
            return tuple(peaks)

    def count(
        self, device: int, what: Instruction, slots: Sequence[Sequence[Any]], channels: Mapping[Any, Any],
        peaks: list[int],
    ) -> None:  # fmt: skip
        """Raise `peaks`, by group, to the bytes that are there after an instruction."""
        extra = self.compiled[what.fragment].workspace if isinstance(what, Run) else 0
        for d, group in enumerate(self.groups):
            arrays = [x for x in slots[d] if x is not None]
            arrays += [x for x in channels.values() if x is not None and _is_on(x, group)]
            peaks[d] = max(peaks[d], _bytes(arrays) + (extra if d == device else 0))


def there_after(instructions: Instructions, slots: Sequence[Sequence[Any]]) -> dict[Instance, Any]:
    """What is there after a step."""
    pairs = zip(slots, instructions.results, strict=True)
    return {instance: own[slot] for own, found in pairs for instance, slot in found.items()}


def _is_on(x: Any, group: Group) -> bool:
    return not x.sharding.device_set.isdisjoint(group.placed.user_mesh.devices.flat)


def _bytes(arrays: Sequence[Any]) -> int:
    """Bytes of arrays on the device of their group that has the most; one array counts once."""
    total: dict[Any, int] = {}
    for x in {id(x): x for x in arrays}.values():
        for shard in x.addressable_shards:
            total[shard.device] = total.get(shard.device, 0) + shard.data.nbytes
    return max(total.values(), default=0)
