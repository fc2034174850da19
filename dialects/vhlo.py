"""Python module of the `vhlo` namespace (upstream ships none); see `pcg.dialects`."""
