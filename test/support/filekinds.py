"""What reads each kind of file, and what it may do with one that is damaged: refuse it in one line, or be right.

`KINDS[name]()` has files to start from and `consume`, which gives a file to everything that reads it and returns what
is wrong with how that went, empty if nothing is.  All of it runs in this process: what takes the process down, or never
returns, is for the caller to notice (see `bench/fuzz_files.py`).
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import pickle
import random
import re
import shlex
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from support import mutate, mutatemlir

TEST = Path(__file__).resolve().parent.parent
#: Where files are written; processes that share it share what they start from.
_FOLDER = Path(os.environ.get("PCG_FUZZ_FOLDER") or tempfile.mkdtemp(prefix="pcg-fuzz-"))
#: What one line of an error looks like.
_ERROR = re.compile(r"^(?:[\w-]+: error: |\S.*?: error: |pcg-solve: )")


@dataclass
class Run:
    """How one reader took one file."""

    reader: str
    status: int
    out: str
    err: str
    raised: str = ""

    @property
    def accepted(self) -> bool:
        return not self.raised and self.status == 0

    def fault(self) -> str:
        """What is wrong with it; empty if nothing is."""
        if self.raised:
            return f"{self.reader}: {self.raised}"
        if "internal error" in self.err:
            line = next(x for x in self.err.splitlines() if "internal error" in x)
            return f"{self.reader}: {_stable(line[line.index('internal error') :])}"
        if "Traceback (most recent call last)" in self.err:
            return f"{self.reader}: a traceback on stderr"
        if self.status and self.reader.split()[0] != "pcg-plan-diff":
            errors = [x for x in self.err.splitlines() if _ERROR.match(x)]
            if not errors:
                return f"{self.reader}: exit status {self.status} without an error"
            if len(errors) > 1 and not self.reader.startswith("pcg-opt"):
                return f"{self.reader}: {len(errors)} lines of errors"
            if any(len(x) > (4000 if not self.reader.startswith("pcg-opt") else 40_000) for x in errors):
                return f"{self.reader}: an error of {max(map(len, errors))} characters"
        return ""


def _stable(text: str) -> str:
    """A message with what changes from file to file taken out."""
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'|\"[^\"]*\"", "'...'", text))[:160]


def where(error: BaseException) -> str:
    """`Type at file:function` of the innermost frame of our own code."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/site-packages/" not in f.filename]
    ours = [f for f in frames if "/support/" not in f.filename] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].name}" if ours else "?"
    return f"{type(error).__name__} at {place}"


def run_tool(reader: str, main: Callable[[list[str]], int], argv: Sequence[str]) -> Run:
    """Run a command line in this process."""
    out, err, raised, status = io.StringIO(), io.StringIO(), "", 0
    out.buffer = io.BytesIO()  # type: ignore[misc]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(list(argv))
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        except Exception as error:
            raised = where(error)
    return Run(reader, status, out.getvalue() + out.buffer.getvalue().decode(errors="replace"), err.getvalue(), raised)


def call(reader: str, function: Callable[[], Any], allowed: tuple[type[Exception], ...]) -> tuple[Run, Any]:
    """Call a function of the API; errors of the `allowed` types are in order if they are one line."""
    try:
        return Run(reader, 0, "", ""), function()
    except allowed as error:
        text = str(error)
        if not text.strip() or "\n" in text.strip() or len(text) > 4000:
            return Run(reader, 1, "", "", f"{type(error).__name__} of {len(text)} characters, {text.count(chr(10))} line breaks"), None
        return Run(reader, 1, "", f"{reader}: error: {text}"), None
    except Exception as error:
        return Run(reader, 1, "", "", where(error)), None


