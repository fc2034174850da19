"""Programs on slices, lowered to one stream per island.  Needs no jax."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pcg.controller.streams import IslandProgram
from pcg.driver.program import Leaf
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh, ShardSpec
from pcg.passes.pcg_assign_islands import AssignIslandsPass
from pcg.passes.pipeline import Pipeline
from pcg.rewrite.islands.nodes import DONATED, DROP, TAKES
from pcg.rewrite.islands.read import read_program


@dataclass(frozen=True)
class Boundary:
    """A node as the program sees it: values by number, their layouts on its slice."""

    function: str
    slice: str
    reads: Sequence[int]
    writes: Sequence[int]
    in_specs: Sequence[ShardSpec]
    out_specs: Sequence[ShardSpec]
    source: str = ""
    takes: Sequence[int] | None = None
    """Numbers of the arguments whose buffers it may take over when nothing else reads them; None: any."""


@dataclass(frozen=True)
class NodeGraph:
    """A program on slices whose nodes are known before it is called."""

    leaves: Sequence[Leaf]
    """Type of each value."""
    arguments: Sequence[int]
    home: Mapping[int, tuple[str, ShardSpec]]
    """Slice and layout in which the program reads each argument."""
    nodes: Sequence[Boundary]
    """In program order."""
    results: Sequence[int]
    ends: Sequence[tuple[str, ShardSpec] | None]
    """Slice and layout that each result is to have; None: as it is computed."""


@dataclass(frozen=True)
class ExchangeBoundary:
    """An exchange as the program sees it: rows of one slice go to the shards of another, as data says, or return."""

    slice: str
    """The slice of its results."""
    reads: Sequence[int]
    writes: Sequence[int]
    in_specs: Sequence[tuple[str, ShardSpec]]
    """Slice and layout of each value that it reads."""
    out_specs: Sequence[ShardSpec]
    back: bool
    drop: bool
    """Whether rows beyond the capacity are left out."""
    source: str = ""


def lower_program(
    name: str, leaves: Sequence[Leaf], at: Mapping[int, tuple[str, ShardSpec]], arguments: Sequence[int],
    nodes: Sequence[Boundary | ExchangeBoundary], results: Sequence[int],
    slices: Mapping[str, tuple[str, Mesh, Sequence[int]]], donated: Collection[int] = (),
    ends: Sequence[tuple[str, ShardSpec] | None] = (),
) -> tuple[IslandProgram, dict[str, str]]:  # fmt: skip
    """The streams of a program, and its modules as text: "slices" (before any pass) and "islands" (after all).

    Args:
      leaves: type of each value.
      at: slice and layout of each value that is an argument.
      nodes: in program order.
      slices: island, mesh, and devices of the island in the order of the mesh.
      donated: positions in `arguments` that the caller gives up.
      ends: slice and layout that results are to have; None: as they are computed.

    Raises:
      PcgError: the program is not valid, or needs more memory than there is.
    """
    name = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "program"
    text = _module(name, leaves, at, arguments, nodes, results, slices, donated, ends)
    module = load_module(text, make_context(), f"<{name}>")
    places = {slice: (island, list(devices)) for slice, (island, _, devices) in slices.items()}
    Pipeline([AssignIslandsPass(assignment=places), "lower-islands"]).run(module)
    return read_program(module), {"slices": text, "islands": str(module)}


def _module(
    name: str, leaves: Sequence[Leaf], at: Mapping[int, tuple[str, ShardSpec]], arguments: Sequence[int],
    nodes: Sequence[Boundary | ExchangeBoundary], results: Sequence[int],
    slices: Mapping[str, tuple[str, Mesh, Sequence[int]]], donated: Collection[int],
    ends: Sequence[tuple[str, ShardSpec] | None],
) -> str:  # fmt: skip
    types = [f"tensor<{'x'.join([*map(str, leaf.shape), leaf.element])}>" for leaf in leaves]

    def tuple_of(values: Sequence[int]) -> str:
        return f"({', '.join(types[v] for v in values)})"

    lines = []
    for slice, (_, mesh, _) in slices.items():
        axes, sizes = ", ".join(f'"{a}"' for a, _ in mesh.axes), ", ".join(str(n) for _, n in mesh.axes)
        value = f"#dist.process_mesh<[{axes}], [{sizes}], []>"
        lines.append(f'"dist.mesh"() {{sym_name = "{slice}", value = {value}}} : () -> ()')
    for call in {n.function: n for n in nodes if isinstance(n, Boundary)}.values():
        lines.append(f"func.func private @{call.function}{tuple_of(call.reads)} -> {tuple_of(call.writes)}")
    inputs = []
    names = {}
    for i, v in enumerate(arguments):
        names[v] = f"%v{v}"
        slice, spec = at[v]
        own = [f"dist.mesh = @{slice}", f"{shardings.SPEC} = {shardings.spec_text(spec, slice)}"]
        own += [DONATED] if i in donated else []
        inputs.append(f"%v{v}: {types[v]} {{{', '.join(own)}}}")
    outputs = [
        types[v] if end is None else f"{types[v]} {{{shardings.SPEC} = {shardings.spec_text(end[1], end[0])}}}"
        for v, end in zip(results, ends or [None] * len(results), strict=True)
    ]
    lines.append(f"func.func @{name}({', '.join(inputs)}) -> ({', '.join(outputs)}) {{")
    for i, node in enumerate(nodes):
        ins = node.in_specs if isinstance(node, ExchangeBoundary) else [(node.slice, s) for s in node.in_specs]
        specs = [
            f"{what} = [{', '.join(shardings.spec_text(s, slice) for slice, s in own)}]"
            for what, own in (
                (shardings.IN_SPECS, ins), (shardings.OUT_SPECS, [(node.slice, s) for s in node.out_specs])
            )
        ]  # fmt: skip
        reads = ", ".join(names[v] for v in node.reads)
        where = ' loc("' + node.source.replace('"', "'") + '")' if node.source else ""
        if isinstance(node, Boundary):
            called = f"call @{node.function}"
            if node.takes is not None:
                specs.append(f"{TAKES} = array<i64{': ' if node.takes else ''}{', '.join(map(str, node.takes))}>")
        else:
            called = f'"pcg.exchange{"_back" if node.back else ""}"'
            specs += [DROP] if node.drop else []
        lines.append(
            f"  %n{i}:{len(node.writes)} = {called}({reads}) {{mesh = @{node.slice}, {', '.join(specs)}}}"
            f" : {tuple_of(node.reads)} -> {tuple_of(node.writes)}{where}"
        )
        for n, v in enumerate(node.writes):
            names[v] = f"%n{i}#{n}"
    lines.append(f"  return {', '.join(names[v] for v in results)} : {', '.join(types[v] for v in results)}")
    lines.append("}")
    return "\n".join(lines)
