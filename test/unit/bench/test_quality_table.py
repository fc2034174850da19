"""The tables of bench/quality.py, from results that were kept."""

from __future__ import annotations

from typing import Any

import pytest

from bench.quality import CLUSTERS, SIDES, TIERS, Cell, apart, cluster_of, needed, ordered, sides_of
from bench.quality_table import REASONS, milliseconds, page, rows, text, why
from bench.zoo import ZOO


def result(label: str, group: str, seconds: float, fits: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "label": label, "group": group, "seconds": seconds, "compute": seconds / 2, "communication": seconds,
        "exposed": seconds / 2, "peak_bytes": 2e9, "communication_bytes": 1e6, "fits": fits, "where": "any", **more,
    }  # fmt: skip


CACHE = {
    "mlp v100-8": {
        "done plans": {}, "ours": result("ours", "ours", 0.1, chosen="zero9", cpu_seconds=7.6), "search": result("search", "search", 0.12),
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
    assert mlp.ratio == pytest.approx(0.1 / 0.12) and xdl.ratio == pytest.approx(1.5)
    assert set(mlp.unfit) == {"megatron"} and mlp.notes == ("unity: not finished in 5 s",)
    assert why(mlp).startswith("against zero1 data=8: compute 50.0 for 100")


def test_page_says_where_ours_is_worse() -> None:
    written = page(CACHE, ["mlp", "xdl"], ["v100-8"], {"v100-8": 16e9})
    assert "## v100-8 (16 GB per device)" in written
    assert "| mlp | 100 | 300 | 200 | (2 GB) | 120 | 2.00 | 3.00 | 8 | zero9 |" in written
    assert "Worse than another plan: xdl (1.5000)." in written
    assert "The search alone is slower than another plan: none." in written
    assert "## Not run" not in written
    assert "zero1 data=8" in text(CACHE, ["mlp"], ["v100-8"], plans=True)


def test_a_selection_that_did_not_end_is_at_most_what_it_had_estimated() -> None:
    cell = {k: r for k, r in CACHE["mlp v100-8"].items() if k not in ("ours", "done plans")}
    cell["done plans"] = {"error": "not finished in 5 s"}
    cell["unity"] = result("unity", "unity", 0.06)
    (row,) = rows({"mlp v100-8": cell}, ["mlp"], ["v100-8"])
    assert row.so_far and row.ours is not None and row.ours["chosen"] == "search"
    assert row.ratio == pytest.approx(2.0)  # Unity's plan, estimated apart, is none of ours
    written = page({"mlp v100-8": cell}, ["mlp", "dlrm"], ["v100-8", "h100-64"], {"v100-8": 16e9, "h100-64": 80e9})
    assert "| mlp | <= 120 |" in written and "- mlp: plans: not finished in 5 s" in written
    assert "- dlrm: all" in written and "- mlp: h100-64" in written
    assert needed({}, "plans", False) and not needed(cell, "plans", False) and needed(cell, "plans", True)
    assert not needed(cell, "unity", True)


def test_plans_of_what_is_rewritten_are_apart_from_those_of_the_program_as_it_is_written() -> None:
    cell = {
        "done plans": {}, "ours": result("ours", "ours", 0.1, chosen="search, of scaled-rows"),
        "search": result("search", "search", 0.2), "data data=8": result("data data=8", "data", 0.3),
        "rewritten: search": result("rewritten: search", "rewritten", 0.1),
        "rewritten: data data=8": result("rewritten: data data=8", "rewritten", 0.15),
    }  # fmt: skip
    (row,) = rows({"mlp v100-8": cell}, ["mlp"], ["v100-8"])
    assert row.alone == pytest.approx(0.2 / 0.3) and row.ratio == pytest.approx(1.0)
    assert row.expert is not None and row.expert["label"] == "data data=8"
    written = page({"mlp v100-8": cell}, ["mlp"], ["v100-8"], {"v100-8": 16e9})
    assert "| model | ours | data | search | rewritten | gain |" in written
    assert "| mlp | 100 | 300 | 200 | 100 | 3.00 | 3.00 |  | search, of scaled-rows |" in written


def test_cheap_models_come_first_and_none_is_lost() -> None:
    tiers = list(ordered(reversed(ZOO)))
    assert sorted(m for names, _ in tiers for m in names) == sorted(ZOO)
    assert {m for names, _ in TIERS for m in names} <= set(ZOO) and tiers[0][0] and all(t > 0 for _, t in tiers)


@pytest.mark.parametrize("name", CLUSTERS)
def test_clusters_have_as_many_devices_as_they_say(name: str) -> None:
    assert len(cluster_of(name).devices) == int(name.partition("-")[2])


def test_milliseconds() -> None:
    assert [milliseconds(s) for s in (1.2345, 0.12345, 0.0012345)] == ["1234", "123", "1.23"]


def test_reasons_are_of_models_that_there_are() -> None:
    assert set(REASONS) <= set(ZOO)
    written = page(CACHE, ["mlp", "dlrm"], ["v100-8"], {"v100-8": 16e9})
    assert "- **mlp**: " in written and "- **dlrm**: " not in written


def test_why_nothing_fits_is_said_without_a_place() -> None:
    for place in ("pcg.ir.errors.PcgError: -:2:3: ", "model.mlir:12:1: ", ""):
        cell = {"ours": {"label": "ours", "group": "ours", "error": f"{place}pcg-select: no plan fits"}}
        written = page({"mlp v100-8": cell}, ["mlp"], ["v100-8"], {"v100-8": 16e9})
        assert "\n- mlp: ours: pcg-select: no plan fits\n" in written


def test_estimating_plans_again_keeps_what_unitys_side_found():
    cell = {"ours": {"group": "ours"}, "unity": {"group": "unity"}, "done plans": {}}
    assert not any(apart(cell, k) for k in cell)  # its plan was a candidate among the others
    cell["done unity"] = {}
    assert [k for k in cell if apart(cell, k)] == ["unity", "done unity"]
    cell |= {"whole": {"group": "whole"}, "done whole": {}, "least": {"group": "least"}, "done least": {}}
    assert [k for k in cell if not apart(cell, k)] == ["ours", "done plans"]


def test_gains_are_over_the_experts_of_the_paper_and_no_more_than_there_is_to_gain() -> None:
    cells = {
        "dlrm v100-8": {
            "ours": result("ours", "ours", 0.2, cpu_seconds=1.0), "data data=8": result("data data=8", "data", 0.3),
            "whole": result("whole", "whole", 0.8), "least": {"label": "least", "group": "least", "seconds": 0.16},
        },
        "mlp v100-8": {"ours": result("ours", "ours", 0.2), "data data=8": result("data data=8", "data", 0.3)},
        "xdl v100-8": {"whole": result("whole", "whole", 0.8), "done whole": {}},
    }  # fmt: skip
    written = page(cells, ["dlrm", "mlp", "xdl"], ["v100-8", "h100-64"], {"v100-8": 16e9, "h100-64": 80e9})
    assert "| dlrm | 3.6 | tables whole | 4.00 (5.00) |  | 1.50 to 1.50 |" in written
    assert "| mlp | 2.0 | data parallelism | 1.50 |  | 1.50 to 1.50 |" in written
    assert "| xdl | - |" in written, "what is estimated apart is none of ours"


def test_what_is_estimated_apart_is_estimated_where_there_is_such_a_thing() -> None:
    assert sides_of("dlrm", SIDES) == list(SIDES) and sides_of("llama3_8b", SIDES) == ["plans", "unity"]
    assert sides_of("mlp", SIDES) == ["plans", "unity", "least"]


def test_no_plan_is_faster_than_the_contractions_at_the_peak() -> None:
    cell = Cell("xdl", "v100-8")
    whole, least = Cell("xdl", "v100-8", stacked=True).whole(), cell.least()["seconds"]
    # Forward, gradients of weights and of inputs, of which the first layer has none: by hand.
    layers = [(256, 256), (256, 256), (256, 2)]
    flops = 1024 * sum(2 * m * n * 3 for m, n in layers)
    assert least == pytest.approx(flops / cell.machine.device.peak("f32"))
    assert whole["fits"] and least < whole["compute"] < whole["seconds"]