@dataclass
class Kind:
    """Files of one kind.  `runs` counts what readers did: `accepted` or `refused`."""

    counts: dict[str, int] = field(default_factory=dict)
    few: bool = False
    """Start from few files, which are made quickly."""

    suffix = ""

    #: File of the seeds, for those that take long to make.
    made = ""

    @cached_property
    def seeds(self) -> list[Any]:
        """What is mutated."""
        path = _FOLDER / f"{'few-' if self.few else ''}{self.made}"
        if self.made and path.exists():
            return pickle.loads(path.read_bytes())
        found = self._seeds()
        if self.made:
            path.write_bytes(pickle.dumps(found))
        return found

    def _seeds(self) -> list[Any]:
        raise NotImplementedError

    def mutated(self, rng: random.Random) -> bytes:
        """A damaged file."""
        raise NotImplementedError

    def runs(self, path: Path, rng: random.Random) -> Iterator[Run]:
        """Give a file to everything that reads it."""
        raise NotImplementedError

    def consume(self, data: bytes, seed: int) -> str:
        """What is wrong with how the readers take `data`; empty if nothing is."""
        path = _FOLDER / f"file{self.suffix}"
        path.write_bytes(data)
        for run in self.runs(path, random.Random(seed)):
            name = f"{run.reader.split()[0]} {'accepted' if run.accepted else 'refused'}"
            self.counts[name] = self.counts.get(name, 0) + 1
            if fault := run.fault():
                return fault
        return ""


# -- programs ------------------------------------------------------------------------------------

