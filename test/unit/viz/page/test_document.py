"""The page: one document that needs nothing else, whatever programs are called, of a size that can be read."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pcg
from pcg.driver.compile import compile_program
from pcg.ir.errors import PcgError
from pcg.layout import Mesh
from pcg.substitute.applied import AppliedRules
from pcg.tools import pcg_opt
from pcg.viz.page import compiled as compiled_page
from pcg.viz.page.document import MOST_NODES, MOST_REGIONS, Side, page
from pcg.viz.page.graph import ARGUMENT, OP, RESULT, Edge, Graph, Node

MESH = {"a": 4}
RNG = np.random.default_rng(0)
ARGS = (
    RNG.normal(size=(2048, 16)).astype("f"), RNG.normal(size=(16, 8)).astype("f"),
    RNG.integers(0, 30, 32).astype(np.int32), RNG.normal(size=(32, 8)).astype("f"),
)  # fmt: skip
VOID = ("meta",)
RULES = AppliedRules("some <rule>", ("a.py:1", "a.py:2"), ("some <rule>: x => y",), 1e-3)


def step(table: Any, weight: Any, ids: Any, y: Any) -> Any:
    """A step of SGD of a lookup and a layer behind it."""

    def loss(table: Any, weight: Any) -> Any:
        return jnp.mean((jnp.tanh(table[ids]) @ weight - y) ** 2)

    of_table, of_weight = jax.grad(loss, (0, 1))(table, weight)
    return table - 0.1 * of_table, weight - 0.1 * of_weight


class Checked(HTMLParser):
    """Reads a page; tags are closed in order, and nothing is of elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        assert text.startswith("<!DOCTYPE html>\n") and text.endswith("</html>\n")
        self.feed(text)
        self.close()
        assert self.open == []
        assert not re.search(r"https?:|//[a-z]|@import|src=|href=", text)
        assert set(re.findall(r"url\(([^)]*)\)", text)) <= {"#arrow"}
        assert "script" not in self.tags and "link" not in self.tags

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def chain(*names: str) -> Graph:
    """An argument, ops one after another, and a result."""
    nodes = [
        Node(ARGUMENT, "x", "f32[4]", "[a]", ""), *(Node(OP, n, "f32[4]", "[a]", "a.py:1") for n in names),
        Node(RESULT, "result", "f32[4]", "[a]", ""),
    ]  # fmt: skip
    return Graph(nodes, [[], *([Edge(i, i + 1)] for i in range(len(nodes) - 1))])


def written(after: Graph, before: Graph | str | None = None, applied: tuple[AppliedRules, ...] = ()) -> str:
    side = Side(before, 2e-3, "simulated") if isinstance(before, Graph) else before
    return page("main", Mesh.of({"a": 4}), applied, Side(after, 1e-3, "simulated"), side)


# -- of compiled programs --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled() -> Any:
    return pcg.compile(step, MESH).lower(*ARGS)


def test_of_a_program_that_is_rewritten(compiled: Any) -> None:
    text = compiled.explain(format="html")
    found = Checked(text)
    assert "step on mesh a=4 (4 devices)" in found.text
    without = pcg.compile(step, MESH, substitutions=False).lower(*ARGS).cost.seconds
    for seconds in (without, compiled.cost.seconds):
        assert f"{1e6 * seconds:.1f} us (costs added up)" in found.text
    assert f"{without / compiled.cost.seconds:.2f} times as fast" in found.text
    (applied,) = compiled.plan.applied_rules
    assert f"{applied.name}: {applied.places[0]}" in found.text and all(p in found.text for p in applied.proofs)
    before, after = text.split("<figcaption>")[1:]
    size = "f32[2048,16]"
    for part, ops in ((before, {"multiply", "subtract", "scatter"}), (after, {"scatter"})):
        boxes = re.findall(r'<g class="op changed"><title>(.*?)</title>', part, re.S)
        assert {b.splitlines()[0] for b in boxes if size in b} >= ops
        assert "params" not in part and "table" in part  # its argument, and what becomes of it
    assert not re.search(rf"subtract\n{re.escape(size)}", after)


def test_plans_that_are_given_back_have_the_same_page(compiled: Any) -> None:
    again = pcg.compile(step, MESH, strategy=pcg.Plan.from_json(compiled.plan.to_json())).lower(*ARGS)
    # Ops of where it is called have other lines.
    texts = [re.sub(r"\.py:\d+", ".py", c.explain(format="html")) for c in (again, compiled)]
    assert texts[0] == texts[1]


