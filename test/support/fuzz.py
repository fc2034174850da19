"""Fuzzing the whole pipeline: a random program on a random mesh, planned by a random engine, must compute what it did.

`generate(seed)` makes a case, `check(case)` runs it through normalise, the engine, insert-reshards,
dist-verify, fuse and lower, then by emulation and, a share of the cases, by XLA on devices, and compares every
result bit for bit with the program itself; `minimise` cuts a failing case down.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir import stablehlo as _stablehlo
from pcg.ir.context import make_context
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec
from pcg.machine import DeviceKind, Link, Machine
from pcg.passes.base import Pass
from pcg.passes.dist_fuse_collectives import FuseCollectivesPass
from pcg.passes.dist_insert_reshards import InsertReshardsPass
from pcg.passes.dist_propagate import PropagatePass
from pcg.passes.dist_verify import VerifyPass
from pcg.passes.pcg_emulate import EmulatePass
from pcg.passes.pcg_lower_spmd import LowerSpmdPass
from pcg.passes.pcg_normalize import NormalizePass
from pcg.passes.pcg_reassociate import ReassociatePass
from pcg.passes.pcg_search import SearchPass
from support import fuzzindexing
from support.anyplan import annotate
from support.fuzzops import Grower
from support.fuzzprogram import Layouts, Node, Program, Region, Type, Value, constant, text_of
from support.rulecheck import _DTYPES, dtype_of, run_xla

ENGINES = ("propagate", "search", "random", "bfs")
#: Devices so slow that splitting pays on tensors of a few hundred elements.
SLOW = Machine(DeviceKind("slow", {}, 1e6, 1e6, 1e12), Link(1e9, 1e-7))
_MESHES = (
    "a=2", "a=3", "a=4", "a=5", "a=8", "a=16", "a=2,b=2", "a=2,b=3", "a=2,b=4", "a=4,b=2", "a=3,b=4", "a=4,b=4", "a=2,b=7",
    "a=2,b=2,c=2", "a=2,b=2,c=3", "a=2,b=2,c=4", "a=4,b=1,c=2", "a=6", "a=7", "a=3,b=2", "a=2,b=3,c=2", "a=2,b=1,c=3",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One thing to try."""

    seed: int
    program: Program
    mesh: Mesh
    layouts: Layouts
    engine: str
    reassociate: bool = True
    fuse: bool = True
    exotic: bool = False
    #: Whether it runs on devices too.
    devices: bool = False

    @property
    def plain(self) -> str:
        return text_of(self.program)

    @property
    def annotated(self) -> str:
        return text_of(self.program, self.layouts, self.mesh)


class Mismatch(AssertionError):
    """The lowered program computes something else."""


@dataclass
class Report:
    """What one case did: ops by name, collectives by kind, and ops that ran on shards."""

    ops: Counter[str]
    collectives: Counter[str]
    #: Whether some value was split into shards of unequal sizes.
    uneven: bool = False


def generate(seed: int, exotic: bool = False, devices: bool = False) -> Case:
    """The case of a seed.

    An `exotic` one has ops that only XLA runs, one on `devices` runs by XLA too: they are smaller, for XLA compiles
    slowly.
    """
    rng = random.Random(seed)
    small = exotic or devices
    wild, types = rng.random() < 0.08, rng.random() < 0.2
    grower = Grower(rng, empty=rng.random() < 0.08, exotic=exotic, wild=wild, types=types)
    for _ in range(rng.randint(1, 4)):
        element = grower.element() if types else rng.choice(("f32", "f32", "i32"))
        grower.argument(Type(grower.shape(rng.randint(1, 3)), element))
    target = rng.randint(5, 20) if small else rng.randint(10, 60)
    while grower.ops < target:
        fuzzindexing.grow(grower, 1)
    program = grower.program
    used = {v.id for n in program.every() for v in _reads(n)}
    last = [v for n in program.nodes for v in n.results if v.id not in used and n.name != "stablehlo.constant"]
    others = [v for n in program.nodes for v in n.results if v.id in used]
    program.returns = [*last, *rng.sample(others, min(len(others), rng.randint(0, 2)))]
    meshes = [m for m in map(Mesh.parse, _MESHES) if m.size <= (8 if small else 16)]
    mesh = rng.choice(meshes)
    if rng.random() < 0.15:
        ids = list(range(mesh.size))
        rng.shuffle(ids)
        mesh = Mesh.of(mesh.axes, ids)
    engine = rng.choice(ENGINES)
    layouts = _layouts(program, mesh, engine, rng)
    return Case(seed, program, mesh, layouts, engine, rng.random() < 0.7, rng.random() < 0.8, exotic, devices)


