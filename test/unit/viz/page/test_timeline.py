"""Timelines: to scale, with what each task is and where its result goes; traces of the same."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pcg.pipeline.closed_forms import one_f_one_b
from pcg.pipeline.instructions import Run
from pcg.pipeline.lowering import lower
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.progress import peaks
from pcg.pipeline.schedule import Schedule
from pcg.tools.pcg_schedule import main
from pcg.viz.page.timeline import timeline_page
from pcg.viz.timeline import Event, Timeline, planned, planned_step, write_trace
from support.pipelinesteps import training_step

PIPELINE = Pipeline.uniform((0, 1, 0, 1), 2, (2, 4, 2, 0.5), limit=4.0)
SCHEDULE = Schedule.parse(PIPELINE, ["F0.0 F1.0 F0.2 F1.2 B0.2 B1.2 W0.2 W1.2 B0.0 B1.0 W0.0 W1.0", "F0.1 F1.1 F0.3 F1.3 BW0.3 BW1.3 BW0.1 BW1.1"], "one & other")  # fmt: skip


class Page(HTMLParser):
    """Tasks (their rectangles and hover texts) of a page whose tags are closed in order and that loads nothing."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.rects: list[dict[str, str | None]] = []
        self.titles: list[str] = []
        self.text = ""
        assert text.startswith("<!DOCTYPE html>\n") and text.endswith("</html>\n")
        assert not re.search(r"https?:|@import|src=|href=", text)
        self.feed(text)
        self.close()
        assert self.open == [] and "script" not in self.tags and "link" not in self.tags

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)
        if tag == "title":
            self.titles.append("")
        if tag == "rect" and "g" in self.open:
            self.rects.append(dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "title":
            self.titles[-1] += data
        else:
            self.text += data


def test_a_schedule_is_drawn_to_scale() -> None:
    t = planned(SCHEDULE)
    page = Page(timeline_page([t], t.title))
    assert len(page.rects) == len(t.events) == 20
    scale = max(float(r["x"] or 0) for r in page.rects) / max(e.start for e in t.events)
    for event, rect in zip(t.events, page.rects, strict=True):
        assert float(rect["x"] or 0) == pytest.approx(event.start * scale, abs=0.1)
        assert float(rect["width"] or 0) == pytest.approx((event.end - event.start) * scale, abs=0.1)
        assert (rect["class"] or "").split()[0] == event.kind.lower()
        assert ("pale" in (rect["class"] or "")) == (event.shade == 1)
    rows = [float(r["y"] or 0) for r in page.rects]
    assert rows[:12] == [rows[0]] * 12 and rows[12:] == [rows[12]] * 8 and rows[12] > rows[0]
    assert "F of microbatch 0, stage 0\n0 to 1, 1\nto device 1, there at 1.5" in page.titles
    assert "F of microbatch 1, stage 3\n5.5 to 6.5, 1" in page.titles  # the last stage sends nothing
    assert "BW: backward pass that is not split" in page.text and "W: gradient of its parameters" in page.text
    assert page.titles[0] == t.title == "one & other: 4 stages on 2 devices, 2 microbatches"
    assert f"span{dict(t.figures)['span']}" in page.text


def test_memory_of_a_schedule() -> None:
    t = planned(SCHEDULE)
    for d in range(2):
        assert t.peak(d) == SCHEDULE.peaks()[d] and t.memory[d][-1][1] == 0.0
    assert t.memory[0][:3] == ((0.0, 0.0), (0.0, 0.5), (1.0, 1.0))
    assert "memory 2 of 4" in Page(timeline_page([t], t.title)).text
    free = planned(one_f_one_b(Pipeline.uniform((0, 1), 4, (1, 1, 1, 0))))
    assert "memory 2" in Page(timeline_page([free], free.title)).text and " of inf" not in timeline_page([free], "")


def test_instructions_of_a_schedule() -> None:
    """With all memory, in bytes, and what is before and after the microbatches."""
    found = lower(training_step(PIPELINE), SCHEDULE)
    t = planned_step(SCHEDULE, found, (1e4, 1e4))
    assert tuple(t.peak(d) for d in range(2)) == peaks(found)
    runs = [what for own in found.lists for what in own if isinstance(what, Run)]
    assert len(t.events) == len(runs) and t.end == SCHEDULE.makespan
    times = {(e.device, e.label, e.kind): (e.start, e.end) for e in t.events if e.shade == 1}
    assert times[1, "0", "B"] == (times[1, "0", "B"][0], times[1, "0", "W"][0])  # BW of stage 3 is two fragments
    assert {(e.start, e.end) for e in t.events if e.kind == "update"} == {(t.end, t.end)}
    page = Page(timeline_page([t], "a step"))
    assert len(page.rects) == len(runs) and "prepare: before all microbatches" in page.text


def test_planned_and_measured_have_one_scale() -> None:
    """A measured step, in seconds and bytes, which takes twice as long."""
    plan = Timeline("planned", ("gpu 0 <a>",), (Event(0, "0", "F", 0.0, 1e-3, ("first",)),), units=True)
    measured = Timeline(
        "measured", plan.devices, (Event(0, "0", "F", 0.0, 2e-3), Event(0, "", "update", 2e-3, 2e-3)),
        (((0.0, 1024.0), (1e-3, 4096.0)),), (8192.0,), units=True,
    )  # fmt: skip
    page = Page(timeline_page([plan, measured], "a step"))
    assert float(page.rects[1]["width"] or 0) == pytest.approx(2 * float(page.rects[0]["width"] or 0), abs=0.2)
    assert "memory 4.00 KiB of 8.00 KiB" in page.text and "2.00 ms" in page.text
    assert "gpu 0 <a>" in page.text and "measured" in page.text
    assert Page(timeline_page([Timeline("none", (), ())], "none")).rects == []


def test_tasks_that_cannot_be() -> None:
    for event in (Event(1, "", "F", 0, 1), Event(0, "", "X", 0, 1), Event(0, "", "F", 1, 0)):
        with pytest.raises(ValueError, match="allowed: devices 0 to 0, kinds F, B, W, BW, prepare, update"):
            Timeline("", ("a",), (event,))


def test_a_trace(tmp_path: Path) -> None:
    t = planned(SCHEDULE)
    write_trace(tmp_path / "t.json", t, seconds=1e-3)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    tasks = [e for e in events if e["ph"] == "X"]
    assert [(e["pid"], e["name"], e["ts"], e["dur"]) for e in tasks] == [
        (e.device, e.kind + e.label, pytest.approx(1e3 * e.start), pytest.approx(1e3 * (e.end - e.start))) for e in t.events
    ]
    assert tasks[0]["args"] == {"about": "F of microbatch 0, stage 0; 0 to 1, 1; to device 1, there at 1.5"}
    assert [e["args"]["name"] for e in events if e["name"] == "process_name"] == ["device 0", "device 1"]
    assert max(e["args"]["bytes"] for e in events if e["ph"] == "C") == max(SCHEDULE.peaks())


@pytest.mark.parametrize("option", ["--timeline", "--trace"])
def test_the_options(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--stages", "3", "--microbatches", "4", "--costs", "1,1,1,0.5", "--schedule", "zb-h1"]
    file = tmp_path / "file"
    assert main([*argv, option, str(file)]) == 0
    assert capsys.readouterr().out.startswith("zb-h1, linear placement")
    text = file.read_text()
    if option == "--timeline":
        assert len(Page(text).rects) == 3 * 3 * 4 and "zb-h1: 3 stages on 3 devices, 4 microbatches" in text
    else:
        assert sum(e["ph"] == "X" for e in json.loads(text)["traceEvents"]) == 3 * 3 * 4
    assert main([*argv, option, str(tmp_path / "none" / "file")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err == f"pcg-schedule: error: {tmp_path / 'none' / 'file'}: No such file or directory\n"
