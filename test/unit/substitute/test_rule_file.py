"""Rule collections of TASO and FlexFlow, as JSON: terms of every kind of operator, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pcg.substitute.errors import RuleError, TermError, UnknownOperatorError
from pcg.substitute.rule import Rule
from pcg.substitute.rule_file import FileRule, read

Tensor = int | tuple[int, int]
SHAPES = {"x1": (1, 2, 4), "x2": (1, 2, 4), "x3": (1, 6, 4), "w4": (1, 8, 4), "w5": (1, 2, 4)}


def op(kind: str, *inputs: Tensor, **parameters: int) -> dict[str, Any]:
    """An operator; an input below 0 is one of the rule, another a result, the first or which, of an operator before."""
    tensors = [(t, 0) if isinstance(t, int) else t for t in inputs]
    return {
        "type": kind,
        "input": [{"opId": i, "tsId": j} for i, j in tensors],
        "para": [{"key": key, "value": value} for key, value in parameters.items()],
    }


def entry(
    source: list[Any], destination: list[Any], *results: tuple[int, int, int, int], name: str = "r"
) -> dict[str, Any]:
    """A rule; without results the last operators' first ones are those."""
    keys = "srcOpId", "srcTsId", "dstOpId", "dstTsId"
    pairs = results or ((len(source) - 1, 0, len(destination) - 1, 0),)
    return {
        "name": name, "srcOp": source, "dstOp": destination,
        "mappedOutput": [dict(zip(keys, r, strict=True)) for r in pairs],
    }  # fmt: skip


def rule(value: dict[str, Any], **shapes: tuple[int, ...]) -> Rule:
    found = FileRule(value, "rule[0]")
    return found.rule({n: (shapes or SHAPES)[n] for n in found.inputs()})


def built(*source: dict[str, Any]) -> str:
    """The last operator's first result."""
    return str(rule(entry(list(source), list(source))).source[0])


@pytest.mark.parametrize(
    ("operator", "term"),
    [
        (op("OP_EW_ADD", -1, -2), "add(x1, x2)"),
        (op("OP_EW_MUL", -1, -2), "mul(x1, x2)"),
        (op("OP_RELU", -1), "unary['relu'](x1)"),
        (op("OP_SIGMOID", -1), "unary['sigmoid'](x1)"),
        (op("OP_TANH", -1), "unary['tanh'](x1)"),
        (op("OP_GELU", -1), "unary['gelu'](x1)"),
        (op("OP_EXP", -1), "unary['exp'](x1)"),
        (op("OP_LINEAR", -1, -4), "linear['none'](x1, w4)"),
        (op("OP_LINEAR", -1, -4, PM_ACTI=0), "linear['none'](x1, w4)"),
        (op("OP_LINEAR", -1, -4, PM_ACTI=1), "linear['sigmoid'](x1, w4)"),
        (op("OP_LINEAR", -1, -4, PM_ACTI=2), "linear['relu'](x1, w4)"),
        (op("OP_LINEAR", -1, -4, PM_ACTI=3), "linear['tanh'](x1, w4)"),
        (op("OP_CONCAT", -1, -2, PM_AXIS=1), "concat[1](x1, x2)"),
        (op("OP_CONCAT", -1, -2, -3, PM_AXIS=1, PM_NUM_INPUTS=3), "concat[1](concat[1](x1, x2), x3)"),
        (op("OP_CONCAT", -1, -2, -1, -2, PM_AXIS=2), "concat[2](concat[2](concat[2](x1, x2), x1), x2)"),
        (op("OP_SPLIT", -1, PM_AXIS=2, PM_NUM_OUTPUTS=2), "slice[2, 0, 2](x1)"),
        (op("OP_PARTITION", -1, PM_PARALLEL_DIM=1, PM_PARALLEL_DEGREE=2), "partition[1, 2](x1)"),
        (op("OP_REPARTITION", -1, PM_PARALLEL_DIM=1, PM_PARALLEL_DEGREE=2), "partition[1, 2](x1)"),
        (op("OP_REPLICATE", -1, PM_PARALLEL_DIM=0, PM_PARALLEL_DEGREE=2), "replicate[0, 2](x1)"),
        (op("OP_PIPELINE", -1, PM_PARALLEL_DIM=1, PM_PARALLEL_DEGREE=2), "pipeline[1, 2](x1)"),
    ],
)
def test_an_operator_is_a_term(operator: dict[str, Any], term: str) -> None:
    if operator["type"] == "OP_SPLIT":
        results = (0, 0, 0, 0), (0, 1, 0, 1)
        assert str(rule(entry([operator], [operator], *results)).source[0]) == term
    else:
        assert built(operator) == term