def _reads(node: Node) -> list[Value]:
    return [*node.operands, *(v for r in node.nested for v in r.yields)]


def _layouts(program: Program, mesh: Mesh, engine: str, rng: random.Random) -> Layouts:
    """Random annotations; none for the random plan, which decides everything."""
    if engine == "random":
        return Layouts()
    some = rng.choice((0.2, 0.5, 0.9))
    every = [v for n in program.every() for v in n.results]
    return Layouts(
        {v.id: layout(v.type, mesh, rng) for v in program.arguments if rng.random() < some},
        {i: layout(v.type, mesh, rng) for i, v in enumerate(program.returns) if rng.random() < some / 2},
        {
            v.id: (rng.choice(("constraint", "constraint", "reshard")), layout(v.type, mesh, rng))
            for v in every if rng.random() < 0.06
        },
    )  # fmt: skip


def layout(type_: Type, mesh: Mesh, rng: random.Random) -> ShardSpec:
    """A random layout; half of them may leave some shards with padding."""
    split: list[list[str]] = [[] for _ in type_.shape]
    uneven = rng.random() < 0.5
    for axis in rng.sample(mesh.names, len(mesh.names)):
        d = rng.randrange(-1, len(split))
        if d >= 0 and type_.shape[d] and (uneven or type_.shape[d] % mesh.axes_size([*split[d], axis]) == 0):
            split[d].append(axis)
    return ShardSpec.of(split)


def inputs(case: Case) -> list[np.ndarray]:
    """Arguments: small integers within each value's bound; the same for a value however the program is cut."""
    found = []
    for v in case.program.arguments:
        rng = np.random.default_rng((case.seed, v.id))
        n, element = int(min(v.bound, 8)), v.type.element
        low = 0 if element == "i1" or element.startswith("ui") else -n
        x = np.asarray(rng.integers(low, n + 1, v.type.shape)).astype(_DTYPES[element])
        if v.wild:
            x = np.where(rng.random(x.shape) < 0.15, rng.choice([np.nan, np.inf, -np.inf], x.shape), x).astype(x.dtype)
        found.append(x)
    return found


def check(case: Case) -> Report:
    """Run a case.

    Raises:
      Mismatch: results differ, or devices that hold the same shard disagree.
      Exception: whatever a pass raises.
    """
    with make_context(), ir.Location.unknown():
        values = inputs(case)
        want = evaluate(ir.Module.parse(case.plain), values, case.exotic)
        module = ir.Module.parse(case.annotated)
        ops = Counter(op.name.removeprefix("stablehlo.") for op in walk(module.operation))
        padded = False
        for step in passes(case, module):
            padded = padded or _uneven(module, case.mesh)
            step()
            module.operation.verify()
        moved = Counter(op.name.removeprefix("stablehlo.") for op in walk(module.operation))
        local = str(module)
        emulated = ir.Module.parse(local)
        EmulatePass(check_replicas=True).run(emulated.operation)
        *got, agree = evaluate(emulated, values, case.exotic)
        _compare(got, want, local)
        if not agree:
            raise Mismatch(f"replicas disagree\n{local}")
        if case.devices:
            _on_devices(case, module, values, want, local)
    kinds = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "collective_permute")
    return Report(ops, Counter({k: moved[k] for k in kinds if moved[k]}), padded)


