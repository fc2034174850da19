"""Python module of the `mhlo` namespace (upstream ships none); see `pcg.dialects`."""
