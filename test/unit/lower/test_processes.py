"""Random programs on random meshes, split into stages and lowered to processes, compute what they did."""

from __future__ import annotations

import random

import pytest

from pcg.ir.errors import PcgError
from support.processcheck import check, mesh


class Generator:
    """A program of products, elementwise ops and transposes of square matrices, annotated here and there."""

    def __init__(self, seed: int) -> None:
        self.random = r = random.Random(seed)
        #: 12 divides into all shards there are; of the others some devices hold less, or nothing.
        self.size = r.choice([12, 12, 12, 10, 5])
        self.meshes: dict[str, dict[str, int]] = {}
        self.text = ""
        used = 0
        for i in range(r.randint(2, 3)):
            axes = r.choice([{"x": 2}, {"x": 3}, {"x": 2, "y": 2}, {"y": 4}, {"x": 1}, {"x": 2, "y": 3}])
            count = 1
            for n in axes.values():
                count *= n
            start = r.randint(0, used) if r.random() < 0.3 else used  # overlapping, or apart
            devices = list(range(start, start + count))
            if r.random() < 0.3:
                r.shuffle(devices)
            used = max(used, start + count)
            self.meshes[f"m{i}"] = axes
            self.text += mesh(f"m{i}", devices, **axes)

    def spec(self) -> str:
        r = self.random
        name = r.choice(list(self.meshes))
        dims: list[list[str]] = [[], []]
        for axis in self.meshes[name]:
            d = r.choice([0, 1, 2])
            if d < 2:
                dims[d].append(axis)
        text = ", ".join("[" + ", ".join(f'"{a}"' for a in d) + "]" for d in dims)
        return f"#dist.shard_spec<@{name}, [{text}], {{}}>"

    def program(self) -> str:
        r, body = self.random, ""
        tensor = f"tensor<{self.size}x{self.size}xf32>"
        arguments = [f"%a{i}" for i in range(r.randint(2, 4))]
        values = list(arguments)
        for i in range(r.randint(3, 9)):
            kind, (a, b) = r.choice(["dot", "add", "tanh", "transpose", "constraint", "constant"]), r.choices(values, k=2)
            v = f"%v{i}"
            body += f"  {v} = " + {
                "dot": f"stablehlo.dot_general {a}, {b}, contracting_dims = [1] x [0] : ({tensor}, {tensor}) -> {tensor}",
                "add": f"stablehlo.add {a}, {b} : {tensor}",
                "tanh": f"stablehlo.tanh {a} : {tensor}",
                "transpose": f"stablehlo.transpose {a}, dims = [1, 0] : ({tensor}) -> {tensor}",
                "constraint": f'"dist.constraint"({a}) {{spec = {self.spec()}}} : ({tensor}) -> {tensor}',
                "constant": f"stablehlo.constant dense<0.5> : {tensor}",
            }[kind] + "\n"
            values.append(v)
        results = r.sample(values[len(arguments) :], r.randint(1, 2))
        signature = ", ".join(
            f"{a}: {tensor}" + (f" {{dist.spec = {self.spec()}}}" if r.random() < 0.7 else "") for a in arguments
        )
        types = ", ".join(tensor + (f" {{dist.spec = {self.spec()}}}" if r.random() < 0.5 else "") for _ in results)
        last = f"  return {', '.join(results)} : {', '.join([tensor] * len(results))}\n"
        return f"{self.text}func.func @main({signature}) -> ({types}) {{\n{body}{last}}}"


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed):
    text = Generator(seed).program()
    try:
        check(text, rtol=1e-4, seed=seed)
    except PcgError as error:
        assert "which share devices" in str(error) or "allowed: one layout" in str(error), f"{error}\n{text}"
