"""What a plan document may say: everything else is refused in one line that names the place."""

from __future__ import annotations

import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pcg
from pcg.layout import ShardSpec
from pcg.tools import pcg_plan
from pcg.tools.arguments import FAILED
from support.filekinds import LOOP, MLP

P = jax.sharding.PartitionSpec
MESH = {"x": 2, "y": 2}


@pytest.fixture(scope="module")
def plan():
    return pcg.compile(MLP, MESH, in_shardings=(P("x"), P(None, "y"), P("y"))).plan


@pytest.fixture
def document(plan):
    return json.loads(plan.to_json())


def dot(document):
    return next(i for i, o in enumerate(document["operations"]) if o["op"] == "stablehlo.dot_general")


def changed(document, path, value):
    """`document` with what is at `path` replaced, or taken out (...)."""
    at = document
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["program"], ..., "the document has no 'program'; it needs pcg_plan, program"),
        (["program"], 3, "program is 3; allowed: text"),
        (["program"], "a\nb", "program is 'a\\nb'; allowed: text of one line"),
        (["program"], "\ud800", "allowed: text in Unicode"),
        (["colour"], 3, "the document has an entry 'colour'; allowed: pcg_plan, program"),
        (["mesh"], [], "mesh is an empty list; allowed: an object with axes, device_ids"),
        (["mesh", "axes", "x"], "2", "mesh.axes.x is '2'; allowed: a whole number from 1"),
        (["mesh", "axes", "x"], True, "mesh.axes.x is true; allowed: a whole number from 1"),
        (["mesh", "axes", "x"], 10**12, "mesh: axis 'x' has size 1000000000000; sizes are at least 1, at most 65536"),
        (["mesh", "axes", "x"], 10**400, "mesh: axis 'x' has size 1000"),
        (["mesh", "device_ids"], [0, 1, 2], "mesh: mesh has 4 positions but 3 device ids"),
        (["mesh", "refined"], {"z": [2]}, "mesh: unknown axis 'z'; the mesh has 'x', 'y'"),
        (["signature"], {}, "signature is an empty object; allowed: a list"),
        (["arguments", 0, "spec"], None, "arguments[0].spec is null; allowed: text"),
        (["arguments", 0, "spec"], "[x", "arguments[0].spec: cannot read shard spec '[x'; write [axis, -"),
        (["arguments", 0, "spec"], "[z, -]", "arguments[0].spec: unknown axis 'z'; the mesh has 'x', 'y'"),
        (["arguments", 0, "spec"], "[x, x]", "arguments[0].spec: axis 'x' is used twice in [x, x]"),
        (["arguments", 0, "spec"], "[x]", "arguments[0].spec of a f32[8,4]: spec [x] has 1 dimensions, the tensor has 2"),
        (["arguments", 0, "spec"], "[-, -] sum(x)", "arguments[0].spec is '[-, -] sum(x)', partial over 'x'; allowed: no partial axes"),
        (["results", 1, "spec"], "[] sum(x, y)", "results[1].spec is '[] sum(x, y)', partial over 'x', 'y'; allowed: no partial axes"),
        (["arguments", 0, "spec"], "[x, -] sum(y", "arguments[0].spec: cannot read shard spec '[x, -] sum(y'"),
        (["arguments", 0, "key_rank"], 3, "arguments[0].key_rank is 3; allowed: 0 to 2"),
        (["arguments", 0], "f32", "arguments[0] is 'f32'; allowed: an object with name, type, spec"),
        (["operations", 0, "at"], -1, "operations[0].at is -1; allowed: a whole number from 0"),
        (["operations", 0, "at"], 1.0, "operations[0].at is 1.0; allowed: a whole number from 0"),
        (["operations", 1, "at"], 1, "operations[1].at is 1, as operations[0].at is; allowed: once"),
        (["operations", 0, "results"], "[-]", "operations[0].results is '[-]'; allowed: a list"),
        (["operations", 0, "results"], [3], "operations[0].results[0] is 3; allowed: text"),
        (["operations", 0, "results"], ["[-, -] mean(x)"], "operations[0].results[0]: axis 'x' is partial by 'mean'; allowed: sum, max"),
        (["reshards"], [{"value": "12", "spec": "[-]"}], "reshards[0].value is '12'; allowed: '12#0' (a result)"),
        (["reshards"], [{"value": "r0", "spec": "[-]"}], "reshards[0].value is 'r0'; allowed: none before r0"),
        (["reshards"], [{"value": "@0", "spec": "[-]", "uses": [3]}], "reshards[0].uses[0] is 3; allowed: a list of two numbers"),
        (["reshards"], [{"value": "@0", "spec": "[-]", "uses": [[3, 0], [3, 0]]}], "allowed: pairs of op and operand in rising order"),
        (["reshards"], [{"value": "@0", "spec": "[-]", "apart": 1}], "reshards[0].apart is 1; allowed: true or false"),
        (["estimate", "seconds"], "long", "estimate.seconds is 'long'; allowed: a number"),
        (["estimate", "seconds"], math.nan, "estimate.seconds is NaN; allowed: a number from"),
        (["estimate", "seconds"], 10**400, "estimate.seconds is a number of about 400 digits; allowed: a number from"),
        (["estimate", "k" * 500], 1, "... of 500 characters; allowed: up to 200 characters"),
        (["state"], [[0, 9]], "state[0][1] is 9; allowed: 0 to 2"),
        (["state"], [[1, 0]], "state[0] makes result 1 (f32[]) the next argument 0 (f32[8,4])"),
        (["state"], [[0, 0], [0, 2]], "state has a result twice; allowed: once"),
        (["platform"], 3, "platform is 3; allowed: text"),
        (["donated"], [3], "donated[0] is 3; allowed: 0 to 2"),
        (["donated"], [1, 1], "donated[1] is 1; allowed: everything once"),
        (["memory"], {"sink": 1}, "memory has an entry 'sink'; allowed: microbatches, recompute"),
        (["memory"], {"microbatches": 1.5}, "memory.microbatches is 1.5; allowed: a whole number"),
        (["source"], "????", "source is '????'; allowed: a program as plans are saved with"),
        (["source"], "eJwrtjK2Ss", "allowed: a program as plans are saved with"),
    ],
)  # fmt: skip
def test_refused_in_one_line(document, path, value, said):
    with pytest.raises(pcg.PlanError) as error:
        pcg.Plan.from_json(json.dumps(changed(document, path, value)))
    assert said in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 1000


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "a plan is a JSON document"),
        (b"\xff\xfe", "a plan is a JSON document: byte 0 is not UTF-8"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"pcg_plan": 1' + b"0" * 5000 + b"}", "a plan is a JSON document"),
        (b'{"pcg_plan": [1]}', "plan has version a list of 1; this pcg reads version 1"),
    ],
)
def test_files_that_are_no_documents(data, said, tmp_path, capsys):
    path = tmp_path / "plan.json"
    path.write_bytes(data)
    for argv in (["show", str(path)], ["diff", str(path), str(path)], ["cost", str(path)]):
        assert pcg_plan.main(argv) == FAILED
        error = capsys.readouterr().err
        assert error.startswith(f"pcg-plan: error: {path}: ") and said in error and error.count("\n") == 1
    with pytest.raises(pcg.PlanError, match=said.replace("[", r"\[")):
        pcg.compile(MLP, MESH, strategy=path)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["at"], 10**6, "].at is 1000000; the program has operations 0 to"),
        (["op"], "stablehlo.add", "].op is 'stablehlo.add'; allowed for operation"),
        (["operands"], ["[-, -]"], "].operands has 1 layouts; 'stablehlo.dot_general' has 2 operands"),
        (["results"], ["[-]"], "].results[0] of a tensor<8x8xf32>: spec [-] has 1 dimensions, the tensor has 2"),
    ],
)
def test_refused_by_the_program(document, path, value, said):
    plan = pcg.Plan.from_json(json.dumps(changed(document, ["operations", dot(document), *path], value)))
    for use in (lambda: pcg.compile(MLP, MESH, strategy=plan).lower(), lambda: pcg.plan_cost(plan)):
        with pytest.raises(pcg.PlanError) as error:
            use()
        assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("reshard", "said"),
    [
        ({"value": "@9", "spec": "[-, -]"}, "reshards[0].value is '@9'; the program has no such tensor"),
        ({"value": "99#0", "spec": "[-, -]"}, "reshards[0].value is '99#0'; the program has no such tensor"),
        ({"value": "1^0:7", "spec": "[-, -]"}, "reshards[0].value is '1^0:7'; the program has no such tensor"),
        ({"value": "@0", "spec": "[-]"}, "reshards[0].spec of a tensor<8x4xf32>: spec [-] has 1 dimensions"),
        ({"value": "@0", "spec": "[-, -]", "uses": [[1, 1]]}, "reshards[0].uses[0] is operand 1 of operation 1; that is not '@0'"),
    ],
)  # fmt: skip
def test_reshards_that_the_program_has_no_place_for(document, reshard, said):
    plan = pcg.Plan.from_json(json.dumps(changed(document, ["reshards"], [reshard])))
    with pytest.raises(pcg.PlanError) as error:
        pcg.compile(MLP, MESH, strategy=plan).lower()
    assert said in str(error.value)


