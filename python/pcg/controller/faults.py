"""What can go wrong with a run, as typed errors."""

from __future__ import annotations


class RunError(RuntimeError):
    """A run of a program has no results; names the program and why."""

    def again(self) -> RunError:
        """The same error, to be raised: one that is kept in place of values must not refer to who has read it."""
        new = type(self).__new__(type(self), *self.args)
        new.__dict__.update(self.__dict__)
        new.__cause__ = self.__cause__
        return new

    def because(self, cause: BaseException) -> RunError:
        """This error, with a cause that keeps no frames, and so none of their arrays, alive."""
        self.__cause__ = cause.with_traceback(None)
        return self


class NodeError(RunError):
    """A node of a program raised an error; names the node and the user's line that called it."""

    def __init__(self, program: str, node: str, source: str, cause: BaseException | str) -> None:
        what = cause if isinstance(cause, str) else f"{type(cause).__name__}: {cause}"
        super().__init__(f"program {program}, node {node}{f' ({source})' if source else ''}: {what}")
        self.program, self.node, self.source = program, node, source


class IslandFailed(RunError):
    """An island is gone, and with it the runs that were on it."""

    def __init__(self, island: str, run: str, cause: str) -> None:
        super().__init__(f"island {island} failed ({cause}); run {run} was on it")
        self.island, self.run, self.cause = island, run, cause


class DeadlineExceeded(RunError):
    """A run was not done in time; says what it waited for."""


class Cancelled(RunError):
    """The client of a run is gone, or has freed its result."""


class QuotaExceeded(RunError):
    """A run would bring its client above what it may have; names the client, what it has, and what is allowed."""


class ClusterUnavailable(RunError):
    """A cluster that is not there, is not reached, or has ended; names its address and why."""

    def __init__(self, address: str, cause: str) -> None:
        super().__init__(f"cluster {address}: {cause}" if address else f"no cluster: {cause}")
        self.address, self.cause = address, cause
