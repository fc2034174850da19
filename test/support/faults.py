"""Faults planted in lowered programs: what a compiler that partitions programs gets wrong.

Each kind of `KINDS` finds its sites in a per-device module and changes one of them.  A fault is a kind and the number of
the site; `planted` gives the text of the program with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch_mlir import ir

from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry, walk

Site = ir.Operation
_SUMS = ("stablehlo.all_reduce", "stablehlo.reduce_scatter")
_GROUPED = (*_SUMS, "stablehlo.all_gather", "stablehlo.all_to_all")


@dataclass(frozen=True)
class Fault:
    """The `site`-th place of a kind."""

    kind: str
    site: int

    def __str__(self) -> str:
        return f"{self.kind} #{self.site}"


@dataclass(frozen=True)
class Kind:
    """Where a fault can be, and how to make it there."""

    sites: Callable[[ir.Operation], list[Site]]
    make: Callable[[Site], None]


def faults(text: str, count: int) -> list[Fault]:
    """`count` faults of a lowered program: of every kind that it has a place for, then of more places of each."""
    module = load_module(text, make_context(), "<lowered>")
    with module.context, ir.Location.unknown():
        places = {name: len(kind.sites(module.operation)) for name, kind in KINDS.items()}
    found: list[Fault] = []
    spread = {n: [int(i) for i in np.unique(np.linspace(0, k - 1, min(k, 12)).round())] for n, k in places.items() if k}
    # Not the first place first: what comes first in a program is often an input that is merely copied.
    order = {n: sorted(s, key=lambda i, s=s: abs(s.index(i) - len(s) // 2)) for n, s in spread.items()}
    for turn in range(12):
        for name, sites in order.items():
            if turn < len(sites):
                found.append(Fault(name, sites[turn]))
    return found[:count]


def planted(text: str, fault: Fault) -> str:
    """A lowered program with a fault, in generic form."""
    module = load_module(text, make_context(), "<lowered>")
    with module.context, ir.Location.unknown():
        kind = KINDS[fault.kind]
        kind.make(kind.sites(module.operation)[fault.site])
        module.operation.verify()
        return module.operation.get_asm(print_generic_op_form=True, assume_verified=True)


# -- building blocks -------------------------------------------------------------------------------


def _op(name: str, operands: Sequence[ir.Value], type_: ir.Type, **attributes: ir.Attribute) -> ir.Value:
    return ir.Operation.create(name, results=[type_], operands=list(operands), attributes=attributes).result


def _splat(value: float, type_: ir.Type) -> ir.Value:
    scalar = ir.RankedTensorType.get([], ir.F32Type.get())
    number = _op("stablehlo.constant", [], scalar, value=ir.DenseElementsAttr.get(np.array(value, np.float32)))
    element = ir.RankedTensorType.get([], type_.element_type)
    if element != scalar:
        number = _op("stablehlo.convert", [number], element)
    return _broadcast(number, type_)


def _broadcast(scalar: ir.Value, type_: ir.Type) -> ir.Value:
    whole = ir.RankedTensorType.get(type_.shape, scalar.type.element_type)
    return _op("stablehlo.broadcast_in_dim", [scalar], whole, broadcast_dimensions=ir.DenseI64ArrayAttr.get([]))


def _bits(type_: ir.Type) -> ir.Type:
    return ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_signless(1))


def _compare(a: ir.Value, b: ir.Value, direction: str) -> ir.Value:
    attribute = ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>")
    return _op("stablehlo.compare", [a, b], _bits(a.type), comparison_direction=attribute)


def _on_device(device: int, there: ir.Value, elsewhere: ir.Value) -> ir.Value:
    """`there` on one device, `elsewhere` on the others."""
    u32 = ir.RankedTensorType.get([], ir.IntegerType.get_unsigned(32))
    me = _op("stablehlo.partition_id", [], u32)
    number = _op("stablehlo.constant", [], u32, value=ir.DenseElementsAttr.get(np.array(device, np.uint32), type=u32))
    here = _compare(me, number, "EQ")
    return _op("stablehlo.select", [_broadcast(here, there.type), there, elsewhere], there.type)


def _scaled(value: ir.Value, by: float) -> ir.Value:
    return _op("stablehlo.multiply", [value, _splat(by, value.type)], value.type)


def _rolled(value: ir.Value, dim: int) -> ir.Value:
    """Shifted by one along a dimension, around the end."""
    shape = list(value.type.shape)
    parts = []
    for start, limit in ((1, shape[dim]), (0, 1)):
        a, b = [0] * len(shape), list(shape)
        a[dim], b[dim] = start, limit
        type_ = ir.RankedTensorType.get([y - x for x, y in zip(a, b, strict=True)], value.type.element_type)
        array = ir.DenseI64ArrayAttr.get
        parts.append(_op(
            "stablehlo.slice", [value], type_, start_indices=array(a), limit_indices=array(b),
            strides=array([1] * len(shape)),
        ))  # fmt: skip
    i64 = ir.IntegerType.get_signless(64)
    return _op("stablehlo.concatenate", parts, value.type, dimension=ir.IntegerAttr.get(i64, dim))


def _replace(op: Site, make: Callable[[ir.Value], ir.Value], i: int = 0) -> None:
    """What `make` makes of a result instead of it, everywhere."""
    result = op.results[i]
    before = list(result.uses)
    with ir.InsertionPoint.after(op), op.location:
        new = make(result)
    for use in before:
        use.owner.operands[use.operand_number] = new


def _operand(op: Site, i: int, make: Callable[[ir.Value], ir.Value]) -> None:
    with ir.InsertionPoint(op), op.location:
        op.operands[i] = make(op.operands[i])


# -- where -----------------------------------------------------------------------------------------


def _named(*names: str) -> Callable[[ir.Operation], list[Site]]:
    return lambda module: [op for op in walk(module) if op.name in names and _used(op)]


def _used(op: Site) -> bool:
    return any(True for r in op.results for _ in r.uses)


def _real(value: ir.Value) -> bool:
    return str(value.type.element_type) in ("f32", "f64", "bf16", "f16")


def _body(module: ir.Operation) -> list[Site]:
    """Ops outside of bodies of reductions."""
    found = []

    def visit(block: ir.Block) -> None:
        for op in block.operations:
            op = op.operation
            found.append(op)
            if op.name in ("stablehlo.while", "stablehlo.if", "stablehlo.case"):
                for region in op.regions:
                    visit(region.blocks[0])

    function = entry(module)
    assert function is not None
    visit(function.regions[0].blocks[0])
    return found


def _where(test: Callable[[Site], bool]) -> Callable[[ir.Operation], list[Site]]:
    return lambda module: [op for op in _body(module) if _used(op) and test(op)]


def _real_collectives(*names: str) -> Callable[[ir.Operation], list[Site]]:
    return _where(lambda op: op.name in names and _real(op.results[0]))


def _groups(op: Site) -> np.ndarray:
    return np.array(ir.DenseIntElementsAttr(op.attributes["replica_groups"]))


def _set_groups(op: Site, groups: np.ndarray) -> None:
    type_ = ir.RankedTensorType.get(groups.shape, ir.IntegerType.get_signless(64))
    op.attributes["replica_groups"] = ir.DenseElementsAttr.get(np.ascontiguousarray(groups, np.int64), type=type_)


def _updates(module: ir.Operation) -> list[Site]:
    """Differences that are results of the program, and of the shape of an argument: updates of weights."""
    function = entry(module)
    assert function is not None
    block = function.regions[0].blocks[0]
    last = list(block.operations)[-1].operation
    found = []
    for v in last.operands:
        if not isinstance(v, ir.BlockArgument) and v.owner.name in ("stablehlo.subtract", "stablehlo.add"):
            op = v.owner.operation
            if _real(v) and isinstance(op.operands[0], ir.BlockArgument) and v.type.rank:
                found.append(op)
    return found


def _weights(module: ir.Operation) -> list[Site]:
    """Ops that read a float argument of rank two or more for the first time."""
    function = entry(module)
    assert function is not None
    found = []
    for argument in function.regions[0].blocks[0].arguments:
        if isinstance(argument.type, ir.RankedTensorType) and argument.type.rank >= 2 and _real(argument):
            users = [u.owner.operation for u in argument.uses]
            found += [op for op in users if op.name in ("stablehlo.dot_general", "stablehlo.convolution")][-1:]
    return found


def _permute_pairs(op: Site) -> np.ndarray:
    return np.array(ir.DenseIntElementsAttr(op.attributes["source_target_pairs"]))


# -- what ------------------------------------------------------------------------------------------


def _no_reduction(op: Site) -> None:
    op.results[0].replace_all_uses_with(op.operands[0])


def _wrong_group(op: Site) -> None:
    groups = _groups(op)
    size = groups.shape[1]
    if groups.shape[0] > 1:
        _set_groups(op, groups.T.reshape(-1).reshape(groups.shape[::-1]).reshape(groups.shape))
    else:
        _set_groups(op, groups.reshape(2, size // 2))


def _can_regroup(op: Site) -> bool:
    if op.name != "stablehlo.all_reduce" or not _real(op.results[0]):
        return False
    groups = _groups(op)
    return groups.shape[1] > 1 and (groups.shape[1] % 2 == 0 or groups.shape[0] > 1)


def _reversed_groups(op: Site) -> None:
    _set_groups(op, _groups(op)[:, ::-1])


def _to_maximum(op: Site) -> None:
    old = op.regions[0].blocks[0].operations[0].operation
    with ir.InsertionPoint(old), old.location:
        old.results[0].replace_all_uses_with(_op("stablehlo.maximum", list(old.operands), old.results[0].type))
    old.erase()


def _sums(op: Site) -> bool:
    return op.name in _SUMS and _real(op.results[0]) and op.regions[0].blocks[0].operations[0].name == "stablehlo.add"


def _stale(op: Site) -> None:
    if op.name == "stablehlo.all_reduce":
        _replace(op, lambda v: _on_device(1, op.operands[0], v))
    else:
        dim = ir.IntegerAttr(op.attributes["all_gather_dim"]).value
        _replace(op, lambda v: _on_device(1, _rolled(v, dim), v))


def _missing_part(op: Site) -> None:
    _operand(op, 0, lambda v: _on_device(1, _splat(0.0, v.type), v))


def _twice(op: Site) -> None:
    _operand(op, 0, lambda v: _on_device(0, _op("stablehlo.add", [v, v], v.type), v))


def _bias(op: Site) -> None:
    """A bias of a hundredth of the values, added on every shard."""
    _operand(op, 0, lambda v: _op("stablehlo.add", [v, _scaled(_op("stablehlo.abs", [v], v.type), 0.01)], v.type))


def _lost_pair(op: Site) -> None:
    pairs = _permute_pairs(op)[:-1]
    type_ = ir.RankedTensorType.get(pairs.shape, ir.IntegerType.get_signless(64))
    op.attributes["source_target_pairs"] = ir.DenseElementsAttr.get(np.ascontiguousarray(pairs, np.int64), type=type_)


def _reversed_pairs(op: Site) -> None:
    pairs = _permute_pairs(op)[:, ::-1]
    type_ = ir.RankedTensorType.get(pairs.shape, ir.IntegerType.get_signless(64))
    op.attributes["source_target_pairs"] = ir.DenseElementsAttr.get(np.ascontiguousarray(pairs, np.int64), type=type_)


def _wrong_pad(op: Site) -> None:
    low, high = (list(op.attributes[n]) for n in ("edge_padding_low", "edge_padding_high"))
    op.attributes["edge_padding_low"] = ir.DenseI64ArrayAttr.get(high)
    op.attributes["edge_padding_high"] = ir.DenseI64ArrayAttr.get(low)


def _uneven_pad(op: Site) -> bool:
    return op.name == "stablehlo.pad" and list(op.attributes["edge_padding_low"]) != list(op.attributes["edge_padding_high"])


def _largest_dim(type_: ir.Type) -> int:
    return int(np.argmax(type_.shape))


def _swapped(op: Site) -> None:
    a, b = op.operands[0], op.operands[1]
    op.operands[0], op.operands[1] = b, a


def _wrong_start(op: Site) -> None:
    _replace(op, lambda v: _on_device(1, _rolled(v, _largest_dim(v.type)), v))


def _wrong_init(op: Site) -> None:
    _operand(op, len(op.operands) // 2, lambda v: _op("stablehlo.add", [v, _splat(0.01, v.type)], v.type))


def _adds(op: Site) -> bool:
    return (
        op.name in ("stablehlo.reduce", "stablehlo.reduce_window") and _real(op.results[0])
        and op.regions[0].blocks[0].operations[0].name == "stablehlo.add"
    )  # fmt: skip


def _unmasked(op: Site) -> None:
    """All of the values, not only those where the mask is set."""
    other = op.operands[1]
    op.results[0].replace_all_uses_with(other)


def _depends_on(value: ir.Value, name: str, depth: int = 8) -> bool:
    if isinstance(value, ir.BlockArgument) or depth == 0:
        return False
    op = value.owner.operation
    return op.name == name or any(_depends_on(v, name, depth - 1) for v in op.operands)


def _trips(module: ir.Operation) -> list[Site]:
    found = []
    for op in walk(module):
        if op.name == "stablehlo.while":
            for inner in op.regions[0].blocks[0].operations:
                if inner.operation.name == "stablehlo.compare" and not isinstance(inner.operands[1], ir.BlockArgument):
                    found.append(inner.operation)
    return found


def _one_trip_less(op: Site) -> None:
    def less(v: ir.Value) -> ir.Value:
        one = _op(
            "stablehlo.constant", [], v.type,
            value=ir.DenseElementsAttr.get_splat(v.type, ir.IntegerAttr.get(v.type.element_type, 1)),
        )  # fmt: skip
        return _op("stablehlo.subtract", [v, one], v.type)

    _operand(op, 1, less)


def _next_index(op: Site) -> None:
    """One device looks up the entries after those that it should."""

    def after(v: ir.Value) -> ir.Value:
        one = ir.DenseElementsAttr.get_splat(v.type, ir.IntegerAttr.get(v.type.element_type, 1))
        return _on_device(1, _op("stablehlo.add", [v, _op("stablehlo.constant", [], v.type, value=one)], v.type), v)

    _operand(op, 1, after)


def _indexed(op: Site) -> bool:
    return op.name in ("stablehlo.gather", "stablehlo.scatter") and str(op.operands[1].type.element_type) == "i32"


def _halved(op: Site) -> None:
    """Divided by the number of examples on the device, not of all."""
    _operand(op, 1, lambda v: _scaled(v, 0.5))


def _wrong_constant(op: Site) -> None:
    _replace(op, lambda v: _scaled(v, 1.001))


def _is_constant_factor(op: Site) -> bool:
    if op.name != "stablehlo.constant" or op.results[0].type.rank or not _real(op.results[0]):
        return False
    value = abs(float(np.array(ir.DenseElementsAttr(op.attributes["value"])).reshape(()))) if _is_f32(op) else 0.0
    return np.isfinite(value) and value not in (0.0, 1.0)


def _is_f32(op: Site) -> bool:
    return str(op.results[0].type.element_type) in ("f32", "f64")


def _update_twice(op: Site) -> None:
    _operand(op, 1, lambda v: _op("stablehlo.add", [v, v], v.type))


def _small_updates_off(op: Site) -> None:
    """Updates smaller than the mean are off by a thousandth; the others, and the weights beside them, are right."""

    def off(v: ir.Value) -> ir.Value:
        size = _op("stablehlo.abs", [v], v.type)
        scalar = ir.RankedTensorType.get([], v.type.element_type)
        sum_ = ir.Operation.create(
            "stablehlo.reduce", results=[scalar], operands=[size, _splat(0.0, scalar)], regions=1,
            attributes={"dimensions": ir.DenseI64ArrayAttr.get(list(range(v.type.rank)))},
        )  # fmt: skip
        block = sum_.regions[0].blocks.append(scalar, scalar, arg_locs=[ir.Location.unknown()] * 2)
        with ir.InsertionPoint(block):
            total = _op("stablehlo.add", list(block.arguments), scalar)
            ir.Operation.create("stablehlo.return", operands=[total])
        mean = _broadcast(_scaled(sum_.result, 1 / int(np.prod(v.type.shape))), v.type)
        return _op("stablehlo.select", [_compare(size, mean, "LT"), _scaled(v, 1.001), v], v.type)

    _operand(op, 1, off)


def _one_entry_off(op: Site) -> None:
    """The update of the last entry of one device is off by a thousandth."""

    def off(v: ir.Value) -> ir.Value:
        ones = _splat(1.0, v.type)
        low = [n - 1 for n in v.type.shape]
        corner = _splat(1.001, ir.RankedTensorType.get([1] * v.type.rank, v.type.element_type))
        array = ir.DenseI64ArrayAttr.get
        zero = [0] * v.type.rank
        one = _splat(1.0, ir.RankedTensorType.get([], v.type.element_type))
        factor = _op(
            "stablehlo.pad", [corner, one], v.type, edge_padding_low=array(low), edge_padding_high=array(zero),
            interior_padding=array(zero),
        )  # fmt: skip
        return _op("stablehlo.multiply", [v, _on_device(2, factor, ones)], v.type)

    _operand(op, 1, off)


def _scaled_shard(op: Site) -> None:
    _replace(op, lambda v: _on_device(3, _scaled(v, 1.001), v))


def _wrong_replica(op: Site) -> None:
    """One device reads another part of a weight."""
    i = next(i for i, v in enumerate(op.operands) if isinstance(v, ir.BlockArgument))
    _operand(op, i, lambda v: _on_device(1, _rolled(v, _largest_dim(v.type)), v))


def _rounded(op: Site) -> None:
    """Kept in eight bits of significand."""

    def narrow(v: ir.Value) -> ir.Value:
        type_ = ir.RankedTensorType.get(v.type.shape, ir.BF16Type.get())
        wide = _op("stablehlo.convert", [v], type_)
        return _op("stablehlo.convert", [wide], v.type)

    _replace(op, narrow)


def _direction(new: dict[str, str]) -> Callable[[Site], None]:
    def turn(op: Site) -> None:
        old = str(op.attributes["comparison_direction"])
        name = next(n for n in new if n in old)
        op.attributes["comparison_direction"] = ir.Attribute.parse(f"#stablehlo<comparison_direction {new[name]}>")

    return turn


def _ordered(op: Site) -> bool:
    return op.name == "stablehlo.compare" and any(n in str(op.attributes["comparison_direction"]) for n in ("GT", "LT"))


def _many(op: Site) -> bool:
    return op.name in ("stablehlo.dot_general", "stablehlo.convolution") and _real(op.results[0]) and op.results[0].type.rank > 0


#: What can be wrong, by name.
KINDS: dict[str, Kind] = {
    "reduction missing": Kind(_where(lambda op: op.name == "stablehlo.all_reduce" and _sums(op)), _no_reduction),
    "reduced over the wrong group": Kind(_where(_can_regroup), _wrong_group),
    "maximum for sum": Kind(_where(_sums), _to_maximum),
    "partial sum counted twice": Kind(_where(_sums), _twice),
    "one part never added": Kind(_where(_sums), _missing_part),
    "bias added on each shard": Kind(_where(_sums), _bias),
    "scaled gradient": Kind(_where(_sums), _scaled_shard),
    "stale replica": Kind(_real_collectives("stablehlo.all_reduce", "stablehlo.all_gather"), _stale),
    "shards in reversed order": Kind(
        _real_collectives("stablehlo.all_gather", "stablehlo.all_to_all", "stablehlo.reduce_scatter"), _reversed_groups
    ),
    "halo from the other side": Kind(_where(lambda op: op.name == "stablehlo.collective_permute"), _reversed_pairs),
    "halo of one device missing": Kind(_where(lambda op: op.name == "stablehlo.collective_permute"), _lost_pair),
    "padding on the wrong side": Kind(_where(_uneven_pad), _wrong_pad),
    "mask of padding missing": Kind(
        _where(lambda op: op.name == "stablehlo.select" and _depends_on(op.operands[0], "stablehlo.partition_id")),
        _unmasked,
    ),
    "slice shifted on one device": Kind(
        _where(lambda op: op.name == "stablehlo.dynamic_slice" and max(op.results[0].type.shape, default=1) > 1),
        _wrong_start,
    ),
    "wrong initial value": Kind(_where(_adds), _wrong_init),
    "parts in reversed order": Kind(
        _where(
            lambda op: op.name == "stablehlo.concatenate" and len(op.operands) > 1
            and op.operands[0].type == op.operands[1].type
        ),
        _swapped,
    ),
    "next entry looked up": Kind(_where(_indexed), _next_index),
    "one trip less": Kind(_trips, _one_trip_less),
    "mean of the device's own count": Kind(
        _where(lambda op: op.name == "stablehlo.divide" and _real(op.results[0])), _halved
    ),
    "constant off by a thousandth": Kind(_where(_is_constant_factor), _wrong_constant),
    "learning rate applied twice": Kind(_updates, _update_twice),
    "small updates off by a thousandth": Kind(_updates, _small_updates_off),
    "one update off by a thousandth": Kind(_updates, _one_entry_off),
    "wrong replica of a weight": Kind(_weights, _wrong_replica),
    "product off on one device": Kind(_where(_many), _scaled_shard),
    "product kept in eight bits": Kind(_where(_many), _rounded),
    "strict comparison for the other": Kind(_where(_ordered), _direction({"GT": "GE", "LT": "LE"})),
    "comparison reversed": Kind(_where(_ordered), _direction({"GT": "LT", "LT": "GT"})),
}
