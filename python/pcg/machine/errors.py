"""What is wrong with a description of a cluster."""

from __future__ import annotations


class ClusterError(ValueError):
    """A cluster, or a reference to part of one, is malformed; the text says where, what, and what is allowed."""
