"""Shardy's own sharding rules, from the pass `sdy-populate-op-sharding-rules` inside jaxlib.

jaxlib's MLIR and the one pcg is built on cannot live in one process, so this file is two things: `shardy_rules`
starts it as a program and talks JSON with it, and as a program it imports jaxlib and nothing of pcg.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: Factors of one tensor: per dimension, factor numbers major to minor.
Dims = tuple[tuple[int, ...], ...]

#: What Shardy's side says of an op that it has no rule for.
NO_RULE = "no rule"
KINDS = ("pass", "reduction", "permutation", "need_replication")


@dataclass(frozen=True)
class ShardyRule:
    """The rule that Shardy writes on one op: sizes and kinds of its factors, and where they are.

    `blocked` are factors along which it does not propagate.
    """

    sizes: tuple[int, ...]
    kinds: tuple[str, ...]
    blocked: frozenset[int]
    operands: tuple[Dims, ...]
    results: tuple[Dims, ...]
    text: str


@dataclass(frozen=True)
class Answer:
    """What Shardy says of one program: the rule of its last op, or None and why (`NO_RULE`, or a parse error)."""

    rule: ShardyRule | None
    why: str = ""


def shardy_rules(
    programs: Sequence[str], python: str = sys.executable, timeout: float = 300.0
) -> tuple[str, list[Answer]]:
    """jaxlib's version, and the rule of the last op of every program's `@main`, all in one process.

    `python` is the interpreter whose jaxlib is asked.

    Raises:
      RuntimeError: the process fails; the text has what it printed.
    """
    run = subprocess.run(
        [python, __file__], input=json.dumps(list(programs)), capture_output=True, text=True, timeout=timeout,
        check=False,
    )  # fmt: skip
    if run.returncode:
        raise RuntimeError(f"Shardy's process ended with status {run.returncode}:\n{run.stderr[-2000:]}")
    found = json.loads(run.stdout)
    return found["version"], [_answer(a) for a in found["answers"]]


def _answer(found: dict[str, Any]) -> Answer:
    if "text" not in found:
        return Answer(None, found["why"])
    kinds = ["pass"] * len(found["sizes"])
    for kind in KINDS[1:]:
        for f in found[kind]:
            kinds[f] = kind
    operands, results = (
        tuple(tuple(tuple(d) for d in t) for t in found[side]) for side in ("operands", "results")
    )  # fmt: skip
    return Answer(
        ShardyRule(
            tuple(found["sizes"]), tuple(kinds), frozenset(found["blocked"]), operands, results, found["text"]
        )
    )


def _serve() -> None:
    """The other process: programs on stdin, rules on stdout."""
    import jaxlib
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, sdy, stablehlo

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.allow_unregistered_dialects = True
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for dialect in (sdy, chlo, stablehlo):
        dialect.register_dialect(context)
    answers = []
    with context, ir.Location.unknown():
        populate = passmanager.PassManager.parse("builtin.module(func.func(sdy-populate-op-sharding-rules))")
        for text in json.load(sys.stdin):
            try:
                module = ir.Module.parse(text)
            except ir.MLIRError as error:
                answers.append({"why": str(error.error_diagnostics[0].message)})
                continue
            populate.run(module.operation)
            answers.append(_read(module))
    print(json.dumps({"version": jaxlib.__version__, "answers": answers}))


def _read(module: Any) -> dict[str, Any]:
    from jaxlib.mlir.dialects import sdy

    main = next(op for op in module.body.operations if op.operation.attributes["sym_name"].value == "main")
    op = list(main.operation.regions[0].blocks[0].operations)[-2].operation
    if "sdy.sharding_rule" not in op.attributes:
        return {"why": NO_RULE}
    rule = sdy.OpShardingRuleAttr(op.attributes["sdy.sharding_rule"])

    def tensors(mappings: Any) -> list[list[list[int]]]:
        found = []
        for mapping in mappings:
            tensor = sdy.TensorMappingAttr(mapping)
            found.append([list(sdy.DimMappingAttr(d).factor_indices) for d in tensor.dim_mappings])
        return found

    return {
        "text": str(rule).removeprefix("#sdy.op_sharding_rule<").removesuffix(">"),
        "sizes": list(rule.factor_sizes),
        "reduction": list(rule.reduction_factors),
        "permutation": list(rule.permutation_factors),
        "need_replication": list(rule.need_replication_factors),
        "blocked": list(rule.blocked_propagation_factors),
        "operands": tensors(rule.operand_mappings),
        "results": tensors(rule.result_mappings),
    }


if __name__ == "__main__":
    _serve()
