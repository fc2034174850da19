"""Python module of the `chlo` namespace (upstream ships none); see `pcg.dialects`."""
