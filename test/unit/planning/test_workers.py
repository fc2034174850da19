"""Candidates evaluated side by side, in processes of their own."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from loky import get_reusable_executor
from torch_mlir import ir

import pcg
from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.walk import entry, walk
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine
from pcg.passes.pcg_choose_mesh import ChooseMeshPass
from pcg.passes.pcg_select import SelectPass
from pcg.passes.pipeline import Pipeline
from pcg.planning import select, workers
from pcg.planning.relink import Relinking
from pcg.planning.workers import Workers
from pcg.planning.workspace import Workspace
from pcg.search.outcome import DoesNotFit
from pcg.search.read_structure import StructureReader
from pcg.search.structure import Structure
from support.tasks import Blocked, EndsOther, Fail, Grow, Leak, Look, Sleep, leaked

EXAMPLES = Path(__file__).parents[3] / "examples"
STEP = """
func.func @main(%x: tensor<64x32xf32>, %w: tensor<32x32xf32>) -> tensor<64x32xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x32xf32>)
      -> tensor<64x32xf32> loc("model.py":7:3)
  %1 = stablehlo.tanh %0 : tensor<64x32xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x32xf32>)
      -> tensor<64x32xf32>
  return %2 : tensor<64x32xf32>
}
"""


@pytest.fixture
def module() -> ir.Operation:
    return load_module(STEP, make_context(), "<test>").operation


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program is large enough for processes."""
    monkeypatch.setattr(workers, "_LARGE", 0)


def test_tasks_see_the_program_wherever_they_run(module: ir.Operation, large: None) -> None:
    names = [op.name for op in walk(module)]
    for jobs in (1, 2):
        with Workers(module, jobs) as pool:
            found = [p.result() for p in [pool.start(Look()) for _ in range(4)]]
        assert [seen for _, seen in found] == [names] * 4
        assert all((process == os.getpid()) == (jobs == 1) for process, _ in found)


def test_small_programs_stay_here(module: ir.Operation) -> None:
    with Workers(module, 2) as pool:
        assert pool.start(Look()).result()[0] == os.getpid()


def test_what_a_task_raises_has_its_place(module: ir.Operation, large: None) -> None:
    for jobs in (1, 2):
        with Workers(module, jobs) as pool:
            with pytest.raises(PcgError) as plain:
                pool.start(Fail()).result()
            with pytest.raises(DoesNotFit) as fits:
                pool.start(Fail(2.0)).result()
        assert str(plain.value) == "model.py:7:3: is refused" and plain.value.message == "is refused"
        assert fits.value.needed == 2.0 and str(fits.value).startswith("model.py:7:3: ")


def test_where_processes_end_the_rest_is_done_here(module: ir.Operation, large: None) -> None:
    with Workers(module, 2) as pool:
        running = [pool.start(EndsOther(os.getpid())) for _ in range(3)]
        assert [p.result() for p in running] == [os.getpid()] * 3
        assert pool.start(EndsOther(os.getpid())).result() == os.getpid()
    with Workers(module, 2) as pool:  # and the next program gets new ones
        assert pool.start(Look()).result()[0] != os.getpid()


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_next_task_is_taken_when_it_can_begin(module: ir.Operation, large: None, jobs: int) -> None:
    known: list[int] = []
    found: dict[str, int] = {}

    def tasks() -> Iterator[tuple[str, Look]]:
        for key in "abcd":
            known.append(len(found))
            yield key, Look()

    with Workers(module, jobs) as pool:
        for key, (process, _) in pool.each(tasks()):
            assert key not in found
            found[key] = process
    assert sorted(found) == list("abcd") and known == [max(0, n + 1 - jobs) for n in range(4)]
    assert all((process == os.getpid()) == (jobs == 1) for process in found.values())


def test_tasks_taken_in_turn_are_done_here_where_processes_end(module: ir.Operation, large: None) -> None:
    with Workers(module, 2) as pool:
        assert dict(pool.each(enumerate([EndsOther(os.getpid())] * 3))) == dict.fromkeys(range(3), os.getpid())


def test_processes_that_have_grown_stay(module: ir.Operation, large: None) -> None:
    """loky measures a process after a task, at most once a second."""
    get_reusable_executor(kill_workers=True, reuse=False).shutdown()
    found = []
    with Workers(module, 2) as pool:
        for size in (0, 400 << 20, 0):
            running = [pool.start(Grow(size, 1.1)) for _ in range(2)]
            found.append([p.result() for p in running])
    assert not any(frozen for pair in found for _, frozen in pair)
    first, *others = ({process for process, _ in pair} for pair in found)
    assert all(pair <= first for pair in others)
    get_reusable_executor(kill_workers=True, reuse=False).shutdown()


