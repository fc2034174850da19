"""The `dist` and `pcg` dialects, and the Python modules of the upstream dialects that programs use.

Every namespace met in a program needs an importable module here: without one, the bindings try a
failing import each time an op or attribute of it becomes a Python object (13 us each).
"""
