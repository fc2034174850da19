"""Cases of the fuzzer over jax programs: a random function, a mesh, layouts, and how `pcg.compile` is to decide.

`generate(seed)` makes a case without jax; `script(case)` is it as a Python program that anyone can run.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from support import fuzzjaxcontrol
from support.fuzzjaxgrow import Grower, Skip
from support.fuzzjaxprogram import Case, Program, Setting, Statement, Var, clean, used

#: How placement is decided, as often as named.
STRATEGIES = (
    *("auto",) * 5, *("search",) * 5, *("dataflow",) * 4, *("global",) * 3, *("bfs",) * 2, *("priority",) * 2, *("plan",) * 2,
    "unity", "data", "zero1", "zero3", "megatron", "megatron-zero3",
)  # fmt: skip
_AXES = (("x", "y", "z"), ("data", "model", "pipe"), ("a", "b", "c"))
_PRELUDE = '''import os
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count={devices}"
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P
import pcg
from pcg import shard
from pcg.machine import DeviceKind, Link, Machine
{more}
'''
#: A machine so slow that splitting pays on arrays of a few hundred elements.
_SLOW = "Machine(DeviceKind('slow', {}, 1e6, 1e6, 1e12), Link(1e9, 1e-9))"
_OWN = '''
def _own(f):
    """`f` with a derivative of its own, which is the same."""
    g = jax.custom_vjp(f)
    g.defvjp(lambda *a: (f(*a), a), lambda a, t: jax.vjp(f, *a)[1](t))
    return g
'''


def generate(seed: int, devices: int = 8) -> Case:
    """The case of a seed, for a mesh of at most `devices`."""
    rng = random.Random(seed)
    wide = rng.random() < 0.12
    g = Grower(rng, empty=rng.random() < 0.08, wild=rng.random() < 0.1, wide=wide, exotic=rng.random() < 0.3)
    mesh = _mesh(rng, devices)
    # One op between layouts finds most for its time; long programs find what ops do to one another.
    tiny = rng.random() < 0.4
    for _ in range(rng.randint(1, 2 if tiny else 3)):
        g.argument(g.shape(rng.randint(1, 3)), g.dtype())
    fuzzjaxcontrol.grow(g, rng.randint(1, 3) if tiny else rng.randint(4, 14))
    program = g.program(_returns(g, rng))
    strategy = rng.choice(STRATEGIES)
    program = _ask(program, g, mesh, rng, rng.random() < 0.8, tiny)
    program = clean(program)
    setting = Setting(mesh, strategy=strategy, x64=wide)
    if rng.random() < 0.15:
        ids = list(range(setting.devices))
        rng.shuffle(ids)
        setting = replace(setting, device_ids=tuple(ids))
    many, some = rng.choice((0.0, 0.3, 0.7)), rng.choice((0.0, 0.2, 0.7))
    ins = [(i, _even(v, mesh, rng)) for i, v in enumerate(program.arguments) if rng.random() < many]
    outs = [(i, _even(v, mesh, rng)) for i, v in enumerate(program.returns) if rng.random() < some]
    donate = tuple(i for i in range(len(program.arguments)) if rng.random() < 0.3) if rng.random() < 0.2 else ()
    options = []
    if strategy in ("auto", "search", "global", "unity", "plan") and rng.random() < 0.8:
        options.append(("machine", _SLOW))
    if strategy in ("search", "auto") and rng.random() < 0.06:
        options.append(("memory_limit", rng.choice(("'1MiB'", "'8KiB'", "2000"))))
    if rng.random() < 0.05:
        options.append(("refine", "True"))
    return Case(
        seed, program, replace(setting, ins=tuple(ins), outs=tuple(outs), donate=donate, options=tuple(options))
    )


def _mesh(rng: random.Random, devices: int) -> tuple[tuple[str, int], ...]:
    while True:
        sizes = [rng.choice((2, 2, 2, 3, 3, 4, 5, 6, 7, 8, 1)) for _ in range(rng.choices((1, 2, 3), (5, 5, 3))[0])]
        total = 1
        for n in sizes:
            total *= n
        if 2 <= total <= devices:
            return tuple(zip(rng.choice(_AXES), sizes, strict=False))


def _returns(g: Grower, rng: random.Random) -> list[Var]:
    """What nothing else reads, and some of the rest."""
    made = [v for s in g.statements for v in s.results]
    read = used(Program((), tuple(g.statements), ()))
    last = [v for v in made if v.id not in read]
    others = [v for v in made if v.id in read]
    found = [*last[-6:], *rng.sample(others, min(len(others), rng.randint(0, 2)))] or list(g.arguments)
    if g.arguments and rng.random() < 0.1:
        found.append(rng.choice(g.arguments))
    return found


def _ask(
    program: Program, g: Grower, mesh: tuple[tuple[str, int], ...], rng: random.Random, uneven: bool, tiny: bool
) -> Program:  # fmt: skip
    """With layouts asked for, of nested variables too; one at the top is uneven if `uneven`, as far as shapes allow."""
    ranked = rng.random() < 0.1
    parts = rng.random() < 0.12  # of axes
    renamed: dict[int, Var] = {}
    many = rng.choice((0.4, 0.8) if tiny else (0.05, 0.2, 0.4))
    top = [v for s in program.statements for v in s.results] + list(program.arguments)
    fits = [v for v in top if v.size and any(n % k for n in v.shape if n > 1 for _, k in mesh if k > 1)]
    forced = rng.choice(fits).id if fits and uneven else 0

    def ask(v: Var, into: list[Statement]) -> None:
        if v.id != forced and (not v.rank or rng.random() >= many):
            return
        axes = _halves(mesh, rng) if parts and v.id != forced and rng.random() < 0.5 else mesh
        layout = _layout(v, axes, rng, uneven=v.id == forced or rng.random() < 0.6, forced=v.id == forced)
        new = g.new(v.shape, v.dtype, v.bound, v.soft, v.wild)
        more = f", priority={rng.randrange(3)}" if ranked and rng.random() < 0.5 else ""
        into.append(Statement((new,), f"shard({{0}}, {layout}{more})", (v,), family="shard", shard=True))
        renamed[v.id] = new

    def walk(statements: Sequence[Statement]) -> list[Statement]:
        out: list[Statement] = []
        for s in statements:
            bodies = []
            for b in s.bodies:
                inner: list[Statement] = []
                for _, held in b.head:
                    for v in held:
                        ask(v, inner)
                inner += walk(b.statements)
                bodies.append(replace(b, statements=tuple(inner), returns=tuple(renamed.get(v.id, v) for v in b.returns)))
            operands = tuple(renamed.get(v.id, v) for v in s.operands)
            out.append(replace(s, bodies=tuple(bodies), operands=operands))
            for v in s.results:
                ask(v, out)
        return out

    statements: list[Statement] = []
    for v in program.arguments:
        ask(v, statements)
    statements += walk(program.statements)
    return Program(program.arguments, tuple(statements), tuple(renamed.get(v.id, v) for v in program.returns))


def _halves(mesh: Sequence[tuple[str, int]], rng: random.Random) -> tuple[tuple[str, int], ...]:
    """Parts of the axes that have an even number of devices beyond 2."""
    found: list[tuple[str, int]] = []
    for name, n in mesh:
        found += [(f"{name}:(1)2", 2), (f"{name}:(2){n // 2}", n // 2)] if n in (4, 6, 8) else [(name, n)]
    return tuple(found)


def rename(s: Statement, by: dict[int, Var]) -> Statement:
    """A statement with other operands, in nested functions too."""
    bodies = tuple(
        replace(
            b, statements=tuple(rename(x, by) for x in b.statements), returns=tuple(by.get(v.id, v) for v in b.returns)
        )
        for b in s.bodies
    )
    return replace(s, operands=tuple(by.get(v.id, v) for v in s.operands), bodies=bodies)


def _layout(v: Var, mesh: Sequence[tuple[str, int]], rng: random.Random, uneven: bool, forced: bool = False) -> str:
    """A layout as the text of a tuple of tuples of axes."""
    dims: list[list[str]] = [[] for _ in v.shape]
    counts = [1] * v.rank
    order = rng.sample(list(mesh), len(mesh))
    if forced:
        axis, d = rng.choice([
            ((name, k), d) for name, k in mesh for d, n in enumerate(v.shape) if k > 1 and n > 1 and n % k
        ])  # fmt: skip
        dims[d].append(axis[0])
        counts[d] *= axis[1]
        order.remove(axis)
    for name, k in order:
        d = rng.randrange(-1, v.rank)
        if d >= 0 and v.shape[d] and (uneven or v.shape[d] % (counts[d] * k) == 0):
            dims[d].append(name)
            counts[d] *= k
    entries = [None if not d else d[0] if len(d) == 1 else tuple(d) for d in dims]
    return f"({', '.join(map(repr, entries))}{',' if len(entries) == 1 else ''})"


def _even(v: Var, mesh: Sequence[tuple[str, int]], rng: random.Random) -> str:
    """A PartitionSpec that cuts evenly, as the boundary of a program wants."""
    text = _layout(v, mesh, rng, uneven=False)
    return f"P{text}" if v.rank else "P()"


# -- as a program that runs ------------------------------------------------------------------------


def call(case: Case) -> str:
    """The arguments of `pcg.compile` for the function `f`, as text; a plan file is made by whoever runs it."""
    s = case.setting
    axes = ", ".join(f"{a!r}: {n}" for a, n in s.mesh)
    mesh = f"{{{axes}}}" if not s.device_ids else f"pcg.Mesh.of({{{axes}}}, {list(s.device_ids)})"
    parts = ["f", mesh, f"strategy={('search' if s.strategy == 'plan' else s.strategy)!r}"]
    for name, given, count in (
        ("in_shardings", dict(s.ins), len(case.program.arguments)), ("out_shardings", dict(s.outs), len(case.program.returns)),
    ):  # fmt: skip
        if given and count:
            parts.append(f"{name}=({''.join(f'{given.get(i)}, ' for i in range(count))})")
    if s.donate:
        parts.append(f"donate_argnums={s.donate}")
    parts += [f"{k}={v}" for k, v in s.options]
    return ", ".join(parts)


def prelude(case: Case) -> str:
    """Imports and helpers that the text of a case needs."""
    source = case.program.source()
    more = [_OWN] if "_own(" in source else []
    more += ['jax.config.update("jax_enable_x64", True)'] if case.setting.x64 else []
    return _PRELUDE.format(devices=case.setting.devices, more="\n".join(more))


def arguments(case: Case) -> list[str]:
    """The arguments as text: numpy arrays of small integers, the same for a variable however the program is cut."""
    found = []
    for v in case.program.arguments:
        n, low = int(min(v.bound, 8)), 0 if v.dtype.startswith("u") or v.dtype == "bool" else -1
        high = 1 if v.dtype == "bool" else n
        text = f"np.random.default_rng(({case.seed}, {v.id})).integers({low * n}, {high + 1}, {v.shape})"
        if v.wild:
            text = f"wild({text}, {v.id})"
        found.append(f"np.asarray({text}).astype(jnp.dtype('{v.dtype}'))")
    return found


_WILD = '''
def wild(x, seed):
    """`x` with NaN and infinities here and there."""
    rng, x = np.random.default_rng(seed), np.asarray(x, np.float64)
    return np.where(rng.random(x.shape) < 0.1, rng.choice([np.nan, np.inf, -np.inf], x.shape), x)
'''


def script(case: Case) -> str:
    """The case as a Python program: it prints each result of one device and of the mesh where they differ."""
    wild = _WILD if any(v.wild for v in case.program.arguments) else ""
    lines = [prelude(case) + wild, case.program.source(), "args = lambda: ("]
    lines += [f"    {a}," for a in arguments(case)]
    lines += [")", "want = jax.jit(f)(*args())", f"compiled = pcg.compile({call(case)})"]
    if case.setting.strategy == "plan":
        lines += ["compiled.lower(*args()).plan.save('/tmp/plan.json')", f"compiled = pcg.compile({from_plan(case, '/tmp/plan.json')})"]
    lines += [
        "got = compiled(*args())",
        "for i, (g, w) in enumerate(zip(got, want, strict=True)):",
        "    g, w = np.asarray(g), np.asarray(w)",
        "    if g.dtype != w.dtype or not np.array_equal(g, w, equal_nan=g.dtype.kind in 'fcV'):",
        "        print(f'result {i}: got', g, 'want', w, sep='\\n')",
        "print('done')",
    ]
    return "\n".join(lines) + "\n"


def from_plan(case: Case, path: str) -> str:
    """The arguments of `pcg.compile` that take a saved plan."""
    s = replace(case.setting, strategy=path, options=(), ins=(), outs=())
    return call(replace(case, setting=s))


def namespace(case: Case) -> dict[str, object]:
    """The names that the text of a case uses, with `f` and `args`; imports jax and pcg.

    The environment and 64-bit types are left as they are.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax
    from jax.sharding import PartitionSpec

    import pcg
    from pcg.machine import DeviceKind, Link, Machine

    names: dict[str, object] = {
        "jax": jax, "jnp": jnp, "np": np, "lax": lax, "P": PartitionSpec, "pcg": pcg, "shard": pcg.shard,
        "DeviceKind": DeviceKind, "Link": Link, "Machine": Machine,
    }  # fmt: skip
    exec(compile(_OWN + _WILD + case.program.source(), f"<seed {case.seed}>", "exec"), names)
    names["args"] = [eval(a, names) for a in arguments(case)]
    return names


__all__ = ["STRATEGIES", "Skip", "arguments", "call", "generate", "namespace", "rename", "script"]