def test_operators_that_undo_others() -> None:
    split = op("OP_PARTITION", -1, PM_PARALLEL_DIM=2, PM_PARALLEL_DEGREE=4)
    copies = op("OP_REPLICATE", -1, PM_PARALLEL_DIM=0, PM_PARALLEL_DEGREE=2)
    slices = op("OP_PIPELINE", -1, PM_PARALLEL_DIM=1, PM_PARALLEL_DEGREE=2)
    combine = op("OP_COMBINE", 0, PM_PARALLEL_DIM=2, PM_PARALLEL_DEGREE=2)
    assert built(split, combine) == "combine[2, 2](partition[2, 4](x1))"
    reduce = op("OP_REDUCE", 0, PM_PARALLEL_DIM=0, PM_PARALLEL_DEGREE=2)
    assert built(copies, reduce) == "reduce[0, 2](replicate[0, 2](x1))"
    batch = op("OP_BATCH", 0, PM_PARALLEL_DIM=1, PM_PARALLEL_DEGREE=2)
    assert built(slices, batch) == "batch[1, 2](pipeline[1, 2](x1))"


def test_inputs_are_named_by_number_and_weights_by_place() -> None:
    source = [op("OP_LINEAR", -1, -4), op("OP_EW_ADD", -2, (-2, 3)), op("OP_LINEAR", -7, -8), op("OP_RELU", -5)]
    found = FileRule(entry(source, source), "rule[0]").inputs()
    assert found == {"x1": False, "w4": True, "x2": False, "x2_3": False, "x7": False, "x8": True, "w5": True}


def test_the_destination_has_inputs_too() -> None:
    found = FileRule(entry([op("OP_RELU", -1)], [op("OP_LINEAR", -2, -9)]), "rule[0]").inputs()
    assert found == {"x1": False, "x2": False, "x9": True}


def test_results_of_the_two_sides_are_paired() -> None:
    source = [op("OP_RELU", -1), op("OP_TANH", -2)]
    found = rule(entry(source, source[::-1], (0, 0, 1, 0), (1, 0, 0, 0), name="exchanged"))
    assert str(found) == "unary['relu'](x1) => unary['relu'](x1); unary['tanh'](x2) => unary['tanh'](x2)"
    assert found.name == "exchanged"


def test_what_was_concatenated_is_split_where_it_was() -> None:
    """Parts of unequal sizes, through operators that leave them where they are."""
    concat = op("OP_CONCAT", -1, -3, PM_AXIS=1)
    split = op("OP_SPLIT", 0, PM_AXIS=1, PM_NUM_OUTPUTS=2)
    found = rule(entry([concat, split], [concat, split], (1, 0, 1, 0), (1, 1, 1, 1)))
    assert [str(t) for t in found.source] == [
        "slice[1, 0, 2](concat[1](x1, x3))", "slice[1, 2, 6](concat[1](x1, x3))"
    ]  # fmt: skip
    assert [t.type.shape for t in found.source] == [(1, 2, 4), (1, 6, 4)]


THROUGH = [
    ([op("OP_RELU", 0)], 1),
    ([op("OP_EW_ADD", 0, 0)], 1),
    ([op("OP_EW_MUL", 0, 0)], 1),
    ([op("OP_PARTITION", 0, PM_PARALLEL_DIM=2, PM_PARALLEL_DEGREE=2)], 1),
    ([op("OP_LINEAR", 0, -4)], 1),
    ([op("OP_CONCAT", 0, 0, PM_AXIS=2)], 1),
    ([op("OP_LINEAR", -4, 0)], 2),  # concatenated weights: output channels
]


@pytest.mark.parametrize(("between", "axis"), THROUGH)
def test_parts_go_through_operators(between: list[dict[str, Any]], axis: int) -> None:
    concat = op("OP_CONCAT", -1, -3, PM_AXIS=1)
    source = [concat, *between, op("OP_SPLIT", len(between), PM_AXIS=axis, PM_NUM_OUTPUTS=2)]
    last = len(source) - 1
    found = rule(entry(source, source, (last, 0, last, 0), (last, 1, last, 1)))
    assert [t.type.shape[axis] for t in found.source] == [2, 6]


