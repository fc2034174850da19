"""Choosing a strategy for every op at once."""
