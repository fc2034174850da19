"""Which passes decide the layouts of a program, and with what options.  Needs no jax."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch_mlir import ir

from pcg.baselines.recipe import PLANS, SYNONYMS
from pcg.driver import plan_ir
from pcg.driver.module_program import entry_function
from pcg.driver.plan import Plan
from pcg.ir import annotation
from pcg.layout import ShardSpec
from pcg.machine import Machine
from pcg.passes import lookup, pipelines
from pcg.passes.base import Pass
from pcg.passes.dist_propagate import PropagatePass
from pcg.passes.pcg_baseline import BaselinePass
from pcg.passes.pcg_search import SearchPass
from pcg.passes.pcg_select import SelectPass
from pcg.passes.pipeline import Pipeline
from pcg.passes.pipelines import Settings
from pcg.planning.propagation import ENGINES
from pcg.planning.search import SELECTED

#: How placement is decided.  `auto`: `global` if the program or its user annotates something, else `select` on a
#: cluster, `search` without; `select`: the best of several plans by simulation; `unity`: the search as Unity does it;
#: `propagate`: `dist-propagate` with the options of `search`; else an engine of it.
STRATEGIES = ("auto", "search", "select", "unity", "propagate", *ENGINES)
#: Baselines, which are strategies too: `pcg-baseline` says what they are.
BASELINES = (*PLANS, *SYNONYMS)
#: Options of which propagation has nothing to choose: what they demand is checked when the program is lowered.
_CHECKED_LATER = ("memory_limit", "recompute", "accumulate", "planner_cache")


@dataclass(frozen=True)
class Options:
    """What the user fixed: strategy, memory, argument and result specs (by flat index), search options.

    `strategy` is one of `STRATEGIES` or `BASELINES`, or a plan.
    `refine`: whether mesh axes may be refined for reshapes; None: as far as the pipelines do.  For sub-axes that a
    layout names they always are.
    """

    strategy: str | Plan = "auto"
    memory_limit: int | None = None
    in_specs: Mapping[int, ShardSpec] = field(default_factory=dict)
    out_specs: Mapping[int, ShardSpec] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    refine: bool | None = None

    @property
    def machine(self) -> Machine:
        """The machine that is planned for."""
        return self.search.get("machine") or Machine.default()

    @property
    def settings(self) -> Settings:
        """What all passes of a pipeline are made with."""
        return Settings(self.machine)

    @property
    def searches_ahead(self) -> bool:
        """Whether the search may begin while rewrites of the program are looked for, in another process."""
        alone = self.search.get("jobs", 0) == 1 or self.machine.cluster is not None
        return self.strategy in ("auto", "search") and bool(self.search.get("substitutions", True)) and not alone

    def refinement(self) -> list[Pass]:
        """What refines mesh axes, as far as the user wants, else as the pipelines do."""
        return pipelines.refine(self.refine)


def run(
    module: ir.Module, passes: Sequence[Pass], remarks: list[tuple[str, str, str]], seconds: dict[str, float]
) -> None:
    """Run passes one after another, then MLIR's verifier; adds their remarks, and how long each took."""
    for n, p in enumerate(passes, 1):
        start = time.perf_counter()
        pipeline = Pipeline([p])
        pipeline.run(module, verify=n == len(passes))
        seconds[p.name] = seconds.get(p.name, 0.0) + time.perf_counter() - start
        remarks += [(p.name, plan_ir.where(location), text) for p, location, text in pipeline.remarks()]


def decide(
    module: ir.Module, options: Options, remarks: list[tuple[str, str, str]], seconds: dict[str, float],
    on_cpu: bool = False, donated: Collection[int] = (), search: Pass | None = None,
) -> Any:  # fmt: skip
    """Let the strategy decide the layouts; `search` is the pass that does, if it is made already."""
    strategy = strategy_of(module, options)
    if strategy == "select":
        return select(module, options, remarks, seconds, on_cpu, donated)
    if strategy in BASELINES:
        return _propagate_baseline(module, strategy, _of_one(options), remarks, seconds)
    chosen = search or chooser(strategy, options, on_cpu)
    run(module, [chosen], remarks, seconds)
    return getattr(chosen, "outcome", None) or next(iter(getattr(chosen, "measures", {}).values()), None)


def _of_one(options: Options) -> Options:
    """The options of what has one candidate; the choice of the mesh, which comes before, has several."""
    return dataclasses.replace(options, search={k: v for k, v in options.search.items() if k != "jobs"})


