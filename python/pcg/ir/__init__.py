"""The only door to the MLIR bindings: contexts, loading, walking, layouts, errors."""
