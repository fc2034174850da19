"""Work beside the rest gives what it gives here, however it ends there."""

from __future__ import annotations

import pytest

from pcg.solve import beside
from pcg.solve.beside import Beside
from support import withoutjax


def lines_of(code: str) -> list[str]:
    """What it prints, and nothing is warned of."""
    return withoutjax.lines_of(code, "from pcg.solve.beside import Beside\n", ("-W", "error"))


def test_it_is_done_in_a_copy_of_the_process() -> None:
    code = """
        import numpy as np
        known = np.arange(100_000)
        def work():
            print("not printed", end="")  # as a copy leaves what is not flushed
            return os.getpid() != here, known * 2
        apart, found = Beside(work).result()
        print(apart, (found == 2 * known).all(), len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0)
        Beside(work).result()
        print(len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0)
    """
    first, again = lines_of(code)
    apart, same, files = first.split()
    assert (apart, same, files) == ("True", "True", again)


def test_ctrl_c_does_not_reach_the_copy() -> None:
    code = """
        def work():
            return os.getpid() != here, signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
        print(*Beside(work).result(), signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))
    """
    assert lines_of(code) == ["True True False"]


@pytest.mark.parametrize("end", ["pending.abandon()", "pending.found(lambda: True)", "interrupted()"])
def test_what_nobody_waits_for_is_ended(end: str) -> None:
    code = f"""
        import time
        pending = Beside(lambda: time.sleep(3600))
        copy = pending._copy
        def interrupted():
            def raises():
                raise KeyboardInterrupt
            try:
                pending.found(raises)
            except KeyboardInterrupt:
                pass
        found = {end}
        print(found, copy.process.is_alive(), pending.found())
        pending.abandon()
    """
    assert lines_of(code) == ["None False None"]


@pytest.mark.parametrize(
    "end", ["raise ValueError('as it is')", "os.kill(os.getpid(), signal.SIGKILL)", "os._exit(3)", "sys.exit(2)"]
)
def test_what_does_not_end_well_there_is_done_here(end: str) -> None:
    code = f"""
        def work():
            if os.getpid() != here:
                {end}
            return "here"
        print(Beside(work).result())
    """
    assert lines_of(code) == ["here"]


def test_an_error_is_raised_where_the_result_is_asked_for() -> None:
    code = """
        def work():
            raise KeyError("none")
        pending = Beside(work)
        try:
            pending.result()
        except KeyError as error:
            print("raised", error)
    """
    assert lines_of(code) == ["raised 'none'"]


@pytest.mark.parametrize(
    "why", ["beside.forbid()", "beside._cores = lambda: 1", "sys.modules['jaxlib'] = sys", "del os.fork"]
)
def test_where_no_copy_is_made_it_is_done_when_asked_for(why: str) -> None:
    code = f"""
        {why}
        pending = Beside(lambda: print("done") or os.getpid() == here)
        print("asked")
        print(pending.result())
    """
    assert lines_of(code) == ["asked", "done", "True"]


def test_what_nobody_waits_for_is_ended_with_its_block() -> None:
    code = """
        import time
        with Beside(lambda: time.sleep(600)) as pending:
            process = pending._copy.process
            print(process.is_alive())
        print(process.is_alive())
        with Beside(os.getpid) as pending:
            print(pending.result() != here)
    """
    assert lines_of(code) == ["True", "False", "True"]


def test_in_a_process_with_jax_nothing_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    import jax  # noqa: F401

    monkeypatch.setattr(beside, "_allowed", True)
    monkeypatch.setattr(beside, "_cores", lambda: 2)
    assert beside.is_spare() and not beside.is_copied()
    assert Beside(lambda: 1)._copy is None


def test_ctrl_c_that_another_thread_gets_comes_after_the_start() -> None:
    """The other thread does not block it, as those of a library do not; Python tells the main one."""
    code = """
        import threading
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        told, tells = os.pipe()
        os.set_blocking(tells, False)
        signal.set_wakeup_fd(tells)
        with_it = threading.Thread(target=lambda: ended.wait(60))
        ended = threading.Event()
        with_it.start()
        try:
            with beside.without_ctrl_c():
                signal.pthread_kill(with_it.ident, signal.SIGINT)
                os.read(told, 1)  # waits for the other thread, whenever it runs
                print("started")
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted")
        ended.set()
        print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
        with beside.without_ctrl_c():
            pass
        print("on")
    """
    assert lines_of(code) == ["started", "interrupted", "True", "on"]
