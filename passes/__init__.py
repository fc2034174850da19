"""All passes, by name.  A pass's module is imported when the pass is first asked for."""

from pcg.passes.base import lookup, pass_names
from pcg.passes.pipelines import NATIVE, PIPELINES

__all__ = ["NATIVE", "PIPELINES", "lookup", "pass_names"]
