"""Substitutions: small programs that may replace each other, and why: terms, properties of operators, proofs."""
