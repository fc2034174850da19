"""A solver of its own for choosing one strategy per node under memory limits; knows no IR."""
