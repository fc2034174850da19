"""Loops over layers as one layer after another: unrolled, and with arguments of their own."""
