"""Mutations of MLIR text: attributes of other kinds, layouts of other ranks, meshes that are not there, ops dropped.

They work on the text of a module, pretty or generic, and mostly leave text that parses: what reads the program
then sees what no verifier of MLIR refuses.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from support import mutate

ATTRIBUTES = (
    "42 : i64", "-1 : i64", "9223372036854775807 : i64", "true", "1.5 : f32", '""', '"data"', '"sum"', "unit", "@mesh", "@main",
    "@nowhere", "[]", '["x"]', "[[]]", "[1 : i64]", "[unit]", "{}", '{x = "sum"}', "array<i64>", "array<i64: 0, 1>",
    "array<i64: -1>", "dense<1> : tensor<2xi64>", "dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>", "tensor<8x4xf32>", "i32",
    '#dist.process_mesh<["x"], [2], []>', '#dist.process_mesh<["x"], [0], []>', '#dist.process_mesh<[1 : i64], ["x"], [unit]>',
    '#dist.process_mesh<["x", "y"], [2], []>', '#dist.process_mesh<["x"], [1000000000000], []>',
    "#dist.shard_spec<@mesh, [], {}>", '#dist.shard_spec<@mesh, [["x"]], {}>', '#dist.shard_spec<@mesh, [["data"], []], {}>',
    "#dist.shard_spec<@mesh, [[], []], {}>", '#dist.shard_spec<@nowhere, [["x"], []], {}>', '#dist.shard_spec<@mesh, ["x", []], {}>',
    '#dist.shard_spec<@mesh, [["x", "x"], []], {}>', '#dist.shard_spec<@mesh, [["x"], ["x"]], {}>',
    '#dist.shard_spec<@mesh, [[], []], {x = "sum"}>', '#dist.shard_spec<@mesh, [[], []], {x = "average"}>',
    '#dist.shard_spec<@mesh, [[], []], {x = 1 : i64}>', '#dist.shard_spec<@mesh, [["x:(1)2"], []], {}>',
    '#dist.shard_spec<@mesh, [["x:(0)2"], ["x:(1)999999999999"]], {}>', '#dist.shard_spec<@main, [[], []], {}>',
    "[#dist.shard_spec<@mesh, [[], []], {}>]", "[unit, #dist.shard_spec<@mesh, [[]], {}>]",
    "[[\"argument 0\", #dist.shard_spec<@mesh, [[], []], {}>, \"\"]]", '[["argument", 1 : i64]]', "#stablehlo<comparison_direction LT>",
    "loc(unknown)", "affine_map<(d0) -> (d0)>", "dense_resource<x> : tensor<2xf32>",
)  # fmt: skip
NAMES = (
    "dist.spec", "dist.specs", "dist.operand_specs", "dist.open", "dist.priorities", "dist.annotated", "dist.state", "dist.engine",
    "dist.mesh", "dist.apart", "mesh", "spec", "axes", "dim", "kind", "index", "in_specs", "out_specs", "microbatches", "peer",
    "tag", "start", "limit", "pcg.in_specs", "pcg.out_specs", "pcg.mesh", "pcg.state", "pcg.process", "sym_name", "sym_visibility",
    "arg_attrs", "res_attrs", "function_type", "callee", "value", "sdy.sharding", "mhlo.sharding", "tf.aliasing_output",
    "jax.buffer_donor", "mhlo.num_partitions", "replica_groups", "channel_handle",
)  # fmt: skip
_TYPES = (
    "f32", "i32", "index", "none", "tensor<f32>", "tensor<0x4xf32>", "tensor<1x1xf32>", "tensor<8x4xi1>", "tensor<8x4xcomplex<f32>>",
    "tensor<*xf32>", "tensor<?x4xf32>", "tensor<1000000000000xf32>", "tensor<9223372036854775807x9xf32>", "tensor<8x4xi4>",
    "tensor<8x4xindex>", "tensor<8x4x!quant.uniform<i8:f32, 1.0>>", "tuple<>", "tuple<tensor<8x4xf32>>", "!stablehlo.token",
    "memref<8xf32>", "vector<4xf32>", "() -> ()", "tensor<8x4xf32, #stablehlo.bounds<8, ?>>",
)  # fmt: skip

_SPEC = re.compile(r"#dist\.shard_spec<@[\w$.-]+, \[[^<>]*\], \{[^{}]*\}>")
_MESH = re.compile(r"#dist\.process_mesh<[^<>]*>")
_PAIR = re.compile(r"([\w.]+|\"[\w.]+\") = (\"[^\"]*\"|\[[^\[\]]*\]|-?\d+(?: : i\d+)?|@[\w$.-]+|#[\w.]+<[^<>]*>|true|false|unit)")
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_TYPE = re.compile(r"tensor<[^<>]*(?:<[^<>]*>)?>")
_QUOTED = re.compile(r'"[\w:()]+"')
_SYMBOL = re.compile(r"@[\w$.-]+")


def change(source: str, rng: random.Random) -> str:
    """One change of a program's text."""
    names, weights = zip(*_CHANGES, strict=True)
    for _ in range(8):
        changed = rng.choices(names, weights)[0](source, rng)
        if changed != source:
            return changed
    return mutate.text(source, rng)


