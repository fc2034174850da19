"""The short path of a call: a program of one computation, on futures that are where those of the last call were.

All that a call does is looked up before.  One function is written for the program, with its parameters and its number
of results, as there is no loop over one argument that costs less than what it loops over.  What is counted for others
(queues, deadlines, records) is counted once for several calls, or by who needs it.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Any

from jax.tree_util import treedef_is_leaf

from pcg.controller.slices import Slice
from pcg.controller.store import Account, Entry, ObjectStore
from pcg.runtime import direct_call, jax_compat
from pcg.runtime.islands.backend import Loaded
from pcg.runtime.islands.future import ShardedFuture
from pcg.runtime.islands.lane import Lane
from pcg.runtime.islands.launch_lock import LaunchLock
from pcg.runtime.islands.run import QuickRuns

ShortPath = Callable[..., Any]
"""What users call: it does the call, whatever its arguments."""

# `more` counts what is in flight, and says whether another run may be launched; `wake` has others launch what came
# meanwhile, if something did.
_CALL = """
def call({parameters}):
    {unpack}
    if {elsewhere} or blocks or slice.placement.version != version or context() != settings{checks}:
        return slow({forward})
    {values}
    f0 = None
    if ident() == main:
        lock.inside = True
        try:
            {main}
        finally:
            lock.inside = False
    elif take():
        try:
            {launch}
        finally:
            give()
    if f0 is None:
        return slow({forward})
    if waiting:
        wake()
    return {returned}
"""
_LAUNCH = """\
if {free}{there} and (lane.pending < lane.room and lane.client is client or more(lane, quick)):
    try:
        {results}= {run}
    except Exception as error:
        {errors}= failed(error, ())
    else:
        island.newest = {smallest}
        lane.pending += 1
        {gang}
    {futures}"""
_FUTURE = "f{i} = Future(); f{i}._value = r{i}; f{i}._run = quick; f{i}.placed = to{i}; new((ref(f{i}), entry{i}))"


@dataclass(frozen=True)
class Front:
    """What users call, which has a short path now and then."""

    client: str
    function: Callable[..., Any]
    """Theirs, whose parameters it has."""
    name: str
    slow: Callable[..., Any]
    """What is called instead where a call is not as the one before."""
    blocks: set[Any]
    """While it is not empty calls may be parts of a block, and are slow."""

    def parameters(self, count: int) -> list[str] | None:
        """Names of the `count` parameters of the function, if it has no others and calls may use their names."""
        try:
            found = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):
            return None
        plain = [x.name for x in found if x.kind is x.POSITIONAL_OR_KEYWORD and x.default is x.empty]
        return plain if len(plain) == len(found) == count else None


@dataclass(frozen=True)
class Shared:
    """What a dispatcher shares with short paths."""

    store: ObjectStore
    lock: LaunchLock
    more: Callable[[Lane, QuickRuns], bool]
    waiting: Any
    """Runs that wait."""
    wake: Callable[[], None]


def short_path(
    front: Front, loaded: Loaded, arguments: Sequence[ShardedFuture], slice: Slice, version: int, tree: Any, lane: Lane,
    account: Account, shared: Shared,
) -> ShortPath | None:  # fmt: skip
    """What runs a program on futures that are where `arguments` are, on a slice of that version.

    Args:
      tree: of the results.

    None if the program is more than one computation, or its arguments are random keys or not computed yet.
    """
    node, values = loaded.direct, [a._value for a in arguments]
    if node is None or any(type(v) is not jax_compat.ARRAY for v in values):
        return None
    count, number, direct, lock = len(arguments), len(loaded.outputs), node.direct(values), shared.lock
    names: dict[str, Any] = {
        "slow": front.slow, "blocks": front.blocks, "slice": slice, "version": version,
        "context": jax_compat.trace_context, "settings": jax_compat.trace_context(),
        "Future": ShardedFuture, "Array": jax_compat.ARRAY, "unflatten": tree.unflatten,
        "lock": lock, "take": lock.take, "give": lock.give, "main": lock.main, "ident": threading.get_ident,
        "lane": lane, "client": front.client, "more": shared.more, "waiting": shared.waiting, "wake": shared.wake,
        "quick": QuickRuns(loaded, front.client, node.island), "new": shared.store.new.append, "ref": weakref.ref,
        "island": node.island, "failed": node.failed,
    }  # fmt: skip
    if direct is None:
        names |= {"run": node.call}
    else:
        names |= {"execute": direct.execute, "handlers": direct.handlers}
        names |= {"nans": direct_call.NANS, "infs": direct_call.INFS}
    names |= {f"at{i}": a.placed for i, a in enumerate(arguments)}
    for i, (what, _, nbytes) in enumerate(loaded.outputs):
        names |= {f"to{i}": what, f"entry{i}": Entry(account, 0, nbytes)}
    many = range(count)
    # Where a parameter has a name that the function uses it has none, and looks what it is called with.
    own = {*names, "error", "type", "len", "Exception", *(f"{x}{i}" for x in "vrf" for i in range(max(count, number)))}
    parameters = front.parameters(count)
    named = parameters is not None and own.isdisjoint(parameters)
    a = parameters if parameters is not None and named else [f"a{i}" for i in many]
    elsewhere = [f"type({x}) is not Future or {x}.placed is not at{i}" for i, x in enumerate(a)]
    results = "".join(f"r{i}, " for i in range(number))
    if direct is None:
        run, got = f"run({', '.join(f'v{i}' for i in many)})", "r0 " if number == 1 else results
    else:
        run, got = f"execute([{', '.join(f'v{i}' for i in direct.reads)}]).consume_with_handlers(handlers)", results
    launch = dict(
        there=" and ".join(f"type(v{i}) is Array and not v{i}.is_deleted()" for i in many) or "True",
        results=got,
        run=run,
        errors=results,
        smallest=f"r{node.smallest}",
        gang=f"island.gang(r{node.smallest})" if node.gang else "pass",
        futures="; ".join(_FUTURE.format(i=i) for i in range(number)),
    )
    futures = ", ".join(f"f{i}" for i in range(number))
    unpack = f"if kwargs or len(args) != {count}: return slow(*args, **kwargs)\n    "
    unpack += "".join(f"{x}, " for x in a) or "() "
    unpack += "= args"
    source = _CALL.format(
        parameters=", ".join(a) if named else "*args, **kwargs",
        unpack="pass" if named else unpack,
        forward=", ".join(a),
        elsewhere=" or ".join(elsewhere) or "False",
        checks="" if direct is None else " or nans.value or infs.value",
        values="; ".join(f"v{i} = {x}._value" for i, x in enumerate(a)) or "pass",
        main=indent(_LAUNCH.format(free="not lock.busy and ", **launch), 12 * " ").lstrip(),
        launch=indent(_LAUNCH.format(free="", **launch), 12 * " ").lstrip(),
        returned="f0" if number == 1 and treedef_is_leaf(tree) else f"unflatten([{futures}])",
    )
    exec(compile(source, f"<short path of {loaded.name}>", "exec"), names)
    found: ShortPath = names["call"]
    found.__name__ = found.__qualname__ = front.name
    return found
