"""Orders that are none, problems that cannot be, and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pcg.pipeline.automatic import automatic
from pcg.pipeline.bounds import bounds
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.placement import placement
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.schedule import Schedule, Task
from pcg.tools.pcg_schedule import main

TWO = Pipeline.uniform((0, 1), 1, (1, 2, 3, 0.5))


def test_times_and_memory_of_an_order() -> None:
    s = Schedule.parse(TWO, ["F0 B0 W0", "F0 BW0"])
    # F0 ends at 1, crosses in 0.5, F0 and BW0 take 6, cross in 0.5, B0 and W0 take 5.
    assert s.makespan == 1 + 0.5 + 6 + 0.5 + 5 and s.spans() == (13.0, 6.0)
    assert s.peaks() == (1.0, 1.0) and s.task(s.order[1][1]) == Task("BW", 0, 1)
    assert Schedule.parse(TWO, ["F0 B0 W0", "F0 B0 W0"]).makespan == 10.0  # B goes on before W


@pytest.mark.parametrize(
    "lines, says",
    [
        (["F0 B0 W0"], "orders of 1 devices; allowed: one per device, 2"),
        (["F0 B0 W0", "F0 X0"], "task 'X0' of device 1; allowed: as F0"),
        (["F0 B0 W0", "F0 B0"], "microbatch 0 has 1 F 1 B 0 W 0 BW on stage 1"),
        (["F0 B0 W0", "F0 F0 B0 W0"], "microbatch 0 has 2 F"),
        (["F0 B0 W0", "F0.0 B0 W0"], "device 1 has task 0; allowed: tasks of its stages"),
        (["F0 B0 W0", "F7 B0 W0"], "task 'F7'; allowed: 1 microbatches, 2 stages"),
        (["B0 F0 W0", "F0 B0 W0"], "tasks wait for each other: device 0 never starts B0"),
    ],
)
def test_orders_that_are_none(lines: list[str], says: str) -> None:
    with pytest.raises(PipelineError, match=says.replace(".", r"\.")):
        Schedule.parse(TWO, lines)


@pytest.mark.parametrize(
    "change, says",
    [
        ({"device": (0, 2)}, "devices of stages"),
        ({"microbatches": 0}, "0 microbatches; allowed: 1 or more"),
        ({"forward": (1.0,)}, "forward: 1 values; allowed: one per stage, 2"),
        ({"backward": (1.0, 0.0)}, "backward 0; allowed: finite numbers above 0"),
        ({"weight": (1.0, -1.0)}, "weight -1; allowed: finite numbers of 0 or more"),
        ({"transfer": float("nan")}, "transfer nan"),
        ({"residual": (2.0, 1.0)}, "stage 0: 2 remains until W, of 1"),
        ({"limit": (1.0,)}, "limits of 1 devices; allowed: one per device, 2"),
        ({"limit": (0.5, 1.0)}, "memory limit 0.5 of device 0: one microbatch needs 1 there; a limit of 1 fits"),
    ],
)
def test_pipelines_that_cannot_be(change: dict, says: str) -> None:
    fields = {"device": (0, 1), "microbatches": 1, "forward": (1.0, 1.0), "backward": (1.0, 1.0), "weight": (1.0, 1.0)}
    with pytest.raises(PipelineError, match=says.replace(".", r"\.")):
        Pipeline(**(fields | change))


def test_stages_that_remember_nothing() -> None:
    p = Pipeline.uniform((0, 1), 3, (1, 1, 1, 0), memory=(0, 0), limit=0)
    assert bounds(p).span == 9 and automatic(p).span == 9


def test_placements() -> None:
    assert placement("v", 3, 3) == (0, 1, 2, 2, 1, 0, 0, 1, 2)
    for form, chunks, says in (("w", 1, "placement 'w'"), ("linear", 2, "a linear placement of 2 chunks")):
        with pytest.raises(PipelineError, match=says):
            placement(form, 2, chunks)


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    try:
        status = main(["--stages", "4", "--microbatches", "8", *argv])
    except SystemExit as error:
        status = int(str(error.code))
    return (status, *capsys.readouterr())


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--costs", "1,1,1,0", "--memory-limit", "4", "--json")
    found = json.loads(out)
    assert status == 0 and found["span"] == found["makespan"] == 27 and max(found["peak_memory"]) <= 4
    pipeline = Pipeline.uniform(tuple(found["device_of_stage"]), 8, (1, 1, 1, 0))
    assert Schedule.parse(pipeline, found["order"]).span == 27 and found["bound_span"] == 27
    status, out, _ = run(capsys, "--costs", "1,1,1,0", "--memory-limit", "4", "--chunks", "2")
    assert out.splitlines()[0].startswith("automatic, v placement, 8 microbatches,")
    assert out.splitlines()[1] == "span 24, lower bound 24 (so it is the least), bubble 0.00%"
    status, out, _ = run(capsys, "--costs", "1,1,1,0", "--schedule", "zb-h1", "--objective", "makespan")
    assert "makespan 27, lower bound 27 (so it is the least), bubble 11.11%" in out
    assert "device 3: memory 2.5: F0 B0 F1 B1 F2 B2 F3 B3 W0 F4" in out


def test_exact_schedules(capsys: pytest.CaptureFixture[str]) -> None:
    """The solver proves more than the bounds do."""
    argv = ["--microbatches", "4", "--costs", "1,1,1,0", "--placement", "v", "--memory-limit", "2", "--effort", "quick", "--json"]
    known = json.loads(run(capsys, *argv)[1])
    status, out, _ = run(capsys, *argv, "--exact")
    found = json.loads(out)
    assert status == 0 and found["span"] == found["bound_span"] == 17.5 and found["proved_span"]
    assert known["bound_span"] < 17.5 and not known["proved_span"]
    pipeline = Pipeline.uniform(tuple(found["device_of_stage"]), 4, (1, 1, 1, 0), limit=2)
    assert Schedule.parse(pipeline, found["order"]).span == 17.5


def test_costs_of_stages(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "costs.json"
    costs = {k: [1, 1, 1, n] for k, n in (("cost_f", 2), ("cost_b", 2), ("cost_w", 2))}
    costs |= {"mem_f": [4] * 4, "mem_b": [-3] * 4, "mem_w": [-1] * 4}
    file.write_text(json.dumps(costs))
    status, out, _ = run(capsys, "--stage-costs", str(file), "--memory-limit", "16,16,16,20", "--json")
    found = json.loads(out)
    assert status == 0 and found["work"] == 48 and found["span"] == 48 and found["memory_limit"] == [16, 16, 16, 20]
    for change, says in (
        ({"cost_f": [1, 1]}, "costs.json: cost_f has 2 numbers; allowed: one per stage, 4"),
        ({"cost_b": 3}, "costs.json: cost_b is 3; allowed: a list"),
        ({"cost_comm": "x"}, "costs.json: cost_comm is 'x'; allowed: a number"),
        ({"cost_f": [1, 1, True, 1]}, "costs.json: cost_f[2] is true; allowed: a number"),
        ({"mem_w": [-2] * 4}, "costs.json: stage 0: mem_f 4, mem_b -3, mem_w -2; allowed: a sum of 0"),
        ({"cost_w": [1, 1, 1, -1]}, "costs.json: weight -1; allowed: finite numbers of 0 or more"),
    ):
        file.write_text(json.dumps(costs | change))
        status, out, err = run(capsys, "--stage-costs", str(file))
        assert (status, out) == (2, "") and says in err and err.count("\n") == 1
    file.write_text("[]")
    assert (
        "costs.json: the document is an empty list; allowed: an object with cost_f"
        in run(capsys, "--stage-costs", str(file))[2]
    )
    file.write_text('{"cost_f": [1]}')
    assert "costs.json: the document has no 'cost_b'; it needs" in run(capsys, "--stage-costs", str(file))[2]
    file.write_text("{")
    assert "costs.json: a file of costs is a JSON document: " in run(capsys, "--stage-costs", str(file))[2]
    file.write_text("3")
    assert "costs.json: the document is 3; allowed: an object with" in run(capsys, "--stage-costs", str(file))[2]
    file.write_bytes(bytes([200]))
    assert "costs.json: 'utf-8'" in run(capsys, "--stage-costs", str(file))[2]


@pytest.mark.parametrize(
    "argv, says",
    [
        (["--costs", "1,1,1"], "'1,1,1'; allowed: 4 finite numbers of 0 or more, with commas between them"),
        (["--costs", "1,1,1,0", "--memory-limit", "0.9"], "memory limit 0.9 of device 0: one microbatch needs 1 there"),
        (["--costs", "1,1,1,0", "--memory-limit", "4,4"], "limits of 2 devices; allowed: one per device, 4"),
        (["--costs", "1,1,1,0", "--schedule", "x"], "argument --schedule: invalid choice: 'x' (choose from"),
        (["--costs", "1,1,1,0", "--schedule", "zb-h1", "--chunks", "2"], "a linear placement of 2 chunks per device"),
        (["--costs", "1,1,1,0", "--exact", "0"], "argument --exact: '0'; allowed: a finite number above 0"),
        (["--costs", "1,1,1,0", "--exact", "--schedule", "1f1b"], "--exact with --schedule 1f1b; allowed: --schedule auto"),
        (["--stage-costs", "/nowhere.json"], "/nowhere.json: No such file"),
        ([], "one of the arguments --costs --stage-costs is required"),
    ],
)
def test_errors_of_the_command_line(capsys: pytest.CaptureFixture[str], argv: list[str], says: str) -> None:
    status, out, err = run(capsys, *argv)
    assert (status, out) == (2, "") and says in err and err.startswith("pcg-schedule: error: ")
