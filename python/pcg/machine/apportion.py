"""Apportionment: how many of a number of equal items each of several workers of unequal speed gets."""

from __future__ import annotations

from collections.abc import Mapping

from pcg.machine.errors import ClusterError


def apportion(total: int, speeds: Mapping[str, float], units: Mapping[str, int] | None = None) -> dict[str, int]:
    """Shares of `total`, at least one each, for which the longest of share / speed is least (greedily).

    With `units` a share is a multiple of the worker's unit (the number of its devices) where that costs no worker more
    than a unit against it: items are distributed in units, then the rest one by one.

    Raises:
      ClusterError: fewer things than workers, or a speed that is not positive.
    """
    if total < len(speeds):
        raise ClusterError(f"{total} to share among {len(speeds)}; allowed: one each at least")
    if bad := [n for n, s in speeds.items() if not 0 < s < float("inf")]:
        raise ClusterError(f"the speed of {bad[0]!r} is {speeds[bad[0]]:g}; allowed: a number above 0")
    singly = dict.fromkeys(speeds, 1)
    sizes = units or singly
    if sum(sizes.values()) > total:
        sizes = singly
    found = {name: sizes[name] for name in speeds}
    while left := total - sum(found.values()):
        if fitting := [((found[n] + sizes[n]) / speeds[n], n) for n in speeds if sizes[n] <= left]:
            _, name = min(fitting)
            found[name] += sizes[name]
        else:
            sizes = singly
    return found
