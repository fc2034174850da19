"""The short path of a call: a program of one computation, on futures that are where those of the last call were.

All that a call does is looked up before.  One function is written for the program, with its numbers of arguments and
results, as there is no loop over one argument that costs less than what it loops over.  What is counted for others
(queues, deadlines, records) is counted once for several calls, or by who needs it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from pcg.controller.slices import Slice
from pcg.controller.store import Entry, ObjectStore
from pcg.runtime import jax_compat
from pcg.runtime.islands.backend import Loaded
from pcg.runtime.islands.future import Placed, ShardedFuture
from pcg.runtime.islands.lane import Lane
from pcg.runtime.islands.launch_lock import LaunchLock
from pcg.runtime.islands.run import QuickRuns

#: The futures of the results, or one where there is one; None where this is not all there is to do.
ShortPath = Callable[[tuple[Any, ...]], Any]

# `settle` counts what is in flight, and says whether another run may be launched; `wake` has others launch what came
# meanwhile, if something did.
_CALL = """
def call(args):
    if len(args) != {count} or slice.placement.version != version:
        return None
    {arguments}= args
    if {elsewhere}:
        return None
    if ident() == main:
        lock.inside = True
        try:
            if lock.busy:
                return None
            {launch}
        finally:
            lock.inside = False
    else:
        if not take():
            return None
        try:
            {launch}
        finally:
            give()
    if waiting:
        wake()
    return {returned}
"""
_LAUNCH = """\
{values}
if {lost}:
    return None
if (lane.pending >= lane.room or lane.quick is not quick) and not settle(lane, quick):
    return None
try:
    {results}= run({inputs})
except Exception as error:
    {errors}= failed(error, ())
else:
    island.newest = {smallest}
    lane.pending += 1
    {gang}
{put}"""
_PUT = "f{i} = Future(); f{i}._value = r{i}; f{i}._run = quick; f{i}.placed = to{i}; new((ref(f{i}), entry{i}))"


def short_path(
    client: str, loaded: Loaded, placed: Sequence[Placed], slice: Slice, version: int, lane: Lane, store: ObjectStore,
    lock: LaunchLock, settle: Callable[[Lane, QuickRuns], bool], waiting: Any, wake: Callable[[], None],
) -> ShortPath | None:  # fmt: skip
    """What runs a program on futures that are as `placed` says, on a slice of that version.

    None if the program is more than one computation, or its arguments are random keys.
    """
    node = loaded.direct
    if node is None or any(jax_compat.is_key(p.dtype) for p in placed):
        return None
    count, number = len(placed), len(loaded.outputs)
    account = store.account(client, loaded.islands[0])
    names: dict[str, Any] = {
        "slice": slice, "version": version, "Future": ShardedFuture, "Array": jax_compat.ARRAY,
        "lock": lock, "take": lock.take, "give": lock.give, "main": lock.main, "ident": threading.get_ident,
        "lane": lane, "settle": settle,
        "quick": QuickRuns(loaded, client, node.island),
        "run": node.call, "failed": node.failed, "island": node.island, "new": store.new.append, "ref": weakref.ref,
        "waiting": waiting, "wake": wake,
    }  # fmt: skip
    names |= {f"at{i}": p for i, p in enumerate(placed)}
    for i, (what, _, nbytes) in enumerate(loaded.outputs):
        names |= {f"to{i}": what, f"entry{i}": Entry(account, 0, nbytes)}
    many = range(count)
    results = "".join(f"r{i}, " for i in range(number))
    launch = _LAUNCH.format(
        values="; ".join(f"v{i} = a{i}._value" for i in many) or "pass",
        lost=" or ".join(f"type(v{i}) is not Array or v{i}.is_deleted()" for i in many) or "False",
        results="r0 " if number == 1 else results,
        errors=results,
        inputs=", ".join(f"v{i}" for i in many),
        smallest=f"r{node.smallest}",
        gang=f"island.gang(r{node.smallest})" if node.gang else "pass",
        put="; ".join(_PUT.format(i=i) for i in range(number)),
    )
    source = _CALL.format(
        count=count,
        arguments="".join(f"a{i}, " for i in many) or "() ",
        elsewhere=" or ".join(f"type(a{i}) is not Future or a{i}.placed is not at{i}" for i in many) or "False",
        launch=launch.replace("\n", "\n" + 12 * " "),
        returned="f0" if number == 1 else f"[{', '.join(f'f{i}' for i in range(number))}]",
    )
    exec(compile(source, f"<short path of {loaded.name}>", "exec"), names)
    found: ShortPath = names["call"]
    return found
