"""Drawings in layers: boxes below those that they read, none over another, and no line through a box."""

from __future__ import annotations

import sys
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.viz.page.layered import GAP, Box, NoIgraph, draw

Size = tuple[float, float]


@st.composite
def graphs(draw_: st.DrawFn) -> tuple[list[Size], list[tuple[int, int]]]:
    count = draw_(st.integers(1, 25))
    sizes = draw_(st.lists(st.tuples(st.integers(10, 300), st.integers(10, 80)), min_size=count, max_size=count))
    pairs = list(combinations(range(count), 2))
    edges = draw_(st.lists(st.sampled_from(pairs), unique=True, max_size=40)) if pairs else []
    return [(float(w), float(h)) for w, h in sizes], edges


def sides(box: Box) -> tuple[float, float, float, float]:
    return box.x - box.width / 2, box.x + box.width / 2, box.y - box.height / 2, box.y + box.height / 2


def inside(point: tuple[float, float], box: Box) -> bool:
    left, right, top, bottom = sides(box)
    return left + 0.1 < point[0] < right - 0.1 and top + 0.1 < point[1] < bottom - 0.1


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_no_box_is_over_another(graph: tuple[list[Size], list[tuple[int, int]]]) -> None:
    sizes, edges = graph
    drawing = draw(sizes, edges)
    assert [(b.width, b.height) for b in drawing.boxes] == sizes
    for box in drawing.boxes:
        left, right, top, bottom = sides(box)
        assert left > -1e-6 and top > -1e-6
        assert right < drawing.width + 1e-6 and bottom < drawing.height + 1e-6
    for a, b in combinations(map(sides, drawing.boxes), 2):
        beside = a[1] + GAP < b[0] + 1e-6 or b[1] + GAP < a[0] + 1e-6
        assert beside or a[3] < b[2] or b[3] < a[2]


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_lines_go_down_and_past_boxes(graph: tuple[list[Size], list[tuple[int, int]]]) -> None:
    sizes, edges = graph
    drawing = draw(sizes, edges)
    for (source, target), line in zip(edges, drawing.lines, strict=True):
        first, last = drawing.boxes[source], drawing.boxes[target]
        assert line[0] == (first.x, sides(first)[3]) and line[-1] == (last.x, sides(last)[2])
        for (x0, y0), (x1, y1) in pairwise(line):
            assert y0 <= y1 and (x0, y0) != (x1, y1)
            steps = [(x0 + (x1 - x0) * i / 40, y0 + (y1 - y0) * i / 40) for i in range(41)]
            assert not any(inside(p, b) for p in steps for b in drawing.boxes)


def test_what_reads_nothing_is_right_above_its_reader() -> None:
    drawing = draw([(10.0, 10.0)] * 4, [(0, 1), (1, 3), (2, 3)])
    assert drawing.boxes[1].y == drawing.boxes[2].y > drawing.boxes[0].y
    assert draw([], []).boxes == ()


def test_without_igraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(NoIgraph, match=r"^drawing graphs needs igraph: pip install 'pcg\[html\]'$"):
        draw([(1.0, 1.0)], [])