def test_parts_of_three() -> None:
    source = [op("OP_CONCAT", -1, -3, -2, PM_AXIS=1), op("OP_SPLIT", 0, PM_AXIS=1, PM_NUM_OUTPUTS=3)]
    found = rule(entry(source, source, *((1, i, 1, i) for i in range(3))))
    assert [t.parameters for t in found.source] == [(1, 0, 2), (1, 2, 6), (1, 8, 2)]


def test_a_split_into_another_number_or_along_another_dimension_is_even() -> None:
    concat = op("OP_CONCAT", -1, -3, PM_AXIS=1)
    for axis, count, sizes in ((1, 4, [2] * 4), (2, 2, [2] * 2), (1, 1, [8])):
        source = [concat, op("OP_SPLIT", 0, PM_AXIS=axis, PM_NUM_OUTPUTS=count)]
        found = rule(entry(source, source, *((1, i, 1, i) for i in range(count))))
        assert [t.type.shape[axis] for t in found.source] == sizes


def test_parts_are_lost_where_the_dimension_changes() -> None:
    """What is replicated along it, or added to parts of other sizes."""
    concat, other = op("OP_CONCAT", -1, -3, PM_AXIS=1), op("OP_CONCAT", -3, -1, PM_AXIS=1)
    for between in (
        [op("OP_REPLICATE", 0, PM_PARALLEL_DIM=1, PM_PARALLEL_DEGREE=2),
         op("OP_COMBINE", 1, PM_PARALLEL_DIM=1, PM_PARALLEL_DEGREE=2)],
        [other, op("OP_EW_ADD", 0, 1)],
    ):  # fmt: skip
        source = [concat, *between, op("OP_SPLIT", len(between), PM_AXIS=1, PM_NUM_OUTPUTS=2)]
        last = len(source) - 1
        found = rule(entry(source, source, (last, 0, last, 0), (last, 1, last, 1)))
        first, second = (t.type.shape[1] for t in found.source)
        assert first == second


@pytest.mark.parametrize("order", ["nested first", "nested last"])
def test_parts_are_those_of_the_operator_that_is_split(order: str) -> None:
    """Two operators of the same value, of which one has three parts and the other two."""
    flat, nested = op("OP_CONCAT", -1, -2, -3, PM_AXIS=1), [op("OP_CONCAT", -1, -2, PM_AXIS=1)]
    if order == "nested first":
        source = [*nested, op("OP_CONCAT", 0, -3, PM_AXIS=1), flat]
        two, three = 1, 2
    else:
        source = [flat, *nested, op("OP_CONCAT", 1, -3, PM_AXIS=1)]
        two, three = 2, 0
    source += [op("OP_SPLIT", two, PM_AXIS=1, PM_NUM_OUTPUTS=2), op("OP_SPLIT", three, PM_AXIS=1, PM_NUM_OUTPUTS=3)]
    results = [*((3, i, 3, i) for i in range(2)), *((4, i, 4, i) for i in range(3))]
    found = rule(entry(source, source, *results), x1=(1, 2, 4), x2=(1, 3, 4), x3=(1, 7, 4))
    assert [t.type.shape[1] for t in found.source] == [5, 7, 2, 3, 7]


