"""Steps that cannot be."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pcg.pipeline.errors import PipelineError
from pcg.pipeline.step import Buffer, Fragment, Step, Transfer

STEP = Step(
    2,
    2,
    (Buffer("x", 0, 4), Buffer("y", 0, 4), Buffer("y1", 1, 4), Buffer("z", 1, 4), Buffer("sum", 1, 4, False),
     Buffer("p", 1, 4, False), Buffer("q", 1, 4, False)),
    (Fragment("F0", "F", 0, 0, ("x",), ("y",)), Fragment("F1", "F", 1, 1, ("y1", "p"), ("z",), ("sum",)),
     Fragment("update", "update", 1, 1, ("p", "sum"), ("q",), aliases=(("p", "q"),))),
    (Transfer("y", "y1"),),
    ("x", "p"),
    ("p",),
    ("z", "q"),
)  # fmt: skip


def fragment(name: str, **fields: Any) -> dict[str, Any]:
    return {"fragments": tuple(dataclasses.replace(f, **fields) if f.name == name else f for f in STEP.fragments)}


def more(**fields: Any) -> dict[str, Any]:
    return {name: (*getattr(STEP, name), *values) for name, values in fields.items()}


def test_a_step() -> None:
    assert [f.name for f in STEP.sequence] == ["F0", "F1", "update"] and STEP.sums == {"sum"}
    assert [*STEP.instances("x")] == [0, 1] and [*STEP.instances("p")] == [None]
    assert STEP.instance("p", 1) == ("p", None) and STEP.copies == {"y": (0,)}


@pytest.mark.parametrize(
    "change, says",
    [
        ({"microbatches": 0}, "0 microbatches on 2 devices; allowed: 1 or more"),
        (more(buffers=(Buffer("x", 0, 4),)), "buffers: 'x' is there 2 times"),
        (more(buffers=(Buffer("w", 2, 4),)), "buffer w on device 2; allowed: 0 to 1"),
        (more(buffers=(Buffer("w", 1, -4),)), "buffer w of -4 bytes; allowed: 0 or more"),
        (more(buffers=(Buffer("w", 1, 4),)), "nothing writes buffer w, and it is no argument"),
        (more(fragments=(STEP.fragments[0],)), "fragments: 'F0' is there 2 times"),
        ({"results": ("w",)}, "results: there is no buffer 'w'"),
        ({"results": ("z", "z")}, "results: 'z' is there 2 times"),
        ({"donated": ("z",)}, "z is donated and no argument; allowed: arguments"),
        (fragment("F0", kind="G"), "fragment F0 is of kind 'G'; allowed: F, B, W, BW, prepare, deferred, update"),
        (fragment("F0", device=5), "fragment F0 on device 5; allowed: 0 to 1"),
        (fragment("F0", workspace=-1), "fragment F0 has a workspace of -1 bytes; allowed: 0 or more"),
        (fragment("F0", reads=("x", "x")), "fragment F0: 'x' is there 2 times"),
        (fragment("F0", reads=("w",)), "fragment F0: there is no buffer 'w'"),
        (fragment("F0", reads=("x", "p")), "fragment F0 on device 0 uses p, which is on device 1"),
        (fragment("F1", writes=("z", "q")), "fragment F1 runs once per microbatch and uses q, one per step"),
        (fragment("update", reads=("z", "p")), "fragment update runs once per step and uses z, one per microbatch"),
        (fragment("F1", writes=(), accumulates=("z",)), "fragment F1 accumulates z; allowed: F, B, W, BW, in buffers"),
        (fragment("update", aliases=(("p", "p"),)), "fragment update, aliases: 'p' is there 2 times"),
        (fragment("update", aliases=(("q", "p"),)), "fragment update writes p over q; allowed: what it writes over what"),
        ({"donated": ()}, "fragment update writes over p, which is there after the step"),
        ({"results": ("p",)}, "fragment update writes over p, which is there after the step"),
        ({"buffers": (*STEP.buffers[:-1], Buffer("q", 1, 8, False))}, "writes q over p; allowed: buffers of the same"),
        (more(transfers=(Transfer("w", "y1"),)), "transfer from w to y1: there is no buffer 'w'"),
        ({"transfers": (Transfer("z", "y1"),)}, "transfer from z to y1: both are on device 1; allowed: two devices"),
        ({"transfers": (Transfer("x", "q"),)}, "one is one per microbatch, the other one per step"),
        (more(transfers=(Transfer("y1", "y"),)), "transfer from y to y1: y is a copy itself; allowed: what a fragment"),
        (more(transfers=(Transfer("x", "z"),)), "buffer z is written twice: fragment F1, a transfer from x"),
        (more(arguments=("y",)), "buffer y is written twice: an argument, fragment F0"),
        (fragment("F1", stage=0), "stage 0 has fragments F0 (F) and F1 (F); allowed: one F, and one B and one W or one BW"),
        (fragment("F1", stage=0, kind="B"), "stage 0 is on device 0 (F0) and on 1 (F1)"),
        (fragment("F1", reads=("y1", "q")), "fragment F1 (F) reads q, which is there after all microbatches"),
        (fragment("update", kind="prepare"), "fragment update (prepare) reads sum, which is there after all microbatches"),
    ],
)  # fmt: skip
def test_steps_that_cannot_be(change: dict[str, Any], says: str) -> None:
    with pytest.raises(PipelineError) as error:
        dataclasses.replace(STEP, **change)
    assert says in str(error.value)


def test_b_and_bw() -> None:
    b, bw = (Fragment(k, k, 0, 0, (), (k.lower(),)) for k in ("B", "BW"))
    buffers = (Buffer("b", 0, 1), Buffer("bw", 0, 1))
    for fragments in ((b, bw), (bw, b)):
        with pytest.raises(PipelineError, match="stage 0 has fragments"):
            Step(1, 1, buffers, fragments)


def test_fragments_that_wait_for_each_other() -> None:
    names = ("a", "b")
    fragments = tuple(Fragment(f"make {n}", k, 0, 0, (o,), (n,)) for n, o, k in zip(names, reversed(names), "FB", strict=True))
    with pytest.raises(PipelineError, match="fragments wait for each other: make [ab], make [ab]"):
        Step(1, 1, (Buffer("a", 0, 1), Buffer("b", 0, 1)), fragments)
