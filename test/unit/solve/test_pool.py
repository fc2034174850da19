"""Work in processes of their own: results in order, in as many processes as requested, none of which Ctrl-C reaches."""

from __future__ import annotations

import os
import signal

import pytest

from pcg.solve.pool import each
from support.pooled import failing, looked_at


def test_one_process_is_this_one() -> None:
    assert list(each(looked_at, [3, 1, 2], 1)) == [(n, os.getpid(), False) for n in (3, 1, 2)]


def test_results_are_in_order_and_ctrl_c_does_not_reach_their_processes() -> None:
    found = list(each(looked_at, range(6), 2))
    assert [number for number, _, _ in found] == [*range(6)]
    assert all(process != os.getpid() and blocked for _, process, blocked in found)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_an_error_is_raised_here_and_work_can_begin_again() -> None:
    found = each(failing, range(4), 2)
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(ValueError, match="two"):
        next(found)
    assert list(each(failing, [5, 6], 2)) == [5, 6]
