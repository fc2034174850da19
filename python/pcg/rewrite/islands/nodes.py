"""Programs on islands in the IR: what their calls, transfers and messages say, and whether that is consistent.

A slice is a `dist.mesh`; a node is a `func.call` with `mesh`, `in_specs` and `out_specs`, as a `pcg.stage` has them.
"""

from __future__ import annotations

from torch_mlir import ir

from pcg.dialects import checks
from pcg.dialects.dist import ShardSpecAttr
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.walk import body, functions
from pcg.layout import Mesh, SpecError

#: On a `dist.mesh`: the island whose devices it has.  On a function: the island that runs it.
ISLAND = "island"
#: On calls, transfers and sends: numbers of the operands that nothing reads behind them.
LAST_USES = "last_uses"
#: On calls: numbers of the operands whose buffers the call may take over behind their last use; without it any.
TAKES = "takes"
#: On an argument of an island's function, and on the function for all of its results: numbers in the program.
ARGUMENT, RESULTS = "pcg.argument", "pcg.results"
#: On arguments: the caller gives them up.  The second one only says that.
_DONATED = ("tf.aliasing_output", "jax.buffer_donor")
DONATED = _DONATED[1]
#: What a program consists of, besides what ends it.
OPS = (
    "func.call", "pcg.transfer", "pcg.send", "pcg.receive", "pcg.exchange", "pcg.exchange_back", "pcg.dispatch",
    "pcg.collect", "pcg.collect_back",
)  # fmt: skip
#: Those whose operands are on another slice than the results: rows go to shards that data says.
EXCHANGES = ("pcg.exchange", "pcg.exchange_back")
#: On a dispatch: its rows return.  On an exchange, and where it is collected: rows beyond the capacity are left out.
BACK, DROP = "back", "drop"


def ops_of(func: ir.Operation) -> list[ir.Operation]:
    """The ops of a program in order, without the return."""
    return [op.operation for op in func.regions[0].blocks[0].operations][:-1]


def end_of(func: ir.Operation) -> ir.Operation:
    """The return of a program."""
    return list(func.regions[0].blocks[0].operations)[-1].operation


def returned(func: ir.Operation) -> list[ir.Value]:
    """What a program returns."""
    return list(end_of(func).operands)


def is_read(value: ir.Value) -> bool:
    """Whether anything reads a value."""
    return next(iter(value.uses), None) is not None


def symbol(op: ir.Operation, name: str = "sym_name") -> str:
    """A symbol name, or (of an op that refers to one) the one that `name` says."""
    attr = op.attributes[name]
    return ir.StringAttr(attr).value if isinstance(attr, ir.StringAttr) else ir.FlatSymbolRefAttr(attr).value


def name_of(value: ir.Value) -> str:
    """A value as the program prints it."""
    return str(value.get_name(use_local_scope=True))


# -- islands ---------------------------------------------------------------------------------------


def islands_of(module: ir.Operation) -> dict[str, str]:
    """Slice -> island.

    Raises:
      PcgError: a slice has none.
    """
    found = {}
    for op in body(module).operations:
        op = op.operation
        if op.name == "dist.mesh":
            if not isinstance(island := checks.entry(op.attributes, ISLAND), ir.StringAttr):
                raise PcgError(f"slice @{symbol(op)} is on no island; run pcg-assign-islands first", op)
            found[symbol(op)] = island.value
    return found


def island_functions(module: ir.Operation) -> dict[str, ir.Operation]:
    """The function of each island, behind pcg-split-islands.

    Raises:
      PcgError: there is none, or an island has several.
    """
    found: dict[str, ir.Operation] = {}
    for func in functions(module):
        if isinstance(island := checks.entry(func.attributes, ISLAND), ir.StringAttr):
            if island.value in found:
                raise PcgError(f"island {island.value} has another function; allowed: one", func)
            found[island.value] = func
    if not found:
        raise PcgError("the module has no functions of islands; run pcg-split-islands first", module)
    return found


# -- layouts ---------------------------------------------------------------------------------------


def layout(value: ir.Value) -> ir.Attribute:
    """The layout of a value: a `#dist.shard_spec`, which says the slice, too.

    Raises:
      PcgError: nothing says it.
    """
    if isinstance(value, ir.BlockArgument):
        func, i = value.owner.owner.operation, value.arg_number
        own = func.attributes["arg_attrs"][i] if "arg_attrs" in func.attributes else {}
        if shardings.SPEC not in own:
            raise PcgError(f"argument {i} has no layout; write {shardings.SPEC} = #dist.shard_spec<@slice, ...>", func)
        return own[shardings.SPEC].maybe_downcast()
    op, i = value.owner.operation, ir.OpResult(value).result_number
    if op.name == "pcg.receive":
        return op.attributes["spec"].maybe_downcast()
    return _entry(op, shardings.SPECS if op.name == "pcg.transfer" else shardings.OUT_SPECS, i)


def wanted(op: ir.Operation, operand: int) -> ir.Attribute:
    """The layout that a call, or an exchange, demands of an operand."""
    return _entry(op, shardings.IN_SPECS, operand)


def _entry(op: ir.Operation, name: str, i: int) -> ir.Attribute:
    specs = checks.attribute(op, name, ir.ArrayAttr)
    found = checks.item(specs, i) if specs is not None and i < len(specs) else None
    if not isinstance(found, ShardSpecAttr):
        raise PcgError(f"'{op.name}' op: {name} {i} is {found}; allowed: a #dist.shard_spec", op)
    return found


