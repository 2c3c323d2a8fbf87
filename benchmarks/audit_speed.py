"""Time and peak memory of one audit of random vectors, for docs/benchmarks/audit.md.

    python benchmarks/audit_speed.py 50000,768,100 --out speed/50000,768,100.txt      # images, size, classes

Each in a process of its own, because the peak is the process's. `benchmarks/audit.py` puts the lines of the folder
`speed` in its `--cache` into its page.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np

from dml import audit, files


def speed(n: int, size: int, classes: int) -> str:
    """One audit of random vectors about class centres, with a fifth of the labels wrong."""
    rng = np.random.default_rng(0)
    labels = rng.integers(classes, size=n)
    centres, vectors = 0.5 * rng.standard_normal((classes, size), dtype=np.float32), np.empty((n, size), np.float32)
    for start in range(0, n, 1000):  # so that the peak is the audit's
        part = labels[start : start + 1000]
        vectors[start : start + 1000] = 1.5 * rng.standard_normal((len(part), size), dtype=np.float32) + centres[part]
    given = np.where(rng.random(n) < 0.2, (labels + rng.integers(1, classes, size=n)) % classes, labels)
    before, start, cpu = peak(), time.time(), time.process_time()
    audited = audit.audit(vectors, given)
    return (
        f"{n:,} x {size}, {classes} classes: {time.time() - start:.0f} s, {time.process_time() - cpu:.0f} CPU s, "
        f"peak {peak():.0f} MiB, of which {before:.0f} before the audit (imports, and {vectors.nbytes / 2**20:.0f} of "
        f"vectors); first guess {audited.rate.guess:.3f} for 0.2"
    )


def peak() -> float:
    """The most memory that the process has had, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", help="n,D,K, e.g. 50000,768,100 or 1000000,128,100")
    parser.add_argument("--out", type=Path, help="the line is also written to this file")
    arguments = parser.parse_args()
    line = speed(*map(int, arguments.what.split(",")))
    print(line)
    if arguments.out is not None:
        files.write_text(arguments.out, line + "\n")


if __name__ == "__main__":
    main()
