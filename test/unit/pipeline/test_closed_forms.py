"""Schedules by formula have the bubbles and the memory that their papers say."""

from __future__ import annotations

import pytest

from pcg.pipeline.bounds import bounds
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.named import NAMED, named
from pcg.pipeline.placement import placement
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.schedule import Schedule

SIZES = [(2, 4), (4, 8), (4, 12), (8, 24), (5, 15)]


def made(name: str, p: int, m: int, costs: tuple[float, ...], chunks: int = 0) -> Schedule:
    form = NAMED[name][0]
    return named(Pipeline.uniform(placement(form, p, chunks or (1 if form == "linear" else 2)), m, costs), name)


def bubble(s: Schedule, span: bool = True) -> float:
    return (s.span if span else s.makespan) - max(s.pipeline.work)


@pytest.mark.parametrize("p, m", SIZES)
@pytest.mark.parametrize("f, b, w", [(1, 1, 1), (10, 12, 8), (3, 5, 2)])
class TestLinear:
    @pytest.mark.parametrize("name", ["gpipe", "1f1b", "eager-1f1b"])
    def test_not_split(self, name: str, p: int, m: int, f: int, b: int, w: int) -> None:
        s = made(name, p, m, (f, b, w, 0))
        assert bubble(s) == bubble(s, span=False) == (p - 1) * (f + b + w)

    def test_zb_h1(self, p: int, m: int, f: int, b: int, w: int) -> None:
        s = made("zb-h1", p, m, (f, b, w, 0))
        assert bubble(s) == bubble(s, span=False) == (p - 1) * (f + b - w)
        assert s.peaks() == tuple(p - i + i / 2 for i in range(p))

    def test_transfers_of_gpipe_and_eager_are_not_repeated(self, p: int, m: int, f: int, b: int, w: int) -> None:
        for name in ("gpipe", "eager-1f1b"):
            if name == "gpipe" or f + b + w >= 2:
                assert bubble(made(name, p, m, (f, b, w, 1))) == (p - 1) * (f + b + w) + 2 * (p - 1)

    def test_those_of_1f1b_are_and_zb_h1_has_four_a_stage(self, p: int, m: int, f: int, b: int, w: int) -> None:
        one = 2 * (p - 1) * m / p + 2 * (p - 2) if m % p == 0 else None
        if one is not None and m >= 2 * p:
            assert bubble(made("1f1b", p, m, (f, b, w, 0.25))) == pytest.approx((p - 1) * (f + b + w) + one * 0.25)
            assert bubble(made("zb-h1", p, m, (f, b, w, 0.25))) == pytest.approx((p - 1) * (f + b - w + 1))


@pytest.mark.parametrize("p, m", SIZES)
def test_zb_h2_has_no_bubble_in_a_span_at_twice_the_memory(p: int, m: int) -> None:
    s = made("zb-h2", p, m, (1, 1, 1, 0))
    assert bubble(s) == 0 and bubble(s, span=False) == p - 1
    assert s.peaks()[0] == min(2 * p - 1, m)


def test_zb_h1_has_a_third_of_the_bubble_of_1f1b_and_its_memory() -> None:
    one, h1 = (made(name, 8, 24, (1, 1, 1, 0)) for name in ("1f1b", "zb-h1"))
    assert bubble(h1) * 3 == bubble(one) and max(h1.peaks()) == max(one.peaks()) == 8


@pytest.mark.parametrize("chunks", [2, 4])
def test_interleaving_divides_the_bubble(chunks: int) -> None:
    s = made("interleaved", 4, 8, (2, 3, 1, 0), chunks)
    assert bubble(s) == 3 * 6 / chunks


@pytest.mark.parametrize("p, m", [(4, 8), (4, 12), (8, 24)])
def test_interleaving_with_w_put_off_has_less_than_zb_h1_at_its_memory(p: int, m: int) -> None:
    s = made("interleaved-zb", p, m, (1, 1, 1, 0))
    assert bubble(s) == bubble(s, span=False) == (p - 1) / 2 and max(s.peaks()) == p
    assert bubble(s) < bubble(made("zb-h1", p, m, (1, 1, 1, 0)))