def test_what_does_not_fit_without_substitutions(compiled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise PcgError("no plan fits in <1 MiB>")

    monkeypatch.setattr(compiled_page, "compile_program", fails)
    text = compiled.explain(format="html")
    found = Checked(text)
    assert "no plan: no plan fits in <1 MiB>" in found.text and "svg" in found.tags  # of the arrow only
    assert "There is no plan of the program as it was to compare with." in found.text and "<figure>" not in text


def test_of_a_program_that_is_not_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    done = pcg.compile(lambda x: jnp.tanh(x @ x), MESH).lower(ARGS[0][:16])
    monkeypatch.setattr(compiled_page, "compile_program", lambda *_, **__: pytest.fail("is planned again"))
    text = done.explain(format="html")
    assert "None: the program is planned as it is." in Checked(text).text
    assert re.findall(r"<title>(\w+)\n", text) == ["x", "dot_general", "tanh", "result"]


def test_it_is_planned_again_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same options, but for those of substitutions."""
    done = pcg.compile(step, MESH, rules=("subtract-from-table", "scaled-rows"), memory_limit="1MiB").lower(*ARGS)
    seen: list[Any] = []

    def watched(program: Any, mesh: Any, options: Any, **others: Any) -> Any:
        seen.append((mesh, options))
        return compile_program(program, mesh, options, **others)

    monkeypatch.setattr(compiled_page, "compile_program", watched)
    Checked(done.explain(format="html"))
    ((mesh, options),) = seen
    assert dict(mesh.axes) == MESH and options.memory_limit == 2**20 and options.strategy == "auto"
    assert options.search["substitutions"] is False and "rules" not in options.search


def test_other_formats(compiled: Any) -> None:
    with pytest.raises(ValueError, match="^format 'pdf'; allowed: 'text', 'html'$"):
        compiled.explain(format="pdf")
    with pytest.raises(ValueError, match=r"^format 'html' is of all tensors; explain\(0\) is text$"):
        compiled.explain(0, format="html")


def test_without_igraph_nothing_is_planned(
    compiled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)
    monkeypatch.setattr(compiled_page, "compile_program", lambda *_, **__: pytest.fail("is planned again"))
    with pytest.raises(ImportError, match=r"^drawing graphs needs igraph: pip install 'pcg\[html\]'$"):
        compiled.explain(format="html")
    program = tmp_path / "program.mlir"
    program.write_text("module {}")
    assert pcg_opt.main([str(program), "--auto-parallel", "--explain=html"]) == 1
    assert capsys.readouterr().err == "pcg-opt: error: drawing graphs needs igraph: pip install 'pcg[html]'\n"


def test_one_page_is_of_one_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.mlir"
    program.write_text("module {}\n// -----\nmodule {}\n")
    assert pcg_opt.main([str(program), "--canonicalize", "--explain=html", "--split-input-file"]) == 1
    assert "--explain writes one page; it cannot be combined with several parts of" in capsys.readouterr().err


# -- of graphs -------------------------------------------------------------------------------------


def test_text_is_escaped() -> None:
    graph = chain("a<b>&\"c\"", "tanh")
    other = chain("<script>alert(1)</script>", "tanh")
    found = Checked(written(graph, other, (RULES,)))
    assert "<script>alert(1)</script>" in found.text and 'a<b>&"c"' in found.text and "some <rule>" in found.text


@pytest.mark.parametrize(("count", "drawn"), [(MOST_NODES - 2, True), (MOST_NODES - 1, False)])
def test_large_graphs_are_counted(count: int, drawn: bool) -> None:
    text = written(chain(*["tanh"] * count))
    assert ("<figure>" in text) == drawn
    said = f"as planned: {MOST_NODES + 1} ops, arguments and results; graphs of up to {MOST_NODES} are drawn."
    assert (said in text) != drawn


@pytest.mark.parametrize(("count", "more"), [(MOST_REGIONS, 0), (MOST_REGIONS + 3, 3)])
def test_many_regions_are_counted(count: int, more: int) -> None:
    names = [name for i in range(count) for name in (f"op{i}", "tanh", "tanh", "tanh")]
    text = written(chain(*(n.replace("op", "new") for n in names)), chain(*names), (RULES,))
    assert text.count("<section>") == MOST_REGIONS
    assert (f"{more} more regions that differ are not drawn." in text) == bool(more)


def test_equal_regions_are_drawn_once() -> None:
    names = ["tanh", "tanh", "sine", "tanh", "tanh", "sine", "tanh", "tanh"]
    text = written(chain(*(n.replace("sine", "cosine") for n in names)), chain(*names), (RULES,))
    assert text.count("<section>") == 1 and "some &lt;rule&gt;, 2 times: a.py:1" in text


def test_long_names_are_shortened_where_they_are_shown() -> None:
    text = written(chain("x" * 200))
    assert f"<title>{'x' * 200}\n" in text and f">{'x' * 43}…</text>" in text


def test_without_an_estimate() -> None:
    text = page("main", Mesh.of({"a": 4}), (), Side(chain("tanh")))
    assert "<td>not estimated</td>" in text
