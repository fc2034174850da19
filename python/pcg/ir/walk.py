"""Traversing operations."""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir

from pcg.ir.errors import PcgError


def walk(root: ir.Operation) -> Iterator[ir.Operation]:
    """Yield `root` and all operations nested in it, in pre-order.

    Unlike `Operation.walk`, exceptions keep their type (the binding turns an exception raised
    in its callback into a RuntimeError with the traceback as text).  Operations of the block
    being visited may be erased or added by the caller: each block is listed when it is entered.
    """
    root = root.operation
    yield root
    # Not recursive: nesting is bounded by the program, not by Python's stack.
    stack = [_inner(root)]
    while stack:
        for op in stack[-1]:
            nested = len(op.regions)
            yield op
            if nested:
                stack.append(_inner(op))
                break
        else:
            stack.pop()


def _inner(op: ir.Operation) -> Iterator[ir.Operation]:
    """The ops in the blocks of an op."""
    for block in _blocks(op):
        yield from [view.operation for view in block.operations]


def _blocks(op: ir.Operation) -> Iterator[ir.Block]:
    return (block for region in op.regions for block in region.blocks)


def with_depth(func: ir.Operation) -> Iterator[tuple[ir.Operation, int]]:
    """The ops in a function, and in how many regions inside of it each is."""
    stack = [(iter([o.operation for o in b.operations]), 0) for b in func.regions[0].blocks]
    while stack:
        ops, depth = stack.pop()
        for op in ops:
            nested = len(op.regions)
            yield op, depth
            if nested:
                stack.append((ops, depth))
                stack += [(iter([o.operation for o in b.operations]), depth + 1) for r in op.regions for b in r.blocks]
                break


def defining_op(value: ir.Value) -> ir.Operation | None:
    """The op whose result `value` is; None for arguments of blocks."""
    return None if isinstance(value, ir.BlockArgument) else value.owner.operation


def in_block(op: ir.Operation, func: ir.Operation) -> ir.Operation:
    """The op of the function's own block that `op` is, or is in."""
    while op.parent is not None and op.parent.operation != func:
        op = op.parent.operation
    return op


def captured(op: ir.Operation) -> list[ir.Value]:
    """Values from outside that the regions of an op read, each once, in order."""
    inside: set[ir.Value] = set()
    read: dict[ir.Value, None] = {}
    for inner in walk(op) if len(op.regions) else ():
        if inner != op:
            read.update(dict.fromkeys(inner.operands))
            inside.update(inner.results)
        inside.update(a for block in _blocks(inner) for a in block.arguments)
    return [v for v in read if v not in inside]


def outer_values(op: ir.Operation) -> list[ir.Value]:
    """Operands of an op, and values from outside that its regions read, each once."""
    return list(dict.fromkeys([*op.operands, *captured(op)]))


def functions(module: ir.Module | ir.Operation) -> list[ir.Operation]:
    """The `func.func` ops of a module, in order."""
    return [op.operation for op in body(module).operations if op.operation.name == "func.func"]


def body(module: ir.Module | ir.Operation) -> ir.Block:
    """The block of a module."""
    return module.operation.regions[0].blocks[0]


def entry(module: ir.Module | ir.Operation) -> ir.Operation | None:
    """The function a module runs: `main`, else its only public function, else its only function."""
    found = functions(module)
    for f in found:
        if ir.StringAttr(f.attributes["sym_name"]).value == "main":
            return f
    public = [f for f in found if not is_private(f)]
    for candidates in (public, found):
        if len(candidates) == 1:
            return candidates[0]
    return None


def entry_of(module: ir.Module | ir.Operation) -> ir.Operation:
    """The function that a module runs.

    Raises:
      PcgError: it has none, or several that could be it.
    """
    func = entry(module)
    if func is None:
        raise PcgError("the module has no entry function; it needs a public function, or one named main", module)
    return func


def is_private(func: ir.Operation) -> bool:
    """Whether a function can only be called from its own module."""
    attrs = func.attributes
    return "sym_visibility" in attrs and ir.StringAttr(attrs["sym_visibility"]).value != "public"
