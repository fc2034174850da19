"""Training steps one after another: `for loss in train.steps(params, opt_state, batches=data)`."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax

from pcg.driver.program import Program
from pcg.driver.state import state_of
from pcg.pipeline.errors import PipelineError
from pcg.runtime.call_tree import returned
from pcg.runtime.pipeline import PipelineExecutable
from pcg.runtime.steps import Statistics, StepSequence, Values, step_sequence

Compile = Callable[[tuple[Any, ...], dict[str, Any]], PipelineExecutable]


class Steps(Iterator[Any]):
    """An iterator over the results of training steps that are not state; `state` is what they have made of that.

    It takes a batch from `batches` when a result is taken from it.
    """

    def __init__(
        self, signature: inspect.Signature, compiled: Compile, static: Collection[int], initial: Mapping[str, Any],
        batches: Iterable[Any], confirmations: int,
    ) -> None:  # fmt: skip
        self._signature, self._compile, self._static = signature, compiled, static
        self._initial, self._batches, self._confirmations = dict(initial), iter(batches), confirmations
        parameters = signature.parameters.values()
        self._missing = [p.name for p in parameters if p.name not in initial and p.default is p.empty]
        self._sequence: StepSequence | None = None
        self._executable: PipelineExecutable | None = None
        self._found: list[list[Any]] = []
        self._exhausted = False

    @property
    def statistics(self) -> Statistics:
        """How many steps there were, and how many of them with a prediction, or a wrong one."""
        return Statistics() if self._sequence is None else self._sequence.statistics

    @property
    def state(self) -> Any:
        """The arguments of `steps` after the last step: one, or a tuple of them.

        It waits for what is not decided about that step; more steps may follow.
        """
        if self._sequence is None:
            state = self._initial
        else:
            values, found = self._sequence.finish()
            self._found += found
            state = self._state(values)
        names = [n for n in self._initial if self._is_dynamic(n)]
        return state[names[0]] if len(names) == 1 else tuple(state[n] for n in names)

    def __iter__(self) -> Steps:
        return self

    def __next__(self) -> Any:
        while not self._found:
            try:
                batch = next(self._batches)
            except StopIteration:
                if self._sequence is None or self._exhausted:
                    raise
                self._exhausted = True
                self._found += self._sequence.finish()[1]
                if not self._found:
                    raise
                break
            self._found += self._step(batch)
        return self._output(self._found.pop(0))

    def peaks(self, batch: Any) -> tuple[int, ...]:
        """Do a step, and count: by group, the most bytes on one of its devices, as `PipelineExecutable.counted`."""
        peaks: list[int] = []
        self._found += self._step(batch, peaks)
        return tuple(peaks)

    def _step(self, batch: Any, peaks: list[int] | None = None) -> list[list[Any]]:
        bound = self._bound(batch)
        args, kwargs = bound.args, bound.kwargs
        if self._executable is None:
            executable = self._compile(args, kwargs)
            self._check(executable.program.program)
            self._executable = executable
        executable = self._executable
        dynamic = tuple(x for i, x in enumerate(args) if i not in self._static)
        flat = executable.flat(dynamic, kwargs)
        if self._sequence is None:
            self._sequence = step_sequence(executable, flat, self._confirmations)
            # What follows has the state of the first step; its arrays belong to the steps.
        if peaks is not None:
            peaks += [0] * len(executable.groups)
        return self._sequence.step(flat, peaks)

    def _is_dynamic(self, name: str) -> bool:
        return [*self._signature.parameters].index(name) not in self._static

    def _bound(self, batch: Any) -> inspect.BoundArguments:
        """The arguments of a step."""
        if len(self._missing) == 1:
            values = {self._missing[0]: batch}
        elif isinstance(batch, tuple | list) and len(batch) == len(self._missing):
            values = dict(zip(self._missing, batch, strict=True))
        else:
            text = f"{len(batch)} values" if isinstance(batch, tuple | list) else f"a {type(batch).__name__}"
            names = ", ".join(self._missing) or "nothing"
            raise PipelineError(f"a batch of {text}; allowed: a tuple with {names}")
        values |= self._initial
        ordered = OrderedDict((n, values[n]) for n in self._signature.parameters if n in values)
        return inspect.BoundArguments(self._signature, ordered)

    def _owners(self, program: Program) -> list[str]:
        """The parameter of each input."""
        args, kwargs = jax.tree.unflatten(program.in_tree, range(len(program.inputs)))
        names = [n for i, n in enumerate(self._signature.parameters) if i not in self._static and n not in kwargs]
        owners = [""] * len(program.inputs)
        for name, tree in [*zip(names, args, strict=False), *kwargs.items()]:
            for i in jax.tree.leaves(tree):
                owners[i] = name
        return owners

    def _check(self, program: Program) -> None:
        """State comes once, everything else with each batch.

        Raises:
          PipelineError: an argument does not.
        """
        state = {*state_of(program).values()}
        for i, name in enumerate(self._owners(program)):
            if name in self._initial and i not in state:
                raise PipelineError(
                    f"argument {program.inputs[i].name} is no state: no result of {program.name} is its next value;"
                    " allowed in steps: state, and batches with everything else"
                )
            if name not in self._initial and i in state:
                raise PipelineError(
                    f"argument {program.inputs[i].name} is state of {program.name}, and comes with each batch; allowed:"
                    f" steps({name}=..., batches=...)"
                )

    def _state(self, values: Values) -> dict[str, Any]:
        """The arguments that are state."""
        assert self._executable is not None
        executable, program = self._executable, self._executable.program.program
        flat = executable.outside(values)
        args, kwargs = jax.tree.unflatten(program.in_tree, flat)
        names = [n for i, n in enumerate(self._signature.parameters) if i not in self._static and n not in kwargs]
        found = dict(zip(names, args, strict=False)) | kwargs
        return {n: found[n] for n in self._initial if self._is_dynamic(n)}

    def _output(self, values: Sequence[Any]) -> Any:
        """The results of a step without its state."""
        assert self._sequence is not None and self._executable is not None
        program = self._executable.program.program
        leaves: list[Any] = [_STATE] * len(program.results)
        for r, x in zip(self._sequence.output_numbers, values, strict=True):
            leaves[r] = returned(x, program.results[r])
        tree = self._executable.unflatten(leaves)
        if isinstance(tree, tuple | list):
            parts = [x for x in tree if not _is_state(x)]
            return parts[0] if len(parts) == 1 else tuple(parts)
        return {k: x for k, x in tree.items() if not _is_state(x)} if isinstance(tree, dict) else tree


_STATE = object()


def _is_state(tree: Any) -> bool:
    leaves = jax.tree.leaves(tree)
    return bool(leaves) and all(x is _STATE for x in leaves)
