"""Run an annotated program before and after lowering (emulated); prints the collectives it has become."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support.lowercheck import check

counts, _ = check(Path(sys.argv[1]).read_text(), rtol=1e-5)
print("agree:", ", ".join(f"{n} {k}" for k, n in sorted(counts.items())) or "no collectives")
