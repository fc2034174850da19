"""Steps of a pipeline one after another, of which each may begin before the one before it has ended.  Imports jax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from pcg.driver.state import state_of
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.instructions import Instance
from pcg.pipeline.overlap import POST_VALIDATED, before, value_of
from pcg.runtime import jax_compat
from pcg.runtime.pipeline import PipelineExecutable
from pcg.runtime.step_list import StepList

Values = dict[str, Any]
#: Results that are no state, of one step.
Output = list[Any]


@dataclass
class Statistics:
    """What happened to steps."""

    steps: int = 0
    predicted: int = 0
    """Runs of the update with predicted numbers."""
    rolled_back: int = 0
    """Of those the ones whose prediction was wrong."""


class StepSequence:
    """Training steps whose state stays where it is; each of them is over when the next one begins.

    Raises:
      PipelineError: a result that is no state is stacked over layers.
    """

    def __init__(self, executable: PipelineExecutable, flat: Sequence[Any]) -> None:
        self.executable, self.program = executable, executable.program
        self.statistics = Statistics()
        leaves, state = self.program.program.results, state_of(self.program.program)
        self.output_numbers = [r for r in range(len(leaves)) if r not in state]
        for r in self.output_numbers:
            if self.program.stacked_results and self.program.stacked_results[r]:
                text = f"result {leaves[r].name} is stacked over layers and no state"
                raise PipelineError(f"{text}; allowed in steps: stacked results that are state")
        self._outputs = [executable.result_values[r][0] for r in self.output_numbers]
        self._next = {a: r for r, a in self.program.state.items()}
        self._single = StepList(executable, executable.instructions)
        with jax_compat.x64(executable.needs_x64):
            values = executable.named(flat)
        self._state: Values = {a: values[a] for a in self._next}

    def step(self, flat: Sequence[Any], peaks: list[int] | None = None) -> list[Output]:
        """Dispatch a step; returns the results of the steps of which they cannot change any more, in order.

        Args:
          flat: the arguments; state is not read.
          peaks: raised to the bytes that are there, by group.
        """
        self.statistics.steps += 1
        with jax_compat.x64(self.executable.needs_x64):
            return self._step(flat, peaks)

    def finish(self) -> tuple[Values, list[Output]]:
        """The state after all steps, by argument, and the results that `step` has not returned."""
        with jax_compat.x64(self.executable.needs_x64):
            return self._finish()

    def _step(self, flat: Sequence[Any], peaks: list[int] | None) -> list[Output]:
        return [self._output(self._run_single(flat, peaks))]

    def _finish(self) -> tuple[Values, list[Output]]:
        return self._state, []

    def _values(self, flat: Sequence[Any], state: Values) -> Values:
        """What a step begins with."""
        values = self.executable.named(flat, without=self._next) | state
        for act in self.executable.first:
            act(values)
        return values

    def _run_single(self, flat: Sequence[Any], peaks: list[int] | None) -> dict[Instance, Any]:
        slots = self._single.filled(self._values(flat, self._state))
        self._state = {}  # what is written over, or freed, has no other owner
        self._single.run(0, slots, {}, peaks=peaks)
        at = self._single.after(slots)
        self._state = {a: at[r, None] for a, r in self._next.items()}
        return at

    def _output(self, at: Mapping[Instance, Any]) -> Output:
        return [self.executable.result(n, at) for n in self._outputs]


class _Overlapped(StepSequence):
    """Steps of which each does something of the one before."""

    def __init__(self, executable: PipelineExecutable, flat: Sequence[Any]) -> None:
        super().__init__(executable, flat)
        assert executable.overlap is not None and executable.between is not None and executable.finishing is not None
        self.overlap = executable.overlap
        self._between = StepList(executable, executable.between)
        self._finishing = StepList(executable, executable.finishing)
        self._undecided = [n for n in self._outputs if n in self.overlap.finish.results]
        self._carried: Values = {}
        """What the next step takes over of the last one: there is none, or nothing is left to do of it, if empty."""
        self._pending: dict[Instance, Any] = {}
        """What the last step left, where some of its results are not there or can change."""

    def _carry(self, at: Mapping[Instance, Any]) -> Values:
        return {n: at[source, None] for n, source in self.overlap.carried.items()}

    def _run_finish(self, carried: Values) -> dict[Instance, Any]:
        """Run what waits for numbers of all devices, with what a next step would take over."""
        slots = self._finishing.filled({n: carried[a] for n, a in self.overlap.finishing.items()})
        self._finishing.run(0, slots, {})
        return self._finishing.after(slots)


class PostValidated(_Overlapped):
    """Steps whose updates run with predicted numbers, and again with the right ones where these are others.

    `confirmations`: steps in a row with the same numbers, before they are predicted.
    """

    def __init__(self, executable: PipelineExecutable, flat: Sequence[Any], confirmations: int) -> None:
        super().__init__(executable, flat)
        self._confirmations, self._agreed = confirmations, 0
        self._known: dict[str, bytes] = {}
        """The numbers of a step: what is predicted."""
        self._known_arrays: Values = {}
        self._unseen: Values = {}
        """Those of the last step without a prediction."""
        self._guesses: Values = {}

    def _step(self, flat: Sequence[Any], peaks: list[int] | None) -> list[Output]:
        found: list[Output] = []
        if self._agreed >= self._confirmations:
            if self._run_predicted(flat, found, peaks):
                return found
        at = self._run_single(flat, peaks)
        if self._unseen:
            self._note(self._unseen)
        self._unseen = {x: at[x, None] for x in self.program.predicted}
        return [*found, self._output(at)]

    def _run_predicted(self, flat: Sequence[Any], found: list[Output], peaks: list[int] | None) -> bool:
        """Dispatch a step with a prediction, unless that of the step before was wrong; whether it was dispatched."""
        slots = self._between.filled(self._values(flat, self._state) | self._guessed() | self._carried)
        channels: Values = {}
        self._between.run(0, slots, channels, peaks=peaks)
        if not self._validate(found):
            return False
        self._between.run(1, slots, channels, peaks=peaks)
        at = self._between.after(slots)
        carried = self._carry(at)
        self._state = {a: carried.pop(a) for a in self._next}
        self._carried = carried
        self.statistics.predicted += 1
        if self._undecided:
            self._pending = at
        else:
            found.append(self._output(at))
        return True

    def _finish(self) -> tuple[Values, list[Output]]:
        found: list[Output] = []
        self._validate(found)
        return self._state, found

    def _validate(self, found: list[Output]) -> bool:
        """Wait for the verdict on the last step, and restore what is wrong; whether nothing was.

        Results that were not known are added to `found`.
        """
        if not self._carried:
            return True
        carried, self._carried = self._carried, {}
        pending, self._pending = self._pending, {}
        numbers = self._read({x: carried[before(x)] for x in self.program.predicted})
        right = self._agrees(numbers)
        if not right:
            self.statistics.rolled_back += 1
            at = self._run_finish(carried)
            self._state |= {a: at[r, None] for a, r in self._next.items() if (r, None) in at}
            pending |= at if pending else {}
            self._known, self._agreed, self._guesses, self._unseen = numbers, 0, {}, {}
        if pending:
            found.append(self._output(pending))
        return right

    def _guessed(self) -> Values:
        """Predicted numbers, on the groups that read them."""
        if not self._guesses:
            source = {b: a for a, b in self.program.transfers}
            for n in self.overlap.step.arguments:
                if n != (value := value_of(n)) and n not in self.overlap.carried:
                    self._guesses[n] = self.executable.place(self._known_arrays[source.get(value, value)], value)
        return self._guesses

    def _read(self, numbers: Values) -> dict[str, bytes]:
        return {n: x.tobytes() for n, x in jax.device_get(numbers).items()}

    def _note(self, arrays: Values) -> None:
        numbers = self._read(arrays)
        self._agreed = self._agreed + 1 if self._known and self._agrees(numbers) else 1
        self._known, self._known_arrays = numbers, arrays

    def _agrees(self, numbers: Mapping[str, bytes]) -> bool:
        """Whether the update does the same with these numbers as with those that are known."""
        different = {n for n, bits in numbers.items() if bits != self._known[n]}
        return all(
            any(
                n == other and predicate not in different and numbers[predicate] == np.bool_(value).tobytes()
                for other, predicate, value in self.program.unread
            )
            for n in different
        )


class TwoVersions(_Overlapped):
    """Steps whose microbatches read the parameters from before the update that runs beside them (PipeDream-2BW)."""

    def __init__(self, executable: PipelineExecutable, flat: Sequence[Any]) -> None:
        super().__init__(executable, flat)
        self._carried = dict(self._state)
        place = executable.place
        self._done: Values | None = {n: place(self._state[a], value_of(n)) for n, a in self.overlap.begun.items()}
        """What the next step would write of what is left to do of the last one; None if it does."""
        self._carried |= self._done
        self._state = {}

    def _step(self, flat: Sequence[Any], peaks: list[int] | None) -> list[Output]:
        slots = self._between.filled(self._values(flat, self._carried))
        self._carried = {}
        self._between.run(0, slots, {}, self._done, peaks)
        self._between.run(1, slots, {}, self._done, peaks)
        at = self._between.after(slots)
        found: list[Output] = []
        if self._pending:
            done = {(n, None): at[before(n), None] for n in self._undecided}
            found.append(self._output(self._pending | done))
        self._done, self._carried = None, self._carry(at)
        if self._undecided:
            self._pending = at
        else:
            found.append(self._output(at))
        return found

    def _finish(self) -> tuple[Values, list[Output]]:
        found: list[Output] = []
        if self._done is None:
            at = self._run_finish(self._carried)
            self._done = {before(n): x for (n, _), x in at.items()}
            if self._pending:
                found.append(self._output(self._pending | at))
                self._pending = {}
        values = self._carried | self._done
        return {a: values[self._newest(a)] for a in self._next}, found

    def _newest(self, argument: str) -> str:
        """Where the newest version of a state is."""
        return next((n for n, a in self.overlap.begun.items() if a == argument and n != argument), argument)


def step_sequence(executable: PipelineExecutable, flat: Sequence[Any], confirmations: int) -> StepSequence:
    """Steps as the program says that they follow each other; `flat`: the arguments of the first one."""
    if executable.overlap is None:
        return StepSequence(executable, flat)
    if executable.program.updates == POST_VALIDATED:
        return PostValidated(executable, flat, confirmations)
    return TwoVersions(executable, flat)
