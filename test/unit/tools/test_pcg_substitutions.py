"""pcg-substitutions: verdicts as text and as JSON, exit statuses, and one line for what it cannot read."""

from __future__ import annotations

import builtins
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pcg.substitute import properties
from pcg.substitute import validate as validation
from pcg.substitute.property import Property
from pcg.tools.pcg_substitutions import main


def op(kind: str, *inputs: int, **parameters: int) -> dict[str, Any]:
    return {
        "type": f"OP_{kind}",
        "input": [{"opId": i, "tsId": 0} for i in inputs],
        "para": [{"key": f"PM_{key}", "value": value} for key, value in parameters.items()],
    }


def rule(name: str, source: list[Any], destination: list[Any]) -> dict[str, Any]:
    result = {"srcOpId": len(source) - 1, "srcTsId": 0, "dstOpId": len(destination) - 1, "dstTsId": 0}
    return {"name": name, "srcOp": source, "dstOp": destination, "mappedOutput": [result]}


RELU = [op("RELU", -1)]
PROVED = rule("exchanged", [op("EW_ADD", -1, -2)], [op("EW_ADD", -2, -1)])
SAME = rule("same", RELU, RELU)
REFUTED = rule("other", [op("EW_ADD", -1, -2)], [op("EW_MUL", -1, -2)])
ILL_TYPED = rule("unbound", RELU, [op("EW_ADD", -1, -2)])
UNKNOWN = rule("convolution", [op("CONV2D", -1, -4)], [op("CONV2D", -1, -4)])


def written(folder: Path, *rules: Any) -> str:
    file = folder / "rules.json"
    file.write_text(json.dumps({"rule": list(rules)}))
    return str(file)


@pytest.mark.parametrize(
    ("rules", "status"),
    [
        ((PROVED, SAME), 0),
        ((), 0),
        ((PROVED, REFUTED), 1),
        ((ILL_TYPED, PROVED), 1),
        ((UNKNOWN,), 1),
        ((PROVED, 7), 1),
    ],
)
def test_the_exit_status_says_whether_all_are_proved(
    rules: tuple[Any, ...], status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, *rules)
    for arguments in (["check", file], ["check", "--json", file], ["check", "--quiet", file]):
        assert main(arguments) == status
        assert not capsys.readouterr().err


def test_verdicts_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", written(tmp_path, PROVED, REFUTED, ILL_TYPED, UNKNOWN, SAME, None)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "exchanged: proved from TASO 2"
    assert lines[1].startswith("other: refuted: for x1 = [[[") and "of the destination" in lines[1]
    assert lines[2] == "unbound: ill-typed: the destination reads x2; allowed: inputs of the source"
    assert lines[3].startswith("convolution: unknown: operator OP_CONV2D; allowed: ")
    assert lines[4] == "same: proved from congruence alone"
    assert lines[5] == "rule[5]: ill-typed: rule[5] is None; allowed: an object"
    assert lines[6].startswith("6 rules: 2 proved, 1 refuted, 2 ill-typed, 1 unknown, in ")
    assert len(lines) == 7


def test_proofs_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--proofs", written(tmp_path, PROVED, REFUTED)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["exchanged: proved from TASO 2", "  add(x1, x2) => add(x2, x1)"]
    assert lines[2] in ("  add(x1, x2) = add(x2, x1)  (TASO 2)", "  add(x2, x1) = add(x1, x2)  (TASO 2)")
    assert lines[3].startswith("other: refuted") and len(lines) == 5


