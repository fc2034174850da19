"""Programs that divide a value into its microbatches, and put microbatches together.  Needs no jax."""

from __future__ import annotations

from collections.abc import Sequence

from pcg.driver.compilation import Compilation
from pcg.driver.compile import compile_program
from pcg.driver.decide import Options
from pcg.driver.pipelined import Division, Value
from pcg.driver.program import Leaf, Program
from pcg.layout import Mesh


def divide(source: Value, target: Value, how: Division, parts: int, mesh: Mesh, name: str) -> Compilation:
    """A value of the step to its microbatches: microbatch t has the blocks t, t + parts, ..."""
    d, n = how.dim, source.shape[how.dim]
    seen = (*source.shape[:d], n // (parts * how.block), parts, how.block, *source.shape[d + 1 :])
    full, divided, one = (_type(s, source.element) for s in (source.shape, seen, target.shape))
    lines = [f"func.func @main(%x: {full}) -> ({', '.join([one] * parts)}) {{"]
    lines.append(f"  %seen = stablehlo.reshape %x : ({full}) -> {divided}")
    part = _type((*seen[: d + 1], 1, *seen[d + 2 :]), source.element)
    for t in range(parts):
        box = ", ".join(f"{t}:{t + 1}" if i == d + 1 else f"0:{size}" for i, size in enumerate(seen))
        lines.append(f"  %s{t} = stablehlo.slice %seen [{box}] : ({divided}) -> {part}")
        lines.append(f"  %r{t} = stablehlo.reshape %s{t} : ({part}) -> {one}")
    lines.append(f"  return {', '.join(f'%r{t}' for t in range(parts))} : {', '.join([one] * parts)}")
    return _compiled("\n".join([*lines, "}"]), [source], [target] * parts, mesh, name)


def join(source: Value, target: Value, how: Division, parts: int, mesh: Mesh, name: str) -> Compilation:
    """The microbatches of a value, in order, to the value of the step."""
    d, n = how.dim, target.shape[how.dim]
    seen = (*source.shape[:d], n // (parts * how.block), parts, how.block, *source.shape[d + 1 :])
    full, divided, one = (_type(s, source.element) for s in (target.shape, seen, source.shape))
    part = _type((*seen[: d + 1], 1, *seen[d + 2 :]), source.element)
    lines = [f"func.func @main({', '.join(f'%x{t}: {one}' for t in range(parts))}) -> {full} {{"]
    lines += [f"  %r{t} = stablehlo.reshape %x{t} : ({one}) -> {part}" for t in range(parts)]
    every, types = ", ".join(f"%r{t}" for t in range(parts)), ", ".join([part] * parts)
    lines.append(f"  %seen = stablehlo.concatenate {every}, dim = {d + 1} : ({types}) -> {divided}")
    lines.append(f"  %y = stablehlo.reshape %seen : ({divided}) -> {full}")
    lines.append(f"  return %y : {full}")
    return _compiled("\n".join([*lines, "}"]), [source] * parts, [target], mesh, name)


def _type(shape: Sequence[int], element: str) -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def _compiled(text: str, arguments: Sequence[Value], results: Sequence[Value], mesh: Mesh, name: str) -> Compilation:
    ins, outs = (tuple(Leaf(v.name, v.shape, v.element) for v in own) for own in (arguments, results))
    in_specs, out_specs = (dict(enumerate(v.spec for v in own)) for own in (arguments, results))
    options = Options("global", in_specs=in_specs, out_specs=out_specs, refine=False)
    return compile_program(Program(name, text, ins, outs), mesh, options)
