"""Rules by which a program was rewritten, as text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from pcg.machine.units import time_text
from pcg.substitute.applied import AppliedRules
from pcg.viz.names import listed
from pcg.viz.table import table

#: Columns of the proofs.
_WIDTH = 120


def substitutions(applied: Sequence[AppliedRules]) -> str:
    """A row per rules that were applied one after another, and what each rule replaces and is proved from."""
    rows = [
        [a.name, str(len(a.places)), "" if a.saved is None else time_text(a.saved), listed(a.places)] for a in applied
    ]
    proofs = dict.fromkeys(p for a in applied for p in a.proofs)
    lines = [
        textwrap.fill(p, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False) for p in proofs
    ]
    return "\n".join([table(["rules", "times", "saved per step", "at"], rows, right=(1, 2)), *lines])
