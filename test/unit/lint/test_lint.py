"""Linting annotations: its figures against those of propagation on the program that each of them speaks of."""

from __future__ import annotations

import math

import pytest

from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.transformation import Bytes
from pcg.ir.walk import entry, walk
from pcg.layout import ShardSpec
from pcg.passes.dist_propagate import PropagatePass
from pcg.passes.pcg_lint import LintPass
from pcg.passes.pipeline import Pipeline
from pcg.search.commit import commit
from pcg.search.measure import measure
from pcg.search.table import Tables
from pcg.viz.lint import of_pass

MESH = '"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()\n'


def spec(text: str) -> str:
    """`{dist.spec = ...}` of a layout, nothing for an empty text."""
    if not text:
        return ""
    s = ShardSpec.parse(text)
    dims = ", ".join("[" + ", ".join(f'"{a}"' for a in d) + "]" for d in s.dims)
    return f" {{dist.spec = #dist.shard_spec<@mesh, [{dims}], {{}}>}}"


def mlp(x="", w1="", w2="", out="", inside="") -> str:
    """Two layers; `inside` is asked for between them."""
    ask = f'%h = "dist.constraint"(%1) {spec(inside)[1:].replace("dist.spec", "spec")} : (tensor<512x4096xf32>) -> tensor<512x4096xf32>' if inside else ""
    return (
        MESH + f"func.func @main(%x: tensor<512x1024xf32>{spec(x)}, %w1: tensor<1024x4096xf32>{spec(w1)},\n"
        f"  %w2: tensor<4096x1024xf32>{spec(w2)}) -> (tensor<512x1024xf32>{spec(out)}) {{\n"
        "  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x4096xf32>) -> tensor<512x4096xf32>\n"
        "  %1 = stablehlo.tanh %0 : tensor<512x4096xf32>\n  " + ask + "\n"
        f"  %2 = stablehlo.dot_general {'%h' if inside else '%1'}, %w2, contracting_dims = [1] x [0] : (tensor<512x4096xf32>, tensor<4096x1024xf32>) -> tensor<512x1024xf32>\n"
        "  return %2 : tensor<512x1024xf32>\n}\n"
    )  # fmt: skip


def lint(text: str, **options):
    module = load_module(text, make_context(), "t.mlir")
    found = LintPass(**options)
    before = str(module)
    Pipeline([found]).run(module)
    assert str(module) == before  # a linter changes nothing
    return of_pass(found, module)


def seconds(text: str) -> float:
    """Seconds of a step as the global engine completes the layouts of a program."""
    module = load_module(text, make_context(), "t.mlir")
    done = PropagatePass()
    Pipeline([done]).run(module)
    return done.measures["main"].seconds


GIVEN = {"x": "[data, -]", "w1": "[model, -]", "w2": "[model, -]", "out": "[data, -]", "inside": "[data, model]"}


@pytest.fixture(scope="module")
def found():
    return lint(mlp(**GIVEN))


def slot(name: str) -> str:
    return {"arg0": "x", "arg1": "w1", "arg2": "w2", "result": "out"}.get(name.split()[-1], "inside")


def test_given_and_free_are_those_of_propagation(found):
    assert found.annotated.seconds == pytest.approx(seconds(mlp(**GIVEN)), rel=1e-6)
    assert found.free.seconds == pytest.approx(seconds(mlp()), rel=1e-6)
    assert found.excess == pytest.approx(found.annotated.seconds / found.free.seconds - 1)
    assert found.excess > 1


def test_each_annotation_alone_is_the_program_without_it(found):
    assert len(found.annotations) == 5
    for a, f in zip(found.annotations, found.advice.alone, strict=True):
        without = seconds(mlp(**(GIVEN | {slot(a.name if a.kind != "constraint" else "inside"): ""})))
        # Gains too small to be worth a word are not looked for.
        assert f.seconds == pytest.approx(without, rel=5e-3), a.name


def test_changes_made_in_the_program_cost_what_was_said(found):
    now, last = dict(GIVEN), found.annotated.seconds
    assert found.advice.changes
    for change in found.advice.changes:
        for a, to in (*zip(change.annotations, change.to, strict=True), *change.revised):
            assert len(to) == 1
            a = found.annotations[a]
            now[slot(a.name if a.kind != "constraint" else "inside")] = str(to[0])
        assert change.before.seconds == last
        assert change.after.seconds == pytest.approx(seconds(mlp(**now)), rel=1e-6)
        assert change.after.seconds < last
        last = change.after.seconds
    assert last == pytest.approx(found.free.seconds, rel=5e-3)


def test_the_first_change_gains_most(found):
    first = found.advice.changes[0]
    best = min(f.seconds for f in found.advice.alone)
    assert len(first.annotations) > 1 or first.after.seconds <= best * 1.002


