"""Random programs as data: values, ops, regions, and their text.  Made to be cut down: see `fuzz.minimise`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pcg.layout import Mesh, ShardSpec


@dataclass(frozen=True)
class Type:
    """A static tensor type."""

    shape: tuple[int, ...]
    element: str = "f32"

    def __str__(self) -> str:
        return f"tensor<{''.join(f'{d}x' for d in self.shape)}{self.element}>"

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def with_shape(self, shape: tuple[int, ...] | list[int]) -> Type:
        return Type(tuple(shape), self.element)


@dataclass(frozen=True)
class Value:
    """An SSA value.

    Its elements are integers of magnitude at most `bound`, so that float sums are exact; those of integer types that are
    not i32 or i64 wrap.  A `wild` one may hold NaN and infinities too.
    """

    id: int
    type: Type
    bound: float
    wild: bool = False

    def __str__(self) -> str:
        return f"%v{self.id}"


@dataclass
class Region:
    """A block of ops with its arguments and what it yields."""

    arguments: list[Value]
    nodes: list[Node] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)


@dataclass
class Node:
    """One op in generic form; a region is a `Region` or, where it is fixed (a reducer), its text."""

    name: str
    operands: list[Value]
    results: list[Value]
    attributes: str = ""
    regions: list[Region | str] = field(default_factory=list)

    @property
    def nested(self) -> list[Region]:
        return [r for r in self.regions if isinstance(r, Region)]


@dataclass
class Program:
    """A function: arguments, ops, and the values it returns."""

    arguments: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    returns: list[Value] = field(default_factory=list)

    def every(self) -> Iterator[Node]:
        """All ops, those inside regions too."""
        return _every(self.nodes)


def _every(nodes: list[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        for region in node.nested:
            yield from _every(region.nodes)


@dataclass
class Layouts:
    """Annotations of a program: by argument id, by result number, and requests right after a value is made."""

    arguments: dict[int, ShardSpec] = field(default_factory=dict)
    results: dict[int, ShardSpec] = field(default_factory=dict)
    requests: dict[int, tuple[str, ShardSpec]] = field(default_factory=dict)


def constant(value: Value, number: float) -> Node:
    """A splat constant; `number` is an integer."""
    element = value.type.element
    number = abs(number) if element.startswith("ui") else number
    text = f"{number:.1f}" if element.startswith(("f", "bf")) else str(bool(number)).lower() if element == "i1" else ""
    text = text or str(int(number))
    return Node("stablehlo.constant", [], [value], f"value = dense<{text}> : {value.type}")


def text_of(program: Program, layouts: Layouts | None = None, mesh: Mesh | None = None) -> str:
    """The module; with `layouts` and `mesh`, annotated."""
    writer = _Writer(layouts or Layouts())
    lines = []
    if mesh is not None:
        names, sizes = ", ".join(f'"{a}"' for a in mesh.names), ", ".join(str(s) for _, s in mesh.axes)
        order = ", ".join(map(str, mesh.device_ids or ()))
        value = f"#dist.process_mesh<[{names}], [{sizes}], [{order}]>"
        lines.append(f'"dist.mesh"() {{sym_name = "mesh", value = {value}}} : () -> ()')

    def spec(found: Mapping[int, ShardSpec], key: int) -> str:
        return f" {{dist.spec = {attribute(found[key])}}}" if key in found else ""

    arguments = ", ".join(f"{v}: {v.type}{spec(writer.layouts.arguments, v.id)}" for v in program.arguments)
    types = ", ".join(f"{v.type}{spec(writer.layouts.results, i)}" for i, v in enumerate(program.returns))
    lines.append(f"func.func @main({arguments}) -> ({types}) {{")
    for v in program.arguments:
        lines += writer.request(v)
    lines += writer.nodes(program.nodes)
    returned = ", ".join(map(writer.use, program.returns))
    lines.append(f"func.return {returned} : {', '.join(str(v.type) for v in program.returns)}\n}}")
    return "\n".join(lines) + "\n"


def attribute(spec: ShardSpec) -> str:
    """The attribute text of a layout."""
    dims = ", ".join("[" + ", ".join(f'"{a}"' for a in d) + "]" for d in spec.dims)
    return f"#dist.shard_spec<@mesh, [{dims}], {{}}>"


class _Writer:
    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts

    def use(self, value: Value) -> str:
        return f"{value}_r" if value.id in self.layouts.requests else str(value)

    def request(self, v: Value) -> list[str]:
        if v.id not in self.layouts.requests:
            return []
        kind, spec = self.layouts.requests[v.id]
        return [f'{v}_r = "dist.{kind}"({v}) {{spec = {attribute(spec)}}} : ({v.type}) -> {v.type}']

    def nodes(self, nodes: list[Node]) -> list[str]:
        lines = []
        for n in nodes:
            results = ", ".join(map(str, n.results))
            regions = f" ({', '.join(map(self.region, n.regions))})" if n.regions else ""
            attributes = f" {{{n.attributes}}}" if n.attributes else ""
            types = ", ".join(str(v.type) for v in n.operands), ", ".join(str(v.type) for v in n.results)
            operands = ", ".join(map(self.use, n.operands))
            lines.append(f'{results} = "{n.name}"({operands}){regions}{attributes} : ({types[0]}) -> ({types[1]})')
            for v in n.results:
                lines += self.request(v)
        return lines

    def region(self, region: Region | str) -> str:
        if isinstance(region, str):
            return region
        head = ", ".join(f"{v}: {v.type}" for v in region.arguments)
        yields, types = ", ".join(map(self.use, region.yields)), ", ".join(str(v.type) for v in region.yields)
        lines = [f"^bb0({head}):" if region.arguments else "", *self.nodes(region.nodes)]
        return "{" + "\n".join([*lines, f'"stablehlo.return"({yields}) : ({types}) -> ()']) + "}"
