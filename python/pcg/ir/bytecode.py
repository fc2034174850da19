"""`python -m pcg.ir.bytecode`: MLIR bytecode or a portable artifact on stdin, the same as MLIR writes it on stdout.

A program of its own because MLIR's reader does not hold against damaged bytecode: it may read beyond its end, write
where it must not, or never return.  What MLIR wrote itself is safe to read.
"""

from __future__ import annotations

import io
import sys

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo

from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.strings import check_strings

_PORTABLE_PRODUCER = b"StableHLO_v"


def main() -> int:
    """Convert stdin to stdout; 1, and a line on stderr, where it is not what MLIR reads."""
    data, said = sys.stdin.buffer.read(), list[str]()
    out = io.BytesIO()
    with make_context() as context, ir.Location.unknown():
        # Ops that nobody registered are refused by what reads the result.
        context.allow_unregistered_dialects = True
        handler = context.attach_diagnostic_handler(lambda d: bool(said.append(d.message)) or True)
        try:
            if _PORTABLE_PRODUCER in data[:64]:
                module = _stablehlo.deserialize_portable_artifact(context, data)
            else:
                module = ir.Module.parse(data)
            check_strings(module.operation.get_asm(large_elements_limit=16, enable_debug_info=True), "-")
            module.operation.write_bytecode(out)
        except PcgError as error:
            sys.stderr.write(error.message)
            return 1
        except (ValueError, RuntimeError, ir.MLIRError) as error:
            said += [d.message for d in getattr(error, "error_diagnostics", ())]
            why = [line for message in (*said, str(error)) for line in message.splitlines() if line.strip()]
            sys.stderr.write(why[0].strip() if why else "malformed")
            return 1
        finally:
            handler.detach()
    sys.stdout.buffer.write(out.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