def _compare(got: list[np.ndarray], want: list[np.ndarray], local: str, where: str = "") -> None:
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        if g.dtype != w.dtype or not same(g, w):
            raise Mismatch(f"{where}result {i}: got\n{g}\nexpected\n{w}\n{local}")


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether arrays hold the same numbers; NaN is NaN."""
    if a.dtype.kind in "fV":
        a, b = a.astype(np.float64), b.astype(np.float64)
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _on_devices(case: Case, module: ir.Module, values: list[np.ndarray], want: list[np.ndarray], local: str) -> None:
    """The same by XLA on devices; what XLA on one device computes otherwise than the interpreter may differ likewise."""
    from support import ondevices

    try:
        got = ondevices.run(module, values)
    except AssertionError as error:
        raise Mismatch(f"replicas disagree on devices\n{error}") from None
    if not all(map(same, got, want)):
        want = evaluate(ir.Module.parse(case.plain), values, True)
    _compare(got, want, local, "on devices: ")


def is_uneven(case: Case) -> bool:
    """Whether the plan of a case splits some value into shards of unequal sizes."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(case.annotated)
        for step in passes(case, module):
            step()
            if _uneven(module, case.mesh):
                return True
    return False


def _uneven(module: ir.Module, mesh: Mesh) -> bool:
    """Whether an op of an annotated program yields shards of unequal sizes."""
    for op in walk(module.operation):
        if "dist.specs" not in op.attributes:
            continue
        for value, spec in zip(op.results, shardings.result_specs(op), strict=True):
            if spec is not None and any(
                n % mesh.axes_size(axes) for n, axes in zip(value.type.shape, spec.dims, strict=True) if axes
            ):
                return True
    return False


def passes(case: Case, module: ir.Module) -> list[Callable[[], None]]:
    """The pipeline, as steps to take."""

    def run(p: Pass) -> Callable[[], None]:
        return lambda: p.run(module.operation)

    engine = {
        "propagate": run(
            PropagatePass(engine=("global", "dataflow", "priority")[case.seed % 3], progress=False, machine=SLOW)
        ),
        "bfs": run(PropagatePass(engine="bfs")),
        "search": run(SearchPass(progress=False, machine=SLOW)),
        "random": lambda: annotate(module, case.mesh, case.seed),
    }[case.engine]
    fuse = [FuseCollectivesPass()] if case.fuse else []
    after = [InsertReshardsPass(), VerifyPass(), *fuse, LowerSpmdPass()]
    before = [NormalizePass(), *([ReassociatePass()] if case.reassociate else [])]
    return [*map(run, before), engine, *map(run, after)]


def evaluate(module: ir.Module, values: list[np.ndarray], xla: bool = False) -> list[np.ndarray]:
    """Run a single-device module in the reference interpreter, or in XLA on a CPU."""
    if xla:
        return run_xla(str(module), values)
    function = next(op.operation for op in module.body.operations if op.operation.name == "func.func")
    types = list(ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs)
    arguments = []
    for x, t in zip(values, types, strict=True):
        if not x.size:
            arguments.append(ir.Attribute.parse(f"dense<> : {t}"))
        elif x.dtype == np.bool_:
            arguments.append(ir.DenseElementsAttr.get([ir.BoolAttr.get(bool(b)) for b in x.flat], t))
        else:
            arguments.append(ir.DenseElementsAttr.get(np.ascontiguousarray(x), type=t))
    return [_array(r) for r in _stablehlo.eval_module(module, arguments)]


def _array(attr: ir.Attribute) -> np.ndarray:
    type_ = ir.RankedTensorType(attr.type)
    dtype = dtype_of(type_.element_type)
    return np.array(np.asarray(attr), dtype).reshape(tuple(type_.shape))