MLP = """
func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x8xf32> {jax.buffer_donor = true}, %v: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<f32>, tensor<4x8xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.abs %0 : tensor<8x8xf32>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  %4 = stablehlo.add %w, %w : tensor<4x8xf32>
  return %2, %3, %4 : tensor<8x4xf32>, tensor<f32>, tensor<4x8xf32>
}
"""
LOOP = """
func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c3 = stablehlo.constant dense<3> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c0, %a = %x) : tensor<i32>, tensor<8x4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %c3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.add %i, %c1 : tensor<i32>
    %d = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %t = stablehlo.maximum %d, %x : tensor<8x4xf32>
    stablehlo.return %n, %t : tensor<i32>, tensor<8x4xf32>
  }
  %r = stablehlo.reshape %0#1 : (tensor<8x4xf32>) -> tensor<2x4x4xf32>
  %s = stablehlo.reshape %r : (tensor<2x4x4xf32>) -> tensor<8x4xf32>
  return %s : tensor<8x4xf32>
}
"""
CALLS = """
func.func private @f(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.reshape %0 : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
func.func @main(%p: tensor<i32>, %x: tensor<8x4xf32>) -> tensor<4xf32> {
  %0 = call @f(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = "stablehlo.case"(%p) ({
    %a = stablehlo.add %0, %x : tensor<8x4xf32>
    stablehlo.return %a : tensor<8x4xf32>
  }, {
    stablehlo.return %x : tensor<8x4xf32>
  }) : (tensor<i32>) -> tensor<8x4xf32>
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.maximum across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""
PROGRAMS = {"mlp": MLP, "loop": LOOP, "calls": CALLS}


def opt(argv: Sequence[str]) -> Run:
    """Run pcg-opt."""
    from pcg.tools import pcg_opt

    return run_tool("pcg-opt", pcg_opt.main, argv)


# -- plans ---------------------------------------------------------------------------------------


def _errors() -> tuple[type[Exception], ...]:
    from pcg.driver.plan_document import PlanError
    from pcg.driver.program import ProgramError
    from pcg.ir.errors import PcgError
    from pcg.layout import MeshError, SpecError
    from pcg.machine import ClusterError

    return PcgError, PlanError, MeshError, SpecError, ClusterError, ProgramError


class Plans(Kind):
    """Plan documents: shown, compared, costed, and given to `pcg.compile`."""

    suffix = ".json"

    made = "plans.pickle"

    def _seeds(self) -> list[tuple[str, str, bytes]]:
        """(program, mesh, plan)."""
        import jax

        import pcg
        from support.fuzz import SLOW

        spec = jax.sharding.PartitionSpec
        found = []
        cases: tuple[tuple[str, str, dict[str, Any]], ...] = (
            ("mlp", "data=2,model=2", {"in_shardings": (spec("data"), spec(None, "model"), spec("model"))}),
            ("mlp", "x=4", {"strategy": "search", "machine": SLOW, "refine": True}),
            ("mlp", "data=2", {"strategy": "search", "cluster": "preset:cpu:2"}),
            ("loop", "data=2,model=2", {"in_shardings": (spec("data"), spec(None, "model"))}),
            ("loop", "x=4", {"in_shardings": (spec("x"), None), "refine": True}),
            ("calls", "a=2", {"in_shardings": (None, spec("a"))}),
        )  # fmt: skip
        for name, mesh, options in cases[::3] if self.few else cases:
            plan = pcg.compile(PROGRAMS[name], mesh, **options).plan
            for program in (True, False):
                found.append((name, mesh, plan.to_json(program).encode()))
        return found

    def mutated(self, rng: random.Random) -> bytes:
        self._of = rng.randrange(len(self.seeds))
        data = self.seeds[self._of][2]
        return _other_plan(data, rng) if rng.random() < 0.4 else mutate.json_file(data, rng)

    def runs(self, path: Path, rng: random.Random) -> Iterator[Run]:
        import pcg
        from pcg.tools import pcg_plan

        name, mesh, good = self.seeds[self._of]
        other, program = path.with_name("good.json"), path.with_name("program.mlir")
        other.write_bytes(good)
        program.write_text(PROGRAMS[name])
        yield run_tool("pcg-plan-show", pcg_plan.main, ["show", str(path)])
        yield run_tool("pcg-plan-diff", pcg_plan.main, ["diff", *rng.sample([str(path), str(other)], 2)])
        argv = ["cost", str(path)]
        for options, often in (
            (["--no-simulation"], 0.5), (["--program", str(program)], 0.3), (["--remap"], 0.2), (["--json"], 0.3),
            (["--cluster", "preset:cpu:4"], 0.3), (["--cluster", "preset:dgx-h100:1"], 0.2),
        ):  # fmt: skip
            argv += options if rng.random() < often else []
        yield run_tool("pcg-plan-cost", pcg_plan.main, argv)
        run, compiled = call("pcg.compile", lambda: self._lowered(pcg, name, mesh, path), _errors())
        yield run
        if compiled is not None:
            text = compiled.executable.compilation.as_text("local", generic=True)
            yield computed("pcg.compile", PROGRAMS[name], text)

    def _lowered(self, pcg: Any, name: str, mesh: str, path: Path) -> Any:
        compiled = pcg.compile(PROGRAMS[name], mesh, strategy=path)
        compiled.lower()
        return compiled


def _other_plan(data: bytes, rng: random.Random) -> bytes:
    """A plan with other layouts, of the right ranks and on the right mesh, or another reshard."""
    import json

    doc = json.loads(data)
    axes = [*doc["mesh"]["axes"], *(["x:(1)2", "x:(2)2"] if "refined" in doc["mesh"] else [])]
    rows = [r for r in doc["operations"] if r.get("results")]
    for _ in range(rng.choice((1, 1, 2, 4))):
        kind = rng.randrange(8)
        if kind == 0:
            value = rng.choice(doc["arguments"] + doc["results"])
            value["spec"] = _spec_like(value["spec"], axes, rng)
        elif kind == 1:
            uses = [[rng.randrange(12), rng.randrange(2)]] if rng.random() < 0.5 else None
            name = rng.choice((f"@{rng.randrange(3)}", f"{rng.randrange(12)}#{rng.randrange(2)}", f"{rng.randrange(12)}^0:0"))
            row = {"value": name, "spec": _spec_like("[-, -]", axes, rng), "apart": rng.random() < 0.3}
            doc["reshards"].append(row | ({"uses": uses} if uses else {}))
        elif kind == 2 and doc["reshards"]:
            row = rng.choice(doc["reshards"])
            row["spec"] = _spec_like(row["spec"], axes, rng)
        else:
            row = rng.choice(rows)
            for key in ("operands", "results"):
                if row.get(key) and rng.random() < 0.7:
                    i = rng.randrange(len(row[key]))
                    row[key][i] = _spec_like(row[key][i] or "[-, -]", axes, rng)
    return json.dumps(doc, indent=1).encode()


def _spec_like(spec: str, axes: Sequence[str], rng: random.Random) -> str:
    """A layout of the rank of `spec`."""
    inner = spec[1 : spec.index("]")]
    dims: list[list[str]] = [[] for d in inner.split(",") if d.strip()]
    partial = ""
    for axis in rng.sample(list(axes), len(axes)):
        at = rng.randrange(-2, len(dims))
        if at >= 0:
            dims[at].append(axis)
        elif at == -1 and rng.random() < 0.5:
            partial += f" {rng.choice(('sum', 'sum', 'max', 'prod', 'and'))}({axis})"
    return "[" + ", ".join("+".join(d) or "-" for d in dims) + "]" + partial


# -- programs as text and bytecode ---------------------------------------------------------------

#: Flags to give any program.
PIPELINES = (
    "", "--verify-roundtrip", "--auto-parallel", "--auto-parallel --mesh=x=2", "--auto-propagate", "--auto-propagate --mesh=x=2",
    "--auto-propagate --lower", "--auto-propagate --lower --pcg-emulate=check-replicas", "--lint", "--lower", "--lower --pcg-emulate",
    "--split-meshes", "--split-meshes --lower-processes", "--split-meshes --lower-processes --pcg-emulate-processes", "--lower-processes",
    "--sdy-import", "--sdy-export", "--dist-verify", "--dist-verify=complete=false", "--dist-strip", "--dist-insert-reshards",
    "--dist-fuse-collectives", "--dist-measure", "--dist-explain --remarks", "--dist-propagate=engine=dataflow",
    "--dist-propagate=engine=bfs", "--dist-propagate=engine=priority", "--dist-propagate", "--dist-propagate-meshes", "--dist-refine-mesh",
    "--dist-refine-mesh=reshapes=true", "--pcg-emulate", "--pcg-emulate=check-replicas", "--pcg-emulate-processes", "--pcg-lower-spmd",
    "--pcg-normalize", "--pcg-search", "--pcg-select", "--pcg-simulate", "--lower --pcg-simulate", "--pcg-reassociate",
    "--pcg-sink-invariants", "--pcg-insert-remat-barriers", "--pcg-recompute=memory-limit=1000",
    "--pcg-accumulate=microbatches=2", "--pcg-baseline=plan=zero3", "--pcg-baseline=plan=megatron",
    "--pcg-uneven-data-parallelism=shares=5,3", "--pcg-split-meshes", "--pcg-place-stages",
    "--pcg-choose-mesh=devices=4", "--pcg-choose-groups --cluster=preset:cpu:2", "--pcg-map-ranks --cluster=preset:cpu:2",
    "--auto-parallel --cluster=preset:cpu:4", "--canonicalize --cse --inline", "--emit-bytecode", "--mlir-print-op-generic",
    "--auto-parallel --memory-limit=1KiB --mesh=x=2", "--pcg-lint",
)  # fmt: skip
#: What makes the inputs of later passes from those of earlier ones.
_STAGES = (
    ("--auto-propagate",), ("--auto-parallel", "--mesh=x=2"), ("--auto-propagate", "--dist-fuse-collectives"),
    ("--auto-propagate", "--lower"), ("--split-meshes",), ("--split-meshes", "--lower-processes"), ("--sdy-export",),
    ("--sdy-import", "--dist-propagate=engine=dataflow"),
)  # fmt: skip


class Texts(Kind):
    """MLIR text of every stage, given to the passes that read it."""

    suffix = ".mlir"

    made = "texts.pickle"

    def _seeds(self) -> list[tuple[str, str]]:
        """(text, flags to read it with)."""
        found: list[tuple[str, str]] = [(text, "--auto-propagate --mesh=x=2") for text in PROGRAMS.values()]
        for path in sorted(TEST.glob("**/*.mlir")):
            text = path.read_text()
            flags = _flags(text)
            for part in re.split(r"^// -----.*$", text, flags=re.M):
                part = re.sub(r"^\s*//(?!\s*-----).*\n", "", part, flags=re.M)
                if part.strip() and len(part) < 20_000:
                    found.append((part, flags))
        path = _FOLDER / "seed.mlir"
        rng = random.Random(0)
        for text, _ in rng.sample(found, 4 if self.few else 60):
            path.write_text(text)
            for stage in _STAGES:
                form = ["--mlir-print-op-generic"] if rng.random() < 0.5 else []
                run = opt([str(path), *stage, *form])
                if run.accepted and 0 < len(run.out) < 20_000:
                    found.append((run.out, rng.choice(PIPELINES)))
        return found

    def mutated(self, rng: random.Random) -> bytes:
        text, self._flags = rng.choice(self.seeds)
        for _ in range(6 if rng.random() < 0.8 else 1):  # what MLIR refuses tells little about what reads it later
            data = mutatemlir.mlir_file(text.encode(), rng)
            if parses(data):
                break
        return data

    def runs(self, path: Path, rng: random.Random) -> Iterator[Run]:
        for flags in dict.fromkeys([self._flags, rng.choice(PIPELINES), rng.choice(PIPELINES)]):
            run = opt([str(path), *shlex.split(flags)])
            run.reader = f"pcg-opt {flags}"
            yield run
            if "cannot read the bytecode" in run.err:
                return  # whatever it was to be done with
        yield right(path)


def _flags(text: str) -> str:
    """The flags of a test's RUN line that can be given without its other files."""
    for line in re.findall(r"RUN: .*%pcg-opt (?:< )?%s (.*)", text):
        words = shlex.split(line.split("|")[0].split("2>")[0])
        kept = [w for w in words if w.startswith("--") and "split-input" not in w and "verify-diagnostics" not in w]
        if kept and not any("%" in w for w in kept) and "-o" not in words:
            return shlex.join(kept)
    return "--dist-verify"


