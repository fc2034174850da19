"""Creating MLIR contexts in which every dialect a program may use is loaded."""

from __future__ import annotations

import threading

from torch_mlir import ir, passmanager
from torch_mlir._mlir_libs import _mlir, _stablehlo

from pcg.dialects.dist import Dist
from pcg.dialects.pcg import Pcg
from pcg.ir.load import load_dialects
from pcg.ir.version import warn_if_untested

# `ext.Dialect.load` writes process-wide registries: concurrent loads crash.
_LOAD_LOCK = threading.Lock()
# Make `pcg.dialects.<name>` the Python module of dialect <name>.  Without an importable
# module the bindings retry a failing import on *every* operation access (13 us each).
_mlir.globals.append_dialect_search_prefix("pcg.dialects")
_stablehlo.register_stablehlo_passes()
warn_if_untested()


def make_context(*, allow_unregistered: bool = False) -> ir.Context:
    """A context with StableHLO, CHLO and the project's dialects loaded.

    The context is single-threaded and must stay so: verifiers written in Python deadlock otherwise.
    """
    # All others that are registered are loaded where a program has them; loading all takes 10 ms.
    context = ir.Context(load_on_create_dialects=["func"])
    context.allow_unregistered_dialects = allow_unregistered
    with _LOAD_LOCK, context, ir.Location.unknown():
        _stablehlo.register_dialect(context, True)
        load_dialects(Dist, Pcg)
        # Registering StableHLO does not load CHLO; running a pass that depends on CHLO does.
        chlo = passmanager.PassManager.parse("builtin.module(func.func(stablehlo-complex-math-expander))")
        chlo.run(ir.Module.create().operation)
    return context