def test_between_tasks_the_garbage_collector_looks_at_nothing(module: ir.Operation) -> None:
    program = workers._bytecode(module), workers._without_mesh(module)
    try:
        assert workers._run(*program, False, Grow(0)) == (os.getpid(), 0)
        assert gc.get_freeze_count() > 1000
        with pytest.raises(PcgError):
            workers._run(*program, False, Fail())
        assert gc.get_freeze_count() > 1000
    finally:
        gc.unfreeze()


def test_what_a_process_knows_of_a_program_is_collected_when_another_comes(
    module: ir.Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_current", None)
    other = load_module(STEP.replace("tanh", "exponential"), make_context(), "<test>").operation
    gc.disable()
    try:
        program = workers._bytecode(module), workers._without_mesh(module)
        for _ in range(2):
            workers._run(*program, False, Leak())
        assert all(r() is not None for r in leaked)
        workers._run(workers._bytecode(other), workers._without_mesh(other), False, Look())
        assert len(leaked) == 2 and all(r() is None for r in leaked)
    finally:
        leaked.clear()
        gc.unfreeze()
        gc.enable()


def chosen(text: str, jobs: int, mesh: str = "") -> tuple[str, list[str], Any]:
    """The program with the plan that is chosen, all remarks, and the pass that chose it."""
    machine = Machine.of(Cluster.parse("preset:summit:nodes=2,sockets=2,gpus=2"))
    module = load_module(text, make_context(), "<test>")
    select = SelectPass(machine=machine, meshes="any", jobs=jobs)
    passes = ["prepare", ChooseMeshPass(machine=machine, jobs=jobs), "dist-refine-mesh", select]
    pipeline = Pipeline(passes)
    pipeline.run(module)
    text = module.operation.get_asm(enable_debug_info=True)
    return text, [f"{location}: {text}" for _, location, text in pipeline.remarks()], select


@pytest.mark.parametrize("name", ["mlp", pytest.param("transformer_step", marks=pytest.mark.slow)])
def test_the_plan_does_not_depend_on_the_number_of_processes(name: str, large: None) -> None:
    text = (EXAMPLES / f"{name}.mlir").read_text()
    alone, beside = chosen(text, 1), chosen(text, 2)
    assert alone[0] == beside[0] and alone[1] == beside[1]
    assert [str(c) for c in alone[2].tried] == [str(c) for c in beside[2].tried]
    assert len(alone[2].tried) > 3 and alone[2].statistics["plans timed"] > 8 and any("best of" in r for r in alone[1])


def test_a_program_whose_mesh_was_chosen_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_current", None)
    reads: list[Structure] = []
    read = StructureReader.read
    monkeypatch.setattr(StructureReader, "read", lambda *args: reads.append(read(*args)) or reads[-1])

    def ops(workspace: Workspace) -> list[str]:
        model = CostModel(Machine.default(), Mesh.of({"d0": 4}))
        on = workspace.on(model.mesh)
        assert all(op.parent == on.func for op, _ in on.graph(model).ops)
        return [op.name for op, _ in on.graph(model).ops]

    def run(program: ir.Operation) -> list[str]:
        return workers._run(workers._bytecode(program), workers._without_mesh(program), False, ops)

    module = load_module(STEP, make_context(), "<test>").operation
    plain = run(module)
    shardings.set_mesh(module, Mesh.of({"d0": 4}))
    assert run(module) == plain and len(reads) == 1
    other = load_module(STEP.replace("tanh", "cosine"), make_context(), "<test>").operation
    assert run(other) != plain and len(reads) == 2


def test_the_best_plan_of_a_large_program_is_relinked_while_the_last_is_simulated(
    large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(select, "_LARGE", 0)
    text, done = (EXAMPLES / "mlp.mlir").read_text(), []
    start, finish = Workers.start, select.Select._finish
    monkeypatch.setattr(Workers, "start", lambda self, task: done.append(task) or start(self, task))
    monkeypatch.setattr(select.Select, "_finish", lambda self, *args: done.append("finish") or finish(self, *args))
    found = chosen(text, 1)
    relinked = [i for i, task in enumerate(done) if isinstance(task, Relinking)]
    assert "finish" in done[: relinked[0]] and done[relinked[0] + 1] == "finish"
    assert done.count(done[relinked[0]]) == 1
    beside = chosen(text, 2)
    assert beside[0] == found[0] and beside[1] == found[1]


def test_it_is_relinked_while_it_is_simulated_where_that_is_the_first(
    large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(select, "_LARGE", 0)
    monkeypatch.setattr(select, "_SIMULATED", 1)
    monkeypatch.setattr(select, "_SIMULATED_OPS", 0)
    done: list[Any] = []
    start, finish = Workers.start, select.Select._finish
    monkeypatch.setattr(Workers, "start", lambda self, task: done.append(task) or start(self, task))
    monkeypatch.setattr(select.Select, "_finish", lambda self, *args: done.append("finish") or finish(self, *args))
    text = (EXAMPLES / "mlp.mlir").read_text()
    found = chosen(text, 1)
    relinked = [i for i, task in enumerate(done) if isinstance(task, Relinking)]
    assert done.index("finish") == relinked[0] + 1 and done.count(done[relinked[0]]) == 1
    beside = chosen(text, 2)
    assert beside[0] == found[0] and beside[1] == found[1]


def test_errors_are_pickled_with_the_text_of_their_place(module: ir.Operation) -> None:
    func = entry(module)
    assert func is not None
    for error in (PcgError("wrong", "a.mlir:1:2"), PcgError("wrong"), DoesNotFit(1.0, 3.0).at(func)):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error) and str(copy) == str(error) and copy.message == error.message
        assert vars(copy).keys() == vars(error).keys()


def test_ctrl_c_does_not_reach_the_processes(module: ir.Operation, large: None) -> None:
    """However early it comes: they are started with the signal blocked, and the one that starts them has it."""
    get_reusable_executor(kill_workers=True).shutdown(kill_workers=True)
    with Workers(module, 2) as pool:
        for process, blocked in [p.result() for p in [pool.start(Blocked()) for _ in range(4)]]:
            assert process != os.getpid() and signal.SIGINT in blocked
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.3, 1.0])
def test_ctrl_c_ends_the_processes_too(seconds: float) -> None:
    """Of a program that is being planned nothing runs on; no process says more than that it was interrupted."""
    command = [
        sys.executable, "-m", "pcg.tools.pcg_opt", "--auto-parallel", "--jobs=2",
        "--cluster=preset:summit:nodes=2,sockets=2,gpus=2", str(EXAMPLES / "transformer_step.mlir"),
    ]  # fmt: skip
    running = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        # What runs in the background ignores Ctrl-C, and hands that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    group = os.getpgid(running.pid)
    for _ in range(600):
        members = subprocess.run(["pgrep", "-g", str(group)], capture_output=True, text=True).stdout.split()
        if len(members) >= 4:  # itself, two that track resources, the first to evaluate candidates
            break
        time.sleep(0.05)
    assert len(members) >= 4, "no processes were started"
    time.sleep(seconds)
    os.killpg(group, signal.SIGINT)
    _, error = running.communicate(timeout=60)
    assert running.returncode != 0 and "Traceback" not in error, error
    for _ in range(100):
        left = subprocess.run(["pgrep", "-g", str(group)], capture_output=True, text=True).stdout.split()
        if not left:
            break
        time.sleep(0.1)
    assert not left


