"""The layouts that a program annotates, as decisions of the search's graph; equivalent ones are one annotation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.locations import operation_name, place
from pcg.ir.types import tensor_bytes
from pcg.layout import Mesh, ShardSpec, refine
from pcg.rules import rule_for
from pcg.search.built import Built
from pcg.search.read_work import describe
from pcg.search.table import Table

#: Ops from a tensor within which graphs must be equal for tensors to be equivalent (decision 17).  A choice: the ends
#: of a stack of layers differ from the rest, and within three ops a weight sees only its own layer.
_ROLE = 3
#: Ops behind an argument among which others that are combined with it are looked for.  A choice: more than the update
#: of an optimizer has.
_READERS = 32
#: Names that front ends generate.
_NUMBERED = re.compile(r"(arg|result\[?)\d*\]?")


@dataclass(frozen=True, eq=False)
class AnnotatedValue:
    """One value that is annotated.

    `kind` is argument, result, constraint or op; `index` the number of the argument or result (of the function, or
    of the op).  `node` is its decision in the graph, and `allowed` says which choices of it have the layout.
    """

    kind: str
    index: int
    name: str
    type: str
    shape: tuple[int, ...]
    bytes: float
    spec: ShardSpec
    where: str
    location: ir.Location = field(repr=False)
    node: int = field(repr=False)
    slot: int = field(repr=False)
    allowed: np.ndarray = field(repr=False)
    key: tuple = field(repr=False)
    """Those with equal keys are one annotation."""


@dataclass
class AnnotationClass:
    """One decision of the user: a layout of one value, or of equivalent ones (the layers of a stack)."""

    index: int
    sites: list[AnnotatedValue]

    @property
    def first(self) -> AnnotatedValue:
        return self.sites[0]

    @property
    def kind(self) -> str:
        return self.first.kind

    @property
    def spec(self) -> ShardSpec:
        return self.first.spec

    @property
    def name(self) -> str:
        """`argument params['w1']`, `constraint at model.py:12`, `argument layers[*]['w1']`."""
        mine = [s for s in self.sites if s.kind == self.kind]
        if self.kind in ("constraint", "op"):
            places = list(dict.fromkeys(s.where for s in mine if s.where))
            at = f" at {places[0]}" if places else ""
            return mine[0].name + at + (f" and {len(places) - 1} more" if len(places) > 1 else "")
        return f"{self.kind} {common_name([s.name for s in mine])}"


def collect(
    func: ir.Operation, built: Built, state: dict[int, int], mesh: Mesh, names: tuple[Sequence[str], Sequence[str]]
) -> list[AnnotationClass]:
    """The annotations of `func` in program order.

    A result that is the next value of an argument (`state`) and has its layout is part of that argument's annotation.

    Args:
      names: what arguments and results are called.
    """
    roles = built.graph.classes(_ROLE)
    groups: dict[tuple, list[AnnotatedValue]] = {}
    of_argument: dict[int, AnnotatedValue] = {}
    for site in _sites(func, built, mesh, names, roles):
        if site.kind == "argument":
            of_argument[site.index] = site
        key = site.key
        if site.kind == "result" and site.index in state:
            previous = of_argument.get(state[site.index])
            if previous is not None and previous.spec == site.spec:
                key = previous.key
        groups.setdefault(key, []).append(site)
    return [AnnotationClass(i, sites) for i, sites in enumerate(_merged(func, groups))]


def _merged(func: ir.Operation, groups: dict[tuple, list[AnnotatedValue]]) -> list[list[AnnotatedValue]]:
    """Groups of annotated values, those of equivalent arguments that are combined element by element merged.

    A weight and the moments that an optimizer keeps of it have one layout: to change that of one alone is no use.
    """
    arguments = func.regions[0].blocks[0].arguments
    parent = {key: key for key in groups}

    def root(key: tuple) -> tuple:
        while parent[key] != key:
            key = parent[key]
        return key

    first: dict[tuple, tuple] = {}
    for key, sites in groups.items():
        for s in sites:
            if s.kind != "argument" or not s.shape:
                continue
            for op in _pointwise_readers(arguments[s.index]):
                other = first.setdefault((op, s.type, s.spec, s.key[3]), key)
                parent[root(key)] = root(other)
    out: dict[tuple, list[AnnotatedValue]] = {}
    for key, sites in groups.items():
        out.setdefault(root(key), []).extend(sites)
    return list(out.values())


def _pointwise_readers(value: ir.Value) -> Iterator[ir.Operation]:
    """Elementwise ops on `value` and on their results, at most `_READERS`."""
    stack, seen = [value], set[ir.Operation]()
    while stack and len(seen) < _READERS:
        for use in stack.pop(0).uses:
            op = use.owner.operation
            if op in seen or len(op.results) != 1 or op.regions or op.name.startswith(("func.", "stablehlo.return")):
                continue
            rule = rule_for(op)
            if rule.operands[use.operand_number] == rule.results[0] and len(rule.results[0]):
                seen.add(op)
                yield op
                stack.append(op.results[0])


def _sites(
    func: ir.Operation, built: Built, mesh: Mesh, names: tuple[Sequence[str], Sequence[str]], roles: Sequence[int]
) -> Iterator[AnnotatedValue]:
    nodes = built.graph.nodes

    def site(
        kind: str, index: int, name: str, value: ir.Value, spec: ShardSpec, node: int, key: tuple, at: ir.Location,
        slot: int = 0, open_dims: Sequence[int] = (),
    ) -> AnnotatedValue:  # fmt: skip
        table = nodes[node].table
        allowed = _yielding(table, slot, spec) if kind == "op" else _extending(table, spec, open_dims)
        shape, _, element = describe(value)
        size = tensor_bytes(value.type)
        text = f"{element}[{','.join(map(str, shape))}]"
        key = (kind, text, str(spec), tuple(open_dims), *key)
        return AnnotatedValue(kind, index, name, text, shape, size, spec, place(at), at, node, slot, allowed, key)

    block = func.regions[0].blocks[0]
    returned = block.operations[-1].operation.operands
    signature = (
        ("argument", "arg_attrs", block.arguments, map(shardings.get, block.arguments), built.arguments, names[0]),
        ("result", "res_attrs", returned, shardings.function_result_specs(func), built.results, names[1]),
    )
    for kind, attrs, values, specs, owners, called in signature:
        for i, (value, spec, node, name) in enumerate(zip(values, specs, owners, called, strict=True)):
            if spec is not None:
                open_dims = shardings.signature_open_dims(func, attrs, i)
                key = _name_key(name, roles[node])
                yield site(kind, i, name, value, spec, node, key, func.location, 0, open_dims)
    for op, node in built.constraints:
        spec, open_dims = shardings.from_attr(op.attributes["spec"]), shardings.open_dims(op.attributes)
        name = "constraint" if op.name == "dist.constraint" else "reshard"
        key = _place_key(op, roles[node])
        yield site("constraint", 0, name, op.results[0], spec, node, key, op.location, 0, open_dims)
    for op, group in (*built.carries, *built.barriers, *((op, [node]) for op, node in built.ops)):
        for i, spec in enumerate(shardings.result_specs(op)):
            if spec is not None:
                # An op of several results is one node, with a slot for each; a loop or barrier has a node for each.
                node, slot = (group[i], 0) if len(group) == len(op.results) else (group[0], i)
                name = op.name.removeprefix("stablehlo.") + (f" result {i}" if len(op.results) > 1 else "")
                key = (*_place_key(op, roles[node]), i)
                yield site("op", i, name, op.results[i], spec, node, key, op.location, slot)


def _extending(table: Table, spec: ShardSpec, open_dims: Sequence[int]) -> np.ndarray:
    """Which choices of a value have the axes of `spec`, and more at most on `open_dims`."""

    def fits(other: ShardSpec) -> bool:
        if other.partial:
            return False
        pairs = enumerate(zip(spec.dims, other.dims, strict=True))
        return all(b[: len(a)] == a if d in open_dims else a == b for d, (a, b) in pairs)

    port = table.outs[0]
    return np.array([fits(s) for s in port.specs])[port.ids]


def _yielding(table: Table, slot: int, spec: ShardSpec) -> np.ndarray:
    """Which strategies yield `spec`, reduced or partial; all if none does (then the layout is not kept either)."""
    port = table.outs[slot]
    found = np.array([s.dims == spec.dims for s in port.specs])[port.ids]
    return found if found.any() else np.ones(len(table), dtype=bool)


def _name_key(name: str, role: int) -> tuple:
    """Tensors whose names differ in numbers are equivalent; where names are generated, those of one role."""
    return ("role", role) if _NUMBERED.fullmatch(name) else ("name", re.sub(r"\d+", "*", name))


def _place_key(op: ir.Operation, role: int) -> tuple:
    """The constraints of one line of source are one annotation; without source lines, those of ops of one role."""
    return ("line", place(op.location)) if operation_name(op.location) else ("role", role)


def common_name(names: Sequence[str]) -> str:
    """Names that differ in numbers only as one, the numbers that vary starred; others as the first and a count."""
    if len(names) == 1:
        return names[0]
    if len({re.sub(r"\d+", "*", n) for n in names}) > 1:
        return f"{names[0]} and {len(names) - 1} more"
    numbers = [re.findall(r"\d+", n) for n in names]
    varies = [len(set(column)) > 1 for column in zip(*numbers, strict=True)]
    if _NUMBERED.fullmatch(names[0]) and len(names) <= 6:
        return ", ".join(names)
    shown = iter("*" if v else n for v, n in zip(varies, numbers[0], strict=True))
    return re.sub(r"\d+", lambda _: next(shown), names[0])


def spec_text(spec: ShardSpec, mesh: Mesh) -> str:
    """A layout in the spelling of the user's mesh; `replicated` for one that splits nothing."""
    return str(refine.to_origin(spec, mesh)) if spec.used_axes else "replicated"
