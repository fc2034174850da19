"""Generated reference pages: they cover every definition, and staleness is noticed."""

from __future__ import annotations

import re
from pathlib import Path

from pcg import passes
from pcg.rules.registry import registered
from pcg.tools import gen_docs, op_samples
from pcg.tools.options import parser

ROOT = Path(__file__).resolve().parents[3]


def test_every_pass_and_option_is_documented():
    page = gen_docs.passes_md()
    for name in passes.pass_names():
        section = re.search(rf"^## `{name}`\n\n(.+?)(?=^## |\Z)", page, re.M | re.S)
        assert section, name
        for option in passes.lookup(name).option_fields():
            assert f"| `{option}` |" in section[1], f"{name}: {option}"
            assert not re.search(rf"\| `{option}` \|[^\n]*\|  \|$", section[1], re.M), f"{name}: {option} has no help"


def test_every_rule_is_listed():
    page = gen_docs.rules_md()
    assert all(f"`{op}`" in page for op in registered())


def test_every_op_is_documented():
    from pcg.dialects.dist import Dist
    from pcg.dialects.pcg import Pcg

    page = gen_docs.dialects_md()
    for dialect in (Dist, Pcg):
        for op in dialect.operations:
            assert re.search(rf"^### `{re.escape(op.OPERATION_NAME)}`\n\n\S", page, re.M), op.OPERATION_NAME


def test_every_flag_has_a_help_text():
    assert [a.option_strings for a in parser()._actions if not a.help] == []


def test_stale_pages_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(gen_docs, "PAGES", {name: gen_docs.PAGES[name] for name in ("passes.md", "rules.md", "cli.md")})
    gen_docs.main(["-o", str(tmp_path)])
    assert gen_docs.main(["--check", "-o", str(tmp_path)]) == 0
    (tmp_path / "rules.md").write_text("old")
    (tmp_path / "passes.md").unlink()
    assert [p.name for p in gen_docs.stale(tmp_path)] == ["passes.md", "rules.md"]
    assert gen_docs.main(["--check", "-o", str(tmp_path)]) == 1


def test_the_status_page_has_every_op_with_a_test_or_a_reason():
    page = gen_docs.status_md()
    rows = {m[1]: [c.strip() for c in m[0].split(" | ")] for m in re.finditer(r"^\| `([\w.-]+)` \|[^\n]*", page, re.M)}
    assert set(rows) == set(op_samples.every())
    for name, cells in rows.items():
        if name in op_samples.SAMPLES:
            _, _, sharded, stays, types, strategies, test = cells
            assert sharded or stays, name
            assert test.startswith((f"`test_op[{name}]`", "rule only: ")), name
            if not test.startswith("rule only"):
                run, legal = map(int, strategies.split(" of "))
                assert 0 < run <= legal and types, name
        else:
            assert len(cells[2].split()) >= 4, name
