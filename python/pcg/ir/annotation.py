"""Which layouts the user annotated: recorded before others are decided, kept until the program is lowered.

Planning gives every value a layout, and constraints (`dist.constraint`) become PCG operators or vanish.  So what plans
records the annotations first, as the attribute `dist.annotated` of functions and ops: a list of `[slot, spec, text]`,
where `slot` is `argument 0` or `result 0` of that function or op, and `text` says where the annotation is from if that
is not the slot itself.  `dist.engine` on a function is what decided the rest, `dist.state` the results that it keeps in
the layout of an argument (result, argument, ...).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.locations import place
from pcg.ir.walk import walk
from pcg.layout import ShardSpec

ANNOTATED = "dist.annotated"
ENGINE = "dist.engine"
STATE = "dist.state"


@dataclass(frozen=True)
class Annotation:
    """A layout that the user wrote.  `slot` is `argument` or `result`, number `index`, of the function or op."""

    slot: str
    index: int
    spec: ShardSpec
    text: str = ""


def record(func: ir.Operation, engine: str, state: Mapping[int, int] | None = None) -> None:
    """Record every layout in `func`, for which `engine` is about to decide the others; a second time does nothing.

    `state` says which results `engine` will keep in the layout of which argument.
    """
    func = func.operation
    if ENGINE in func.attributes:
        return
    with func.context:
        func.attributes[ENGINE] = ir.StringAttr.get(engine)
        if state:
            pairs = [number for pair in sorted(state.items()) for number in pair]
            func.attributes[STATE] = ir.DenseI64ArrayAttr.get(pairs)
    found = [
        Annotation("argument", i, s)
        for i, a in enumerate(func.regions[0].blocks[0].arguments)
        if (s := shardings.get(a)) is not None
    ]
    results = enumerate(shardings.function_result_specs(func))
    _add(func, [*found, *(Annotation("result", i, s) for i, s in results if s is not None)])
    for op in walk(func):
        if op.name == "dist.constraint":
            if shardings.OPEN in op.attributes:  # else what it says stays as it is
                _add(op, [Annotation("result", 0, shardings.from_attr(op.attributes["spec"]), _constraint(op))])
        elif op != func and shardings.SPECS in op.attributes and op.name != "dist.reshard":
            specs = enumerate(shardings.result_specs(op))
            _add(op, [Annotation("result", i, s) for i, s in specs if s is not None])


def keep_on_operand(constraint: ir.Operation) -> None:
    """Record the annotations of a constraint, which is about to be erased, on what defines the value that it reads."""
    recorded = annotations_of(constraint)
    if not recorded and constraint.operation.name == "dist.constraint":
        spec = shardings.from_attr(constraint.attributes["spec"])
        recorded = [Annotation("result", 0, spec, _constraint(constraint))]
    if not recorded:
        return
    value = constraint.operands[0]
    while not isinstance(value, ir.BlockArgument) and value.owner.operation.name in shardings.CONSTRAINTS:
        value = value.owner.operation.operands[0]
    if isinstance(value, ir.BlockArgument):
        owner, index = value.owner.owner.operation, value.arg_number
        slot = "argument" if owner.name == "func.func" else "result"  # of a loop: its carry
    else:
        owner, index, slot = value.owner.operation, ir.OpResult(value).result_number, "result"
    _add(owner, [Annotation(slot, index, g.spec, g.text) for g in recorded])


def names_axes(func: ir.Operation) -> bool:
    """Whether some layout in `func`, before anything decided others, names an axis."""
    func = func.operation
    specs = [shardings.get(a) for a in func.regions[0].blocks[0].arguments] + shardings.function_result_specs(func)
    for op in walk(func):
        if op.name == "dist.constraint":
            specs.append(shardings.from_attr(op.attributes["spec"]))
        elif op != func:
            specs += shardings.result_specs(op)
    return any(s is not None and s.used_axes for s in specs)


def remove(root: ir.Operation) -> None:
    """Remove the attributes of this module inside of `root`."""
    for op in walk(root):
        for name in (ANNOTATED, ENGINE, STATE):
            if name in op.attributes:
                del op.attributes[name]


def annotations_of(op: ir.Operation) -> list[Annotation]:
    """The annotations recorded on a function or op."""
    op = op.operation
    return list(_entries(op.attributes[ANNOTATED])) if ANNOTATED in op.attributes else []


def engine_of(func: ir.Operation) -> str:
    """What decided the layouts that are not annotated; empty if that is not known."""
    attrs = func.operation.attributes
    return ir.StringAttr(attrs[ENGINE]).value if ENGINE in attrs else ""


def state_arguments(func: ir.Operation) -> dict[int, int]:
    """Results kept in the layout of an argument, whose next value they are."""
    attrs = func.operation.attributes
    pairs = list(ir.DenseI64ArrayAttr(attrs[STATE])) if STATE in attrs else []
    return dict(zip(pairs[::2], pairs[1::2], strict=True))


def _entries(attr: ir.Attribute) -> Iterator[Annotation]:
    for entry in ir.ArrayAttr(attr):
        slot, spec, text = ir.ArrayAttr(entry)
        kind, _, index = ir.StringAttr(slot).value.partition(" ")
        yield Annotation(kind, int(index), shardings.from_attr(spec), ir.StringAttr(text).value)


def _add(op: ir.Operation, found: list[Annotation]) -> None:
    if not found:
        return
    with op.context:
        entries = list(op.attributes[ANNOTATED]) if ANNOTATED in op.attributes else []
        for g in found:
            slot, text = (ir.StringAttr.get(t) for t in (f"{g.slot} {g.index}", g.text))
            entries.append(ir.ArrayAttr.get([slot, shardings.to_attr(g.spec), text]))
        op.attributes[ANNOTATED] = ir.ArrayAttr.get(entries)


def _constraint(op: ir.Operation) -> str:
    where = place(op.location)
    return "a constraint" + (f" at {where}" if where else "")
