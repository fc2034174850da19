"""The same input gives the same plan: in other processes, with other hash seeds and numbers of threads, under load."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MLP = ROOT / "examples" / "mlp.mlir"

#: Two loops, one after the other, that share weights.
LOOPS = """
func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x256xf32>, %v: tensor<256x256xf32>) -> (tensor<64x256xf32>, tensor<256x256xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<6> : tensor<i32>
  %a:3 = stablehlo.while(%i = %zero, %y = %x, %k = %w) : tensor<i32>, tensor<64x256xf32>, tensor<256x256xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %d = stablehlo.dot_general %y, %k, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
      %t = stablehlo.tanh %d : tensor<64x256xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %t, %k : tensor<i32>, tensor<64x256xf32>, tensor<256x256xf32>
    }
  %b:4 = stablehlo.while(%i = %zero, %y = %a#1, %k = %v, %s = %w) : tensor<i32>, tensor<64x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %d = stablehlo.dot_general %y, %k, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
      %g = stablehlo.dot_general %y, %d, contracting_dims = [0] x [0] : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<256x256xf32>
      %u = stablehlo.add %s, %g : tensor<256x256xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %d, %k, %u : tensor<i32>, tensor<64x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>
    }
  return %b#1, %b#3 : tensor<64x256xf32>, tensor<256x256xf32>
}
"""
ANNOTATED = """
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
func.func @main(%x: tensor<512x1024xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>},
                %w1: tensor<1024x4096xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>},
                %w2: tensor<4096x1024xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>}) -> tensor<512x1024xf32> {
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x4096xf32>) -> tensor<512x4096xf32>
  %1 = stablehlo.tanh %0 : tensor<512x4096xf32>
  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<512x4096xf32>, tensor<4096x1024xf32>) -> tensor<512x1024xf32>
  return %2 : tensor<512x1024xf32>
}
"""
#: The same without layouts.
FORWARD = re.sub(r" \{dist\.spec = #dist\.shard_spec<[^{]*\{\}>\}", "", ANNOTATED)

#: name -> (program, arguments of pcg-opt)
CASES = {
    "search": (MLP, ["--mesh", "data=2,model=4", "--auto-parallel", "--lower"]),
    "memory": (FORWARD, ["--auto-parallel", "--memory-limit=10MiB"]),
    "mesh and place": (MLP, ["--devices=12", "--cluster=preset:summit:2", "--auto-parallel"]),
    "loops": (LOOPS, ["--mesh", "data=2,model=4", "--auto-parallel", "--lower"]),
    "propagation": (ANNOTATED, ["--auto-propagate"]),
    "lint": (ANNOTATED, ["--lint", "--lint-format=json"]),
}
SLOW = {"transformer": (ROOT / "examples" / "transformer_step.mlir", ["--mesh", "data=2,model=4", "--auto-parallel"])}
#: Hash seed and threads of each process.
RUNS = (("0", "1"), ("1", "2"), ("random", "1"))


def outputs(name: str, program: Path | str, argv: list[str], folder: Path) -> list[tuple[bytes, bytes]]:
    """Result and remarks of pcg-opt in a process per entry of RUNS, all at the same time: they load the machine."""
    path = program
    if isinstance(program, str):
        path = folder / f"{name}.mlir"
        path.write_text(program)
    running = []
    for i, (seed, threads) in enumerate(RUNS):
        count = {k: threads for k in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")}
        out = folder / f"{name}{i}.out"
        command = [sys.executable, "-m", "pcg.tools.pcg_opt", str(path), *argv, "--remarks", "-o", str(out)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, **count, "PYTHONHASHSEED": seed})
        running.append((out, process))
    found = []
    for out, process in running:
        _, said = process.communicate()
        assert process.returncode == 0, said.decode()
        # How often progress is shown depends on the time that things take.
        lines = [x for x in said.splitlines() if b"remark: " in x]
        found.append((out.read_bytes(), b"\n".join(lines)))
    return found


@pytest.mark.parametrize("name", CASES)
def test_same_input_same_output(name, tmp_path):
    found = outputs(name, *CASES[name], tmp_path)
    assert found[0][0] and found[0] == found[1] == found[2]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SLOW)
def test_same_input_same_output_of_large_programs(name, tmp_path):
    found = outputs(name, *SLOW[name], tmp_path)
    assert found[0][0] and found[0] == found[1] == found[2]


PLAN = """
import sys, pcg
from pathlib import Path
from pcg.driver.compile import compile_program, load_program
from pcg.layout import Mesh
sys.stdout.write(compile_program(load_program(Path(sys.argv[1]).read_text()), Mesh.parse("data=2,model=4")).plan.to_json())
"""


def test_the_document_of_a_plan_is_the_same():
    texts = []
    for seed, _ in RUNS:
        run = subprocess.run(
            [sys.executable, "-c", PLAN, str(MLP)], capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        texts.append(run.stdout)
    assert texts[0].startswith(b'{\n  "pcg_plan"') and texts[0] == texts[1] == texts[2]
