"""What is wrong with a description of a cluster."""

from __future__ import annotations


class ClusterError(ValueError):
    """A cluster, or a reference to part of one, is malformed; the text says where, what, and what is allowed.

    `key` is where in a file that is, as `groups[0].levels[1].size`, if it is known.
    """

    def __init__(self, text: str, key: str = "") -> None:
        super().__init__(text)
        self.key = key
