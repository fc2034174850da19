"""pytest runs everything: each `.mlir` file with a RUN line is one test, executed by lit in this process.

`python -m pytest` runs all tests, `python -m pytest test/passes/dist-verify.mlir` one lit file.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Before anything starts jax: tests run on eight CPU devices, and may import `examples`, `bench` and `support`.  XLA
# makes code for programs that run once by its quicker emitters, where it still has them, and without LLVM's
# optimisations; its own, in which faults were found, stay.  What XLA_FLAGS says is kept.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
_XLA = {
    "xla_force_host_platform_device_count": "8",
    "xla_backend_optimization_level": "0",
    "xla_llvm_disable_expensive_passes": "true",
}
# jaxlib 0.11 has only one kind of emitters, and ends the process at the name of a flag that it does not know.
if "PCG_TEST_USERS_EMITTERS" not in os.environ and metadata.version("jaxlib").startswith("0.10."):
    _XLA["xla_cpu_use_fusion_emitters"] = "false"
for _flag, _value in _XLA.items():
    if _flag not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --{_flag}={_value}".strip()
# Some hundred processes import the same modules, and compiling these takes longer than most tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.path[:0] = [str(Path(__file__).resolve().parent.parent), str(Path(__file__).resolve().parent)]

from pcg.solve import beside
from support.raycluster import ray_cluster  # noqa: F401

if "PYTEST_XDIST_WORKER" in os.environ:
    beside.forbid()  # it is one of as many processes as there are cores

# Nothing is wrong with an example that takes long where others use the processor, or compiles what the next ones use.
settings.register_profile("pcg", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pcg")

_EXCLUDED = {"Inputs", "unit", "support"}


@pytest.fixture
def in_the_foreground() -> Iterator[None]:
    """Python's handler of Ctrl-C, which it does not have where tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_configure(config: pytest.Config) -> None:
    if "PCG_TEST_EXEC_ROOT" not in os.environ:
        made = tempfile.mkdtemp(prefix="pcg-lit-")
        os.environ["PCG_TEST_EXEC_ROOT"] = made
        config.add_cleanup(lambda: (os.environ.pop("PCG_TEST_EXEC_ROOT", None), shutil.rmtree(made, True)))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix != ".mlir" or _EXCLUDED & set(file_path.parts):
        return None
    if "RUN:" not in file_path.read_text(encoding="utf-8", errors="replace"):
        return None
    return LitFile.from_parent(parent, path=file_path)


@pytest.hookimpl(tryfirst=True)  # before `-m` takes its pick
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    from support import sweeps

    if not any("::" in argument for argument in config.args):  # else what is named runs
        config.stash[sweeps.ABSENT] = sweeps.mark(items)


def _start_tools(config: pytest.Config) -> None:
    """Keep one process ready that runs the tools of lit tests, until the end of this one's tests."""
    from support import toolserver

    if toolserver.ADDRESS not in os.environ:
        address = os.path.join(os.environ["PCG_TEST_EXEC_ROOT"], f"tools-{os.getpid()}")
        server = toolserver.Server(address)
        os.environ[toolserver.ADDRESS] = address
        config.add_cleanup(lambda: (os.environ.pop(toolserver.ADDRESS, None), server.close()))


@pytest.fixture(scope="session")
def tools(request: pytest.FixtureRequest) -> None:
    """`toolserver.client` is of a process that has imported the tools."""
    _start_tools(request.config)


class LitFile(pytest.File):
    """A `.mlir` file."""

    def collect(self) -> Iterator[pytest.Item]:
        yield LitItem.from_parent(self, name="lit")


class LitItem(pytest.Item):
    """All RUN lines of one file."""

    def runtest(self) -> None:
        import lit.worker
        from lit.LitTestCase import load_test_suite

        _start_tools(self.config)
        # What lit's own adaptor for unittest does, but telling a skipped test from a passed one.
        for case in load_test_suite([str(self.path)]):
            result = lit.worker._execute(case._test, case._lit_config)
            if result.code.isFailure:
                raise LitFailure(result.output)
            if result.code.name == "UNSUPPORTED":
                pytest.skip(result.output.strip())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, LitFailure):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, str(self.path.relative_to(self.config.rootpath))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A type that XLA cannot compile for this processor (f16 where there is no F16C) is nothing to test here."""
    try:
        return (yield)
    except Exception as error:
        if type(error).__name__ == "JaxRuntimeError" and "Failed to materialize symbols" in str(error):
            pytest.skip(f"XLA has no code for this processor: {str(error).splitlines()[0]}")
        raise


class LitFailure(Exception):
    """Lit's report of a failed test: the RUN lines, their output and status."""