def mlir_file(data: bytes, rng: random.Random) -> bytes:
    """One to four changes of a file, a few of them blind."""
    if rng.random() < 0.06:
        return mutate.damage(data, rng)
    source = data.decode(errors="replace")
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        source = mutate.text(source, rng) if rng.random() < 0.08 else change(source, rng)
    return source.encode("utf-8", "surrogatepass")


def _at_random(pattern: re.Pattern[str], new: Callable[[re.Match[str], random.Random], str]) -> Callable[[str, random.Random], str]:
    """A change of one match of a pattern."""

    def changed(source: str, rng: random.Random) -> str:
        found = list(pattern.finditer(source))
        if not found:
            return source
        m = rng.choice(found)
        return source[: m.start()] + new(m, rng) + source[m.end() :]

    return changed


def _spec(m: re.Match[str], rng: random.Random) -> str:
    old = m[0]
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice(ATTRIBUTES)
    if kind == 1:  # of another rank
        return old.replace("[[", "[[], [", 1) if rng.random() < 0.5 else re.sub(r"\[\[[^\[\]]*\](?:, )?", "[", old, count=1)
    if kind == 2:
        return re.sub(r"@[\w$.-]+", rng.choice(("@nowhere", "@main", "@other", "@f")), old, count=1)
    if kind == 3 and '"' in old:
        return _QUOTED.sub(lambda _: rng.choice(('"nothing"', '"data"', '"x"', '"y"', '""', '"x:(1)2"', '"a b"')), old, count=1)
    if kind == 4:  # partial
        axis = rng.choice(_QUOTED.findall(old) or ['"x"', '"data"']).strip('"')
        name = axis if axis.isidentifier() else f'"{axis}"'
        return re.sub(r"\{[^{}]*\}>", f'{{{name} = "{rng.choice(("sum", "max", "prod", "and", "mean", "min"))}"}}>', old)
    if kind == 5 and _QUOTED.search(old):  # repeated
        axis = rng.choice(_QUOTED.findall(old))
        return old.replace("]", f", {axis}]", 1)
    if kind == 6:  # split otherwise
        return re.sub(r"\[\]", f'[{rng.choice(_QUOTED.findall(old) or [chr(34) + "data" + chr(34)])}]', old, count=1)
    return re.sub(r"\[\[.*\], \{", rng.choice(('[["data"], []], {', "[[]], {", "[[], []], {", "[], {", '[["x"]], {')), old)


