"""Textual pipelines that mix C++ and Python passes, and running them as a library."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import pytest
from torch_mlir import ir

from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.passes.base import Pass
from pcg.passes.pipeline import Pipeline, PipelineError, UnknownPass, split

PROGRAM = """
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  %1 = stablehlo.tanh %a : tensor<4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""


@dataclass
class CountPass(Pass):
    """Count tanh."""

    name = "count"
    limit: int | None = None

    def run(self, module: ir.Operation) -> None:
        for op in module.regions[0].blocks[0].operations[0].regions[0].blocks[0].operations:
            if op.operation.name == "stablehlo.tanh":
                self.statistics["tanh"] += 1
                self.remark(op, "a tanh")
                if self.limit is not None and self.statistics["tanh"] > self.limit:
                    raise PcgError(f"more than {self.limit} tanh", op)


@dataclass
class CrashPass(Pass):
    """Fails by accident."""

    name = "crash"

    def run(self, module: ir.Operation) -> None:
        raise KeyError("oops")


@dataclass
class BreakPass(Pass):
    """Leaves IR that does not verify."""

    name = "break"

    def run(self, module: ir.Operation) -> None:
        del module.regions[0].blocks[0].operations[0].attributes["sym_name"]


@pytest.fixture
def module():
    context = make_context()
    with context:
        yield ir.Module.parse(PROGRAM)


def test_split_ignores_nested_commas():
    assert list(split("a,b{x=1,2},func.func(c,d)")) == ["a", "b{x=1,2}", "func.func(c,d)"]


@pytest.mark.parametrize("text", ["a(b", "a)", "a{b", "a{b)", "(}"])
def test_unbalanced_text_is_refused(text):
    with pytest.raises(PipelineError, match="unbalanced|unclosed"):
        list(split(text))


def test_wrapping_and_spaces_do_not_matter():
    want = "builtin.module(dist-strip,func.func(cse),canonicalize)"
    assert str(Pipeline(want)) == want
    assert str(Pipeline(" dist-strip, func.func(cse) ,canonicalize")) == want
    assert str(Pipeline(["dist-strip", "func.func(cse),canonicalize"])) == want
    assert str(Pipeline("")) == "builtin.module()"


def test_python_passes_cannot_be_nested():
    with pytest.raises(PipelineError, match="Python passes run on builtin.module; move them out"):
        Pipeline("func.func(dist-strip)")


def test_a_named_pipeline_has_no_options():
    with pytest.raises(PipelineError, match="named pipeline 'lower' has no options"):
        Pipeline("lower{x=1}")


def test_an_unknown_pass_is_named_with_a_suggestion(module):
    with pytest.raises(UnknownPass, match="unknown pass 'canonicalise'; did you mean 'canonicalize'"):
        Pipeline("canonicalise").run(module)


def test_native_function_passes_are_nested_by_themselves(module):
    Pipeline("chlo-legalize-to-stablehlo").run(module)


def test_both_kinds_run_in_order(module):
    before, after = CountPass(), CountPass()
    pipeline = Pipeline([before, "cse", after])
    pipeline.run(module)
    assert before.statistics["tanh"] == 2
    assert after.statistics["tanh"] == 1
    assert [text for _, _, text in pipeline.remarks()] == ["a tanh"] * 3


def test_a_failing_pass_raises_at_the_op(module):
    with pytest.raises(PcgError) as error:
        Pipeline([CountPass(limit=1)]).run(module)
    assert error.value.message == "count: more than 1 tanh"
    assert "4:8" in str(error.value)


def test_an_accident_keeps_its_type_and_names_the_pass(module):
    with pytest.raises(KeyError) as error:
        Pipeline([CrashPass()]).run(module)
    assert error.value.__notes__ == ["in pass 'crash'"]


def test_invalid_ir_is_caught_after_the_pass(module):
    with pytest.raises(PcgError, match="sym_name"):
        Pipeline([BreakPass()]).run(module)


@dataclass
class AlonePass(Pass):
    """Counts how many of its kind run at once."""

    name = "alone"
    running = 0
    most = 0

    def run(self, module: ir.Operation) -> None:
        kind = type(self)
        kind.running += 1
        kind.most = max(kind.most, kind.running)
        time.sleep(0.02)
        kind.running -= 1


def test_one_pipeline_runs_at_a_time():
    """Passes share tables that grow while they are read."""

    def work() -> None:
        context = make_context()
        with context, ir.Location.unknown():
            Pipeline([AlonePass()]).run(ir.Module.parse(PROGRAM))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert AlonePass.most == 1 and AlonePass.running == 0
