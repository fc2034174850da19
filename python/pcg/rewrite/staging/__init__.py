"""Stages of a pipeline: which ops belong to which, and the programs that each of them runs."""
