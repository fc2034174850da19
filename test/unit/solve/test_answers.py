"""Answers that are looked for early are the same, whoever finds them and however that ends."""

from __future__ import annotations

import pytest

from support import withoutjax


def lines_of(code: str) -> list[str]:
    """What it prints with a copy of the process allowed, and nothing is warned of."""
    setup = """
import time
from pcg.solve import beside
from pcg.solve.answers import Answers
beside._cores = lambda: 2
def square(n):
    return n * n, os.getpid() == here
"""
    return withoutjax.lines_of(code, setup, ("-W", "error"))


def test_what_was_expected_is_found_in_the_copy_and_the_rest_here() -> None:
    code = """
        with Answers(square) as answers:
            print(all(answers.expect(n) for n in (2, 3, 2, 5)), [answers.of(n) for n in (5, 2, 7, 3, 7)])
            print(answers.expect(8), answers.of(8), answers.expect(8), answers.expect(7), len(answers._there))
    """
    assert lines_of(code) == [
        "True [(25, False), (4, False), (49, True), (9, False), (49, True)]", "True (64, False) True True 0",
    ]  # fmt: skip


def test_the_copy_has_what_was_there_at_the_first_question() -> None:
    code = """
        offset = 10
        with Answers(lambda n: n + offset) as answers:
            answers.expect(1)
            offset = 20
            answers.expect(2)
            print(answers.of(1), answers.of(2), answers.of(3))
    """
    assert lines_of(code) == ["11 12 23"]


def test_each_answer_is_found_once() -> None:
    code = """
        calls = []
        with Answers(lambda n: calls.append(n)) as answers:
            print([answers.of(n) for n in (1, 2, 1, 2)], calls)
    """
    assert lines_of(code) == ["[None, None, None, None] [1, 2]"]


@pytest.mark.parametrize("end", ["raise ValueError('there')", "os.kill(os.getpid(), signal.SIGKILL)", "sys.exit(2)"])
def test_what_does_not_end_well_there_is_done_here(end: str) -> None:
    code = f"""
        def answer(n):
            if os.getpid() != here and n == 3:
                {end}
            return n, os.getpid() == here
        with Answers(answer) as answers:
            for n in (2, 3, 4):
                answers.expect(n)
            print([answers.of(n) for n in (2, 3, 4)], answers._copy, answers.expect(5), answers.of(5))
    """
    assert lines_of(code) == ["[(2, False), (3, True), (4, True)] None False (5, True)"]


def test_a_copy_that_was_ended_is_not_needed() -> None:
    code = """
        with Answers(square) as answers:
            answers.expect(2)
            answers.of(2)
            process = answers._copy.process
            process.kill()
            process.join()
            answers.expect(3)
            print(answers.of(2), answers.of(3), answers._copy)
    """
    assert lines_of(code) == ["(4, False) (9, True) None"]


def test_an_error_is_raised_here() -> None:
    code = """
        def answer(n):
            raise KeyError(n)
        with Answers(answer) as answers:
            answers.expect(2)
            try:
                answers.of(2)
            except KeyError as error:
                print("raised", error)
    """
    assert lines_of(code) == ["raised 2"]


def test_a_copy_ends_once_nothing_is_needed_of_it() -> None:
    code = """
        def answer(n):
            time.sleep(0.0 if n < 3 else 600.0)
            return n
        with Answers(answer) as answers:
            answers.expect(1)
            answers.of(1)
            answers.expect(2)
            answers.expect(3)
            answers._copy.connection.poll(600)
            process = answers._copy.process
            answers.forgo(4)
            print(process.is_alive())
            answers.forgo(3)
            print(process.is_alive(), answers.of(2), answers._copy)
        with Answers(answer) as answers:
            answers.expect(3)
            answers.expect(4)
            answers.forgo(4)
            print(answers._copy.process.is_alive())
    """
    assert lines_of(code) == ["True", "False 2 None", "True"]


@pytest.mark.parametrize("why", ["beside.forbid()", "beside._cores = lambda: 1", "sys.modules['jaxlib'] = sys"])
def test_where_no_copy_can_be_made_all_is_done_here(why: str) -> None:
    code = f"""
        {why}
        with Answers(square) as answers:
            print(answers.expect(2), answers.of(2), answers._copy)
            answers.forgo(2)
    """
    assert lines_of(code) == ["False (4, True) None"]


def test_nothing_is_left_of_the_copy() -> None:
    code = """
        def files():
            return len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
        def once():
            with Answers(lambda n: time.sleep(600)) as answers:
                answers.expect(1)
                process = answers._copy.process
                alive = process.is_alive()
            answers.close()
            return alive, process.is_alive()
        print(*once())
        before = files()
        print(*once(), files() == before)
    """
    assert lines_of(code) == ["True False", "True False True"]
