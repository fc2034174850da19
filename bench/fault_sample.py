"""A sample of the faults that a source tree can have, spread evenly over rooms, files and kinds."""

from __future__ import annotations

import ast
import random
from collections import Counter
from pathlib import Path

from bench.source_faults import Fault, faults_of, planted


def sample(root: Path, rooms: list[str], count: int, seed: int) -> list[Fault]:
    """`count` faults in the packages `python/pcg/<room>` below `root`; the same for the same tree and seed.

    Rooms take turns.  In each, a file comes again only when all have had one, and of the kinds that a file offers the
    one comes that has come least so far.  ValueError for a room without source, or when there are fewer faults.
    """
    rng = random.Random(seed)
    files = {room: _files(root, room) for room in rooms}
    offers: dict[str, dict[str, list[Fault]]] = {}
    kinds: Counter[str] = Counter()
    used: Counter[str] = Counter()
    out: list[Fault] = []
    while len(out) < count:
        room = rooms[len(out) % len(rooms)]
        if not files[room]:
            raise ValueError(f"{room}: {len(out)} faults found, {count} wanted")
        # Which of the files that had least: any, so that a small sample is not that of the first letters.
        path = rng.choice([f for f in files[room] if used[f] == min(used[g] for g in files[room])])
        text = (root / path).read_text(encoding="utf-8")
        if path not in offers:
            offers[path] = _by_kind(faults_of(path, text))
        fault = _draw(offers[path], kinds, rng)
        if fault is None:
            files[room].remove(path)
        elif _is_valid(text, fault):
            out.append(fault)
            kinds[fault.kind] += 1
            used[path] += 1
    return out


def _files(root: Path, room: str) -> list[str]:
    top = root / "python/pcg" / room
    found = sorted(str(f.relative_to(root)) for f in top.rglob("*.py") if "__pycache__" not in f.parts)
    if not found:
        raise ValueError(f"no source below python/pcg/{room}")
    return found


def _by_kind(faults: list[Fault]) -> dict[str, list[Fault]]:
    out: dict[str, list[Fault]] = {}
    for fault in faults:
        out.setdefault(fault.kind, []).append(fault)
    return out


def _draw(offer: dict[str, list[Fault]], kinds: Counter[str], rng: random.Random) -> Fault | None:
    """Take a fault of a kind that came least out of a file's; None if the file has none left."""
    left = [kind for kind, faults in offer.items() if faults]
    if not left:
        return None
    kind = rng.choice([k for k in left if kinds[k] == min(kinds[k] for k in left)])
    return offer[kind].pop(rng.randrange(len(offer[kind])))


def _is_valid(text: str, fault: Fault) -> bool:
    """Whether it is Python still, and another program."""
    try:
        return ast.dump(ast.parse(planted(text, fault))) != ast.dump(ast.parse(text))
    except SyntaxError:
        return False