@pytest.mark.parametrize("p, m", [(2, 4), (4, 8), (4, 12), (8, 16)])
def test_zb_v_has_no_bubble_in_a_span_and_the_memory_of_1f1b(p: int, m: int) -> None:
    s = made("zb-v", p, m, (1, 1, 1, 0))
    assert bubble(s) == pytest.approx(0) and bubble(s, span=False) == pytest.approx((p - 1) / 2)
    assert max(s.peaks()) <= p


@pytest.mark.parametrize("p, m", [(4, 8), pytest.param(4, 16, marks=pytest.mark.slow), pytest.param(8, 24, marks=pytest.mark.slow)])
def test_low_memory_schedules(p: int, m: int) -> None:
    one, half, least = (made(name, p, m, (1, 1, 1, 0)) for name in ("1f1b", "v-half", "v-min"))
    assert max(half.peaks()) <= (p + 2) // 2 and max(least.peaks()) <= (p + 4) // 3
    assert bubble(half) <= bubble(least) < bubble(one)
    assert bubble(half) <= bubble(one) / 2


@pytest.mark.parametrize("chunks", [2, 3, 4])
def test_zb_vpp_on_any_number_of_chunks(chunks: int) -> None:
    s = made("zb-vpp", 4, 12, (1, 1, 1, 0), chunks)
    assert s.exceeded() is None and max(s.peaks()) < 4 + 1e-9
    assert bubble(s) < bubble(made("zb-h1", 4, 12, (1, 1, 1, 0)))


def test_orders_as_the_zero_bubble_paper_draws_them() -> None:
    assert made("zb-h1", 4, 8, (1, 1, 1, 0)).text(1) == (
        "F0 F1 F2 B0 F3 B1 W0 F4 B2 W1 F5 B3 W2 F6 B4 W3 F7 B5 W4 B6 W5 B7 W6 W7"
    )
    assert made("zb-h2", 4, 8, (1, 1, 1, 0)).text(2) == (
        "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 W0 F7 B5 W1 B6 W2 B7 W3 W4 W5 W6 W7"
    )
    assert made("1f1b", 2, 4, (1, 1, 1, 0)).text(0) == "F0 F1 BW0 F2 BW1 F3 BW2 BW3"
    assert made("interleaved", 2, 4, (1, 1, 1, 0)).text(1) == (
        "F0.1 F1.1 F0.3 BW0.3 F1.3 BW1.3 F2.1 BW0.1 F3.1 BW1.1 F2.3 BW2.3 F3.3 BW3.3 BW2.1 BW3.1"
    )


@pytest.mark.parametrize("name", NAMED)
def test_no_schedule_beats_the_bounds(name: str) -> None:
    s = made(name, 4, 12, (10, 12, 8, 1))
    least = bounds(s.pipeline)
    assert least.span <= s.span * (1 + 1e-9) and least.makespan <= s.makespan * (1 + 1e-9)


@pytest.mark.parametrize(
    "name, form, chunks, m, says",
    [
        ("zb-h1", "v", 2, 8, r"zb-h1 on devices \[0, 1, 1, 0\]; allowed: one stage on each device"),
        ("interleaved", "interleaved", 2, 5, "interleaved of 5 microbatches on 2 devices; allowed: a multiple"),
        ("interleaved", "v", 2, 4, r"interleaved on devices \[0, 1, 1, 0\]"),
        ("zb-v", "linear", 1, 4, "allowed: the v placement of 2 chunks"),
        ("zb-w", "linear", 1, 4, "schedule 'zb-w'; allowed: auto, gpipe"),
    ],
)
def test_what_does_not_go_together(name: str, form: str, chunks: int, m: int, says: str) -> None:
    with pytest.raises(PipelineError, match=says):
        named(Pipeline.uniform(placement(form, 2, chunks), m, (1, 1, 1, 0)), name)


def test_a_limit_that_a_named_schedule_exceeds() -> None:
    with pytest.raises(PipelineError, match="zb-h2 needs 7 of memory on device 0; the limit is 4; 7 fits all devices"):
        named(Pipeline.uniform(placement("linear", 4, 1), 8, (1, 1, 1, 0), limit=4), "zb-h2")
