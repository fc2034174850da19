"""Lit configuration: used by pytest (conftest.py), by `lit test`, and by CMake (through lit.site.cfg.py)."""

import importlib.util
import os
import shutil
import sys

import lit.formats

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from support import toolserver

# `config` and `lit_config` are put here by lit.
config = globals()["config"]

config.name = "pcg"
config.test_format = lit.formats.ShTest(execute_external=False)  # lit's own shell: no bash needed
config.suffixes = [".mlir"]
config.excludes = ["Inputs", "unit", "support"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))
# Where `%t` files go.  pytest gives every session its own, so that two runs do not disturb each other.
config.test_exec_root = getattr(config, "pcg_test_exec_root", None) or os.environ.get(
    "PCG_TEST_EXEC_ROOT", os.path.join(config.test_source_root, ".lit")
)

_bin = os.path.dirname(sys.executable)
config.environment["PATH"] = os.pathsep.join([_bin, os.environ.get("PATH", "")])
config.environment["PYTHONPATH"] = getattr(config, "pcg_pythonpath", None) or os.environ.get("PYTHONPATH", "")
config.environment["OMP_NUM_THREADS"] = "1"
config.substitutions += [
    (r"%pcg-opt\b", " ".join(toolserver.client("pcg.tools.pcg_opt"))),
    (r"%pcg-run\b", " ".join(toolserver.client("pcg.tools.pcg_run"))),
    (r"%emit-irdl\b", f"{sys.executable} -m pcg.tools.emit_irdl"),
    (r"%python\b", sys.executable),
    (r"\bFileCheck\b", " ".join(toolserver.client("filecheck.main"))),
]
for _feature in ("jax", "z3", "ray"):
    if importlib.util.find_spec(_feature):
        config.available_features.add(_feature)
if shutil.which("torch-mlir-opt", path=config.environment["PATH"]):
    config.available_features.add("torch-mlir-opt")
