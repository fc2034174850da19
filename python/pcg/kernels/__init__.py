"""Compiled inner loops that several libraries share, and how such loops are compiled."""
