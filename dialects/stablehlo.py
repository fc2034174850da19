"""Python module of the `stablehlo` namespace (upstream ships none); see `pcg.dialects`."""
