"""A program on slices for one set of shapes and placements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pcg.api.on_slice import OnSlice
from pcg.controller.streams import IslandProgram
from pcg.runtime.islands.backend import Loaded
from pcg.runtime.islands.short_path import ShortPath


class Lowered:
    """A program for one set of shapes and placements."""

    def __init__(
        self, program: IslandProgram, texts: Mapping[str, str], loaded: Loaded, out_tree: Any,
        slices: Mapping[str, OnSlice],
    ) -> None:  # fmt: skip
        self.program, self.loaded, self.out_tree = program, loaded, out_tree
        self._texts = texts
        self.slices = [(s, s.version) for s in slices.values()]
        """Those that it uses, with the versions for which it was lowered."""
        self.quick: ShortPath | None = None
        """A call of it for futures that are where those of one before were, if there was such a call."""

    def is_current(self) -> bool:
        """Whether its slices are where they were."""
        for slice, version in self.slices:
            if slice.version != version:
                return False
        return True

    def as_text(self, stage: str = "streams") -> str:
        """The program at a stage: "slices" (as it was traced), "islands" (one function per island) or "streams"."""
        if stage == "streams":
            return str(self.program)
        if stage not in self._texts:
            raise ValueError(f"stage {stage!r}; allowed: {', '.join(self._texts)}, streams")
        return self._texts[stage]
