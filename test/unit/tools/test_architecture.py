"""The generated page on the rooms: its order, its drawing and its recorded ways."""

from __future__ import annotations

from pathlib import Path

from pcg.tools import architecture
from pcg.tools.architecture import ORDER

ROOT = Path(__file__).resolve().parents[3]


def test_a_drawing_leaves_out_what_follows():
    found: dict[str, set[str]] = {room: set() for room in ORDER}
    found["ir"] = {"layout", "dialects"}
    found["dialects"] = {"layout"}
    found["layout"] = {"tools"}  # upward: always drawn
    less = architecture.reduced(found)
    assert less["ir"] == {"dialects"} and less["dialects"] == {"layout"} and less["layout"] == {"tools"}


def test_every_file_is_in_a_room():
    rooms = {room for room, _ in architecture.source_files(ROOT)}
    assert rooms == set(ORDER)


def test_a_module_goes_down_through_the_rooms():
    calls = architecture.through_pcg_opt()
    names = [f"{c.module}.{c.name}" for c in calls]
    order = [
        "pcg.rewrite.normalize.Normalize.run", "pcg.planning.search.Search.run", "pcg.search.build.Builder.build",
        "pcg.search.optimize.optimize", "pcg.search.commit.commit", "pcg.rewrite.insert_reshards.InsertReshards.run",
        "pcg.lower.fuse_collectives.FuseCollectives.run", "pcg.lower.lower_spmd.LowerSpmd.run",
    ]  # fmt: skip
    assert [n for n in names if n in order] == order
    # What is called in a higher room is a function that was handed down: the cost of a collective, work for a copy of
    # the process.
    up = {c.module for c in calls if ORDER.index(c.room) > ORDER.index("" if c.caller == "pcg" else c.caller)}
    assert up <= {"pcg.cost.model", "pcg.search.pure_plans"}


def test_a_function_is_traced_compiled_and_run():
    names = [f"{c.module}.{c.name}" for c in architecture.through_compile()]
    order = [
        "pcg.api.compile.compile", "pcg.frontend.jax_program.trace", "pcg.driver.compile.compile_program",
        "pcg.planning.search.Search.run", "pcg.lower.lower_spmd.LowerSpmd.run",
        "pcg.runtime.device_program.DeviceExecutable.call",
    ]  # fmt: skip
    assert [n for n in names if n in order] == order


def test_every_call_says_what_it_does():
    for c in architecture.through_pcg_opt():
        assert str(c), f"{c.module}.{c.name} has no docstring, and neither has its class"