def test_what_pcg_writes_it_reads(plan):
    again = pcg.Plan.from_json(plan.to_json())
    assert again == plan and again.estimate == plan.estimate and again.to_json() == plan.to_json()


@pytest.mark.parametrize("where", ["in_shardings", "out_shardings"])
def test_partial_layouts_of_arguments_and_results_are_refused(where):
    """Nothing would add up what the devices hold."""
    spec = ShardSpec.parse("[-, -] sum(x)")
    with pytest.raises(pcg.PcgError, match=r"\[-, -\] sum\(x\) is partial over 'x'; allowed: no partial axes"):
        pcg.compile(lambda a: a + 1, MESH, **{where: (spec,) if where == "in_shardings" else spec}).lower(jnp.ones((8, 4)))


def test_a_partial_carry_of_a_loop_is_right(tmp_path):
    """The terms of a carry are made by a mask before the loop and added up behind it."""
    document = json.loads(pcg.compile(LOOP, {"x": 2}, in_shardings=(P("x"), None)).plan.to_json())
    loop = next(o for o in document["operations"] if o["op"] == "stablehlo.while")
    loop["results"] = ["[]", "[-, -] sum(x)"]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    x, w = np.arange(32, dtype="f").reshape(8, 4) - 9, np.arange(16, dtype="f").reshape(4, 4) % 5
    want = pcg.compile(LOOP, 1)(x, w)
    got = pcg.compile(LOOP, {"x": 2}, strategy=path)(x, w)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
