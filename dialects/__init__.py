"""The `dist` and `pcg` dialects, and the Python modules of the upstream dialects that programs use.

Every namespace met in a program needs an importable module here: without one, the bindings try a
failing import each time an op or attribute of it becomes a Python object (13 us each).
"""


def load_all() -> None:
    """Load the project's dialects into the current context."""
    from pcg.dialects.dist import Dist
    from pcg.dialects.pcg import Pcg
    from pcg.ir.load import load_dialects

    load_dialects(Dist, Pcg)
