"""Rewriting a program by rules where that pays: what comes out, what it costs, and what is said about it."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from torch_mlir import ir

from bench.zoo import ZOO
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.locations import place
from pcg.ir.parse import load_module
from pcg.ir.walk import entry_of, walk
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine
from pcg.passes import pipelines
from pcg.passes.pcg_substitute import SubstitutePass
from pcg.passes.pipeline import Pipeline
from pcg.planning import joint_search, substitute
from pcg.planning import search as search_module
from pcg.planning.choose_mesh import CHOSEN
from pcg.planning.fastest import Fastest
from pcg.planning.joint_search import JointSearch
from pcg.planning.rewritten import applied_rules, forget
from pcg.planning.search import Search
from pcg.planning.substitute import Substitute
from pcg.planning.target import cost_model, planned_mesh
from pcg.rewrite.substitutions.apply import rules_for
from pcg.rewrite.substitutions.saturate import Saturation
from pcg.search.build import Builder
from pcg.search.joint import UNUSED, Joint
from pcg.search.optimize import optimize
from pcg.search.roles import state_of
from pcg.search.table import Tables
from pcg.solve.effort import EFFORTS
from pcg.solve.ilp import Solution, solve
from support import fuzz
from support.close import assert_close

RNG = np.random.default_rng(0)
#: Bounds are those of what may still be a millionth better (`_NOISE`), and sums of rounded numbers.
NOISE = 2e-6


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


# -- programs --------------------------------------------------------------------------------------


def update(table: Any, weight: Any, ids: Any, y: Any) -> Any:
    """A step of SGD of a lookup and a layer behind it."""

    def loss(table: Any, weight: Any) -> Any:
        return jnp.mean((table[ids] @ weight - y) ** 2)

    value, (of_table, of_weight) = jax.value_and_grad(loss, (0, 1))(table, weight)
    return table - 0.1 * of_table, weight - 0.1 * of_weight, value


def two_tables(tables: Any, ids: Any, y: Any) -> Any:
    """The same of two tables, whose rows are next to each other."""

    def loss(tables: Any) -> Any:
        return jnp.sum((jnp.concatenate([t[i] for t, i in zip(tables, ids, strict=True)], 1) - y) ** 2)

    value, gradients = jax.value_and_grad(loss)(tables)
    return [t - 0.5 * g for t, g in zip(tables, gradients, strict=True)], value


def blocks(tables: Any, weight: Any, ids: Any, y: Any) -> Any:
    """The same of four, with a layer behind them: columns of its gradient are those of each table."""

    def loss(tables: Any, weight: Any) -> Any:
        found = jnp.concatenate([t[i] for t, i in zip(tables, ids, strict=True)], 1)
        return jnp.mean((jnp.tanh(found @ weight) - y) ** 2)

    by_tables, by_weight = jax.grad(loss, (0, 1))(tables, weight)
    return [t - 0.1 * g for t, g in zip(tables, by_tables, strict=True)], weight - 0.1 * by_weight


def rows(x: Any, w: Any) -> Any:
    """Of a product only some rows are used."""
    return (x @ w)[:16]


def products(x: Any, y: Any, z: Any) -> Any:
    """A narrow matrix last: from the right it is less work."""
    return (x @ y) @ z


def layers(x: Any, w: Any, v: Any) -> Any:
    """Nothing to rewrite."""
    return jnp.tanh(jnp.tanh(x @ w) @ v)


def in_order(x: Any, y: Any, z: Any) -> Any:
    """Matrices of one size: no order is better."""
    return (x @ y) @ z


IDS = RNG.integers(0, 20, 64).astype(np.int32)  # rows are named several times
#: name -> (function, arguments, arguments that are donated)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]] = {
    "update": (update, (normal(4096, 32), normal(32, 8), IDS, normal(64, 8)), (0, 1)),
    "two tables": (two_tables, ([normal(512, 8), normal(2048, 8)], [IDS, IDS[::-1].copy()], normal(64, 16)), (0,)),
    "blocks": (blocks, ([normal(4000, 32)] * 4, normal(128, 64), [np.tile(IDS, 4)] * 4, normal(256, 64)), (0, 1)),
    "rows": (rows, (normal(128, 16), normal(16, 64)), ()),
    "products": (products, (normal(64, 32), normal(32, 64), normal(64, 4)), ()),
    "layers": (layers, (normal(64, 32), normal(32, 32), normal(32, 32)), ()),
    "in order": (in_order, (normal(64, 64), normal(64, 64), normal(64, 64)), ()),
}
REWRITTEN, LEFT = ("update", "two tables", "blocks", "rows", "products"), ("layers", "in order")
MESHES = ("x=4", "x=2,y=2")


def module_of(name: str, mesh: str = "x=4") -> ir.Module:
    """A program as a pipeline has it before it rewrites it."""
    function, args, donated = PROGRAMS[name]
    text = jax.jit(function, donate_argnums=donated).lower(*args).as_text()
    module = load_module(text, make_context(), name)
    with module.context, ir.Location.unknown():
        shardings.set_mesh(module.operation, Mesh.parse(mesh))
    Pipeline("sdy-import,pcg-normalize,pcg-reassociate").run(module)
    return module


def substituted(module: ir.Module, **options: Any) -> Substitute:
    """Run the pass on a module; what it said and counted."""
    made = Substitute(**options)
    with module.context:
        made.run(module.operation)
    module.operation.verify()
    return made


def options_of(module: ir.Module) -> str:
    """How a module says that it was rewritten, which is taken off; empty if not at all."""
    return forget(module.operation)


def values_of(module: ir.Module, args: Any) -> list[np.ndarray]:
    """What the reference interpreter computes."""
    with module.context, ir.Location.unknown():
        return fuzz.evaluate(module, [np.asarray(x) for x in jax.tree.leaves(args)])


def seconds(module: ir.Module) -> float:
    """Of a step of the best plan of a program."""
    model = cost_model(module.operation, Machine.default(), planned_mesh(module.operation))
    func = entry_of(module.operation)
    built = Builder(model, Tables.on(model.mesh)).build(func, state_of(func))
    return optimize(built.quotient(model), effort=EFFORTS["proof"]).seconds


def ops_of(module: ir.Module, name: str) -> list[ir.Operation]:
    return [op for op in walk(entry_of(module.operation)) if op.name == name]


# -- what comes out --------------------------------------------------------------------------------


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", REWRITTEN)
def test_rewritten_programs_compute_the_same_in_less_time(name: str, mesh: str) -> None:
    module = module_of(name, mesh)
    before, text, args = seconds(module), str(module), PROGRAMS[name][1]
    expected = values_of(module, args)
    found = substituted(module)
    assert options_of(module) and str(module) != text
    assert found.statistics["substitutions"] >= 1
    assert not ops_of(module, "pcg.alternatives")
    assert seconds(module) < before
    for got, want in zip(values_of(module, args), expected, strict=True):
        assert_close(got, want, 1e-5)


@pytest.mark.parametrize("name", ["update", "two tables"])
def test_a_gradient_of_a_table_is_added_to_its_rows(name: str) -> None:
    """No tensor of a table's size is left that is not the table."""
    module = module_of(name)
    sizes = {tuple(a.type.shape) for a in entry_of(module.operation).regions[0].blocks[0].arguments}
    tables = {s for s in sizes if len(s) == 2 and s[0] >= 512}
    before = ops_of(module, "stablehlo.scatter")
    assert before and not any(isinstance(op.operands[0], ir.BlockArgument) for op in before)
    substituted(module)
    after = ops_of(module, "stablehlo.scatter")
    assert len(after) == len(before) and all(isinstance(op.operands[0], ir.BlockArgument) for op in after)
    every = [op for op in walk(entry_of(module.operation)) if op.name not in ("func.func", "stablehlo.scatter")]
    shapes = {tuple(r.type.shape) for op in every for r in op.results if isinstance(r.type, ir.RankedTensorType)}
    assert tables and not tables & shapes