@pytest.mark.parametrize("jobs", [-1, 1.5, "two"])
def test_a_number_of_processes_that_is_none_is_refused(module: ir.Operation, jobs: Any) -> None:
    with pytest.raises(PcgError, match=f"option 'jobs' is {jobs!r}; allowed: 0 or more"):
        Workers(module, jobs)


def test_nobody_waits_for_what_is_not_needed(module: ir.Operation, large: None) -> None:
    with Workers(module, 2) as pool:
        first = pool.start(Look()).result()[0]
        assert first != os.getpid()
        running = [pool.start(Sleep(600.0)) for _ in range(3)]
        _until(lambda: any(p.running for p in running))
    with Workers(module, 2) as pool:  # those that slept were ended, and there are new ones
        assert [pool.start(Look()).result()[0] not in (os.getpid(), first) for _ in range(2)] == [True, True]
    _until(lambda: not _runs(first))


def _runs(process: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True).stdout.strip()
    return state != "" and not state.startswith("Z")


def _until(holds: Callable[[], bool]) -> None:
    start = time.monotonic()
    while not holds():
        assert time.monotonic() - start < 60
        time.sleep(0.01)


@pytest.mark.parametrize("strategy", ["auto", "search", "zero1"])
def test_the_number_of_processes_from_python(strategy: str) -> None:
    x = jax.ShapeDtypeStruct((64, 32), "float32")
    w = jax.ShapeDtypeStruct((32, 32), "float32")
    cluster = Cluster.parse("preset:summit:nodes=2,sockets=2,gpus=2")
    plans = [
        pcg.compile(lambda x, w: jnp.tanh(x @ w) @ w, cluster, strategy=strategy, **options).lower(x, w).compilation.plan
        for options in ({}, {"jobs": 1}, {"jobs": 2})
    ]
    assert plans[0] == plans[1] == plans[2]


@pytest.mark.parametrize("strategy", ["search", "auto"])
def test_effort_from_python(strategy: str) -> None:
    x = jax.ShapeDtypeStruct((64, 32), "float32")
    w = jax.ShapeDtypeStruct((32, 32), "float32")
    cluster = Cluster.parse("preset:summit:nodes=2,sockets=2,gpus=2")

    def plan(effort: str) -> pcg.Plan:
        planned = pcg.compile(lambda x, w: jnp.tanh(x @ w) @ w, cluster, strategy=strategy, effort=effort)
        return planned.lower(x, w).compilation.plan

    assert plan("quick") == plan("proof")
    with pytest.raises(PcgError, match="option 'effort' is 'lots'; expected one of quick, default, proof"):
        plan("lots")
