"""Steps that follow each other without a barrier: what each of them does of the step before.

Part of an update waits for numbers of all devices. With post-validation it runs with predicted ones, and what it has
read is there until the verdict; with two versions of the parameters (PipeDream-2BW) it runs during the next step,
which works with the parameters from before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pcg.pipeline.step import DEFERRED, UPDATE, Fragment, Step, Transfer

#: How steps follow each other.
SYNCHRONOUS, POST_VALIDATED, TWO_VERSIONS = UPDATES = ("synchronous", "post-validated", "2bw")


def before(name: str) -> str:
    """The buffer with a value of the step before."""
    return f"{name} (step before)"


def predicted(name: str) -> str:
    """The buffer with what a number is predicted to be."""
    return f"{name} (predicted)"


def newest(name: str) -> str:
    """The buffer with the newest version of a state that microbatches read one version older."""
    return f"{name} (newest)"


def value_of(name: str) -> str:
    """The value of the step that a buffer is one of."""
    for form in (before, predicted, newest):
        name = name.removesuffix(form(""))
    return name


@dataclass(frozen=True)
class Overlap:
    """A step between others, and what finishes the last one."""

    step: Step
    finish: Step
    """What waits for numbers of all devices, by itself: after the last step, or again after a wrong prediction."""
    carried: Mapping[str, str]
    """Argument -> the buffer of the step before that it is."""
    begun: Mapping[str, str]
    """Argument, or what a deferred fragment writes -> the argument of the program that it is in the first step."""
    finishing: Mapping[str, str]
    """Argument of `finish` -> the argument of the next step that it would be."""


@dataclass(frozen=True)
class Update:
    """What is to know of the update of a step."""

    step: Step
    numbers: tuple[str, ...]
    """Those of all devices that it waits for, as they are computed."""
    waiting: frozenset[str]
    """Names of the fragments that do."""
    state: Mapping[str, str]
    """Result -> the argument whose next value it is."""

    @cached_property
    def source(self) -> dict[str, str]:
        return {t.target: t.source for t in self.step.transfers}

    def origin(self, name: str) -> str:
        """What a name is a copy of."""
        return self.source.get(name, name)

    @cached_property
    def deferred(self) -> dict[str, Fragment]:
        """The fragments that wait, by name."""
        return {f.name: f for f in self.step.sequence if f.name in self.waiting}

    @cached_property
    def written(self) -> frozenset[str]:
        """What those write."""
        return frozenset(n for f in self.deferred.values() for n in f.writes)

    @cached_property
    def waited_for(self) -> tuple[str, ...]:
        """The numbers that those do not compute themselves."""
        return tuple(n for n in self.numbers if n not in self.written)

    @cached_property
    def read(self) -> tuple[str, ...]:
        """What those read besides the numbers and what they write: of a copy of state the state."""
        arguments = set(self.state.values())
        found = []
        for f in self.deferred.values():
            for n in f.reads:
                origin = self.origin(n)
                if origin not in self.written and origin not in self.numbers:
                    found.append(origin if origin in arguments else n)
        return tuple(dict.fromkeys(found))

    def finish(self) -> Step:
        """The fragments that wait, alone."""
        step = self.step
        fragments = tuple(replace(f, kind=UPDATE) for f in self.deferred.values())
        used = {n for f in fragments for n in f.reads} | self.written | {*self.read, *self.waited_for}
        transfers = []
        for t in step.transfers:
            if t.source in self.written and t.target in step.results:
                used.add(t.target)
            if t.target in used and t.target not in self.read:
                transfers.append(t)
        there = self.written | {t.target for t in transfers}
        arguments = (*self.read, *self.waited_for)
        over = {old for f in fragments for old, _ in f.aliases}
        return Step(
            step.microbatches, step.devices, tuple(b for b in step.buffers if b.name in used), fragments,
            tuple(transfers), arguments, tuple(n for n in arguments if n in over),
            tuple(dict.fromkeys(own for n in step.results if n in there for own in (n, self.origin(n)))),
        )  # fmt: skip

    def assembled(
        self, fragments: Iterable[Fragment], copies: Mapping[str, str], buffers: Mapping[str, str],
        arguments: Iterable[str], kept: Collection[str], results: Iterable[str], verdict: Iterable[str] = (),
    ) -> Step:  # fmt: skip
        """A step of what is in use.

        Args:
          fragments: all.
          copies: target -> source of transfers, those that are in use and others.
          buffers: name -> the buffer of the step that it is like, of new ones.
          arguments: those that are in use and others.
          kept: arguments that are there after the step.
          results: what is there after it, besides.
          verdict: see `Step.verdict`.
        """
        fragments, verdict, results = tuple(fragments), tuple(verdict), tuple(dict.fromkeys(results))
        used = {n for f in fragments for n in (*f.reads, *f.writes, *f.accumulates)} | {*verdict, *results}
        transfers = tuple(Transfer(source, target) for target, source in copies.items() if target in used)
        used |= {t.source for t in transfers}
        arguments = tuple(n for n in dict.fromkeys(arguments) if n in used or n in kept)
        used |= {*arguments}
        own = {b.name: b for b in self.step.buffers}
        made = [replace(own[like], name=name) for name, like in buffers.items() if name in used and name not in own]
        return Step(
            self.step.microbatches, self.step.devices, (*(b for b in self.step.buffers if b.name in used), *made),
            fragments, transfers, arguments, tuple(n for n in arguments if n not in kept and n not in results),
            results, verdict,
        )  # fmt: skip

    @property
    def others(self) -> list[str]:
        """Arguments that are not state and that the step does not own: they belong to the caller."""
        step, state = self.step, set(self.state.values())
        return [n for n in step.arguments if n not in step.donated and n not in state]


def post_validated(update: Update) -> Overlap:
    """A step whose update takes predicted numbers, and which begins with the verdict on that of the step before.

    What the update reads, and the state, are there until the verdict of the next step: nothing writes over them.
    """
    step, numbers = update.step, update.numbers
    guessed = {n: predicted(n) for f in update.deferred.values() for n in f.reads if update.origin(n) in numbers}
    fragments = [
        replace(f, reads=tuple(guessed.get(n, n) for n in f.reads)) if f.name in update.deferred else f
        for f in step.fragments
    ]
    kept = dict.fromkeys([*update.read, *(a for a in update.state.values() if a in step.buffer)])
    buffers = {p: n for n, p in guessed.items()} | {before(n): n for n in (*kept, *numbers)}
    copies = dict(update.source)
    verdict = [*guessed.values(), *(before(n) for n in (*kept, *numbers))]
    for n in guessed:  # each device finds out about the numbers that it has used
        if n not in numbers:
            buffers[before(n)] = n
            copies[before(n)] = before(update.origin(n))
            verdict.append(before(n))
    made = update.assembled(
        fragments, copies, buffers, (*step.arguments, *guessed.values(), *(before(n) for n in (*kept, *numbers))),
        {*guessed.values(), *update.others, *(n for n in kept if n in step.arguments)},
        [*step.results, *(n for n in kept if n not in step.arguments), *numbers], verdict,
    )  # fmt: skip
    carried = {before(n): n for n in (*kept, *numbers)}
    carried |= {a: r for r, a in update.state.items() if a in step.buffer}
    return Overlap(made, update.finish(), carried, {}, {n: before(n) for n in (*update.read, *update.waited_for)})


def two_versions(update: Update, single: Collection[str], early: Collection[str]) -> Overlap:
    """A step whose microbatches read the state from before the update that runs during it.

    Of state that is a single number they read the newest version if it does not wait for all devices (a counter), else
    what is done with their sums before the wait reads the version that they have read (a scale of the loss).

    Args:
      single: arguments that are single numbers.
      early: arguments that are read before all fragments.
    """
    return _TwoVersions(update, frozenset(single), frozenset(early)).overlap()


@dataclass(frozen=True)
class _TwoVersions:
    update: Update
    single: frozenset[str]
    early: frozenset[str]

    @cached_property
    def result(self) -> dict[str, str]:
        """State -> its next value."""
        return {a: r for r, a in self.update.state.items()}

    @cached_property
    def waits(self) -> set[str]:
        """State whose next value waits for all devices."""
        u = self.update
        return {a for a, r in self.result.items() if u.origin(r) in u.written}

    @cached_property
    def read(self) -> frozenset[str]:
        """What the microbatches read."""
        u = self.update
        return self.early | {u.origin(n) for f in u.step.fragments if f.kind != UPDATE for n in f.reads}

    @cached_property
    def older(self) -> set[str]:
        """State of which a step has the newest version and, for the microbatches, the one before it."""
        changed = {a for a, r in self.result.items() if a != r}
        return {a for a in changed & self.read if a not in self.single and a not in self.waits}

    def of_deferred(self, name: str) -> str:
        """What a fragment reads that waits, of the step before."""
        origin = self.update.origin(name)
        return name if origin in self.waits or origin in self.older else before(name)

    def of_update(self, name: str) -> str:
        """What the part of the update reads that does not wait: the newest versions, but of a number that the
        microbatches read and whose own update waits (a scale of the loss) what they have read."""
        origin = self.update.origin(name)
        if origin in self.waits and origin in self.single & self.read:
            return name
        if origin in self.waits:
            return self.updated(name)
        return newest(name) if origin in self.older else name

    def updated(self, name: str) -> str:
        """State whose update has just run, or a copy of it."""
        u = self.update
        result = self.result[u.origin(name)]
        if name == u.origin(name):
            return before(result)
        device = u.step.buffer[name].device
        return before(u.origin(result)) if u.step.buffer[u.origin(result)].device == device else newest(name)

    def fragment(self, f: Fragment) -> Fragment:
        u = self.update
        if f.name in u.deferred:
            return replace(
                f, kind=DEFERRED, reads=tuple(map(self.of_deferred, f.reads)), writes=tuple(map(before, f.writes)),
                aliases=tuple((self.of_deferred(old), before(new)) for old, new in f.aliases),
            )  # fmt: skip
        if f.kind != UPDATE:
            return f
        aliases = tuple((self.of_update(old), new) for old, new in f.aliases)
        return replace(f, reads=tuple(map(self.of_update, f.reads)), aliases=aliases)

    def overlap(self) -> Overlap:
        u, step = self.update, self.update.step
        fragments = [self.fragment(f) for f in step.fragments]
        copies = {t.target: t.source for t in step.transfers if t.source not in u.written}
        copies |= {before(t.target): before(t.source) for t in step.transfers}
        copies |= {newest(t.target): newest(t.source) for t in step.transfers if t.source in self.older}
        copies |= {
            newest(t.target): before(u.origin(self.result[t.source])) for t in step.transfers if t.source in self.waits
        }  # fmt: skip
        old = [n for n in u.read if self.of_deferred(n) != n]
        buffers = {before(b.name): b.name for b in step.buffers} | {newest(b.name): b.name for b in step.buffers}
        made = u.assembled(
            fragments, {t: s for t, s in copies.items() if t not in map(before, (*old, *u.waited_for))}, buffers,
            (*step.arguments, *map(newest, self.older), *map(before, (*old, *u.waited_for))),
            {*u.others, *map(newest, self.older), *(n for n in old if n in step.arguments)},
            [*(before(n) if u.origin(n) in u.written else n for n in step.results),
             *(n for n in old if n not in step.arguments), *u.waited_for],
        )  # fmt: skip
        carried = {before(n): n for n in (*old, *u.waited_for)}
        begun = {}
        for a, r in self.result.items():
            if a in self.waits:
                carried[a] = begun_as = before(r)
                begun[begun_as] = begun[before(u.origin(r))] = a
            elif a in self.older:
                carried[a], carried[newest(a)] = newest(a), r
                begun[newest(a)] = a
            else:
                carried[a] = r
        finishing = {n: self.of_deferred(n) for n in u.read} | {n: before(n) for n in u.waited_for}
        return Overlap(made, u.finish(), carried, begun, finishing)


