"""Reading programs, however they come.

Text (pretty or generic, of StableHLO, CHLO, Shardy and our dialects), MLIR bytecode, portable
StableHLO artifacts, and what `jax.export` serialises (a table with such an artifact inside).
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from torch_mlir import ir

from pcg.ir.check import check
from pcg.ir.errors import PcgError, file_position
from pcg.ir.sdy_text import to_generic
from pcg.ir.strings import check_strings
from pcg.ir.walk import functions, walk

#: What a process that reads bytecode may take, starting jaxlib included, and what it reads at least.
_SECONDS, _BYTES_PER_SECOND = 20, 1e6
BYTECODE_MAGIC = b"ML\xefR"


def load_module(
    source: str | bytes | os.PathLike, context: ir.Context, name: str | None = None, *, static: bool = True,
    layouts: bool = True,
) -> ir.Module:  # fmt: skip
    """Read a program into `context`.

    `source` is text, bytes, or a path (a `Path`, or a one-line string that names a file).  `name`
    stands for the source in error messages and locations.  Programs with `sdy` ops switch
    `context.allow_unregistered_dialects` on; the sdy-import pass translates the ops and switches it off.
    `static` demands static shapes, `layouts` that attributes of `dist` and `pcg` are what passes expect
    (`pcg.ir.check`).

    Raises:
      PcgError: the source is no program, has ops of unknown dialects, dynamic shapes, or malformed layouts.
    """
    data, name = _read(source, name)
    with context, ir.Location.unknown():
        if isinstance(data, bytes):
            at = data.find(BYTECODE_MAGIC)
            if at >= 0:
                module = _from_bytecode(data if at == 0 else _embedded(data, at), context, name)
                return _checked(module, static, layouts)
            try:
                data = data.decode()
            except UnicodeDecodeError:
                raise PcgError("neither MLIR text, MLIR bytecode nor a jax.export artifact", f"{name}:1:1") from None
        module = parse_text(data, context, name)
        return _checked(module, static, layouts)


def _checked(module: ir.Module, static: bool, layouts: bool) -> ir.Module:
    if static:
        check_static(module)
    if layouts:
        check(module)
    return module


def parse_text(text: str, context: ir.Context, name: str = "-") -> ir.Module:
    """Parse text, with `sdy` in any form; see `load_module`, which also checks the program."""
    if not text.strip():
        raise PcgError("the program is empty", f"{name}:1:1")
    _check_nesting(text, name)
    check_strings(text, name)
    with context, ir.Location.unknown():
        if not context.allow_unregistered_dialects:
            _check_dialects(text, context, name)
        if uses_sdy(text):
            text = to_generic(text, name)
            context.allow_unregistered_dialects = True
        try:
            return _parse_named(text, name)
        except ir.MLIRError as error:
            raise _syntax_error(error, name) from None


def parse_written(program: str | bytes) -> ir.Module:
    """A program that was read and written again here, in the current context.

    It may keep attributes of dialects that nobody registered: those that no pass reads, and the rules that jax states
    for custom calls.
    """
    context = ir.Context.current
    lenient = context.allow_unregistered_dialects
    context.allow_unregistered_dialects = True
    try:
        return ir.Module.parse(program)
    finally:
        context.allow_unregistered_dialects = lenient


def _syntax_error(error: ir.MLIRError, name: str) -> PcgError:
    """The first error MLIR reported, with the rest below it."""
    found = list(getattr(error, "error_diagnostics", ()))
    if not found:
        return PcgError(str(error).strip(), name)
    first = file_position(found[0].location)
    rest = [f"\n{file_position(d.location)}: {d.message}" for d in found[1:]]
    text = found[0].message + "".join(rest)
    return PcgError(text.replace("\n-:", f"\n{name}:"), re.sub(r"\A-:", f"{name}:", first))


#: A generic op: a quoted name and operands (a named location is `"name"(` and a location).
_GENERIC_OP = re.compile(r'"([A-Za-z_][\w$]*)(\.[\w.$]+)"\s*\(\s*[%)]')


def _check_dialects(text: str, context: ir.Context, name: str) -> None:
    """Refuse generic ops of dialects nobody registered (MLIR's own message does not name the op)."""
    known = {"sdy": True}
    for m in _GENERIC_OP.finditer(text):
        space = m[1]
        if space not in known:
            try:
                context.get_dialect_descriptor(space)
                known[space] = True
            except ValueError:
                known[space] = False
        if not known[space]:
            line, column = text.count("\n", 0, m.start()) + 1, m.start() - text.rfind("\n", 0, m.start())
            raise PcgError(
                f"unknown operation '{space}{m[2]}'; allowed: func, stablehlo, chlo, sdy, dist and pcg operations",
                f"{name}:{line}:{column}",
            )


#: Brackets inside of each other: MLIR's parser and printer are recursive, and a stack is not endless.
_NESTED = 1000
_BRACKET = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|([\[({<])|([\])}>])')


def _check_nesting(text: str, name: str) -> None:
    """Refuse text of more nesting than the parser's stack has room for."""
    if sum(map(text.count, "[({<")) <= _NESTED:
        return
    data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    step = np.zeros(256, np.int8)
    step[list(b"[({<")], step[list(b"])}>")] = 1, -1
    steps = step[data]
    steps[1:][(data[1:] == ord(">")) & (data[:-1] == ord("-"))] = 0  # arrows
    if steps.cumsum(dtype=np.int32).max() <= _NESTED:
        return
    depth = 0
    for m in _BRACKET.finditer(text):  # the same without texts and comments
        depth += 1 if m[1] else -1 if m[2] else 0
        if depth > _NESTED:
            line, column = text.count("\n", 0, m.start()) + 1, m.start() - text.rfind("\n", 0, m.start())
            raise PcgError(f"brackets are nested more than {_NESTED} deep", f"{name}:{line}:{column}")


def uses_sdy(text: str) -> bool:
    """Whether text has Shardy ops or attributes."""
    # The first test is for speed: large constants are a hundred megabytes of digits.
    return "sdy" in text and re.search(r'(?<![\w.])"?#?sdy\.|#sdy<', text) is not None


def _read(source: str | bytes | os.PathLike, name: str | None) -> tuple[str | bytes, str]:
    if isinstance(source, bytes):
        return source, name or "-"
    if isinstance(source, str):
        if "\n" in source or not (source and os.path.exists(source)):
            if "\n" not in source and re.fullmatch(r"[^\s(){}]+\.(mlir|mlirbc|bc|stablehlo|txt|export)", source):
                raise PcgError("no such file", source)
            return source, name or "-"
    try:
        return Path(source).read_bytes(), name or str(source)
    except OSError as error:
        raise PcgError(str(error.strerror).lower(), str(source)) from None


# An alias (`#loc = ...`), a comment or a blank line: what may stand before the first op.
_PREAMBLE = re.compile(r"(?:\s+|//[^\n]*|[#!][\w$.\-]+\s*=[^\n]*)*")
_ALIASES_AT_END = re.compile(r"(?:\n(?:#[\w$.\-]+\s*=[^\n]*|//[^\n]*|\s*))*\Z")


def _parse_named(text: str, name: str) -> ir.Module:
    """`Module.parse`, with `name` in the locations (it calls every buffer "-")."""
    start = _PREAMBLE.match(text).end()  # type: ignore[union-attr]
    if name == "-":
        return ir.Module.parse(text)
    if not re.match(r'(builtin\.)?module\b|"builtin\.module"', text[start:]):
        end = _ALIASES_AT_END.search(text, start).start()  # type: ignore[union-attr]
        # On the line above, if that is blank or a comment, so that columns stay what the user sees.
        above = text.rfind("\n", 0, max(text.rfind("\n", 0, start), 0)) + 1
        line = text[above:start].partition("\n")
        at = above if line[1] and not line[2].strip() and not line[0].lstrip().startswith(("#", "!")) else start
        text = f"{text[:at]}module {{ {text[at:end]}\n}}{text[end:]}"
    parsed = ir.Operation.parse(text, source_name=name).operation
    if parsed.name != "builtin.module":
        raise PcgError(f"the program is a '{parsed.name}'; allowed: a module, or functions", f"{name}:1:1")
    module = ir.Module.create(parsed.location)
    for attr in list(parsed.attributes):
        key = attr if isinstance(attr, str) else attr.name
        module.operation.attributes[key] = parsed.attributes[key]
    for op in list(parsed.regions[0].blocks[0].operations):
        op.operation.detach_from_parent()
        module.body.append(op)
    return module


def _embedded(data: bytes, at: int) -> bytes:
    """The MLIR bytecode inside a serialised `jax.export.Exported`: a byte vector, length first."""
    size = int.from_bytes(data[at - 4 : at], "little") if at >= 4 else 0
    return data[at : at + size] if 0 < size <= len(data) - at else data[at:]


def _from_bytecode(data: bytes, context: ir.Context, name: str) -> ir.Module:
    """A module from bytecode that another process has read first, and written again."""
    sdy = b"sdy" in data
    if sdy and importlib.util.find_spec("jaxlib"):
        # The bindings lack Shardy's bytecode; jaxlib, if installed, has it.
        text = _reread("pcg.frontend.artifact_text", data, name)
        try:
            return parse_text(text.decode(), context, name)
        except UnicodeDecodeError:
            raise PcgError("cannot read the bytecode: it is damaged", name) from None
    data = _reread("pcg.ir.bytecode", data, name)
    with context, ir.Location.unknown():
        try:
            return ir.Module.parse(data)
        except (ValueError, ir.MLIRError) as error:
            found = [d.message for d in getattr(error, "error_diagnostics", ())]
            lines = [x.strip() for text in (*found, str(error)) for x in text.splitlines() if x.strip()]
            missing = "; its Shardy attributes need jaxlib to be installed" if sdy else ""
            raise PcgError(f"cannot read the bytecode: {lines[0] if lines else 'malformed'}{missing}", name) from None


def _reread(reader: str, data: bytes, name: str) -> bytes:
    """What a module of ours, run by a process of its own, makes of bytecode."""
    seconds = _SECONDS + len(data) / _BYTES_PER_SECOND
    try:
        found = subprocess.run(
            [sys.executable, "-m", reader], input=data, capture_output=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise PcgError(f"cannot read the bytecode: its reader has not ended in {seconds:.0f} s", name) from None
    if found.returncode:
        lines = [x for x in found.stderr.decode(errors="replace").strip().splitlines() if x.strip()]
        why = lines[-1].strip() if lines and found.returncode > 0 else "it is damaged"
        raise PcgError(f"cannot read the bytecode: {why}", name)
    return found.stdout


# -- checks ----------------------------------------------------------------------------------------


def check_static(module: ir.Module) -> None:
    """Refuse dynamic shapes.

    Raises:
      PcgError: names the argument or op, its type, and what to do.
    """
    for func in functions(module):
        symbol = ir.StringAttr(func.attributes["sym_name"]).value
        for block in func.regions[0].blocks:
            for argument in block.arguments:
                if _is_dynamic(argument.type):
                    raise PcgError(
                        f"argument {argument.arg_number} of function '{symbol}' is a {argument.type}; "
                        "allowed: static shapes (export or lower the program for fixed sizes)",
                        argument.location,
                    )
    fine: set[ir.Type] = set()
    for op in walk(module.operation):
        types = [result.type for result in op.results]
        if fine.issuperset(types):
            continue
        for i, type_ in enumerate(types):
            if _is_dynamic(type_):
                raise PcgError(
                    f"result {i} of '{op.name}' is a {type_}; "
                    "allowed: static shapes (export or lower the program for fixed sizes)",
                    op.location,
                )
        fine.update(types)


def _is_dynamic(type_: ir.Type) -> bool:
    return isinstance(type_, ir.ShapedType) and not (type_.has_rank and type_.has_static_shape)
