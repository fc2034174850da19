"""All layouts of small meshes, and programs that move values from one to another."""

from __future__ import annotations

import itertools

from pcg.ir import shardings
from pcg.layout import Mesh, ShardSpec
from support.rulecheck import context


def layouts(mesh: Mesh, rank: int, partial: bool = False) -> list[ShardSpec]:
    """Every layout of a tensor on `mesh`, axes of a dimension in either order."""
    found = set()
    for order in itertools.permutations(mesh.names):
        for choice in itertools.product(range(-1, rank + partial), repeat=len(order)):
            dims = [[a for a, c in zip(order, choice, strict=True) if c == d] for d in range(rank)]
            found.add(ShardSpec.of(dims, [(a, "sum") for a, c in zip(order, choice, strict=True) if c == rank]))
    return sorted(found, key=str)


def program(mesh: Mesh, pairs, shape: str, body) -> str:
    with context():
        attr = {s: str(shardings.to_attr(s)) for p in pairs for s in p}
        head = f'"dist.mesh"() {{sym_name = "mesh", value = {shardings.mesh_to_attr(mesh)}}} : () -> ()'
    return head + body(pairs, shape, attr)


def moves(pairs, shape, attr) -> str:
    arguments = ", ".join(f"%a{i}: tensor<{shape}xi32> {{dist.spec = {attr[s]}}}" for i, (s, _) in enumerate(pairs))
    results = ", ".join(f"tensor<{shape}xi32> {{dist.spec = {attr[d]}}}" for _, d in pairs)
    values = ", ".join(f"%a{i}" for i in range(len(pairs)))
    types = ", ".join(f"tensor<{shape}xi32>" for _ in pairs)
    return f"func.func @main({arguments}) -> ({results}) {{ func.return {values} : {types} }}"


def sums(pairs, shape, attr) -> str:
    """As `moves`, but the value to be moved is the sum of a third dimension split over its partial axes."""
    with context():
        split = [
            str(shardings.to_attr(ShardSpec((*s.dims, s.partial_axes)))) for s, _ in pairs
        ]
        scalar = str(shardings.to_attr(ShardSpec(())))
    arguments = ", ".join(f"%a{i}: tensor<{shape}x8xi32> {{dist.spec = {s}}}" for i, s in enumerate(split))
    results = ", ".join(f"tensor<{shape}xi32> {{dist.spec = {attr[d]}}}" for _, d in pairs)
    ops = "".join(
        f"""%r{i} = stablehlo.reduce(%a{i} init: %c) applies stablehlo.add across dimensions = [2]
            {{dist.specs = [{attr[s]}], dist.operand_specs = [{split[i]}, {scalar}]}}
            : (tensor<{shape}x8xi32>, tensor<i32>) -> tensor<{shape}xi32>\n"""
        for i, (s, _) in enumerate(pairs)
    )
    values = ", ".join(f"%r{i}" for i in range(len(pairs)))
    types = ", ".join(f"tensor<{shape}xi32>" for _ in pairs)
    return f"""func.func @main({arguments}) -> ({results}) {{
      %c = stablehlo.constant {{dist.specs = [{scalar}]}} dense<0> : tensor<i32>
      {ops} func.return {values} : {types} }}"""
