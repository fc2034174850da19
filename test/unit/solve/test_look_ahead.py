"""Answers that are looked for in advance are the same, in the same order, whoever finds them and however that ends."""

from __future__ import annotations

import pytest

from support import withoutjax


def lines_of(code: str) -> list[str]:
    """What it prints with a copy of the process allowed, and nothing is warned of."""
    setup = """
import time
from pcg.solve import beside
from pcg.solve.look_ahead import LookAhead
beside._cores = lambda: 2
def slow(state, n):
    time.sleep(0.002)
    return state * n, os.getpid() == here
"""
    return withoutjax.lines_of(code, setup, ("-W", "error"))


def test_every_answer_comes_in_its_turn_and_some_from_the_copy() -> None:
    code = """
        with LookAhead(slow) as ahead:
            found = list(ahead.answers(3, range(40)))
        print([n for n, _ in found] == [3 * n for n in range(40)], {mine for _, mine in found})
    """
    assert lines_of(code) == ["True {False, True}"]


def test_what_was_found_for_questions_that_nobody_asks_any_more_is_dropped() -> None:
    code = """
        with LookAhead(slow) as ahead:
            for stop in range(1, 12):
                found = []
                for answer in ahead.answers(stop, range(100 * stop, 100 * stop + 12)):
                    found.append(answer[0])
                    if len(found) == stop:
                        break
                assert found == [stop * n for n in range(100 * stop, 100 * stop + stop)], found
            print(ahead._copy is not None)
    """
    assert lines_of(code) == ["True"]


def test_a_slow_answer_of_the_copy_is_waited_for() -> None:
    code = """
        def answer(state, n):
            if os.getpid() != here:
                time.sleep(0.1)
            return n, os.getpid() == here
        with LookAhead(answer) as ahead:
            found = list(ahead.answers(3, range(12)))
        print([n for n, _ in found] == list(range(12)), {mine for _, mine in found})
    """
    assert lines_of(code) == ["True {False, True}"]


@pytest.mark.parametrize("end", ["raise ValueError('there')", "os.kill(os.getpid(), signal.SIGKILL)", "sys.exit(2)"])
def test_what_does_not_end_well_there_is_done_here(end: str) -> None:
    code = f"""
        def answer(state, n):
            if os.getpid() != here and n > 5:
                {end}
            time.sleep(0.002)
            return n
        with LookAhead(answer) as ahead:
            print(list(ahead.answers(3, range(20))) == list(range(20)), ahead._copy)
            print(list(ahead.answers(3, range(20))) == list(range(20)), ahead._copy)
    """
    assert lines_of(code) == ["True None", "True None"]


def test_a_copy_that_was_ended_between_two_searches_is_not_needed() -> None:
    code = """
        with LookAhead(slow) as ahead:
            list(ahead.answers(3, range(10)))
            process = ahead._copy.process
            process.kill()
            process.join()
            print([n for n, _ in ahead.answers(3, range(10))] == [3 * n for n in range(10)], ahead._copy)
    """
    assert lines_of(code) == ["True None"]


def test_an_error_is_raised_once_its_question_is_near() -> None:
    code = """
        def answer(state, n):
            if n == 7:
                raise KeyError(n)
            return n
        found = []
        with LookAhead(answer) as ahead:
            try:
                for n in ahead.answers(3, range(20)):
                    found.append(n)
            except KeyError as error:
                print("raised", error, found == list(range(len(found))), 4 <= len(found) <= 7)
    """
    assert lines_of(code) == ["raised 7 True True"]


@pytest.mark.parametrize("why", ["beside.forbid()", "beside._cores = lambda: 1", "sys.modules['jaxlib'] = sys"])
def test_where_no_copy_can_be_made_all_is_done_here(why: str) -> None:
    code = f"""
        {why}
        with LookAhead(slow) as ahead:
            print({{mine for _, mine in ahead.answers(3, range(20))}}, ahead._copy)
    """
    assert lines_of(code) == ["{True} None"]


def test_of_few_questions_there_is_no_copy() -> None:
    code = """
        with LookAhead(slow) as ahead:
            print(list(ahead.answers(3, ())), {mine for _, mine in ahead.answers(3, range(3))}, ahead._copy)
    """
    assert lines_of(code) == ["[] {True} None"]


def test_nothing_is_left_of_the_copy() -> None:
    code = """
        def files():
            return len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
        def once():
            with LookAhead(slow) as ahead:
                list(ahead.answers(3, range(10)))
                process = ahead._copy.process
                alive = process.is_alive()
            ahead.close()
            return alive, process.is_alive()
        print(*once())
        before = files()
        print(*once(), files() == before)
    """
    assert lines_of(code) == ["True False", "True False True"]
