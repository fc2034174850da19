"""Running compiled programs.  The submodules import jax."""