def _mesh(m: re.Match[str], rng: random.Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(ATTRIBUTES)
    return mutate.text(m[0], rng)


def _attribute(m: re.Match[str], rng: random.Random) -> str:
    kind = rng.randrange(4)
    if kind == 0:
        return f"{rng.choice(NAMES)} = {m[2]}"
    if kind == 1 and (numbers := re.findall(r"\d+", m[2])):
        return f"{m[1]} = " + m[2].replace(rng.choice(numbers), str(rng.choice((0, 1, -1, 2, 3, 99, 2**31, 2**63 - 1, 10**12))), 1)
    return f"{m[1]} = {rng.choice(ATTRIBUTES)}"


def _more_attributes(source: str, rng: random.Random) -> str:
    """One attribute more in some dictionary, or a dictionary where there is none."""
    new = f"{rng.choice(NAMES)} = {rng.choice(ATTRIBUTES)}"
    places = [m.end() for m in re.finditer(r"(?<=[\s(])\{(?=[\w\"])|<\{(?=[\w\"])|attributes \{", source)]
    arguments = [m.end() for m in re.finditer(r"%arg\d+: tensor<[^<>]*>(?! \{)", source)]
    functions = [m.end() for m in re.finditer(r"\)(?= \{\n)", source)]
    options = [(p, f"{new}, ") for p in places] + [(p, f" {{{new}}}") for p in arguments]
    options += [(p, f" attributes {{{new}}}") for p in functions]
    if not options:
        return source
    at, text = rng.choice(options)
    return source[:at] + text + source[at:]


def _fewer_attributes(source: str, rng: random.Random) -> str:
    found = list(re.finditer(_PAIR.pattern + r"(?:, )?", source))
    if not found:
        return source
    m = rng.choice(found)
    return source[: m.start()] + source[m.end() :]


def _values(source: str, rng: random.Random) -> str:
    found = list(_VALUE.finditer(source))
    if len(found) < 2:
        return source
    a, b = sorted(rng.sample(found, 2), key=lambda m: m.start())
    if rng.random() < 0.5:
        return source[: a.start()] + b[0] + source[a.end() :]
    return source[: a.start()] + b[0] + source[a.end() : b.start()] + a[0] + source[b.end() :]


def _lines(source: str, rng: random.Random) -> str:
    lines = source.splitlines(keepends=True)
    if len(lines) < 3:
        return source
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines.insert(j, lines[i])
    elif kind == 2:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        meshes = [k for k, line in enumerate(lines) if "process_mesh" in line or "sdy.mesh" in line]
        if meshes:
            del lines[rng.choice(meshes)]
    return "".join(lines)


def _symbols(source: str, rng: random.Random) -> str:
    """Something is called as something else is: a mesh as the function, a function as another."""
    every = [*_SYMBOL.findall(source), *("@" + s for s in re.findall(r'sym_name = "([\w.]+)"', source)), "@main", "@nowhere"]
    m = rng.choice([*_SYMBOL.finditer(source), *re.finditer(r'(?<=sym_name = ")[\w.]+', source)] or [None])
    if m is None:
        return source
    new = rng.choice(every)
    return source[: m.start()] + (new if m[0].startswith("@") else new[1:]) + source[m.end() :]


def _nested(source: str, rng: random.Random) -> str:
    """Much nesting: of modules, of regions, of calls, of attributes."""
    n = rng.choice((2, 40, 300, 1000, 10_000))
    kind = rng.randrange(5)
    if kind == 0:
        return "module {\n" * n + source + "\n}" * n
    if kind == 1:
        body = '%p = stablehlo.constant dense<0> : tensor<i32>\n'
        body += '%r = "stablehlo.case"(%p) ({\n' * n + "stablehlo.return %x : tensor<8xf32>\n"
        ends = [
            f'}}) : (tensor<i32>) -> tensor<8xf32>\nstablehlo.return %r{i} : tensor<8xf32>\n' for i in range(n - 1, 0, -1)
        ]  # fmt: skip
        for i in range(n):
            body = body.replace('%r = "', f'%r{i} = "', 1)
        body += "".join(ends) + "}) : (tensor<i32>) -> tensor<8xf32>\n"
        return f"{source}\nfunc.func @nested(%x: tensor<8xf32>) -> tensor<8xf32> {{\n{body}return %r0 : tensor<8xf32>\n}}\n"
    if kind == 2:
        last = rng.choice((f"@c{n}", "@c0"))
        lines = [
            f"func.func private @c{i}(%x: tensor<8xf32>) -> tensor<8xf32> {{\n"
            f"%r = func.call {f'@c{i + 1}' if i + 1 < n else last}(%x) : (tensor<8xf32>) -> tensor<8xf32>\n"
            "return %r : tensor<8xf32>\n}\n"
            for i in range(n)
        ]  # fmt: skip
        if last != "@c0":
            lines.append(f"func.func private {last}(%x: tensor<8xf32>) -> tensor<8xf32> {{\nreturn %x : tensor<8xf32>\n}}\n")
        return source + "\n" + "".join(lines)
    if kind == 3:
        return _at_random(_PAIR, lambda m, _: f"{m[1]} = " + "[" * n + "]" * n)(source, rng)
    return _at_random(_TYPE, lambda m, _: "tuple<" * n + m[0] + ">" * n)(source, rng)


_CHANGES: tuple[tuple[Callable[[str, random.Random], str], float], ...] = (
    (_at_random(_SPEC, _spec), 6),
    (_at_random(_MESH, _mesh), 2),
    (_at_random(_PAIR, _attribute), 5),
    (_more_attributes, 3),
    (_fewer_attributes, 2),
    (_values, 2),
    (_lines, 3),
    (_symbols, 2),
    (_at_random(_TYPE, lambda m, rng: rng.choice(_TYPES)), 1.5),
    (_at_random(re.compile(r"(?<![\w.%@#\"])\d+(?![\w.])"), lambda m, rng: str(rng.choice((0, 1, 2, 3, 16, -1, 10**12)))), 2),
    (_nested, 0.25),
)
