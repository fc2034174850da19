"""What a module says of how `pcg-substitute` has rewritten it."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.substitute.applied import AppliedRules

#: Options of `pcg-substitute` that rewrite the program it was in the same way; and that program, as text.
SUBSTITUTIONS, _ORIGINAL = "pcg.substitutions", "pcg.original"
#: The rules that were applied, for people.
APPLIED_RULES = "pcg.applied_rules"


def note(module: ir.Operation, applied: Sequence[AppliedRules], options: str = "", original: str = "") -> None:
    """Say by which rules a module was rewritten, and, if they are known, by which options and from which program."""
    with module.context:
        if applied:
            module.attributes[APPLIED_RULES] = ir.ArrayAttr.get([_attribute(a) for a in applied])
        for name, text in ((SUBSTITUTIONS, options), (_ORIGINAL, original)):
            if text:
                module.attributes[name] = ir.StringAttr.get(text)


def applied_rules(module: ir.Operation) -> tuple[AppliedRules, ...]:
    """The rules by which a module was rewritten; none if it was not.

    Raises:
      PcgError: its attribute is not as `note` writes it.
    """
    if APPLIED_RULES not in module.attributes:
        return ()
    try:
        return tuple(_read(ir.DictAttr(a)) for a in ir.ArrayAttr(module.attributes[APPLIED_RULES]))
    except (KeyError, ValueError) as error:
        raise PcgError(f"attribute {APPLIED_RULES} is not as pcg-substitute writes it: {error}", module) from None


def original_of(module: ir.Operation) -> str:
    """The program that a module was before it was rewritten, as text, if it has it; it does not after this."""
    return _taken_out(module, _ORIGINAL)


def forget(module: ir.Operation) -> str:
    """Take from a module what it says of how it was rewritten: options of `pcg-substitute`; empty if it was not."""
    original_of(module)
    if APPLIED_RULES in module.attributes:
        del module.attributes[APPLIED_RULES]
    return _taken_out(module, SUBSTITUTIONS)


def _taken_out(module: ir.Operation, name: str) -> str:
    if name not in module.attributes:
        return ""
    text = str(ir.StringAttr(module.attributes[name]).value)
    del module.attributes[name]
    return text


def _attribute(applied: AppliedRules) -> ir.Attribute:
    """In the current context."""
    entries: dict[str, ir.Attribute] = {"name": ir.StringAttr.get(applied.name)}
    for key, texts in (("places", applied.places), ("proofs", applied.proofs)):
        entries[key] = ir.ArrayAttr.get([ir.StringAttr.get(t) for t in texts])
    if applied.saved is not None:
        entries["saved"] = ir.FloatAttr.get_f64(applied.saved)
    return ir.DictAttr.get(entries)


def _read(entries: ir.DictAttr) -> AppliedRules:
    places, proofs = (
        tuple(str(ir.StringAttr(t).value) for t in ir.ArrayAttr(entries[key])) for key in ("places", "proofs")
    )
    saved = float(ir.FloatAttr(entries["saved"]).value) if "saved" in entries else None
    return AppliedRules(str(ir.StringAttr(entries["name"]).value), places, proofs, saved)