def test_good_annotations_need_no_change():
    best = {"w1": "[-, data+model]", "w2": "[data+model, -]"}
    free = lint(mlp(**best))
    if free.excess < 5e-3:  # this is a best plan: nothing to say
        assert not free.advice.changes
    none = lint(mlp())
    assert not none.annotations and not none.advice.changes and none.excess == 0
    assert not [f for f in none.findings if f.code in ("forced-reshard", "contradictory", "needless")]


def test_the_same_input_gives_the_same_advice(found):
    assert lint(mlp(**GIVEN)).to_dict() == found.to_dict()


def test_changes_that_gain_only_together_are_found():
    # Each weight alone is right beside the other: to turn one round only moves the other.
    program = mlp(w1="[data+model, -]", w2="[-, data+model]", inside="[-, -]", out="[-, -]", x="[-, -]")
    found = lint(program)
    assert found.excess > 0.05
    assert found.advice.final.seconds == pytest.approx(found.free.seconds, rel=0.03)


def test_layers_are_one_annotation():
    layer = (
        "  %{o} = stablehlo.dot_general %{i}, %w{k}, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>\n"
        "  %t{k} = stablehlo.tanh %{o} : tensor<64x256xf32>\n"
    )
    weights = ", ".join(f"%w{k}: tensor<256x256xf32>{spec('[model, -]')}" for k in range(12))
    body = "".join(layer.replace("{o}", f"d{k}").replace("{i}", f"t{k - 1}" if k else "x").replace("{k}", str(k)) for k in range(12))
    text = MESH + f"func.func @main(%x: tensor<64x256xf32>, {weights}) -> tensor<64x256xf32> {{\n{body}  return %t11 : tensor<64x256xf32>\n}}\n"
    found = lint(text)
    sizes = sorted(len(a.sites) for a in found.annotations)
    assert sum(sizes) == 12 and sizes[-1] >= 6  # those near the ends play another role


STATE = MESH + """
func.func @main(%w: tensor<256x256xf32>W, %m: tensor<256x256xf32>M, %x: tensor<64x256xf32>)
    -> (tensor<256x256xf32>V, tensor<256x256xf32>, tensor<64x256xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %g = stablehlo.dot_general %x, %0, contracting_dims = [0] x [0] : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<256x256xf32>
  %n = stablehlo.add %m, %g : tensor<256x256xf32>
  %v = stablehlo.subtract %w, %n : tensor<256x256xf32>
  return %v, %n, %0 : tensor<256x256xf32>, tensor<256x256xf32>, tensor<64x256xf32>
}
"""


def training(w="", m="", v="") -> str:
    """A step with a weight and its moment."""
    return STATE.replace(">W", ">" + spec(w)).replace(">M", ">" + spec(m)).replace(">V", ">" + spec(v))


def test_a_weight_its_moment_and_its_next_value_are_one_annotation():
    text = training("[model, -]", "[model, -]", "[model, -]")
    found = lint(text)
    (a,) = found.annotations
    assert [(s.kind, s.index) for s in a.sites] == [("argument", 0), ("result", 0), ("argument", 1)]
    assert found.annotated.seconds == pytest.approx(seconds(text), rel=1e-6)
    assert found.free.seconds == pytest.approx(seconds(training()), rel=1e-6)


def codes(found) -> list[str]:
    return [f.code for f in found.findings]


def test_next_value_in_another_layout_is_a_contradiction():
    found = lint(training("[model, -]", v="[-, model]"))
    (f,) = (f for f in found.findings if f.code == "contradictory")
    # A quarter of the matrix, of which a device keeps a quarter: 256 * 256 * 4 bytes / 4 * 3 / 4.
    assert "at the end of every step" in f.text and f.bytes == 256 * 256 * 4 / 4 * 3 / 4


def test_findings():
    ask = MESH + """
    func.func @main(%x: tensor<10x64xf32>X, %e: tensor<64x4096xf32>E) -> tensor<10x4096xf32> {
      %0 = "dist.constraint"(%x) {spec = #dist.shard_spec<@mesh, [["model"], []], {}>} : (tensor<10x64xf32>) -> tensor<10x64xf32>
      %1 = stablehlo.dot_general %0, %e, contracting_dims = [1] x [0] : (tensor<10x64xf32>, tensor<64x4096xf32>) -> tensor<10x4096xf32>
      func.return %1 : tensor<10x4096xf32>
    }"""
    found = lint(ask.replace(">X", ">" + spec("[-, model]")).replace(">E", ">" + spec("[-, -]")))
    by_code = {f.code: f for f in found.findings}
    assert {"contradictory", "padding", "replicated", "unused-axis"} <= by_code.keys()
    assert "argument arg0 has as [-, model]" in by_code["contradictory"].text
    assert "dimension 0 of size 10 does not divide by 4: 20% of what the devices hold" in by_code["padding"].text
    assert "axis data (size 2)" in by_code["unused-axis"].text
    assert f"{64 * 4096 * 4} bytes" in by_code["replicated"].text
    assert by_code["padding"].where == "t.mlir:4"


