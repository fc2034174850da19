"""Rendering diagnostics, matching them with `expected-*` comments, and what pcg-opt prints on bad input."""

from __future__ import annotations

import io

import pytest

from pcg.ir.errors import PcgError
from pcg.tools import diagnostics, reproducer
from pcg.tools.diagnostics import Diagnostic
from pcg.tools.options import UsageError, parse
from pcg.tools.pcg_opt import main


def rendered(m: Diagnostic, source: str = "") -> str:
    out = io.StringIO()
    diagnostics.render(m, source.split("\n"), "in.mlir", out)
    return out.getvalue()


def test_render_shows_line_and_caret():
    assert rendered(Diagnostic("error", "bad", "", 2, 3), "one\ntwo") == "in.mlir:2:3: error: bad\ntwo\n  ^\n"


def test_render_keeps_tabs_under_tabs():
    assert rendered(Diagnostic("error", "bad", "", 1, 2), "\tx").endswith("\n\tx\n\t^\n")


def test_render_without_a_place_names_the_input():
    assert rendered(Diagnostic("error", "bad")) == "in.mlir: error: bad\n"


def test_render_of_another_file_shows_its_line(tmp_path):
    model = tmp_path / "model.py"
    model.write_text("x = 1\ny = x @ x\n")
    m = diagnostics.at("remark", "big", f"{model}:2:5", "in.mlir")
    assert rendered(m, "not\nthis") == f"{model}:2:5: remark: big\ny = x @ x\n    ^\n"


def test_an_error_of_the_project_keeps_its_place():
    (m,) = diagnostics.from_error(PcgError("no", "in.mlir:3:4"), "in.mlir")
    assert (m.severity, m.text, m.file, m.line, m.column) == ("error", "no", "", 3, 4)


def problems(source: str, *messages: Diagnostic) -> list[str]:
    return [f"{m.line}: {m.text}" for m in diagnostics.check(source, list(messages), "in.mlir")]


def test_check_directions():
    source = "// expected-error @+1 {{a}}\nx\n// expected-error @above {{b}}\n// expected-error @below {{c}}\nx"
    found = [Diagnostic("error", "an a", "", 2, 1), Diagnostic("error", "b", "", 2, 1), Diagnostic("error", "c", "", 5, 1)]
    assert problems(source, *found) == []


def test_check_reports_what_is_missing_and_what_is_too_much():
    source = "x // expected-error {{a}}"
    assert problems(source) == ['1: expected error "a" was not produced']
    assert problems("x", Diagnostic("error", "b", "", 1, 1)) == ["1: unexpected error: b"]
    assert problems("// expected-error @below {{a}}") == ['1: expected error "a" on line 2 was not produced']


def test_check_regex_and_unknown_place():
    source = "// expected-error-re @unknown {{a[0-9]+}}"
    assert problems(source, Diagnostic("error", "a12")) == []
    assert problems(source, Diagnostic("error", "a")) != []


def test_check_ignores_remarks_unless_one_is_expected():
    remark = Diagnostic("remark", "r", "", 1, 1)
    assert problems("x", remark) == []
    assert problems("x\n// expected-remark {{s}}", remark) != []


def test_flags_become_pipeline_elements_in_order():
    args, flags = parse(["--cse", "in.mlir", "-canonicalize=a=1 b=2", "--export-sdy", "-o", "x"])
    assert flags == ["cse", "canonicalize{a=1 b=2}", "sdy-export"]
    assert (args.input, args.output) == ("in.mlir", "x")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["a", "b"], "one input at a time"),
        (["--remarks=3"], "remarks"),
        (["--cse", "--pass-pipeline=cse"], "exclude each other"),
        (["-o"], "expected one argument"),
    ],
)
def test_bad_command_lines(argv, message):
    with pytest.raises(UsageError, match=message):
        parse(argv)


def test_reproducer_round_trip(tmp_path):
    from torch_mlir import ir

    from pcg.ir.context import make_context

    path = tmp_path / "r.mlir"
    with make_context(), ir.Location.unknown():
        reproducer.write(str(path), ir.Module.create(), 'a{x="1"},b')
    module, pipeline = reproducer.read(path.read_text())
    assert pipeline == 'a{x="1"},b'
    assert "module" in module and "{-#" not in module


JUNK = {
    "empty.mlir": b"",
    "binary.mlir": bytes(range(256)) * 4,
    "truncated.mlir": b"ML\xefR" + b"\x01" * 40,
    "latin.mlir": "func.func @\xe9() {\n".encode("latin-1"),
    "prose.mlir": b"once upon a time\n",
    "dynamic.mlir": b"func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n  return %a : tensor<?xf32>\n}\n",
}


@pytest.mark.parametrize("name", JUNK)
def test_bad_input_is_one_line_not_a_traceback(name, tmp_path, capfd):
    path = tmp_path / name
    path.write_bytes(JUNK[name])
    assert main([str(path)]) != 0
    out, err = capfd.readouterr()
    assert out == ""
    first = err.split("\n")[0]
    assert first.startswith(str(path)) and " error: " in first
    assert err.count("error:") == 1, err
    assert "Traceback" not in err and "internal error" not in err


def test_missing_file_and_directory(tmp_path, capfd):
    assert main([str(tmp_path / "no.mlir")]) != 0
    assert capfd.readouterr().err == f"pcg-opt: error: {tmp_path}/no.mlir: No such file or directory\n"
    assert main([str(tmp_path)]) != 0
    assert capfd.readouterr().err == f"pcg-opt: error: {tmp_path}: Is a directory\n"
