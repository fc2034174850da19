"""What pcg-run does with `--islands`: run a program on the islands of a controller.  Its imports import jax."""

from __future__ import annotations

import argparse
import functools
from pathlib import Path
from typing import Any

from pcg.api.module_on_islands import ModuleOnIslands
from pcg.controller.streams import Send
from pcg.driver.island_module import IslandModule, argument_values, island_program, plain_text
from pcg.driver.program import ProgramError, module_source
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.runtime import check
from pcg.runtime.inputs import random_values
from pcg.tools import run_program


def on_islands(source: run_program.Source, module: IslandModule, args: argparse.Namespace) -> dict[str, Any]:
    """Run a program on islands, and time it; with `--check` compare it with the program without slices."""
    if module.plain is None and args.check and not args.reference:
        raise ProgramError(
            "a module with a function per island does not say what it was made from; give --reference FILE to --check"
            " it"
        )
    import jax

    jax.config.update("jax_enable_x64", True)  # the check is in double precision; what the program has stays as it is
    program = island_program(module, module.program.name, source[0], source[1])
    plain = module.plain
    if args.reference:
        found = module_source(Path(args.reference))
        assert found is not None
        plain = plain_text(load_module(found[0], make_context(), found[1]))
    if plain is not None:
        program = run_program.same_signature(program, plain, args.reference or source[1])
        draw: run_program.Draw = run_program.draw_of(program)
    else:
        split = load_module(source[0], make_context(), source[1] or "<program>")
        draw = functools.partial(random_values, argument_values(split), program.arguments)
    islands = ModuleOnIslands(module, args.backend, args.strategy)
    with islands.controller as controller:
        inputs = draw(args.seed)
        with controller.record() as recording:
            results, seconds = run_program.timed(lambda: islands.run(inputs), args.repeat)
        if args.trace:
            recording.runs.write(args.trace)
        sends = [i for s in module.program.streams.values() for i in s.instructions if isinstance(i, Send)]
        report: dict[str, Any] = {
            "program": source[1], "islands": dict(module.devices), "backend": args.backend, "seed": args.seed,
            "slices": {name: f"{island} {list(m.device_ids or range(m.size))}" for name, (island, m)
                       in module.program.slices.items()},
            "functions": len(module.functions), "messages": len(sends), "sharded_seconds": seconds,
        }  # fmt: skip
        if args.check:
            text = check.text_of(load_module(program.source, make_context(), program.path or "<program>"))
            unsharded = check.Unsharded(text, program.arguments, program.results)
            run_program.compare(report, args, unsharded, draw, results, islands.run, islands.wide)
    return report | {"remarks": []}
