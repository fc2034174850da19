"""Python module of the `interpreter` namespace (upstream ships none); see `pcg.dialects`."""
