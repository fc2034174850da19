"""The rooms of the source tree, their order, and docs/architecture.md: a drawing of them and two ways through them."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

#: From the ground up: a room may import from itself and from those before it, nothing else.  "" is `pcg` itself.
ORDER = (
    "kernels", "layout", "machine", "solve", "dialects", "ir", "rules", "reshard", "propagate", "cost", "search",
    "baselines", "lower", "emulate", "simulate", "explain", "rewrite", "lint", "planning", "passes", "driver", "viz",
    "runtime", "frontend", "api", "", "tools",
)  # fmt: skip
#: Rooms whose functions everything calls all the time: they are left out of the ways through the rooms.
_GROUND = frozenset({"kernels", "layout", "machine", "solve", "dialects", "ir", "rules", ""})

#: What `pcg-opt` and `pcg.compile` are shown with: two matrix products.
_MODULE = """\
func.func @main(%x: tensor<64x32xf32>, %v: tensor<32x128xf32>, %w: tensor<128x32xf32>) -> tensor<64x32xf32> {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x128xf32>) -> tensor<64x128xf32>
  %1 = stablehlo.tanh %0 : tensor<64x128xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
  return %2 : tensor<64x32xf32>
}
"""  # noqa: E501
_COMPILE = """\
import jax, jax.numpy as jnp, pcg
step = pcg.compile(lambda x, v, w: jnp.tanh(x @ v) @ w, {"data": 2, "model": 2})
step(jnp.ones((64, 32)), jnp.ones((32, 128)), jnp.ones((128, 32)))
"""


@dataclass(frozen=True)
class Call:
    """The first call of a function from another room."""

    caller: str
    """Room of the caller."""
    room: str
    module: str
    name: str
    """As `pcg.lower.lower_spmd` and `LowerSpmd.run`."""

    @property
    def is_property(self) -> bool:
        thing: Any = importlib.import_module(self.module)
        for name in self.name.split("."):
            thing = inspect.getattr_static(thing, name)
        return isinstance(thing, property | functools.cached_property)

    def __str__(self) -> str:
        """What the function promises, or for a method without words of its own what its class does."""
        thing: Any = importlib.import_module(self.module)
        docs = []
        for name in self.name.split("."):
            thing = inspect.getattr_static(thing, name)
            docs.append(inspect.cleandoc(thing.__doc__ or ""))
        text = docs[-1] if docs[-1] and not docs[-1].startswith("Raises") else docs[0]
        return " ".join(text.split("\n\n")[0].split())


def source_files(root: Path) -> Iterator[tuple[str, Path]]:
    """(room, file) of every Python file of a checkout."""
    for name in ("dialects", "passes", "tools"):
        yield from ((name, f) for f in sorted((root / name).rglob("*.py")))
    core = root / "python" / "pcg"
    for f in sorted(core.rglob("*.py")):
        parts = f.relative_to(core).parts
        yield (parts[0] if len(parts) > 1 else ""), f


def arrows(root: Path) -> dict[str, set[str]]:
    """Room -> the rooms that it imports from, lazily or not."""
    found: dict[str, set[str]] = {room: set() for room in ORDER}
    for room, file in source_files(root):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                names = [f"{node.module}.{a.name}" for a in node.names]
            else:
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                parts = name.split(".")
                if parts[0] == "pcg" and len(parts) > 1 and parts[1] in found and parts[1] != room:
                    found[room].add(parts[1])
    return found


def reduced(found: dict[str, set[str]]) -> dict[str, set[str]]:
    """The arrows that do not follow from others, by transitive reduction."""
    reach: dict[str, set[str]] = {}
    for room in ORDER:
        below = [b for b in found[room] if ORDER.index(b) < ORDER.index(room)]
        reach[room] = {*below, *(r for b in below for r in reach[b])}
    return {room: {b for b in below if not any(b in reach[o] for o in below)} for room, below in found.items()}


def drawing(root: Path) -> str:
    """The rooms as a Mermaid graph: arrows go to what a room imports, those that follow from others left out."""
    lines = ["```mermaid", "graph TD"]
    lines += [f"  {room or 'pcg'}" for room in reversed(ORDER)]
    for room, below in reduced(arrows(root)).items():
        lines += [f"  {room or 'pcg'} --> {b or 'pcg'}" for b in sorted(below, key=ORDER.index)]
    return "\n".join([*lines, "```"])


def recorded(run: Any) -> list[Call]:
    """The calls between rooms while `run` runs: every function once, when it is first called from another room.

    Methods that are called for their value alone (properties, and private ones) are left out, and so is what the rooms
    at the bottom do for all others.
    """
    found: dict[str, Call] = {}

    def room(frame: FrameType) -> str | None:
        name = frame.f_globals.get("__name__", "")
        if name != "pcg" and not name.startswith("pcg."):
            return None
        parts = name.split(".")
        return parts[1] if len(parts) > 1 else ""

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or (here := room(frame)) is None or here in _GROUND:
            return
        back = frame.f_back
        while back is not None and room(back) is None:
            back = back.f_back
        name = frame.f_code.co_qualname
        if back is None or room(back) == here or "<" in name or any(p.startswith("_") for p in name.split(".")):
            return
        module = frame.f_globals["__name__"]
        found.setdefault(f"{module}.{name}", Call(room(back) or "pcg", here, module, name))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(found.values())


def _calls(code: str) -> list[Call]:
    """`recorded` for a piece of code, in a process of its own with four CPU devices."""
    program = (
        "import dataclasses, json, sys\nfrom pcg.tools.architecture import recorded\n"
        f"found = recorded(lambda: exec({code!r}, {{}}))\n"
        "print('\\n' + json.dumps([dataclasses.astuple(c) for c in found]))"
    )
    environment = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return [Call(*c) for c in json.loads(done.stdout.splitlines()[-1])]


@functools.cache
def through_pcg_opt() -> list[Call]:
    """What `pcg-opt --auto-parallel --lower` calls, in order."""
    with tempfile.TemporaryDirectory() as where:
        program = Path(where) / "program.mlir"
        program.write_text(_MODULE)
        flags = ["--auto-parallel", "--lower", "--mesh", "data=2,model=2", str(program), "-o", str(program) + ".out"]
        return _calls(f"from pcg.tools.pcg_opt import main; assert main({flags!r}) == 0")


@functools.cache
def through_compile() -> list[Call]:
    """What `pcg.compile` and the first call of what it returns call, in order."""
    return _calls(_COMPILE)


def _trail(calls: list[Call]) -> str:
    rows = ["| from | to | function | what it does |", "| --- | --- | --- | --- |"]
    for c in calls:
        if c.is_property:
            continue
        up = ORDER.index(c.room) > ORDER.index("" if c.caller == "pcg" else c.caller)
        what = str(c).replace("|", "\\|") + (" (A function passed to it.)" if up else "")
        rows.append(f"| {c.caller} | {c.room} | `{c.module.removeprefix('pcg.')}.{c.name}` | {what} |")
    return "\n".join(rows)


def page() -> str:
    """docs/architecture.md."""
    root = Path(__file__).resolve().parents[1]
    docs = {room: importlib.import_module(f"pcg.{room}").__doc__ or "" for room in ORDER if room}
    rooms = [f"| `{room}` | {' '.join(doc.split()).split('. ')[0].rstrip('.')} |" for room, doc in docs.items()]
    return "\n".join([
        "<!-- Generated by `python -m pcg.tools.gen_docs`; edit the definitions instead. -->", "", "# Architecture", "",
        "Every package of pcg is a room.  From the ground up a room imports only from rooms before it in this list; a",
        "test checks all imports, those inside functions included.  [The overview](overview.md) says what the parts",
        "do together.", "", "| room | what it is |", "| --- | --- |", *rooms, "",
        "Arrows go from a room to those that it imports from; those that follow from others are left out.", "",
        drawing(root), "",
        "## A module through `pcg-opt --auto-parallel --lower`", "",
        "Recorded while two matrix products are planned for a 2x2 mesh and lowered: every function that one room calls",
        "in another, once, when it is first called.  The rooms at the bottom (up to `rules`), which all others use,",
        "are left out.", "", _trail(through_pcg_opt()), "",
        "## A function through `pcg.compile`", "",
        "The same for the function compiled and called once on four devices.", "", _trail(through_compile()), "",
    ])  # fmt: skip