def result_layout(func: ir.Operation, i: int) -> ir.Attribute | None:
    """The layout that result `i` of a function is to have; None where any will do."""
    own = func.attributes["res_attrs"][i] if "res_attrs" in func.attributes else {}
    return own[shardings.SPEC].maybe_downcast() if shardings.SPEC in own else None


def slice_of(layout: ir.Attribute) -> str:
    """The slice that a layout is on."""
    return shardings.mesh_symbol(layout)


def is_donated(argument: ir.Value) -> bool:
    """Whether the caller gives up the buffer of an argument."""
    func = argument.owner.owner.operation
    own = func.attributes["arg_attrs"][argument.arg_number] if "arg_attrs" in func.attributes else {}
    return any(name in own for name in _DONATED)


def last_uses(op: ir.Operation) -> list[int]:
    """Numbers of the operands that nothing reads behind an op."""
    return _operands(op, LAST_USES) or []


def takes(op: ir.Operation) -> list[int]:
    """Numbers of the operands whose buffers a call may take over, if it reads them last."""
    found = _operands(op, TAKES)
    return list(range(len(op.operands))) if found is None else found


def _operands(op: ir.Operation, name: str) -> list[int] | None:
    found = checks.entry(op.attributes, name)
    if found is not None and not isinstance(found, ir.DenseI64ArrayAttr):
        raise PcgError(f"'{op.name}' op: {name} is {found}; allowed: array<i64: ...>", op)
    numbers = None if found is None else list(found)
    if bad := [n for n in numbers or () if not 0 <= n < len(op.operands)]:
        raise PcgError(f"'{op.name}' op: {name} has {bad[0]}; it has {len(op.operands)} operands", op)
    return numbers


# -- checks ----------------------------------------------------------------------------------------


def check_program(module: ir.Operation, func: ir.Operation) -> None:
    """Raises PcgError, at the op, unless all ops are known ones, with layouts that their values can have."""
    check = _Check(shardings.meshes_of(module))
    for argument in func.regions[0].blocks[0].arguments:
        check.value(f"argument {argument.arg_number}", layout(argument), argument.type, func)
    for i, value in enumerate(returned(func)):
        if (spec := result_layout(func, i)) is not None:
            check.value(f"result {i}", spec, value.type, func)
    for op in ops_of(func):
        on, own = None, checks.entry(op.attributes, "mesh")
        if op.name not in OPS:
            raise PcgError(f"'{op.name}' op in a program on islands; allowed: {', '.join(OPS)}", op)
        if op.name in ("func.call", "pcg.transfer", *EXCHANGES):
            if not isinstance(own, ir.FlatSymbolRefAttr):
                raise PcgError(f"'{op.name}' op: mesh is {own}; allowed: the symbol of a dist.mesh", op)
            on = own.value
        for i, value in enumerate(op.operands if op.name in ("func.call", *EXCHANGES) else ()):
            check.value(f"in_specs {i}", wanted(op, i), value.type, op, on if op.name == "func.call" else None)
        if op.name in EXCHANGES:
            _check_slices(op)
        if op.name == "pcg.send":
            check.value("spec", op.attributes["spec"].maybe_downcast(), op.operands[0].type, op)
        elif op.name in ("pcg.dispatch", "pcg.collect", "pcg.collect_back"):
            type_ = ir.TypeAttr(op.attributes["type"]).value
            check.value("spec", op.attributes["spec"].maybe_downcast(), type_, op)
        for i, value in enumerate(op.results):
            check.value(f"layout of result {i}", layout(value), value.type, op, on)


def _check_slices(op: ir.Operation) -> None:
    """What an exchange reads is on one slice, and the destinations by which rows return where they return to."""
    own = [slice_of(wanted(op, i)) for i in range(len(op.operands))]
    if op.name == "pcg.exchange_back":
        there = slice_of(layout(op.results[0]))
        if own.pop() != there:
            raise PcgError(f"'{op.name}' op: its destinations are on @{slice_of(wanted(op, 2))}; allowed: @{there}", op)
    if own[0] != own[1]:
        raise PcgError(f"'{op.name}' op: it reads from @{own[0]} and @{own[1]}; allowed: one slice", op)


class _Check:
    """Whether layouts are ones that values of a type can have."""

    def __init__(self, meshes: dict[str, Mesh]) -> None:
        self.meshes = meshes
        self._fine: set[tuple[ir.Attribute, ir.Type]] = set()

    def value(self, what: str, spec: ir.Attribute, type_: ir.Type, op: ir.Operation, on: str | None = None) -> None:
        """`on` is the slice that the layout must be on, if there is one."""
        name = slice_of(spec)
        if on is not None and name != on:
            raise PcgError(f"{_of(op)}{what} is on @{name}; the op is on @{on}", op)
        if (spec, type_) in self._fine:
            return
        if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
            raise PcgError(f"{_of(op)}{what} is of type {type_}; allowed: ranked tensors of static shape", op)
        if name not in self.meshes:
            declared = ", ".join("@" + m for m in self.meshes) or "none"
            raise PcgError(f"{_of(op)}{what} is on @{name}; declared: {declared}", op)
        try:
            shardings.from_attr(spec).check(self.meshes[name], type_.shape)
        except (ValueError, SpecError) as error:
            raise PcgError(f"{_of(op)}{what}: {error}", op) from None
        self._fine.add((spec, type_))


def _of(op: ir.Operation) -> str:
    return "" if op.name == "func.func" else f"'{op.name}' op: "
