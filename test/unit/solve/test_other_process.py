"""Work in a process that is kept: what it finds, what becomes of it where that fails, and that nothing is left over."""

from __future__ import annotations

import pytest

from support import withoutjax

# What is sent is pickled by name, so it is of modules that the other process has.
SETUP = """
import operator, time
from pcg.solve import other_process
from pcg.solve.other_process import start

def OtherProcess(function, *arguments):
    "When the process is there, for whose start nobody waits."
    work = other_process.OtherProcess(function, *arguments)
    if other_process._started is not None:
        other_process._started.result()
    return work
"""


def lines_of(code: str) -> list[str]:
    return withoutjax.lines_of(code, SETUP)


def test_it_is_another_process_and_the_same_one_for_the_next_work() -> None:
    code = """
        start("pcg.planning.search")
        first, second = (OtherProcess(os.getpid).found() for _ in range(2))
        print(first != here, first == second, OtherProcess(operator.add, [1], [2]).found())
    """
    assert lines_of(code) == ["True True [1, 2]"]


@pytest.mark.parametrize(
    "function, argument",
    [("operator.neg", "'text'"), ("os._exit", "3"), ("sys.exit", "2"), ("operator.neg", "lambda: 1"),
     ("signal.raise_signal", "signal.SIGKILL"), ("exec", "'raise TimeoutError'")],
)  # fmt: skip
def test_what_does_not_end_well_there_is_not_found_and_the_next_work_is(function: str, argument: str) -> None:
    code = f"""
        print(OtherProcess({function}, {argument}).found())
        print(OtherProcess(operator.neg, 1).found())
    """
    assert lines_of(code) == ["None", "-1"]


@pytest.mark.parametrize("why", ["beside.forbid()", "beside._cores = lambda: 1"])
def test_without_a_core_nothing_is_started(why: str) -> None:
    code = f"""
        {why}
        start("pcg.planning.search")
        print(OtherProcess(os.getpid).found(), other_process._executor)
    """
    assert lines_of(code) == ["None None"]


def test_nobody_waits_for_its_start() -> None:
    code = """
        from concurrent.futures import Future
        work = OtherProcess(time.sleep, 3600)
        other_process._started = Future()
        print(work.found(), OtherProcess(operator.neg, 1).found())
    """
    assert lines_of(code) == ["None -1"]


def test_what_nobody_waits_for_is_ended() -> None:
    """Else the end of the program would wait for it."""
    code = """
        for how in ("abandon", "ended"):
            first = OtherProcess(os.getpid).found()
            work = OtherProcess(time.sleep, 3600)
            if how == "abandon":
                work.abandon()
            else:
                print(work.found(lambda: True))
            print(OtherProcess(os.getpid).found() != first)
        done = OtherProcess(os.getpid)
        first = done.found()
        done.abandon()  # what is done leaves the process as it is
        print(OtherProcess(os.getpid).found() == first)
        OtherProcess(time.sleep, 3600).abandon()
    """
    assert lines_of(code) == ["True", "None", "True", "True"]


def test_ctrl_c_is_for_the_process_that_waits() -> None:
    code = """
        import threading
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        first = OtherProcess(os.getpid).found()
        os.kill(first, signal.SIGINT)
        print(OtherProcess(os.getpid).found() == first)
        work = OtherProcess(time.sleep, 3600)
        threading.Timer(0.3, os.kill, (here, signal.SIGINT)).start()
        try:
            work.found()
        except KeyboardInterrupt:
            print("interrupted")
    """
    assert lines_of(code) == ["True", "interrupted"]
