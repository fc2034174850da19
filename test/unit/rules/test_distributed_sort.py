"""Columnsort sorts from the stated block size on, by the 0-1 principle; what is planned and what it costs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pcg.layout import Mesh
from pcg.rules.blocks import OtherDim
from pcg.rules.distributed_sort import COMPARISON, SortExchange, sort_flops, sort_plan
from pcg.rules.factor import Assignment


def sorts(n: int, size: int, zeros: np.ndarray) -> bool:
    """Whether columnsort sorts every input that has, once its blocks are sorted, `zeros` zeros in them.

    The algorithm compares nothing but elements, so it sorts everything if it sorts zeros and ones.
    """
    x = (np.arange(size) >= zeros[..., None]).astype(np.int8)
    x = np.sort(x.reshape(-1, n, size // n, n).transpose(0, 3, 1, 2).reshape(-1, n, size))
    x = np.sort(x.reshape(-1, n, n, size // n).transpose(0, 2, 3, 1).reshape(-1, n, size))
    half = size // 2
    line = x.reshape(len(x), n * size)
    inner = line[:, size - half : n * size - half].reshape(-1, n - 1, size)
    line = np.concatenate(
        [line[:, : size - half], np.sort(inner).reshape(len(x), -1), line[:, n * size - half :]], axis=1
    )
    return bool((np.diff(line) >= 0).all())


@pytest.mark.parametrize(("n", "size"), [(3, 9), (3, 12), (3, 15), (4, 20)])
def test_columnsort_sorts_every_input(n: int, size: int) -> None:
    assert sort_plan(n, size, 0.0).algorithm == "columns"
    assert sorts(n, size, np.array(list(itertools.product(range(size + 1), repeat=n))))


@pytest.mark.parametrize(("n", "size"), [(5, 35), (6, 54), (7, 77), (8, 104), (16, 464)])
def test_columnsort_sorts_random_inputs(n: int, size: int) -> None:
    assert sort_plan(n, size, 0.0).algorithm == "columns"
    assert sorts(n, size, np.random.default_rng(0).integers(0, size + 1, (2000, n)))


@pytest.mark.parametrize(("n", "size"), [(3, 6), (4, 16), (8, 56)])
def test_smaller_blocks_are_gathered_because_columnsort_would_not_sort_them(n: int, size: int) -> None:
    assert sort_plan(n, size, 0.0).algorithm == "gather"
    assert not sorts(n, size, np.random.default_rng(0).integers(0, size + 1, (20000, n)))


def test_bytes_and_work_of_the_ways() -> None:
    few, many = sort_plan(4, 1024, 2.0), sort_plan(8, 1024, 2.0)
    assert (few.algorithm, few.wire_elements) == ("gather", 3 * 1024)
    assert (many.algorithm, many.wire_elements) == ("columns", 2 * 7 * 128 + 1024)
    assert sort_plan(4, 1024, 1.2).algorithm == "columns"  # (1.5 + 1) * 1.2 = 3 blocks
    assert many.work == 4 * sort_flops(1024) == 4 * COMPARISON * 1024 * 10
    assert sort_plan(8, 1000 - 4, 2.0).work == sort_flops(7968)


def test_exchange_counts_rows_launches_and_work() -> None:
    mesh = Mesh.of({"x": 2, "y": 8})
    a = Assignment((("x",), ("y",)))
    rows = (OtherDim((0,), 5, 5),)  # 3 of them a device, one of those padding on the last

    def made(kind: str, scale: float = 0.0, values: int = 0) -> SortExchange:
        return SortExchange(1, kind, 0.0, 0, size=1024, others=rows, ratio=1.5, scale=scale, values=values)

    sends, index, whole = made("all_to_all"), made("permute", scale=0.5), made("all_gather", values=2)
    assert sends.wire_elements(a, mesh) == 3 * 2 * 7 * 16
    assert sends.launches(a, mesh) == 2
    assert index.wire_elements(a, mesh) == 0.5 * 3 * 128
    assert (whole.wire_elements(a, mesh), whole.launches(a, mesh)) == (0, 0)
    assert whole.extra_flops(a, mesh) == 2 * 3 * (4 * sort_flops(128) - sort_flops(1024) / 8)
    assert sends.extra_flops(a, mesh) == 0
    rows_only = Assignment((("x",), ()))
    assert sends.wire_elements(rows_only, mesh) == 0 == whole.extra_flops(rows_only, mesh)