@pytest.mark.parametrize("mesh", MESHES)
def test_columns_of_a_product_are_parts_of_one_value_in_blocks(mesh: str) -> None:
    """So that all tables' gradients are exchanged at once."""
    module = module_of("blocks", mesh)
    substituted(module)
    assert {a.name: len(a.places) for a in applied_rules(module.operation)}["slice-of-blocks"] == 4
    sliced = [op.operands[0] for op in ops_of(module, "stablehlo.slice") if op.operands[0].type.rank == 3]
    assert len(sliced) == 4 and len(set(sliced)) == 1


def on_summit(name: str, devices: int) -> tuple[ir.Module, pipelines.Settings]:
    """A model of the zoo on so many V100s, with the mesh that is chosen for it, before it is rewritten."""
    step, shapes = ZOO[name].shapes(devices)
    settings = pipelines.Settings(Machine.of(Cluster.preset("summit", nodes=-(-devices // 6)).take(devices)))
    module = load_module(jax.jit(step, donate_argnums=(0, 1)).lower(*shapes).as_text(), make_context(), name)
    Pipeline([*pipelines.prepare(settings), *pipelines.choose(settings), *pipelines.refine()]).run(module)
    return module, settings


def test_the_mesh_is_refined_for_what_was_rewritten() -> None:
    """DLRM on 8 V100s: twelve blocks are split over four devices, not over eight."""
    module, settings = on_summit("dlrm", 8)
    assert planned_mesh(module.operation).sizes == (8,)
    Pipeline(pipelines.substitute(settings)).run(module)
    assert "concat-of-blocks" in {a.name for a in applied_rules(module.operation)}
    assert planned_mesh(module.operation).sizes == (4, 2)


@pytest.mark.parametrize("chosen", [True, False])
def test_a_mesh_that_was_chosen_is_also_tried_the_other_way_round(chosen: bool) -> None:
    """XDL on 24 V100s: batches are split over all devices, columns of tables over those of an axis, which has to be
    the last one for that to be one exchange."""
    module, settings = on_summit("xdl", 24)
    assert CHOSEN in module.operation.attributes
    if not chosen:
        del module.operation.attributes[CHOSEN]
    mesh = planned_mesh(module.operation)
    assert settings.machine is not None
    substituted(module, machine=settings.machine)
    assert ("slice-of-blocks" in {a.name for a in applied_rules(module.operation)}) == chosen
    assert planned_mesh(module.operation) == (mesh.transposed if chosen else mesh)


@pytest.mark.parametrize("name", LEFT)
def test_a_program_for_which_nothing_pays_stays_as_it_is(name: str) -> None:
    module = module_of(name)
    text = str(module)
    found = substituted(module)
    assert str(module) == text and not found.remarks and "substitutions" not in found.statistics
    assert (found.statistics["alternatives"] > 0) == (name == "in order")


def test_what_does_not_pay_in_the_rewritten_program_is_not_done() -> None:
    """A value that two may read is not fused with either, so beside the alternative the program seems to take longer."""
    module = module_of("update")
    text = str(module)
    search, _, first, _ = searched(module_of("update"), "default", ("scaled-rows",))
    assert search.rewritten and search.solution.cost < 0.99 * first
    found = substituted(module, rules=("scaled-rows",))
    assert str(module) == text and not found.remarks and found.statistics["alternatives"] == 1
    scaled = module_of("update")
    with scaled.context:
        SubstitutePass.from_options("rules=scaled-rows taken=0").run(scaled.operation)
    assert str(scaled) != text and seconds(scaled) > seconds(module)


def test_a_program_is_left_alone_on_request() -> None:
    module = module_of("update")
    text = str(module)
    substituted(module, substitutions=False)
    assert str(module) == text


@pytest.mark.parametrize("name", REWRITTEN)
def test_the_same_twice(name: str) -> None:
    texts, said = set[str](), set[str]()
    for _ in range(2):
        module = module_of(name)
        found = substituted(module)
        texts.add(str(module))
        said.add("\n".join(f"{where}: {text}" for where, text in found.remarks))
    assert len(texts) == len(said) == 1


def planned(
    name: str, mesh: str, monkeypatch: pytest.MonkeyPatch, /, *, known: bool, **options: Any
) -> tuple[str, list[str], int]:
    """The plan of the program that is left, what the search says of it, and how often it looks for one."""
    module, search, looks = module_of(name, mesh), Search(progress=False, **options), list[int]()
    substituted(module, search=search if known else None)
    with monkeypatch.context() as patched, module.context:
        patched.setattr(search_module, "optimize", lambda *a, **k: looks.append(1) or optimize(*a, **k))
        search.run(module.operation)
    return str(module), [text for _, text in search.remarks], len(looks)


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", REWRITTEN)
def test_the_plan_of_the_program_that_is_left_is_looked_for_once(
    name: str, mesh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    *found, looks = planned(name, mesh, monkeypatch, known=True)
    *expected, others = planned(name, mesh, monkeypatch, known=False)
    assert found == expected
    assert (looks, others) == (0, 1)


@pytest.mark.parametrize(
    ("options", "looks"),
    [
        ({"effort": "quick"}, 1), ({"mesh": "x=8"}, 1), ({"gradient_overlap": 0.5}, 1), ({"memory_limit": 1 << 30}, 0),
        ({"memory_limit": 1 << 30, "recompute": False, "accumulate": False}, 1), ({"algorithm": "unity"}, 0),
    ],
)  # fmt: skip
def test_another_plan_is_looked_for(options: dict[str, Any], looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    *found, count = planned("update", "x=2,y=2", monkeypatch, known=True, **options)
    *expected, _ = planned("update", "x=2,y=2", monkeypatch, known=False, **options)
    assert found == expected and count == looks


def test_a_plan_is_for_the_function_that_it_was_found_for() -> None:
    module, other, search = module_of("update"), module_of("update"), Search(progress=False)
    substituted(module, search=search)
    assert search.known is not None
    with other.context:
        search.run(other.operation)
    assert search.known is None
    alone = Search(progress=False)
    expected = module_of("update")
    with expected.context:
        alone.run(expected.operation)
    assert str(other) == str(expected)


def test_the_same_in_other_processes(tmp_path: Path) -> None:
    path = tmp_path / "step.mlir"
    path.write_text(str(module_of("two tables")))
    command = [sys.executable, "-m", "pcg.tools.pcg_opt", str(path), "--pcg-substitute", "--remarks"]
    runs = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("0", "1")
    ]
    found = [run.communicate() for run in runs]
    assert all(run.returncode == 0 for run in runs), found
    assert b"taken=" in found[0][0] and found[0][0] == found[1][0]
    lines = [[line for line in said.splitlines() if b"remark: " in line] for _, said in found]
    assert lines[0] and lines[0] == lines[1]


def test_the_program_of_saturation_is_not_left_behind() -> None:
    """Every op of what comes out is used by a result."""
    for name in REWRITTEN:
        module = module_of(name)
        substituted(module)
        for op in walk(entry_of(module.operation)):
            if op.name.startswith("stablehlo.") and len(op.results):
                assert any(list(r.uses) for r in op.results), f"{name}: nothing reads {op}"


# -- options ---------------------------------------------------------------------------------------


def test_exact_rules_change_no_bit() -> None:
    """Rows of a product are the product of rows: each element is the same sum."""
    module, args = module_of("rows"), PROGRAMS["rows"][1]
    expected = values_of(module, args)
    text = str(module)
    substituted(module, exact=True)
    assert str(module) != text
    for got, want in zip(values_of(module, args), expected, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["update", "products"])
def test_exact_uses_no_rule_that_changes_rounding(name: str) -> None:
    """What pays there adds or multiplies in another order."""
    module = module_of(name)
    text = str(module)
    substituted(module, exact=True)
    assert str(module) == text
    substituted(module)
    assert str(module) != text


def test_only_rules_that_are_named() -> None:
    module = module_of("update")
    text = str(module)
    # The rate stands between the subtraction and the sum over rows.
    found = substituted(module, rules=("subtract-from-table",))
    assert str(module) == text and not found.statistics["alternatives"]
    substituted(module, rules=("scaled-rows", "subtract-from-table"))
    assert options_of(module).startswith("rules=subtract-from-table,scaled-rows taken=")
    assert isinstance(ops_of(module, "stablehlo.scatter")[0].operands[0], ir.BlockArgument)


def test_a_rule_that_there_is_not() -> None:
    module = module_of("rows")
    text = str(module)
    with pytest.raises(PcgError, match="rule 'faster' is not known; allowed: split-contraction, .*negated-rows"):
        substituted(module, rules=("rows-of-product", "faster"))
    assert str(module) == text


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", REWRITTEN)
@pytest.mark.parametrize("exact", [False, True], ids=["any", "exact"])
def test_what_was_taken_is_taken_again_without_a_search(
    name: str, mesh: str, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = module_of(name, mesh)
    substituted(module, exact=exact)
    options = options_of(module)
    if not options:
        assert exact
        return
    assert re.fullmatch(r"rules=[a-z,-]+ taken=\d+(,\d+)*", options)
    again = module_of(name, mesh)
    monkeypatch.setattr(JointSearch, "__init__", lambda *a: pytest.fail("searches"))
    made = SubstitutePass.from_options(options)
    assert str(module_of(name, mesh)) != str(module)
    with again.context:
        made.run(again.operation)
    again.operation.verify()
    assert options_of(again) == ""
    assert str(again) == str(module)
    assert made.statistics["substitutions"] == options.partition("taken=")[2].count(",") + 1


def test_what_cannot_be_taken() -> None:
    module = module_of("rows")
    text = str(module)
    with pytest.raises(PcgError, match="taken has rewrite 7; allowed: 0 or more, and less than 1, as rules find"):
        substituted(module, taken=(0, 7))
    assert str(module) == text
    module = module_of("layers")
    with pytest.raises(PcgError, match="taken has rewrite 0; allowed: 0 or more, and less than 0"):
        substituted(module, taken=(0,))


# -- what is said ----------------------------------------------------------------------------------


def test_remarks_name_rules_places_and_seconds() -> None:
    module = module_of("update")
    before = 1e6 * seconds(module)
    (subtraction,) = [op for op in ops_of(module, "stablehlo.subtract") if tuple(op.results[0].type.shape) == (4096, 32)]
    place = str(subtraction.location)
    found = substituted(module)
    after = 1e6 * seconds(module)
    *rules, (where, total) = found.remarks
    (there, rule), *_ = [r for r in rules if "; subtract-from-table: " in r[1]]
    assert str(there) == place
    assert rule.startswith("scaled-rows: ") and "=> scatter_add(t, i, neg(g)), proved from properties: " in rule
    said = re.match(
        r"substitutions: ([\d.]+) us per step by estimate, ([\d.]+) us without: (.*); the search of all "
        r"alternatives found ([\d.]+) us[^(]*\(bound ([\d.]+) us\)", total,
    )  # fmt: skip
    assert said is not None, total
    assert float(said[1]) == pytest.approx(after, abs=0.051) and float(said[2]) == pytest.approx(before, abs=0.051)
    assert re.search(r"scaled-rows then subtract-from-table 1 times \(without [\d.]+ us more\)", said[3])
    assert float(said[5]) <= float(said[4])
    assert len(rules) == found.statistics["substitutions"]


def test_the_module_says_what_remarks_do() -> None:
    module = module_of("two tables")
    found = substituted(module)
    *rules, (_, total) = found.remarks
    applied = applied_rules(module.operation)
    assert sorted((place(w), text) for w, text in rules) == sorted((p, "; ".join(a.proofs)) for a in applied for p in a.places)
    for a in applied:
        assert a.saved is not None
        assert f"{a.name} {len(a.places)} times (without {1e6 * a.saved:.1f} us more)" in total
    assert sum(len(a.places) for a in applied) == found.statistics["substitutions"] > 1


@pytest.mark.parametrize("algorithm", ["exact", "unity"])
def test_what_is_saved_is_known_by_the_joint_search(algorithm: str) -> None:
    module = module_of("rows")
    substituted(module, algorithm=algorithm)
    (applied,) = applied_rules(module.operation)
    assert (applied.name, applied.places) == ("rows-of-product", ("rows:4",))
    assert (applied.saved is not None) == (algorithm == "exact")


def test_rewritten_as_a_plan_has_it_the_module_says_the_same_but_seconds() -> None:
    module, again = module_of("two tables"), module_of("two tables")
    substituted(module)
    found = applied_rules(module.operation)
    options = SubstitutePass.from_options(forget(module.operation))
    assert applied_rules(module.operation) == ()
    Pipeline([options]).run(again)
    assert applied_rules(again.operation) == tuple(dataclasses.replace(a, saved=None) for a in found)


@pytest.mark.parametrize("text", ["1 : i32", "[1 : i32]", "[{}]", '[{name = "x", places = "y", proofs = ["z"]}]'])
def test_a_module_that_says_it_otherwise(text: str) -> None:
    module = load_module(f"module attributes {{pcg.applied_rules = {text}}} {{}}", make_context(), "<test>")
    with pytest.raises(PcgError, match=r"attribute pcg\.applied_rules is not as pcg-substitute writes it: "):
        applied_rules(module.operation)


# -- the search ------------------------------------------------------------------------------------

SUMS = """
func.func @main(%x: tensor<256x1024xf32>, %y: tensor<256x1024xf32>, %w: tensor<1024x64xf32>, %v: tensor<1024x64xf32>)
    -> (tensor<256x64xf32>, tensor<256x32xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x1024xf32>, tensor<1024x64xf32>) -> tensor<256x64xf32>
  %1 = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<256x1024xf32>, tensor<1024x64xf32>) -> tensor<256x64xf32>
  %2 = stablehlo.add %0, %1 : tensor<256x64xf32>
  %3 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<256x1024xf32>, tensor<1024x64xf32>) -> tensor<256x64xf32>
  %4 = stablehlo.add %0, %3 : tensor<256x64xf32>
  %5 = stablehlo.slice %4 [0:256, 0:32] : (tensor<256x64xf32>) -> tensor<256x32xf32>
  return %2, %5 : tensor<256x64xf32>, tensor<256x32xf32>
}
"""
CHAIN = """
func.func @main(%x: tensor<1024x256xf32>, %y: tensor<256x512xf32>, %z: tensor<512x64xf32>, %u: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1024x256xf32>, tensor<256x512xf32>) -> tensor<1024x512xf32>
  %1 = stablehlo.dot_general %0, %z, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x64xf32>) -> tensor<1024x64xf32>
  %2 = stablehlo.slice %1 [0:64, 0:64] : (tensor<1024x64xf32>) -> tensor<64x64xf32>
  %3 = stablehlo.dot_general %2, %u, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  return %3 : tensor<64x32xf32>
}
"""
TEXTS = {"sums": SUMS, "chain": CHAIN}


def searched(
    module: ir.Module, effort: str, rules: tuple[str, ...] = ()
) -> tuple[JointSearch, float, float, int]:
    """The search, the least cost in its network, that of the program as it was, and how many alternatives there are."""
    func = entry_of(module.operation)
    with module.context:
        saturation = Saturation(func, rules_for(rules, only_exact=False))
        saturation.run()
    alternatives = saturation.alternatives
    model = cost_model(module.operation, Machine.default(), planned_mesh(module.operation))
    search = JointSearch(func, alternatives, model, effort)
    built = Builder(model, Tables.on(model.mesh)).build(func, state_of(func))
    node_of = {op: node for op, node in built.ops}
    nodes = [node_of[op] for op in alternatives]
    joint = Joint(built.quotient(model), nodes)
    network, open_ = joint.network(), joint.open({n: {0, UNUSED} for n in nodes})
    costs = (solve(network.restrict(o), effort=EFFORTS["proof"]).cost for o in (joint.open({}), open_))
    return search, *costs, len(alternatives)


@pytest.mark.parametrize("effort", ["quick", "default", "proof"])
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", [*REWRITTEN, *TEXTS, "in order"])
def test_the_search_finds_what_is_best(name: str, mesh: str, effort: str) -> None:
    if name in TEXTS:
        module = load_module(TEXTS[name], make_context(), name)
        with module.context, ir.Location.unknown():
            shardings.set_mesh(module.operation, Mesh.parse(mesh))
    else:
        module = module_of(name, mesh)
    search, least, first, count = searched(module, effort)
    assert count
    cost, bound = search.solution.cost, search.bound
    assert bound <= cost
    assert bound <= least * (1 + NOISE)
    assert least * (1 - NOISE) <= cost <= first * (1 + NOISE)
    if effort == "proof":  # others climb, and what they find is one of several good ones
        assert cost <= least / (1 - EFFORTS[effort].good) * (1 + NOISE)
        for saved in search.saved(search.rewritten).values():
            assert saved >= -EFFORTS[effort].good * cost
    assert search.rewritten <= frozenset(range(count))


def deep(x: Any, layers: Any, chains: Any) -> Any:
    """Of many layers, each of which reads the last three, two have a chain of products, with a narrow matrix last: from
    the right it is less work."""
    last = [x, x, x]
    for i, w in enumerate(layers):
        x = jnp.tanh(last[0] @ w) + last[1] * last[2]
        if i in chains:
            y, z, u = chains[i]
            x = jnp.tanh((x @ y) @ z) @ u
        last = [x, *last[:2]]
    return x


def searched_deep(monkeypatch: pytest.MonkeyPatch, narrow: int) -> tuple[JointSearch, list[int]]:
    """The joint search of a deep program, and how many layouts it has looked for at a time."""
    sizes: list[int] = []

    def counted(network: Any, **options: Any) -> Any:
        sizes.append(len(network.unary))
        return solve(network, **options)

    monkeypatch.setattr(joint_search, "solve", counted)
    chains = {i: (normal(64, 64), normal(64, narrow), normal(narrow, 64)) for i in (3, 56)}
    text = jax.jit(deep).lower(normal(64, 64), [normal(64, 64)] * 60, chains).as_text()
    module = load_module(text, make_context(), "deep")
    with module.context, ir.Location.unknown():
        shardings.set_mesh(module.operation, Mesh.parse("x=2,y=2"))
        func = entry_of(module.operation)
        saturation = Saturation(func, rules_for((), only_exact=False))
        saturation.run()
    model = cost_model(module.operation, Machine.default(), planned_mesh(module.operation))
    return JointSearch(func, saturation.alternatives, model, "default"), sizes


def test_a_change_is_tried_with_layouts_far_from_it_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    search, sizes = searched_deep(monkeypatch, narrow=4)
    every = len(search._network.unary)
    assert len(search.rewritten) == 4
    assert sum(size == every for size in sizes) <= 4, "all layouts are looked for too often"
    assert sorted(sizes)[len(sizes) // 2] < every
    for alternatives, found in search._changes_known.items():
        assert search._network.cost(found.x) == pytest.approx(found.cost, rel=1e-9)
        open_, _ = search._chosen(alternatives)
        assert all(mask[choice] for mask, choice in zip(open_, found.x, strict=True))
        states = {n: {int(i in alternatives), UNUSED} for i, n in enumerate(search._nodes)}
        exact = search._within(search._core.open(states), EFFORTS["proof"])
        assert exact.bound * (1 - NOISE) <= found.cost <= exact.cost / (1 - joint_search._TRIED.good)


def test_what_nothing_needs_is_not_tried() -> None:
    """Where all alternatives are taken, of those of one value the last is, and nothing reads the others."""
    module = load_module(CHAIN, make_context(), "chain")
    with module.context, ir.Location.unknown():
        shardings.set_mesh(module.operation, Mesh.parse("x=2,y=2"))
    search, *_ = searched(module, "quick")
    every, idle = search._every, 0
    start = search._solved(every)
    for i in sorted(every):
        changed = search._around(start, every, every - {i}, frozenset({i}))
        assert (changed is start) == (i not in search._used(every))
        idle += changed is start
        states = {n: {int(j != i), UNUSED} for j, n in enumerate(search._nodes)}
        exact = search._within(search._core.open(states), EFFORTS["proof"])
        assert exact.bound * (1 - NOISE) <= changed.cost <= exact.cost / (1 - joint_search._TRIED.good)
    assert 0 < idle < len(every)


def test_all_layouts_are_looked_for_once_where_nothing_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    search, sizes = searched_deep(monkeypatch, narrow=64)
    assert not search.rewritten and len(search._every) > 1
    assert sizes.count(len(search._network.unary)) == 1 < len(sizes)


def test_better_layouts_are_not_taken_for_what_alternatives_save(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of alternatives that save less than they have to, where layouts beside them are poor at first."""
    within, worse = JointSearch._within, list[float]()

    def poor(search: JointSearch, open_: list[np.ndarray], *args: Any) -> Solution:
        found: Solution = within(search, open_, *args)
        if worse:
            return found
        x = list(found.x)
        for c in {search._core.position(n) + d for n in search._nodes for d in range(-9, 1)} - search._core.optional:
            costs = search._network.unary[c][open_[c]]
            x[c] = int(np.flatnonzero(open_[c])[np.where(costs < search._network.limit, costs, -1).argmax()])
        worse.append(search._network.cost(x) / found.cost)
        return dataclasses.replace(found, x=x, cost=search._network.cost(x))

    monkeypatch.setattr(JointSearch, "_within", poor)
    search, _ = searched_deep(monkeypatch, narrow=14)
    assert 1.05 < worse[0] < 100
    assert not search.rewritten


@pytest.mark.parametrize("mesh", ["a=2,b=4", "a=2,b=2,c=2"])
def test_the_same_with_copies_of_the_process_and_without(tmp_path: Path, mesh: str) -> None:
    """Of DLRM, where a rule that saves little is found to be better left alone."""
    step, shapes = ZOO["dlrm"].shapes(8)
    path = tmp_path / "step.mlir"
    path.write_text(jax.jit(step, donate_argnums=(0, 1)).lower(*shapes).as_text())
    code = """
import sys
from pcg.planning import substitute
from pcg.solve import answers, beside
from pcg.tools.pcg_opt import main
beside._cores = lambda: int(sys.argv[2])
copies, make = [], answers.copied
def counted(*args, **options):
    copies.append(make(*args, **options))
    return copies[-1]
answers.copied = counted
assert main(["--auto-parallel", f"--mesh={sys.argv[3]}", "--remarks", sys.argv[1]]) == 0
print(len(list(filter(None, copies))), file=sys.stderr)
"""
    found = []
    for cores in "12":
        command = [sys.executable, "-c", code, str(path), cores, mesh]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        *said, copies = done.stderr.splitlines()
        # On more axes that of alternatives is one, and that of programs with them another.
        assert int(copies) == (0 if cores == "1" else 2 if mesh.count("=") > 2 else 1)
        found.append((done.stdout, said))
    assert found[0] == found[1]
    assert "substitutions:" in "".join(found[0][1])


def test_a_rule_that_saves_nothing_in_the_program_that_is_left_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """In XDL slices of a product are fused with what reads them; in the program with all alternatives they are not."""
    step, shapes = ZOO["xdl"].shapes(8)
    text = jax.jit(step, donate_argnums=(0, 1)).lower(*shapes).as_text()
    machine = Machine.of(Cluster.preset("summit", nodes=2).take(8))
    rules = tuple(s.name for s in rules_for((), only_exact=False) if s.name not in ("concat-of-blocks", "slice-of-blocks"))
    found = []
    for share in (0.0, substitute._DOUBTFUL):
        monkeypatch.setattr(substitute, "_DOUBTFUL", share)
        module = load_module(text, make_context(), "xdl")
        with module.context, ir.Location.unknown():
            shardings.set_mesh(module.operation, Mesh.parse("x=8"))
        Pipeline("sdy-import,pcg-normalize").run(module)
        *_, (_, said) = substituted(module, machine=machine, rules=rules).remarks
        model = cost_model(module.operation, machine, planned_mesh(module.operation))
        left = Fastest.of(entry_of(module.operation), model, EFFORTS["default"], memory=False)
        assert f" {1e6 * left.outcome.seconds:.1f} us per step" in said
        found.append((float(said.split()[1]), "columns-of-product" in said))
    (unseen, more), (least, fewer) = found
    assert more and not fewer and least < unseen
