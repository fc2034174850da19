"""Write the IRDL definition of the project's dialects, which `mlir-opt --irdl-file` reads.

With it upstream tools parse, check (declared shape only; verifiers written in Python stay behind),
transform and print programs that hold `dist` and `pcg` ops.
"""

from __future__ import annotations

import argparse
import sys

from pcg.ir.context import make_context


def irdl_text() -> str:
    """The definition of `dist` and `pcg` as one IRDL module."""
    from pcg.dialects.dist import Dist

    context = make_context()
    with context:
        return str(Dist._mlir_module).rstrip() + "\n"


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(prog="emit-irdl", description=(__doc__ or "").split("\n")[0])
    p.add_argument("-o", default="-", metavar="FILE", help="where to write; - is stdout")
    args = p.parse_args(argv)
    text = irdl_text()
    if args.o == "-":
        sys.stdout.write(text)
    else:
        with open(args.o, "w", encoding="utf-8") as f:
            f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
