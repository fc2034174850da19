"""Choosing alternatives and layouts at once: the best solution is the best plan of the best program."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.clone import clone_module
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry_of, walk
from pcg.machine import Machine
from pcg.planning.target import cost_model, planned_mesh
from pcg.rewrite.substitutions.apply import rules_for
from pcg.rewrite.substitutions.extract import extract
from pcg.rewrite.substitutions.saturate import Saturation
from pcg.search.build import Builder
from pcg.search.built import Built
from pcg.search.graph import Edge, Graph, Node
from pcg.search.joint import UNUSED, Joint, unneeded
from pcg.search.joint_core import JointCore
from pcg.search.optimize import optimize
from pcg.search.roles import state_of
from pcg.search.table import Tables
from pcg.solve.effort import EFFORTS
from pcg.solve.ilp import Solution, solve
from pcg.solve.network import Network, widened
from pcg.substitute.library import for_programs

PROOF = EFFORTS["proof"]
#: Costs of a program are sums of the same numbers in both networks, in another order: they differ by rounding alone.
SAME = 1e-9


def declared(mesh: str) -> str:
    """A mesh as a program declares it: "x=2,y=2"."""
    axes = [a.split("=") for a in mesh.split(",")]
    names, sizes = ", ".join(f'"{n}"' for n, _ in axes), ", ".join(s for _, s in axes)
    return f'"dist.mesh"() {{sym_name = "mesh", value = #dist.process_mesh<[{names}], [{sizes}], []>}} : () -> ()\n'


def product(name: str, left: tuple[str, int, int], right: tuple[str, int, int]) -> str:
    (x, m, k), (y, _, n) = left, right
    types = f"(tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32>"
    return f"  %{name} = stablehlo.dot_general %{x}, %{y}, contracting_dims = [1] x [0] : {types}"


def either(name: str, first: str, second: str, m: int, n: int) -> str:
    t = f"tensor<{m}x{n}xf32>"
    return f'  %{name} = "pcg.alternatives"(%{first}, %{second}) {{rule = "product-from-left"}} : ({t}, {t}) -> {t}'


def chain(mesh: str, sizes: Sequence[int], results: Sequence[tuple[int, int]]) -> str:
    """Every product of neighbours in a chain of matrices, in every order of multiplication; `results` are of some.

    What is multiplied is itself a choice between alternatives, wherever it is a product of three or more.
    """
    count, lines, name = len(sizes) - 1, list[str](), {(i, i): f"m{i}" for i in range(len(sizes) - 1)}
    for length in range(2, count + 1):
        for i in range(count - length + 1):
            j = i + length - 1
            for k in range(i, j):
                new = f"p{i}{j}{k}"
                left, right = (name[i, k], sizes[i], sizes[k + 1]), (name[k + 1, j], sizes[k + 1], sizes[j + 1])
                lines.append(product(new, left, right))
                if k > i:
                    lines.append(either(f"a{i}{j}{k}", name[i, j], new, sizes[i], sizes[j + 1]))
                    new = f"a{i}{j}{k}"
                name[i, j] = new
    arguments = ", ".join(f"%m{i}: tensor<{sizes[i]}x{sizes[i + 1]}xf32>" for i in range(count))
    types = ", ".join(f"tensor<{sizes[i]}x{sizes[j + 1]}xf32>" for i, j in results)
    values = ", ".join(f"%{name[r]}" for r in results)
    body = "\n".join(lines)
    return f"{declared(mesh)}func.func @main({arguments}) -> ({types}) {{\n{body}\n  return {values} : {types}\n}}\n"


@dataclass
class Program:
    """A program with alternatives, and its joint network."""

    module: ir.Module
    model: CostModel
    built: Built
    nodes: list[int]
    """Of its alternatives, in program order."""
    joint: Joint
    network: Network

    @classmethod
    def of(cls, module: ir.Module, *, classes: bool = False) -> Program:
        """`classes`: whether equal parts are one decision."""
        model = cost_model(module.operation, Machine.default(), planned_mesh(module.operation))
        built = _built(module, model)
        quotient = built.quotient(model)
        node_of = {op: node for op, node in built.ops}
        nodes = [node_of[op] for op in _alternatives(module)]
        joint = Joint(quotient if classes else quotient.discrete(), nodes)
        return cls(module, model, built, nodes, joint, joint.network())

    def solved(self, states: Mapping[int, Collection[int]] | None = None) -> Solution:
        """The best solution, where the alternatives of these nodes are in one of these states."""
        open_ = self.joint.open(states or {})
        found = solve(self.network.restrict(open_), effort=PROOF)
        return Solution(widened(open_, found.x), found.cost, found.bound, found.variables)

    def extracted(self, rewritten: Collection[int]) -> ir.Module:
        """The program that takes the second operand of these alternatives, by number."""
        module = clone_module(self.module)
        with module.context:
            extract(_alternatives(module), rewritten)
        module.operation.verify()
        return module

    def subsets(self) -> Iterator[frozenset[int]]:
        """Of alternatives."""
        count = len(self.nodes)
        for bits in itertools.product((False, True), repeat=count):
            yield frozenset(itertools.compress(range(count), bits))

    def unused(self, x: Sequence[int]) -> set[int]:
        """The nodes that a solution does not use: its choice comes behind all strategies."""
        q = self.joint.quotient
        found = set[int]()
        for n, c in enumerate(q.class_of):
            strategies = len(q.tables[c]) * (2 if n in self.nodes else 1)
            if x[c] == strategies:
                found.add(n)
            else:
                assert x[c] < strategies
        return found

    def operands(self, x: Sequence[int]) -> dict[int, list[int]]:
        """Of each node the nodes that it reads in a solution."""
        taken, found = self.joint.taken(x), dict[int, list[int]]()
        for e in self.built.graph.edges:
            if e.dst not in taken or taken[e.dst] == e.index:
                found.setdefault(e.dst, []).append(e.src)
        return found


def _alternatives(module: ir.Module) -> list[ir.Operation]:
    return [op for op in walk(entry_of(module.operation)) if op.name == "pcg.alternatives"]


def _built(module: ir.Module, model: CostModel) -> Built:
    func = entry_of(module.operation)
    return Builder(model, Tables.on(model.mesh)).build(func, state_of(func))


def plain(module: ir.Module, model: CostModel, *, classes: bool = False) -> float:
    """Seconds of the best plan of a program without alternatives, which is proved to be the best."""
    quotient = _built(module, model).quotient(model)
    found = optimize(quotient if classes else quotient.discrete(), effort=PROOF)
    assert found.bound == pytest.approx(found.seconds, rel=SAME)
    return found.seconds


def parsed(text: str) -> ir.Module:
    return load_module(text, make_context(), "<test>")


def saturated(text: str, rules: tuple[str, ...] = ()) -> ir.Module:
    module = parsed(text)
    with module.context:
        Saturation(entry_of(module.operation), rules_for(rules or tuple(s.name for s in for_programs()), only_exact=False)).run()
    module.operation.verify()
    return module


def best(program: Program) -> tuple[float, int]:
    """The least cost of the programs that alternatives make, each planned by itself, and how many there are."""
    costs = dict[str, float]()
    for rewritten in program.subsets():
        module = program.extracted(rewritten)
        text = str(module)
        if text not in costs:
            costs[text] = plain(module, program.model)
    return min(costs.values()), len(costs)


def consistent(program: Program, x: Sequence[int]) -> None:
    """What a solution uses is there: no op that is used reads one that is not, and nothing else is used."""
    unused, reads = program.unused(x), program.operands(x)
    taken = program.joint.taken(x)
    assert {n for n in program.nodes if taken[n] == UNUSED} == unused & set(program.nodes)
    nodes = program.built.graph.nodes
    assert not any(nodes[n].kind == "argument" for n in unused)
    for n in set(range(len(nodes))) - unused:
        assert not unused & set(reads.get(n, ())), f"{nodes[n].name} reads what is not computed"


def sized(seed: int, count: int) -> list[int]:
    rng = random.Random(seed)
    return [2 ** rng.randrange(5, 12) for _ in range(count)]


#: seed, sizes, mesh, results
CHAINS = [
    (0, 4, "x=4", [(0, 2)]),
    (1, 4, "x=2,y=2", [(0, 2)]),
    (2, 5, "x=4", [(0, 3)]),
    (3, 5, "x=2,y=2", [(0, 3)]),
    (4, 5, "x=2,y=2", [(0, 3), (1, 3)]),  # of the alternatives of one result, one is the other result
    (5, 5, "x=4", [(0, 3), (0, 2), (1, 2)]),
    (6, 5, "x=2", [(1, 3), (0, 3)]),
    (7, 6, "x=4", [(0, 4)]),
]  # fmt: skip


@pytest.mark.parametrize(("seed", "count", "mesh", "results"), CHAINS)
def test_the_best_solution_is_the_best_plan_of_the_best_program(
    seed: int, count: int, mesh: str, results: list[tuple[int, int]]
) -> None:
    program = Program.of(parsed(chain(mesh, sized(seed, count), results)))
    found = program.solved()
    least, programs = best(program)
    assert programs >= {4: 2, 5: 5, 6: 14}[count]  # the number of orders of multiplication: Catalan's
    assert found.cost == pytest.approx(least, rel=SAME)
    assert found.bound <= found.cost
    assert found.bound == pytest.approx(least, rel=SAME)
    consistent(program, found.x)
    # What it takes is a program whose best plan costs that.
    taken = program.joint.taken(found.x)
    rewritten = [i for i, n in enumerate(program.nodes) if taken[n] == 1]
    assert plain(program.extracted(rewritten), program.model) == pytest.approx(found.cost, rel=SAME)


def test_the_chains_differ_in_what_is_best() -> None:
    """Else the test above would pass with a network that takes the first of all alternatives."""
    taken = list[bool]()
    for seed, count, mesh, results in CHAINS[:3] + CHAINS[4:7]:
        program = Program.of(parsed(chain(mesh, sized(seed, count), results)))
        taken.append(1 in program.joint.taken(program.solved().x).values())
    assert any(taken) and not all(taken)


def test_with_what_is_taken_fixed_it_is_the_plan_of_that_program() -> None:
    """Of every program, not only of the best: so what is not used costs nothing."""
    program = Program.of(parsed(chain("x=2", sized(8, 5), [(0, 3), (0, 2)])))
    costs = set[float]()
    for rewritten in program.subsets():
        states = {n: {int(i in rewritten), UNUSED} for i, n in enumerate(program.nodes)}
        found = program.solved(states)
        assert found.cost == pytest.approx(plain(program.extracted(rewritten), program.model), rel=SAME)
        assert found.bound <= found.cost
        consistent(program, found.x)
        taken = program.joint.taken(found.x)
        assert all(taken[n] in states[n] for n in program.nodes)
        costs.add(round(found.cost, 15))
        # The same where only what is needed may be used, and has to be.
        open_, used = program.joint.chosen({n: int(i in rewritten) for i, n in enumerate(program.nodes)})
        chosen = solve(program.network.restrict(open_), effort=PROOF)
        assert chosen.cost == pytest.approx(found.cost, rel=SAME)
        assert used == program.joint.optional - program.unused(found.x)
        assert program.unused(widened(open_, chosen.x)) == program.unused(found.x)
    assert len(costs) > 3


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("mesh", ["x=4", "x=2,y=2"])
@pytest.mark.parametrize("name", ["chain", "sums"])
def test_every_program_costs_the_same_without_what_chooses_nothing(name: str, mesh: str, classes: bool) -> None:
    text = chain(mesh, sized(8, 5), [(0, 3), (0, 2)])
    module = parsed(text) if name == "chain" else saturated(declared(mesh) + SUMS)
    program = Program.of(module, classes=classes)
    core, costs = JointCore(program.joint), set[float]()
    assert len(core.network.unary) < len(program.network.unary)
    for rewritten in itertools.islice(program.subsets(), 64):
        operands = {n: int(i in rewritten) for i, n in enumerate(program.nodes)}
        for (masks, used), (open_, classes_used) in (
            (core.chosen(operands), program.joint.chosen(operands)),
            ((core.open({n: {o, UNUSED} for n, o in operands.items()}), None),
             (program.joint.open({n: {o, UNUSED} for n, o in operands.items()}), None)),
        ):  # fmt: skip
            found = solve(core.network.restrict(masks), effort=PROOF)
            expected = solve(program.network.restrict(open_), effort=PROOF)
            x = widened(masks, found.x)
            assert found.cost == pytest.approx(expected.cost, rel=SAME)
            assert core.network.cost(x) == pytest.approx(expected.cost, rel=SAME)
            assert core.taken(x) == program.joint.taken(widened(open_, expected.x))
            if used is not None and classes_used is not None:
                chosen = {core.position(n) for n in operands}
                of_class = program.joint.quotient.class_of
                assert used & chosen == {core.position(n) for n in operands if of_class[n] in classes_used}
        costs.add(round(found.cost, 15))
    assert len(costs) > 3 or name == "sums"


def test_a_program_costs_the_same_beside_one_that_is_useless() -> None:
    """An alternative that costs a thousand times as much, and is not taken, adds nothing."""
    sizes = [32, 32, 4096, 4096]  # (m0 m1) m2 is the better
    text = chain("x=4", sizes, [(0, 2)])
    # Of the two orders, m0 (m1 m2) comes first.
    program = Program.of(parsed(text))
    found = program.solved()
    (state,) = program.joint.taken(found.x).values()
    alone = program.extracted([0] if state == 1 else [])
    assert found.cost == pytest.approx(plain(alone, program.model), rel=SAME)
    other = program.solved({program.nodes[0]: {1 - state}})
    assert other.cost > 1.01 * found.cost
    assert program.unused(found.x) and program.unused(found.x) != program.unused(other.x)


@pytest.mark.parametrize("mesh", ["x=4", "x=2,y=2"])
def test_equal_parts_decide_together(mesh: str) -> None:
    """Two equal chains side by side are one decision, and cost twice as much as one."""
    sizes = sized(5, 4)
    one = chain(mesh, sizes, [(0, 2)])
    head, body = one.split("{\n", 1)
    lines = body.splitlines()[:-2]
    twice = "\n".join([*lines, *(line.replace("%", "%q") for line in lines)])
    start, arguments = head.split("@main(")
    arguments, result = arguments.split(") -> ")
    result = result.strip().removeprefix("(").removesuffix(")")
    (name,) = [x.split("=")[0].strip() for x in lines if "alternatives" in x]
    text = (
        f"{start}@main({arguments}, {arguments.replace('%', '%q')}) -> ({result}, {result}) {{\n{twice}\n"
        f"  return {name}, {name.replace('%', '%q')} : {result}, {result}\n}}\n"
    )
    module = parsed(text)
    together, apart = Program.of(module, classes=True), Program.of(module)
    assert len(together.network.unary) < len(apart.network.unary)
    found = together.solved()
    assert found.cost == pytest.approx(apart.solved().cost, rel=SAME)
    assert found.cost == pytest.approx(best(apart)[0], rel=SAME)
    assert found.bound <= found.cost
    assert len(set(together.joint.taken(found.x).values())) == 1
    consistent(together, found.x)
    for operand in (0, 1):
        open_, used = together.joint.chosen(dict.fromkeys(together.nodes, operand))
        fixed = together.solved({n: {operand} for n in together.nodes})
        assert solve(together.network.restrict(open_), effort=PROOF).cost == pytest.approx(fixed.cost, rel=SAME)
        of_class = {together.joint.quotient.class_of[n] for n in together.unused(fixed.x)}
        assert used == together.joint.optional - of_class


# -- what rules make -------------------------------------------------------------------------------

PRODUCTS = """
func.func @main(%x: tensor<256x1024xf32>, %y: tensor<1024x64xf32>, %z: tensor<64x512xf32>, %u: tensor<512x32xf32>)
    -> tensor<256x32xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<256x1024xf32>, tensor<1024x64xf32>) -> tensor<256x64xf32>
  %1 = stablehlo.dot_general %0, %z, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x512xf32>) -> tensor<256x512xf32>
  %2 = stablehlo.dot_general %1, %u, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x32xf32>) -> tensor<256x32xf32>
  return %2 : tensor<256x32xf32>
}
"""
SUMS = """
func.func @main(%x: tensor<256x1024xf32>, %y: tensor<256x1024xf32>, %w: tensor<1024x64xf32>, %v: tensor<1024x64xf32>)
    -> (tensor<256x64xf32>, tensor<256x64xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x1024xf32>, tensor<1024x64xf32>) -> tensor<256x64xf32>
  %1 = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<256x1024xf32>, tensor<1024x64xf32>) -> tensor<256x64xf32>
  %2 = stablehlo.add %0, %1 : tensor<256x64xf32>
  %3 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<256x1024xf32>, tensor<1024x64xf32>) -> tensor<256x64xf32>
  %4 = stablehlo.add %0, %3 : tensor<256x64xf32>
  return %2, %4 : tensor<256x64xf32>, tensor<256x64xf32>
}
"""
CONCAT = """
func.func @main(%x: tensor<256x512xf32>, %y: tensor<256x512xf32>, %w: tensor<1024x64xf32>, %v: tensor<64x32xf32>)
    -> tensor<256x32xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<256x512xf32>, tensor<256x512xf32>) -> tensor<256x1024xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<256x1024xf32>, tensor<1024x64xf32>) -> tensor<256x64xf32>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x32xf32>) -> tensor<256x32xf32>
  return %2 : tensor<256x32xf32>
}
"""


@pytest.mark.parametrize("mesh", ["x=4", "x=2,y=2"])
@pytest.mark.parametrize(("text", "programs"), [(PRODUCTS, 2), (SUMS, 10), (CONCAT, 3)], ids=["products", "sums", "concat"])
def test_of_what_rules_make(text: str, programs: int, mesh: str) -> None:
    program = Program.of(saturated(declared(mesh) + text))
    found = program.solved()
    least, count = best(program)
    assert count >= programs
    assert found.cost == pytest.approx(least, rel=SAME)
    assert found.bound <= found.cost
    consistent(program, found.x)


LOOKUP = """
func.func @main(%t: tensor<4096x64xf32>, %i: tensor<512x1xi32>, %g: tensor<512x64xf32>) -> tensor<4096x64xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<4096x64xf32>
  %r = stablehlo.constant dense<0.5> : tensor<4096x64xf32>
  %1 = "stablehlo.scatter"(%0, %i, %g) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4096x64xf32>, tensor<512x1xi32>, tensor<512x64xf32>) -> tensor<4096x64xf32>
  %2 = stablehlo.multiply %1, %r : tensor<4096x64xf32>
  %3 = stablehlo.subtract %t, %2 : tensor<4096x64xf32>
  return %3 : tensor<4096x64xf32>
}
"""


def test_of_what_is_fused_otherwise() -> None:
    """Fusion is estimated on the program with alternatives, where values have more readers: costs differ by that.

    Here what the joint network takes is the best program all the same, since a pass over the table counts for more.
    """
    program = Program.of(saturated(declared("x=2") + LOOKUP))
    found = program.solved()
    taken = program.joint.taken(found.x)
    chosen = plain(program.extracted([i for i, n in enumerate(program.nodes) if taken[n] == 1]), program.model)
    least, count = best(program)
    assert count == 3
    assert chosen == pytest.approx(least, rel=SAME)
    assert chosen < 0.5 * plain(program.extracted([]), program.model)
    assert found.bound <= found.cost
    # The multiplication that reads the gradient of the table, and what it could be rewritten to, are of no use now.
    assert [taken[n] for n in program.nodes] == [UNUSED, 1]
    consistent(program, found.x)


# -- what may be left out --------------------------------------------------------------------------

TABLE = Tables.on(planned_mesh(parsed(declared("x=2")).operation)).of_value((4,), None)


def graph_of(kinds: Sequence[str], reads: Mapping[int, Sequence[int]]) -> Graph:
    """Nodes of these kinds; `reads` says what each of them reads."""
    nodes = [Node(kind, f"{kind}{i}", TABLE, np.zeros(len(TABLE))) for i, kind in enumerate(kinds)]
    edges = [Edge(src, 0, dst, i, (4,), 4.0, 1.0) for dst, every in reads.items() for i, src in enumerate(every)]
    return Graph(nodes, edges)


ONE = (["argument", "op", "op", "op", "result"], {1: [0], 2: [0], 3: [1, 2], 4: [3]})
INNER = (["argument", "op", "op", "op", "op", "op", "op", "result"],
         {1: [0], 2: [0], 3: [1, 2], 4: [3], 5: [0], 6: [5, 4], 7: [6]})  # fmt: skip
BOTH = (["argument", "op", "op", "op", "op", "result"], {1: [0], 2: [1], 3: [1], 4: [2, 3], 5: [4]})


@pytest.mark.parametrize(
    ("graph", "alternatives", "found"),
    [
        ((["argument", "op", "result"], {1: [0], 2: [1]}), [], set()),
        (ONE, [3], {1, 2}),
        (INNER, [3, 6], {1, 2, 3, 4, 5}),  # a choice is itself of use only if what reads it is
        (BOTH, [4], {1, 2, 3}),  # what both of them read is needed whatever is taken, but by no node that is needed
        ((["argument", "op", "op", "op", "result", "result"], {1: [0], 2: [0], 3: [1, 2], 4: [3], 5: [1]}), [3], {2}),
        ((["argument", "op", "op"], {1: [0], 2: [0]}), [], set()),  # nothing reads them: they stay
        ((["argument", "carry", "op", "op", "op", "sink"], {1: [0], 2: [1], 3: [1], 4: [2, 3], 5: [4]}), [4], {2, 3}),
        ((["argument", "argument", "op", "result"], {2: [0, 1], 3: [2]}), [2], set()),
    ],
    ids=["none", "one", "one inside another", "what both read", "a result", "unread", "carry", "arguments"],
)
def test_what_a_program_can_do_without(
    graph: tuple[list[str], dict[int, list[int]]], alternatives: list[int], found: set[int]
) -> None:
    assert unneeded(graph_of(*graph), alternatives) == found


def test_what_is_read_cannot_be_unused() -> None:
    """In a chain of alternatives the last takes the first, so that must not be unused."""
    program = Program.of(parsed(chain("x=2", [64, 512, 32, 256, 16], [(0, 3)])))
    outer = program.nodes[-1]
    (inner,) = {n for n in program.nodes if n in {e.src for e in program.built.graph.edges if e.dst == outer}}
    assert program.joint.states(inner) == {0, 1, UNUSED}
    assert program.joint.states(outer) == {0, 1}
    assert program.solved({outer: {1}, inner: {UNUSED}}).cost < np.inf
    open_ = program.joint.open({outer: {0}, inner: {UNUSED}})
    x = widened(open_, solve(program.network.restrict(open_), effort=PROOF).x)
    assert program.network.seconds(x) == np.inf


def test_no_solution_of_finite_cost_is_a_mix_of_programs() -> None:
    """Solutions drawn at random, with what they read wherever that is needed: those that mix are forbidden."""
    program = Program.of(parsed(chain("x=2", [64, 512, 32, 256], [(0, 2)])))
    rng = np.random.default_rng(0)
    found, network = program.solved().x, program.network
    possible = 0
    for _ in range(2000):
        x = list(found)
        for c in rng.choice(len(x), 3, replace=False):
            x[c] = int(rng.integers(len(network.unary[c])))
        unused, reads = program.unused(x), program.operands(x)
        mixed = any(unused & set(reads.get(n, ())) for n in set(range(len(program.built.graph.nodes))) - unused)
        assert not mixed or network.seconds(x) == np.inf
        possible += not mixed and network.seconds(x) < np.inf
        assert network.seconds(x) >= network.seconds(found) * (1 - SAME)
    assert possible > 20


def test_what_is_unused_costs_nothing() -> None:
    program = Program.of(parsed(chain("x=2", [64, 512, 32, 256, 16], [(0, 3)])))
    unused = program.unused(program.solved().x)
    assert unused
    q = program.joint.quotient
    for n in unused:
        assert program.network.unary[q.class_of[n]][-1] == 0
        own = program.network.unary[q.class_of[n]][: len(q.tables[q.class_of[n]])]
        assert n in program.nodes or own.min() >= 0
