"""Write the training step of an example as StableHLO text, exactly as `jax.jit(...).lower(...)` prints it.

  python examples/dump_stablehlo.py bert --size large -o bert_large.mlir
  python examples/dump_stablehlo.py bert --size large --set scan=True --debug-info -o bert_large_scan.mlir

The files in this folder are `unity_mlp --size wide` (mlp.mlir) and `bert --size medium` (transformer_step.mlir).
"""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from examples import MODELS


def stablehlo_text(model: str, size: str, overrides: dict[str, Any], debug_info: bool = False) -> str:
    """The StableHLO of one example; no array is ever allocated."""
    import jax

    step, args = importlib.import_module(f"examples.{model}").shapes(size, **overrides)
    return jax.jit(step).lower(*args).as_text(debug_info=debug_info)


def parse_override(text: str) -> tuple[str, Any]:
    """Read `name=value`, the value a Python literal or a plain word."""
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--size", default="small", help="one of the model's SIZES (default: small)")
    parser.add_argument(
        "--set", action="append", default=[], type=parse_override, metavar="NAME=VALUE", help="a field of Config"
    )
    parser.add_argument("--debug-info", action="store_true", help="keep the source locations of the model")
    parser.add_argument("-o", "--output", default="-", help="file to write (default: standard output)")
    options = parser.parse_args(argv)
    sizes = importlib.import_module(f"examples.{options.model}").SIZES
    if options.size not in sizes:
        parser.error(f"{options.model} has no size {options.size!r}; it has {', '.join(sizes)}")
    text = stablehlo_text(options.model, options.size, dict(options.set), options.debug_info)
    if options.output == "-":
        sys.stdout.write(text)
    else:
        Path(options.output).write_text(text)
        print(f"{options.output}: {len(text.splitlines())} lines, {len(text)} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
