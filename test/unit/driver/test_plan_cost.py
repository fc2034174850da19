"""What plans cost, and how they differ: what is saved and loaded costs the same, to the last bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import pcg
from pcg.cost import CostModel
from pcg.driver.compilation import Compilation
from pcg.driver.compile import compile_program, load_program
from pcg.driver.decide import Options
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Machine
from pcg.simulate import simulate
from pcg.tools.pcg_plan import main

ROOT = Path(__file__).resolve().parents[3]
MLP = ROOT / "examples" / "mlp.mlir"
MESH = Mesh.parse("data=2,model=4")
SUMMIT = "preset:summit:nodes=2,gpus=2"


def compiled(options: Options | None = None, mesh: Mesh = MESH) -> Compilation:
    return compile_program(load_program(MLP.read_text(), path=str(MLP)), mesh, options)


@pytest.fixture(scope="module")
def done() -> Compilation:
    return compiled()


@pytest.fixture(scope="module")
def saved(done, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    done.plan.save(path)
    return path


def other_process(code: str, seed: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONHASHSEED": seed}
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_cost_is_the_estimate_of_the_search(done):
    cost = pcg.plan_cost(done.plan, simulate=False)
    assert cost.seconds == pytest.approx(done.plan.estimate["seconds"], rel=1e-9)
    assert cost.seconds == cost.compute + cost.communication
    assert cost.simulation is None and cost.fits


def test_the_simulation_is_that_of_the_compiled_program(done):
    model = CostModel(Machine.default(), done.mesh)
    mine = simulate(done.modules["local"], model, donated=done.program.donated)
    theirs = pcg.plan_cost(done.plan).simulation
    assert (theirs.seconds, theirs.exposed, theirs.peak_bytes) == (mine.seconds, mine.exposed, mine.peak_bytes)


def test_a_plan_remembers_its_platform():
    """Made where the devices are those of a CPU, it costs what it takes there, unless it was made for another machine."""
    plan = pcg.compile(MLP, MESH).lower().plan
    loaded = pcg.Plan.from_json(plan.to_json())
    assert plan.platform == loaded.platform == "cpu"
    assert pcg.plan_cost(loaded, simulate=False).seconds == pytest.approx(plan.estimate["seconds"], rel=1e-9)
    other = pcg.compile(MLP, MESH, machine=Machine.default()).lower().plan
    assert other.platform == "" and other.estimate["seconds"] < plan.estimate["seconds"]
    again = pcg.compile(MLP, MESH, strategy=other).lower().plan
    assert again.platform == "" and pcg.plan_cost(again).to_dict() == pcg.plan_cost(other).to_dict()


@pytest.mark.parametrize("cluster", [None, SUMMIT])
def test_loaded_plans_cost_the_same_in_any_process(done, saved, cluster):
    loaded = pcg.Plan.load(saved)
    assert loaded == done.plan
    costs = [pcg.plan_cost(p, cluster).to_dict() for p in (done.plan, loaded)]
    assert costs[0] == costs[1]
    code = f"import json, pcg; print(json.dumps(pcg.plan_cost(pcg.Plan.load({str(saved)!r}), {cluster!r}).to_dict()))"
    for seed in ("0", "1", "12345"):
        assert json.loads(other_process(code, seed)) == costs[0]


@pytest.mark.parametrize("strategy", ["global", "dataflow"])
def test_plans_of_propagation_cost_the_same(strategy, tmp_path):
    options = Options(strategy=strategy, in_specs={0: ShardSpec.parse("[-, model]"), 3: ShardSpec.parse("[data, -]")})
    plan = compiled(options).plan
    plan.save(tmp_path / "p.json")
    assert pcg.plan_cost(pcg.Plan.load(tmp_path / "p.json")).to_dict() == pcg.plan_cost(plan).to_dict()
    assert pcg.plan_cost(plan, simulate=False).seconds == pytest.approx(plan.estimate["seconds"], rel=1e-6)


def test_the_same_layouts_on_another_cluster(done):
    here, there = pcg.plan_cost(done.plan), pcg.plan_cost(done.plan, SUMMIT)
    assert there.machine == "summit" and there.seconds > here.seconds
    assert there.bytes == here.bytes  # what is sent does not depend on the machine
    best = pcg.plan_cost(done.plan, SUMMIT, remap=True)
    assert best.seconds <= there.seconds and best.bytes == here.bytes
    assert sorted(best.mesh.device_ids) == list(range(8))


def test_a_plan_remembers_its_cluster(tmp_path):
    cluster = pcg.Cluster.parse(SUMMIT)
    plan = compiled(Options(strategy="search", search={"machine": Machine.of(cluster)})).plan
    plan.save(tmp_path / "p.json")
    again = pcg.plan_cost(pcg.Plan.load(tmp_path / "p.json"))
    assert again.machine == "summit"
    assert again.to_dict() == pcg.plan_cost(plan, cluster).to_dict()
    assert again.seconds == pytest.approx(plan.estimate["seconds"], rel=1e-9)


def test_a_plan_as_a_strategy_costs_the_same(done):
    second = compiled(Options(strategy=done.plan))
    assert second.plan == done.plan and not pcg.diff_plans(second.plan, done.plan)
    assert pcg.plan_cost(second.plan).to_dict() == pcg.plan_cost(done.plan).to_dict()


def test_requests_inside_the_program_keep_their_decided_layout(tmp_path):
    text = """
    "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
    func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x256xf32>) -> tensor<64x256xf32> {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
      %1 = "dist.constraint"(%0) {dist.open = [1], spec = #dist.shard_spec<@mesh, [["data"], []], {}>} : (tensor<64x256xf32>) -> tensor<64x256xf32>
      func.return %1 : tensor<64x256xf32>
    }"""
    out = {0: ShardSpec.parse("[data, model]")}
    plan = compile_program(load_program(text), MESH, Options(out_specs=out)).plan
    assert "[data, model]" in plan.to_json()
    plan.save(tmp_path / "p.json")
    cost = pcg.plan_cost(pcg.Plan.load(tmp_path / "p.json"))
    assert cost.to_dict() == pcg.plan_cost(plan).to_dict()
    assert cost.seconds == pytest.approx(plan.estimate["seconds"], rel=1e-6)


def test_refined_meshes(tmp_path):
    text = """
    func.func @main(%x: tensor<16x256xf32>, %w: tensor<256x256xf32>) -> tensor<2x8x256xf32> {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x256xf32>, tensor<256x256xf32>) -> tensor<16x256xf32>
      %1 = stablehlo.reshape %0 : (tensor<16x256xf32>) -> tensor<2x8x256xf32>
      func.return %1 : tensor<2x8x256xf32>
    }"""
    plan = compile_program(load_program(text), Mesh.parse("x=8")).plan
    assert plan.mesh.is_refined
    plan.save(tmp_path / "p.json")
    assert pcg.plan_cost(pcg.Plan.load(tmp_path / "p.json")).to_dict() == pcg.plan_cost(plan).to_dict()
    placed = pcg.plan_cost(plan, "preset:dgx-h100:1", remap=True)
    assert placed.mesh.origin.axes == (("x", 8),) and placed.mesh.is_refined


def test_without_the_program(done, saved, tmp_path):
    bare = tmp_path / "bare.json"
    done.plan.save(bare, program=False)
    plan = pcg.Plan.load(bare)
    assert plan == done.plan and bare.stat().st_size < saved.stat().st_size
    with pytest.raises(pcg.PlanError, match="saved without its program"):
        pcg.plan_cost(plan)
    assert pcg.plan_cost(plan, program=MLP).to_dict() == pcg.plan_cost(done.plan).to_dict()
    other = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n  return %x : tensor<8xf32>\n}\n"
    with pytest.raises(pcg.PlanError, match="does not fit this one: it has 4 arguments, the program 1"):
        pcg.plan_cost(plan, program=other)


def test_a_mesh_that_is_too_large_is_an_error(done):
    with pytest.raises(pcg.ClusterError, match="has 8 positions"):
        pcg.plan_cost(done.plan, "preset:dgx-h100:nodes=1,gpus=4")


def test_what_was_tampered_with_is_an_error(done):
    wrong = replace(done.plan, operations=(*done.plan.operations, replace(done.plan.operations[-1], at=10**6)))
    with pytest.raises(pcg.PlanError, match=r"operations\[\d+\].at is 1000000; the program has operations 0 to \d+"):
        pcg.plan_cost(wrong)
    fewer = replace(done.plan, operations=done.plan.operations[1:])
    with pytest.raises(pcg.PlanError, match="malformed plan"):
        pcg.plan_cost(fewer)


# -- differences -----------------------------------------------------------------------------------


def test_no_difference(done):
    assert pcg.diff_plans(done.plan, done.plan) == ""


def test_differences_are_grouped(done):
    other = compiled(Options(strategy="global", in_specs={0: ShardSpec.parse("[-, model]"), 1: ShardSpec.parse("[model, -]")})).plan
    text = pcg.diff_plans(done.plan, other)
    assert "arg0" in text and "[-, data+model]  [-, model]" in text
    assert "Operations" in text and "dot_general" in text
    assert "Estimate" in text and "program:" not in text and "mesh:" not in text
    back = pcg.diff_plans(other, done.plan)
    assert "[-, model]       [-, data+model]" in back or "[-, model]  [-, data+model]" in back


def test_other_meshes_and_programs_are_named(done):
    other = compiled(mesh=Mesh.parse("x=8")).plan
    assert "mesh: data=2,model=4 -> x=8" in pcg.diff_plans(done.plan, other)
    text = "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n  return %x : tensor<8xf32>\n}\n"
    small = compile_program(load_program(text), MESH).plan
    found = pcg.diff_plans(done.plan, small)
    assert found.startswith("program: main") and "not there" in found and "operations are not compared" in found


# -- the program -----------------------------------------------------------------------------------


def test_show(saved, capsys):
    assert main(["show", str(saved)]) == 0
    out = capsys.readouterr().out
    assert "on mesh data=2,model=4 (8 devices)" in out and "[-, data+model]" in out and "with the program" in out


def test_diff(done, saved, tmp_path, capsys):
    assert main(["diff", str(saved), str(saved)]) == 0
    assert capsys.readouterr().out == ""
    changed = json.loads(saved.read_text())
    changed["arguments"][3]["spec"] = "[data, -]"
    (tmp_path / "b.json").write_text(json.dumps(changed))
    assert main(["diff", str(saved), str(tmp_path / "b.json")]) == 1
    assert "replicated  [data, -]" in capsys.readouterr().out


def test_cost(done, saved, capsys):
    assert main(["cost", str(saved), "--json", "--cluster", SUMMIT, "--cluster", "preset:dgx-h100:1"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows == [pcg.plan_cost(done.plan, c).to_dict() for c in (SUMMIT, "preset:dgx-h100:1")]
    assert main(["cost", str(saved), "--no-simulation"]) == 0
    out = capsys.readouterr().out
    assert "generic" in out and "simulated" not in out
    assert main(["cost", str(saved), "--cluster", SUMMIT, "--remap"]) == 0
    assert "summit: devices [" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["show", "nowhere.json"], "nowhere.json: No such file"),
        (["cost", "PLAN", "--cluster", "preset:nothing"], "nothing"),
        (["cost", "PLAN", "--cluster", "preset:dgx-h100:nodes=1,gpus=4"], "has 8 positions"),
        (["show", "JUNK"], "not a plan"),
    ],
)  # fmt: skip
def test_errors_are_one_line(argv, message, saved, tmp_path, capsys):
    junk = tmp_path / "junk.json"
    junk.write_text("{}")
    argv = [{"PLAN": str(saved), "JUNK": str(junk)}.get(a, a) for a in argv]
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert err.startswith("pcg-plan: error: ") and message in err and err.count("\n") == 1


def test_plans_that_save_memory_by_microbatches(tmp_path):
    import jax
    import jax.numpy as jnp

    def loss(weights, x):
        for w in weights:
            x = jnp.tanh(x @ w)
        return (x**2).sum()

    def step(weights, x):
        value, grad = jax.value_and_grad(loss)(weights, x)
        return jax.tree.map(lambda w, g: w - 1e-3 * g, weights, grad), value

    weights = [jax.ShapeDtypeStruct((64, 64), "float32")] * 8
    step = pcg.compile(step, {"data": 2}, memory_limit="3MiB")
    step.lower(weights, jax.ShapeDtypeStruct((4096, 64), "float32"))
    assert step.plan.memory["microbatches"] > 1
    step.plan.save(tmp_path / "p.json")
    assert pcg.plan_cost(pcg.Plan.load(tmp_path / "p.json")).to_dict() == pcg.plan_cost(step.plan).to_dict()


def test_compiled_lint():
    import jax
    import jax.numpy as jnp
    from jax.sharding import PartitionSpec as P

    def f(params, x):
        return jnp.tanh(x @ params["up"]) @ pcg.shard(params["down"], "[-, model]")

    up, down, x = (jax.ShapeDtypeStruct(s, "float32") for s in ((256, 1024), (1024, 256), (64, 256)))
    compiled = pcg.compile(f, {"data": 2, "model": 4}, in_shardings=({"up": P(None, "model"), "down": None}, P("data")))
    compiled.lower({"up": up, "down": down}, x)
    found = compiled.lint()
    assert found.program == "f" or found.program == "main"
    names = [a.name for a in found.annotations]
    assert "argument params['up']" in names and "argument x" in names
    (inside,) = (a for a in found.annotations if a.kind == "constraint")
    assert inside.first.where.startswith("test_plan_cost.py:") and str(inside.spec) == "[-, model]"
    assert found.annotated.seconds >= found.free.seconds
    assert found.annotated.seconds == pytest.approx(compiled.cost.seconds, rel=1e-6)
    assert "params['up']" in str(found)
