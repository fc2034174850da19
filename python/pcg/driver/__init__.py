"""From a program to a compiled one: what is decided, by which passes, and the plan that comes of it."""