def failure(case: Case) -> str:
    """What is wrong with a case (see `describe`); empty if nothing is."""
    try:
        check(case)
    except Exception as error:
        return describe(error)
    return ""


def fails_like(wanted: str, case: Case) -> bool:
    """Whether a case fails with exactly this description."""
    return failure(case) == wanted


def describe(error: Exception) -> str:
    """An error in one line that stays the same when its case is cut down."""
    if isinstance(error, Mismatch):
        text = str(error)
        if text.startswith("replicas"):
            return "replicas disagree on devices" if "on devices" in text.split("\n")[0] else "replicas disagree"
        return "results differ on devices" if text.startswith("on devices") else "results differ"
    return f"{type(error).__name__}: {_words(error)}"


def _words(error: Exception) -> str:
    return " ".join(w for w in str(error).split("\n")[0].split()[:8] if w.strip("'\",.:").isalpha())


# -- cutting down --------------------------------------------------------------------------------


def minimise(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Drop results, annotations and ops (their results become arguments or zeros) while the case still fails."""
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(case):
            if fails(smaller):
                case, changed = smaller, True
                break
    return case


def _smaller(case: Case) -> list[Case]:
    """Cases with one thing less, the largest cuts first."""
    p, l = case.program, case.layouts
    found = []
    for node in p.nodes:  # everything up to one op
        if node.name != "stablehlo.constant" and [v.id for v in node.results] != [v.id for v in p.returns]:
            prefix = replace_returns(p, list(node.results))
            if len(prefix.nodes) < len(p.nodes):
                found.append(replace(case, program=prefix, layouts=replace(l, results={})))
    for i in range(len(p.returns)) if len(p.returns) > 1 else ():
        results = {k - (k > i): s for k, s in l.results.items() if k != i}
        kept = [v for k, v in enumerate(p.returns) if k != i]
        found.append(replace(case, program=replace_returns(p, kept), layouts=replace(l, results=results)))
    for at in range(len(p.nodes) - 1, -1, -1):
        found += [replace(case, program=q) for q in _without(p, at)]
    for name in ("requests", "results", "arguments"):
        for key in getattr(l, name):
            rest = {k: v for k, v in getattr(l, name).items() if k != key}
            found.append(replace(case, layouts=replace(l, **{name: rest})))
    return found


def replace_returns(p: Program, returns: list[Value]) -> Program:
    return _clean(Program(p.arguments, p.nodes, returns))


def _without(p: Program, at: int) -> list[Program]:
    node = p.nodes[at]
    found = []
    if node.name != "stablehlo.constant":
        nodes = [*p.nodes[:at], *p.nodes[at + 1 :]]
        returns = [v for v in p.returns if v.id not in {r.id for r in node.results}]
        if returns or any(True for _ in node.results):
            found.append(_clean(Program([*p.arguments, *node.results], nodes, p.returns)))
    for r, region in enumerate(node.regions):
        if not isinstance(region, Region):
            continue
        for i, inner in enumerate(region.nodes):
            if inner.name == "stablehlo.constant":
                continue
            zeros = [constant(v, 0) for v in inner.results]
            smaller = Region(region.arguments, [*region.nodes[:i], *zeros, *region.nodes[i + 1 :]], region.yields)
            regions = [*node.regions[:r], smaller, *node.regions[r + 1 :]]
            nodes = [*p.nodes[:at], Node(node.name, node.operands, node.results, node.attributes, regions), *p.nodes[at + 1 :]]
            found.append(_clean(Program(p.arguments, nodes, p.returns)))
    return found


def _clean(p: Program) -> Program:
    """Without ops and arguments that nothing uses."""
    nodes = list(p.nodes)
    while True:
        used = {v.id for v in p.returns}
        used |= {v.id for n in Program([], nodes).every() for v in _reads(n)}
        kept = [n for n in nodes if any(r.id in used for r in n.results)]
        if len(kept) == len(nodes):
            break
        nodes = kept
    return Program([v for v in p.arguments if v.id in used], nodes, p.returns)
