"""The layout of every argument under a scheme: where it is kept, and how it is computed with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.baselines import tensor
from pcg.baselines.aliases import Alias, aliases
from pcg.baselines.forward import WeightUse, forward_ops, weight_uses
from pcg.baselines.recipe import Recipe, RecipeError, Roles
from pcg.baselines.update import UpdateGroup, update_groups
from pcg.layout import Mesh, ShardSpec
from pcg.search.roles import data_of


@dataclass
class Layouts:
    """Per argument: `used` is how ops read it, `kept` how it is stored between steps (they differ under ZeRO).

    `split` is the layout of its gradient and of its update.  `data` are the arguments that are data.
    """

    used: dict[int, ShardSpec] = field(default_factory=dict)
    kept: dict[int, ShardSpec] = field(default_factory=dict)
    split: dict[int, ShardSpec] = field(default_factory=dict)
    data: frozenset[int] = frozenset()


@dataclass
class ProgramFacts:
    """What every scheme needs to know of a program."""

    func: ir.Operation
    state: Mapping[int, int]
    data: tuple[int, ...]
    shapes: list[tuple[int, ...]]
    known: dict[ir.Value, Alias]
    forward: list[ir.Operation]
    weight_uses: list[WeightUse]
    update_groups: list[UpdateGroup]


def read_program(func: ir.Operation, state: Mapping[int, int]) -> ProgramFacts:
    """Read the entry function `func`, whose result `r` is the next value of argument `state[r]`."""
    func = func.operation
    block = func.regions[0].blocks[0]
    data = tuple(data_of(func, dict(state)))
    shapes = [tuple(a.type.shape) if isinstance(a.type, ir.RankedTensorType) else () for a in block.arguments]
    held = [i for i, shape in enumerate(shapes) if shape and i not in data]
    known = aliases(block, held)
    last = block.operations[-1].operation
    forward = forward_ops(func, [r for r in range(len(last.operands)) if r not in state])
    uses = weight_uses(forward, known)
    return ProgramFacts(func, state, data, shapes, known, forward, uses, update_groups(func, state))


def choose_layouts(program: ProgramFacts, scheme: Recipe, roles: Roles, mesh: Mesh) -> Layouts:
    """The layouts of all arguments of `program` under `scheme`.

    Raises:
      RecipeError: the scheme puts each table on one device, and none are stacked.
    """
    shapes = program.shapes
    out = Layouts(data=frozenset(program.data))
    for i, spec in zip(program.data, _batch(program, roles, mesh), strict=True):
        out.used[i] = out.kept[i] = out.split[i] = spec
    dims: dict[int, list[tuple[str, ...]]] = {
        i: [()] * len(shape) for i, shape in enumerate(shapes) if i not in out.data
    }
    spread: dict[int, int] = {}
    if scheme.experts and (count := mesh.axes_size(roles.experts)) > 1:
        spread = {a: d for a, d in tensor.experts(program.weight_uses).items() if shapes[a][d] % count == 0}
        for a, d in spread.items():
            dims[a][d] = roles.experts
    if scheme.tables:
        every = tuple(n for n in mesh.names if mesh.axis_size(n) > 1)
        found_tables = tensor.tables(program.weight_uses)
        if scheme.tables == "whole" and all(t.stack is None for t in found_tables.values()):
            raise RecipeError("no embedding tables are stacked in one array, which lets each lie on one device")
        for a, table in found_tables.items():
            if scheme.tables == "whole":
                if table.stack is not None:
                    dims[a][table.stack] = every
                continue
            first, second = (table.columns, table.rows) if scheme.tables == "columns" else (table.rows, table.columns)
            left = every
            for dim in (first, second):
                if dim is not None:
                    dims[a][dim] = fitting(left, shapes[a][dim], mesh)
                    left = tuple(x for x in left if x not in dims[a][dim])
    if scheme.tensor:
        n = mesh.axes_size(roles.model)
        found = tensor.megatron_split(program.forward, program.weight_uses, program.known, shapes, n, spread)
        for a, d in found.items():
            if not dims[a][d]:
                dims[a][d] = roles.model
    _share(program.update_groups, dims, shapes)
    layers = _layers(program)
    read_forward = {program.known[v].argument for op in program.forward for v in op.operands if v in program.known}
    for a, axes in dims.items():
        out.used[a] = ShardSpec.of(axes)
        out.split[a] = _also(out.used[a], shapes[a], roles.zero, mesh, layers.get(a, frozenset()))
        sharded = scheme.zero == 3 or (scheme.zero == 1 and a not in read_forward)
        out.kept[a] = out.split[a] if sharded else out.used[a]
    return out


def _batch(program: ProgramFacts, roles: Roles, mesh: Mesh) -> list[ShardSpec]:
    """Layouts of the data: its first dimension, if that is the batch, over the data axes as far as they divide it.

    The batch is the length that most data begins with; other data (random keys, tables of positions) is replicated.
    """
    shapes = [program.shapes[i] for i in program.data]
    lengths = Counter(s[0] for i, s in zip(program.data, shapes, strict=True) if not _is_key(program, i))
    batch = max(lengths, key=lambda n: (lengths[n], n), default=0)
    out = []
    for i, shape in zip(program.data, shapes, strict=True):
        split = shape[0] == batch and not _is_key(program, i)
        out.append(ShardSpec.replicated(len(shape)).with_dim(0, fitting(roles.data, batch, mesh) if split else ()))
    return out


def _is_key(program: ProgramFacts, i: int) -> bool:
    """Whether argument `i` looks like the state of a random generator: a few unsigned 32-bit words."""
    element = program.func.regions[0].blocks[0].arguments[i].type.element_type
    return str(element) == "ui32" and math.prod(program.shapes[i]) <= 4


def fitting(axes: Sequence[str], size: int, mesh: Mesh) -> tuple[str, ...]:
    """Those of `axes`, in order, that together split a dimension of `size` evenly."""
    out: list[str] = []
    n = 1
    for a in axes:
        if size % (n * mesh.axis_size(a)) == 0:
            out.append(a)
            n *= mesh.axis_size(a)
    return tuple(out)


def _share(
    found: Iterable[UpdateGroup], dims: dict[int, list[tuple[str, ...]]], shapes: Sequence[tuple[int, ...]]
) -> None:
    """Give moments the layout of their weight."""
    for group in found:
        split = [a for a in sorted(group.arguments) if a in dims and any(dims[a])]
        for a in group.arguments:
            if split and a in dims and shapes[a] == shapes[split[0]]:
                dims[a] = list(dims[split[0]])


def _layers(program: ProgramFacts) -> dict[int, frozenset[int]]:
    """Argument -> dimensions of which a loop takes one slice at a time."""
    every = {i: frozenset(range(len(s))) for i, s in enumerate(program.shapes)}
    sliced: dict[int, frozenset[int]] = {}
    for site in program.weight_uses:
        a = site.weight.argument
        sliced[a] = sliced.get(a, frozenset()) | {d for d in site.weight.dims if d is not None}
    gone = {a: every[a] - dims for a, dims in sliced.items()}
    for value, alias in program.known.items():
        a = alias.argument
        if a not in gone and isinstance(value.type, ir.RankedTensorType):
            owner = None if isinstance(value, ir.BlockArgument) else value.owner.operation
            if owner is not None and owner.name == "stablehlo.dynamic_slice":
                shape = program.shapes[a]
                kept = {d for d, n in zip(alias.dims, value.type.shape, strict=True) if d is not None and n == shape[d]}
                gone[a] = every[a] - kept
    for group in program.update_groups:
        dims = frozenset(d for a in group.arguments for d in gone.get(a, ()))
        gone.update((a, dims) for a in group.arguments)
    return gone


def _also(spec: ShardSpec, shape: Sequence[int], axes: Sequence[str], mesh: Mesh, avoid: frozenset[int]) -> ShardSpec:
    """`spec` with one more dimension split over `axes` evenly: unsplit ones first, then the longest."""
    free = tuple(a for a in axes if a not in spec.used_axes and mesh.axis_size(a) > 1)
    best: tuple[tuple[int, bool, int], int, tuple[str, ...]] | None = None
    for d, size in enumerate(shape):
        if d in avoid:
            continue
        have = spec.dims[d]
        more = fitting(free, size // mesh.axes_size(have), mesh) if size % mesh.axes_size(have) == 0 else ()
        key = (mesh.axes_size(more), not have, size)
        if more and (best is None or key > best[0]):
            best = key, d, more
    if best is None:
        return spec
    _, d, more = best
    return spec.with_dim(d, (*spec.dims[d], *more))