def test_verdicts_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, PROVED, REFUTED, ILL_TYPED, UNKNOWN, SAME)
    assert main(["check", "--json", file]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["file"] == file
    assert found["counts"] == {"proved": 2, "refuted": 1, "ill-typed": 1, "unknown": 1}
    by_name = {r["name"]: r for r in found["rules"]}
    assert list(by_name) == ["exchanged", "other", "unbound", "convolution", "same"]
    assert [r["verdict"] for r in found["rules"]] == ["proved", "refuted", "ill-typed", "unknown", "proved"]
    assert by_name["exchanged"]["rule"] == "add(x1, x2) => add(x2, x1)" and "reason" not in by_name["exchanged"]
    (step,) = by_name["exchanged"]["proof"]
    assert step["source"] == "TASO 2" and step["property"] == "add(x, y) = add(y, x)"
    assert {step["left"], step["right"]} == {"add(x1, x2)", "add(x2, x1)"}
    assert by_name["same"]["proof"] == []
    assert by_name["other"]["reason"].startswith("for x1 = ") and "proof" not in by_name["other"]
    assert by_name["other"]["rule"] == "add(x1, x2) => mul(x1, x2)"
    assert by_name["unbound"].keys() == {"name", "verdict", "reason"}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"rules": []}', '{"rule": 5}', "[" * 100_000, b"\xff\xfe"])
def test_what_is_no_file_of_rules_is_said_in_one_line(
    content: str | bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rules.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["check", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"pcg-substitutions: error: {file}: ") and captured.err.count("\n") == 1
    assert not captured.out


@pytest.mark.parametrize("command", ["check", "verify"])
def test_a_file_that_there_is_not(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file in (tmp_path / "missing", tmp_path):
        assert main([command, str(file)]) == 2
        err = capsys.readouterr().err
        assert f"pcg-substitutions: error: {file}: cannot be read: " in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["check"], "the following arguments are required: FILE"),
        (["prove"], "invalid choice: 'prove'"),
        (["check", "a.json", "--yaml"], "unrecognized arguments: --yaml"),
        (["validate", "--most", "0"], "--most: '0'; allowed: a whole number from 1 to 6"),
        (["validate", "--most", "7"], "--most: '7'; allowed: a whole number from 1 to 6"),
        (["validate", "--most", "two"], "--most: 'two'; allowed: a whole number from 1 to 6"),
    ],
)
def test_wrong_arguments_are_said_in_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    captured = capsys.readouterr()
    assert stopped.value.code == 2 and says in captured.err and captured.err.count("\n") == 1 and not captured.out


