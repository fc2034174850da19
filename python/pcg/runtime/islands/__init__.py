"""Programs on islands of devices: values that are elsewhere, dispatch, backends.  Imports jax."""
