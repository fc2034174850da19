"""Check a program on several meshes by executing it: as it is, and split, lowered to processes and emulated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch_mlir import ir

from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.lower.processes import process_modules
from pcg.passes import pipelines
from pcg.passes.pipeline import Pipeline
from support.lowercheck import strip
from support.rulecheck import context, random_value, run


def split_with(engine: str = "dataflow") -> str:
    """The pipeline `split-meshes` with another engine for the layouts in a stage."""
    return ",".join(map(str, pipelines.split_meshes(pipelines.Settings(), engine)))


@dataclass(frozen=True)
class Message:
    """One `dist.send`: from whom to whom, which box."""

    sender: int
    receiver: int
    start: tuple[int, ...]
    limit: tuple[int, ...]


@dataclass(frozen=True)
class Checked:
    """Text of the split program, of every process, and the messages in order of their tags."""

    split: str
    processes: dict[int, str]
    messages: list[Message]


def mesh(name: str, devices: Sequence[int], **axes: int) -> str:
    names, sizes = ", ".join(f'"{a}"' for a in axes), ", ".join(map(str, axes.values()))
    value = f"#dist.process_mesh<[{names}], [{sizes}], {list(devices)}>"
    return f'"dist.mesh"() {{sym_name = "{name}", value = {value}}} : () -> ()\n'


def spec(name: str, dims: str) -> str:
    """`spec("a", "x,-")` is the attribute of [x, -] on @a."""
    parts = [d.strip() for d in dims.split(",")] if dims else []
    text = ", ".join("[" + ", ".join(f'"{a}"' for a in p.split("+")) + "]" if p != "-" else "[]" for p in parts)
    return f"#dist.shard_spec<@{name}, [{text}], {{}}>"


def messages_of(processes: dict[int, str]) -> list[Message]:
    found = {}
    for n, text in processes.items():
        for line in re.findall(r'"dist\.send".*', text):
            start, limit = (
                tuple(int(i) for i in re.search(rf"{w} = array<i64(.*?)>", line)[1].strip(": ").split(",") if i.strip())
                for w in ("start", "limit")
            )
            peer, tag = (int(re.search(rf"{w} = (\d+)", line)[1]) for w in ("peer", "tag"))
            found[tag] = Message(n, peer, start, limit)
    return [found[t] for t in sorted(found)]


def check(text: str, *, engine: str = "dataflow", rtol: float = 1e-5, seed: int = 0) -> Checked:
    """Run `text` before and after.  The split program, stripped of placement, must also be what it was.

    Raises:
      AssertionError: results differ or processes that return the same box disagree.
    """
    rng = np.random.default_rng(seed)
    with context():
        plain = ir.Module.parse(text)
        strip(plain)
        for op in list(plain.body.operations):
            if op.operation.name == "dist.mesh":
                op.operation.erase()
        main = next(iter(plain.body.operations)).operation
        values = [random_value(a.type, rng) for a in main.regions[0].blocks[0].arguments]
        want = run(str(plain), values)
    module = load_module(text, make_context(), "<test>")
    Pipeline(split_with(engine)).run(module)
    module.operation.verify()
    after = str(module)
    Pipeline("pcg-lower-processes").run(module)
    module.operation.verify()
    processes = {n: str(m) for n, m in process_modules(module)}
    assert str(load_module(str(module), make_context(), "<test>")) == str(module)
    Pipeline("pcg-emulate-processes{check-replicas=true}").run(module)
    module.operation.verify()
    with context():
        *got, agree = run(str(module), values)
        again = load_module(after, context(), "<test>")
        Pipeline("dist-strip").run(again)
        for g, w in zip(run(str(again), values), want, strict=True):
            np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol)
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol, err_msg=f"result {i}\n{after}")
    assert bool(agree), f"replicas differ\n{after}"
    return Checked(after, processes, messages_of(processes))
