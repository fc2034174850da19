"""The single controller: islands and slices, programs on them, scheduling, stores.  No MLIR, no jax."""
