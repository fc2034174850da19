"""A search that begins while substitutions are looked for finds what it would find afterwards.

In a copy of the process, and, as where jax is loaded, in another process.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support import withoutjax

STEP = Path(__file__).parents[3] / "examples" / "transformer_step.mlir"
SETUP = f"""
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.ir import shardings
from pcg.passes import pipelines
from pcg.passes.pcg_search import SearchPass
from pcg.passes.pcg_substitute import SubstitutePass
from pcg.passes.pipeline import Pipeline
from pcg.planning import ahead, search, substitute
from pcg.solve import other_process
ahead._LARGE = 0
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
counted = []
optimize = search.optimize
def counting(*args, **options):
    counted.append(os.getpid())
    return optimize(*args, **options)
search.optimize = counting

def planned():
    "The plan as text, with the pass that found it; `counted` has where."
    module = load_module(open({str(STEP)!r}).read(), make_context(), "step.mlir")
    shardings.set_mesh(module, Mesh.parse("data=2,model=4"))
    passes = pipelines.auto_parallel(pipelines.Settings())
    found = next(p for p in passes if isinstance(p, SearchPass))
    found.progress = False
    counted.clear()
    Pipeline(passes).run(module)
    return module.operation.get_asm(enable_debug_info=True), found, passes
"""


#: So it is not copied.
WITH_JAX = "sys.modules['jaxlib'] = sys; other_process.start('pcg'); other_process._started.result()"


def lines_of(code: str) -> list[str]:
    return withoutjax.lines_of(code, SETUP)


@pytest.mark.parametrize("before", ["", WITH_JAX], ids=["copy", "other process"])
def test_the_plan_is_that_of_a_search_afterwards_with_all_that_is_said_of_it(before: str) -> None:
    code = f"""
        {before}
        def said(found):
            return [(str(where), text) for where, text in found.remarks], found.statistics, found.outcome
        with_it, found, passes = planned()
        print(beside.is_copied(), len(counted), found._ahead)
        # An alternative was looked at, and is not taken.
        print(*(sorted(p.statistics.items()) for p in passes if isinstance(p, SubstitutePass)))
        ahead._LARGE = 1 << 30
        without, later, _ = planned()
        print(len(counted), with_it == without, said(found)[:2] == said(later)[:2], found.progress)
        same = [getattr(found.outcome, n) == getattr(later.outcome, n) for n in ("choice", "seconds", "bound", "peak_bytes")]
        print(*same, *(a.name == b.name for a, b in zip(found.outcome.alternatives, later.outcome.alternatives, strict=True)))
    """
    first, alternatives, second, outcome = lines_of(code)
    assert first == f"{not before} 0 None", "the search was elsewhere"
    assert alternatives == "[('alternatives', 1)]"
    assert second == "1 True True False" and set(outcome.split()) == {"True"}


@pytest.mark.parametrize(
    "end",
    ["beside._cores = lambda: 1", "ahead._key = lambda module: str(os.getpid())", "raise_there()",
     f"{WITH_JAX}; beside._cores = lambda: 1", f"{WITH_JAX}; ahead._key = lambda module: str(os.getpid())",
     f"{WITH_JAX}; add_a_rule()", f"{WITH_JAX}; fails()"],
)  # fmt: skip
def test_where_nothing_is_found_it_is_searched_for(end: str) -> None:
    """Where there is one core, where the program or the rules have changed, where the other process fails."""
    code = f"""
        def raise_there():
            there = search.optimize
            def raises(*args, **options):
                return there(*args, **options) if os.getpid() == here else os._exit(3)
            search.optimize = raises
        def add_a_rule():
            from pcg.rules import registry
            registry.registered()
            registry.rule("ours.op", traits=registry.op_traits.of("stablehlo.add"))(None)
        def fails():
            ahead._parsed_and_done = os._exit  # what is sent is its name
        {end}
        planned()
        print(counted == [here])
    """
    assert lines_of(code) == ["True"]


def test_a_time_limit_is_counted_from_the_pass_on() -> None:
    code = """
        made = []
        class Counted(search.Ahead):
            def __init__(self, *args):
                made.append(args)
                super().__init__(*args)
        search.Ahead = Counted
        module = load_module("module {}", make_context(), "empty.mlir")
        for limit in (3600.0, None):
            found = SearchPass(time_limit=limit)
            found.begin(module.operation)
            print(len(made))
        found.abandon()
    """
    assert lines_of(code) == ["0", "1"]


def test_without_alternatives_it_is_searched_in_this_process() -> None:
    code = """
        substitute.rules_for = lambda *_, **__: ()
        planned()
        print(counted == [here])
    """
    assert lines_of(code) == ["True"]


def test_what_is_rewritten_is_searched_for_afterwards() -> None:
    code = """
        ended = []
        class Ended(search.Ahead):
            def abandon(self):
                ended.append(True)
                super().abandon()
        search.Ahead = Ended
        _rewrite = substitute.Substitute._rewrite
        def rewrites(self, module, rules):
            _rewrite(self, module, rules)
            return False
        substitute.Substitute._rewrite = rewrites
        _, found, _ = planned()
        print(len(ended), counted == [here], found._ahead)
    """
    assert lines_of(code) == ["1 True None"]


def test_ctrl_c_while_it_is_waited_for_gives_the_best_plan_so_far() -> None:
    code = """
        import time
        def slow(*args, **options):
            if os.getpid() != here:
                time.sleep(3600)
            return counting(*args, **options)
        search.optimize = slow
        into = ahead.Ahead.into
        def interrupted(self, module, ended):
            os.kill(here, signal.SIGINT)
            return into(self, module, ended)
        ahead.Ahead.into = interrupted
        _, found, _ = planned()
        print(next(text for _, text in found.remarks if text.startswith("plan:"))[-17:], found.outcome.ended_by)
        print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    """
    assert lines_of(code) == ["; ended by Ctrl-C Ctrl-C", "True"]



CHECKED = f"""
from pcg.ir.errors import PcgError
from pcg.ir.walk import walk
from pcg.lower.verify import VerifyLayouts
def checked(right, meanwhile, elsewhere=True):
    "Where a check was made beside `meanwhile`, and what was raised."
    module = load_module(open({str(STEP)!r}).read(), make_context(), "step.mlir")
    shardings.set_mesh(module, Mesh.parse("data=2,model=4"))
    Pipeline(pipelines.auto_parallel(pipelines.Settings())).run(module)
    if not right:
        del next(o for o in walk(module.operation) if o.name == "stablehlo.dot_general").attributes["dist.specs"]
    where = []
    def check_here():
        where.append("here")
        VerifyLayouts().run(module.operation)
    try:
        with module.context, ahead.checking(VerifyLayouts(), module.operation, check_here, elsewhere):
            where.append("meanwhile")
            meanwhile()
    except (PcgError, KeyboardInterrupt) as error:
        where.append("lowering" if "lowering" in str(error) else type(error).__name__)
    return " ".join(where)
