"""Drawing a graph in layers: where boxes and lines go.

Every box is below those that it reads.  The order inside of layers is that of Sugiyama's method, by igraph; a line past
several layers goes through a place of its own in each, so that it crosses no box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: Pixels between neighbours in a layer, and between layers.  A choice.
GAP, ROOM = 24.0, 34.0
#: The width of a line that passes a layer, and how often layers are gone through.  Choices.
_LINE, _SWEEPS = 8.0, 8


class NoIgraph(ImportError):
    """igraph is not installed."""

    def __init__(self) -> None:
        super().__init__("drawing graphs needs igraph: pip install 'pcg[html]'")


@dataclass(frozen=True)
class Box:
    """Where the middle of a box is, and how large it is."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Drawing:
    """Boxes in the order of their sizes, and of each edge the points that its line goes through, from top to bottom."""

    boxes: tuple[Box, ...]
    lines: tuple[tuple[tuple[float, float], ...], ...]
    width: float
    height: float


def import_igraph() -> Any:
    """The library.

    Raises:
      NoIgraph: it is not installed.
    """
    try:
        import igraph
    except ImportError:
        raise NoIgraph from None
    return igraph


def draw(sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Drawing:
    """Boxes of these widths and heights, and edges between them, from lower numbers to higher ones.

    Raises:
      NoIgraph: igraph is not installed.
    """
    igraph = import_igraph()
    if not sizes:
        return Drawing((), (), 0.0, 0.0)
    layers = _layers(len(sizes), edges)
    widths = [w for w, _ in sizes]
    chains: list[list[int]] = []
    steps: list[tuple[int, int]] = []
    for source, target in edges:
        passed = range(layers[source] + 1, layers[target])
        chain = [source, *range(len(widths), len(widths) + len(passed)), target]
        widths += [_LINE] * len(passed)
        layers += passed
        steps += zip(chain, chain[1:], strict=False)
        chains.append(chain)
    graph = igraph.Graph(n=len(widths), edges=steps, directed=True)
    rows: list[list[int]] = [[] for _ in range(max(layers) + 1)]
    wanted = [float(x) for x, _ in graph.layout_sugiyama(layers=layers, hgap=1.0).coords[: len(widths)]]
    for n, layer in enumerate(layers):
        rows[layer].append(n)
    xs = _places(rows, wanted, widths, steps)
    tops, heights, y = [], [], 0.0
    for row in rows:
        heights.append(max((sizes[n][1] for n in row if n < len(sizes)), default=0.0))
        tops.append(y)
        y += heights[-1] + ROOM
    boxes = tuple(Box(xs[n], tops[layers[n]] + heights[layers[n]] / 2, *size) for n, size in enumerate(sizes))
    lines = []
    for chain in chains:
        first, last = boxes[chain[0]], boxes[chain[-1]]
        # Through a layer, where others may be higher, lines are vertical.
        points = [(xs[n], y) for n in chain for y in (tops[layers[n]], tops[layers[n]] + heights[layers[n]])][1:-1]
        points = [(first.x, first.y + first.height / 2), *points, (last.x, last.y - last.height / 2)]
        lines.append(tuple(dict.fromkeys(points)))
    return Drawing(boxes, tuple(lines), max(xs[n] + widths[n] / 2 for n in range(len(widths))), y - ROOM)


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Of each box its layer: below all that it reads; what reads nothing is right above the first that reads it."""
    layers = [0] * count
    for source, target in sorted(edges, key=lambda e: e[1]):
        layers[target] = max(layers[target], layers[source] + 1)
    reads = {target for _, target in edges}
    for n in range(count):
        below = [layers[target] for source, target in edges if source == n]
        if n not in reads and below:
            layers[n] = min(below) - 1
    return layers


def _places(
    rows: Sequence[Sequence[int]], wanted: Sequence[float], widths: Sequence[float], steps: Sequence[tuple[int, int]]
) -> list[float]:
    """Middles of boxes: in the order that is `wanted` in each row, as near as possible to those they are joined with.

    Rows are gone through downwards and upwards; in each, boxes are at the means of their neighbours' places, pushed
    apart where they would overlap.
    """
    near: list[list[int]] = [[] for _ in widths]
    for a, b in steps:
        near[a].append(b)
        near[b].append(a)
    order = [sorted(row, key=lambda n: (wanted[n], n)) for row in rows]
    xs = [0.0] * len(widths)
    for row in order:
        _put(row, [0.0] * len(row), widths, xs)
    for sweep in range(_SWEEPS):
        for row in order if sweep % 2 == 0 else reversed(order):
            _put(row, [sum(xs[m] for m in near[n]) / len(near[n]) if near[n] else xs[n] for n in row], widths, xs)
    left = min(xs[n] - widths[n] / 2 for n in range(len(widths)))
    return [x - left for x in xs]


def _put(row: Sequence[int], wanted: Sequence[float], widths: Sequence[float], xs: list[float]) -> None:
    """Put a row's boxes where they are wanted, in this order and without overlaps: least squares, by pooling."""
    groups: list[tuple[float, int]] = []  # of boxes that touch: the mean of where the first is wanted, and how many
    offset, offsets = 0.0, []
    for i, n in enumerate(row):
        if i:
            offset += (widths[row[i - 1]] + widths[n]) / 2 + GAP
        offsets.append(offset)
        groups.append((wanted[i] - offset, 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (b, many), (a, few) = groups.pop(), groups.pop()
            groups.append(((a * few + b * many) / (few + many), few + many))
    starts = [start for start, count in groups for _ in range(count)]
    for n, start, offset in zip(row, starts, offsets, strict=True):
        xs[n] = start + offset
