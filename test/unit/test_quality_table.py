"""The tables of bench/quality.py, from results that were kept."""

from __future__ import annotations

from typing import Any

import pytest

from bench.quality import CLUSTERS, cluster_of
from bench.quality_table import milliseconds, page, rows, text, why


def result(label: str, group: str, seconds: float, fits: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "label": label, "group": group, "seconds": seconds, "compute": seconds / 2, "communication": seconds,
        "exposed": seconds / 2, "peak_bytes": 2e9, "communication_bytes": 1e6, "fits": fits, "where": "any", **more,
    }  # fmt: skip


CACHE = {
    "mlp v100-8": {
        "done ours": {}, "ours": result("ours", "ours", 0.1, searched=0.12, chosen="zero9"),
        "data data=8": result("data data=8", "data", 0.3), "zero1 data=8": result("zero1 data=8", "zero", 0.2),
        "zero3 data=8": result("zero3 data=8", "zero", 0.05, fits=False),
        "megatron model=8": result("megatron model=8", "megatron", 0.01, fits=False),
        "done unity": {"error": "not finished in 5 s"},
    },
    "xdl v100-8": {"ours": result("ours", "ours", 0.3), "data data=8": result("data data=8", "data", 0.2)},
}  # fmt: skip


def test_what_does_not_fit_is_not_the_best() -> None:
    mlp, xdl = rows(CACHE, ["mlp", "xdl"], ["v100-8"])
    assert mlp.expert is not None and mlp.expert["label"] == "zero1 data=8"
    assert mlp.ratio == pytest.approx(0.5) and xdl.ratio == pytest.approx(1.5)
    assert set(mlp.unfit) == {"megatron"} and mlp.notes == ("unity: not finished in 5 s",)
    assert why(mlp).startswith("against zero1 data=8: compute 50.0 for 100")


def test_page_says_where_ours_is_worse() -> None:
    written = page(CACHE, ["mlp", "xdl"], ["v100-8"], {"v100-8": 16e9})
    assert "## v100-8 (16 GB per device)" in written
    assert "| mlp | 100 | 120 | 300 | 200 | (2 GB) | 2.00 | 3.00 | zero9 |" in written
    assert "Worse than another plan: xdl (1.500)." in written
    assert "zero1 data=8" in text(CACHE, ["mlp"], ["v100-8"], plans=True)


@pytest.mark.parametrize("name", CLUSTERS)
def test_clusters_have_as_many_devices_as_they_say(name: str) -> None:
    assert len(cluster_of(name).devices) == int(name.partition("-")[2])


def test_milliseconds() -> None:
    assert [milliseconds(s) for s in (1.2345, 0.12345, 0.0012345)] == ["1234", "123", "1.23"]
