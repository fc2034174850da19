"""How the program that a plan is for was made of the one that was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pcg.driver import memory
from pcg.driver.plan import Plan
from pcg.driver.plan_document import PlanError
from pcg.ir.errors import PcgError
from pcg.machine import Machine
from pcg.passes.base import Pass
from pcg.passes.pcg_substitute import SubstitutePass
from pcg.planning.search import Search
from pcg.rewrite.substitutions.apply import rules_for

#: Strategies that rewrite programs by rules: those that search.
_SEARCHES = ("search", "select")
#: Options of `pcg.compile` that are of the pass.
OPTIONS = ("exact", "substitutions", "rules")


def of_plan(plan: Plan) -> list[Pass]:
    """The passes that rewrite the normalised program.

    Raises:
      PlanError: its rules are not known.
    """
    return of_decisions(plan.substitutions, plan.memory)


def of_decisions(substitutions: str, saved: Mapping[str, float]) -> list[Pass]:
    """As `of_plan`, of the entries of a plan."""
    found: list[Pass] = []
    if substitutions:
        try:
            replay = SubstitutePass.from_options(substitutions)
            assert isinstance(replay, SubstitutePass)
            rules_for(replay.rules, only_exact=False)
        except (ValueError, PcgError) as error:
            raise PlanError(f"substitutions is {substitutions!r}: {error}") from None
        found.append(replay)
    return [*found, *memory.rewrites(saved)]


def of_search(
    strategy: str, options: Mapping[str, Any], machine: Machine, search: Search | None = None
) -> list[Pass]:  # fmt: skip
    """The pass that rewrites a program before a strategy decides its layouts; `search` is what then does, if one is to
    begin meanwhile.

    Raises:
      ValueError: an option of it is given to another strategy.
    """
    own = {k: options[k] for k in OPTIONS if k in options}
    if isinstance(own.get("rules"), str):
        own["rules"] = tuple(own["rules"].split(","))
    if strategy in _SEARCHES:
        effort = {"effort": options["effort"]} if "effort" in options else {}
        return [SubstitutePass(machine=machine, keep_original=strategy == "select", search=search, **own, **effort)]
    if own and own != {"substitutions": False}:
        raise ValueError(f"option {next(iter(own))!r} is for strategies {', '.join(_SEARCHES)}, not {strategy!r}")
    return []
