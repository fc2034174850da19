"""Python module of the `sdy` namespace (upstream ships none); see `pcg.dialects`."""
