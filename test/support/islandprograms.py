"""Random programs on islands, and what they compute: before any pass, and as streams."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from torch_mlir import ir

from pcg.controller.streams import Call, Copy, Free, IslandProgram, Receive, Send
from pcg.ir import shardings
from pcg.ir.walk import entry_of
from pcg.layout import Mesh, ShardSpec
from pcg.rewrite.islands import nodes

SHAPES = ((8, 4), (4,), ())


@dataclass
class Drawn:
    """A program, and where its slices are."""

    meshes: dict[str, Mesh]
    assignment: dict[str, tuple[str, list[int]]]
    functions: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    results: list[tuple[str, str]] = field(default_factory=list)
    """(value, attributes) of each."""
    types: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def text(self) -> str:
        lines = [
            f'"dist.mesh"() {{sym_name = "{name}", value = #dist.process_mesh<[{", ".join(map(quoted, m.names))}],'
            f" {list(m.sizes)}, []>}} : () -> ()"
            for name, m in self.meshes.items()
        ]
        types = [type_of(self.types[v]) for v, _ in self.results]
        outputs = ", ".join(f"{t} {own}" for t, (_, own) in zip(types, self.results, strict=True))
        lines += [*self.functions, f"func.func @main({', '.join(self.arguments)}) -> ({outputs}) {{", *self.lines]
        values = ", ".join(v for v, _ in self.results)
        lines += [f"  return {values}" + (f" : {', '.join(types)}" if types else ""), "}"]
        return "\n".join(lines)


def quoted(text: str) -> str:
    return f'"{text}"'


def type_of(shape: tuple[int, ...]) -> str:
    return f"tensor<{'x'.join([*map(str, shape), 'f32'])}>"


@st.composite
def programs(draw: Callable[[Any], Any], explicit: bool = True) -> Drawn:
    """Programs of up to three islands; with `explicit` some have transfers before any is inserted."""
    number = lambda low, high: draw(st.integers(low, high))  # noqa: E731
    count = number(1, 4)
    meshes, assignment = {}, {}
    for i in range(count):
        mesh = Mesh.of(draw(st.sampled_from([{"x": 1}, {"x": 2}, {"x": 2, "y": 2}])))
        first = number(0, 3)
        meshes[f"s{i}"], assignment[f"s{i}"] = mesh, (f"pod{number(0, 2)}", [*range(first, first + mesh.size)])
    found = Drawn(meshes, assignment)

    def layout(shape: tuple[int, ...], on: str | None = None) -> str:
        on = on or f"s{number(0, count - 1)}"
        free = list(meshes[on].names)
        dims = [[free.pop(number(0, len(free) - 1))] if free and draw(st.booleans()) else [] for _ in shape]
        return shardings.spec_text(ShardSpec.of(dims), on)

    values = []

    def define(name: str, shape: tuple[int, ...]) -> str:
        values.append(name)
        found.types[name] = shape
        return name

    shape = lambda: draw(st.sampled_from(SHAPES))  # noqa: E731
    for i in range(number(0, 3)):
        name = define(f"%a{i}", shape())
        donated = ", jax.buffer_donor = true" if draw(st.booleans()) else ""
        spec = layout(found.types[name])
        found.arguments.append(f"{name}: {type_of(found.types[name])} {{dist.spec = {spec}{donated}}}")
    for k in range(number(0 if values else 1, 10)):
        if explicit and values and number(0, 4) == 0:
            source = draw(st.sampled_from(values))
            name = define(f"%t{k}", found.types[source])
            spec, type_ = layout(found.types[name]), type_of(found.types[name])
            on = spec.partition("<")[2].partition(",")[0]
            found.lines.append(
                f'  {name} = "pcg.transfer"({source}) {{mesh = {on}, dist.specs = [{spec}]}} : ({type_}) -> {type_}'
            )
            continue
        on = f"s{number(0, count - 1)}"
        reads = [draw(st.sampled_from(values)) for _ in range(number(0, 3))] if values else []
        shapes = [shape() for _ in range(number(0, 2))]
        operands, outputs = ([type_of(s) for s in ss] for ss in ([found.types[v] for v in reads], shapes))
        kind = f"({', '.join(operands)}) -> ({', '.join(outputs)})"
        found.functions.append(f"func.func private @f{k}{kind}")
        in_specs = ", ".join(layout(found.types[v], on) for v in reads)
        out_specs = ", ".join(layout(s, on) for s in shapes)
        head = f"  %c{k}:{len(shapes)} = " if shapes else "  "
        attributes = f"{{mesh = @{on}, in_specs = [{in_specs}], out_specs = [{out_specs}]}}"
        found.lines.append(f"{head}call @f{k}({', '.join(reads)}) {attributes} : {kind}")
        for i, s in enumerate(shapes):
            define(f"%c{k}#{i}", s)
    for _ in range(number(0, 3)) if values else ():
        value = draw(st.sampled_from(values))
        demanded = f"{{dist.spec = {layout(found.types[value])}}}" if draw(st.booleans()) else ""
        found.results.append((value, demanded))
    return found


def terms(module: ir.Module) -> list[Any]:
    """What the results of @main are, as terms of its functions and arguments; transfers are the identity."""
    func = entry_of(module)
    known: dict[ir.Value, Any] = {a: a.arg_number for a in func.regions[0].blocks[0].arguments}
    for op in nodes.ops_of(func):
        reads = tuple(known[v] for v in op.operands)
        for i, result in enumerate(op.results):
            known[result] = reads[0] if op.name == "pcg.transfer" else (nodes.symbol(op, "callee"), i, reads)
    return [known[v] for v in nodes.returned(func)]


class Islands:
    """The islands of a program as they do their streams; a slot contains a term, and what it is an array of."""

    def __init__(self, program: IslandProgram) -> None:
        self.program = program
        self.slots: dict[str, dict[int, tuple[Any, int]]] = {
            island: {slot: (n, program.arguments[n]) for n, slot in stream.arguments}
            for island, stream in program.streams.items()
        }
        self.channels: defaultdict[tuple[str, str], deque[tuple[int, Any]]] = defaultdict(deque)
        self.calls = 0

    def can(self, island: str, what: Any) -> bool:
        return not isinstance(what, Receive) or bool(self.channels[what.peer, island])

    def do(self, island: str, what: Any) -> None:
        slots = self.slots[island]
        if isinstance(what, Call):
            self.calls += 1
            reads = tuple(slots[s][0] for s in what.reads)
            for s in what.donates:
                del slots[s]
            for i, (s, value) in enumerate(zip(what.writes, what.values, strict=True)):
                assert s not in slots
                slots[s] = ((what.function, i, reads), value)
        elif isinstance(what, Copy):
            assert what.target not in slots
            slots[what.target] = (slots[what.source][0], what.value)
        elif isinstance(what, Send):
            self.channels[island, what.peer].append((what.tag, slots[what.slot][0]))
        elif isinstance(what, Receive):
            tag, term = self.channels[what.peer, island].popleft()
            assert tag == what.tag and what.slot not in slots
            slots[what.slot] = (term, what.value)
        else:
            assert isinstance(what, Free)
            del slots[what.slot]

    def run(self, order: Iterable[tuple[str, Any]]) -> list[Any]:
        """The results, the instructions being done in this order."""
        for island, what in order:
            assert self.can(island, what)
            self.do(island, what)
        return self.results()

    def run_anyhow(self, seed: int) -> list[Any]:
        """The results, islands being fast and slow at random."""
        rng = random.Random(seed)
        left = {island: deque(stream.instructions) for island, stream in self.program.streams.items()}
        while going := [i for i, rest in left.items() if rest and self.can(i, rest[0])]:
            island = rng.choice(going)
            self.do(island, left[island].popleft())
        assert not any(left.values())
        return self.results()

    def results(self) -> list[Any]:
        found = {}
        for island, stream in self.program.streams.items():
            for n, slot in stream.results:
                term, value = self.slots[island][slot]
                assert value == self.program.results[n]
                found[n] = term
        return [found[n] for n in range(len(found))]