class Programs(Texts):
    """MLIR text of every stage, given to `pcg-run`: planned, lowered, compiled by XLA, run and compared."""

    made = "programs.pickle"

    def _seeds(self) -> list[tuple[str, str]]:
        """Half of them programs that run."""
        found, path = super()._seeds(), _FOLDER / "seed.mlir"
        running = [(MLP, ""), (CALLS, "")]
        for text, _ in running[:2]:
            path.write_text(text)
            for stage in _STAGES:
                run = opt([str(path), *stage])
                if run.accepted:
                    running.append((run.out, ""))
        return found + running * max(1, len(found) // len(running))

    def mutated(self, rng: random.Random) -> bytes:
        while True:
            data = super().mutated(rng)
            if not _ENDLESS.search(data) and max(map(_elements, _SHAPE.findall(data)), default=0) < MOST:
                return data

    def runs(self, path: Path, rng: random.Random) -> Iterator[Run]:
        import jax

        from pcg.tools import pcg_run

        argv = [str(path), "--repeat=1"]
        for options, often in (
            (["--mesh=x=2"], 0.5), (["--check"], 0.7), (["--strategy=search"], 0.3), (["--json"], 0.3), (["--explain"], 0.2),
            (["--seeds=2"], 0.1), (["--simulate"], 0.2), (["--cluster=preset:cpu:4"], 0.2),
        ):  # fmt: skip
            argv += options if rng.random() < often else []
        run = run_tool(shlex.join(["pcg-run", *argv[1:]]), pcg_run.main, argv)
        jax.clear_caches()
        yield run


#: What may run for ever, or asks for a host that is not there.
_ENDLESS = re.compile(rb"while|infeed|outfeed|send|recv")
#: Elements of a tensor in a program that is run: a check has it several times, in double precision, too.
MOST = 1 << 22
_SHAPE = re.compile(rb"tensor<((?:\d+x)+)")


def _elements(shape: bytes) -> int:
    """Of a tensor whose type begins so."""
    return math.prod(int(n) for n in shape.split(b"x") if n)


class Bytecodes(Texts):
    """The same as bytecode, portable artifacts, and what jax.export writes."""

    suffix = ".mlirbc"

    @cached_property
    def _exported(self) -> list[bytes]:
        """What jax.export writes; made in a process of its own, as pcg-opt runs without jax."""
        import subprocess

        if not list(_FOLDER.glob("*.export")):
            done = subprocess.run([sys.executable, "-c", _EXPORT, str(_FOLDER)], capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(done.stderr)
        return [p.read_bytes() for p in sorted(_FOLDER.glob("*.export"))]

    def mutated(self, rng: random.Random) -> bytes:
        if rng.random() < 0.2:
            self._flags = "--auto-propagate --mesh=x=2"
            data = rng.choice(self._exported)
        else:
            for _ in range(20):
                text, self._flags = rng.choice(self.seeds)
                data = b""
                if rng.random() < 0.6:
                    text = mutatemlir.change(text, rng)
                    if not parses(text.encode("utf-8", "surrogatepass")):
                        continue
                data = as_bytecode(text, rng.random() < 0.3)
                if data:
                    break
        for _ in range(rng.choice((0, 0, 1, 1, 2, 4))):
            data = mutate.damage(data, rng)
        return data

    def runs(self, path: Path, rng: random.Random) -> Iterator[Run]:
        if b"sdy" not in path.read_bytes():
            yield from super().runs(path, rng)
        elif rng.random() < 0.2:  # read by a process of jaxlib's, which takes long to start
            yield opt([str(path), *shlex.split(self._flags)])


_EXPORT = """
import sys, pathlib, jax, jax.numpy as jnp
from jax import export
out = pathlib.Path(sys.argv[1])
x = jax.ShapeDtypeStruct((8, 4), "float32")
mesh = jax.sharding.Mesh(jax.devices()[:1], ("x",))
sharded = jax.NamedSharding(mesh, jax.P("x"))
for i, f in enumerate((
    jax.jit(lambda a: jnp.tanh(a @ a.T).sum()),
    jax.jit(lambda a: jax.lax.scan(lambda c, _: (jnp.sin(c), None), a, None, length=3)[0]),
    jax.jit(lambda a: jax.lax.with_sharding_constraint(a + 1, sharded)),
)):
    data = export.export(f)(x).mlir_module_serialized  # in a file of jax.export it is a vector of bytes, length first
    (out / f"{i}.export").write_bytes(b"\\x20\\0\\0\\0EXPT" + len(data).to_bytes(4, "little") + data + bytes(64))
"""


def parses(data: bytes) -> bool:
    """Whether MLIR reads a text and its verifiers accept it."""
    from torch_mlir import ir

    from pcg.ir.context import make_context
    from pcg.ir.errors import PcgError
    from pcg.ir.parse import parse_text

    with make_context() as context, ir.Location.unknown():
        context.emit_error_diagnostics = True
        try:
            return bool(parse_text(data.decode(), context))
        except (PcgError, UnicodeDecodeError, RuntimeError):
            return False


def as_bytecode(text: str, portable: bool) -> bytes:
    """A module as bytecode, or as a portable artifact; empty where it does not parse."""
    from torch_mlir import ir
    from torch_mlir._mlir_libs import _stablehlo

    from pcg.ir.context import make_context

    with make_context(allow_unregistered=True) as context, ir.Location.unknown():
        context.emit_error_diagnostics = True
        try:
            module = ir.Module.parse(text)
            if portable:
                return _stablehlo.serialize_portable_artifact_str(str(module), "1.17.0")
            buffer = io.BytesIO()
            module.operation.write_bytecode(buffer)
        except (ir.MLIRError, ValueError):
            return b""
        return buffer.getvalue()


# -- is what was accepted right? -----------------------------------------------------------------

#: Types and ops that the reference interpreter runs here.
_PLAIN = re.compile(r"tensor<(?:\d+x)*(?:f32|f64|i32|i64|i1)>")
_NOT_RUN = ("custom_call", "rng", "batch_norm", "cholesky", "infeed", "outfeed", "send", "recv", "quant", "fft", "triangular")
_SECONDS = 4


def right(path: Path) -> Run:
    """Whether a program that propagation and lowering accept computes on devices what it says."""
    from pcg.ir.parse import BYTECODE_MAGIC

    run = Run("right", 1, "", "x: error: not accepted")
    if BYTECODE_MAGIC in path.read_bytes()[:64]:
        return run
    plain = opt([str(path), "--sdy-import", "--dist-strip", "--mlir-print-op-generic"])
    if not plain.accepted or '"stablehlo.' not in plain.out or '"func.func"' not in plain.out:
        return run
    if any(x in plain.out for x in (*_NOT_RUN, "partition_id", "replica_id", "replica_groups")):
        return run
    local = opt([str(path), "--auto-propagate", "--lower", "--mlir-print-op-generic"])
    if not local.accepted or "pcg.in_specs" not in local.out:
        return run
    return computed("right", plain.out, local.out)


def computed(reader: str, plain: str, local: str) -> Run:
    """Whether the program of one device, emulated, computes what `plain` does; in a child, which may die or not end."""
    if any(not _PLAIN.fullmatch(t) for t in re.findall(r"tensor<[^<>]*>", plain) if "loc" not in t):
        return Run(reader, 0, "", "")
    reader += " (its results)"
    status, out = _in_child(lambda: _compare(plain, local))
    if status is None:
        return Run(reader, 0, "", "")  # the program itself does not end, or the interpreter does not run it
    return Run(reader, 0, "", "", out) if out else Run(reader, 0, "", "")


def _compare(plain: str, local: str) -> str:
    from torch_mlir import ir

    from pcg.ir.context import make_context
    from pcg.ir.inline import Inliner
    from pcg.ir.walk import entry
    from pcg.passes.pcg_emulate import EmulatePass
    from support.fuzz import evaluate
    from support.rulecheck import random_value

    with make_context(allow_unregistered=True), ir.Location.unknown():
        reference, lowered = ir.Module.parse(plain), ir.Module.parse(local)
        Inliner(reference.operation).run()
        rng = np.random.default_rng(0)
        function = entry(reference)
        values = [random_value(a.type, rng) for a in function.regions[0].blocks[0].arguments]
        for op in list(reference.body.operations):
            if op.operation != function:
                op.operation.erase()
        want = evaluate(reference, values)
        EmulatePass(check_replicas=True).run(lowered.operation)
        *got, agree = evaluate(lowered, values)
    if len(got) != len(want):
        return f"{len(got)} results; the program has {len(want)}"
    for g, w in zip(got, want, strict=True):
        if g.shape != w.shape or not np.allclose(g, w, rtol=1e-4, atol=1e-4, equal_nan=True):
            return "results differ"
    return "" if bool(agree) else "replicas disagree"


def _in_child(f: Callable[[], str]) -> tuple[int | None, str]:
    """(status, what `f` returns), from a child process; status None if it died or took too long."""
    import signal

    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the child runs no jax, and has an alarm
        child = os.fork()
    if child == 0:
        signal.alarm(_SECONDS)
        try:
            os.write(write, f().encode()[:4096])
            os._exit(0)
        except BaseException as error:
            os.write(write, f"comparing raised {where(error)}: {str(error)[:200]}".encode())
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        out = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    return (None, "") if status else (0, out)


# -- machines ------------------------------------------------------------------------------------

_PADDLE = (
    b'{"machines": [{"hostname": "a", "addr": "127.0.0.1", "port": "768", "devices": ['
    b'{"global_id": 0, "local_id": 0, "type": "GPU", "model": "V100", "sp_gflops": 15700, "dp_gflops": 7800, "memory": 32},'
    b'{"global_id": 1, "local_id": 1, "type": "GPU", "model": "V100", "sp_gflops": 15700, "dp_gflops": 7800, "memory": 32},'
    b'{"global_id": 2, "local_id": 0, "type": "NIC", "width": 12.5}], "links": ['
    b'{"source_global_id": 0, "target_global_id": 1, "type": "NVL", "bandwidth": 252, "latency": 0.001},'
    b'{"source_global_id": 1, "target_global_id": 0, "type": "NVL", "bandwidth": 252}]}],'
    b'"alpha_latency": {"inter": {"ring": "NET"}, "intra": {"ring": "NVL"}, "base": {"ring": 8.4}}}'
)  # fmt: skip


class Clusters(Kind):
    """Clusters as TOML and as Paddle's JSON."""

    suffix = ".toml"

    def _seeds(self) -> list[bytes]:
        from pcg.machine import Cluster, presets

        found = [p.read_bytes() for p in sorted(Path(presets.__file__).parent.glob("*.toml"))]
        found += [p.read_bytes() for p in sorted(TEST.glob("**/Inputs/*.toml"))]
        found += [Cluster.parse(p).dumps().encode() for p in ("preset:cpu:4", "preset:dgx-h100:2", "preset:tpu-v4:2x2x2")]
        return [*found, _PADDLE, _PADDLE]

    def mutated(self, rng: random.Random) -> bytes:
        data = rng.choice(self.seeds)
        return mutate.json_file(data, rng) if data.startswith(b"{") else mutate.toml_file(data, rng)

    def runs(self, path: Path, rng: random.Random) -> Iterator[Run]:
        from pcg.machine import Cluster, ClusterError

        if path.read_bytes().lstrip()[:1] == b"{":
            path = path.rename(path.with_suffix(".json"))
        run, cluster = call("Cluster.parse", lambda: Cluster.parse(str(path)), (ClusterError, OSError))
        yield run
        if cluster is not None:
            run, text = call("Cluster.dumps", cluster.dumps, ())
            yield run
        program = path.with_name("program.mlir")
        program.write_text(MLP)
        flags = rng.choice(("--auto-parallel", "--auto-parallel --mesh=x=2", "--pcg-choose-mesh", "--auto-parallel --lower --pcg-simulate"))
        run = opt([str(program), *flags.split(), f"--cluster={path}"])
        run.reader = f"pcg-opt {flags} --cluster"
        yield run


class Profiles(Kind):
    """Profiles of devices as TOML."""

    suffix = ".toml"

    def _seeds(self) -> list[bytes]:
        from pcg.machine import presets

        found = [p.read_bytes() for p in sorted(Path(presets.__file__).parent.glob("**/*.toml")) if b"pcg_profile" in p.read_bytes()]
        return [*found, _PROFILE]

    def mutated(self, rng: random.Random) -> bytes:
        return mutate.toml_file(rng.choice(self.seeds), rng)

    def runs(self, path: Path, rng: random.Random) -> Iterator[Run]:
        from pcg.machine import ClusterError, profile_text

        run, _ = call("profile_text.load", lambda: profile_text.load(path), (ClusterError,))
        yield run
        cluster, program = path.with_name("cluster.toml"), path.with_name("program.mlir")
        cluster.write_text(_WITH_PROFILE.format(path.name))
        program.write_text(MLP)
        flags = rng.choice(("--auto-parallel", "--auto-parallel --mesh=x=2", "--auto-parallel --lower --pcg-simulate"))
        run = opt([str(program), *flags.split(), f"--cluster={cluster}"])
        run.reader = f"pcg-opt {flags} --cluster"
        yield run


_CURVE = "sizes = [64.0, 1024.0, 1048576.0]\nseconds = [1e-6, 1e-6, 1e-4]\n"
_PROFILE = f"""pcg_profile = 2
name = "cpu"
devices = 2
kernel = 1e-6
dispatch = 1e-5
argument = 1e-7
[made]
device = "some processor"
[fresh]
{_CURVE}
[waits.2]
{_CURVE}
[rates.elementwise.f32.bytes]
{_CURVE}
[[rates.contraction.f32.flops]]
intensity = 1.0
{_CURVE}
[[rates.contraction.f32.flops]]
intensity = 8.0
{_CURVE}
[collectives.all_reduce.2]
{_CURVE}
""".encode()
_WITH_PROFILE = """name = "two"
[kinds.cpu]
flops = {{f32 = "50 GFLOP/s"}}
default_flops = "20 GFLOP/s"
memory = "4 GB"
memory_bandwidth = "10 GB/s"
profile = "{}"
[[groups]]
name = "host"
kind = "cpu"
[[groups.levels]]
name = "memory"
joins = "devices"
size = 2
topology = "bus"
bandwidth = "20 GB/s"
latency = "5 us"
"""


class Contests(Kind):
    """Problems of the contest on intra-operator parallelism."""

    suffix = ".json"

    def _seeds(self) -> list[bytes]:
        import json

        from support import solvefamily

        found = []
        for p in [solvefamily.small(s) for s in range(6)] + [solvefamily.layered(0, 2, 2)]:
            doc = {
                "nodes": {
                    "intervals": p.intervals.tolist(), "costs": [c.tolist() for c in p.costs],
                    "usages": [u.tolist() for u in p.usages],
                },
                "edges": {"nodes": p.edges.tolist(), "costs": [t.ravel().tolist() for t in p.tables]},
                "usage_limit": p.limit,
            }  # fmt: skip
            found.append(json.dumps({"problem": doc}).encode())
        return found

    def mutated(self, rng: random.Random) -> bytes:
        return mutate.json_file(rng.choice(self.seeds), rng)

    def runs(self, path: Path, rng: random.Random) -> Iterator[Run]:
        from pcg.tools import pcg_solve

        run = run_tool("pcg-solve", pcg_solve.main, [str(path), "2", "--processes", "1"])
        if run.status == pcg_solve.INFEASIBLE and not run.raised:
            run.status = 0
        yield run


KINDS: dict[str, type[Kind]] = {
    "plan": Plans, "mlir": Texts, "run": Programs, "bytecode": Bytecodes, "cluster": Clusters, "profile": Profiles, "contest": Contests,
}  # fmt: skip


def one(kind: Kind, seed: int) -> tuple[bytes, str]:
    """The file of a seed and what is wrong with how it is taken."""
    data = kind.mutated(random.Random(seed))
    return data, kind.consume(data, seed)