def test_properties_are_listed_with_their_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["properties"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(properties.PROPERTIES)
    assert lines[1].split() == "TASO 2 add(x, y) = add(y, x)".split()
    assert main(["properties", "--source", "taso 1"]) == 0
    some = capsys.readouterr().out.splitlines()
    assert some and all("TASO 1" in line for line in some) and set(some) < set(lines)


def test_what_holds_is_validated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--source", "Unity A13"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("Unity A13: reduce[d, k](replicate[d, k](x)) = multiple[k](x): holds (")
    assert lines[1].startswith("1 properties, ") and ": 1 hold, 0 do not, 0 have no instance, in " in lines[1]


RIGHT = Property("add(x, y)", "add(y, x)", "first", "x: r m; y: r m")
WRONG = Property("unary[f](add(x, y))", "add(unary[f](x), unary[f](y))", "second", "x: r m; y: r m")
LAST = Property("mul(x, y)", "mul(y, x)", "third", "x: r m; y: r m")


def test_what_does_not_hold_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for module in (properties, validation):
        monkeypatch.setattr(module, "PROPERTIES", (RIGHT, WRONG, LAST))
    assert main(["validate"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["first", "second", "third"]
    assert ": holds (" in lines[0] and ": holds (" in lines[2]
    assert "does not hold: unary['relu'](add(x, y)): 1x1; add(unary['relu'](x), unary['relu'](y)): 1x1 (1 inst" in lines[1]
    assert ": 2 hold, 1 do not, 0 have no instance, in " in lines[3]


def test_quiet_says_only_what_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (properties, validation):
        monkeypatch.setattr(module, "PROPERTIES", (RIGHT, WRONG, LAST))
    assert main(["validate", "--quiet"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == ["second"]


@pytest.mark.parametrize("most", ["1", "2"])
def test_what_takes_larger_sizes_is_not_called_wrong(most: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a dimension that is split twice there is an instance from size 4 on."""
    assert main(["validate", "--most", most, "--source", "Unity A14"]) == 0
    assert "0 do not" in capsys.readouterr().out


def test_rules_as_text_are_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rules.txt"
    types = "for x: 1x2x4, y: 1x2x4"
    file.write_text(f"# sums\na: add(x, y) => add(y, x) {types}\n\nb: mul(x, y) => mul(y, x) {types}  # TASO 4\n")
    assert main(["verify", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["a: proved from TASO 2", "b: proved from TASO 4"] and lines[2].startswith("2 rules: 2 proved")
    file.write_text(f"a: add(x, y) => mul(y, x) {types}\n")
    assert main(["verify", str(file)]) == 1
    assert capsys.readouterr().out.startswith("a: refuted: for x = ")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("add(x, y)", "allowed: name: source => destination for variable: type"),
        ("a: add(x, y) => add(y, x) for x: 1x2", "variable y of add(x, y) has no type"),
        ("a: add(x, y) => add(y, x) for x: 1x2, y: 1x3", "allowed: equal types"),
        ("a: add(x, y => x for x: 1x2, y: 1x2", "is missing"),
        ("a: neg(x) => x for x: 1x2{3}", "cannot be split 3 times"),
        ("a: neg(x) => x for x: 1xK", "type '1xK'; allowed: sizes with degrees"),
        (f"a: neg(x) => x for x: {'1' * 5000}", ""),
    ],
)
def test_a_line_that_is_no_rule_is_named(
    line: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rules.txt"
    file.write_text(f"# nothing here\n{line}\n")
    assert main(["verify", str(file)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"pcg-substitutions: error: {file}:2: ") and says in err and err.count("\n") == 1


def test_without_z3_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    imported = builtins.__import__

    def without_z3(name: str, *rest: Any, **named: Any) -> Any:
        if name == "z3":
            raise ImportError("No module named 'z3'")
        return imported(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without_z3)
    assert main(["properties"]) == 2
    captured = capsys.readouterr()
    assert "needs Z3: pip install 'pcg[verify]'" in captured.err and captured.err.count("\n") == 1
    assert not captured.out


def test_as_a_program(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "pcg.tools.pcg_substitutions", "check"]
    for rules, status in (((PROVED,), 0), ((REFUTED,), 1)):
        done = subprocess.run([*program, written(tmp_path, *rules)], capture_output=True, text=True, check=False)
        assert done.returncode == status and not done.stderr and done.stdout.count("\n") == 2
    done = subprocess.run([*program, str(tmp_path / "missing")], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout


def test_rules_are_generated_and_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules.txt"
    assert main(["generate", "products", "--size", "2", "-o", str(rules)]) == 0
    error = capsys.readouterr().err
    assert "products, up to 2 operators: " in error and " 0 unknown, in " in error
    count = sum(1 for text in rules.read_text().splitlines() if not text.startswith("#"))
    assert count > 15
    assert main(["verify", str(rules)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"{count} rules: {count} proved, 0 refuted, ")
    rules.write_text("wrong: mul(x, y) => add(x, y) for x: 1x2x4, y: 1x2x4\n")
    assert main(["verify", str(rules)]) == 1
    assert capsys.readouterr().out.startswith("wrong: refuted: for x = ")


def test_what_cannot_be_generated_or_verified_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "other"]) == 2
    assert capsys.readouterr().err == "pcg-substitutions: error: space 'other'; allowed: taso, unity, products\n"
    assert main(["generate", "taso", "-o", str(tmp_path / "none" / "rules.txt")]) == 2
    assert "error: no folder " in capsys.readouterr().err
    rules = tmp_path / "rules.txt"
    rules.write_text("# a comment\nnothing\n")
    assert main(["verify", str(rules)]) == 2
    assert capsys.readouterr().err.startswith(f"pcg-substitutions: error: {rules}:2: 'nothing'; allowed: name: ")


def test_properties_that_follow_from_others_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["properties", "--source", "TASO 27", "--redundant"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("mul(x, ones_like(x)) = x  follows from ours")
    assert main(["properties", "--source", "TASO 9", "--redundant"]) == 0
    assert "transpose[i, j](transpose[i, j](x)) = x  is independent" in capsys.readouterr().out
