"""What a module says of how `pcg-substitute` has rewritten it."""

from __future__ import annotations

from torch_mlir import ir

#: Options of `pcg-substitute` that rewrite the program it was in the same way; and that program, as text.
SUBSTITUTIONS, _ORIGINAL = "pcg.substitutions", "pcg.original"


def note(module: ir.Operation, options: str, original: str = "") -> None:
    """Say that a module was rewritten, by which options, and, if there is a text of it, from which program."""
    for name, text in ((SUBSTITUTIONS, options), (_ORIGINAL, original)):
        if text:
            module.attributes[name] = ir.StringAttr.get(text, module.context)


def original_of(module: ir.Operation) -> str:
    """The program that a module was before it was rewritten, as text, if it has it; it does not after this."""
    return _taken_out(module, _ORIGINAL)


def forget(module: ir.Operation) -> str:
    """Take from a module what it says of how it was rewritten: options of `pcg-substitute`; empty if it was not."""
    original_of(module)
    return _taken_out(module, SUBSTITUTIONS)


def _taken_out(module: ir.Operation, name: str) -> str:
    if name not in module.attributes:
        return ""
    text = str(ir.StringAttr(module.attributes[name]).value)
    del module.attributes[name]
    return text