@pytest.mark.parametrize(
    ("operator", "says"),
    [
        (op("OP_EW_ADD", -1), "operator 0 of the source: OP_EW_ADD has 1 inputs; allowed: 2"),
        (op("OP_EW_ADD", -1, -3), "operator 0 of the source: add: operands 1x2x4 and 1x6x4; allowed: equal types"),
        (op("OP_RELU", -1, -2), "OP_RELU has 2 inputs; allowed: 1"),
        (op("OP_LINEAR", -1), "OP_LINEAR has 1 inputs; allowed: 2"),
        (op("OP_LINEAR", -1, -4, PM_ACTI=4), "PM_ACTI 4; allowed: 0, 1, 2, 3"),
        (op("OP_CONCAT", -1, PM_AXIS=1), "OP_CONCAT has 1 inputs; allowed: 2 or more"),
        (op("OP_CONCAT", -1, -2), "OP_CONCAT has no parameter PM_AXIS"),
        (op("OP_CONCAT", -1, -2, PM_AXIS=3), "dimension 3; allowed: 0 to 2"),
        (op("OP_CONCAT", -1, -2, PM_AXIS=-1), "dimension -1; allowed: 0 to 2"),
        (op("OP_CONCAT", -1, -3, PM_AXIS=2), "allowed: types that are equal but for the size of dimension 2"),
        (op("OP_SPLIT", -1, PM_AXIS=2), "OP_SPLIT has no parameter PM_NUM_OUTPUTS"),
        (op("OP_SPLIT", -1, PM_AXIS=3, PM_NUM_OUTPUTS=2), "along 3; allowed: a dimension that it has"),
        (op("OP_SPLIT", -1, PM_AXIS=-1, PM_NUM_OUTPUTS=2), "along -1; allowed: a dimension that it has"),
        (op("OP_SPLIT", -1, PM_AXIS=2, PM_NUM_OUTPUTS=3), "OP_SPLIT of 1x2x4 into 3 along 2; allowed: what 3 divides"),
        (op("OP_SPLIT", -1, PM_AXIS=2, PM_NUM_OUTPUTS=0), "into 0 along 2"),
        (op("OP_SPLIT", -1, PM_AXIS=2, PM_NUM_OUTPUTS=-2), "into -2 along 2"),
        (op("OP_PARTITION", -1, PM_PARALLEL_DIM=1), "OP_PARTITION has no parameter PM_PARALLEL_DEGREE"),
        (
            op("OP_PARTITION", -1, PM_PARALLEL_DIM=1, PM_PARALLEL_DEGREE=3),
            "dimension 1 of size 2 cannot be split 3 times",
        ),
        (
            op("OP_COMBINE", -1, PM_PARALLEL_DIM=1, PM_PARALLEL_DEGREE=2),
            "degree 1 of dimension 1 of 1x2x4; allowed: what 2 divides",
        ),
        (op("OP_COMBINE", -1, PM_PARALLEL_DIM=1, PM_PARALLEL_DEGREE=1), "degree 1; allowed: 2 or more"),
        (op("OP_REDUCE", -1, PM_PARALLEL_DIM=1, PM_PARALLEL_DEGREE=1), "degree 1; allowed: 2 or more"),
        (op("OP_REPLICATE", -1, PM_PARALLEL_DIM=0, PM_PARALLEL_DEGREE=0), "degree 0; allowed: 2 or more"),
    ],
)  # fmt: skip
def test_an_operator_that_cannot_be_built(operator: dict[str, Any], says: str) -> None:
    with pytest.raises(TermError) as error:
        rule(entry([operator], [operator]))
    assert says in str(error.value)


def test_it_says_in_which_program_an_operator_cannot_be_built() -> None:
    with pytest.raises(TermError, match="operator 1 of the destination: add: operands"):
        rule(entry([op("OP_EW_ADD", -1, -2)], [op("OP_RELU", -1), op("OP_EW_ADD", 0, -3)]))


def test_an_activation_is_not_passed_over() -> None:
    """A sum with one is not a sum without."""
    with pytest.raises((TermError, RuleError)):
        rule(entry([op("OP_EW_ADD", -1, -2, PM_ACTI=2)], [op("OP_EW_ADD", -1, -2)]))


def test_an_operator_that_is_not_known() -> None:
    conv = op("OP_CONV2D", -1, -4)
    with pytest.raises(UnknownOperatorError, match="operator OP_CONV2D; allowed: OP_LINEAR, OP_EW_ADD, OP_EW_MUL"):
        rule(entry([conv], [conv]))
    with pytest.raises(UnknownOperatorError):
        rule(entry([op("OP_RELU", -1)], [op("OP_NOOP", -1)]))


