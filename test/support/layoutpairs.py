"""All layouts of small meshes, and programs that move values from one to another."""

from __future__ import annotations

import itertools

from pcg.ir import shardings
from pcg.layout import Mesh, ShardSpec
from support.rulecheck import context

#: The ops that reduce partial values, and a start that changes nothing of small integers.
REDUCERS = {
    "sum": ("add", "0"), "max": ("maximum", "-128"), "min": ("minimum", "127"), "prod": ("multiply", "1"),
    "and": ("and", "-1"), "or": ("or", "0"),
}  # fmt: skip


def layouts(mesh: Mesh, rank: int, partial: bool = False, kind: str = "sum") -> list[ShardSpec]:
    """Every layout of a tensor on `mesh`, axes of a dimension in either order; partial by one reduction."""
    found = set()
    for order in itertools.permutations(mesh.names):
        for choice in itertools.product(range(-1, rank + partial), repeat=len(order)):
            dims = [[a for a, c in zip(order, choice, strict=True) if c == d] for d in range(rank)]
            found.add(ShardSpec.of(dims, [(a, kind) for a, c in zip(order, choice, strict=True) if c == rank]))
    return sorted(found, key=str)


def program(mesh: Mesh, pairs, shape: str, body, element: str = "i32") -> str:
    """A module that moves one value per pair; `shape` as in a type, empty for rank 0."""
    with context():
        attr = {s: str(shardings.to_attr(s)) for p in pairs for s in p}
        head = f'"dist.mesh"() {{sym_name = "mesh", value = {shardings.mesh_to_attr(mesh)}}} : () -> ()'
    return head + body(pairs, f"{shape}x" if shape else "", attr, element)


def moves(pairs, shape, attr, e) -> str:
    arguments = ", ".join(f"%a{i}: tensor<{shape}{e}> {{dist.spec = {attr[s]}}}" for i, (s, _) in enumerate(pairs))
    results = ", ".join(f"tensor<{shape}{e}> {{dist.spec = {attr[d]}}}" for _, d in pairs)
    values = ", ".join(f"%a{i}" for i in range(len(pairs)))
    types = ", ".join(f"tensor<{shape}{e}>" for _ in pairs)
    return f"func.func @main({arguments}) -> ({results}) {{ func.return {values} : {types} }}"


def sums(pairs, shape, attr, e) -> str:
    """As `moves`, but the value to be moved is a reduction of one more dimension split over its partial axes."""
    last = len(pairs[0][0].dims)
    kinds = {k for s, _ in pairs for _, k in s.partial}
    assert len(kinds) == 1, f"one reduction at a time: {kinds}"
    op, start = REDUCERS[kinds.pop()]
    with context():
        split = [str(shardings.to_attr(ShardSpec((*s.dims, s.partial_axes)))) for s, _ in pairs]
        scalar = str(shardings.to_attr(ShardSpec(())))
    arguments = ", ".join(f"%a{i}: tensor<{shape}8x{e}> {{dist.spec = {s}}}" for i, s in enumerate(split))
    results = ", ".join(f"tensor<{shape}{e}> {{dist.spec = {attr[d]}}}" for _, d in pairs)
    ops = "".join(
        f"""%r{i} = stablehlo.reduce(%a{i} init: %c) applies stablehlo.{op} across dimensions = [{last}]
            {{dist.specs = [{attr[s]}], dist.operand_specs = [{split[i]}, {scalar}]}}
            : (tensor<{shape}8x{e}>, tensor<{e}>) -> tensor<{shape}{e}>\n"""
        for i, (s, _) in enumerate(pairs)
    )
    values = ", ".join(f"%r{i}" for i in range(len(pairs)))
    types = ", ".join(f"tensor<{shape}{e}>" for _ in pairs)
    start = f"{start}.0" if e.startswith(("f", "bf")) else start
    return f"""func.func @main({arguments}) -> ({results}) {{
      %c = stablehlo.constant {{dist.specs = [{scalar}]}} dense<{start}> : tensor<{e}>
      {ops} func.return {values} : {types} }}"""
