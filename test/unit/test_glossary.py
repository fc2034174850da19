"""docs/glossary.md: its terms are in use, names are made of them, and the words that it replaces are gone."""

from __future__ import annotations

import re

import pcg
from pcg.dialects import dist
from pcg.dialects import pcg as pcg_dialect
from pcg.passes import PIPELINES, pass_names
from support import glossary

#: Words of everyday English and of every language in names that users see, which need no explanation.
PLAIN = frozenset(
    "all auto choose compile compiled diff dist error export gather import in insert map out place prepare program recv"
    " scatter select send slice strip to version yield".split()
)


def test_replaced_words_are_gone():
    found = []
    for rule in glossary.rules():
        assert rule.scope in glossary.SCOPES, rule
        found += [f for file in glossary.sources() for f in glossary.in_names(rule, file)]
        if rule.scope == "everywhere":
            found += [f for file in glossary.texts() for f in glossary.in_text(rule, file)]
    assert not found, f"{len(found)} left\n" + "\n".join(sorted({str(f) for f in found}))


def test_a_replaced_word_is_found(tmp_path):
    """In a name of any spelling, across the lines of a comment, and not in what the table leaves."""
    file = tmp_path / "module.py"
    file.write_text("class HubCost:\n    # a line of\n    # steps\n    trip_count = 1\n    trips = 2\n")
    found = {
        f.word
        for rule in glossary.rules()
        for f in (*glossary.in_names(rule, file), *(glossary.in_text(rule, file) if rule.scope == "everywhere" else ()))
    }
    assert found == {"HubCost", "line of steps", "trips"}


def test_terms_are_sorted_and_in_use():
    terms = glossary.terms()
    assert [*terms] == sorted(terms)
    text = "\n".join(f.read_text(encoding="utf-8") for f in glossary.texts()).lower()
    words = re.sub(r"[^a-z]+", " ", text)
    unused = [t for t in terms if not all(f" {re.sub('[^a-z]+', ' ', w.lower()).strip()}" in words for w in t.split(","))]
    assert not unused


def test_what_users_see_is_made_of_terms():
    """The parts of names of passes, pipelines, operators and the public API: a term, or everyday English."""
    known = PLAIN | {p for t in glossary.terms() for p in glossary.parts(t)}
    seen = [*pass_names(), *PIPELINES, *pcg.__all__]
    for module in (dist, pcg_dialect):
        seen += [n.removesuffix("Op").removesuffix("Attr") for n in vars(module) if n.endswith(("Op", "Attr"))]
    unknown = {
        part: name
        for name in seen
        for part in glossary.parts(name)
        if known.isdisjoint((part, part.removesuffix("s"), part.removesuffix("es"), part.replace("ize", "ise")))
    }
    assert not unknown