@pytest.mark.parametrize(
    ("value", "error", "says"),
    [
        (
            entry([op("OP_RELU", 0)], [op("OP_RELU", -1)]), RuleError,
            r"rule\[0\].srcOp\[0\] reads result 0 of operator 0; allowed: results of operators before it",
        ),
        (
            entry([op("OP_RELU", 1), op("OP_RELU", 0)], [op("OP_RELU", -1)]), RuleError,
            r"srcOp\[0\] reads result 0 of operator 1",
        ),
        (
            entry([op("OP_RELU", -1)], [op("OP_RELU", 1), op("OP_RELU", -1)]), RuleError,
            r"dstOp\[0\] reads result 0 of operator 1",
        ),
        (
            entry([op("OP_RELU", -1), op("OP_RELU", (0, 1))], [op("OP_RELU", -1)]), RuleError,
            r"srcOp\[1\] reads result 1 of operator 0",
        ),
        (
            entry([op("OP_RELU", -1), op("OP_RELU", (0, -1))], [op("OP_RELU", -1)]), RuleError,
            r"srcOp\[1\] reads result -1 of operator 0",
        ),
        (
            entry([op("OP_RELU", -1), op("OP_TANH", -1)], [op("OP_TANH", -1)]), RuleError,
            "result 0 of operator 0 of the source is lost; allowed: to map every result",
        ),
        (
            entry([op("OP_SPLIT", -1, PM_AXIS=2, PM_NUM_OUTPUTS=2)], [op("OP_SPLIT", -1, PM_AXIS=2, PM_NUM_OUTPUTS=2)]),
            RuleError, "result 1 of operator 0 of the source is lost",
        ),
        (
            entry([op("OP_RELU", -1)], [op("OP_RELU", -1)], (1, 0, 0, 0), (0, 0, 0, 0)), RuleError,
            "result 0 of operator 1 of the source is mapped; allowed: one that there is",
        ),
        (
            entry([op("OP_RELU", -1)], [op("OP_RELU", -1)], (0, 0, 0, 1)), RuleError,
            "result 1 of operator 0 of the destination is mapped",
        ),
        (
            entry([op("OP_RELU", -1)], [op("OP_RELU", -1)], (0, 0, -1, 0)), RuleError,
            "result 0 of operator -1 of the destination is mapped",
        ),
        (
            entry([op("OP_RELU", -1)], [op("OP_EW_MUL", -1, -2)]), TermError,
            "the destination reads x2; allowed: inputs of the source",
        ),
        (entry([op("OP_LINEAR", -1, -4)], [op("OP_LINEAR", -1, -5)]), TermError, "the destination reads w5"),
        (
            entry([op("OP_LINEAR", -1, -4)], [op("OP_RELU", -1)]), TermError,
            "result 0 is 1x2x8 of the source and 1x2x4 of the destination; allowed: equal types",
        ),
        ({"srcOp": [], "dstOp": [], "mappedOutput": []}, TermError, "0 results for 0"),
    ],
)  # fmt: skip
def test_what_is_no_rule(value: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        rule(value)


def test_an_intermediate_result_may_be_mapped_and_used() -> None:
    source = [op("OP_RELU", -1), op("OP_TANH", 0)]
    found = rule(entry(source, source, (0, 0, 0, 0), (1, 0, 1, 0)))
    assert str(found.source[1]) == "unary['tanh'](unary['relu'](x1))"


def without(key: str, value: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in value.items() if k != key}


RELU = op("OP_RELU", -1)
RIGHT = entry([RELU], [RELU])


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (7, "rule[1] is 7; allowed: an object"),
        (None, "rule[1] is None; allowed: an object"),
        (without("srcOp", RIGHT), "rule[1].srcOp is None; allowed: a list"),
        (without("dstOp", RIGHT), "rule[1].dstOp is None; allowed: a list"),
        (without("mappedOutput", RIGHT), "rule[1].mappedOutput is None; allowed: a list"),
        ({**RIGHT, "srcOp": {"0": RELU}}, "rule[1].srcOp is {"),
        ({**RIGHT, "srcOp": ["OP_RELU"]}, "rule[1].srcOp[0] is 'OP_RELU'; allowed: an object with a 'type'"),
        ({**RIGHT, "dstOp": [without("type", RELU)]}, "rule[1].dstOp[0] is {"),
        ({**RIGHT, "dstOp": [{**RELU, "type": 5}]}, "allowed: an object with a 'type'"),
        ({**RIGHT, "dstOp": [without("input", RELU)]}, "rule[1].dstOp[0].input is None; allowed: a list"),
        ({**RIGHT, "dstOp": [{**RELU, "input": [3]}]}, "rule[1].dstOp[0].input[0].opId is None; allowed: an integer"),
        ({**RIGHT, "dstOp": [{**RELU, "input": [{"opId": -1}]}]}, "input[0].tsId is None; allowed: an integer"),
        (
            {**RIGHT, "dstOp": [{**RELU, "input": [{"opId": "-1", "tsId": 0}]}]},
            "input[0].opId is '-1'; allowed: an integer",
        ),
        (
            {**RIGHT, "dstOp": [{**RELU, "input": [{"opId": -1.0, "tsId": 0}]}]},
            "input[0].opId is -1.0; allowed: an integer",
        ),
        (
            {**RIGHT, "dstOp": [{**RELU, "input": [{"opId": -1, "tsId": True}]}]},
            "input[0].tsId is True; allowed: an integer",
        ),
        (
            {**RIGHT, "dstOp": [{**RELU, "para": ["PM_ACTI"]}]},
            "rule[1].dstOp[0].para[0] is 'PM_ACTI'; allowed: an object with a 'key' and a 'value'",
        ),
        (
            {**RIGHT, "dstOp": [{**RELU, "para": [{"key": 1, "value": 1}]}]},
            "allowed: an object with a 'key' and a 'value'",
        ),
        (
            {**RIGHT, "dstOp": [{**RELU, "para": [{"key": "PM_ACTI"}]}]},
            "rule[1].dstOp[0].para[0].value is None; allowed: an integer",
        ),
        (
            {**RIGHT, "dstOp": [{**RELU, "para": [{"key": "PM_ACTI", "value": "2"}]}]},
            "para[0].value is '2'; allowed: an integer",
        ),
        ({**RIGHT, "dstOp": [{**RELU, "para": None}]}, "rule[1].dstOp[0].para is None"),
        ({**RIGHT, "dstOp": [{**RELU, "para": 5}]}, "rule[1].dstOp[0].para is 5; allowed: a list"),
        ({**RIGHT, "mappedOutput": [{"srcOpId": 0}]}, "rule[1].mappedOutput[0].srcTsId is None; allowed: an integer"),
        ({**RIGHT, "mappedOutput": [[0, 0, 0, 0]]}, "rule[1].mappedOutput[0].srcOpId is None; allowed: an integer"),
        ({**RIGHT, "srcOp": "x" * 1000}, "rule[1].srcOp is '" + "x" * 56 + "...; allowed: a list"),
    ],
)  # fmt: skip
def test_a_malformed_entry_does_not_hide_others(value: Any, says: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"rule": [RIGHT, value, RIGHT]}))
    first, wrong, last = read(file)
    assert isinstance(first, FileRule) and isinstance(last, FileRule)
    assert isinstance(wrong, RuleError) and says in str(wrong)