def chooser(strategy: str, options: Options, on_cpu: bool) -> Pass:
    """The pass that decides the layouts, of a strategy that is neither "select" nor a baseline.

    Raises:
      ValueError: it has no such option.
    """
    options = _of_one(options)
    name = "pcg-search" if strategy in ("search", "unity") else "dist-propagate"
    cls = lookup(name)
    assert cls is not None
    chosen = cls()
    known = {f.name for f in dataclasses.fields(cls)}
    wanted = _wanted(options, on_cpu and "backend" in known)
    if strategy == "unity" and wanted.setdefault("algorithm", "unity") != "unity":
        raise ValueError(f"algorithm {wanted['algorithm']!r} and strategy 'unity' are given; expected one of them")
    if strategy in ENGINES:
        if wanted.setdefault("engine", strategy) != strategy:
            raise ValueError(f"engine {wanted['engine']!r} and strategy {strategy!r} are given; expected one of them")
    for key, value in wanted.items():
        if key in known:
            setattr(chosen, key, value)
        elif key not in _CHECKED_LATER:
            raise _unknown(key, name, known)
    return chosen


def strategy_of(module: ir.Module, options: Options) -> str:
    """The strategy of the options, for "auto" the one that it is for this program."""
    strategy = str(options.strategy)
    check_strategy(strategy)
    return _default(module, options) if strategy == "auto" else strategy


def _wanted(options: Options, on_cpu: bool) -> dict[str, Any]:
    """The options of passes that choose, by name."""
    wanted = dict(options.search)
    if options.memory_limit is not None:
        wanted["memory_limit"] = options.memory_limit
    if on_cpu:
        wanted.setdefault("backend", "cpu")
    return wanted


def _unknown(key: str, who: str, known: Iterable[str]) -> ValueError:
    return ValueError(f"unknown option {key!r}; {who} has {', '.join(sorted(known)) or 'none'}")


def _default(module: ir.Module, options: Options) -> str:
    """The strategy that "auto" is for this program."""
    if annotated(module):
        return "global"
    machine = options.search.get("machine")
    # Another algorithm is chosen to see what that one does.
    plain = options.search.get("algorithm", "exact") == "exact"
    return "select" if machine is not None and machine.cluster is not None and plain else "search"


def select(
    module: ir.Module, options: Options, remarks: list[tuple[str, str, str]], seconds: dict[str, float], on_cpu: bool,
    donated: Collection[int],
) -> Any:  # fmt: skip
    """The best of several plans by simulation; the search options are those of pcg-select and of pcg-search."""
    chosen = SelectPass(meshes="declared", donated=donated)
    own = {f.name for f in dataclasses.fields(SelectPass)} - {"search", "refine", "donated"}
    its = {f.name for f in dataclasses.fields(SearchPass)} - {"mesh"}
    for key, value in _wanted(options, on_cpu).items():
        if key not in own | its:
            raise _unknown(key, "pcg-select", own | its)
        setattr(chosen if key in own else chosen.search, key, value)
    run(module, [chosen], remarks, seconds)
    if SELECTED in module.operation.attributes:
        del module.operation.attributes[SELECTED]
    return chosen.outcome


def _propagate_baseline(
    module: ir.Module, plan: str, options: Options, remarks: list[tuple[str, str, str]], seconds: dict[str, float]
) -> Any:
    """The layouts of a baseline, completed by propagation; the search options are those of both passes."""
    chosen, propagation = BaselinePass(plan=plan), PropagatePass(engine="dataflow")
    known = {f.name: p for p in (propagation, chosen) for f in dataclasses.fields(p)}
    del known["plan"], known["engine"]
    for key, value in options.search.items():
        if key not in known:
            raise _unknown(key, f"strategy {plan!r}", known)
        axes = known[key] is chosen and isinstance(value, str)
        setattr(known[key], key, (value,) if axes else value)
    run(module, [chosen, propagation], remarks, seconds)
    return next(iter(propagation.measures.values()), None)


def check_strategy(strategy: str) -> None:
    """Raise ValueError for what is not one of `STRATEGIES` or `BASELINES`."""
    if strategy not in (*STRATEGIES, *BASELINES):
        names = ", ".join(map(repr, (*STRATEGIES, *BASELINES)))
        raise ValueError(f"strategy {strategy!r}; expected one of {names}, a Plan, or the path of a saved plan (.json)")


def annotated(module: ir.Module) -> bool:
    """Whether some layout in the program names an axis."""
    return annotation.names_axes(entry_function(module))
