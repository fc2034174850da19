"""Measurements: what plans move, what calls cost, how long the search takes. Each script prints one table."""