def test_an_operator_without_parameters_may_leave_them_out(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"rule": [entry([without("para", RELU)], [RELU])]}))
    (found,) = read(file)
    assert isinstance(found, FileRule)
    assert str(found.rule({"x1": (1, 2, 4)})) == "unary['relu'](x1) => unary['relu'](x1)"


def test_a_rule_without_a_name_is_called_by_its_place(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"rule": [RIGHT, without("name", RIGHT), {**RIGHT, "name": 5}], "_t": "RuleCollection"}))
    assert [r.name for r in read(file) if isinstance(r, FileRule)] == ["r", "rule[1]", "rule[2]"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cannot be read"),
        ("{", "cannot be read"),
        ("[]", "has no list 'rule'; allowed: a rule collection of TASO or FlexFlow"),
        ("{}", "has no list 'rule'"),
        ('{"rule": {}}', "has no list 'rule'"),
        ('"rule"', "has no list 'rule'"),
        ("[" * 100_000, "cannot be read"),
        ('{"rule": [' + "1" * 5000 + "]}", ""),
    ],
    ids=["nothing", "no JSON", "a list", "no rules", "an object", "a text", "nested deep", "a long number"],
)
def test_what_is_no_rule_collection(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(text)
    with pytest.raises(RuleError) as error:
        read(file)
    assert str(error.value).startswith(f"{file}: ") and says in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_no_text_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name in ("binary", "missing", "."):
        with pytest.raises(RuleError, match="cannot be read"):
            read(tmp_path / name)


def test_an_empty_collection_has_no_rules(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('{"rule": []}')
    assert read(tmp_path / "rules.json") == []


def test_a_side_has_a_limit() -> None:
    chain = [op("RELU", -1), *(op("RELU", i) for i in range(100))]
    entry = {"srcOp": chain, "dstOp": chain, "mappedOutput": []}
    with pytest.raises(RuleError, match=r"rule\[0\].srcOp has 101 operators; allowed: 100 at most"):
        FileRule(entry, "rule[0]")
