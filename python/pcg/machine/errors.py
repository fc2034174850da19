"""What is wrong with a description of a cluster."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class ClusterError(ValueError):
    """A cluster, or a reference to part of one, is malformed; the text says where, what, and what is allowed.

    `key` is where in a file that is, as `groups[0].levels[1].size`, if it is known.
    """

    def __init__(self, text: str, key: str = "") -> None:
        # A key of a file may have line breaks; an error is one line.
        super().__init__(_CONTROL.sub(lambda m: repr(m[0])[1:-1], text))
        self.key = key
