"""The single controller: which devices a program gets, and when it runs on them.  No MLIR, no jax.

Source: Pathways (Barham et al., MLSys 2022).
"""
