"""Mutations of files: bytes, words, and the values of JSON and TOML documents.

Each takes a random generator, so a seed gives one file.  What is written where a value was is meant to be met by a
program that reads files carelessly: another kind of value, numbers beyond every range, lists of another length.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

#: Numbers that programs handle badly.
NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 7, 255, 2**31, -(2**31), 2**63 - 1, 2**63, 2**64, 10**12, -(10**12), 10**18, 10**400, 0.5, -0.0, 1e-300,
    1e300, math.inf, -math.inf, math.nan,
)  # fmt: skip
_STRINGS = (
    "", " ", "-", "x", "data", "model", "[]", "[-]", "[-, -]", "[data, -]", "[data+data]", "[x:(1)2, -]", "[-, -] sum(data)",
    "[data, -] sum(data)", "[-, -] average(model)", "[[[[", "f32[8,16]", "0#0", "1^0:0", "@0", "@99", "r0", "99#99", "none",
    "\u00e9\u2603", "a\nb", "'\"\\", "\x00", "9" * 5000, "x" * 2000, "../../nothing", "nan", "1e999", "-1",
)  # fmt: skip
#: Text that stands for values that the writers below cannot write (more nesting than Python's own stack).
_DEEP = "\ue000"
_LONG = "\ue001"


def other(rng: random.Random, value: Any = None) -> Any:
    """A value of another kind than `value`, or one of its kind that is out of range."""
    kinds: list[Callable[[], Any]] = [
        lambda: None,
        lambda: rng.random() < 0.5,
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(_STRINGS),
        lambda: rng.choice(_STRINGS),
        lambda: [],
        lambda: {},
        lambda: [rng.choice(NUMBERS) for _ in range(rng.randint(1, 4))],
        lambda: {rng.choice(_STRINGS): rng.choice(NUMBERS)},
        lambda: [[]] * 3,
        lambda: _DEEP,
        lambda: _LONG,
    ]
    if isinstance(value, bool | int | float):
        kinds += [lambda: rng.choice(NUMBERS)] * 8
    if isinstance(value, str):
        kinds += [lambda: rng.choice(_STRINGS)] * 4 + [lambda: text(value, rng)] * 6
    return rng.choice(kinds)()


# -- bytes and words -----------------------------------------------------------------------------


def damage(data: bytes, rng: random.Random) -> bytes:
    """One change of bytes: flipped, put in, taken out, cut off, repeated, or nothing left."""
    n = len(data)
    at, size = rng.randrange(n + 1), min(n, int(2 ** rng.uniform(0, 7)))
    end = min(n, at + size)
    kind = rng.randrange(12)
    if kind < 4 and n:
        out = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 4, 16))):
            i = rng.randrange(n)
            out[i] = out[i] ^ (1 << rng.randrange(8)) if rng.random() < 0.5 else rng.randrange(256)
        return bytes(out)
    if kind < 6:
        return data[:at] + rng.randbytes(rng.choice((1, 1, 2, 8))) + data[at:]
    if kind < 8:
        return data[:at] + data[end:]
    if kind == 8:
        return data[:at]
    if kind == 9:
        return data[:end] + data[at:]
    if kind == 10:
        return data[:at] + rng.choice((b"\xff\xfe", b"\x00", b"\xc3\x28", b"\xed\xa0\x80", b"\r\n", b"\xef\xbb\xbf")) + data[at:]
    return rng.choice((b"", data[:at], b"\n", data + data, data[: min(n, 4)], rng.randbytes(64)))


_WORD = re.compile(r"[\w.]+|\s+|.", re.DOTALL)


def text(source: str, rng: random.Random) -> str:
    """One change of words: two swapped, one repeated, dropped, or replaced by another or by an odd number."""
    words = _WORD.findall(source)
    if not words:
        return rng.choice(_STRINGS)
    solid = [i for i, w in enumerate(words) if not w.isspace()] or [0]
    i, j = rng.choice(solid), rng.choice(solid)
    kind = rng.randrange(6)
    if kind == 0:
        words[i], words[j] = words[j], words[i]
    elif kind == 1:
        words[i] *= rng.choice((2, 2, 3, 200))
    elif kind == 2:
        words[i] = ""
    elif kind == 3:
        words[i] = words[j]
    elif kind == 4:
        numbers = [k for k in solid if re.fullmatch(r"\d[\d.e]*", words[k])] or [i]
        words[rng.choice(numbers)] = str(rng.choice(NUMBERS))
    else:
        words[i] = rng.choice(_STRINGS)
    return "".join(words)


# -- documents -----------------------------------------------------------------------------------


def document(doc: Any, rng: random.Random) -> Any:
    """One change of a value inside a tree of dicts and lists, which is changed in place; returns the tree."""
    if not isinstance(doc, dict | list) or rng.random() < 0.01:
        return other(rng, doc)
    holder, key = _place(doc, rng)
    if isinstance(holder, dict):
        kind = rng.randrange(10)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            holder[rng.choice(_STRINGS)] = other(rng)
        elif kind == 2:
            holder[rng.choice(_STRINGS)] = holder.pop(key)
        elif kind == 3:
            holder[key], b = holder[(k := rng.choice(list(holder)))], holder[key]
            holder[k] = b
        else:
            holder[key] = other(rng, holder[key])
        return doc
    kind = rng.randrange(10)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        holder.insert(key, json.loads(json.dumps(holder[key])))
    elif kind == 2:
        del holder[key:]
    elif kind == 3:
        k = rng.randrange(len(holder))
        holder[key], holder[k] = holder[k], holder[key]
    elif kind == 4:
        holder.insert(key, other(rng))
    else:
        holder[key] = other(rng, holder[key])
    return doc


def _place(doc: Any, rng: random.Random) -> tuple[Any, Any]:
    """A holder and a key in it, walking down at random: what is near the root is met as often as what is deep."""
    while True:
        if isinstance(doc, dict):
            key: Any = rng.choice(list(doc)) if doc else None
        else:
            key = rng.randrange(len(doc)) if doc else None
        if key is None:
            return [doc], 0
        below = doc[key]
        if not isinstance(below, dict | list) or not below or rng.random() < 0.15:
            return doc, key
        doc = below


def _special(text_: str, rng: random.Random) -> str:
    deep = rng.choice((20, 200, 1000, 20_000, 200_000))
    kind = rng.choice(("[]", "{}"))
    nested = "[" * deep + "]" * deep if kind == "[]" else '{"a":' * deep + "1" + "}" * deep
    return text_.replace(json.dumps(_DEEP), nested).replace(json.dumps(_LONG), "1" + "0" * rng.choice((400, 5000)))


def json_file(data: bytes, rng: random.Random) -> bytes:
    """One to three changes of a JSON file, mostly of its values."""
    try:
        doc = json.loads(data)
    except (ValueError, RecursionError):
        return damage(data, rng)
    if rng.random() < 0.15:
        return damage(data, rng)
    if rng.random() < 0.08:
        return text(data.decode(), rng).encode("utf-8", "surrogatepass")
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        doc = document(doc, rng)
    indent = rng.choice((None, 1))
    return _special(json.dumps(doc, indent=indent), rng).encode()


def toml_file(data: bytes, rng: random.Random) -> bytes:
    """One to three changes of a TOML file, mostly of its values."""
    import tomllib

    try:
        doc: Any = tomllib.loads(data.decode())
    except (ValueError, RecursionError):
        return damage(data, rng)
    if rng.random() < 0.15:
        return damage(data, rng)
    if rng.random() < 0.08:
        return text(data.decode(), rng).encode("utf-8", "surrogatepass")
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        doc = document(doc, rng)
    if not isinstance(doc, dict):
        doc = {"x": doc}
    return _special("".join(f"{json.dumps(str(k))} = {_toml(v)}\n" for k, v in doc.items()), rng).encode("utf-8", "replace")


def _toml(value: Any) -> str:
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(k))} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    return str(value) if isinstance(value, int) else repr(float(value))


# -- cutting down --------------------------------------------------------------------------------


def minimise(data: bytes, fails: Callable[[bytes], bool], tries: int = 200) -> bytes:
    """`data` with lines, then pieces, taken out while it still fails; at most `tries` tries."""
    left = tries
    for cut in (_lines, _pieces):
        size = len(cut(data))
        while size >= 1 and left > 0:
            shrunk = False
            parts = cut(data)
            for at in reversed(range(0, len(parts), size)):
                smaller = b"".join(parts[:at] + parts[at + size :])
                left -= 1
                if left < 0:
                    break
                if smaller != data and fails(smaller):
                    data, parts, shrunk = smaller, parts[:at] + parts[at + size :], True
            if not shrunk or size > 1:
                size //= 2
    return data


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def _pieces(data: bytes) -> list[bytes]:
    return re.findall(rb"[\w.]+|\s+|.", data, re.DOTALL)[:4000] if len(data) < 20_000 else [data]


def seeds(first: int, count: int) -> Iterator[tuple[int, random.Random]]:
    """Seeds with their generators."""
    return ((s, random.Random(s)) for s in range(first, first + count))
