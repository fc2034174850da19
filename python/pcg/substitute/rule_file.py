"""Rules in the JSON of TASO and FlexFlow: lists of operators, inputs by number, what stands for which result.

An operator names its inputs by ``opId`` and ``tsId``: an ``opId`` below 0 is an input of the rule, another one an
operator before it on the same side.  Inputs have three dimensions, the replica dimension first: -1 to -3 are
activations ``[1, m, k]``, -4 to -6 weights ``[1, n, k]``; others are weights where they are second inputs of a layer.
The files do not say of which sizes; rules are read with several.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcg.substitute.errors import RuleError, TermError, UnknownOperatorError
from pcg.substitute.rule import Rule
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Term, apply, variable

#: Of PM_ACTI.
_ACTIVATIONS = {0: "none", 1: "sigmoid", 2: "relu", 3: "tanh"}
_FUNCTIONS = {"OP_RELU": "relu", "OP_SIGMOID": "sigmoid", "OP_TANH": "tanh", "OP_GELU": "gelu", "OP_EXP": "exp"}
_PARALLEL = {
    "OP_PARTITION": "partition", "OP_REPARTITION": "partition", "OP_COMBINE": "combine", "OP_REPLICATE": "replicate",
    "OP_REDUCE": "reduce", "OP_PIPELINE": "pipeline", "OP_BATCH": "batch",
}  # fmt: skip
#: Of one side of a rule.
_OPERATORS = 100
#: The sizes that the published rules are of.
PUBLISHED = {"m": 2, "k": 4, "n": 4}


@dataclass(frozen=True)
class _Side:
    """One of the two programs of a rule in a file."""

    where: str
    operators: list[Any]


class FileRule:
    """A rule of a file, whose terms are built for sizes of its inputs."""

    def __init__(self, entry: Any, where: str) -> None:
        if not isinstance(entry, dict):
            raise RuleError(f"{where} is {_brief(entry)}; allowed: an object")
        name = entry.get("name", where)
        self.name = name if isinstance(name, str) else where
        self._sides = [_Side(f"{where}.{key}", _list(entry, key, where)) for key in ("srcOp", "dstOp")]
        self._results = [
            tuple(
                _integer(m, key, f"{where}.mappedOutput[{i}]") for key in ("srcOpId", "srcTsId", "dstOpId", "dstTsId")
            )
            for i, m in enumerate(_list(entry, "mappedOutput", where))
        ]
        for side in self._sides:
            if len(side.operators) > _OPERATORS:
                raise RuleError(f"{side.where} has {len(side.operators)} operators; allowed: {_OPERATORS} at most")
            for i, op in enumerate(side.operators):
                _operator(op, f"{side.where}[{i}]")

    def inputs(self) -> dict[str, bool]:
        """Names of the inputs of both programs, and which of them are weights."""
        found: dict[str, bool] = {}
        for side in self._sides:
            for op in side.operators:
                for place, tensor in enumerate(op["input"]):
                    if tensor["opId"] < 0:
                        weight = place == 1 and op["type"] == "OP_LINEAR"
                        name, number = _input(tensor), -tensor["opId"]
                        found[name] = number > 3 if number <= 6 else found.get(name, False) or weight
        return found

    def rule(self, shapes: Mapping[str, tuple[int, ...]]) -> Rule:
        """The rule for inputs of such shapes.

        Raises:
          TermError: it has no such terms.
          RuleError: it is not a rule: inputs that are not bound, results that are missing.
        """
        source, destination = (self._terms(side, shapes) for side in self._sides)
        used = [{(t["opId"], t["tsId"]) for op in side.operators for t in op["input"]} for side in self._sides]
        results = {(s, t) for s, t, _, _ in self._results}
        for i, terms in enumerate(source):
            for j in range(len(terms)):
                if (i, j) not in used[0] and (i, j) not in results:
                    raise RuleError(f"result {j} of operator {i} of the source is lost; allowed: to map every result")
        return Rule(
            self.name,
            tuple(self._result(source, s, t, "source") for s, t, _, _ in self._results),
            tuple(self._result(destination, d, t, "destination") for _, _, d, t in self._results),
        )

    @staticmethod
    def _result(terms: list[list[Term]], op: int, number: int, side: str) -> Term:
        if not 0 <= op < len(terms) or not 0 <= number < len(terms[op]):
            raise RuleError(f"result {number} of operator {op} of the {side} is mapped; allowed: one that there is")
        return terms[op][number]

    def _terms(self, side: _Side, shapes: Mapping[str, tuple[int, ...]]) -> list[list[Term]]:
        """The results of each operator."""
        found: list[list[_Result]] = []
        for i, op in enumerate(side.operators):
            operands: list[_Result] = []
            for tensor in op["input"]:
                if tensor["opId"] < 0:
                    operands.append((variable(_input(tensor), TensorType.of(shapes[_input(tensor)])), {}))
                elif tensor["opId"] < i and 0 <= tensor["tsId"] < len(found[tensor["opId"]]):
                    operands.append(found[tensor["opId"]][tensor["tsId"]])
                else:
                    raise RuleError(
                        f"{side.where}[{i}] reads result {tensor['tsId']} of operator {tensor['opId']};"
                        " allowed: results of operators before it"
                    )
            try:
                found.append(_build(op, operands))
            except TermError as error:
                name = "source" if side is self._sides[0] else "destination"
                raise TermError(f"operator {i} of the {name}: {error}") from None
        return [[term for term, _ in results] for results in found]


#: A term, and of the dimensions along which it was concatenated the sizes of the parts: a split without sizes takes it
#: apart there.
_Result = tuple[Term, dict[int, tuple[int, ...]]]
#: Parameters that say again what the operator and its inputs say.
_REDUNDANT = frozenset(("PM_NUMDIM", "PM_NUM_INPUTS", "PM_NUM_OUTPUTS"))


def _build(op: Mapping[str, Any], operands: list[_Result]) -> list[_Result]:
    kind, parameters = op["type"], {p["key"]: p["value"] for p in op["para"]}
    terms, parts = [term for term, _ in operands], [p for _, p in operands]
    if "PM_NUM_INPUTS" in parameters and parameters["PM_NUM_INPUTS"] != len(terms):
        raise TermError(f"{kind} has {len(terms)} inputs and PM_NUM_INPUTS {parameters['PM_NUM_INPUTS']}")
    if "PM_NUMDIM" in parameters and any(parameters["PM_NUMDIM"] != t.type.rank for t in terms):
        raise TermError(f"{kind} is of {terms[0].type} and has PM_NUMDIM {parameters['PM_NUMDIM']}")

    def known(count: int, *keys: str) -> list[int]:
        """The values of parameters, if there are so many inputs, and parameters of no other meaning."""
        if len(terms) != count:
            raise TermError(f"{kind} has {len(terms)} inputs; allowed: {count}")
        if other := [k for k, v in parameters.items() if k not in (*keys, *_REDUNDANT) and (k != "PM_ACTI" or v)]:
            shown = ", ".join(keys) or "none"
            raise UnknownOperatorError(f"{kind} with {other[0]} {parameters[other[0]]}; allowed: {shown}")
        if missing := [k for k in keys if k not in parameters and k != "PM_ACTI"]:
            raise TermError(f"{kind} has no parameter {missing[0]}")
        return [int(parameters.get(k, 0)) for k in keys]

    if kind in ("OP_EW_ADD", "OP_EW_MUL"):
        known(2)
        found = apply("add" if kind == "OP_EW_ADD" else "mul", (), tuple(terms))
        return [(found, parts[0] if parts[0] == parts[1] else {})]
    if kind in _FUNCTIONS:
        known(1)
        return [(apply("unary", (_FUNCTIONS[kind],), tuple(terms)), parts[0])]
    if kind in _PARALLEL:
        dim, degree = known(1, "PM_PARALLEL_DIM", "PM_PARALLEL_DEGREE")
        found = apply(_PARALLEL[kind], (dim, degree), tuple(terms))
        return [(found, {d: p for d, p in parts[0].items() if d != dim})]
    if kind == "OP_LINEAR":
        (number,) = known(2, "PM_ACTI")
        if number not in _ACTIVATIONS:
            raise TermError(f"PM_ACTI {number}; allowed: {', '.join(map(str, _ACTIVATIONS))}")
        found = apply("linear", (_ACTIVATIONS[number],), tuple(terms))
        return [(found, {d: p[1] for d, p in ((1, parts[0]), (2, parts[1])) if 1 in p})]
    if kind == "OP_CONCAT":
        if len(terms) < 2:
            raise TermError(f"{kind} has {len(terms)} inputs; allowed: 2 or more")
        (axis,) = known(len(terms), "PM_AXIS")
        found = terms[0]
        for term in terms[1:]:
            found = apply("concat", (axis,), (found, term))
        others = [{d: p for d, p in of.items() if d != axis} for of in parts]
        equal = others[0] if all(o == others[0] for o in others) else {}
        return [(found, {**equal, axis: tuple(t.type.shape[axis] for t in terms)})]
    if kind == "OP_SPLIT":
        axis, count = known(1, "PM_AXIS", "PM_NUM_OUTPUTS")
        return _split(operands[0], axis, count)
    named = "OP_LINEAR", "OP_EW_ADD", "OP_EW_MUL", "OP_CONCAT", "OP_SPLIT"
    raise UnknownOperatorError(f"operator {kind}; allowed: {', '.join((*named, *_FUNCTIONS, *_PARALLEL))}")


def _split(operand: _Result, axis: int, count: int) -> list[_Result]:
    term, parts = operand
    if not 0 <= axis < term.type.rank or not 1 <= count <= _OPERATORS:
        raise TermError(f"OP_SPLIT of {term.type} into {count} along {axis}; allowed: a dimension that it has")
    sizes = parts.get(axis, ())
    if len(sizes) != count:
        if term.type.shape[axis] % count:
            raise TermError(f"OP_SPLIT of {term.type} into {count} along {axis}; allowed: what {count} divides")
        sizes = (term.type.shape[axis] // count,) * count
    starts = [sum(sizes[:i]) for i in range(count)]
    rest = {d: p for d, p in parts.items() if d != axis}
    return [(apply("slice", (axis, start, size), (term,)), rest) for start, size in zip(starts, sizes, strict=True)]


def read(path: Path) -> list[FileRule | RuleError]:
    """The rules of a file, in order; in place of one that is malformed, what is wrong with it.

    Raises:
      RuleError: it is no such file.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RuleError(f"{path}: cannot be read: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("rule"), list):
        raise RuleError(f"{path}: has no list 'rule'; allowed: a rule collection of TASO or FlexFlow")
    found: list[FileRule | RuleError] = []
    for i, entry in enumerate(document["rule"]):
        try:
            found.append(FileRule(entry, f"rule[{i}]"))
        except RuleError as error:
            found.append(error)
    return found


def _input(tensor: Mapping[str, Any]) -> str:
    number = -tensor["opId"]
    suffix = f"_{tensor['tsId']}" if tensor["tsId"] else ""
    return f"{'w' if 4 <= number <= 6 else 'x'}{number}{suffix}"


def _operator(op: Any, where: str) -> None:
    if not isinstance(op, dict) or not isinstance(op.get("type"), str):
        raise RuleError(f"{where} is {_brief(op)}; allowed: an object with a 'type'")
    for i, tensor in enumerate(_list(op, "input", where)):
        _integer(tensor, "opId", f"{where}.input[{i}]")
        _integer(tensor, "tsId", f"{where}.input[{i}]")
    op.setdefault("para", [])
    for i, parameter in enumerate(_list(op, "para", where)):
        if not isinstance(parameter, dict) or not isinstance(parameter.get("key"), str):
            raise RuleError(f"{where}.para[{i}] is {_brief(parameter)}; allowed: an object with a 'key' and a 'value'")
        _integer(parameter, "value", f"{where}.para[{i}]")


def _list(entry: Mapping[str, Any], key: str, where: str) -> list[Any]:
    found = entry.get(key)
    if not isinstance(found, list):
        raise RuleError(f"{where}.{key} is {_brief(found)}; allowed: a list")
    return found


def _integer(entry: Any, key: str, where: str) -> int:
    found = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(found, int) or isinstance(found, bool):
        raise RuleError(f"{where}.{key} is {_brief(found)}; allowed: an integer")
    return found


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
