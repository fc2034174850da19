"""Substitutions (`pcg.substitute`) in StableHLO programs: where rules match, and the programs that they make."""
