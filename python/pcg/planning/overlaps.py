"""The searches that are tried: with the overlap fractions that the user gives, and with others."""

from __future__ import annotations

import dataclasses

from pcg.cost import Overlap
from pcg.layout import Mesh
from pcg.planning.attempt import Common, SearchAttempt
from pcg.planning.search import Search
from pcg.rewrite.refine_mesh import RefineMesh

#: Overlap fractions that searches assume, besides the given.  A choice, as each costs a search: of 22 sets tried for 18
#: cells of docs/quality.md, these come closest to the best one with the fewest.  The first four are for large programs.
OVERLAPS = (
    Overlap(0.5, 0.5), Overlap(0.1, 0.1), Overlap(0.7, 0.2, 0.7), Overlap(0.9, 0.0, 0.5), Overlap(0.5, 0.5, 0.9),
    Overlap(0.0, 0.0, 0.5), Overlap(0.8, 0.8, 0.8, 0.8),
)  # fmt: skip
_FEW = 4


def searches(
    common: Common, plain: Search, mesh: Mesh | None, refine: RefineMesh | None, where: str, few: bool
) -> list[SearchAttempt]:
    """The search `plain` on `mesh`, and quick ones with other overlap fractions (`few`, if wanted), which trade no time
    for memory; `where` ends their names."""
    own = Overlap(*plain.overlaps.values())
    found = []
    for shares in dict.fromkeys((own, *OVERLAPS[: _FEW if few else None])):
        search = dataclasses.replace(
            plain, gradient_overlap=shares.gradient, final_overlap=shares.final, branch_overlap=shares.branch,
            other_overlap=shares.other,
        )  # fmt: skip
        if shares != own:
            search = dataclasses.replace(search, recompute=False, accumulate=False, effort="quick", brief=True)
        name = "search" + "".join(f" {n}={v:g}" for n, v in search.overlaps.items() if v) + where
        found.append(SearchAttempt(common, name, "search", search=search, mesh=mesh, refine=refine))
    return found
