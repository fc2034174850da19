"""How long planning for a cluster takes, mesh and device mapping included, in one process and in as many as cores.

  python bench/cluster_times.py [MODEL ...] [--clusters v100-48 h100-64 ...] [--markdown]     MODEL: of the zoo

Every line is the command `pcg-opt --auto-parallel --cluster=... --devices=...` on the training step twice, one run
after the other: with `--jobs=1`, and without, from its start to its end.  `cpu s` is the processor time of the second,
its other processes included, `GiB` the most memory that its first process held.  `same` says whether both wrote the
same plan.  `step` is the simulated time of the plan, `over search` by how much the plans that the searches alone found
are slower, `over others` by how much the baselines and Unity's plan are, of those that were lowered.  The batch is the
zoo's per device, and state is donated, as in `bench/quality.py`.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from bench.quality import CLUSTERS
from bench.zoo import ZOO

ROOT = Path(__file__).resolve().parent.parent


def planned(program: Path, cluster: str, *more: str) -> tuple[float, float, float, str, str]:
    """Plan it: seconds, processor seconds, GiB, the plan, and the remarks."""
    preset, node, devices = CLUSTERS[cluster]
    out = program.with_suffix(".out")
    where = f"--cluster=preset:{preset}:{-(-devices // node)}", f"--devices={devices}"
    options = "--auto-parallel", *where, "--remarks", *more
    command = [sys.executable, "-m", "pcg.tools.pcg_opt", *options, str(program), "-o", str(out)]
    out.write_text("")
    used, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stderr=errors, cwd=ROOT)
        _, _, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        errors.seek(0)
        text = errors.read()
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return seconds, cpu, usage.ru_maxrss / 2**20, out.read_text(), text


def summary(text: str) -> tuple[str, float, float, float]:
    """The chosen plan by the remarks; its microseconds, and those of the best search and of the best other plan."""
    found = re.search(r"pcg-select: plan: (.*?), ([\d.]+) us per step by simulation.*?rejected: (.*)", text)
    if found is None:
        why = re.findall(r"error: (.*)", text)
        return (why[-1] if why else "no plan")[:60], math.nan, math.nan, math.nan
    name, seconds = found[1], float(found[2])
    rejected = re.findall(r"([^;]+?) ([\d.]+) us, [^;]*MiB(?=;|$)", found[3])
    plans = [(name, seconds), *((n, float(s)) for n, s in rejected)]
    searched = [s for n, s in plans if n.strip().startswith("search")]
    others = [s for n, s in plans if not n.strip().startswith("search")]
    return name, seconds, min(searched, default=math.nan), min(others, default=math.nan)


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--clusters", nargs="+", default=list(CLUSTERS), choices=list(CLUSTERS))
    parser.add_argument("--beside-only", action="store_true", help="leave out the run in one process")
    parser.add_argument("--markdown", action="store_true", help="print a table in Markdown")
    options = parser.parse_args(argv)
    if unknown := [m for m in options.models if m not in ZOO]:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(ZOO)}")
    models = options.models or list(ZOO)
    heads = ("model", "cluster", "1 process s", "all s", "ratio", "cpu s", "GiB", "same", "step us", "over search",
             "over others", "plan")  # fmt: skip
    bar = " | " if options.markdown else "  "
    widths = [max(map(len, models)), 8, 11, 6, 5, 6, 4, 4, 12, 11, 11, 0]

    def show(cells: Sequence[str]) -> None:
        pairs = enumerate(zip(cells, widths, strict=True))
        print(bar.join(c.rjust(w) if 1 < i < 11 else c.ljust(w) for i, (c, w) in pairs), flush=True)

    show(heads)
    if options.markdown:
        print("|".join("---" for _ in heads))
    import jax

    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            for cluster in options.clusters:
                program = Path(folder) / "step.mlir"
                step, args = ZOO[model].shapes(CLUSTERS[cluster][2])
                program.write_text(jax.jit(step, donate_argnums=(0, 1)).lower(*args).as_text())
                alone = None if options.beside_only else planned(program, cluster, "--jobs=1")
                seconds, cpu, gib, plan, text = planned(program, cluster)
                name, best, search, other = summary(text)
                one = ("", "", "") if alone is None else (
                    f"{alone[0]:.1f}", f"{alone[0] / seconds:.2f}", "yes" if alone[3] == plan else "NO",
                )  # fmt: skip
                show((
                    model, cluster, one[0], f"{seconds:.1f}", one[1], f"{cpu:.1f}", f"{gib:.1f}", one[2], f"{best:.1f}",
                    f"{search / best - 1:.1%}", f"{other / best - 1:.1%}", name,
                ))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