def test_moves_at_annotations_are_counted():
    found = lint(mlp(**GIVEN))
    moves = [f for f in found.findings if f.code == "forced-reshard"]
    assert moves and all(0 < f.seconds <= found.annotated.communication for f in moves)
    # What is moved between the first weight and its product: all but the device's own part of a block of a quarter.
    (w1,) = (f for f in moves if "argument arg1" in f.text)
    assert "all_to_all" in w1.text and w1.bytes == 1024 * 4096 * 4 / 4 * 3 / 4


def test_needless_annotations_are_named(found):
    # What the plan without annotations has: to ask for it changes nothing.
    change = found.advice.changes[-1]
    best = {slot(found.annotations[a].name): str(to[0]) for a, to in (*zip(change.annotations, change.to, strict=True), *change.revised)}
    best.pop("inside", None)
    again = lint(mlp(**best))
    assert best and again.excess < 5e-3 and not again.advice.changes
    assert codes(again).count("needless") == len(best)


def test_a_budget_is_kept():
    found = lint(mlp(**GIVEN), budget=4)
    assert not found.advice.complete
    assert sum(f is not None for f in found.advice.alone) <= 4
    assert "The budget is spent" in str(found)


def test_memory_limit():
    peak = lint(mlp(**GIVEN)).annotated.peak_bytes
    found = lint(mlp(**GIVEN), memory_limit=Bytes(peak))
    assert found.annotated.fits and found.advice.final.fits and found.advice.final.peak_bytes <= peak
    tight = lint(mlp(x="[-, -]", w1="[-, -]", w2="[-, -]"), memory_limit=Bytes(16 * 2**20))
    assert not tight.annotated.fits and tight.free.fits
    assert tight.advice.final.fits and tight.advice.final.peak_bytes <= 16 * 2**20


def test_what_nobody_can_have_is_said():
    text = MESH + """
    func.func @main(%x: tensor<8x8xf32>, %s: tensor<i32>) -> tensor<8x8xf32> {
      %0 = stablehlo.transpose %x, dims = [1, 0] {dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
      func.return %0 : tensor<8x8xf32>
    }"""
    found = lint(text)
    assert found.annotated.possible  # an op may be asked for what it can yield
    assert [a.kind for a in found.annotations] == ["op"]
    assert math.isfinite(found.excess)


def test_annotations_of_loops_and_in_them():
    text = MESH + """
    func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x256xf32>) -> tensor<64x256xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.constant dense<6> : tensor<i32>
      %a:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<64x256xf32>
        cond {
          %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %d = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
          %t = "dist.constraint"(%d) {spec = #dist.shard_spec<@mesh, [[], ["model"]], {}>} : (tensor<64x256xf32>) -> tensor<64x256xf32>
          %j = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %j, %t : tensor<i32>, tensor<64x256xf32>
        }
      func.return %a#1 : tensor<64x256xf32>
    }"""
    found = lint(text)
    assert found.annotated.seconds == pytest.approx(seconds(text), rel=1e-6)
    (a,) = found.annotations
    assert a.name == "constraint at t.mlir:13"


def test_a_program_that_is_placed_already_is_refused():
    from pcg.ir.errors import PcgError

    module = load_module(mlp(**GIVEN), make_context(), "t.mlir")
    Pipeline("dist-propagate,dist-insert-reshards").run(module)
    with pytest.raises(PcgError, match="the program is placed already"):
        Pipeline([LintPass()]).run(module)
    assert entry(module) is not None and any(op.name.startswith("pcg.") for op in walk(module))
    assert shardings.mesh_of(module) is not None


@pytest.mark.parametrize("which", ["annotated", "free"])
@pytest.mark.parametrize(("x", "w1", "w2"), [("[data, -]", "[-, model]", "[-, model]"), ("[model, -]", "[data, -]", "")])
def test_a_plan_takes_what_the_report_says(which, x, w1, w2):
    """Written into the program, a plan that the linter names measures the same, to the last digit."""
    module = load_module(mlp(x, w1, w2), make_context(), "t.mlir")
    done = LintPass()
    Pipeline([done]).run(module)
    space, figures = done.space, getattr(done.advice, which)
    func = entry(module)
    commit(func, space.built, space.node_choice(figures), Tables.on(space.mesh))
    found = measure(func, space.model, space.state)
    assert (found.seconds, found.compute, found.communication) == (figures.seconds, figures.compute, figures.communication)
    assert found.bytes == figures.bytes
