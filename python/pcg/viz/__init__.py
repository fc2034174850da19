"""Reports about compiled programs: costs and explanations.  No jax here."""
