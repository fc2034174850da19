"""Strings of programs, which are UTF-8."""

from __future__ import annotations

import re

from pcg.ir.errors import PcgError

#: A byte of a string that is not ASCII, as MLIR prints it, and a string.
_ESCAPED = re.compile(r"\\[89A-Fa-f][0-9A-Fa-f]")
_STRING = re.compile(r'(backend_config = )?"((?:[^"\\\n]|\\.)*)"')


def check_strings(text: str, name: str) -> None:
    """Refuse strings that are not UTF-8, which the bindings cannot read; configurations of custom calls are bytes.

    Raises:
      PcgError: at the first one in `text`, a program called `name`.
    """
    if not _ESCAPED.search(text):
        return
    for m in _STRING.finditer(text):
        if m[1] or not _ESCAPED.search(m[2]):
            continue
        data = re.sub(rb"\\([0-9A-Fa-f]{2})", lambda x: bytes([int(x[1], 16)]), m[2].encode())
        try:
            data.decode()
        except UnicodeDecodeError:
            line, column = text.count("\n", 0, m.start()) + 1, m.start() - text.rfind("\n", 0, m.start())
            raise PcgError(f"the string {m[0][:80]} is not UTF-8", f"{name}:{line}:{column}") from None