def nothing(): pass
def fails(): raise PcgError("lowering")
def interrupted(): raise KeyboardInterrupt
"""


@pytest.mark.parametrize("before", ["", WITH_JAX], ids=["copy", "other process"])
def test_a_program_is_checked_beside_what_counts_on_it(before: str) -> None:
    """What the check says comes before what is raised because of it; in the end it is said by a check here."""
    code = f"""
        {before}
        for right in (True, False):
            print(checked(right, nothing), "|", checked(right, fails), "|", checked(right, interrupted))
    """
    assert withoutjax.lines_of(code, SETUP + CHECKED) == [
        "meanwhile | meanwhile lowering | meanwhile KeyboardInterrupt",
        "meanwhile here PcgError | meanwhile here PcgError | meanwhile KeyboardInterrupt",
    ]


@pytest.mark.parametrize("why", ["beside.forbid()", "ahead._LARGE = 10_000", "elsewhere = False"])
def test_where_there_is_no_core_for_it_a_program_is_checked_before(why: str) -> None:
    code = f"""
        elsewhere = True
        {why}
        for right in (True, False):
            print(checked(right, nothing, elsewhere), "|", checked(right, fails, elsewhere))
    """
    assert withoutjax.lines_of(code, SETUP + CHECKED) == [
        "here meanwhile | here meanwhile lowering", "here PcgError | here PcgError",
    ]
