"""Where two programs differ: what is drawn of each, and what belongs together."""

from __future__ import annotations

from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.viz.page.graph import ARGUMENT, Graph, Redistribution, graph_of
from pcg.viz.page.regions import Region, regions

MESH = Mesh.parse("a=2")
HEAD = """
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["a"], [2], []>} : () -> ()
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
"""


def graph(body: str) -> Graph:
    """Of ops on `%x` and `%y`, as `v = op operands`, with the last two as results."""
    lines, names = [], ["%x", "%y"]
    for line in body.strip().splitlines():
        name, _, rest = line.partition(" = ")
        names.append(name.strip())
        lines.append(f'{name} = stablehlo.{rest} : tensor<8xf32> loc("m.py":1:1)')
    text = HEAD + "\n".join(lines) + f"\nreturn {names[-2]}, {names[-1]} : tensor<8xf32>, tensor<8xf32>\n}}"
    module = load_module(text, make_context(), "<test>")
    with module.context:
        return graph_of(module, MESH)


def shown(region: Region) -> list[tuple[list[str], list[str]]]:
    """Of each side the names of ops that are drawn, and those of them that differ."""
    sides = []
    for part in (region.before, region.after):
        names = [part.graph.nodes[n].name for n in part.nodes]
        sides.append((names, [part.graph.nodes[n].name for n in sorted(part.changed)]))
    return sides


BEFORE = """
%a = tanh %x
%b = negate %a
%c = add %b, %y
%d = sine %y
"""


def test_equal_programs_do_not_differ() -> None:
    assert regions(graph(BEFORE), graph(BEFORE)) == []


def test_one_op_is_replaced() -> None:
    after = BEFORE.replace("negate", "abs")
    (region,) = regions(graph(BEFORE), graph(after))
    assert shown(region) == [(["tanh", "negate", "add"], ["negate"]), (["tanh", "abs", "add"], ["abs"])]
    assert (region.times, region.where) == (1, ("m.py:1",))
    assert [(e.source, e.target) for e in region.before.edges] == [(2, 3), (3, 4)]


def test_an_op_that_reads_something_else_differs() -> None:
    after = "%a = tanh %x\n%c = add %a, %y\n%d = sine %y"
    (region,) = regions(graph(BEFORE), graph(after))
    before, now = shown(region)
    assert before[1] == ["negate", "add"] and now[1] == ["add"]
    assert before[0] == ["arg1", "tanh", "negate", "add", "result[0]"] and now[0] == ["arg1", "tanh", "add", "result[0]"]


def test_far_apart_are_two_regions() -> None:
    after = BEFORE.replace("negate", "abs").replace("sine", "cosine")
    found = regions(graph(BEFORE), graph(after))
    assert [[part[1] for part in shown(r)] for r in found] == [[["negate"], ["abs"]], [["sine"], ["cosine"]]]


def test_regions_that_look_the_same_are_one() -> None:
    before = "%a = tanh %x\n%b = tanh %y"
    (region,) = regions(graph(before), graph(before.replace("tanh", "sine")))
    assert region.times == 2 and region.where == ("m.py:1",)
    part = region.before
    kinds = [part.graph.nodes[n].kind for n in part.nodes]
    assert len(kinds) == 3 and kinds[0] == ARGUMENT


LOOP = """
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["a"], [2], []>} : () -> ()
func.func @main(%x: tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [["a"]], {}>}, %n: tensor<i32>) -> tensor<8xf32> {
  %0 = "pcg.combine"(%x) {axes = ["a"], dim = 0 : i64, dist.specs = [#dist.shard_spec<@mesh, [[]], {}>]} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "pcg.partition"(%0) {axes = ["a"], dim = 0 : i64, dist.specs = [#dist.shard_spec<@mesh, [["a"]], {}>]} : (tensor<8xf32>) -> tensor<8xf32>
  %2:2 = stablehlo.while(%i = %n, %v = %1) : tensor<i32>, tensor<8xf32> attributes {dist.specs = [#dist.shard_spec<@mesh, [], {}>, #dist.shard_spec<@mesh, [["a"]], {}>]}
  cond {
    %c = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %t = stablehlo.tanh %v {dist.specs = [#dist.shard_spec<@mesh, [["a"]], {}>]} : tensor<8xf32>
    stablehlo.return %i, %t : tensor<i32>, tensor<8xf32>
  }
  return %2#1 : tensor<8xf32>
}
"""


def test_loops_and_redistributions() -> None:
    module = load_module(LOOP, make_context(), "<test>")
    with module.context:
        found = graph_of(module, MESH)
    at = {n.name: i for i, n in enumerate(found.nodes)}
    assert [n.name for n in found.nodes] == ["arg0", "arg1", "tanh", "while", "result"]
    assert found.nodes[at["tanh"]].layout == "[a]" and found.nodes[at["while"]].layout == "[], [a]"
    change = Redistribution(0, ("combine dim 0 over a", "partition dim 0 over a"), "[a]")
    (into,) = found.operands[at["tanh"]]
    assert (into.source, into.redistribution) == (at["arg0"], change)
    assert at["tanh"] in [e.source for e in found.operands[at["while"]]]
    assert [e.source for e in found.operands[at["result"]]] == [at["while"]]
