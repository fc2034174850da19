"""Choosing a plan: one way to evaluate a candidate, and the strategies that make candidates."""
