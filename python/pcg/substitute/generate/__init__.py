"""Candidates for rules: all terms up to a size, and which of them have equal values."""
